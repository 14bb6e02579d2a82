// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package interruptions

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/logging/apiv2/loggingpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/cloud/audit"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

const (
	system     = "run.googleapis.com%2Fvarlog%2Fsystem"
	events     = "cloudaudit.googleapis.com%2Fsystem_event"
	message    = "Container instance preemption initiated by the platform due to underlying hardware maintenance."
	timeout    = "Terminating task because it has reached the maximum timeout of 300 seconds. To change this limit, see …"
	exit143    = "Container called exit(143)."
	terminated = "Container terminated on signal 15."
	killed     = "Container terminated on signal 9."
)

// at is an entry so many seconds after monday. The labels are execution, task,
// attempt and instance; "-" leaves one out.
func at(seconds float64, log, labels string, payload any) *loggingpb.LogEntry {
	e := &loggingpb.LogEntry{
		LogName: "projects/p/logs/" + log, Timestamp: timestamppb.New(monday.Add(time.Duration(seconds * float64(time.Second)))), Labels: map[string]string{},
	}
	for i, v := range strings.Fields(labels) {
		if v != "-" {
			e.Labels[[]string{labelExecution, labelTask, labelAttempt, labelInstance}[i]] = v
		}
	}
	switch v := payload.(type) {
	case string:
		e.Payload = &loggingpb.LogEntry_TextPayload{TextPayload: v}
	case map[string]any:
		s, err := structpb.NewStruct(v)
		if err != nil {
			panic(err)
		}
		e.Payload = &loggingpb.LogEntry_JsonPayload{JsonPayload: s}
	case *audit.AuditLog:
		a, err := anypb.New(v)
		if err != nil {
			panic(err)
		}
		e.Payload = &loggingpb.LogEntry_ProtoPayload{ProtoPayload: a}
	}
	return e
}

// says is an audit record with a status and without a response.
func says(text string) *audit.AuditLog {
	return &audit.AuditLog{MethodName: "/Jobs.RunJob", ResourceName: "namespaces/p/executions/e1", Status: &statuspb.Status{Code: 14, Message: text}}
}

// over is the record of the end of an execution.
func over(reason, text, status string) *audit.AuditLog {
	condition := map[string]any{"type": "Completed", "status": "False", "message": text}
	if reason != "" {
		condition["reason"] = reason
	}
	s, err := structpb.NewStruct(map[string]any{"status": map[string]any{"conditions": []any{map[string]any{"type": "Started", "reason": "Cancelled"}, condition}}})
	if err != nil {
		panic(err)
	}
	a := says(status)
	a.Response = s
	return a
}

// show writes interruptions as "seconds execution/task/attempt how exit".
func show(all []interruption) []string {
	out := []string{}
	for _, i := range all {
		s := fmt.Sprintf("%g %s/%s/%s", i.at.Sub(monday).Seconds(), i.attempt.execution, i.attempt.task, i.attempt.number)
		if i.preempted {
			s += " preempted"
		}
		if i.exitCode != nil {
			s += fmt.Sprintf(" exit %d", *i.exitCode)
		}
		if i.signal != nil {
			s += fmt.Sprintf(" signal %d", *i.signal)
		}
		out = append(out, s)
	}
	return out
}

