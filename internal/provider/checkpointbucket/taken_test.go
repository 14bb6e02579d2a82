// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/api/storage/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest/core"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
)

// A name that is taken, by whomever, and however the API says so: nothing is adopted, nothing but the create is sent, and neither the next
// apply nor a destroy touches that bucket. What the error proposes fits whose it is (cases 106, 107).
func TestNameTaken(t *testing.T) {
	t.Parallel()
	const name = "ckpt-taken"
	made := func(t *testing.T, e *emulator.Emulator, project string) {
		if _, err := otherClient(t, e).CreateBucket(t.Context(), project, &storage.Bucket{Name: name, Location: "us-central1", Labels: map[string]string{"theirs": "yes"}}); err != nil {
			t.Error(err)
		}
	}
	const imports = "terraform import resilientjob_checkpoint_bucket.NAME "
	for what, c := range map[string]struct {
		before func(t *testing.T, e *emulator.Emulator)
		during *faults.Fault // meets the create; its Do is made of before
		says   []string
		not    string
		posts  int
	}{
		"by our project": {
			before: func(t *testing.T, e *emulator.Emulator) { made(t, e, acctest.EmulatorProject) },
			says:   []string{"Bucket exists already", "you already own it", "belongs to the project acctest-project", imports + "acctest-project/" + name}, posts: 1,
		},
		"by our project, unreadable": {
			before: func(t *testing.T, e *emulator.Emulator) {
				made(t, e, acctest.EmulatorProject)
				e.Storage().Deny(name, "storage.buckets.get")
			},
			says: []string{"Bucket exists already", imports + "acctest-project/" + name}, posts: 1,
		},
		"by another project of ours": {
			before: func(t *testing.T, e *emulator.Emulator) { made(t, e, "other-project") },
			says:   []string{"Bucket name is taken", "exists outside of the project acctest-project, although you may read it", "choose another one", imports + "PROJECT/" + name},
			not:    imports + "acctest-project", posts: 1,
		},
		"by somebody else": {
			before: func(_ *testing.T, e *emulator.Emulator) { e.Storage().AddForeign(name) },
			says:   []string{"Bucket name is taken", "belongs to somebody else", "choose another one"}, not: "terraform import", posts: 1,
		},
		"by somebody else while the answer is lost": {
			before: func(_ *testing.T, e *emulator.Emulator) { e.Storage().AddForeign(name) },
			during: &faults.Fault{Cut: true}, says: []string{"Bucket name is taken", "belongs to somebody else"}, not: "terraform import", posts: 2,
		},
		// What was sent is read from the call, and sent once more by the other project.
		"by another project, with a bucket exactly as asked for, while the answer is lost": {
			during: &faults.Fault{Cut: true}, says: []string{"Bucket name is taken", "outside of the project acctest-project"}, not: imports + "acctest-project", posts: 2,
		},
		"by another project while the API is out": {
			before: func(t *testing.T, e *emulator.Emulator) { made(t, e, "other-project") },
			during: &faults.Fault{Status: status.New(codes.Unavailable, "Service Unavailable")},
			says:   []string{"Bucket name is taken", "outside of the project acctest-project"}, not: imports + "acctest-project", posts: 2,
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			e := acctest.Emulator(t)
			tf := core.New(t, e, core.NewClock())
			label := "ours"
			if c.before == nil {
				label = "theirs" // the very same
			}
			config := bucketConfig(e, name, "force_destroy = true\nlabels = { \""+label+"\" = \"yes\" }\nreaders = [\"user:ann@example.com\"]")
			if c.during == nil {
				c.before(t, e)
			} else {
				f := *c.during
				f.Method, f.Match, f.Do = acctest.InsertBucket, core.Sent, func(call faults.Call) {
					if c.before != nil {
						c.before(t, e)
						return
					}
					post(t, e, "/storage/v1/b?project=other-project", "application/json", string(call.Body))
				}
				e.Faults().Add(f)
			}
			calls := acctest.Since(e)
			ours := func() []string {
				var out []string
				for _, call := range calls.Find("") {
					if core.Sent(call) && !strings.Contains(call.Method, "get") {
						out = append(out, call.Method)
					}
				}
				return out
			}
			for n := range 2 {
				res := tf.Apply(config)
				if len(res.Errors) != 1 || res.Errors[0].Attribute != "name" {
					t.Fatalf("apply %d: %s", n, res)
				}
				text := res.Errors[0].String()
				for _, want := range c.says {
					if !strings.Contains(text, want) {
						t.Errorf("apply %d does not say %q:\n%s", n, want, text)
					}
				}
				if c.not != "" && strings.Contains(text, c.not) {
					t.Errorf("apply %d says %q:\n%s", n, c.not, text)
				}
				if len(tf.State) > 0 {
					t.Errorf("apply %d: it is in the state", n)
				}
				if got, want := ours(), slices.Repeat([]string{acctest.InsertBucket}, c.posts+n); !slices.Equal(got, want) {
					t.Errorf("apply %d: calls %v, want %v", n, got, want)
				}
			}
			if res := tf.Destroy(config); res.Failed() || len(ours()) != c.posts+1 {
				t.Errorf("the destroy: %s, calls %v", res, ours())
			}
			if !e.Storage().Exists(name) {
				return // a foreign one: nothing to look at
			}
			e.Storage().Allow(name, "storage.buckets.get")
			if b := getBucket(t, otherClient(t, e), name); b.Metageneration != 1 || b.Labels["theirs"] != "yes" || len(b.Labels) != 1 {
				t.Errorf("their bucket was changed: metageneration %d, labels %v", b.Metageneration, b.Labels)
			}
		})
	}
}

// The first request for a bucket gets no answer, and the second says that the name is taken: by the first. The bucket is made once, is in the
// state, and nothing is sent to it after that (case 38).
func TestLostCreateOfBucket(t *testing.T) {
	t.Parallel()
	out := status.New(codes.Unavailable, "Service Unavailable")
	for what, c := range map[string]struct {
		fault faults.Fault
		posts int
	}{
		"done and lost":       {faults.Fault{Lose: true}, 2},
		"done and lost twice": {faults.Fault{Lose: true, Times: 2}, 3},
		"cut before":          {faults.Fault{Cut: true}, 2},
		"503 three times":     {faults.Fault{Status: out, Times: 3}, 4},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			e := acctest.Emulator(t)
			tf := core.New(t, e, core.NewClock())
			c.fault.Method = acctest.InsertBucket
			e.Faults().Add(c.fault)
			config := bucketConfig(e, "ckpt-lost", "labels = { team = \"ml\" }\nexpire_after_days = 7\nexpire_prefixes = [\"old/\"]")
			calls := acctest.Since(e)
			if res := tf.Apply(config); res.Failed() {
				t.Fatal(res)
			}
			wantWrites(t, calls, slices.Repeat([]string{acctest.InsertBucket}, c.posts)...)
			b := getBucket(t, otherClient(t, e), "ckpt-lost")
			o := tf.State[address].Current
			if b.Metageneration != 1 || o.Tainted || o.Text("time_created") != b.TimeCreated {
				t.Errorf("metageneration %d, tainted %t, made %s and in the state %s", b.Metageneration, o.Tainted, b.TimeCreated, o.Text("time_created"))
			}
			calls = acctest.Since(e)
			if res := tf.Apply(config); !res.Empty() {
				t.Errorf("not done at once: %s", res)
			}
			wantWrites(t, calls)
			if res := tf.Destroy(config); res.Failed() || e.Storage().Exists("ckpt-lost") {
				t.Errorf("the destroy: %s", res)
			}
		})
	}
}
