// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
)

// story is one resource by the protocol, with what Terraform keeps of it.
type story struct {
	*spoken
	w        *world
	state    *tfprotov6.DynamicValue
	private  []byte
	identity *tfprotov6.ResourceIdentityData
}

func (s *story) attributes(v *tfprotov6.DynamicValue) map[string]tftypes.Value {
	s.t.Helper()
	raw, err := v.Unmarshal(s.typ)
	if err != nil {
		s.t.Fatal(err)
	}
	var out map[string]tftypes.Value
	if !raw.IsNull() {
		if err := raw.As(&out); err != nil {
			s.t.Fatal(err)
		}
	}
	return out
}

func (s *story) null() *tfprotov6.DynamicValue {
	s.t.Helper()
	v, err := tfprotov6.NewDynamicValue(s.typ, tftypes.NewValue(s.typ, nil))
	if err != nil {
		s.t.Fatal(err)
	}
	return &v
}

// apply refreshes, plans and applies the account id, "" to destroy. It returns
// whether the plan was empty, and the errors.
func (s *story) apply(id string) (empty bool, said []string) {
	s.t.Helper()
	ctx := s.t.Context()
	if len(s.attributes(s.state)) > 0 {
		read, err := s.ReadResource(ctx, &tfprotov6.ReadResourceRequest{TypeName: jobType, CurrentState: s.state, Private: s.private, CurrentIdentity: s.identity})
		s.ok(read.Diagnostics, err)
		s.state, s.private, s.identity = read.NewState, read.Private, read.NewIdentity
	}
	config, proposed := s.null(), s.null()
	if id != "" {
		checkpoint, ok := s.typ.AttributeTypes["checkpoint"].(tftypes.Object)
		if !ok {
			s.t.Fatal("the checkpoint is no object")
		}
		parts := map[string]tftypes.Value{}
		for name, typ := range checkpoint.AttributeTypes {
			parts[name] = tftypes.NewValue(typ, nil)
		}
		parts["bucket"] = tftypes.NewValue(tftypes.String, s.w.bucket)
		config = s.Object(s.schema, map[string]tftypes.Value{
			"name": tftypes.NewValue(tftypes.String, s.w.job.Name), "image": tftypes.NewValue(tftypes.String, "train:1"),
			"service_account_id": tftypes.NewValue(tftypes.String, id), "checkpoint": tftypes.NewValue(checkpoint, parts),
		})
		merged, prior := s.attributes(config), s.attributes(s.state)
		for _, a := range s.schema.Block.Attributes {
			if before, ok := prior[a.Name]; ok && a.Computed && merged[a.Name].IsNull() {
				merged[a.Name] = before
			}
		}
		proposed = s.Object(s.schema, merged)
	}
	planned, err := s.PlanResourceChange(ctx, &tfprotov6.PlanResourceChangeRequest{
		TypeName: jobType, PriorState: s.state, ProposedNewState: proposed, Config: config, PriorPrivate: s.private, PriorIdentity: s.identity})
	s.ok(planned.Diagnostics, err)
	before, err := s.state.Unmarshal(s.typ)
	if err != nil {
		s.t.Fatal(err)
	}
	after, err := planned.PlannedState.Unmarshal(s.typ)
	if err != nil {
		s.t.Fatal(err)
	}
	if before.Equal(after) {
		return true, nil
	}
	applied, err := s.ApplyResourceChange(ctx, &tfprotov6.ApplyResourceChangeRequest{
		TypeName: jobType, PriorState: s.state, PlannedState: planned.PlannedState, Config: config, PlannedPrivate: planned.PlannedPrivate, PlannedIdentity: planned.PlannedIdentity})
	if err != nil {
		s.t.Fatal(err)
	}
	s.state, s.private, s.identity = applied.NewState, applied.Private, applied.NewIdentity
	for _, d := range applied.Diagnostics {
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			said = append(said, d.Summary+": "+d.Detail)
		}
	}
	return false, said
}

// However a change of the account fails, and whatever follows: nothing of it is
// left in the end.
func TestAccFailedAccountChange(t *testing.T) { // row 26
	t.Parallel()
	const before, after = "acct-old-1", "acct-new-1"
	for refused, fault := range map[string]faults.Fault{
		"job": refuse(acctest.UpdateJob, 0), "grant": refuse(acctest.SetBucketPolicy, 0),
		"revoke": refuse(acctest.SetBucketPolicy, 1), "account": refuse(acctest.DeleteServiceAccount, 0),
	} {
		for what, next := range map[string]string{"repeated": after, "reverted": before, "third": "acct-third-1", "destroyed": ""} {
			t.Run(refused+" "+what, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				s := &story{spoken: speak(t, w), w: w}
				s.state = s.null()
				if _, said := s.apply(before); said != nil {
					t.Fatal(said)
				}
				w.e.Faults().Add(fault)
				if _, said := s.apply(after); said == nil {
					t.Fatal("the change did not fail")
				}
				if empty, said := s.apply(next); said != nil || empty {
					t.Fatalf("empty %t: %v", empty, said)
				}
				for _, id := range []string{before, after} {
					if id != next {
						w.gone(id)
					}
				}
				if next == "" {
					return
				}
				if empty, said := s.apply(next); !empty {
					t.Errorf("the plan is not empty: %v", said)
				}
				if _, said := s.apply(""); said != nil {
					t.Fatal(said)
				}
				for _, id := range []string{before, after, "acct-third-1"} {
					w.gone(id)
				}
			})
		}
	}
}

// A leftover that cannot be deleted either is remembered, by a destroy too.
func TestAccLeftoverAccount(t *testing.T) {
	t.Parallel()
	w := inProcess(t)
	w.apply(w.config(`service_account_id = "acct-old-1"`)).Succeeds()
	w.e.Faults().Add(refuse(acctest.SetBucketPolicy, 0))
	w.apply(w.config(`service_account_id = "acct-new-1"`)).Fails("Cannot grant a role")
	w.tf.Write(w.config(`service_account_id = "acct-old-1"`))
	equal(t, "what the plan does", w.tf.Plan().Actions(address), "update")
	w.e.Faults().Add(refuse(acctest.DeleteServiceAccount, 0))
	w.tf.Apply().Fails("Cannot delete the service account", "The account acct-new-1 is left of a change that failed")
	w.e.Faults().Add(refuse(acctest.DeleteServiceAccount, 1))
	w.tf.Destroy().Fails("The account acct-new-1 is left of a change that failed")
	w.gone("acct-old-1")
	w.tf.Destroy().Succeeds()
	w.gone("acct-new-1")
}
