// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package sweep_test

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	update = flag.Bool("update", false, "write testdata/matrix.txt anew, where it was gone through")
	only   = flag.String("life", "", "go through this life alone, or with a comma between them")
)

const matrixFile = "testdata/matrix.txt"

const legend = `# Each call of the lives of the resources (rows) × each fault (columns) → how it ended.
#   .  no error, and nothing left to do
#   r  no error; the next apply had something left to do
#   e  an error; the next apply healed it
#   E  two errors; the apply after these healed it
#   i  the error that says what to import; then an apply
#   w  an error: the job is being deleted, and the operation does not come to its end
#      (nothing) not tried: a plain refusal of another read of the same kind, or no operation
#   -  the call was not made, because of what went wrong earlier in the same life
# Written anew by: RESILIENTJOB_SWEEP=all go test ./internal/sweep -run TestSweep -update -timeout 30m
#
`

// everyday are the faults of a usual test run: those that have found most. All of
// them come with make sweep.
var everyday = []string{"403", "lost", "kill", "^C", "op!"}

// sweepEnv asks for every fault when it is "all".
const sweepEnv = "RESILIENTJOB_SWEEP"

// TestSweep lets every call of every life go wrong in every way.
func TestSweep(t *testing.T) {
	whole := os.Getenv(sweepEnv) == "all"
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	begin := time.Now()
	var mu sync.Mutex
	results := map[string]string{} // by life, step, place and kind
	key := func(l life, n int, at point, k kind) string {
		return fmt.Sprintf("%s/%d/%s/%s", l.name, n, at, k.letter)
	}
	all := map[string][][]point{}
	for _, l := range lives {
		all[l.name] = calls(t, l)
	}
	count := 0
	goes := func(l life, fault string) bool {
		return (*only == "" || slices.Contains(strings.Split(*only, ","), l.name)) && (whole && !l.fewer || slices.Contains(everyday, fault) && (!l.fewer || whole || *only != ""))
	}
	var passes []pass
	for _, k := range kinds {
		for _, l := range lives {
			if !goes(l, k.letter) {
				continue
			}
			chosen := k.choose(all[l.name])
			for place := range longest(chosen) {
				passes = append(passes, pass{life: l, kind: k, place: place, points: chosen})
			}
		}
	}
	t.Run("points", func(t *testing.T) {
		// A test keeps what its parallel tests have cleaned up until all of them are
		// done: whole worlds. Tests that follow one another are let go.
		var next atomic.Int64
		for worker := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(worker), func(t *testing.T) {
				t.Parallel()
				for n := next.Add(1); n <= int64(len(passes)); n = next.Add(1) {
					p := passes[n-1]
					t.Run(fmt.Sprintf("%s/%s/%d", p.kind.letter, p.life.name, p.place), func(t *testing.T) { //nolint:paralleltest // one after the other, see above
						out := p.run(newWorld(t))
						mu.Lock()
						defer mu.Unlock()
						for n, outcome := range out {
							if p.place < len(p.points[n]) {
								results[key(p.life, n, p.points[n][p.place], p.kind)] = outcome
							}
							if outcome != nothing && outcome != unreached && outcome != "" {
								count++
							}
						}
					})
				}
			})
		}
	})
	raw, err := os.ReadFile(matrixFile)
	if err != nil {
		t.Fatal(err)
	}
	was := cells(string(raw))
	got := matrix(all, func(l life, n int, at point, k kind) string {
		if !goes(l, k.letter) {
			return was[cell{l.name + ", " + l.steps[n].name, at.String(), k.letter}]
		}
		return results[key(l, n, at, k)]
	})
	t.Logf("%d points in %s\n%s", count, time.Since(begin).Round(time.Second), got)
	if count < 500 && *only == "" {
		t.Errorf("%d points, want 500 or more", count)
	}
	if *update {
		if err := os.WriteFile(matrixFile, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	is := cells(got)
	for at, outcome := range is {
		if was[at] != outcome {
			t.Errorf("%s, %s, %s: %q, and %q in %s; if it is right, write the file anew with -update", at.step, at.call, at.fault, outcome, was[at], matrixFile)
		}
	}
	for at := range was {
		if _, there := is[at]; !there {
			t.Errorf("%s, %s, %s is in %s and not in the lives", at.step, at.call, at.fault, matrixFile)
		}
	}
}

// cell is a place in the matrix.
type cell struct{ step, call, fault string }

// The widths of a matrix's columns: what a row is of, and one fault.
const labelWidth, faultWidth = 102, 5

// cells reads a matrix.
func cells(text string) map[cell]string {
	out := map[cell]string{}
	step := ""
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case !strings.HasPrefix(line, " "):
			step = strings.TrimSpace(line[:labelWidth])
		default:
			line += strings.Repeat(" ", labelWidth+faultWidth*len(kinds))
			for i, k := range kinds {
				from := labelWidth + faultWidth*i
				out[cell{step, strings.TrimSpace(line[:labelWidth]), k.letter}] = strings.TrimSpace(line[from : from+faultWidth])
			}
		}
	}
	return out
}

// choose returns the points at which this kind of fault strikes: a fault of
// operations where there is one, and a refusal that says nothing but that it is
// one at every write, and at the first read of a kind in the life.
func (k kind) choose(steps [][]point) [][]point {
	out := make([][]point, len(steps))
	read := map[string]bool{}
	for n, all := range steps {
		for _, p := range all {
			switch {
			case k.operation && !p.operates(), k.sparse && p.reads() && read[p.method]:
				continue
			}
			read[p.method] = true
			out[n] = append(out[n], p)
		}
	}
	return out
}

func longest(steps [][]point) int {
	n := 0
	for _, ps := range steps {
		n = max(n, len(ps))
	}
	return n
}

// matrix writes all outcomes.
func matrix(all map[string][][]point, outcome func(life, int, point, kind) string) string {
	var b strings.Builder
	b.WriteString(legend)
	for _, k := range kinds {
		fmt.Fprintf(&b, "#   %-5s %s\n", k.letter, k.name)
	}
	for _, l := range lives {
		for n, s := range l.steps {
			fmt.Fprintf(&b, "\n%-*s", labelWidth, l.name+", "+s.name)
			for _, k := range kinds {
				fmt.Fprintf(&b, " %-4s", k.letter)
			}
			b.WriteString("\n")
			for _, p := range all[l.name][n] {
				line := fmt.Sprintf("%-*s", labelWidth, "  "+p.String())
				for _, k := range kinds {
					line += fmt.Sprintf(" %-4s", strings.TrimSpace(outcome(l, n, p, k)))
				}
				b.WriteString(strings.TrimRight(line, " ") + "\n")
			}
		}
	}
	return b.String()
}
