// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package interruptions

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// interruption is an attempt of a task that was interrupted.
type interruption struct {
	at      time.Time
	attempt attempt
	// preempted says that the platform said so; otherwise the program was ended by
	// SIGTERM, and nothing in the logs says why.
	preempted        bool
	exitCode, signal *int64
	message          string
}

// group is what was said about one attempt, oldest first.
type group struct {
	attempt attempt
	lines   []line
}

func (g *group) has(f fact) bool {
	return slices.ContainsFunc(g.lines, func(l line) bool { return l.fact == f })
}

// distance is how long before or after the group's nearest line a moment lies.
func (g *group) distance(t time.Time) time.Duration {
	nearest := time.Duration(1<<63 - 1)
	for _, l := range g.lines {
		nearest = min(nearest, l.at.Sub(t).Abs())
	}
	return nearest
}

// accepts reports whether a line that does not name its attempt may be about
// this one.
func (g *group) accepts(l line) bool {
	fits := func(a, b string) bool { return a == "" || b == "" || a == b }
	if !fits(g.attempt.execution, l.attempt.execution) || !fits(g.attempt.task, l.attempt.task) || !fits(g.attempt.number, l.attempt.number) || g.distance(l.at) > margin {
		return false
	}
	// A log does not say one thing twice; two logs may.
	return !slices.ContainsFunc(g.lines, func(o line) bool {
		return o.fact == l.fact && (o.log == l.log || l.fact == exited)
	})
}

// grouping joins lines by attempt.
type grouping struct {
	groups     []*group
	byAttempt  map[attempt]*group
	byInstance map[string][]*group
	byMinute   map[int64][]*group
	stops      map[string][]time.Time // when an execution was cancelled or deleted
}

// attemptsOf joins the lines, in whatever order they come. Those that name their
// attempt come first; one that only names its instance, or not even that, goes to
// the attempt that it fits best. What fits none is an attempt of its own, whose
// index nobody knows.
func attemptsOf(lines []line) *grouping {
	x := &grouping{byAttempt: map[attempt]*group{}, byInstance: map[string][]*group{}, byMinute: map[int64][]*group{}, stops: map[string][]time.Time{}}
	lines = slices.Clone(lines)
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.fact, b.fact)) })
	var loose []line
	for _, l := range lines {
		switch {
		case l.fact == stopped:
			x.stops[l.attempt.execution] = append(x.stops[l.attempt.execution], l.at)
		case l.attempt.known():
			g := x.byAttempt[l.attempt]
			if g == nil {
				g = x.open(l)
				x.byAttempt[l.attempt] = g
			}
			x.add(g, l)
		default:
			loose = append(loose, l)
		}
	}
	for _, l := range loose {
		g := best(x.byInstance[l.instance], l)
		if g == nil {
			g = best(x.near(l.at), l)
		}
		if g == nil {
			g = x.open(l)
		}
		x.add(g, l)
	}
	return x
}

func (x *grouping) open(l line) *group {
	g := &group{attempt: l.attempt}
	x.groups = append(x.groups, g)
	return g
}

func (x *grouping) add(g *group, l line) {
	g.lines = append(g.lines, l)
	if all := x.byInstance[l.instance]; l.instance != "" && !slices.Contains(all, g) {
		x.byInstance[l.instance] = append(all, g)
	}
	if all := x.byMinute[minute(l.at)]; len(all) == 0 || all[len(all)-1] != g {
		x.byMinute[minute(l.at)] = append(all, g)
	}
}

func minute(t time.Time) int64 { return t.Unix() / int64(margin/time.Second) }

// near returns the groups that have a line within the margin, and some more.
func (x *grouping) near(t time.Time) []*group {
	return slices.Concat(x.byMinute[minute(t)-1], x.byMinute[minute(t)], x.byMinute[minute(t)+1])
}

// best is the group that accepts the line and is nearest to it; for a preemption
// rather one whose end nothing explains yet.
func best(groups []*group, l line) *group {
	var found *group
	var foundAt time.Duration
	foundExplained := false
	for _, g := range groups {
		if !g.accepts(l) {
			continue
		}
		explained := l.fact == preempted && (g.has(preempted) || g.has(timedOut))
		at := g.distance(l.at)
		if found == nil || foundExplained && !explained || foundExplained == explained && at < foundAt {
			found, foundAt, foundExplained = g, at, explained
		}
	}
	return found
}

// interruptions returns the attempts that were interrupted, newest first.
func interruptions(lines []line) []interruption {
	x := attemptsOf(lines)
	var out []interruption
	for _, g := range x.groups {
		if i, ok := x.interruption(g); ok {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(a, b interruption) int {
		return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.attempt.execution, b.attempt.execution),
			cmp.Compare(len(a.attempt.task), len(b.attempt.task)), cmp.Compare(a.attempt.task, b.attempt.task),
			cmp.Compare(len(b.attempt.number), len(a.attempt.number)), cmp.Compare(b.attempt.number, a.attempt.number))
	})
	return out
}

// interruption tells what happened to an attempt. The platform sends SIGTERM
// also when the timeout of an attempt is over and when its execution is
// cancelled: those are no interruptions, as far as the logs tell.
func (x *grouping) interruption(g *group) (interruption, bool) {
	i := interruption{attempt: g.attempt}
	for _, l := range g.lines {
		switch {
		case l.fact == exited:
			i.exitCode, i.signal = l.exitCode, l.signal
			if !i.preempted {
				i.at, i.message = l.at, l.text
			}
		case l.fact == preempted && (!i.preempted || l.at.Before(i.at)):
			i.at, i.message, i.preempted = l.at, l.text, true
		}
	}
	if i.preempted {
		return i, true
	}
	terminated := i.exitCode != nil && *i.exitCode == exitSIGTERM || i.signal != nil && *i.signal == sigTerm
	cancelled := slices.ContainsFunc(x.stops[g.attempt.execution], func(t time.Time) bool { return t.Sub(i.at).Abs() <= margin })
	return i, terminated && !g.has(timedOut) && !cancelled
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
