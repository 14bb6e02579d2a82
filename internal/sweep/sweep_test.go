// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package sweep_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest/core"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
)

// How a point ended, after the faulted apply and as many more as it took.
const (
	healed     = "."  // no error, and nothing left to do
	left       = "r"  // no error, and the next apply had something left to do
	failed     = "e"  // an error, and the next apply healed it
	failedMore = "E"  // an error, one more, and then it was healed
	imported   = "i"  // an error, and then the error that says what to import
	endless    = "w"  // an error, as long as the operation goes on; the life ends here
	unreached  = "-"  // the call was not made
	broken     = "X"  // anything else
	nothing    = "  " // no such point
)

// pass is one life in which, in each step, the call at one place goes wrong.
type pass struct {
	life  life
	kind  kind
	place int
	// points are those of each step, as they were without a fault.
	points [][]point
}

// life returns the pass's life with the time limits that the fault needs.
func (p pass) config(n int) string {
	config := p.life.steps[n].config
	if config == "" {
		config = p.life.steps[n-1].config
	}
	if p.kind.quick {
		config = strings.ReplaceAll(config, `"20m"`, `"8s"`)
	}
	return config
}

// do carries out a step.
func (w *world) do(p pass, n int) *core.Result {
	w.t.Helper()
	if p.life.steps[n].config == "" {
		return w.core.Destroy(p.config(n))
	}
	return w.core.Apply(p.config(n))
}

// calls are the points of every step of a life without a fault, and fail the test
// when that does not go as it should. Changes of one policy that come at the same
// time make one write or two, as it happens: it counts what happens twice.
func calls(t testing.TB, l life) [][]point {
	t.Helper()
	var seen [][][]point
	for range 5 {
		now := once(newWorld(t), l)
		if slices.ContainsFunc(seen, func(before [][]point) bool {
			return slices.EqualFunc(before, now, slices.Equal[[]point])
		}) {
			return now
		}
		seen = append(seen, now)
	}
	t.Fatalf("%s: the calls are others each time", l.name)
	return nil
}

// once goes through a life without a fault.
func once(w *world, l life) [][]point {
	w.t.Helper()
	p := pass{life: l}
	var out [][]point
	for n, s := range l.steps {
		w.here = l.name + ", " + s.name
		if s.first != nil {
			s.first(w)
		}
		since := len(w.e.Faults().Calls())
		res := w.do(p, n)
		if res.Failed() != (s.refused != "") || !s.refuses(res) {
			w.t.Fatalf("%s: %s", w.here, res)
		}
		out = append(out, points(w.e.Faults().Calls()[since:]))
		w.sound(p, n, s.refused == "")
		if res := w.do(p, n); s.refused == "" && !res.Empty() || !s.refuses(res) {
			w.t.Errorf("%s: not done at once: %s", w.here, res)
		}
		if s.then != nil {
			s.then(w)
		}
	}
	return out
}

// refuses reports whether a result is the refusal that the step is to end with.
func (s step) refuses(res *core.Result) bool {
	return s.refused == "" || len(res.Errors) == 1 && res.Errors[0].Summary == s.refused
}

// run goes through the life, and returns how each step's point ended.
func (p pass) run(w *world) []string {
	w.t.Helper()
	out := make([]string, len(p.life.steps))
	if p.kind.killed {
		w.keeps = p.life.keeps
	}
	for n, s := range p.life.steps {
		before := w.violations
		out[n] = p.step(w, n)
		if w.violations > before {
			out[n] = broken
		}
		if out[n] == broken || out[n] == endless {
			return out
		}
		if s.then != nil {
			s.then(w)
		}
	}
	return out
}

