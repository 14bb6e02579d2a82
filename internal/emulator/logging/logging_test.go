// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package logging_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/logging/apiv2/loggingpb"
	"github.com/google/go-cmp/cmp"
	"github.com/jonboulle/clockwork"
	"google.golang.org/genproto/googleapis/api/monitoredres"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/logging"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

const stdout = "projects/p/logs/run.googleapis.com%2Fstdout"

func service(t *testing.T, s *store.Store, clock clockwork.Clock) *logging.Service {
	t.Helper()
	l, err := logging.New(s, clock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func line(log, text string) *loggingpb.LogEntry {
	return &loggingpb.LogEntry{
		LogName: log, Resource: &monitoredres.MonitoredResource{Type: "cloud_run_job"},
		Payload: &loggingpb.LogEntry_TextPayload{TextPayload: text},
	}
}

// list follows the pages and returns the texts.
func list(t *testing.T, l *logging.Service, req *loggingpb.ListLogEntriesRequest) []string {
	t.Helper()
	if req.GetResourceNames() == nil {
		req.ResourceNames = []string{"projects/p"}
	}
	var texts []string
	for {
		resp, err := l.ListLogEntries(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range resp.GetEntries() {
			texts = append(texts, e.GetTextPayload())
		}
		if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
			return texts
		}
	}
}

func TestAppendAndList(t *testing.T) {
	t.Parallel()
	clock := clockwork.NewFakeClockAt(time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC))
	l := service(t, store.Memory(), clock)
	var want []string
	for i := range 7 {
		if i%2 == 0 {
			clock.Advance(time.Second) // two entries of one time keep their order
		}
		text := fmt.Sprintf("line %d", i)
		l.Append(line(stdout, text))
		want = append(want, text)
	}
	l.Append(line("projects/other/logs/stdout", "of another project"))
	backwards := slices.Clone(want)
	slices.Reverse(backwards)
	for _, size := range []int32{0, 1, 3, 7, 100} {
		if diff := cmp.Diff(want, list(t, l, &loggingpb.ListLogEntriesRequest{PageSize: size})); diff != "" {
			t.Errorf("page size %d: %s", size, diff)
		}
		if diff := cmp.Diff(backwards, list(t, l, &loggingpb.ListLogEntriesRequest{PageSize: size, OrderBy: "timestamp desc"})); diff != "" {
			t.Errorf("page size %d, newest first: %s", size, diff)
		}
	}
	if got := list(t, l, &loggingpb.ListLogEntriesRequest{Filter: `textPayload="line 3"`, PageSize: 1}); !slices.Equal(got, []string{"line 3"}) {
		t.Errorf("filtered: %v", got)
	}
	number := "projects/" + store.ProjectNumber("p")
	if got := list(t, l, &loggingpb.ListLogEntriesRequest{ResourceNames: []string{number}}); len(got) != 7 {
		t.Errorf("by the project's number: %v", got)
	}
	// An older entry that comes late stands at its time; pages do not move.
	page, err := l.ListLogEntries(t.Context(), &loggingpb.ListLogEntriesRequest{ResourceNames: []string{"projects/p"}, PageSize: 5})
	if err != nil {
		t.Fatal(err)
	}
	late := line(stdout, "late")
	late.Timestamp = page.GetEntries()[0].GetTimestamp()
	l.Append(late)
	rest := list(t, l, &loggingpb.ListLogEntriesRequest{PageToken: page.GetNextPageToken()})
	if diff := cmp.Diff(want[5:], rest); diff != "" {
		t.Error(diff)
	}
}

func TestWhatAppendFillsIn(t *testing.T) {
	t.Parallel()
	clock := clockwork.NewFakeClock()
	l := service(t, store.Memory(), clock)
	given := line(stdout, "x")
	l.Append(given)
	if given.GetInsertId() != "" || given.GetTimestamp() != nil {
		t.Error("the caller's entry was changed")
	}
	resp, err := l.ListLogEntries(t.Context(), &loggingpb.ListLogEntriesRequest{ResourceNames: []string{"projects/p"}})
	if err != nil {
		t.Fatal(err)
	}
	e := resp.GetEntries()[0]
	if e.GetInsertId() == "" || !e.GetTimestamp().AsTime().Equal(clock.Now()) || !e.GetReceiveTimestamp().AsTime().Equal(clock.Now()) {
		t.Errorf("entry %v", e)
	}
	l.Append(e) // the same log, time and insert id
	if got := list(t, l, &loggingpb.ListLogEntriesRequest{}); len(got) != 1 {
		t.Errorf("an entry that is there already was added: %v", got)
	}
}

func TestListRefusals(t *testing.T) {
	t.Parallel()
	l := service(t, store.Memory(), nil)
	p := []string{"projects/p"}
	for name, req := range map[string]*loggingpb.ListLogEntriesRequest{
		"no resource":   {},
		"bad resource":  {ResourceNames: []string{"p"}},
		"bad filter":    {ResourceNames: p, Filter: `severity=`},
		"bad order":     {ResourceNames: p, OrderBy: "severity"},
		"negative page": {ResourceNames: p, PageSize: -1},
		"bad token":     {ResourceNames: p, PageToken: "?"},
	} {
		if _, err := l.ListLogEntries(t.Context(), req); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	l := service(t, store.Memory(), nil)
	req := &loggingpb.WriteLogEntriesRequest{
		LogName: stdout, Labels: map[string]string{"a": "of the request", "b": "of the request"},
		Resource: &monitoredres.MonitoredResource{Type: "global"},
		Entries: []*loggingpb.LogEntry{
			{Payload: &loggingpb.LogEntry_TextPayload{TextPayload: "plain"}, Labels: map[string]string{"a": "own"}},
			line("projects/p/logs/other", "with its own log"),
		},
	}
	dry := &loggingpb.WriteLogEntriesRequest{LogName: stdout, Resource: req.GetResource(), Entries: req.GetEntries(), DryRun: true}
	for _, r := range []*loggingpb.WriteLogEntriesRequest{dry, req} {
		if _, err := l.WriteLogEntries(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if got := list(t, l, &loggingpb.ListLogEntriesRequest{Filter: `labels.a="own" labels.b="of the request" resource.type="global" resource.labels.project_id="p"`}); !slices.Equal(got, []string{"plain"}) {
		t.Errorf("with the request's defaults: %v", got)
	}
	logs, err := l.ListLogs(t.Context(), &loggingpb.ListLogsRequest{Parent: "projects/p"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"projects/p/logs/other", stdout}, logs.GetLogNames()); diff != "" {
		t.Error(diff)
	}
	for name, r := range map[string]*loggingpb.WriteLogEntriesRequest{
		"no entries":  {LogName: stdout},
		"no log":      {Resource: req.GetResource(), Entries: []*loggingpb.LogEntry{{}}},
		"bad log":     {LogName: "stdout", Resource: req.GetResource(), Entries: []*loggingpb.LogEntry{{}}},
		"no resource": {LogName: stdout, Entries: []*loggingpb.LogEntry{{}}},
	} {
		if _, err := l.WriteLogEntries(t.Context(), r); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDeleteLog(t *testing.T) {
	t.Parallel()
	l := service(t, store.Memory(), nil)
	l.Append(line(stdout, "a"), line("projects/p/logs/other", "b"))
	if _, err := l.DeleteLog(t.Context(), &loggingpb.DeleteLogRequest{LogName: stdout}); err != nil {
		t.Fatal(err)
	}
	if got := list(t, l, &loggingpb.ListLogEntriesRequest{}); !slices.Equal(got, []string{"b"}) {
		t.Errorf("left: %v", got)
	}
	if _, err := l.DeleteLog(t.Context(), &loggingpb.DeleteLogRequest{LogName: stdout}); status.Code(err) != codes.NotFound {
		t.Errorf("deleted twice: %v", err)
	}
}

func TestRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func() (*store.Store, *logging.Service) {
		s, err := store.Folder(dir)
		if err != nil {
			t.Fatal(err)
		}
		return s, service(t, s, nil)
	}
	end := func(s *store.Store, l *logging.Service) {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s, l := open()
	l.Append(line(stdout, "first"), line("projects/p/logs/other", "gone"))
	if _, err := l.DeleteLog(t.Context(), &loggingpb.DeleteLogRequest{LogName: "projects/p/logs/other"}); err != nil {
		t.Fatal(err)
	}
	l.Append(line(stdout, "second"))
	end(s, l)

	// A killed emulator left an entry half written.
	f, err := os.OpenFile(filepath.Join(dir, "data", "logging", "entries"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte{200, 1, 10}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	s, l = open()
	l.Append(line(stdout, "third"))
	end(s, l)
	s, l = open()
	defer end(s, l)
	if diff := cmp.Diff([]string{"first", "second", "third"}, list(t, l, &loggingpb.ListLogEntriesRequest{})); diff != "" {
		t.Error(diff)
	}
}
