// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package providerdata_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/providerdata"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

func TestFrom(t *testing.T) {
	t.Parallel()
	data := &providerdata.Data{Project: "p"}
	for _, test := range []struct {
		name string
		in   any
		want *providerdata.Data
		bug  bool
	}{
		{"before Configure", nil, nil, false},
		{"configured", data, data, false},
		{"something else", "text", nil, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var r resource.ConfigureResponse
			var d datasource.ConfigureResponse
			if got := providerdata.FromResource(resource.ConfigureRequest{ProviderData: test.in}, &r); got != test.want || r.Diagnostics.HasError() != test.bug {
				t.Errorf("a resource gets %v, %v", got, r.Diagnostics)
			}
			if got := providerdata.FromDataSource(datasource.ConfigureRequest{ProviderData: test.in}, &d); got != test.want || d.Diagnostics.HasError() != test.bug {
				t.Errorf("a data source gets %v, %v", got, d.Diagnostics)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name            string
		data            providerdata.Data
		project, region string
		want            string // summaries at paths
	}{
		{"both", providerdata.Data{Project: "p", Region: "r"}, "p", "r", ""},
		{"neither", providerdata.Data{}, "", "", "project: No project; location: No location"},
		{"not known yet", providerdata.Data{Unknown: []string{"project", "region"}}, "", "", ""},
		{"something else not known yet", providerdata.Data{Project: "p", Unknown: []string{"credentials"}}, "p", "", "location: No location"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			project := test.data.DefaultProject(&diags, path.Root("project"))
			region := test.data.DefaultLocation(&diags, path.Root("location"))
			if project != test.project || region != test.region {
				t.Errorf("project %q, region %q", project, region)
			}
			if want := (resourcename.Defaults{Project: test.project, Location: test.region}); test.data.Defaults() != want {
				t.Errorf("defaults %+v", test.data.Defaults())
			}
			var got []string
			for _, d := range diags {
				at, ok := d.(diag.DiagnosticWithPath)
				if !ok {
					t.Fatalf("no path: %v", d)
				}
				got = append(got, at.Path().String()+": "+d.Summary())
				if !strings.Contains(d.Detail(), "GOOGLE_") || !strings.Contains(d.Detail(), at.Path().String()+" here") {
					t.Errorf("does not say what to set: %s", d.Detail())
				}
			}
			if strings.Join(got, "; ") != test.want {
				t.Errorf("got %v; want %s", got, test.want)
			}
		})
	}
}

func TestDeferred(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		unknown []string
		want    bool
	}{
		{nil, false},
		{[]string{"project", "region", "default_labels", "plan_validation"}, false},
		{[]string{"project", "credentials"}, true},
		{[]string{"endpoints.run"}, true},
		{[]string{"access_token"}, true},
		{[]string{"impersonate_service_account"}, true},
	} {
		data := providerdata.Data{Unknown: test.unknown}
		var diags diag.Diagnostics
		if data.Deferred() != test.want || data.CanRead(&diags) == test.want {
			t.Errorf("%v: deferred is %t", test.unknown, data.Deferred())
		}
		if test.want && (len(diags) != 1 || diags.HasError() || !strings.Contains(diags[0].Detail(), strings.Join(test.unknown, ", "))) {
			t.Errorf("%v: the refresh says %v", test.unknown, diags)
		}
	}
	for _, test := range []struct {
		unknown []string
		want    bool
	}{
		{nil, true},
		{[]string{"default_labels"}, true},
		{[]string{"project"}, false},
		{[]string{"region"}, false},
		{[]string{"credentials"}, false},
	} {
		data := providerdata.Data{Unknown: test.unknown}
		var diags diag.Diagnostics
		if data.CanAnswer(&diags) != test.want || diags.HasError() == test.want {
			t.Errorf("%v: a data source gets %v", test.unknown, diags)
		}
	}
	data := providerdata.Data{Unknown: []string{"region"}}
	if data.Knows("region") || !data.Knows("project") {
		t.Error("region is unknown, project is known")
	}
}

func TestLabelsAndWarnOnly(t *testing.T) {
	t.Parallel()
	data := providerdata.Data{DefaultLabels: map[string]string{"team": "ml", "env": "dev"}, PlanValidation: providerdata.PlanValidationWarn}
	own := map[string]string{"env": "prod"}
	if got := data.Labels(own); !maps.Equal(got, map[string]string{"team": "ml", "env": "prod"}) {
		t.Errorf("labels %v", got)
	}
	if len(own) != 1 || data.DefaultLabels["env"] != "dev" {
		t.Error("the arguments were changed")
	}
	if !data.WarnOnly() || (&providerdata.Data{PlanValidation: providerdata.PlanValidationLocal}).WarnOnly() {
		t.Error("only \"warn\" warns")
	}
}
