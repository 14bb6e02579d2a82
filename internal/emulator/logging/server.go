// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package logging

import (
	"context"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cloud.google.com/go/logging/apiv2/loggingpb"
	"google.golang.org/genproto/googleapis/api/monitoredres"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

const (
	defaultPage = 50
	maxPage     = 1000
)

// ListLogEntries implements loggingpb.LoggingServiceV2Server.
func (s *Service) ListLogEntries(ctx context.Context, req *loggingpb.ListLogEntriesRequest) (*loggingpb.ListLogEntriesResponse, error) {
	if len(req.GetResourceNames()) == 0 {
		return nil, status.Error(codes.InvalidArgument, "The resource names are missing: name a parent such as projects/PROJECT_ID.")
	}
	for _, name := range req.GetResourceNames() {
		if kind, id, ok := strings.Cut(name, "/"); !ok || id == "" || !slices.Contains([]string{"projects", "organizations", "folders", "billingAccounts"}, kind) {
			return nil, status.Errorf(codes.InvalidArgument, "Invalid resource name %q: want projects/PROJECT_ID.", name)
		}
	}
	match, err := parseFilter(req.GetFilter())
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "Unparseable filter: %v", err)
	}
	descending, err := order(req.GetOrderBy())
	if err != nil {
		return nil, err
	}
	size := int(req.GetPageSize())
	switch {
	case size < 0:
		return nil, status.Error(codes.InvalidArgument, "The page size must not be negative.")
	case size == 0:
		size = defaultPage
	}
	size = min(size, maxPage)
	after, err := decodeToken(req.GetPageToken())
	if err != nil {
		return nil, err
	}

	s.mu.Lock()
	records := slices.Clone(s.records)
	s.mu.Unlock()
	if descending {
		slices.Reverse(records)
	}
	resp := &loggingpb.ListLogEntriesResponse{}
	var last *record
	for _, r := range records {
		if ctx.Err() != nil {
			return nil, status.FromContextError(ctx.Err()).Err()
		}
		if after != nil {
			c := byTime(r, after)
			if descending {
				c = -c
			}
			if c <= 0 {
				continue
			}
		}
		if !below(r.entry.GetLogName(), req.GetResourceNames()) || !match(r.view()) {
			continue
		}
		if len(resp.Entries) == size {
			resp.NextPageToken = encodeToken(last)
			break
		}
		resp.Entries = append(resp.Entries, r.entry)
		last = r
	}
	return resp, nil
}

func order(by string) (descending bool, err error) {
	switch strings.Join(strings.Fields(by), " ") {
	case "", "timestamp", "timestamp asc":
		return false, nil
	case "timestamp desc":
		return true, nil
	}
	return false, status.Errorf(codes.InvalidArgument, `Invalid order %q: want "timestamp asc" or "timestamp desc".`, by)
}

// below reports whether the log belongs to one of the resources, of which a
// project may be given by its number and a resource may be a view of a bucket.
func below(log string, resources []string) bool {
	parent, _, _ := strings.Cut(log, "/logs/")
	return slices.ContainsFunc(resources, func(r string) bool {
		if project, ok := strings.CutPrefix(r, "projects/"); ok {
			r, _, _ = strings.Cut(project, "/")
			of, _ := strings.CutPrefix(parent, "projects/")
			return r == of || r == store.ProjectNumber(of)
		}
		return r == parent
	})
}

// A page token says which entry came last, so that entries that are written
// meanwhile neither repeat nor hide others.
func encodeToken(r *record) string {
	t := r.entry.GetTimestamp()
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d.%d.%d", t.GetSeconds(), t.GetNanos(), r.seq))
}

func decodeToken(token string) (*record, error) {
	if token == "" {
		return nil, nil //nolint:nilnil // no token is the first page
	}
	r := &record{entry: &loggingpb.LogEntry{Timestamp: timestamp(0, 0)}}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		_, err = fmt.Sscanf(string(raw), "%d.%d.%d", &r.entry.Timestamp.Seconds, &r.entry.Timestamp.Nanos, &r.seq)
	}
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, "page_token is invalid")
	}
	return r, nil
}