func TestInterruptions(t *testing.T) {
	t.Parallel()
	type list = []*loggingpb.LogEntry
	const failure = "Execution e1 has failed to complete, 0/1 tasks were a success."
	for name, c := range map[string]struct {
		entries list
		want    []string
	}{
		"nothing":                    {nil, nil},
		"text":                       {list{at(0, system, "e1 0 0 i", message+" INSTANCE_PREEMPTED"), at(8, system, "e1 0 0 i", exit143)}, []string{"0 e1/0/0 preempted exit 143"}},
		"text without the reason":    {list{at(0, system, "e1 0 0 i", message)}, []string{"0 e1/0/0 preempted"}},
		"the reason alone":           {list{at(0, system, "e1 0 0 i", "INSTANCE_PREEMPTED")}, []string{"0 e1/0/0 preempted"}},
		"fields":                     {list{at(0, system, "e1 0 0 i", map[string]any{"message": message, "reason": "INSTANCE_PREEMPTED"})}, []string{"0 e1/0/0 preempted"}},
		"a field of a field":         {list{at(0, system, "e1 0 0 i", map[string]any{"event": map[string]any{"all": []any{1, "INSTANCE_PREEMPTED"}}})}, []string{"0 e1/0/0 preempted"}},
		"audit":                      {list{at(0, events, "e1 0 0 i", says("INSTANCE_PREEMPTED: "+message))}, []string{"0 e1/0/0 preempted"}},
		"a log nobody has heard of":  {list{at(0, "run.googleapis.com%2Fmaintenance", "e1 0 0 i", message)}, []string{"0 e1/0/0 preempted"}},
		"SIGTERM, handled":           {list{at(0, system, "e1 0 0 i", exit143)}, []string{"0 e1/0/0 exit 143"}},
		"SIGTERM, not handled":       {list{at(0, system, "e1 0 0 i", terminated)}, []string{"0 e1/0/0 signal 15"}},
		"killed after the grace":     {list{at(0, system, "e1 0 0 i", message), at(11, system, "e1 0 0 i", killed)}, []string{"0 e1/0/0 preempted signal 9"}},
		"killed for another reason":  {list{at(0, system, "e1 0 0 i", killed)}, nil},
		"not the whole text":         {list{at(0, system, "e1 0 0 i", "I saw: "+exit143), at(1, system, "e1 0 0 i", exit143+" Really.")}, nil},
		"another exit code":          {list{at(0, system, "e1 0 0 i", "Container called exit(1).")}, nil},
		"an endless number":          {list{at(0, system, "e1 0 0 i", "Container called exit(1431431431431431431).")}, nil},
		"timeout, 143":               {list{at(0, system, "e1 0 0 i", timeout), at(9, system, "e1 0 0 i", exit143)}, nil},
		"timeout of another attempt": {list{at(0, system, "e1 0 0 i", timeout), at(9, system, "e1 0 1 j", exit143)}, []string{"9 e1/0/1 exit 143"}},
		"two attempts": {list{at(0, system, "e1 0 0 i", message), at(3, system, "e1 0 0 i", exit143), at(100, system, "e1 0 1 j", message), at(104, system, "e1 0 1 j", exit143)},
			[]string{"100 e1/0/1 preempted exit 143", "0 e1/0/0 preempted exit 143"}},
		"two tasks at once": {list{at(0, system, "e1 10 0 i", message), at(0, system, "e1 2 0 j", message)}, []string{"0 e1/2/0 preempted", "0 e1/10/0 preempted"}},

		"cancelled":                         {list{at(0, system, "e1 0 0 i", exit143), at(1, events, "e1", over("Cancelled", "Cancelled by user.", failure))}, nil},
		"cancelled, by the message":         {list{at(0, system, "e1 0 0 i", exit143), at(1, events, "e1", over("", "Cancelled by user.", failure))}, nil},
		"cancelled, not labelled":           {list{at(0, system, "e1 0 0 i", terminated), at(1, events, "-", over("Cancelled", "", failure))}, nil},
		"deleted":                           {list{at(0, system, "e1 0 0 i", exit143), at(1, events, "e1", over("Deleted", "Deleted by user.", failure))}, nil},
		"cancelled, but preempted":          {list{at(0, system, "e1 0 0 i", message), at(5, system, "e1 0 0 i", exit143), at(6, events, "e1", over("Cancelled", "", failure))}, []string{"0 e1/0/0 preempted exit 143"}},
		"cancelled later":                   {list{at(0, system, "e1 0 0 i", exit143), at(200, system, "e1 0 1 j", exit143), at(201, events, "e1", over("Cancelled", "", failure))}, []string{"0 e1/0/0 exit 143"}},
		"another execution was cancelled":   {list{at(0, system, "e2 0 0 i", exit143), at(1, events, "e1", over("Cancelled", "", failure))}, []string{"0 e2/0/0 exit 143"}},
		"failed, with a word of cancelling": {list{at(0, system, "e1 0 0 i", exit143), at(1, events, "e1", over("NonZeroExitCode", "Cancelled by user.", failure))}, []string{"0 e1/0/0 exit 143"}},

		// One preemption that is told of more than once is one.
		"text and audit, both labelled":  {list{at(0, system, "e1 0 0 i", message), at(0.5, events, "e1 0 0 i", says("INSTANCE_PREEMPTED")), at(9, system, "e1 0 0 i", exit143)}, []string{"0 e1/0/0 preempted exit 143"}},
		"text and audit of an execution": {list{at(0, system, "e1 0 0 i", message), at(0.5, events, "e1", says("INSTANCE_PREEMPTED")), at(9, system, "e1 0 0 i", exit143)}, []string{"0 e1/0/0 preempted exit 143"}},
		"audit a minute later":           {list{at(55, system, "e1 0 0 i", message), at(65, events, "e1", says("INSTANCE_PREEMPTED"))}, []string{"55 e1/0/0 preempted"}},
		"audit before the text":          {list{at(-1, events, "-", says("INSTANCE_PREEMPTED")), at(0, system, "e1 0 0 i", message)}, []string{"-1 e1/0/0 preempted"}},
		"the end of an execution that was preempted to its end": {
			list{at(0, system, "e1 0 0 i", message), at(9, system, "e1 0 0 i", exit143), at(10, events, "e1", over("NonZeroExitCode", "INSTANCE_PREEMPTED", "INSTANCE_PREEMPTED: "+failure))},
			[]string{"0 e1/0/0 preempted exit 143"}},
		"what users wrote": {list{
			at(0, "cloudaudit.googleapis.com%2Factivity", "-", says("INSTANCE_PREEMPTED")),
			at(1, "cloudaudit.googleapis.com%2Fdata_access", "e1 0 0 i", says(message)),
			at(2, events, "e1", &audit.AuditLog{Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{"env": structpb.NewStringValue("INSTANCE_PREEMPTED")}}}),
		}, nil},

		// Entries that do not name their attempt.
		"by the instance":              {list{at(0, system, "- - - i", message), at(9, system, "e1 0 3 i", exit143), at(5, system, "e1 1 0 j", exit143)}, []string{"5 e1/1/0 exit 143", "0 e1/0/3 preempted exit 143"}},
		"by the time":                  {list{at(0, system, "e1", message), at(9, system, "e1 0 3 i", exit143)}, []string{"0 e1/0/3 preempted exit 143"}},
		"by nothing":                   {list{at(0, system, "-", message), at(9, system, "e1 0 3 i", exit143)}, []string{"0 e1/0/3 preempted exit 143"}},
		"by the task":                  {list{at(0, system, "e1 1", message), at(2, system, "e1 0 0 i", exit143), at(9, system, "e1 1 0 j", exit143)}, []string{"2 e1/0/0 exit 143", "0 e1/1/0 preempted exit 143"}},
		"of another execution":         {list{at(0, system, "e2", message), at(9, system, "e1 0 3 i", exit143)}, []string{"9 e1/0/3 exit 143", "0 e2// preempted"}},
		"too far away":                 {list{at(0, system, "e1", message), at(300, system, "e1 0 3 i", exit143)}, []string{"300 e1/0/3 exit 143", "0 e1// preempted"}},
		"a little too far":             {list{at(0, system, "e1", message), at(100, system, "e1 0 3 i", exit143)}, []string{"100 e1/0/3 exit 143", "0 e1// preempted"}},
		"unknown attempts":             {list{at(0, system, "e1", message), at(500, system, "-", message)}, []string{"500 // preempted", "0 e1// preempted"}},
		"an unknown one, with its end": {list{at(0, system, "e1 - - i", message), at(9, system, "e1 - - i", exit143)}, []string{"0 e1// preempted exit 143"}},
		"one each for two tasks": {list{at(0, system, "e1", message), at(1, system, "e1", message), at(2, system, "e1 0 0 i", exit143), at(3, system, "e1 1 0 j", exit143)},
			[]string{"1 e1/1/0 preempted exit 143", "0 e1/0/0 preempted exit 143"}},
		"rather an end that nothing explains": {list{at(0, system, "e1 0 0 i", message), at(1, events, "e1", says(message)), at(1, system, "e1 0 0 i", exit143), at(2, system, "e1 1 0 j", exit143)},
			[]string{"1 e1/1/0 preempted exit 143", "0 e1/0/0 preempted exit 143"}},
		"timed out beside it": {list{at(0, system, "e1", message), at(1, system, "e1 0 0 i", timeout), at(2, system, "e1 0 0 i", exit143), at(9, system, "e1 1 0 j", exit143)},
			[]string{"0 e1/1/0 preempted exit 143"}},
		"an instance that went on": {list{at(0, system, "- - - i", message), at(2, system, "e1 0 0 i", exit143), at(3000, system, "e1 0 1 i", exit143)},
			[]string{"3000 e1/0/1 exit 143", "0 e1/0/0 preempted exit 143"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The order in which entries come does not matter.
			for seed := range uint64(4) {
				r := rand.New(rand.NewPCG(seed, 1))
				entries := slices.Clone(c.entries)
				r.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
				var lines []line
				for _, e := range entries {
					if l, ok := read(e); ok {
						lines = append(lines, l)
					}
				}
				want := c.want
				if want == nil {
					want = []string{}
				}
				if diff := cmp.Diff(want, show(interruptions(lines))); diff != "" {
					t.Fatal(diff)
				}
			}
		})
	}
}

