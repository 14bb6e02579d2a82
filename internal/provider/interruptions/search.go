// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package interruptions

import (
	"context"
	"iter"
	"slices"
	"time"

	"cloud.google.com/go/logging/apiv2/loggingpb"
)

const (
	// maxEntries is how many entries are read at the most. A page holds 1000, and a
	// project may read 60 pages a minute.
	maxEntries = 50_000
	// maxExits is for how many attempts it is looked up how their programs ended:
	// what fits into one filter, which may have 20,000 characters.
	maxExits = 50
)

// entries lists the entries that a filter lets through, newest first.
type entries func(ctx context.Context, project, filter string) iter.Seq2[*loggingpb.LogEntry, error]

// result is what a search found.
type result struct {
	interruptions []interruption
	// truncated says that there may be more.
	truncated bool
	// any says that the log had entries that the filter wants.
	any bool
}

// search reads to the end, until there are more interruptions than the limit, or
// until it has read the most entries that it may.
func search(ctx context.Context, list entries, q Query, limit, most int) (result, error) {
	var r result
	var lines []line
	var oldest time.Time
	cut := false
	check := limit + 1 // an interruption has one line at least
	n := 0
	for e, err := range list(ctx, q.Job.Project, Filter(q)) {
		if err != nil {
			return result{}, err
		}
		r.any, n, oldest = true, n+1, e.GetTimestamp().AsTime()
		if l, ok := read(e); ok {
			lines = append(lines, l)
		}
		if len(lines) >= check {
			if len(settled(lines, q, oldest)) > limit {
				cut = true
				break
			}
			check = len(lines) + max(100, len(lines)/4)
		}
		if n == most {
			cut = true
			break
		}
	}
	if cut {
		r.interruptions = settled(lines, q, oldest)
	} else {
		r.interruptions = settled(lines, q, time.Time{})
	}
	r.truncated = cut || len(r.interruptions) > limit
	r.interruptions = r.interruptions[:min(limit, len(r.interruptions))]
	return r, exits(ctx, list, q, r.interruptions)
}

// settled returns the interruptions in the window that no entry before a moment
// can change any more.
func settled(lines []line, q Query, before time.Time) []interruption {
	return slices.DeleteFunc(interruptions(lines), func(i interruption) bool {
		return !q.holds(i.at) || !before.IsZero() && i.at.Sub(before) <= margin
	})
}

// exits looks up how preempted programs ended that did not end with SIGTERM: with
// exit code 0, for one, the task counts as succeeded.
func exits(ctx context.Context, list entries, q Query, all []interruption) error {
	open := map[attempt]*interruption{}
	var asked []attempt
	for i := range all {
		if a := all[i].attempt; all[i].exitCode == nil && all[i].signal == nil && a.known() && len(asked) < maxExits {
			open[a] = &all[i]
			asked = append(asked, a)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	for e, err := range list(ctx, q.Job.Project, exitFilter(q, asked)) {
		if err != nil {
			return err
		}
		if l, ok := read(e); ok && l.fact == exited && open[l.attempt] != nil {
			open[l.attempt].exitCode, open[l.attempt].signal = l.exitCode, l.signal
		}
	}
	return nil
}