var logName = regexp.MustCompile(`^(projects|organizations|folders|billingAccounts)/[^/]+/logs/[A-Za-z0-9/_.%-]+$`)

// WriteLogEntries implements loggingpb.LoggingServiceV2Server.
func (s *Service) WriteLogEntries(_ context.Context, req *loggingpb.WriteLogEntriesRequest) (*loggingpb.WriteLogEntriesResponse, error) {
	if len(req.GetEntries()) == 0 {
		return nil, status.Error(codes.InvalidArgument, "The entries are missing.")
	}
	entries := make([]*loggingpb.LogEntry, 0, len(req.GetEntries()))
	for i, e := range req.GetEntries() {
		e, ok := proto.Clone(e).(*loggingpb.LogEntry)
		if !ok {
			continue
		}
		if e.GetLogName() == "" {
			e.LogName = req.GetLogName()
		}
		if e.GetResource() == nil {
			e.Resource = req.GetResource()
		}
		for k, v := range req.GetLabels() {
			if _, set := e.GetLabels()[k]; !set {
				if e.Labels == nil {
					e.Labels = map[string]string{}
				}
				e.Labels[k] = v
			}
		}
		if !logName.MatchString(e.GetLogName()) {
			return nil, status.Errorf(codes.InvalidArgument, "Log entry %d: the log name %q is not of the form projects/PROJECT_ID/logs/LOG_ID with a URL-encoded LOG_ID.", i, e.GetLogName())
		}
		if e.GetResource().GetType() == "" {
			return nil, status.Errorf(codes.InvalidArgument, "Log entry %d: the monitored resource is missing.", i)
		}
		e.Resource = withProject(e.GetResource(), e.GetLogName())
		entries = append(entries, e)
	}
	if req.GetDryRun() {
		return &loggingpb.WriteLogEntriesResponse{}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.add(entries); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &loggingpb.WriteLogEntriesResponse{}, nil
}

// withProject adds the project label that the service fills in.
func withProject(r *monitoredres.MonitoredResource, log string) *monitoredres.MonitoredResource {
	project, ok := strings.CutPrefix(log, "projects/")
	if !ok || r.GetLabels()["project_id"] != "" {
		return r
	}
	project, _, _ = strings.Cut(project, "/")
	labels := map[string]string{"project_id": project}
	for k, v := range r.GetLabels() {
		labels[k] = v
	}
	return &monitoredres.MonitoredResource{Type: r.GetType(), Labels: labels}
}

// ListLogs implements loggingpb.LoggingServiceV2Server.
func (s *Service) ListLogs(_ context.Context, req *loggingpb.ListLogsRequest) (*loggingpb.ListLogsResponse, error) {
	resources := append([]string{req.GetParent()}, req.GetResourceNames()...)
	s.mu.Lock()
	defer s.mu.Unlock()
	resp := &loggingpb.ListLogsResponse{}
	for _, r := range s.records {
		if below(r.entry.GetLogName(), resources) {
			resp.LogNames = append(resp.LogNames, r.entry.GetLogName())
		}
	}
	slices.Sort(resp.LogNames)
	resp.LogNames = slices.Compact(resp.LogNames)
	return resp, nil
}

// DeleteLog implements loggingpb.LoggingServiceV2Server.
func (s *Service) DeleteLog(_ context.Context, req *loggingpb.DeleteLogRequest) (*emptypb.Empty, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.records)
	s.records = slices.DeleteFunc(s.records, func(r *record) bool {
		if r.entry.GetLogName() != req.GetLogName() {
			return false
		}
		delete(s.known, identify(r.entry))
		return true
	})
	if len(s.records) == before {
		return nil, status.Errorf(codes.NotFound, "Log %s does not exist", req.GetLogName())
	}
	if err := s.rewrite(); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &emptypb.Empty{}, nil
}
