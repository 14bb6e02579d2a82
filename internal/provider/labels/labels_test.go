// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package labels_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/labels"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/providerdata"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

type m = map[string]string

func TestPlan(t *testing.T) {
	t.Parallel()
	data := &providerdata.Data{DefaultLabels: m{"team": "ml", "cost": "gpu"}}
	null, unknown := types.MapNull(types.StringType), types.MapUnknown(types.StringType)
	late := types.MapValueMust(types.StringType, map[string]attr.Value{"a": types.StringUnknown()})
	for name, c := range map[string]struct{ own, want types.Map }{
		"null":  {null, value.MapOf(m{"team": "ml", "cost": "gpu"})},
		"empty": {value.MapOf(nil), value.MapOf(m{"team": "ml", "cost": "gpu"})},
		"own":   {value.MapOf(m{"team": "ops", "a": ""}), value.MapOf(m{"team": "ops", "cost": "gpu", "a": ""})},
		"late":  {unknown, unknown},
		"late value": {late, types.MapValueMust(types.StringType, map[string]attr.Value{
			"a": types.StringUnknown(), "team": types.StringValue("ml"), "cost": types.StringValue("gpu")})},
	} {
		if got := labels.PlanTerraform(data, c.own); !got.Equal(c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	if got := labels.PlanTerraform(&providerdata.Data{Unknown: []string{"default_labels"}}, null); !got.IsUnknown() {
		t.Errorf("with late default labels: %s", got)
	}

	managed, all := value.MapOf(m{"a": "1"}), value.MapOf(m{"a": "1", "b": "2"})
	if got := labels.PlanEffective(managed, managed, all); !got.Equal(all) {
		t.Errorf("nothing changes: %s", got)
	}
	for name, got := range map[string]types.Map{
		"changed": labels.PlanEffective(value.MapOf(nil), managed, all), "new": labels.PlanEffective(managed, null, null), "late": labels.PlanEffective(unknown, managed, all),
	} {
		if !got.IsUnknown() {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestImport(t *testing.T) {
	t.Parallel()
	data := &providerdata.Data{DefaultLabels: m{"team": "ml", "cost": "gpu"}}
	own, terraform := labels.Import(data, m{"team": "ml", "cost": "other", "a": "", "goog-x": "1", "run.googleapis.com/y": "2"})
	if !own.Equal(value.MapOf(m{"cost": "other", "a": ""})) || !terraform.Equal(value.MapOf(m{"team": "ml", "cost": "other", "a": ""})) {
		t.Errorf("labels %s, terraform_labels %s", own, terraform)
	}
	if own, _ := labels.Import(data, nil); !own.IsNull() {
		t.Errorf("labels %s", own)
	}
}
