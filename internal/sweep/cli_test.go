// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package sweep_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
)

// shell is a world in which the real command line works.
type shell struct {
	*world
	tf *acctest.Terraform
}

func newShell(t testing.TB) *shell {
	t.Helper()
	w := newWorld(t)
	return &shell{w, acctest.CLI(t, w.e)}
}

// things are the objects of the state.
func (s *shell) things() []thing {
	s.t.Helper()
	raw, err := os.ReadFile(filepath.Join(s.tf.Dir, "terraform.tfstate"))
	if os.IsNotExist(err) {
		return nil
	}
	var file struct {
		Resources []struct {
			Type      string
			Instances []struct {
				Private    string
				Attributes map[string]any
			}
		}
	}
	if err == nil {
		err = json.Unmarshal(raw, &file)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	var out []thing
	for _, r := range file.Resources {
		for _, i := range r.Instances {
			private, err := base64.StdEncoding.DecodeString(i.Private)
			if err != nil {
				s.t.Fatal(err)
			}
			out = append(out, thing{r.Type, i.Attributes, private})
		}
	}
	return out
}

// sound checks what must hold after every command.
func (s *shell) sound(what string) {
	s.t.Helper()
	for _, v := range s.wrong(s.things()) {
		s.t.Errorf("%s: %s", what, v)
	}
}

// strike runs a command while a call goes wrong.
func (s *shell) strike(k kind, p point, verb string) *acctest.Result {
	s.t.Helper()
	f := k.fault(s.world, p)
	f.Method, f.Match = p.method, func(c faults.Call) bool { return strings.Contains(c.UserAgent, "terraform-provider-resilientjob/") }
	struck, done := make(chan struct{}), make(chan struct{})
	outside := k.killed || k.letter == "^C"
	if outside {
		s.ends.Store(false)
		f.Do, f.Lose = nil, false
		f.Wait = func(context.Context) {
			close(struck)
			<-done
		}
	}
	handle := s.e.Faults().Add(f)
	s.watched()
	tf := s.tf
	if k.killed {
		tf = tf.Processes()
	}
	run := tf.Start(verb, "-auto-approve", "-no-color")
	switch {
	case k.killed:
		<-struck
		run.KillProvider()
		close(done)
	case outside:
		<-struck
		run.Interrupt()
		run.AwaitOutput("Interrupt received.")
		close(done)
	}
	res := run.Wait()
	handle.Remove()
	s.ends.Store(true)
	if handle.Struck() == 0 {
		s.t.Fatalf("%s is not called:\n%s", p.method, res.Output())
	}
	return res
}

// Every kind of resource and of fault, once through the command line: what the
// core says of it is so.
func TestAccPoints(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		life, step, method, kind string
		fails, imports           bool
	}{
		{life: "bucket", step: "create", method: acctest.InsertBucket, kind: "lost"},
		{life: "bucket", step: "create", method: acctest.InsertBucket, kind: "kill", fails: true, imports: true},
		{life: "bucket", step: "create", method: acctest.SetBucketPolicy, kind: "403", fails: true},
		{life: "bucket", step: "labels", method: acctest.PatchBucket, kind: "^C", fails: true},
		{life: "job", step: "create", method: acctest.CreateServiceAccount, kind: "^C", fails: true},
		{life: "job", step: "create", method: acctest.CreateJob, kind: "op!", fails: true},
		{life: "job", step: "create", method: acctest.CreateJob, kind: "kill", fails: true, imports: true},
		{life: "job", step: "image", method: acctest.UpdateJob, kind: "lost"},
		{life: "named", step: "create", method: acctest.CreateJob, kind: "400", fails: true},
		{life: "named", step: "owned", method: acctest.UpdateJob, kind: "kill", fails: true},
		{life: "execution", step: "create", method: acctest.RunJob, kind: "lost"},
		{life: "execution", step: "create", method: acctest.RunJob, kind: "kill", fails: true},
		{life: "execution", step: "create", method: acctest.RunJob, kind: "^C", fails: true},
		{life: "quickstart", step: "destroy", method: acctest.DeleteServiceAccount, kind: "403", fails: true},
	} {
		t.Run(c.life+" "+c.step+" "+c.kind+" "+c.method[strings.LastIndexAny(c.method, "./")+1:], func(t *testing.T) {
			t.Parallel()
			l := lives[slices.IndexFunc(lives, func(l life) bool { return l.name == c.life })]
			k := kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.letter == c.kind })]
			n := slices.IndexFunc(l.steps, func(s step) bool { return s.name == c.step })
			s := newShell(t)
			for _, before := range l.steps[:n] {
				s.tf.Write(before.config)
				s.tf.Apply().Succeeds()
			}
			verb := "apply"
			if l.steps[n].config == "" {
				verb = "destroy"
			} else {
				s.tf.Write(l.steps[n].config)
			}
			first := s.strike(k, point{method: c.method}, verb)
			if (first.Code != 0) != c.fails {
				t.Fatalf("it ends with %d:\n%s", first.Code, first.Output())
			}
			if !k.killed {
				s.sound("at once")
			}
			again := s.tf.Run(verb, "-auto-approve", "-no-color")
			if c.imports {
				m := importCommand.FindStringSubmatch(again.Fails("exists already").Text())
				if m == nil {
					t.Fatalf("no import is named:\n%s", again.Output())
				}
				address := fmt.Sprintf("resilientjob_%s", map[string]string{"bucket": "checkpoint_bucket.b", "job": "gpu_job.j"}[c.life])
				s.tf.Import(address, m[2]).Succeeds()
				again = s.tf.Run(verb, "-auto-approve", "-no-color")
			}
			again.Succeeds()
			s.sound("after the next " + verb)
			if verb == "apply" {
				s.tf.Plan().IsEmpty()
				s.tf.Destroy().Succeeds()
			}
			if left := s.things(); len(left) > 0 {
				t.Errorf("left in the state: %v", left)
			}
			s.sound("at the end")
		})
	}
}
