// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package providerdata_test

import (
	"testing"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/providerdata"
)

func TestEarly(t *testing.T) {
	t.Parallel()
	type block struct {
		planValidation string
		unknown        bool
	}
	for _, test := range []struct {
		name   string
		blocks []block
		want   bool
	}{
		{"no block", nil, true},
		{"a block without it", []block{{"", false}}, true},
		{"local", []block{{"local", false}}, true},
		{"warn", []block{{"warn", false}}, false},
		{"not known yet", []block{{"", true}}, false},
		{"two blocks of one process", []block{{"warn", false}, {"local", false}}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var e providerdata.Early
			for _, b := range test.blocks {
				e.Observe(b.planValidation, b.unknown)
			}
			if e.Refuses() != test.want {
				t.Errorf("refuses: %t", e.Refuses())
			}
		})
	}
}

// What is not known is never an error: an unknown plan_validation warns.
func TestWarnOnly(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		data providerdata.Data
		want bool
	}{
		{"local", providerdata.Data{PlanValidation: "local"}, false},
		{"warn", providerdata.Data{PlanValidation: "warn"}, true},
		{"not known yet", providerdata.Data{PlanValidation: "local", Unknown: []string{"plan_validation"}}, true},
	} {
		if got := test.data.WarnOnly(); got != test.want {
			t.Errorf("%s: %t", test.name, got)
		}
	}
}
