// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run

import (
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/jonboulle/clockwork"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/operations"
)

// stopCause says why an execution is being ended before its tasks are done.
type stopCause int

const (
	notStopped stopCause = iota
	stopCancelled
	stopDeleted
	stopClosing // the emulator ends: what was going on is left to the next start
)

// driven is an execution that has not ended. Its record is in the store; this is
// what only lives as long as the process. Guarded by Service.mu.
type driven struct {
	name    executionName
	op      *operations.Operation // of the run; nil when a token started it
	script  *Script               // nil: its tasks are real
	images  []string              // of the containers, as the job names them
	timeout time.Duration         // of one attempt

	queue   []int            // tasks that wait for their next attempt
	active  map[int]*attempt // by task
	retried map[int]bool
	failure *taskEnd // the first task that failed for good

	waits     time.Time // when the phase ends that it is in; zero between two
	scheduled bool      // the phases are over: it is all about tasks
	started   bool      // a container has started
	stopping  stopCause
	stopped   chan struct{} // closed with stopping
	ended     bool
	gone      *runpb.Execution // the record, once the store has it no more: nothing more is written

	atStart func(*status.Status) // once: with nil at the start, or with the failure before it
	atEnd   []func(e *runpb.Execution, end *status.Status)
}

// taskEnd is how a task failed for good.
type taskEnd struct {
	task    string
	result  *runpb.TaskAttemptResult
	exited  bool
	message string // instead of the usual text
}

// begin hands an execution to the controller.
func (s *Service) begin(x *driven) {
	if s.closed {
		return // the next start ends it
	}
	s.running[x.name.String()] = x
	x.retried = map[int]bool{}
	s.work.Add(1)
	go func() {
		defer s.work.Done()
		s.drive(x)
	}()
}

// drive leads an execution through its phases until its tasks run.
func (s *Service) drive(x *driven) {
	phases := []struct {
		last func(Timing) time.Duration
		then func(*driven, *runpb.Execution)
	}{
		{func(Timing) time.Duration { return 0 }, s.acknowledge},
		{func(t Timing) time.Duration { return t.Import }, s.imported},
		{func(t Timing) time.Duration { return t.Provision }, s.provisioned},
		{func(t Timing) time.Duration { return t.Start }, s.schedule},
	}
	for _, phase := range phases {
		if !s.pause(x, phase.last) {
			return
		}
		if !s.step(x, phase.then) {
			return
		}
	}
}

// pause waits as long as a phase lasts; false when the execution is stopped.
func (s *Service) pause(x *driven, last func(Timing) time.Duration) bool {
	began := s.o.Clock.Now()
	for {
		s.mu.Lock()
		timer, over := s.phaseTimer(x, began, last(s.timing))
		retimed := s.retimed
		s.mu.Unlock()
		if over {
			return true
		}
		if over, again := x.pause(timer, retimed); !again {
			return over
		}
	}
}

// phaseTimer is that of a phase that began at a time, unless that is over; nil for
// one that lasts for ever, as a negative duration says.
func (s *Service) phaseTimer(x *driven, began time.Time, last time.Duration) (timer clockwork.Timer, over bool) {
	if last < 0 {
		x.waits = began.Add(forEver)
		return nil, false
	}
	x.waits = began.Add(last)
	left := s.o.Clock.Until(x.waits)
	if left <= 0 {
		return nil, true
	}
	return s.o.Clock.NewTimer(left), false
}

// forEver is longer than any emulator lives.
const forEver = 100 * 365 * 24 * time.Hour

// pause waits for the timer, for the execution to be stopped, or for another
// timing, which calls for another look.
func (x *driven) pause(timer clockwork.Timer, retimed <-chan struct{}) (over, again bool) {
	var due <-chan time.Time
	if timer != nil {
		defer timer.Stop()
		due = timer.Chan()
	}
	select {
	case <-due:
		return true, false
	case <-retimed:
		return false, true
	case <-x.stopped:
		return false, false
	}
}

// step changes the record of an execution that goes on; false when it does not.
func (s *Service) step(x *driven, change func(*driven, *runpb.Execution)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.stopping != notStopped || x.ended {
		return false
	}
	e, err := s.recordOf(x)
	if err != nil || e == nil {
		s.abandon(x)
		return false
	}
	x.waits = time.Time{}
	change(x, e)
	return !x.ended
}

// recordOf is the execution's record, also after it was taken from the store.
func (s *Service) recordOf(x *driven) (*runpb.Execution, error) {
	if x.gone != nil {
		return x.gone, nil
	}
	return s.execution(x.name)
}

