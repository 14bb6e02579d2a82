// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	tfjson "github.com/hashicorp/terraform-json"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
)

// Terraform is the real command line in a folder of its own.
type Terraform struct {
	// Dir is the folder with the configuration and the state.
	Dir string

	t         testing.TB
	path      string
	processes string
	rc        string            // the command line's own configuration
	overrides map[string]string // folders of providers, by source
	env       []string
	served    *connections // nil when providers are processes
	plans     *int         // made so far
}

// source is the provider's source. Without a host in it the same serves terraform and tofu.
const source = "resilientjob/resilientjob"

const requiredProviders = `terraform {
  required_providers {
    resilientjob = { source = "resilientjob/resilientjob" }
  }
}
`

// CLI returns a command line, bound to the target by environment variables as a
// user would. Extra variables are NAME=value; NAME= removes one. The provider is
// in this process, one for each connection of terraform, unless Processes says
// otherwise or the target is Google Cloud.
func CLI(t testing.TB, e *emulator.Emulator, extra ...string) *Terraform {
	t.Helper()
	if os.Getenv("TF_ACC") == "" {
		t.Skip("acceptance test: set TF_ACC=1")
	}
	terraform, err := terraformPath()
	if err != nil {
		t.Fatal(err)
	}
	plugins, err := overridesDir()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	tf := &Terraform{t: t, path: terraform, plans: new(int), Dir: filepath.Join(root, "config"), processes: filepath.Join(root, "processes")}
	for _, dir := range []string{tf.Dir, tf.processes} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	tf.rc = filepath.Join(root, "terraform.rc")
	tf.override(map[string]string{source: plugins})
	tf.env = append(cleanEnvironment(e),
		"TF_CLI_CONFIG_FILE="+tf.rc, "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "TF_INPUT=0", processesEnv+"="+tf.processes)
	if e != nil {
		for k, v := range emulatorVariables(e) {
			tf.env = append(tf.env, k+"="+v)
		}
	}
	tf.env = append(tf.env, extra...)
	tf.WriteFile("required_providers.tf", requiredProviders)
	if e != nil {
		tf.served = serveConnections(t, tf.env)
	}
	return tf
}

// Processes returns the same command line with this test binary as the provider,
// in processes of their own, as users have them: for what kills one or reads what
// it logs.
func (tf *Terraform) Processes() *Terraform {
	other := *tf
	other.served = nil
	return &other
}

// override adds folders in which providers are found, by source. Without a host in the source, the same file serves terraform and tofu.
func (tf *Terraform) override(folders map[string]string) {
	tf.t.Helper()
	if tf.overrides == nil {
		tf.overrides = map[string]string{}
	}
	maps.Copy(tf.overrides, folders)
	var lines strings.Builder
	for _, source := range slices.Sorted(maps.Keys(tf.overrides)) {
		fmt.Fprintf(&lines, "    %q = %q\n", source, tf.overrides[source])
	}
	if err := os.WriteFile(tf.rc, []byte("provider_installation {\n  dev_overrides {\n"+lines.String()+"  }\n  direct {}\n}\n"), 0o600); err != nil {
		tf.t.Fatal(err)
	}
}

// cleanEnvironment is the process's environment without what a developer may
// have set for Terraform, and on an emulator without what Google's tools read.
func cleanEnvironment(e *emulator.Emulator) []string {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		ours := strings.HasPrefix(name, "GOOGLE_") || strings.HasPrefix(name, "CLOUDSDK_") || name == "USER_PROJECT_OVERRIDE"
		if strings.HasPrefix(name, "TF_") || strings.HasPrefix(name, "RESILIENTJOB_") || e != nil && ours {
			continue
		}
		env = append(env, kv)
	}
	return env
}

// Write replaces the configuration.
func (tf *Terraform) Write(hcl string) {
	tf.t.Helper()
	tf.WriteFile("main.tf", hcl)
}

// WriteFile writes one file beside the configuration.
func (tf *Terraform) WriteFile(name, content string) {
	tf.t.Helper()
	if err := os.WriteFile(filepath.Join(tf.Dir, name), []byte(content), 0o600); err != nil {
		tf.t.Fatal(err)
	}
}

