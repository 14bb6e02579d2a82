// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package core_test

import (
	"reflect"
	"testing"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest/core"
)

// A folder answers as the command line does: what a plan does, what it does not
// know yet, what it refuses and in which words, and what is in the state.
func TestAccFolderAnswersAsTheCommandLine(t *testing.T) {
	t.Parallel()
	e, ours := world(t), core.Open(t, world(t))
	tf := acctest.CLI(t, e)
	write := func(config string) {
		tf.Write(config)
		ours.Write(config)
	}
	plan := func(want string) {
		t.Helper()
		a, b := tf.Plan(), ours.Plan()
		if got, in := a.Actions(address), b.Actions(address); got != want || in != want {
			t.Errorf("the plan does %q, in the folder %q; want %q", got, in, want)
		}
		if empty := a.Code == 0; empty != b.Empty() {
			t.Errorf("%s: the plan is empty: %t, in the folder: %t", want, empty, b.Empty())
		}
		for _, c := range a.JSON().ResourceChanges {
			later, _ := c.Change.AfterUnknown.(map[string]any)
			for name, v := range later {
				if b.Unknown(address, name) != (v == true) {
					t.Errorf("%s: %s is unknown: %v, in the folder: %t", want, name, v, b.Unknown(address, name))
				}
			}
		}
	}
	write(bucket("one", ""))
	plan("create")
	tf.Apply().Succeeds()
	ours.Apply().Succeeds()
	a, b := tf.State(), ours.State()
	for _, s := range []*acctest.State{a, b} {
		delete(s.Resource(address).AttributeValues, "time_created")
	}
	if !reflect.DeepEqual(a.Addresses(), b.Addresses()) || !reflect.DeepEqual(a.Resource(address).AttributeValues, b.Resource(address).AttributeValues) {
		t.Errorf("the state is %v, in the folder %v", a.Resource(address).AttributeValues, b.Resource(address).AttributeValues)
	}
	plan("no-op")
	write(bucket("one", `labels = { a = "2" }`))
	plan("update")
	write(bucket("two", ""))
	plan("delete,create")
	write(bucket("two", "lifecycle { create_before_destroy = true }"))
	plan("create,delete")
	write(bucket("one", "versioning = true"))
	says := []string{"Error: Versioning with a hierarchical namespace", "with " + address + ",", "keeps no versions"}
	tf.Plan().Fails(says...)
	ours.Plan().Fails(says...)
	write(block)
	plan("delete")
}
