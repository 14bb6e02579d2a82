// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package logging

import (
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/logging/apiv2/loggingpb"
	"google.golang.org/genproto/googleapis/api/monitoredres"
	logtype "google.golang.org/genproto/googleapis/logging/type"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func entry(t *testing.T) *loggingpb.LogEntry {
	t.Helper()
	return &loggingpb.LogEntry{
		LogName:   "projects/p/logs/run.googleapis.com%2Fvarlog%2Fsystem",
		InsertId:  "i1",
		Severity:  logtype.LogSeverity_WARNING,
		Timestamp: timestamppb.New(time.Date(2026, 6, 1, 12, 0, 0, 5, time.UTC)),
		Resource: &monitoredres.MonitoredResource{Type: "cloud_run_job", Labels: map[string]string{
			"project_id": "p", "location": "us-central1", "job_name": "train",
		}},
		Labels: map[string]string{
			"run.googleapis.com/execution_name": "train-x7k2p", "run.googleapis.com/task_index": "0", "run.googleapis.com/task_attempt": "2",
		},
		Payload: &loggingpb.LogEntry_TextPayload{TextPayload: `Container called exit(143). "quoted"`},
	}
}

func structured(t *testing.T) *loggingpb.LogEntry {
	t.Helper()
	payload, err := structpb.NewStruct(map[string]any{
		"message": "Instance preempted", "step": 120, "ok": true, "snake_case": "x", "tags": []any{"gpu", "l4"}, "inner": map[string]any{"reason": "MAINTENANCE"},
	})
	if err != nil {
		t.Fatal(err)
	}
	e := entry(t)
	e.Payload = &loggingpb.LogEntry_JsonPayload{JsonPayload: payload}
	e.Severity = logtype.LogSeverity_DEFAULT
	return e
}

func TestFilterHolds(t *testing.T) {
	t.Parallel()
	text, json := entry(t), structured(t)
	for _, c := range []struct {
		filter     string
		text, json bool
	}{
		{"", true, true},
		{"  \n ", true, true},
		{`-- only a comment`, true, true},
		{`resource.type="cloud_run_job"`, true, true},
		{`resource.type=cloud_run_job`, true, true},
		{`resource.type = "CLOUD_RUN_JOB"`, true, true}, // equality ignores case
		{`resource.type="cloud_run_revision"`, false, false},
		{`resource.labels.job_name="train" resource.labels.location="us-central1"`, true, true},
		{"resource.type=\"cloud_run_job\"\nresource.labels.job_name=\"train\"\nlabels.\"run.googleapis.com/execution_name\"=\"train-x7k2p\"", true, true},
		{`labels."run.googleapis.com/execution_name"="train-x7k2p" AND labels."run.googleapis.com/task_attempt"="2"`, true, true},
		{`labels."run.googleapis.com/task_attempt">=1`, true, true},
		{`labels."run.googleapis.com/task_attempt"<2`, false, false},
		{`labels.missing="x"`, false, false},
		{`labels.missing!="x"`, false, false}, // a missing field compares to nothing
		{`NOT labels.missing="x"`, true, true},
		{`labels."run.googleapis.com/task_index":*`, true, true},
		{`labels.missing:*`, false, false},
		{`textPayload:"exit(143)"`, true, false},
		{`textPayload:EXIT`, true, false},
		{`text_payload:"called"`, true, false},
		{`textPayload:"\"quoted\""`, true, false},
		{`textPayload=~"exit\((1|143)\)"`, true, false},
		{`textPayload=~"EXIT"`, false, false}, // regular expressions do not ignore case
		{`textPayload!~"exit\(0\)"`, true, false},
		{`textPayload:("exit(0)" OR "exit(143)")`, true, false},
		{`textPayload:("called" AND "exit(0)")`, false, false},
		{`textPayload:("called" AND NOT "exit(0)")`, true, false},
		{`textPayload:("called" -"exit(0)")`, true, false},
		{`severity>=WARNING`, true, false},
		{`severity>=warning`, true, false},
		{`severity=WARNING OR severity=ERROR`, true, false},
		{`severity=(WARNING OR ERROR)`, true, false},
		{`severity>=400`, true, false},
		{`severity<=DEFAULT`, false, true},
		{`severity!=WARNING`, false, true},
		{`timestamp>="2026-06-01T12:00:00Z"`, true, true},
		{`timestamp>=2026-06-01T12:00:00Z AND timestamp<"2026-06-01T12:00:00.000000006Z"`, true, true},
		{`timestamp>="2026-06-01T14:00:01+02:00"`, false, false},
		{`timestamp>"2026-05-31" timestamp<"2026-06-02"`, true, true},
		{`logName="projects/p/logs/run.googleapis.com%2Fvarlog%2Fsystem"`, true, true},
		{`logName=("projects/p/logs/run.googleapis.com%2Fstdout" OR "projects/p/logs/run.googleapis.com%2Fvarlog%2Fsystem")`, true, true},
		{`logName:varlog`, true, true},
		{`log_id("run.googleapis.com/varlog/system")`, true, true},
		{`log_id("run.googleapis.com/stdout")`, false, false},
		{`LOG_ID("run.googleapis.com/varlog/system")`, true, true},
		{`NOT log_id("run.googleapis.com/stdout") AND NOT LOG_ID("run.googleapis.com/stderr")`, true, true},
		{`-log_id("run.googleapis.com/varlog/system")`, false, false},
		{"NOT log_id(\"run.googleapis.com/stdout\")\n(textPayload:\"exit(143)\" OR \"preempted\")", true, true},
		{`insertId="i1"`, true, true},
		{`jsonPayload.message:"preempted"`, false, true},
		{`jsonPayload.step=120`, false, true},
		{`jsonPayload.step>99.5`, false, true},
		{`jsonPayload.step>"99"`, false, false}, // text: "120" sorts before "99"
		{`jsonPayload.ok=true`, false, true},
		{`jsonPayload.snake_case=x`, false, true},
		{`jsonPayload.tags="l4"`, false, true},
		{`jsonPayload.tags="a100"`, false, false},
		{`jsonPayload.inner.reason="MAINTENANCE"`, false, true},
		{`jsonPayload.inner:maintenance`, false, true},
		{`jsonPayload:*`, false, true},
		{`preempted`, false, true},
		{`"preempted"`, false, true},
		{`"train-x7k2p"`, true, true},
		{`run.googleapis.com`, true, true},
		{`NOT preempted`, true, false},
		{`-preempted`, true, false},
		{`-severity=WARNING`, false, true},
		{`NOT (severity=WARNING OR jsonPayload.step=1)`, false, true},
		// OR binds tighter than AND: (x OR exit) AND (nothing).
		{`preempted OR exit AND nothing`, false, false},
		{`nothing AND preempted OR exit`, false, false},
		{`(nothing AND preempted) OR exit`, true, false},
		{`severity=WARNING -- AND nothing`, true, false},
		{`(severity=WARNING)AND(resource.type:"run")`, true, false},
		{`ORDER`, false, false}, // a word, not the operator OR
	} {
		match, err := parseFilter(c.filter)
		if err != nil {
			t.Errorf("%s: %v", c.filter, err)
			continue
		}
		if got := match(asJSON(text)); got != c.text {
			t.Errorf("%s: %v for the text entry", c.filter, got)
		}
		if got := match(asJSON(json)); got != c.json {
			t.Errorf("%s: %v for the structured entry", c.filter, got)
		}
	}
}

func TestFilterRefusals(t *testing.T) {
	t.Parallel()
	for filter, want := range map[string]string{
		`resource.type=`:                 `a value is missing at character 15`,
		`resource.typ`:                   ``, // a word to search for
		`resourc.type="x"`:               `field not found: 'resourc.type'`,
		`"resource"="x"`:                 `begins with a field name`,
		`(severity=ERROR`:                `missing )`,
		`severity=ERROR)`:                `unexpected text at character 15`,
		`severity=(ERROR`:                `missing )`,
		`severity=LOUD`:                  `severity "LOUD" is not known`,
		`textPayload:"open`:              `a quote is not closed`,
		`textPayload=~"("`:               `regular expression`,
		`timestamp>="yesterday"`:         `time "yesterday"`,
		`timestamp:"2026"`:               `time "2026"`,
		`sample(insertId, 0.5)`:          `does not know the function sample()`,
		`AND`:                            `an operator without what it joins`,
		`severity=ERROR OR`:              `missing`,
		`NOT`:                            `missing`,
		`severity=ERROR AND AND x`:       `an operator without what it joins`,
		`labels.="x"`:                    `missing`,
		`log_id("x"`:                     `missing )`,
		`=x`:                             `a field name or a text is missing`,
		strings.Repeat("(", 3) + "x))))": `unexpected text`,
	} {
		_, err := parseFilter(filter)
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", filter, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", filter, err, want)
		}
	}
}

// A filter comes from outside: whatever it is, the answer is a filter or an error.
func FuzzFilter(f *testing.F) {
	for _, seed := range []string{`resource.type="x" AND (a OR -b)`, `a:"\`, `"`, `((((`, `labels."é"=~"["`, `severity>=é`, "--"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, filter string) {
		match, err := parseFilter(filter)
		if (match == nil) == (err == nil) {
			t.Fatalf("%q: neither or both of filter and error", filter)
		}
		if match != nil {
			match(asJSON(&loggingpb.LogEntry{LogName: "projects/p/logs/l"}))
		}
	})
}