// Apply applies without asking.
func (tf *Terraform) Apply(args ...string) *Result {
	tf.t.Helper()
	return tf.Run(append([]string{"apply", "-auto-approve", "-no-color"}, args...)...)
}

// Destroy destroys without asking.
func (tf *Terraform) Destroy(args ...string) *Result {
	tf.t.Helper()
	return tf.Run(append([]string{"destroy", "-auto-approve", "-no-color"}, args...)...)
}

// Validate validates the configuration.
func (tf *Terraform) Validate() *Result {
	tf.t.Helper()
	return tf.Run("validate", "-no-color")
}

// Import imports into the state.
func (tf *Terraform) Import(address, id string) *Result {
	tf.t.Helper()
	return tf.Run("import", "-no-color", address, id)
}

// Run runs any command to its end.
func (tf *Terraform) Run(args ...string) *Result {
	tf.t.Helper()
	return tf.Start(args...).Wait()
}

// Plan is a plan, as a result and, on demand, as data.
type Plan struct {
	*Result
	tf   *Terraform
	file string
	data *tfjson.Plan
}

// Plan plans. The exit code is 0 for an empty plan, 2 for one with changes and
// 1 for an error.
func (tf *Terraform) Plan(args ...string) *Plan {
	tf.t.Helper()
	*tf.plans++
	file := filepath.Join(tf.Dir, fmt.Sprintf("acctest-%d.tfplan", *tf.plans))
	return &Plan{Result: tf.Run(append([]string{"plan", "-no-color", "-detailed-exitcode", "-out", file}, args...)...), tf: tf, file: file}
}

// JSON returns the plan as data; nil when there is none because of an error. It
// takes one more command, which most tests can do without.
func (p *Plan) JSON() *tfjson.Plan {
	p.t.Helper()
	if p.Code == 1 || p.data != nil {
		return p.data
	}
	shown := p.tf.Run("show", "-json", p.file)
	p.data = &tfjson.Plan{}
	if err := json.Unmarshal([]byte(shown.Stdout), p.data); err != nil {
		p.t.Fatalf("the plan cannot be read: %v\n%s", err, shown.Output())
	}
	return p.data
}

// IsEmpty fails the test when the plan changes anything, and shows it.
func (p *Plan) IsEmpty() *Plan {
	p.t.Helper()
	if p.Code != 0 {
		p.t.Fatalf("the plan is not empty (exit code %d):\n%s", p.Code, p.Output())
	}
	return p
}

// Actions returns what the plan does with a resource: "no-op", "create",
// "update", "delete,create" and so on; "" when the plan does not have it.
func (p *Plan) Actions(address string) string {
	p.t.Helper()
	plan := p.JSON()
	if plan == nil {
		return ""
	}
	for _, c := range plan.ResourceChanges {
		if c.Address == address && c.Change != nil {
			words := make([]string, len(c.Change.Actions))
			for i, a := range c.Change.Actions {
				words[i] = string(a)
			}
			return strings.Join(words, ",")
		}
	}
	return ""
}

// State returns the state as data.
func (tf *Terraform) State() *State {
	tf.t.Helper()
	shown := tf.Run("show", "-json").Succeeds()
	s := &State{}
	if err := json.Unmarshal([]byte(shown.Stdout), &s.JSON); err != nil {
		tf.t.Fatalf("the state cannot be read: %v\n%s", err, shown.Output())
	}
	return s
}

// State is a state as data.
type State struct{ JSON tfjson.State }

// Resource returns a resource of the root module, or nil.
func (s *State) Resource(address string) *tfjson.StateResource {
	if s.JSON.Values == nil || s.JSON.Values.RootModule == nil {
		return nil
	}
	for _, r := range s.JSON.Values.RootModule.Resources {
		if r.Address == address {
			return r
		}
	}
	return nil
}

// Attribute returns one attribute of a resource of the root module, nil when
// either is missing.
func (s *State) Attribute(address, name string) any {
	r := s.Resource(address)
	if r == nil {
		return nil
	}
	return r.AttributeValues[name]
}

// Addresses returns the resources of the root module.
func (s *State) Addresses() []string {
	if s.JSON.Values == nil || s.JSON.Values.RootModule == nil {
		return nil
	}
	var all []string
	for _, r := range s.JSON.Values.RootModule.Resources {
		all = append(all, r.Address)
	}
	return all
}
