// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"google.golang.org/api/storage/v1"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/providerdata"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// stateOf is the state that applying a plan leaves.
func stateOf(p planned) Model {
	m := p.model
	m.UID = types.StringValue("00e30000-0000-4000-8000-000000000001")
	if m.ServiceAccountUniqueID.IsUnknown() {
		m.ServiceAccountUniqueID = types.StringValue("999000000000000000001")
	}
	if m.EffectiveLabels.IsUnknown() {
		m.EffectiveLabels = m.TerraformLabels
	}
	return m.settled()
}

// unknownAttributes are the top-level attributes of a plan that are not known.
func unknownAttributes(t testing.TB, raw tftypes.Value) []string {
	t.Helper()
	var all map[string]tftypes.Value
	if err := raw.As(&all); err != nil {
		t.Fatal(err)
	}
	var out []string
	for name, v := range all {
		if !v.IsFullyKnown() {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// cases 47 and 124: everything but what the API gives out is known at plan.
func TestPlanOfACreate(t *testing.T) {
	t.Parallel()
	h := newHarness(t, &providerdata.Data{Project: "my-project", Region: "us-central1", DefaultLabels: map[string]string{"env": "test"}})
	p := h.plan(h.config(map[string]any{
		"task_timeout": "12h", "labels": map[string]any{"team": "ml"}, "checkpoint": map[string]any{"bucket": "my-checkpoints"},
	}), nil)
	if len(p.said) > 0 {
		t.Errorf("the plan says %q", p.said)
	}
	if got := fmt.Sprint(unknownAttributes(t, p.raw)); got != "[effective_labels service_account_unique_id uid]" {
		t.Errorf("unknown: %s", got)
	}
	id := resourcename.ServiceAccountID("my-project", "us-central1", "train")
	m := p.model
	for what, pair := range map[string][2]string{
		"id":       {m.ID.ValueString(), "projects/my-project/locations/us-central1/jobs/train"},
		"console":  {m.ConsoleURL.ValueString(), "https://console.cloud.google.com/run/jobs/details/us-central1/train?project=my-project"},
		"account":  {m.ServiceAccountEmail.ValueString(), id + "@my-project.iam.gserviceaccount.com"},
		"sizes":    {m.CPU.ValueString() + " " + m.Memory.ValueString(), "4 16Gi"},
		"retries":  {m.MaxRetries.String(), "3"},
		"exposure": {m.Exposure.String(), `{"attempts":4,"gpu_hours":48.000000,"task_hours":48.000000}`},
		"labels":   {m.TerraformLabels.String(), `{"env":"test","team":"ml"}`},
		"grants":   {m.Grants.String(), `[{"member":"serviceAccount:` + id + `@my-project.iam.gserviceaccount.com","resource":"projects/_/buckets/my-checkpoints","role":"roles/storage.objectUser"}]`},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: %s, want %s", what, pair[0], pair[1])
		}
	}
	// Applied, nothing is left to do.
	state := stateOf(p)
	again := h.plan(h.config(map[string]any{
		"task_timeout": "720m", "labels": map[string]any{"team": "ml"}, "checkpoint": map[string]any{"bucket": "my-checkpoints"}, "cpu": "4000m", "memory": "16384Mi", "location": "US-CENTRAL1",
	}), &state)
	sameState(t, "the plan after the apply, in other spellings", again.model, state)
	if len(again.said)+len(again.replaces) > 0 {
		t.Errorf("%q %q", again.said, again.replaces)
	}
}

func TestPlanWithUnknowns(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	for attribute, want := range map[string]string{
		"name":            "[console_url effective_labels id name service_account_email service_account_id service_account_unique_id uid]",
		"project":         "[console_url effective_labels id project service_account_email service_account_id service_account_unique_id uid]",
		"gpu_type":        "[cpu effective_labels exposure gpu_type memory service_account_unique_id uid]",
		"task_timeout":    "[effective_labels exposure service_account_unique_id task_timeout uid]",
		"labels":          "[effective_labels labels service_account_unique_id terraform_labels uid]",
		"service_account": "[effective_labels service_account service_account_email service_account_id service_account_unique_id uid]",
		"checkpoint":      "[checkpoint effective_labels grants service_account_unique_id uid]",
	} {
		p := h.plan(h.config(map[string]any{attribute: unknown{}}), nil)
		if got := fmt.Sprint(unknownAttributes(t, p.raw)); got != want || len(p.said) > 0 {
			t.Errorf("%s: unknown %s, want %s; said %q", attribute, got, want, p.said)
		}
	}
	// A provider that does not know its own defaults yet.
	h = newHarness(t, &providerdata.Data{Unknown: []string{"project", "region", "default_labels"}})
	p := h.plan(h.config(nil), nil)
	if len(p.said) > 0 || !p.model.Project.IsUnknown() || !p.model.Location.IsUnknown() || !p.model.TerraformLabels.IsUnknown() {
		t.Errorf("%q %v", p.said, p.model)
	}
	state := example()
	p = h.plan(h.config(nil), &state)
	if p.model.ID.ValueString() != state.ID.ValueString() || len(p.replaces) > 0 {
		t.Errorf("an existing job moves: %v %q", p.model.ID, p.replaces)
	}
}

func TestPlanWithoutPlace(t *testing.T) {
	t.Parallel()
	h := newHarness(t, &providerdata.Data{Region: "us-central1"})
	if p := h.plan(h.config(nil), nil); len(p.said) != 1 || !strings.HasPrefix(p.said[0], "error project: No project") {
		t.Errorf("%q", p.said)
	}
	h = newHarness(t, &providerdata.Data{Project: "my-project"})
	if p := h.plan(h.config(nil), nil); len(p.said) != 1 || !strings.HasPrefix(p.said[0], "error location: No location") {
		t.Errorf("%q", p.said)
	}
	// An imported job needs no defaults.
	h = newHarness(t, &providerdata.Data{})
	state := example()
	if p := h.plan(h.config(nil), &state); len(p.said)+len(p.replaces) > 0 {
		t.Errorf("%q %q", p.said, p.replaces)
	}
}

func TestPlanReplaces(t *testing.T) {
	t.Parallel()
	state := example()
	for name, c := range map[string]struct {
		data   providerdata.Data
		config map[string]any
		want   string
	}{
		"nothing":            {providerdata.Data{Project: "my-project", Region: "us-central1"}, nil, "[]"},
		"name":               {providerdata.Data{Project: "my-project", Region: "us-central1"}, map[string]any{"name": "other"}, "[AttributeName(\"name\")]"},
		"project":            {providerdata.Data{Project: "my-project", Region: "us-central1"}, map[string]any{"project": "other-project"}, "[AttributeName(\"project\")]"},
		"provider project":   {providerdata.Data{Project: "other-project", Region: "us-central1"}, nil, "[AttributeName(\"project\")]"},
		"provider region":    {providerdata.Data{Project: "my-project", Region: "europe-west4"}, nil, "[AttributeName(\"location\")]"},
		"region in capitals": {providerdata.Data{Project: "my-project", Region: "US-CENTRAL1"}, nil, "[]"},
		"image":              {providerdata.Data{Project: "my-project", Region: "us-central1"}, map[string]any{"image": "x:2"}, "[]"},
		"account":            {providerdata.Data{Project: "my-project", Region: "us-central1"}, map[string]any{"service_account": "a@b-c-d.iam.gserviceaccount.com"}, "[]"},
		"account id":         {providerdata.Data{Project: "my-project", Region: "us-central1"}, map[string]any{"service_account_id": "trainer"}, "[]"},
	} {
		data := c.data
		h := newHarness(t, &data)
		if p := h.plan(h.config(c.config), &state); fmt.Sprint(p.replaces) != c.want {
			t.Errorf("%s: %v, want %s", name, p.replaces, c.want)
		}
	}
}

func TestPlanOfSizes(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	rtx := with(func(m *Model) {
		m.GPUType, m.CPU, m.Memory = types.StringValue("nvidia-rtx-pro-6000"), value.NewQuantity("20"), value.NewQuantity("80Gi")
	})
	drifted := with(func(m *Model) { m.CPU = value.NewQuantity("8") })
	respelled := with(func(m *Model) { m.CPU, m.Memory = value.NewQuantity("4000m"), value.NewQuantity("16384Mi") })
	later := with(func(m *Model) {
		m.GPUType, m.CPU, m.Memory = types.StringValue("later"), value.NewQuantity("10"), value.NewQuantity("40Gi")
	})
	plain := example()
	for name, c := range map[string]struct {
		config map[string]any
		state  *Model
		want   string
	}{
		"new L4":                       {nil, nil, `"4" "16Gi"`},
		"new RTX":                      {map[string]any{"gpu_type": "nvidia-rtx-pro-6000"}, nil, `"20" "80Gi"`},
		"new without GPU":              {map[string]any{"gpu_type": "none"}, nil, `"1" "512Mi"`},
		"new of tomorrow":              {map[string]any{"gpu_type": "later"}, nil, `<unknown> <unknown>`},
		"L4 to RTX":                    {map[string]any{"gpu_type": "nvidia-rtx-pro-6000"}, &plain, `"20" "80Gi"`},
		"RTX to L4":                    {nil, &rtx, `"4" "16Gi"`},
		"RTX to L4, CPU written":       {map[string]any{"cpu": "8"}, &rtx, `"8" "16Gi"`},
		"changed by somebody":          {nil, &drifted, `"4" "16Gi"`},
		"spelled otherwise":            {nil, &respelled, `"4000m" "16384Mi"`},
		"of tomorrow, and no change":   {map[string]any{"gpu_type": "later"}, &later, `"10" "40Gi"`},
		"of tomorrow to another":       {map[string]any{"gpu_type": "later-2"}, &later, `<unknown> <unknown>`},
		"null to written to null, L4":  {map[string]any{"cpu": "6", "memory": "24Gi"}, &plain, `"6" "24Gi"`},
		"an unknown type keeps values": {map[string]any{"gpu_type": unknown{}, "cpu": "6"}, &plain, `"6" <unknown>`},
	} {
		p := h.plan(h.config(c.config), c.state)
		if got := p.model.CPU.String() + " " + p.model.Memory.String(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// The rows of the life-cycle table that a plan decides.
func TestPlanOfTheLifeCycle(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	config := map[string]any{"checkpoint": map[string]any{"bucket": "my-checkpoints"}}
	state := stateOf(h.plan(h.config(config), nil))
	for name, c := range map[string]struct {
		config  map[string]any
		change  func(*Model)
		unknown string
		equal   bool // nothing is planned
	}{
		"everything is there": {config, func(*Model) {}, "[]", true},
		"no job":              {config, func(m *Model) { m.UID = types.StringNull() }, "[effective_labels uid]", false},
		// case 71
		"no account":    {config, func(m *Model) { m.ServiceAccountUniqueID = types.StringNull() }, "[service_account_unique_id]", false},
		"no grant":      {config, func(m *Model) { m.Grants = grantSet(nil) }, "[]", false},
		"other account": {config, func(m *Model) { m.ServiceAccountEmail = types.StringValue("other@x.iam.gserviceaccount.com") }, "[]", false},
		// case 130
		"what only we know": {map[string]any{"cancel_running_executions": true, "checkpoint": map[string]any{"bucket": "my-checkpoints", "interval": "10m"}}, func(*Model) {}, "[]", false},
		// case 122: what a change of the labels makes of them all is not known.
		"labels": {map[string]any{"labels": map[string]any{"a": "b"}, "checkpoint": config["checkpoint"]}, func(*Model) {}, "[effective_labels]", false},
		// case 121: a nested object that was null gets its defaults.
		"a checkpoint where there was none": {config, func(m *Model) { m.Checkpoint, m.Grants = types.ObjectNull(checkpointTypes), grantSet(nil) }, "[]", false},
		"a checkpoint taken out":            {nil, func(*Model) {}, "[]", false},
		"own to named account":              {map[string]any{"service_account": "shared@my-project.iam.gserviceaccount.com"}, func(*Model) {}, "[]", false},
		"named to own account": {nil, func(m *Model) {
			m.ServiceAccount = types.StringValue("shared@my-project.iam.gserviceaccount.com")
			m.ServiceAccountEmail, m.ServiceAccountID, m.ServiceAccountUniqueID = m.ServiceAccount, types.StringNull(), types.StringNull()
		}, "[service_account_unique_id]", false},
		"an id that is there stays": {nil, func(m *Model) {
			m.Checkpoint, m.Grants = types.ObjectNull(checkpointTypes), grantSet(nil)
			m.ServiceAccountID = types.StringValue("trainer")
			m.ServiceAccountEmail = types.StringValue("trainer@my-project.iam.gserviceaccount.com")
		}, "[]", true},
	} {
		before := state
		c.change(&before)
		p := h.plan(h.config(c.config), &before)
		if got := fmt.Sprint(unknownAttributes(t, p.raw)); got != c.unknown {
			t.Errorf("%s: unknown %s, want %s", name, got, c.unknown)
		}
		prior := tfsdk.State{Schema: schemaOf(t), Raw: tftypes.NewValue(h.typ, nil)}
		noErrors(t, prior.Set(t.Context(), before))
		if equal := p.raw.Equal(prior.Raw); equal != c.equal {
			t.Errorf("%s: nothing planned is %t, want %t", name, equal, c.equal)
		}
		if c.config != nil && c.config["checkpoint"] != nil && p.model.Grants.String() != state.Grants.String() {
			t.Errorf("%s: grants %s, want %s", name, p.model.Grants, state.Grants)
		}
	}
	// A named account may have the role already: that is not known before it is
	// looked at.
	p := h.plan(h.config(map[string]any{
		"service_account": "shared@my-project.iam.gserviceaccount.com", "checkpoint": map[string]any{"bucket": "my-checkpoints", "grant": true},
	}), nil)
	if !p.model.Grants.IsUnknown() || !p.model.ServiceAccountID.IsNull() || !p.model.ServiceAccountUniqueID.IsNull() {
		t.Errorf("named account: %v %v %v", p.model.Grants, p.model.ServiceAccountID, p.model.ServiceAccountUniqueID)
	}
}

func TestPlanFindings(t *testing.T) {
	t.Parallel()
	withCheckpoint := func(more map[string]any) map[string]any {
		out := map[string]any{"checkpoint": map[string]any{"bucket": "my-checkpoints"}}
		for k, v := range more {
			out[k] = v
		}
		return out
	}
	for name, c := range map[string]struct {
		config map[string]any
		want   []string
	}{
		"the defaults warn of nothing": {nil, nil},
		// case 52
		"GPU for two hours":               {withCheckpoint(map[string]any{"task_timeout": "2h"}), nil},
		"GPU for 13 hours":                {withCheckpoint(map[string]any{"task_timeout": "13h"}), []string{"warning task_timeout: GPU task timeout above the documented maximum: "}},
		"169 hours":                       {withCheckpoint(map[string]any{"task_timeout": "169h"}), []string{"error task_timeout: Task timeout above the platform's maximum: "}},
		"11 retries":                      {map[string]any{"max_retries": 11}, []string{"error max_retries: Number of retries outside the platform's range: "}},
		"too many tasks":                  {map[string]any{"task_count": 10_001}, []string{"error task_count: "}},
		"little CPU":                      {map[string]any{"cpu": "2"}, []string{`error cpu: Not enough CPU: A job with nvidia-l4 needs at least 4 CPU`}},
		"little memory":                   {map[string]any{"memory": "8Gi"}, []string{`error memory: Not enough memory: `}},
		"no pair":                         {map[string]any{"gpu_type": "none", "cpu": "1", "memory": "8Gi"}, []string{`error memory: Memory does not go with this CPU value: `}},
		"no pair with the default memory": {map[string]any{"gpu_type": "none", "cpu": "8"}, []string{`error cpu: Memory does not go with this CPU value: `}},
		"half a CPU":                      {map[string]any{"gpu_type": "none", "cpu": "500m"}, []string{`error cpu: Not enough CPU: A job without GPU needs at least 1 CPU`}},
		"long, unsaved":                   {map[string]any{"task_timeout": "2h"}, []string{"warning checkpoint: Long task without a checkpoint: "}},
		"saved, no retry":                 {withCheckpoint(map[string]any{"max_retries": 0}), []string{"warning max_retries: Checkpoint without retries: "}},
		"saved, no retry, work that needs some": {map[string]any{"max_retries": 0, "task_timeout": "12h", "checkpoint": map[string]any{"bucket": "my-checkpoints", "work_time": "24h"}},
			[]string{"warning max_retries: Fewer retries than the stated work needs: max_retries is 0; "}},
		"saved, no retry, work that needs none": {map[string]any{"max_retries": 0, "task_timeout": "12h", "checkpoint": map[string]any{"bucket": "my-checkpoints", "work_time": "1h"}},
			[]string{"warning max_retries: Checkpoint without retries: "}},
		"work for more": {map[string]any{"task_timeout": "12h", "checkpoint": map[string]any{"bucket": "my-checkpoints", "interval": "2h", "write_time": "60s", "restore_time": "120s", "work_time": "24h"}},
			[]string{"warning max_retries: Fewer retries than the stated work needs: max_retries is 3; 24h of work (work_time), an attempt of at most 12h, one interruption in 168h on average and a probability of 0.99 need 4 retries."}},
		"work, best interval": {map[string]any{"task_timeout": "12h", "checkpoint": map[string]any{"bucket": "my-checkpoints", "write_time": "60s", "work_time": "12h"}}, nil},
		"work, nothing else":  {map[string]any{"task_timeout": "12h", "checkpoint": map[string]any{"bucket": "my-checkpoints", "work_time": "100h"}}, []string{"warning max_retries: Fewer retries"}},
		// case 113
		"four tasks on one path":       {withCheckpoint(map[string]any{"task_count": 4}), []string{"warning checkpoint.per_task: Several tasks may write to the same checkpoints: All 4 tasks see the same folder"}},
		"four tasks, by statement":     {map[string]any{"task_count": 4, "checkpoint": map[string]any{"bucket": "my-checkpoints", "per_task": true}}, nil},
		"four tasks, by their index":   {withCheckpoint(map[string]any{"task_count": 4, "env": map[string]any{"OUT": "/checkpoints/$(CLOUD_RUN_TASK_INDEX)"}}), nil},
		"four tasks, not known":        {withCheckpoint(map[string]any{"task_count": 4, "args": []any{"--out", unknown{}}}), nil},
		"four tasks, not known at all": {withCheckpoint(map[string]any{"task_count": 4, "command": unknown{}}), nil},
		"type of tomorrow":             {map[string]any{"gpu_type": "nvidia-h100-80gb", "cpu": "1", "memory": "1Gi"}, []string{`warning gpu_type: GPU type is not in the table: `}},
		"region":                       {map[string]any{"location": "europe-north1"}, []string{"warning location: GPU type is not known in this region: "}},
		"invitation":                   {map[string]any{"location": "asia-south1"}, []string{"warning location: GPU type is by invitation only in this region: "}},
		"redundancy":                   {map[string]any{"gpu_zonal_redundancy": true}, []string{"warning gpu_zonal_redundancy: "}},
		// case 16
		"stage too low": {withCheckpoint(map[string]any{"task_timeout": "2h", "launch_stage": "GA"}), []string{`warning launch_stage: Launch stage does not permit a feature in use: launch_stage is "GA", but a GPU task timeout of 2h`}},
		"long name":     {map[string]any{"name": strings.Repeat("a", 50)}, []string{"warning name: Long job name: "}},
		"K_ variable":   {map[string]any{"env": map[string]any{"K_SERVICE": "x"}}, []string{`warning env["K_SERVICE"]: `}},
	} {
		for mode, prefix := range map[string]string{providerdata.PlanValidationLocal: "", providerdata.PlanValidationWarn: "warning"} {
			h := newHarness(t, &providerdata.Data{Project: "my-project", Region: "us-central1", PlanValidation: mode})
			p := h.plan(h.config(c.config), nil)
			if len(p.said) != len(c.want) {
				t.Errorf("%s (%s): %q, want %q", name, mode, p.said, c.want)
				continue
			}
			for i, w := range c.want {
				if prefix != "" {
					w = prefix + w[strings.Index(w, " "):]
				}
				if !strings.HasPrefix(p.said[i], w) {
					t.Errorf("%s (%s): %q, want %q", name, mode, p.said[i], w)
				}
			}
		}
	}
}

// A finding is repeated only when an input of its rule changes.
func TestPlanFindingsAreNotRepeated(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	config := map[string]any{
		"name": strings.Repeat("a", 50), "task_timeout": "13h", "max_retries": 0, "location": "asia-south1", "gpu_zonal_redundancy": true,
		"env": map[string]any{"K_SERVICE": "x"}, "launch_stage": "GA",
		"checkpoint": map[string]any{"bucket": "my-checkpoints", "work_time": "100h"},
	}
	first := h.plan(h.config(config), nil)
	if len(first.said) != 7 {
		t.Fatalf("%d: %q", len(first.said), first.said)
	}
	state := stateOf(first)
	config["image"] = "train:2"
	if p := h.plan(h.config(config), &state); len(p.said) > 0 {
		t.Errorf("said again: %q", p.said)
	}
	// A state with values that the table refuses can be changed elsewhere.
	odd := with(func(m *Model) {
		m.CPU = value.NewQuantity("3")
		m.GPUType = types.StringValue("none")
		m.Memory = value.NewQuantity("4Gi")
	})
	if p := h.plan(h.config(map[string]any{"cpu": "3", "memory": "4Gi", "gpu_type": "none", "image": "train:2"}), &odd); len(p.said) > 0 {
		t.Errorf("a change elsewhere is refused: %q", p.said)
	}
}

func TestBucketPlaces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bucket storage.Bucket
		region string
		want   bool
	}{
		{storage.Bucket{Location: "US-CENTRAL1"}, "us-central1", true},
		{storage.Bucket{Location: "US-EAST4"}, "us-central1", false},
		{storage.Bucket{Location: "US"}, "us-central1", true},
		{storage.Bucket{Location: "US"}, "europe-west4", false},
		{storage.Bucket{Location: "EU"}, "europe-west4", true},
		{storage.Bucket{Location: "ASIA"}, "asia-southeast1", true},
		{storage.Bucket{Location: "NAM4"}, "us-central1", true},
		{storage.Bucket{Location: "NAM4"}, "us-east4", false},
		{storage.Bucket{Location: "US", CustomPlacementConfig: &storage.BucketCustomPlacementConfig{DataLocations: []string{"US-EAST1", "US-EAST4"}}}, "us-east4", true},
		{storage.Bucket{Location: "US", CustomPlacementConfig: &storage.BucketCustomPlacementConfig{DataLocations: []string{"US-EAST1", "US-EAST4"}}}, "us-central1", false},
		{storage.Bucket{Location: "EUR9"}, "us-central1", true},
	} {
		if got := holds(&c.bucket, c.region); got != c.want {
			t.Errorf("%s holds %s: %t", c.bucket.Location, c.region, got)
		}
	}
}
