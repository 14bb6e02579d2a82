// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"fmt"
	"strings"
	"testing"

	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
)

// What a job is, is what Google's texts leave out.
func TestSubject(t *testing.T) {
	t.Parallel()
	m := example()
	s := m.subject()
	if s.Project != "my-project" || s.Location != "us-central1" || !s.Owned || s.GPUType != "nvidia-l4" || s.CPU != 4000 || s.Memory != 16<<30 || s.Tasks != 1 || s.Image != m.Image.ValueString() {
		t.Errorf("%+v", s)
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
		if got := gcp.ExecutionEnded(c.e); got != c.want {
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
