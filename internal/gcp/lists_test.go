// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"cloud.google.com/go/logging/apiv2/loggingpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
)

func logged(ids ...string) []*loggingpb.LogEntry {
	var out []*loggingpb.LogEntry
	for _, id := range ids {
		out = append(out, &loggingpb.LogEntry{InsertId: id})
	}
	return out
}

// A search that ran long answers a page without entries that is not the last.
func TestLogEntries(t *testing.T) {
	t.Parallel()
	f := newFakeCloud(t, func(o *Options) { o.Endpoints.Storage, o.Endpoints.Logging = o.Endpoints.Run, o.Endpoints.Run })
	f.on("ListLogEntries",
		answer{message: &loggingpb.ListLogEntriesResponse{NextPageToken: "1"}},
		answer{err: status.Error(codes.Unavailable, "try again")},
		answer{message: &loggingpb.ListLogEntriesResponse{NextPageToken: "1"}},
		answer{message: &loggingpb.ListLogEntriesResponse{Entries: logged("c", "b"), NextPageToken: "2"}},
		answer{message: &loggingpb.ListLogEntriesResponse{Entries: logged("a")}})
	var got []string
	for e, err := range f.LogEntries(t.Context(), "p", "severity>=ERROR") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.GetInsertId())
	}
	if diff := cmp.Diff([]string{"c", "b", "a"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]proto.Message{&loggingpb.ListLogEntriesRequest{
		ResourceNames: []string{"projects/p"}, Filter: "severity>=ERROR", OrderBy: "timestamp desc", PageSize: 1000,
	}}, f.requests("ListLogEntries")[:1], protocmp.Transform()); diff != "" {
		t.Error(diff)
	}

	f = newFakeCloud(t, func(o *Options) { o.Endpoints.Storage, o.Endpoints.Logging = o.Endpoints.Run, o.Endpoints.Run })
	f.on("ListLogEntries", answer{err: status.Error(codes.PermissionDenied, "Permission denied for all log views")})
	for _, err := range f.LogEntries(t.Context(), "p", "") {
		if e := wantError(t, err); e.Code != codes.PermissionDenied || e.Resource != "projects/p" || f.count("ListLogEntries") != 1 {
			t.Errorf("%v after %d calls", e, f.count("ListLogEntries"))
		}
	}
}

func TestObjects(t *testing.T) {
	t.Parallel()
	var queries []string
	c, _ := newStorageClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		queries = append(queries, r.URL.Path+" "+q.Get("prefix")+" "+q.Get("maxResults")+" "+q.Get("pageToken")+" "+q.Get("versions"))
		page := map[string]any{"items": []any{map[string]any{"name": "run/b", "size": "7", "generation": "1", "timeCreated": "2026-11-29T10:00:00.000Z"}}}
		switch len(queries) {
		case 1:
			page = map[string]any{"items": []any{map[string]any{"name": "run/a"}}, "nextPageToken": "next"}
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(page); err != nil {
			t.Error(err)
		}
	}))
	var got []string
	for o, err := range c.Objects(t.Context(), "b", "run/") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %d %s", o.Name, o.Size, o.TimeCreated))
	}
	if diff := cmp.Diff([]string{"run/a 0 ", "run/b 7 2026-11-29T10:00:00.000Z"}, got); diff != "" {
		t.Error(diff)
	}
	want := []string{"/b/b/o run/ 1000  ", "/b/b/o run/ 1000 next ", "/b/b/o run/ 1000 next "}
	for i, q := range queries {
		if !strings.HasSuffix(q, want[i]) {
			t.Errorf("request %d is %q, want %q", i, q, want[i])
		}
	}
}