// step carries out one step, with the fault when it has such a call, and then as
// often as it takes.
func (p pass) step(w *world, n int) string {
	w.t.Helper()
	here := fmt.Sprintf("%s, %s", p.life.steps[n].name, nothing)
	var handle *faults.Handle
	if p.place < len(p.points[n]) {
		at := p.points[n][p.place]
		here = fmt.Sprintf("%s, %s, %s", p.life.steps[n].name, at, p.kind.name)
		f := at.strikes(p.kind.fault(w, at))
		if p.kind.stays {
			f.Times = -1
		}
		handle = w.e.Faults().Add(f)
		w.watched()
	}
	w.here = here
	s := p.life.steps[n]
	if s.first != nil {
		s.first(w)
	}
	first := w.do(p, n)
	w.ends.Store(true)
	struck := 0
	if handle != nil {
		struck = handle.Struck()
		handle.Remove()
	}
	switch {
	case handle == nil:
		if first.Failed() != (s.refused != "") || !s.refuses(first) {
			w.violation("without a fault: %s", first)
			return broken
		}
		w.sound(p, n, !first.Failed())
		return nothing
	case struck == 0:
		w.sound(p, n, !first.Failed())
		return unreached
	}
	w.readable(first)
	if !p.kind.killed {
		w.sound(p, n, !first.Failed())
	}
	outcome := healed
	if first.Failed() {
		outcome = failed
	}
	if p.kind.quick && strings.HasSuffix(p.points[n][p.place].method, "/DeleteJob") && first.Failed() {
		return endless // a job that is being deleted for ever cannot be deleted once more
	}
	last := first
	if s.refused != "" {
		outcome = healed
		if !s.refuses(first) {
			outcome = failed
		}
		if again := w.do(p, n); !again.Failed() || !s.refuses(again) {
			w.violation("is not refused: %s\n%s", first, again)
			return broken
		}
		w.sound(p, n, false)
		return outcome
	}
	for range 3 {
		again := w.do(p, n)
		w.readable(again)
		if address, id, ok := toImport(last, again); ok {
			if res := w.core.Import(p.config(n), address, id); res.Failed() {
				w.violation("the import that the error asks for fails: %s\n%s", again, res)
				return broken
			}
			outcome = imported
			last = again
			continue
		}
		w.sound(p, n, !again.Failed())
		switch {
		case again.Empty():
			return outcome
		case again.Failed() && outcome == failed:
			outcome = failedMore
		case again.Failed():
			w.violation("the apply succeeded, and the next one fails: %s\n%s", first, again)
			return broken
		case outcome == healed:
			outcome = left
		}
		last = again
	}
	w.violation("does not come to an end: %s\n%s", first, last)
	return broken
}

var importCommand = regexp.MustCompile(`terraform import (\S+) (\S+)`)

// toImport reads the command out of the error that names one.
func toImport(_, res *core.Result) (address, id string, ok bool) {
	for _, d := range res.Errors {
		if m := importCommand.FindStringSubmatch(d.Detail); m != nil && strings.Contains(d.Summary, "exists already") {
			return d.Address, m[2], true
		}
	}
	return "", "", false
}

// sound checks what must hold after every command.
func (w *world) sound(p pass, n int, done bool) {
	w.t.Helper()
	for _, v := range w.wrong(w.things()) {
		w.violation("%s", v)
	}
	want := 0
	for _, s := range p.life.steps[:n+1] {
		want += s.runs
	}
	ran := 0
	for _, c := range w.e.Faults().Find(acctest.RunJob) {
		if core.Sent(c) && c.Code == codes.OK {
			ran++
		}
	}
	if ran > want || done && ran < want {
		w.violation("%d executions were started, want %d", ran, want)
	}
	if now := w.look(); done && p.life.steps[n].cancels {
		for line := range w.started {
			if now[line] {
				w.violation("still there: %s", line)
			}
		}
	}
	if done && p.life.steps[n].config == "" && len(w.core.State) > 0 {
		w.violation("the state still has %v", slices.Sorted(maps.Keys(w.core.State)))
	}
}

// advice are the words with which an error says what to do.
var advice = regexp.MustCompile(`(?i)\b(apply again|write|destroy again|destroy it again|next apply|again|import|choose|set|check|give|grant|delete|unset|remove|wait|ask|raise|create the|leave)\b`)

// dump is what no user should read.
var dump = regexp.MustCompile(`rpc error|googleapi:|&\{|0x[0-9a-f]{6}|%!|goroutine|tftypes|<nil>|status\.Error`)

// readable checks that errors say what, where and what to do.
func (w *world) readable(res *core.Result) {
	w.t.Helper()
	for _, d := range res.Errors {
		switch d.Summary {
		case "Plugin did not respond", "operation canceled", "execution halted":
			continue // Terraform's own
		}
		switch {
		case strings.HasPrefix(d.Summary, "Provider "):
			w.violation("Terraform would blame the provider: %s", d)
		case d.Address == "" || d.Summary == "" || d.Detail == "":
			w.violation("an error says too little: %s", d)
		case dump.MatchString(d.Summary + d.Detail):
			w.violation("an error shows what no user should read: %s", d)
		case !advice.MatchString(d.Detail):
			w.violation("an error does not say what to do: %s", d)
		}
	}
}

// violation is something that must not be.
func (w *world) violation(format string, a ...any) {
	w.t.Helper()
	w.violations++
	w.t.Errorf("%s: %s", w.here, fmt.Sprintf(format, a...))
}
