// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package placement_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/placement"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/providerdata"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// place reads "" as null and "?" as unknown.
func place(project, location string) placement.Place {
	text := func(s string) types.String {
		switch s {
		case "":
			return types.StringNull()
		case "?":
			return types.StringUnknown()
		}
		return types.StringValue(s)
	}
	return placement.Place{Name: types.StringValue("n"), Project: text(project), Location: value.Location{StringValue: text(location)}}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	at := func(project, location string) *placement.Place { p := place(project, location); return &p }
	for name, c := range map[string]struct {
		project, region string
		config          placement.Place
		state           *placement.Place
		want            placement.Place
		replaces        int
		stays           bool
	}{
		"new, from the provider":          {"p", "r1", place("", ""), nil, place("p", "r1"), 0, false},
		"new, configured":                 {"p", "r1", place("q", "r2"), nil, place("q", "r2"), 0, false},
		"new, not known yet":              {"p", "r1", place("?", "?"), nil, place("?", "?"), 0, false},
		"there, nothing said":             {"", "", place("", ""), at("p", "R1"), place("p", "R1"), 0, true},
		"there, the provider in capitals": {"p", "R1", place("", ""), at("p", "r1"), place("p", "r1"), 0, true},
		"there, the provider moved":       {"q", "r2", place("", ""), at("p", "r1"), place("q", "r2"), 2, false},
		"there, configured elsewhere":     {"p", "r1", place("", "r2"), at("p", "r1"), place("p", "r2"), 1, false},
		"there, not known yet":            {"p", "r1", place("", "?"), at("p", "r1"), place("p", "?"), 1, false},
		"there, the project is learned":   {"p", "r1", place("", ""), at("", "r1"), place("p", "r1"), 0, true},
		"there, no project anywhere":      {"", "r1", place("", ""), at("", "r1"), place("", "r1"), 0, true},
	} {
		var diags diag.Diagnostics
		got := placement.Plan(&providerdata.Data{Project: c.project, Region: c.region}, c.config, c.config, c.state, &diags)
		if got != c.want || diags.HasError() {
			t.Errorf("%s: %v, want %v; %v", name, got, c.want, diags)
		}
		if n := len(got.Replaces(c.state)); n != c.replaces || got.Stays(c.state) != c.stays {
			t.Errorf("%s: replaced for %v, stays: %v", name, got.Replaces(c.state), got.Stays(c.state))
		}
	}
	var diags diag.Diagnostics
	placement.Plan(&providerdata.Data{}, place("", ""), place("", ""), nil, &diags)
	if len(diags.Errors()) != 2 {
		t.Errorf("without any place: %v", diags)
	}
	late := placement.Plan(&providerdata.Data{Unknown: []string{"project", "region"}}, place("", ""), place("", ""), nil, &diag.Diagnostics{})
	if !late.Project.IsUnknown() || !late.Location.IsUnknown() || late.Known() {
		t.Errorf("with a provider that is not known yet: %v", late)
	}
	if renamed := place("p", "r1"); !renamed.Known() || func() bool { renamed.Name = types.StringValue("other"); return renamed.Stays(at("p", "r1")) }() {
		t.Error("another name is the same thing")
	}
}