// forget takes the record of an execution from the store and ends its tasks.
func (s *Service) forget(x *driven) {
	s.stop(x, stopDeleted)
	if x.ended {
		return
	}
	if e, err := s.execution(x.name); err == nil && e != nil {
		x.gone = e
		return
	}
	s.abandon(x)
}

// save writes the record of an execution and the metadata of its operation.
func (s *Service) save(x *driven, e *runpb.Execution) {
	if x.gone != nil {
		return
	}
	if s.putExecution(e) == nil && x.op != nil {
		x.op.Update(e)
	}
}

// acknowledge is the controller taking notice of the execution.
func (s *Service) acknowledge(x *driven, e *runpb.Execution) {
	t := s.now()
	e.ObservedGeneration = e.GetGeneration()
	delayed := conditions(e.GetConditions()).find(condCompleted).GetExecutionReason() == runpb.Condition_DELAYED_START_PENDING
	done := setOn(&e.Conditions, condCompleted, s.runningState(), t, waiting)
	if delayed {
		done.Reasons = executionReason(runpb.Condition_DELAYED_START_PENDING)
	}
	for _, kind := range []string{condResources, condStarted, condContainer} {
		setOn(&e.Conditions, kind, runpb.Condition_CONDITION_RECONCILING, t, "")
	}
	s.save(x, e)
}

// imported is the end of the import of the image.
func (s *Service) imported(x *driven, e *runpb.Execution) {
	t := s.now()
	for _, image := range x.images {
		if s.missing[image] && s.o.Behaviour.ImagePullFailure == ImagePullExecution {
			s.failImport(x, e, image, t)
			return
		}
	}
	message := "Imported container image."
	for _, image := range x.images {
		if !s.pulled[image] {
			s.pulled[image] = true
			message = "Imported container image in " + took(t.Sub(e.GetCreateTime().AsTime())) + "."
		}
	}
	setOn(&e.Conditions, condContainer, runpb.Condition_CONDITION_SUCCEEDED, t, message)
	s.save(x, e)
}

func (s *Service) failImport(x *driven, e *runpb.Execution, image string, t time.Time) {
	st := imageNotFound(image)
	c := setOn(&e.Conditions, condContainer, runpb.Condition_CONDITION_FAILED, t, st.Message())
	c.Reasons = &runpb.Condition_Reason{Reason: runpb.Condition_CONTAINER_MISSING}
	x.failure = &taskEnd{result: &runpb.TaskAttemptResult{Status: st.Proto()}, message: st.Message()}
	e.FailedCount = e.GetTaskCount()
	s.complete(x, e)
}

// provisioned makes the tasks, which is when the execution has started.
func (s *Service) provisioned(x *driven, e *runpb.Execution) {
	t := s.now()
	setOn(&e.Conditions, condResources, runpb.Condition_CONDITION_SUCCEEDED, t, "Provisioned imported containers.")
	setOn(&e.Conditions, condCompleted, s.runningState(), conditionTime(e, condCompleted), waiting)
	e.StartTime = timestamp(t)
	for i := range int(e.GetTaskCount()) {
		if err := s.putTask(s.newTaskRecord(x.name, e, i)); err != nil {
			s.abandon(x)
			return
		}
		x.queue = append(x.queue, i)
	}
	s.save(x, e)
}

func conditionTime(e *runpb.Execution, kind string) time.Time {
	return conditions(e.GetConditions()).find(kind).GetLastTransitionTime().AsTime()
}

// schedule starts attempts as far as parallelism allows, and ends the execution
// when nothing is left to do.
func (s *Service) schedule(x *driven, e *runpb.Execution) {
	x.scheduled = true
	for len(x.queue) > 0 && len(x.active) < int(e.GetParallelism()) {
		i := x.queue[0]
		x.queue = x.queue[1:]
		if err := s.startAttempt(x, e, i); err != nil {
			s.abandon(x)
			return
		}
	}
	e.RunningCount = int32(len(x.active))
	if len(x.active) == 0 && len(x.queue) == 0 {
		s.complete(x, e)
		return
	}
	s.save(x, e)
}

// abandon gives an execution up whose records cannot be read or written, or were
// taken away. Nobody waits for it any more.
func (s *Service) abandon(x *driven) {
	if x.ended {
		return
	}
	if x.gone == nil {
		x.gone = &runpb.Execution{Name: x.name.String()}
	}
	for _, a := range x.active {
		a.end(stopAttempt)
	}
	s.finishRun(x, nil, status.New(codes.Internal, "Internal error."))
}

