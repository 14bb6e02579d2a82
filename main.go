// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Command terraform-provider-resilientjob is the Terraform provider
// resilientjob. Terraform starts it; a person needs -version and -debug only.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider"
)

// version is set by the linker.
var version = "dev"

func main() {
	debug := flag.Bool("debug", false, "serve for a debugger: print what to set in TF_REATTACH_PROVIDERS, and stop with Ctrl-C")
	showVersion := flag.Bool("version", false, "print the version and stop")
	flag.Parse()
	if *showVersion {
		fmt.Println("terraform-provider-resilientjob " + version)
		return
	}
	if err := providerserver.Serve(context.Background(), provider.New(version), providerserver.ServeOpts{Address: provider.Address, Debug: *debug}); err != nil {
		fmt.Fprintln(os.Stderr, "terraform-provider-resilientjob:", err)
		os.Exit(1)
	}
}
