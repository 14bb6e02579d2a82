// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func scripted(t *testing.T, s *Scripted, name string, output func(stream, line string)) *ScriptedAttempt {
	t.Helper()
	if _, err := s.Launch(Task{Name: name}, output); err != nil {
		t.Fatal(err)
	}
	a, err := s.Await(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestScriptedEndings(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script func(a *ScriptedAttempt)
		want   Result
	}{
		"exit":                 {func(a *ScriptedAttempt) { a.Exit(3) }, Result{ExitCode: 3}},
		"signal":               {func(a *ScriptedAttempt) { a.Signal(11) }, Result{Signal: 11}},
		"timeout":              {func(a *ScriptedAttempt) { a.TimeOut() }, Result{Reason: TimedOut, Signal: 9}},
		"not started":          {func(a *ScriptedAttempt) { a.Fail("no such command") }, Result{Reason: NotStarted, Message: "no such command"}},
		"preempted":            {func(a *ScriptedAttempt) { a.Preempt(); a.Exit(143) }, Result{Reason: Preempted, ExitCode: 143}},
		"cancelled":            {func(a *ScriptedAttempt) { a.Cancel(); a.Signal(9) }, Result{Reason: Cancelled, Signal: 9}},
		"first request counts": {func(a *ScriptedAttempt) { a.Preempt(); a.Cancel(); a.Exit(0) }, Result{Reason: Preempted}},
		"first ending counts":  {func(a *ScriptedAttempt) { a.Exit(1); a.Preempt(); a.Exit(2) }, Result{ExitCode: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := scripted(t, NewScripted(), "t", nil)
			select {
			case <-a.Done():
				t.Fatal("done before the script")
			default:
			}
			tc.script(a)
			<-a.Done()
			if diff := cmp.Diff(tc.want, a.Result()); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

func TestScriptedStoppingTellsOfSIGTERM(t *testing.T) {
	t.Parallel()
	a := scripted(t, NewScripted(), "t", nil)
	select {
	case <-a.Stopping():
		t.Fatal("stopping before Preempt")
	default:
	}
	a.Preempt()
	<-a.Stopping()
	select {
	case <-a.Done():
		t.Fatal("Preempt ended the attempt by itself")
	default:
	}
	a.Exit(143)
}

func TestScriptedOutputEndsWithTheAttempt(t *testing.T) {
	t.Parallel()
	var got []string
	a := scripted(t, NewScripted(), "t", func(stream, line string) { got = append(got, stream+": "+line) })
	a.Write(Stdout, "one")
	a.Write(Stderr, "two")
	a.Exit(0)
	a.Write(Stdout, "late")
	if diff := cmp.Diff([]string{"stdout: one", "stderr: two"}, got); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	scripted(t, NewScripted(), "t", nil).Write(Stdout, "dropped")
}

func TestScriptedAwaitTakesEachAttemptOnce(t *testing.T) {
	t.Parallel()
	s := NewScripted()
	for i := range 3 {
		if _, err := s.Launch(Task{Name: fmt.Sprintf("t%d", i%2), Args: []string{fmt.Sprint(i)}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct{ name, want string }{{"t0", "0"}, {"t0", "2"}, {"", "1"}} {
		a, err := s.Await(t.Context(), tc.name)
		if err != nil || a.Task.Args[0] != tc.want {
			t.Fatalf("Await(%q) = %+v, %v, want the launch %s", tc.name, a, err, tc.want)
		}
	}
	if n := len(s.Attempts()); n != 3 {
		t.Errorf("%d attempts", n)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Await(ended, "t0")
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), `"t0"`) || !strings.Contains(err.Error(), "[t0 t1 t0]") {
		t.Errorf("Await of a fourth: %v", err)
	}
}

func TestScriptedAwaitWaitsForALaunch(t *testing.T) {
	t.Parallel()
	s := NewScripted()
	got := make(chan *ScriptedAttempt)
	go func() {
		a, err := s.Await(t.Context(), "t")
		if err != nil {
			t.Error(err)
		}
		got <- a
	}()
	for _, name := range []string{"other", "t"} {
		if _, err := s.Launch(Task{Name: name}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if a := <-got; a.Task.Name != "t" {
		t.Errorf("Await returned %q", a.Task.Name)
	}
}

func TestScriptedReactions(t *testing.T) {
	t.Parallel()
	s := NewScripted()
	s.OnLaunch(func(a *ScriptedAttempt) { a.Write(Stdout, "hello") })
	s.OnStop(func(a *ScriptedAttempt) { a.Exit(143) })
	lines := make(chan string, 1)
	a := scripted(t, s, "t", func(_, line string) { lines <- line })
	if got := <-lines; got != "hello" {
		t.Errorf("line %q", got)
	}
	a.Cancel()
	<-a.Done()
	if want := (Result{Reason: Cancelled, ExitCode: 143}); a.Result() != want {
		t.Errorf("result = %+v, want %+v", a.Result(), want)
	}
	a.Cancel() // no second reaction
}

func TestScriptedRefuses(t *testing.T) {
	t.Parallel()
	s := NewScripted()
	want := errors.New("the container has no command")
	s.Refuse(func(task Task) error {
		if task.Name == "bad" {
			return want
		}
		return nil
	})
	if _, err := s.Launch(Task{Name: "bad"}, nil); !errors.Is(err, want) {
		t.Errorf("Launch = %v", err)
	}
	scripted(t, s, "good", nil)
	s.Refuse(nil)
	scripted(t, s, "bad", nil)
}

func TestReasonHasAName(t *testing.T) {
	t.Parallel()
	for r, want := range map[Reason]string{Exited: "exited", TimedOut: "timed out", Preempted: "preempted", Cancelled: "cancelled", NotStarted: "not started", Reason(9): "Reason(9)"} {
		if r.String() != want {
			t.Errorf("%d.String() = %q, want %q", int(r), r.String(), want)
		}
	}
}

// Both launchers keep the contract.
var (
	_ Launcher = (*Processes)(nil)
	_ Launcher = (*Scripted)(nil)
	_ Attempt  = (*ScriptedAttempt)(nil)
)
