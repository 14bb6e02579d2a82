// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/providerdata"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

const googleProvider = "registry.terraform.io/hashicorp/google"

// move moves a state of a google_cloud_run_v2_job. The identity is project, location and name; there is no model after an error.
func (h *harness) move(provider, source string, version int64, state []byte) (*Model, []string, []string) {
	h.t.Helper()
	resp, err := h.server.MoveResourceState(h.t.Context(), &tfprotov6.MoveResourceStateRequest{
		SourceProviderAddress: provider, SourceTypeName: source, SourceSchemaVersion: version, SourceState: &tfprotov6.RawState{JSON: state}, TargetTypeName: typeName,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	said := messages(resp.Diagnostics)
	if slices.ContainsFunc(said, func(s string) bool { return strings.HasPrefix(s, "error") }) {
		return nil, nil, said
	}
	raw, err := resp.TargetState.Unmarshal(h.typ)
	if err != nil {
		h.t.Fatal(err)
	}
	var m Model
	noErrors(h.t, (&tfsdk.State{Schema: schemaOf(h.t), Raw: raw}).Get(h.t.Context(), &m))
	identityType := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"project": tftypes.String, "location": tftypes.String, "name": tftypes.String}}
	identity, err := resp.TargetIdentity.IdentityData.Unmarshal(identityType)
	if err != nil {
		h.t.Fatal(err)
	}
	var parts map[string]tftypes.Value
	if err := identity.As(&parts); err != nil {
		h.t.Fatal(err)
	}
	id := make([]string, 3)
	for i, name := range []string{"project", "location", "name"} {
		if err := parts[name].As(&id[i]); err != nil {
			h.t.Fatal(err)
		}
	}
	return &m, id, said
}

func oneOf(s string) tftypes.Value {
	return tftypes.NewValue(tftypes.Set{ElementType: tftypes.String}, []tftypes.Value{tftypes.NewValue(tftypes.String, s)})
}

