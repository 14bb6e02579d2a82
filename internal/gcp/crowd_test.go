// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"google.golang.org/api/storage/v1"
	"google.golang.org/grpc/codes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
)

// Hundreds of grants of two programs on one bucket and one secret, while a third changes both policies all the time: nobody's member is lost,
// conditions survive as they are, and few writes go out; the same when all are taken back (cases 74, 76, 77, 79, 80).
func TestCrowd(t *testing.T) {
	t.Parallel()
	e, first := secretWorld(t)
	ctx := t.Context()
	second, meddler := newTestClient(t, Options{EmulatorHost: e.Addr()}), newTestClient(t, Options{EmulatorHost: e.Addr()})
	if _, err := first.CreateBucket(ctx, "p", &storage.Bucket{Name: "ckpt-crowd", Location: "us-central1",
		IamConfiguration: &storage.BucketIamConfiguration{UniformBucketLevelAccess: &storage.BucketIamConfigurationUniformBucketLevelAccess{Enabled: true}}}); err != nil {
		t.Fatal(err)
	}
	const n = 100 // of each program on each resource
	resources := map[string]string{bucketResource("ckpt-crowd"): "storage.buckets.setIamPolicy", testSecret: setSecretIAM}
	roles := map[string]string{bucketResource("ckpt-crowd"): viewer, testSecret: accessor}
	kept := binding{role: "", members: []string{"group:stays@x.example"}, condition: &condition{title: "office hours", description: "not at night", expression: "request.time.getHours(\"Europe/Berlin\") < 20"}}
	toggle := func(resource, member string) (written int) {
		for {
			p, err := meddler.readPolicy(ctx, resource)
			if err != nil {
				t.Error(err)
				return 0
			}
			mine := kept
			mine.role = roles[resource]
			at := slices.IndexFunc(p.bindings, func(b binding) bool { return b.condition != nil })
			switch {
			case at < 0:
				p.bindings = append(p.bindings, mine)
			case slices.Contains(p.bindings[at].members, member):
				p.bindings[at].members = slices.DeleteFunc(p.bindings[at].members, func(m string) bool { return m == member })
			default:
				p.bindings[at].members = append(p.bindings[at].members, member)
			}
			switch err := meddler.writePolicy(ctx, resource, p); {
			case err == nil:
				return 1
			case !IsConflict(err):
				t.Error(err)
				return 0
			}
		}
	}
	for resource := range resources {
		toggle(resource, "")
	}

	round := func(change func(*Client, Grant) (bool, error)) {
		before := len(e.Faults().Calls())
		turns := make(chan struct{}, 1)
		hooks := []*faults.Handle{}
		for _, method := range resources {
			// A turn for the third before each of the first writes of the others, so that these are refused.
			hooks = append(hooks, e.Faults().Add(faults.Fault{Method: method, Times: 40, Do: func(faults.Call) {
				select {
				case turns <- struct{}{}:
				default:
				}
			}}))
		}
		theirs := map[string]int{}
		var meddling, group sync.WaitGroup
		meddling.Go(func() {
			for i := 0; ; i++ {
				if _, more := <-turns; !more && i%2 == 0 {
					return
				}
				for resource, method := range resources {
					theirs[method] += toggle(resource, fmt.Sprintf("user:guest%d@x.example", i/2%5))
				}
			}
		})
		for i := range 2 * n {
			client := []*Client{first, second}[i%2]
			for resource := range resources {
				group.Go(func() {
					g := Grant{Resource: resource, Role: roles[resource], Member: fmt.Sprintf("user:u%d@x.example", i)}
					if changed, err := change(client, g); err != nil || !changed {
						t.Errorf("%s: %v, %v", g.Member, changed, err)
					}
				})
			}
		}
		group.Wait()
		for _, h := range hooks {
			h.Remove()
		}
		close(turns)
		meddling.Wait()
		for _, method := range resources {
			all, refused := 0, 0
			for _, c := range e.Faults().Calls()[before:] {
				if c.Method == method {
					all++
					if c.Code != codes.OK {
						refused++
					}
				}
			}
			t.Logf("%s: %d writes in all, %d of them the third's, %d refused", method, all, theirs[method], refused)
			if ours := all - theirs[method] - refused; ours > 30 {
				t.Errorf("%s: %d writes for %d changes of two programs", method, ours, 2*n)
			}
		}
	}
	round(func(c *Client, g Grant) (bool, error) { return c.AddMember(ctx, g) })
	for resource := range resources {
		p, err := first.readPolicy(ctx, resource)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2 * n {
			if !p.has(roles[resource], fmt.Sprintf("user:u%d@x.example", i)) {
				t.Errorf("%s: u%d is lost", resource, i)
			}
		}
	}
	round(func(c *Client, g Grant) (bool, error) { return c.RemoveMember(ctx, g) })
	for resource := range resources {
		p, err := first.readPolicy(ctx, resource)
		if err != nil {
			t.Fatal(err)
		}
		p.bindings = slices.DeleteFunc(p.bindings, func(b binding) bool { return b.role != roles[resource] })
		if len(p.bindings) != 1 || !slices.Equal(p.bindings[0].members, kept.members) || p.bindings[0].condition == nil || *p.bindings[0].condition != *kept.condition {
			t.Errorf("%s: left is %+v", resource, p.bindings)
		}
	}
}