// stop ends an execution early. Tasks that have not ended are cancelled.
func (s *Service) stop(x *driven, cause stopCause) {
	if x.stopping != notStopped || x.ended {
		return
	}
	x.stopping = cause
	close(x.stopped)
	for _, a := range x.active {
		a.end(stopAttempt)
	}
	if cause == stopClosing {
		return
	}
	e, err := s.recordOf(x)
	if err != nil || e == nil {
		s.abandon(x)
		return
	}
	for _, i := range x.queue {
		s.cancelWaiting(x, i)
	}
	e.CancelledCount += int32(len(x.queue))
	if e.GetStartTime() == nil {
		e.CancelledCount = e.GetTaskCount()
	}
	x.queue = nil
	if len(x.active) == 0 {
		s.complete(x, e)
		return
	}
	c := setOn(&e.Conditions, condCompleted, runpb.Condition_CONDITION_RECONCILING, s.now(), "")
	c.Reasons = executionReason(runpb.Condition_CANCELLING)
	s.save(x, e)
}

// complete ends an execution whose tasks have ended.
func (s *Service) complete(x *driven, e *runpb.Execution) {
	t := s.now()
	e.Reconciling = false
	e.RunningCount = 0
	e.CompletionTime = timestamp(t)
	e.RetriedCount = int32(len(x.retried))
	var end *status.Status
	reference := runpb.ExecutionReference_EXECUTION_SUCCEEDED
	switch {
	case e.GetCancelledCount() > 0:
		reference = runpb.ExecutionReference_EXECUTION_CANCELLED
		text, reason := cancelledByUser, runpb.Condition_CANCELLED
		if x.stopping == stopDeleted {
			text, reason = "Deleted by user.", runpb.Condition_DELETED
		}
		setOn(&e.Conditions, condCompleted, runpb.Condition_CONDITION_FAILED, t, text).Reasons = executionReason(reason)
		if !x.started && !s.o.Behaviour.CancelledPendingHasCompletionTime {
			e.CompletionTime = nil
		}
	case x.failure != nil:
		reference = runpb.ExecutionReference_EXECUTION_FAILED
		text := x.failure.message
		if text == "" {
			text = s.taskFailure(x.failure.task, x.failure.result)
		}
		c := setOn(&e.Conditions, condCompleted, runpb.Condition_CONDITION_FAILED, t, text)
		if x.failure.exited {
			c.Reasons = executionReason(runpb.Condition_NON_ZERO_EXIT_CODE)
		}
		end = status.New(codes.Code(x.failure.result.GetStatus().GetCode()), text)
	default:
		setOn(&e.Conditions, condCompleted, runpb.Condition_CONDITION_SUCCEEDED, t,
			s.successMessage(t.Sub(e.GetStartTime().AsTime())))
	}
	s.save(x, e)
	s.refer(x, func(r *runpb.ExecutionReference) {
		r.CompletionStatus = reference
		r.CompletionTime = e.GetCompletionTime()
	})
	s.executionEvent(x.name, e, end)
	s.finishRun(x, e, end)
}

// finishRun takes the execution off the controller and tells who waits for it.
func (s *Service) finishRun(x *driven, e *runpb.Execution, end *status.Status) {
	x.ended = true
	delete(s.running, x.name.String())
	if x.atStart != nil {
		failure := end
		if failure == nil && !x.started {
			failure = status.New(codes.Aborted, fmt.Sprintf("Execution %s did not start.", x.name.execution))
		}
		x.atStart(failure)
		x.atStart = nil
	}
	for _, f := range slices.Clone(x.atEnd) {
		f(e, end)
	}
	s.notify()
}

// finish ends a run or cancel operation. A nil execution was taken away.
func (s *Service) finish(op *operations.Operation, e *runpb.Execution, end *status.Status) {
	s.remove(openKey + op.Name())
	switch {
	case e == nil:
		op.Finish(nil, nil, end)
	case end != nil:
		op.Finish(e, nil, end)
	default:
		op.Finish(e, e, nil)
	}
}

// refer changes the job's reference to the execution, if it is the newest.
func (s *Service) refer(x *driven, change func(*runpb.ExecutionReference)) {
	job, err := s.job(x.name.jobName)
	if err != nil || job == nil || job.GetLatestCreatedExecution().GetName() != s.referenceName(x.name) {
		return
	}
	change(job.LatestCreatedExecution)
	if err := s.putJob(job); err != nil {
		s.o.Logger.Error("the reference to an execution is stale", "execution", x.name.String(), "error", err)
	}
}
