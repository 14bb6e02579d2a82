// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package interruptions

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"cloud.google.com/go/logging/apiv2/loggingpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/api/monitoredres"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/logging"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

var (
	monday = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	train  = resourcename.Job{Project: "my-project", Location: "us-central1", Name: "train"}
)

func TestFilter(t *testing.T) {
	t.Parallel()
	const terms = `
AND NOT log_id("run.googleapis.com/stdout")
AND NOT log_id("run.googleapis.com/stderr")
AND (
  textPayload:"preemption initiated by the platform"
  OR jsonPayload.message:"preemption initiated by the platform"
  OR "INSTANCE_PREEMPTED"
  OR textPayload="Container called exit(143)."
  OR textPayload="Container terminated on signal 15."
  OR textPayload="Container terminated on signal 9."
  OR textPayload:"Terminating task because it has reached the maximum timeout"
  OR (log_id("cloudaudit.googleapis.com/system_event") AND ("Cancelled" OR "Deleted"))
)`
	for name, c := range map[string]struct {
		q    Query
		want string
	}{
		"until now": {Query{Job: train, Start: monday}, `resource.type="cloud_run_job"
AND resource.labels.project_id="my-project"
AND resource.labels.location="us-central1"
AND resource.labels.job_name="train"
AND timestamp>="2026-11-23T11:59:00Z"` + terms},
		"one execution, until an end, in another zone": {
			Query{Job: train, Execution: "train-x7k2p", Start: monday.In(time.FixedZone("", 3600)), End: monday.Add(time.Hour + time.Millisecond)}, `resource.type="cloud_run_job"
AND resource.labels.project_id="my-project"
AND resource.labels.location="us-central1"
AND resource.labels.job_name="train"
AND labels."run.googleapis.com/execution_name"="train-x7k2p"
AND timestamp>="2026-11-23T11:59:00Z"
AND timestamp<"2026-11-23T13:01:00.001Z"` + terms},
		"project by its number": {Query{Job: resourcename.Job{Project: "123456789012", Location: "us-central1", Name: "train"}, Start: monday}, `resource.type="cloud_run_job"
AND resource.labels.location="us-central1"
AND resource.labels.job_name="train"
AND timestamp>="2026-11-23T11:59:00Z"` + terms},
		"what needs escapes": {Query{Job: resourcename.Job{Project: `a"b`, Location: `c\d`, Name: "e\nf"}, Execution: `\"`, Start: monday}, `resource.type="cloud_run_job"
AND resource.labels.project_id="a\"b"
AND resource.labels.location="c\\d"
AND resource.labels.job_name="e\nf"
AND labels."run.googleapis.com/execution_name"="\\\""
AND timestamp>="2026-11-23T11:59:00Z"` + terms},
	} {
		if diff := cmp.Diff(c.want, Filter(c.q)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	want := `resource.type="cloud_run_job"
AND resource.labels.project_id="my-project"
AND resource.labels.location="us-central1"
AND resource.labels.job_name="train"
AND timestamp>="2026-11-23T11:59:00Z"
AND NOT log_id("run.googleapis.com/stdout")
AND NOT log_id("run.googleapis.com/stderr")
AND textPayload:"Container called exit("
AND (
  (labels."run.googleapis.com/execution_name"="train-a" AND labels."run.googleapis.com/task_index"="0" AND labels."run.googleapis.com/task_attempt"="1")
  OR (labels."run.googleapis.com/execution_name"="train-b" AND labels."run.googleapis.com/task_index"="12" AND labels."run.googleapis.com/task_attempt"="0")
)`
	if diff := cmp.Diff(want, exitFilter(Query{Job: train, Start: monday}, []attempt{{"train-a", "0", "1"}, {"train-b", "12", "0"}})); diff != "" {
		t.Error(diff)
	}
}

// The language takes filters of up to 20,000 characters.
func TestFilterLength(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("j", 63)
	q := Query{Job: resourcename.Job{Project: strings.Repeat("p", 63), Location: "northamerica-northeast2", Name: long}, Execution: long + "-abcde", Start: monday, End: monday}
	var all []attempt
	for range maxExits {
		all = append(all, attempt{long + "-abcde", "9999", "10"})
	}
	for _, f := range []string{Filter(q), exitFilter(q, all)} {
		if n := utf8.RuneCountInString(f); n > 20_000 {
			t.Errorf("%d characters", n)
		}
	}
}

// matched returns the texts of the entries that a filter finds.
func matched(t testing.TB, filter string, entries ...*loggingpb.LogEntry) []string {
	t.Helper()
	s, err := logging.New(store.Memory(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Append(entries...)
	resp, err := s.ListLogEntries(t.Context(), &loggingpb.ListLogEntriesRequest{ResourceNames: []string{"projects/p"}, Filter: filter})
	if err != nil {
		t.Fatalf("%v:\n%s", err, filter)
	}
	var out []string
	for _, e := range resp.GetEntries() {
		out = append(out, e.GetInsertId())
	}
	return out
}

// Whatever a name is, the filter compares with exactly that name: it neither
// breaks nor means something else.
func FuzzFilter(f *testing.F) {
	for _, seed := range []string{"train", `"`, `\`, `\"`, `\\`, `a" OR "b`, `") OR resource.type:*`, "\n-- x", "é\u2028\x00", `\n`, `\d`, "%2F", "'", "?"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if !utf8.ValidString(name) || name == "" {
			t.Skip("no entry can have it")
		}
		entry := func(id, job string) *loggingpb.LogEntry {
			return &loggingpb.LogEntry{
				LogName: "projects/p/logs/run.googleapis.com%2Fvarlog%2Fsystem", InsertId: id, Timestamp: timestamppb.New(monday),
				Resource: &monitoredres.MonitoredResource{Type: "cloud_run_job", Labels: map[string]string{"project_id": "p", "location": name, "job_name": job}},
				Labels:   map[string]string{labelExecution: name},
				Payload:  &loggingpb.LogEntry_TextPayload{TextPayload: exitText(exitSIGTERM)},
			}
		}
		q := Query{Job: resourcename.Job{Project: "p", Location: name, Name: name}, Execution: name, Start: monday}
		if diff := cmp.Diff([]string{"right"}, matched(t, Filter(q), entry("right", name), entry("longer", name+"x"), entry("other", "x"+name))); diff != "" {
			t.Errorf("%q: %s", name, diff)
		}
	})
}
