// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, at, hint string }{
		{"Permission 'iam.serviceaccounts.actAs' denied on service account a@p.iam.gserviceaccount.com (or it may not exist).", "service_account", "roles/iam.serviceAccountUser on a@p.iam.gserviceaccount.com "},
		// case 83
		{"Google Cloud Run Service Agent does not have permission to get access tokens for the service account a@p.iam.gserviceaccount.com. Please give it.", "service_account", "roles/iam.serviceAccountTokenCreator on a@p.iam.gserviceaccount.com."},
		{"Google Cloud Run Service Agent must have permission to read the image, us-docker.pkg.dev/p/r/i:1. Ensure that", "image", "us-docker.pkg.dev/p/r/i:1 could not be read: give Cloud Run's service agent of project my-project the role roles/artifactregistry.reader"},
		{"Image 'us-docker.pkg.dev/p/r/i:1' not found.", "image", "Push us-docker.pkg.dev/p/r/i:1, or correct the image"},
		{"x: Permission denied on secret: projects/1/secrets/s/versions/2 for Revision service account a@p.iam.gserviceaccount.com.", "", "Give a@p.iam.gserviceaccount.com the role roles/secretmanager.secretAccessor on the secret projects/1/secrets/s/versions/2."},
		// case 16
		{"The feature 'GPU timeout' is not supported in the declared launch stage on resource R. The launch stage annotation should be specified at least as BETA.", "launch_stage", "GPU timeout needs a more permissive launch stage"},
		{"You do not have quota for using GPUs without zonal redundancy. Learn more", "gpu_type", "a quota of nvidia-l4 GPUs without zonal redundancy in us-central1 for project my-project"},
		// case 53
		{"Quota exceeded for total allowable count of GPUs per project per region.", "gpu_type", "nvidia-l4 GPUs"},
		{"Something else.", "", ""},
	} {
		m := example()
		at, hint := explain(&m, &gcp.Error{Message: c.text})
		if at != c.at || !strings.Contains(hint, c.hint) || c.hint == "" && hint != "" {
			t.Errorf("%q: %q %q, want %q %q", c.text, at, hint, c.at, c.hint)
		}
	}
	m := example()
	if at, hint := explain(&m, errors.New("x")); at+hint != "" {
		t.Errorf("another error: %q %q", at, hint)
	}
	if _, hint := explain(&m, &gcp.Error{Message: "x", Ambiguous: true}); !strings.Contains(hint, "Apply again") {
		t.Errorf("ambiguous: %q", hint)
	}
}

func TestFinished(t *testing.T) {
	t.Parallel()
	condition := func(typ string, state runpb.Condition_State) *runpb.Execution {
		return &runpb.Execution{Conditions: []*runpb.Condition{{Type: "Started", State: runpb.Condition_CONDITION_SUCCEEDED}, {Type: typ, State: state}}}
	}
	for name, c := range map[string]struct {
		e    *runpb.Execution
		want bool
	}{
		"nothing known":                {&runpb.Execution{}, false},
		"running":                      {condition("Completed", runpb.Condition_CONDITION_RECONCILING), false},
		"pending":                      {condition("Completed", runpb.Condition_CONDITION_PENDING), false},
		"other condition":              {condition("Retry", runpb.Condition_CONDITION_SUCCEEDED), false},
		"succeeded":                    {condition("Completed", runpb.Condition_CONDITION_SUCCEEDED), true},
		"cancelled before it started":  {condition("Completed", runpb.Condition_CONDITION_FAILED), true},
		"time without condition":       {&runpb.Execution{CompletionTime: timestamppb.Now()}, true},
		"deleted while it was running": {&runpb.Execution{DeleteTime: timestamppb.Now()}, true},
	} {
		if got := finished(c.e); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestDescribeRuns(t *testing.T) {
	t.Parallel()
	var runs []*runpb.Execution
	for i := range 12 {
		runs = append(runs, &runpb.Execution{Name: fmt.Sprintf("%s/executions/train-%02d", testJob, i)})
	}
	runs[0].StartTime = &timestamppb.Timestamp{Seconds: 1_800_000_000}
	got := describeRuns(runs)
	if !strings.HasPrefix(got, "\n  train-00 (since 2027-01-15T08:00:00Z)\n  train-01\n") || !strings.HasSuffix(got, "\n  train-09\n  … and 2 more") {
		t.Errorf("%q", got)
	}
}
