// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package core_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest/core"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

func TestMain(m *testing.M) { acctest.Main(m) }

const address = "resilientjob_checkpoint_bucket.b"

// command is one command of a scenario.
type command struct {
	verb   string // apply, plan, destroy, import, taint, untaint, forget
	config string
	flags  []string // id, of an import
	fault  *faults.Fault
	kill   bool // the provider, at the fault's call
	fails  bool
}

const (
	block = "provider \"resilientjob\" {\n  project = \"" + acctest.EmulatorProject + "\"\n  region  = \"" + acctest.EmulatorRegion + "\"\n}\n"
	job   = block + "resource \"resilientjob_gpu_job\" \"j\" {\n  name  = \"train\"\n  image = \"us-docker.pkg.dev/p/apps/train:1\"\n}\n"
)

func bucket(name, attributes string) string {
	return block + "resource \"resilientjob_checkpoint_bucket\" \"b\" {\n  name = \"" + name + "\"\n" + attributes + "\n}\n"
}

func refused(method string) *faults.Fault {
	return &faults.Fault{Method: method, Status: status.New(codes.PermissionDenied, "Permission 'test' denied on resource.")}
}

var scenarios = map[string][]command{
	"create, update and destroy": {
		{verb: "apply", config: bucket("one", `labels = { a = "1" }`)},
		{verb: "apply", config: bucket("one", `labels = { a = "2" }`)},
		{verb: "apply", config: bucket("one", `labels = { a = "2" }`)},
		{verb: "destroy", config: bucket("one", `labels = { a = "2" }`)},
	},
	"replace": {
		{verb: "apply", config: bucket("one", "")},
		{verb: "apply", config: bucket("two", "")},
	},
	"create that fails": {
		{verb: "apply", config: job, fails: true, fault: &faults.Fault{Method: acctest.CreateJob,
			Operation: &faults.OperationFault{Status: status.New(codes.Internal, "An internal error has occurred.")}}},
		{verb: "apply", config: job},
		{verb: "destroy", config: job},
	},
	"update that fails": {
		{verb: "apply", config: bucket("one", `labels = { a = "1" }`)},
		{verb: "apply", config: bucket("one", `labels = { a = "2" }`), fails: true, fault: refused(acctest.PatchBucket)},
		{verb: "apply", config: bucket("one", `labels = { a = "2" }`)},
	},
	"taint, and a destroy that fails": {
		{verb: "apply", config: bucket("one", "")},
		{verb: "taint"},
		{verb: "apply", config: bucket("one", ""), fails: true, fault: refused(acctest.DeleteBucket)},
		{verb: "destroy", config: bucket("one", ""), fails: true, fault: refused(acctest.DeleteBucket)},
		{verb: "apply", config: bucket("one", "")},
	},
	"a replacement first, and the old one is left": {
		{verb: "apply", config: bucket("one", "lifecycle { create_before_destroy = true }")},
		{verb: "apply", config: bucket("two", "lifecycle { create_before_destroy = true }"), fails: true, fault: refused(acctest.DeleteBucket)},
		{verb: "apply", config: bucket("two", "lifecycle { create_before_destroy = true }")},
		{verb: "apply", config: bucket("three", "lifecycle { create_before_destroy = true }"), fails: true, fault: refused(acctest.InsertBucket)},
	},
	"a replacement that is asked for": {
		{verb: "apply", config: bucket("one", "")},
		{verb: "apply", config: bucket("one", ""), flags: []string{"-replace=" + address}},
		{verb: "taint"},
		{verb: "untaint"},
		{verb: "apply", config: bucket("one", "")},
		{verb: "apply", config: bucket("one", "lifecycle { create_before_destroy = true }"), flags: []string{"-replace=" + address}, fails: true},
	},
	"nothing is read": {
		{verb: "apply", config: bucket("one", `labels = { a = "1" }`)},
		{verb: "plan", config: bucket("one", `labels = { a = "1" }`), flags: []string{"-refresh=false"}},
		{verb: "apply", config: bucket("one", `labels = { a = "2" }`), flags: []string{"-refresh=false"}},
		{verb: "destroy", config: bucket("one", `labels = { a = "2" }`), flags: []string{"-refresh=false"}},
	},
	"import": {
		{verb: "import", config: bucket("missing", ""), flags: []string{"missing"}, fails: true},
		{verb: "apply", config: bucket("one", `labels = { a = "1" }`)},
		{verb: "forget", config: bucket("one", "")},
		{verb: "import", config: bucket("one", `labels = { a = "1" }`), flags: []string{"one"}},
		{verb: "plan", config: bucket("one", `labels = { a = "1" }`)},
		{verb: "apply", config: bucket("one", `labels = { a = "2" }`)},
	},
	"killed in a create": {
		{verb: "apply", config: bucket("one", ""), fails: true, kill: true, fault: &faults.Fault{Method: acctest.InsertBucket}},
	},
	"killed in an update": {
		{verb: "apply", config: bucket("one", `labels = { a = "1" }`)},
		{verb: "apply", config: bucket("one", `labels = { a = "2" }`), fails: true, kill: true, fault: &faults.Fault{Method: acctest.PatchBucket}},
		{verb: "apply", config: bucket("one", `labels = { a = "2" }`)},
	},
	"killed in a destroy": {
		{verb: "apply", config: bucket("one", "")},
		{verb: "destroy", config: bucket("one", ""), fails: true, kill: true, fault: &faults.Fault{Method: acctest.DeleteBucket}},
		{verb: "destroy", config: bucket("one", "")},
	},
}

