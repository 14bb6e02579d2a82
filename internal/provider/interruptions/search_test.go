// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package interruptions

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"cloud.google.com/go/logging/apiv2/loggingpb"
)

// asked is a log that answers the first filter with these entries, further ones
// with the exits, and counts what was read of each.
type asked struct {
	entries, exits iter.Seq2[*loggingpb.LogEntry, error]
	filters        []string
	read           []int
}

func (a *asked) list(_ context.Context, _, filter string) iter.Seq2[*loggingpb.LogEntry, error] {
	a.filters, a.read = append(a.filters, filter), append(a.read, 0)
	n := len(a.filters) - 1
	from := a.entries
	if n > 0 {
		from = a.exits
	}
	return func(yield func(*loggingpb.LogEntry, error) bool) {
		for e, err := range from {
			a.read[n]++
			if !yield(e, err) {
				return
			}
		}
	}
}

// many are so many entries, one every two minutes, newest first.
func many(n int, payload string) iter.Seq2[*loggingpb.LogEntry, error] {
	return func(yield func(*loggingpb.LogEntry, error) bool) {
		for i := range n {
			if !yield(at(float64(-120*i), system, fmt.Sprintf("e1 0 %d i%d", i, i), payload), nil) {
				return
			}
		}
	}
}

const most = 6000 // entries that are read

var always = Query{Job: train, Start: monday.AddDate(-1, 0, 0), End: monday.AddDate(1, 0, 0)}

// A log that is full of other things, such as timeouts, is not read for ever.
func TestSearchEnds(t *testing.T) {
	t.Parallel()
	a := &asked{entries: many(most+1000, timeout)}
	r, err := search(t.Context(), a.list, always, 1, most)
	if err != nil || !r.truncated || !r.any || len(r.interruptions) != 0 || a.read[0] != most {
		t.Errorf("%v, %v, %d entries read", r, err, a.read[0])
	}
}

// There may be entries on the oldest interruption that was found which were not
// read: it is left out.
func TestSearchLeavesOutWhatIsNotRead(t *testing.T) {
	t.Parallel()
	a := &asked{entries: many(most+1, exit143)}
	r, err := search(t.Context(), a.list, Query{Job: train, Start: monday.AddDate(-2, 0, 0)}, most, most)
	if err != nil || !r.truncated || len(r.interruptions) != most-1 {
		t.Errorf("%d interruptions, %v", len(r.interruptions), err)
	}
}

// The limit ends the reading soon after it, and exactly as many as it says are no
// reason to say that there are more.
func TestSearchLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		there, limit, found int
		truncated           bool
		most                int
	}{
		{0, 10, 0, false, 0}, {9, 10, 9, false, 9}, {10, 10, 10, false, 10}, {11, 10, 10, true, 11}, {5000, 10, 10, true, 111}, {5000, 1000, 1000, true, 1251},
	} {
		a := &asked{entries: many(c.there, exit143)}
		r, err := search(t.Context(), a.list, always, c.limit, most)
		if err != nil || len(r.interruptions) != c.found || r.truncated != c.truncated || a.read[0] > c.most || r.any != (c.there > 0) {
			t.Errorf("%d of %d: %d, truncated %t, %d entries read, %v", c.limit, c.there, len(r.interruptions), r.truncated, a.read[0], err)
		}
	}
}

// How a preempted program ended is looked up for the newest, in one request.
func TestSearchExits(t *testing.T) {
	t.Parallel()
	a := &asked{entries: many(maxExits+10, message), exits: many(3, "Container called exit(0).")}
	r, err := search(t.Context(), a.list, always, 1000, most)
	if err != nil || len(a.filters) != 2 || strings.Count(a.filters[1], labelTask) != maxExits {
		t.Fatalf("%v, %d requests", err, len(a.filters))
	}
	for n, i := range r.interruptions {
		if (i.exitCode != nil && *i.exitCode == 0) != (n < 3) {
			t.Errorf("%d: exit code %v", n, i.exitCode)
		}
	}
	// None is asked for that is known.
	a = &asked{entries: many(10, exit143)}
	if _, err := search(t.Context(), a.list, always, 1000, most); err != nil || len(a.filters) != 1 {
		t.Errorf("%v, %d requests", err, len(a.filters))
	}
}

func TestSearchErrors(t *testing.T) {
	t.Parallel()
	broken := func(yield func(*loggingpb.LogEntry, error) bool) { yield(nil, errors.New("broken")) }
	for name, a := range map[string]*asked{
		"at once": {entries: broken}, "for the exits": {entries: many(1, message), exits: broken},
	} {
		if _, err := search(t.Context(), a.list, always, 10, most); err == nil || err.Error() != "broken" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
