// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
)

const listName = "resilientjob_executions"

func (s *server) list(job string, limit int, states ...string) (view, []*tfprotov6.Diagnostic) {
	s.t.Helper()
	config := map[string]tftypes.Value{"job": tftypes.NewValue(tftypes.String, job)}
	if limit != 0 {
		config["limit"] = tftypes.NewValue(tftypes.Number, limit)
	}
	if len(states) > 0 {
		var all []tftypes.Value
		for _, one := range states {
			all = append(all, tftypes.NewValue(tftypes.String, one))
		}
		config["states"] = tftypes.NewValue(tftypes.Set{ElementType: tftypes.String}, all)
	}
	return s.ask(listName, config)
}

// past adds executions of a job, the last the newest: f failed, s succeeded,
// c cancelled, r running.
func (w *world) past(job, ends string) {
	w.t.Helper()
	for i, end := range ends {
		e := &runpb.Execution{
			Name: fmt.Sprintf("%s/executions/train-n%04d", job, i), TaskCount: 1,
			CreateTime: timestamppb.New(time.Date(2026, 11, 1, 0, i, 0, 0, time.UTC)),
			StartTime:  timestamppb.New(time.Date(2026, 11, 1, 0, i, 10, 0, time.UTC)),
		}
		completed := &runpb.Condition{Type: "Completed"}
		switch end {
		case 's':
			e.SucceededCount, completed.State = 1, runpb.Condition_CONDITION_SUCCEEDED
		case 'f':
			e.FailedCount, completed.State = 1, runpb.Condition_CONDITION_FAILED
		case 'c':
			e.CancelledCount, completed.State = 1, runpb.Condition_CONDITION_FAILED
			completed.Reasons = &runpb.Condition_ExecutionReason_{ExecutionReason: runpb.Condition_CANCELLED}
		case 'r':
			e.RunningCount, completed.State = 1, runpb.Condition_CONDITION_RECONCILING
		}
		if end != 'r' {
			e.CompletionTime = timestamppb.New(e.GetStartTime().AsTime().Add(90 * time.Second))
		}
		e.Conditions = []*runpb.Condition{completed}
		if err := w.Run().AddExecution(e); err != nil {
			w.t.Fatal(err)
		}
	}
}

// Newest first, up to the limit, of the states that were asked for; each page of
// 100 is one call.
func TestExecutions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	// n0000 failed, n0001 to n0250 succeeded, n0251 was cancelled, n0252 runs.
	w.past(jobFull, "f"+strings.Repeat("s", 250)+"cr")
	s := w.server(nil)
	for name, c := range map[string]struct {
		limit  int
		states []string
		calls  int
		want   view
	}{
		"the default": {0, nil, 2, view{
			"executions": "100", "truncated": "true",
			"executions[0].name": "train-n0252", "executions[0].state": "running", "executions[0].completion_time": "null", "executions[0].duration_seconds": "null",
			"executions[1].name": "train-n0251", "executions[1].state": "cancelled", "executions[1].reason": "CANCELLED",
			"executions[2].id": jobFull + "/executions/train-n0250", "executions[2].state": "succeeded", "executions[2].duration_seconds": "90",
			"executions[99].name": "train-n0153",
		}},
		"one":                 {1, nil, 1, view{"executions": "1", "executions[0].name": "train-n0252", "truncated": "true"}},
		"all":                 {1000, nil, 3, view{"executions": "253", "executions[252].name": "train-n0000", "executions[252].state": "failed", "truncated": "false"}},
		"exactly all":         {253, nil, 3, view{"executions": "253", "truncated": "false"}},
		"failed":              {0, []string{"failed"}, 3, view{"executions": "1", "executions[0].name": "train-n0000", "truncated": "false"}},
		"ended badly":         {2, []string{"failed", "cancelled"}, 3, view{"executions": "2", "executions[0].name": "train-n0251", "executions[1].name": "train-n0000", "truncated": "false"}},
		"none in this state":  {0, []string{"pending"}, 3, view{"executions": "0", "truncated": "false"}},
		"newest that succeed": {1, []string{"succeeded"}, 1, view{"executions": "1", "executions[0].name": "train-n0250", "truncated": "true"}},
	} {
		before := len(w.Faults().Calls())
		got, diags := s.list("train", c.limit, c.states...)
		s.check(nil, diags)
		s.compare(got, c.want)
		if calls := len(w.Faults().Calls()) - before; calls != c.calls {
			t.Errorf("%s: %d calls, want %d", name, calls, c.calls)
		}
	}
}

func TestExecutionsFindNothing(t *testing.T) {
	t.Parallel()
	for _, form := range []run.ListOfMissingJob{run.ListEmpty, run.ListNotFound} {
		w := newWorld(t, 0, func(o *emulator.Options) { o.Behaviour.ListOfMissingJob = form })
		s := w.server(nil)
		got, diags := s.list("train", 0)
		s.check(nil, diags)
		s.compare(got, view{"executions": "0", "truncated": "false"})
		for name, c := range map[string]struct {
			job    string
			limit  int
			states []string
			want   string
		}{
			"no such job":      {"missing", 0, nil, "Job does not exist"},
			"impossible job":   {"A_B", 0, nil, "is not the name of a Cloud Run job"},
			"none":             {"train", -1, nil, "limit is -1, and a number from 1 to 1000 is wanted"},
			"too many":         {"train", 1001, nil, "limit is 1001"},
			"impossible state": {"train", 0, []string{"done"}, `"done" is not the state of an execution`},
		} {
			if _, diags := s.list(c.job, c.limit, c.states...); !strings.Contains(errorsOf(diags), c.want) {
				t.Errorf("%s: %q, want %q", name, errorsOf(diags), c.want)
			}
		}
		w.Faults().Add(faults.Fault{Method: acctest.ListExecutions, Status: status.New(codes.PermissionDenied, "Permission 'run.executions.list' denied.")})
		if _, diags := s.list("train", 0); !strings.Contains(errorsOf(diags), "Permission 'run.executions.list' denied.") {
			t.Errorf("denied: %q", errorsOf(diags))
		}
	}
}

// With the real command line: how many of the last runs failed.
func TestAccExecutions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 0)
	w.past(jobFull, "sffs")
	tf := acctest.CLI(t, w.Emulator)
	tf.Write(acctest.ProviderConfig(w.Emulator) + `
data "resilientjob_executions" "last" {
  job   = "train"
  limit = 3
}
output "failed" {
  value = length([for e in data.resilientjob_executions.last.executions : e if e.state == "failed"])
}
`)
	tf.Apply().Succeeds().Says("failed = 2")
	tf.Plan().Succeeds().Says("No changes.")
}
