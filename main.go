// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Command terraform-provider-resilientjob is the Terraform provider
// resilientjob. Terraform starts it; a person needs -version and -debug only.
//
// It may import provider and build. Its main rule: nothing is decided here, since
// tests serve the provider without it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/build"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider"
)

// version and commit are set by the linker in a release.
var version, commit string

func main() {
	debug := flag.Bool("debug", false, "serve for a debugger: print what to set in TF_REATTACH_PROVIDERS, and stop with Ctrl-C")
	showVersion := flag.Bool("version", false, "print the version and stop")
	flag.Parse()
	about := build.Of(version, commit)
	if *showVersion {
		fmt.Println(about.Line("terraform-provider-resilientjob"))
		return
	}
	if !*debug {
		if err := quietLogs(os.Environ(), os.Setenv); err != nil {
			fmt.Fprintln(os.Stderr, "terraform-provider-resilientjob:", err)
			os.Exit(1)
		}
	}
	made := provider.New(about.Version, provider.WithCommit(about.ShortCommit()))
	if err := providerserver.Serve(context.Background(), made, providerserver.ServeOpts{Address: provider.Address, Debug: *debug}); err != nil {
		fmt.Fprintln(os.Stderr, "terraform-provider-resilientjob:", err)
		os.Exit(1)
	}
}
