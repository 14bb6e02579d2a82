// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"os/exec"
	"strings"
	"sync"

	"github.com/hashicorp/go-version"
)

// Feature is what only newer command lines have, with the first version of each
// that has it; empty for none.
type Feature struct{ Name, Terraform, OpenTofu string }

// The features that tests need beyond Terraform 1.5 and OpenTofu 1.7.
var (
	Functions        = Feature{"functions of providers", "1.8", "1.7"}
	MovesAcrossTypes = Feature{"moved blocks between types", "1.8", "1.10"}
	TestCommand      = Feature{"the command test", "1.6", "1.6"}
	TestMocks        = Feature{"mocks in the command test", "1.7", "1.8"}
	Ephemeral        = Feature{"ephemeral variables", "1.10", "1.11"}
	Identities       = Feature{"identities", "1.12", "1.12"}
)

// Needs skips the test, and says so, when the command line lacks the feature.
func (tf *Terraform) Needs(f Feature) {
	tf.t.Helper()
	p, err := productOf(tf.path)
	if err != nil {
		tf.t.Fatal(err)
	}
	if !f.in(p) {
		tf.t.Skipf("NOT TESTED: %s %s has no %s (Terraform %s and newer have; OpenTofu: %s); set %s to one that has", p.name, p.version, f.Name, f.Terraform, orNone(f.OpenTofu), terraformEnv)
	}
}

func orNone(version string) string {
	if version == "" {
		return "none"
	}
	return version
}

func (f Feature) in(p product) bool {
	first := f.Terraform
	if p.name == "OpenTofu" {
		first = f.OpenTofu
	}
	return first != "" && p.version.Core().GreaterThanOrEqual(version.Must(version.NewVersion(first)))
}

type product struct {
	name    string
	version *version.Version
}

// products are the command lines that were asked, by path.
var products struct {
	mu    sync.Mutex
	known map[string]product
}

// productOf asks a command line for its name and version, once.
func productOf(path string) (product, error) {
	products.mu.Lock()
	defer products.mu.Unlock()
	if p, ok := products.known[path]; ok {
		return p, nil
	}
	out, err := exec.Command(path, "version").Output()
	if err != nil {
		return product{}, fmt.Errorf("%s version: %w", path, err)
	}
	p, err := parseProduct(string(out))
	if err != nil {
		return product{}, err
	}
	if products.known == nil {
		products.known = map[string]product{}
	}
	products.known[path] = p
	return p, nil
}

// parseProduct reads the first line of what the command version writes, such as
// "Terraform v1.11.4".
func parseProduct(out string) (product, error) {
	line, _, _ := strings.Cut(out, "\n")
	name, number, _ := strings.Cut(line, " ")
	v, err := version.NewVersion(number)
	if err != nil || name != "Terraform" && name != "OpenTofu" {
		return product{}, fmt.Errorf("%q is no version of Terraform or OpenTofu", line)
	}
	return product{name, v}, nil
}