// The core does what the command line does: the same state after each command,
// and the same calls.
func TestAccCoreIsTerraform(t *testing.T) {
	t.Parallel()
	for name, commands := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cli := &shell{e: world(t)}
			cli.tf = acctest.CLI(t, cli.e)
			ours := &inProcess{e: world(t)}
			ours.core = core.New(t, ours.e, nil)
			for i, c := range commands {
				sinceReal, sinceOurs := acctest.Since(cli.e), acctest.Since(ours.e)
				if failed := cli.run(t, c); failed != c.fails {
					t.Fatalf("%d, %s: the command line fails: %t", i, c.verb, failed)
				}
				if failed := ours.run(t, c); failed != c.fails {
					t.Errorf("%d, %s: the core fails: %t", i, c.verb, failed)
				}
				if a, b := cli.state(t), ours.state(); a != b {
					t.Errorf("%d, %s: the state of the command line is\n%s\nthat of the core\n%s", i, c.verb, a, b)
				}
				if a, b := methods(sinceReal), methods(sinceOurs); !slices.Equal(a, b) {
					t.Errorf("%d, %s: the command line calls\n%q\nthe core\n%q", i, c.verb, a, b)
				}
			}
		})
	}
}

func world(t *testing.T) *emulator.Emulator {
	t.Helper()
	return acctest.Emulator(t, func(o *emulator.Options) { o.Launcher = runner.NewScripted() })
}

// methods are the calls that were made, polls once, and without those that a
// killed process sent in vain.
func methods(r *acctest.Requests) []string {
	var out []string
	for _, c := range r.Find("") {
		poll := strings.HasSuffix(c.Method, "/GetOperation")
		if c.Code == codes.Unavailable || poll && len(out) > 0 && out[len(out)-1] == c.Method {
			continue
		}
		out = append(out, c.Method)
	}
	acctest.SortReads(out, func(method string) string { return method }, strings.Compare)
	return out
}

// shell is the command line.
type shell struct {
	e  *emulator.Emulator
	tf *acctest.Terraform
}

