// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/api/storage/v1"
	"google.golang.org/genproto/googleapis/api"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
)

const googleProvider = "registry.terraform.io/hashicorp/google"

// guide is a configuration of the guide, for the emulator's project.
func guide(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("../../../examples/guides/coming-from-the-google-provider", name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(raw), "my-project", acctest.EmulatorProject)
}

// googleWorld is what before.tf of the guide makes, with the state that Google's provider writes of it.
func googleWorld(t *testing.T) (w *world, uid string) {
	t.Helper()
	w = newWorld(t)
	w.job.Name = "train"
	w.bucket = acctest.EmulatorProject + "-checkpoints"
	if _, err := w.client.CreateBucket(t.Context(), w.job.Project, &storage.Bucket{
		Name: w.bucket, Location: "US-CENTRAL1", StorageClass: "STANDARD", Labels: map[string]string{"goog-terraform-provisioned": "true"},
		SoftDeletePolicy: &storage.BucketSoftDeletePolicy{ForceSendFields: []string{"RetentionDurationSeconds"}},
		IamConfiguration: &storage.BucketIamConfiguration{PublicAccessPrevention: "enforced", UniformBucketLevelAccess: &storage.BucketIamConfigurationUniformBucketLevelAccess{Enabled: true}},
	}); err != nil {
		t.Fatal(err)
	}
	account := w.addAccount("train-runner", "")
	if _, err := w.e.Secrets().AddSecret(w.job.Project, "wandb-key", []byte("key")); err != nil {
		t.Fatal(err)
	}
	accessor := gcp.Grant{Resource: "projects/" + w.job.Project + "/secrets/wandb-key", Role: "roles/secretmanager.secretAccessor", Member: "serviceAccount:" + account.GetEmail()}
	for _, g := range []gcp.Grant{w.grant(account.GetEmail()), accessor} {
		if _, err := w.client.AddMember(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	disabled := true
	op, err := w.client.CreateJob(t.Context(), w.job.Parent(), w.job.Name, &runpb.Job{
		Labels: map[string]string{"goog-terraform-provisioned": "true"}, Client: "terraform", LaunchStage: api.LaunchStage_BETA,
		Template: &runpb.ExecutionTemplate{Template: &runpb.TaskTemplate{
			ServiceAccount: account.GetEmail(), Timeout: durationpb.New(43200e9), Retries: &runpb.TaskTemplate_MaxRetries{MaxRetries: 5},
			GpuZonalRedundancyDisabled: &disabled, NodeSelector: &runpb.NodeSelector{Accelerator: "nvidia-l4"},
			Containers: []*runpb.Container{{
				Image: "us-central1-docker.pkg.dev/" + w.job.Project + "/images/train:v1", Args: []string{"--epochs", "40"},
				Resources: &runpb.ResourceRequirements{Limits: map[string]string{"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"}},
				Env: []*runpb.EnvVar{
					{Name: "CHECKPOINT_DIR", Values: &runpb.EnvVar_Value{Value: "/checkpoints"}},
					{Name: "WANDB_API_KEY", Values: &runpb.EnvVar_ValueSource{ValueSource: &runpb.EnvVarSource{SecretKeyRef: &runpb.SecretKeySelector{Secret: "wandb-key", Version: "latest"}}}},
				},
				VolumeMounts: []*runpb.VolumeMount{{Name: "checkpoints", MountPath: "/checkpoints"}},
			}},
			Volumes: []*runpb.Volume{{Name: "checkpoints", VolumeType: &runpb.Volume_Gcs{Gcs: &runpb.GCSVolumeSource{Bucket: w.bucket}}}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := op.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	uid = w.live().GetUid()
	states := strings.NewReplacer("PROJECT", w.job.Project, "BUCKET", w.bucket, "EMAIL", account.GetEmail(), "UID", uid, "UNIQUE", account.GetUniqueId())
	resource := func(typ, name string, version int64, attributes string) acctest.Foreign {
		return acctest.Foreign{Provider: googleProvider, Type: typ, Name: name, SchemaVersion: version, Attributes: []byte(states.Replace(attributes))}
	}
	w.tf.WriteState(
		resource("google_service_account", "train", 0, `{"account_id": "train-runner", "create_ignore_already_exists": null, "description": "", "disabled": false, "display_name": "",
			"email": "EMAIL", "id": "projects/PROJECT/serviceAccounts/EMAIL", "member": "serviceAccount:EMAIL", "name": "projects/PROJECT/serviceAccounts/EMAIL", "project": "PROJECT",
			"timeouts": null, "unique_id": "UNIQUE"}`),
		resource("google_storage_bucket", "checkpoints", 4, `{"autoclass": [], "cors": [], "custom_placement_config": [], "default_event_based_hold": false,
			"effective_labels": {"goog-terraform-provisioned": "true"}, "enable_object_retention": false, "encryption": [], "force_destroy": false,
			"hierarchical_namespace": [{"enabled": false}], "id": "BUCKET", "ip_filter": [], "labels": null, "lifecycle_rule": [], "location": "US-CENTRAL1", "logging": [],
			"name": "BUCKET", "project": "PROJECT", "project_number": 123, "public_access_prevention": "enforced", "requester_pays": false, "retention_policy": [], "rpo": null,
			"self_link": "https://www.googleapis.com/storage/v1/b/BUCKET", "soft_delete_policy": [{"effective_time": null, "retention_duration_seconds": 0}],
			"storage_class": "STANDARD", "terraform_labels": {"goog-terraform-provisioned": "true"}, "timeouts": null, "uniform_bucket_level_access": true,
			"url": "gs://BUCKET", "versioning": [], "website": []}`),
		resource("google_storage_bucket_iam_member", "train", 0, `{"bucket": "b/BUCKET", "condition": [], "etag": "CAE=",
			"id": "b/BUCKET/roles/storage.objectUser/serviceAccount:EMAIL", "member": "serviceAccount:EMAIL", "role": "roles/storage.objectUser"}`),
		resource("google_secret_manager_secret_iam_member", "train", 0, `{"condition": [], "etag": "BwY=", "id": "projects/PROJECT/secrets/wandb-key/roles/secretmanager.secretAccessor/serviceAccount:EMAIL",
			"member": "serviceAccount:EMAIL", "project": "PROJECT", "role": "roles/secretmanager.secretAccessor", "secret_id": "projects/PROJECT/secrets/wandb-key"}`),
		resource("google_cloud_run_v2_job", "train", 0, `{"annotations": null, "binary_authorization": [], "client": "terraform", "client_version": "", "conditions": [],
			"deletion_protection": true, "effective_annotations": {}, "effective_labels": {"goog-terraform-provisioned": "true"}, "etag": "x", "execution_count": 0, "generation": "1",
			"id": "projects/PROJECT/locations/us-central1/jobs/train", "labels": null, "latest_created_execution": [], "launch_stage": "BETA", "location": "us-central1",
			"name": "train", "observed_generation": "1", "project": "PROJECT", "reconciling": false, "run_execution_token": null, "start_execution_token": null,
			"template": [{"annotations": {}, "labels": {}, "parallelism": 0, "task_count": 1, "template": [{
				"containers": [{"args": ["--epochs", "40"], "command": [], "depends_on": [],
					"env": [{"name": "CHECKPOINT_DIR", "value": "/checkpoints", "value_source": []},
						{"name": "WANDB_API_KEY", "value": "", "value_source": [{"secret_key_ref": [{"secret": "wandb-key", "version": "latest"}]}]}],
					"image": "us-central1-docker.pkg.dev/PROJECT/images/train:v1", "name": "", "ports": [],
					"resources": [{"limits": {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"}}], "startup_probe": [],
					"volume_mounts": [{"mount_path": "/checkpoints", "name": "checkpoints", "sub_path": ""}], "working_dir": ""}],
				"encryption_key": "", "execution_environment": "EXECUTION_ENVIRONMENT_GEN2", "gpu_zonal_redundancy_disabled": true, "max_retries": 5,
				"node_selector": [{"accelerator": "nvidia-l4"}], "service_account": "EMAIL", "timeout": "43200s",
				"volumes": [{"cloud_sql_instance": [], "empty_dir": [], "gcs": [{"bucket": "BUCKET", "mount_options": [], "read_only": false}], "name": "checkpoints", "nfs": [], "secret": []}],
				"vpc_access": []}]}],
			"terminal_condition": [], "terraform_labels": {"goog-terraform-provisioned": "true"}, "timeouts": null, "uid": "UID"}`),
	)
	return w, uid
}

// The guide, word for word: five resources of Google's provider become two, nothing is written, and the next plan is empty. Then the job gets
// an account of its own, in place.
func TestAccMoveAsTheGuideSays(t *testing.T) {
	t.Parallel()
	w, uid := googleWorld(t)
	w.tf.Needs(acctest.MovesAcrossTypes)
	after := guide(t, "after.tf")
	w.tf.Write(after)
	calls := acctest.Since(w.e)
	w.tf.Apply().Succeeds().
		Says("google_cloud_run_v2_job.train has moved to", "google_storage_bucket.checkpoints has moved to", "0 added, 0 changed, 0 destroyed").
		SaysNot("resilientjob_gpu_job.train will be updated", "Settings that are not managed")
	blocks := strings.Index(after, "moved {")
	w.tf.Write(after[:blocks])
	w.tf.Plan().IsEmpty()
	if writes := calls.Writes(); len(writes) > 0 {
		t.Errorf("written: %v", writes)
	}
	state := w.tf.State()
	addresses := state.Addresses()
	slices.Sort(addresses)
	if want := []string{"google_service_account.train", "resilientjob_checkpoint_bucket.checkpoints", address}; !slices.Equal(addresses, want) {
		t.Errorf("the state has %v, want %v", addresses, want)
	}
	if got := state.Attribute(address, "uid"); got != uid {
		t.Errorf("the job is %v, and was %s", got, uid)
	}
	if got := fmt.Sprint(state.Attribute(address, "grants")); got != "[]" {
		t.Errorf("it holds the grants %s", got)
	}

	w.tf.Write(guide(t, "own-account.tf"))
	w.tf.Apply().Succeeds().Says("0 added, 1 changed, 1 destroyed")
	if live := w.live(); live.GetUid() != uid || live.GetTemplate().GetTemplate().GetServiceAccount() != w.email() || !w.hasGrant(w.grant(w.email())) {
		t.Errorf("the job %s runs as %s", live.GetUid(), live.GetTemplate().GetTemplate().GetServiceAccount())
	}
	w.tf.Plan().IsEmpty()
}
