// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

// endKind is how an attempt is asked to end.
type endKind int

const (
	noEnd endKind = iota
	stopAttempt
	preemptAttempt
)

// attempt is one attempt of a task. Guarded by Service.mu, but for what never
// changes: task, number and instance.
type attempt struct {
	task      taskName
	index     int
	number    int // from 0
	instance  string
	container string // its name in log entries

	asked        endKind
	interruption Interruption // what to report in place of how the process ended
	process      runner.Attempt
}

// end asks the attempt to end; before it has a process, it gets none.
func (a *attempt) end(kind endKind) {
	if a.asked == noEnd || kind == stopAttempt {
		a.asked = kind
	}
	if a.process == nil {
		return
	}
	if kind == preemptAttempt {
		a.process.Preempt()
	} else {
		a.process.Cancel()
	}
}

// kill ends an attempt that a test scripts and that would not end by itself.
// Processes end after the grace.
func (a *attempt) kill() {
	if scripted, ok := a.process.(interface{ Signal(n int) }); ok {
		scripted.Signal(9)
	}
}

// startAttempt starts the next attempt of a task.
func (s *Service) startAttempt(x *driven, e *runpb.Execution, index int) error {
	n := x.name.task(index)
	t, err := s.task(n)
	if err != nil {
		return err
	}
	if t == nil {
		return n.notFound()
	}
	setOn(&t.Conditions, condCompleted, runpb.Condition_CONDITION_RECONCILING, s.now(), "")
	if err := s.putTask(t); err != nil {
		return err
	}
	a := &attempt{
		task: n, index: index, number: int(t.GetRetried()),
		instance: strings.ReplaceAll(uuid.NewString()+uuid.NewString(), "-", ""),
	}
	a.container = e.GetTemplate().GetContainers()[0].GetName()
	if a.container == "" {
		a.container = x.name.job + "-1"
	}
	x.timeout = e.GetTemplate().GetTimeout().AsDuration()
	x.active[index] = a
	template := proto.CloneOf(e.GetTemplate())
	count := int(e.GetTaskCount())
	s.work.Add(1)
	go func() {
		defer s.work.Done()
		s.finishAttempt(x, a, s.runAttempt(x, a, template, count))
	}()
	return nil
}

// runAttempt runs one attempt to its end.
func (s *Service) runAttempt(x *driven, a *attempt, template *runpb.TaskTemplate, count int) runner.Result {
	if x.script != nil {
		process := s.launchScripted(x.script, a, template.GetTimeout().AsDuration())
		s.launched(x, a, process)
		<-process.Done()
		return process.Result()
	}
	if s.pullFails(x, a) {
		return runner.Result{Reason: runner.NotStarted, Message: imageNotFound(x.images[0]).Message()}
	}
	task, cleanup, err := s.prepare(x, a, template, count)
	defer cleanup()
	if err != nil {
		return runner.Result{Reason: runner.NotStarted, Message: err.Error()}
	}
	if s.askedToEnd(a) {
		return runner.Result{Reason: runner.Cancelled}
	}
	process, err := s.o.Launcher.Launch(task, func(stream, line string) { s.output(a, stream, line) })
	if err != nil {
		return runner.Result{Reason: runner.NotStarted, Message: err.Error()}
	}
	if every := s.preemptionDue(a); every > 0 {
		timer := s.o.Clock.AfterFunc(every, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.preempt(a)
		})
		defer timer.Stop()
	}
	s.launched(x, a, process)
	<-process.Done()
	return process.Result()
}

// pullFails reports whether the image is gone, and notes it on the attempt.
func (s *Service) pullFails(x *driven, a *attempt) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.missing[x.images[0]] {
		return false
	}
	a.interruption = imageGone
	return true
}

func (s *Service) askedToEnd(a *attempt) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return a.asked == stopAttempt
}

// preemptionDue is how long the attempt may run before the schedule preempts it;
// 0 means that it does not.
func (s *Service) preemptionDue(a *attempt) time.Duration {
	if a.number == 0 && s.o.PreemptAfter > 0 {
		return s.o.PreemptAfter
	}
	return s.o.PreemptEvery
}

// launched notes the process of an attempt; the first one of a task, and of an
// execution, means that it has started.
func (s *Service) launched(x *driven, a *attempt, process runner.Attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.process = process
	if a.asked != noEnd {
		a.end(a.asked)
	}
	if s.closed {
		a.kill()
	}
	if x.ended || s.startTask(x, a) != nil {
		return
	}
	if x.started {
		return
	}
	x.started = true
	e, err := s.recordOf(x)
	if err != nil || e == nil {
		s.abandon(x)
		return
	}
	t := s.now()
	setOn(&e.Conditions, condStarted, runpb.Condition_CONDITION_SUCCEEDED, t,
		"Started deployed execution in "+took(t.Sub(conditionTime(e, condResources)))+".")
	s.save(x, e)
	s.refer(x, func(r *runpb.ExecutionReference) { r.CompletionStatus = runpb.ExecutionReference_EXECUTION_RUNNING })
	if x.atStart != nil {
		x.atStart(nil)
		x.atStart = nil
	}
}