func (s *shell) run(t *testing.T, c command) (failed bool) {
	t.Helper()
	switch c.verb {
	case "taint", "untaint":
		s.tf.Run(c.verb, address).Succeeds()
		return false
	case "forget":
		s.tf.Run("state", "rm", address).Succeeds()
		return false
	case "import":
		s.tf.Write(c.config)
		return s.tf.Import(address, c.flags[0]).Code != 0
	case "plan":
		s.tf.Write(c.config)
		return s.tf.Plan(c.flags...).Code == 1
	}
	s.tf.Write(c.config)
	struck, gone := make(chan struct{}), make(chan struct{})
	if c.fault != nil {
		f := *c.fault
		if c.kill {
			f.Wait = func(context.Context) {
				close(struck)
				<-gone
			}
		}
		defer s.e.Faults().Add(f).Remove()
	}
	tf := s.tf
	if c.kill {
		tf = tf.Processes()
	}
	run := tf.Start(append([]string{c.verb, "-auto-approve", "-no-color"}, c.flags...)...)
	if c.kill {
		<-struck
		run.KillProvider()
		close(gone)
	}
	return run.Wait().Code != 0
}

// object is one object of a state, as both write it.
type object struct {
	Deposed, Tainted bool
	Values           map[string]any
	Private          []string
}

func written(objects map[string][]object) string {
	var b strings.Builder
	for _, at := range slices.Sorted(maps.Keys(objects)) {
		all := objects[at]
		slices.SortFunc(all, func(a, b object) int { return strings.Compare(fmt.Sprint(a.Deposed), fmt.Sprint(b.Deposed)) })
		for _, o := range all {
			for _, name := range []string{"uid", "service_account_unique_id", "time_created"} {
				if o.Values[name] != nil {
					o.Values[name] = "some"
				}
			}
			raw, err := json.Marshal(o.Values)
			if err != nil {
				panic(err) // it was JSON before
			}
			fmt.Fprintf(&b, "%s deposed %t, tainted %t, noted %q: %s\n", at, o.Deposed, o.Tainted, o.Private, raw)
		}
	}
	return b.String()
}

// notes are the keys of private data.
func notes(private []byte) []string {
	var all map[string]any
	if json.Unmarshal(private, &all) != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(all))
}

func (s *shell) state(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(s.tf.Dir, "terraform.tfstate"))
	if os.IsNotExist(err) {
		return ""
	}
	var file struct {
		Resources []struct {
			Type, Name string
			Instances  []struct {
				Status, Deposed, Private string
				Attributes               map[string]any
			}
		}
	}
	if err == nil {
		err = json.Unmarshal(raw, &file)
	}
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]object{}
	for _, r := range file.Resources {
		for _, i := range r.Instances {
			private, err := base64.StdEncoding.DecodeString(i.Private)
			if err != nil {
				t.Fatal(err)
			}
			out[r.Type+"."+r.Name] = append(out[r.Type+"."+r.Name], object{i.Deposed != "", i.Status == "tainted", i.Attributes, notes(private)})
		}
	}
	return written(out)
}

// inProcess is the core.
type inProcess struct {
	e    *emulator.Emulator
	core *core.Core
}

func (p *inProcess) run(t *testing.T, c command) (failed bool) {
	t.Helper()
	switch c.verb {
	case "taint":
		p.core.Taint(address)
		return false
	case "untaint":
		p.core.Untaint(address)
		return false
	case "forget":
		delete(p.core.State, address)
		return false
	case "import":
		return p.core.Import(c.config, address, c.flags[0]).Failed()
	case "plan":
		return p.core.Plan(c.config, c.flags...).Failed()
	}
	if c.fault != nil {
		f := *c.fault
		if c.kill {
			f.Do, f.Lose = p.core.Kill, true
		}
		defer p.e.Faults().Add(f).Remove()
	}
	if c.verb == "destroy" {
		return p.core.Destroy(c.config, c.flags...).Failed()
	}
	return p.core.Apply(c.config, c.flags...).Failed()
}

func (p *inProcess) state() string {
	out := map[string][]object{}
	for at, r := range p.core.State {
		for _, o := range r.Objects() {
			out[at] = append(out[at], object{o != r.Current, o.Tainted, o.Values(), notes(o.Private)})
		}
	}
	return written(out)
}