// googleState is a state of which googlestate's own tests know what is in it.
func googleState(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("../googlestate/testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// Everything that a state can hold comes over, from the newest state and from the first: a plan of what is there is empty.
func TestMove(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	for _, c := range []struct {
		state  string
		config map[string]any
		check  func(*Model) bool
	}{
		{"job.json", map[string]any{
			"name": "train", "image": "us-docker.pkg.dev/my-project/ml/train:v1", "command": []any{"python", "train.py"}, "args": []any{"--epochs", "90"},
			"working_dir": "/app", "env": map[string]any{"LOG_LEVEL": "info", "EMPTY": ""}, "secret_env": map[string]any{"TOKEN": map[string]any{"secret": "token"}},
			"gpu_type": "nvidia-l4", "cpu": "8", "memory": "32Gi", "task_count": 2, "parallelism": 1, "task_timeout": "1h", "max_retries": 0,
			"checkpoint": map[string]any{"bucket": "my-ckpt", "mount_path": "/mnt/ckpt", "mount_options": []any{"implicit-dirs"}},
			"volumes": map[string]any{
				"token":   map[string]any{"mount_path": "/etc/token", "secret": map[string]any{"secret": "token", "default_mode": "0400", "version": "3"}},
				"scratch": map[string]any{"mount_path": "/scratch", "empty_dir": map[string]any{"medium": "disk", "size_limit": "10Gi"}},
				"share":   map[string]any{"mount_path": "/share", "read_only": true, "nfs": map[string]any{"server": "10.0.0.2", "path": "/export"}},
				"db":      map[string]any{"cloud_sql": map[string]any{"instances": oneOf("my-project:us-central1:db")}},
			},
			"network":        map[string]any{"network": "default", "subnetwork": "gpu", "tags": oneOf("gpu")},
			"encryption_key": "projects/my-project/locations/us-central1/keyRings/r/cryptoKeys/k", "binary_authorization": map[string]any{"use_default": true},
			"service_account": "runner@my-project.iam.gserviceaccount.com", "labels": map[string]any{"app": "train"}, "annotations": map[string]any{"owner": "team-ml"},
			"timeouts": map[string]any{"create": "30m"},
		}, func(m *Model) bool {
			return m.UID.ValueString() == "0b2d7c9e-6a2b-4f0c-9d2e-3b1f4c5d6e7f" && len(m.Grants.Elements()) == 0 && m.ServiceAccountUniqueID.IsNull()
		}},
		{"job_2022.json", map[string]any{
			"name": "old", "image": "gcr.io/my-project/old", "env": map[string]any{"A": "b"}, "gpu_type": "none", "cpu": "1", "memory": "512Mi", "task_timeout": "10m", "max_retries": 3,
			"service_account": "123-compute@developer.gserviceaccount.com", "labels": map[string]any{"app": "old"},
		}, func(m *Model) bool {
			return m.Checkpoint.IsNull() && m.Volumes.IsNull() && m.LaunchStage.IsNull() && m.EffectiveLabels.Equal(value.MapOf(map[string]string{"app": "old", "goog-managed": "yes"}))
		}},
	} {
		m, id, said := h.move(googleProvider, "google_cloud_run_v2_job", 0, googleState(t, c.state))
		if m == nil || len(said) > 0 {
			t.Errorf("%s: %v", c.state, said)
			continue
		}
		if want := []string{"my-project", "us-central1", m.Name.ValueString()}; !slices.Equal(id, want) || !c.check(m) {
			t.Errorf("%s: %v is %+v", c.state, id, m)
		}
		to := h
		if c.state == "job.json" {
			to = newHarness(t, &providerdata.Data{Project: "my-project", Region: "us-central1", DefaultLabels: map[string]string{"cost-center": "42"}})
		}
		p := to.plan(to.config(c.config), m)
		var before tfsdk.State
		before.Schema, before.Raw = schemaOf(t), tftypes.NewValue(h.typ, nil)
		noErrors(t, before.Set(t.Context(), m))
		if d, err := before.Raw.Diff(p.raw); err != nil || len(d) > 0 {
			t.Errorf("%s: the plan changes %v %v; it says %v", c.state, d, err, p.said)
		}
	}
}

// What cannot be moved is refused in words, what a move loses is said, and nothing else is.
func TestMoveSays(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	task := func(fields string) string {
		return `{"id": "projects/p-1234/locations/us-central1/jobs/j", "template": [{"template": [{` + fields + `}]}]}`
	}
	const (
		google  = googleProvider
		jobType = "google_cloud_run_v2_job"
		refused = "error : Cannot move this resource: "
	)
	for _, c := range []struct {
		provider, source string
		version          int64
		state            string
		says             []string
	}{
		{google, jobType, 0, task(`"containers": [{"image": "i"}]`), nil},
		{google + "-beta", jobType, 0, task(`"containers": [{"image": "i", "startup_probe": []}]`), nil},
		{google, jobType, 1, task(`"containers": [{"image": "i"}]`), []string{refused + "The state of the google_cloud_run_v2_job has schema version 1"}},
		{google, "google_cloud_run_service", 1, `{}`, []string{refused + "Only a google_cloud_run_v2_job can be moved to this type, and this is a google_cloud_run_service. Import it instead"}},
		{"example.com/a/google", jobType, 0, `{}`, []string{refused + "Only a google_cloud_run_v2_job of hashicorp/google or hashicorp/google-beta can be moved"}},
		{google, jobType, 0, `null`, []string{refused + "The google_cloud_run_v2_job cannot be moved. The state of the resource is no JSON object. Nothing was changed."}},
		{google, jobType, 0, task(`"containers": [{"image": "a", "name": "a"}, {"image": "b", "name": "b"}]`),
			[]string{refused + `projects/p-1234/locations/us-central1/jobs/j has what this resource cannot hold: 2 containers "a", "b". Nothing was changed. Change the job first`}},
		{google, jobType, 0, task(`"containers": []`), []string{refused + "projects/p-1234/locations/us-central1/jobs/j has what this resource cannot hold: 0 containers. Nothing"}},
		{google, jobType, 0, task(`"volumes": [{"name": "v", "empty_dir": [null]}, {"name": "w", "empty_dir": [null]}],
			"containers": [{"image": "i", "volume_mounts": [{"name": "v", "mount_path": "/v"}, {"name": "v", "mount_path": "/w"}]}]`), []string{
			refused + `projects/p-1234/locations/us-central1/jobs/j has what this resource cannot hold: a volume "v" that is mounted 2 times; a volume "w" that is not mounted.`}},
		{google, jobType, 0, task(`"containers": [{"image": "i", "startup_probe": [{"tcp_socket": [{"port": 80}]}], "ports": [{"container_port": 80}]}]`),
			[]string{"warning : Settings that are not managed: The job projects/p-1234/locations/us-central1/jobs/j has ports, startup_probe."}},
		{google, jobType, 0, `{"deletion_policy": "PREVENT", ` + strings.TrimPrefix(task(`"containers": [{"image": "i"}]`), "{"),
			[]string{`warning : deletion_policy does not move: The google_cloud_run_v2_job projects/p-1234/locations/us-central1/jobs/j has deletion_policy = "PREVENT".`}},
	} {
		_, _, said := h.move(c.provider, c.source, c.version, []byte(c.state))
		if !slices.EqualFunc(said, c.says, strings.HasPrefix) {
			t.Errorf("%s\nsays\n%s\nwant\n%s", c.state, strings.Join(said, "\n"), strings.Join(c.says, "\n"))
		}
	}
}

// A label of Google's default_labels is managed, and one of the platform is not. That the executions lack what stands on the job is no change.
func TestMoveLabels(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	m, _, said := h.move(googleProvider, "google_cloud_run_v2_job", 0, []byte(`{"id": "projects/p-1234/locations/us-central1/jobs/j",
		"labels": {"own": "1", "job-only": "1"}, "terraform_labels": {"own": "1", "job-only": "1", "default": "1", "goog-terraform-provisioned": "true"},
		"effective_labels": {"own": "1", "job-only": "1", "default": "1", "goog-terraform-provisioned": "true", "others": "1"},
		"template": [{"labels": {"own": "1", "default": "1"}, "template": [{"containers": [{"image": "i"}]}]}]}`))
	if m == nil {
		t.Fatal(said)
	}
	for name, c := range map[string]struct {
		got  types.Map
		want map[string]string
	}{
		"labels":           {m.Labels, map[string]string{"own": "1", "job-only": "1"}},
		"terraform_labels": {m.TerraformLabels, map[string]string{"own": "1", "job-only": "1", "default": "1"}},
		"effective_labels": {m.EffectiveLabels, map[string]string{"own": "1", "job-only": "1", "default": "1", "goog-terraform-provisioned": "true", "others": "1"}},
	} {
		if !c.got.Equal(value.MapOf(c.want)) {
			t.Errorf("%s is %v, want %v", name, c.got, c.want)
		}
	}
}

// No state makes a panic, and what is moved is a whole resource.
func FuzzMove(f *testing.F) {
	f.Add(googleState(f, "job.json"))
	f.Add(googleState(f, "job_2022.json"))
	f.Add([]byte(`{"id":"projects/p-1234/locations/us-central1/jobs/j","template":[{"template":[{"containers":[null],"volumes":[null]}]}]}`))
	h := newHarness(f, nil)
	f.Fuzz(func(t *testing.T, raw []byte) {
		resp, err := h.server.MoveResourceState(t.Context(), &tfprotov6.MoveResourceStateRequest{
			SourceProviderAddress: googleProvider, SourceTypeName: "google_cloud_run_v2_job", SourceState: &tfprotov6.RawState{JSON: raw}, TargetTypeName: typeName,
		})
		if err != nil {
			t.Fatal(err)
		}
		if said := messages(resp.Diagnostics); slices.ContainsFunc(said, func(s string) bool { return strings.HasPrefix(s, "error") }) {
			for _, s := range said {
				if !strings.Contains(s, "Cannot move this resource: ") && strings.HasPrefix(s, "error") {
					t.Error(s)
				}
			}
			return
		}
		state, err := resp.TargetState.Unmarshal(h.typ)
		if err != nil || !state.IsFullyKnown() {
			t.Errorf("the state is not whole: %v, %v", state, err)
		}
	})
}