// startTask notes the first start of a task.
func (s *Service) startTask(x *driven, a *attempt) error {
	if x.gone != nil {
		return nil
	}
	t, err := s.task(a.task)
	if err != nil || t == nil || t.StartTime != nil {
		return err
	}
	now := s.now()
	t.StartTime = timestamp(now)
	setOn(&t.Conditions, condStarted, runpb.Condition_CONDITION_SUCCEEDED, now, "")
	return s.putTask(t)
}

// preempt ends an attempt as maintenance does, if it still runs.
func (s *Service) preempt(a *attempt) {
	if a.asked != noEnd {
		return
	}
	if a.process != nil {
		select {
		case <-a.process.Done():
			return
		default:
		}
	}
	s.preemptionEntry(a)
	a.end(preemptAttempt)
}

// finishAttempt writes down how an attempt ended, and lets the execution go on.
func (s *Service) finishAttempt(x *driven, a *attempt, r runner.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(x.active, a.index)
	if x.stopping == stopClosing || x.ended {
		return
	}
	o := s.outcomeOf(a, r)
	s.endEntries(x, a, r)
	e, err := s.recordOf(x)
	if err == nil && e != nil {
		err = s.finishTask(x, a, e, o)
	}
	if err != nil || e == nil {
		s.abandon(x)
		return
	}
	if x.stopping == notStopped {
		s.schedule(x, e)
		return
	}
	e.RunningCount = int32(len(x.active))
	if len(x.active) == 0 {
		s.complete(x, e)
		return
	}
	s.save(x, e)
}

// finishTask counts an attempt: the task succeeds, is tried again, or ends.
func (s *Service) finishTask(x *driven, a *attempt, e *runpb.Execution, o outcome) error {
	if x.gone != nil { // only the counts matter now
		if o.succeeded {
			e.SucceededCount++
		} else {
			e.CancelledCount++
		}
		return nil
	}
	t, err := s.task(a.task)
	if err != nil {
		return err
	}
	if t == nil {
		return a.task.notFound()
	}
	now := s.now()
	last := t.GetRetried() >= t.GetMaxRetries()
	if x.stopping != notStopped && !o.succeeded && (!o.own || !last) {
		o = cancelledOutcome()
	}
	t.LastAttemptResult = o.result
	switch {
	case o.succeeded:
		e.SucceededCount++
		s.endTask(t, runpb.Condition_CONDITION_SUCCEEDED, now, "")
	case o.cancelled:
		e.CancelledCount++
		s.endTask(t, runpb.Condition_CONDITION_FAILED, now, cancelledByUser).Reasons = executionReason(runpb.Condition_CANCELLED)
	case !last:
		t.Retried++
		x.retried[a.index] = true
		e.RetriedCount = int32(len(x.retried))
		x.queue = append([]int{a.index}, x.queue...)
		c := setOn(&e.Conditions, condRetry, runpb.Condition_CONDITION_SUCCEEDED, now,
			fmt.Sprintf("System will retry after 0:00:00 from lastTransitionTime for attempt %d.", a.number))
		c.Severity = runpb.Condition_INFO
		c.Reasons = &runpb.Condition_Reason{Reason: runpb.Condition_IMMEDIATE_RETRY}
	default:
		e.FailedCount++
		if x.failure == nil {
			x.failure = &taskEnd{task: a.task.task, result: o.result, exited: o.result.GetExitCode() != 0}
		}
		c := s.endTask(t, runpb.Condition_CONDITION_FAILED, now, o.result.GetStatus().GetMessage())
		if o.result.GetExitCode() != 0 {
			c.Reasons = executionReason(runpb.Condition_NON_ZERO_EXIT_CODE)
		}
	}
	return s.putTask(t)
}

// taskEnv is the environment of the container contract.
func taskEnv(a *attempt, count int) []string {
	return []string{
		"CLOUD_RUN_JOB=" + a.task.job,
		"CLOUD_RUN_EXECUTION=" + a.task.execution,
		"CLOUD_RUN_TASK_INDEX=" + strconv.Itoa(a.index),
		"CLOUD_RUN_TASK_ATTEMPT=" + strconv.Itoa(a.number),
		"CLOUD_RUN_TASK_COUNT=" + strconv.Itoa(count),
	}
}