// The platform's own words are shown, from wherever they stand.
func TestMessage(t *testing.T) {
	t.Parallel()
	labelled := at(0, system, "e1 0 0 i", map[string]any{"text": "moved"})
	labelled.Labels["reason"] = "INSTANCE_PREEMPTED"
	for want, e := range map[string]*loggingpb.LogEntry{
		message + " x":           at(0, system, "e1 0 0 i", message+" x"),
		"going away":             at(0, system, "e1 0 0 i", map[string]any{"message": "going away", "a": "INSTANCE_PREEMPTED"}),
		"a INSTANCE_PREEMPTED b": at(0, system, "e1 0 0 i", map[string]any{"z": "a INSTANCE_PREEMPTED b"}),
		"INSTANCE_PREEMPTED: y":  at(0, events, "e1 0 0 i", says("INSTANCE_PREEMPTED: y")),
		"INSTANCE_PREEMPTED":     labelled,
		exit143:                  at(0, system, "e1 0 0 i", exit143),
	} {
		l, ok := read(e)
		if got := interruptions([]line{l}); !ok || len(got) != 1 || got[0].message != want {
			t.Errorf("%v, want %q", got, want)
		}
	}
}

func TestMeaning(t *testing.T) {
	t.Parallel()
	for n, c := range []struct {
		preempted    bool
		exit, signal string
		want         string
	}{
		{true, "143", "", "asked for a retry with exit code 143"},
		{true, "0", "", "counts as succeeded and is not retried"},
		{true, "1", "", "ended with exit code 1"},
		{true, "", "15", "did not handle SIGTERM"},
		{true, "", "9", "ten seconds of grace were over"},
		{true, "", "11", "signal 11 ended the program"},
		{true, "", "", "do not say how the program ended"},
		{false, "143", "", "asked for a retry with exit code 143; the logs do not say who"},
		{false, "", "15", "did not handle it: what was not saved by then is lost; the logs do not say who"},
	} {
		got := interruption{preempted: c.preempted, exitCode: number(c.exit), signal: number(c.signal)}.meaning()
		if !strings.Contains(got, c.want) || strings.HasPrefix(got, "the platform preempted the task; ") != c.preempted {
			t.Errorf("%d: %q, want %q", n, got, c.want)
		}
	}
}
