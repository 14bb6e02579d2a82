// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"context"
	"iter"

	logging "cloud.google.com/go/logging/apiv2"
	"cloud.google.com/go/logging/apiv2/loggingpb"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/api/iterator"
	"google.golang.org/grpc/codes"
)

// logPage is the API's own maximum. Reads of a project are limited to 60 a minute, so that few large pages are the way.
const logPage = 1000

// LogEntries lists the log entries of a project that a filter of the Logging query language lets through, newest first. Pages are fetched
// when they are reached; a page may be empty and yet not be the last. An error is the last element.
func (c *Client) LogEntries(ctx context.Context, project, filter string) iter.Seq2[*loggingpb.LogEntry, error] {
	return pages(func(token string) (items []*loggingpb.LogEntry, next string, err error) {
		k := &call{op: "read the logs of", resource: "projects/" + project, project: project, kind: read, to: &c.logsAt}
		api, err := c.logsAPI()
		if err != nil {
			return nil, "", &Error{Op: k.op, Resource: k.resource, Code: codes.Unavailable, Err: err, unsent: true}
		}
		err = c.do(ctx, k, func(ctx context.Context, a *attempt) error {
			items, next, err = logEntries(ctx, api, &loggingpb.ListLogEntriesRequest{
				ResourceNames: []string{k.resource}, Filter: filter, OrderBy: "timestamp desc",
			}, token, a.grpc())
			return err
		})
		return items, next, err
	})
}

func logEntries(ctx context.Context, api *logging.Client, req *loggingpb.ListLogEntriesRequest, token string, o gax.CallOption) (items []*loggingpb.LogEntry, next string, err error) {
	next, err = iterator.NewPager(api.ListLogEntries(ctx, req, o), logPage, token).NextPage(&items)
	return items, next, err
}
