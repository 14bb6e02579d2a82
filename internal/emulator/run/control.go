// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run

import (
	"context"
	"fmt"
	"strings"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// Close ends every task (SIGTERM, grace, SIGKILL) and returns when they are gone.
// What was going on stays unfinished in the store, for the next start to end.
func (s *Service) Close() {
	s.mu.Lock()
	s.closed = true
	for _, x := range s.running {
		s.stop(x, stopClosing)
		for _, a := range x.active {
			a.kill()
		}
	}
	s.mu.Unlock()
	s.work.Wait()
}

// SetTiming says how long the phases of executions take, also of those that are
// in one.
func (s *Service) SetTiming(t Timing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timing = t
	close(s.retimed)
	s.retimed = make(chan struct{})
}

// SetImageMissing makes an image, written as jobs write it, one that cannot be
// found.
func (s *Service) SetImageMissing(image string, missing bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.missing[image] = missing
}

// Preempt preempts the running attempt of a task, as maintenance does. The
// execution may be given by its full or its short name.
func (s *Service) Preempt(execution string, task int) error {
	return s.Interrupt(execution, task, Preemption)
}

// Interrupt does something to the running attempt of a task. The execution may
// be given by its full or its short name.
func (s *Service) Interrupt(execution string, task int, how Interruption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	x, err := s.findRunning(execution)
	if err != nil {
		return err
	}
	a := x.active[task]
	if a == nil {
		return failure(codes.FailedPrecondition, "Task %d of execution %s is not running.", task, x.name.execution)
	}
	if how == Preemption {
		s.preempt(a)
		return nil
	}
	a.interruption = how
	a.end(preemptAttempt)
	return nil
}

// findRunning finds an execution that has not ended. The error is a status:
// NOT_FOUND when there never was one of the name.
func (s *Service) findRunning(execution string) (*driven, error) {
	if x := s.running[execution]; x != nil {
		return x, nil
	}
	var found *driven
	for _, x := range s.running {
		if x.name.execution != execution {
			continue
		}
		if found != nil {
			return nil, failure(codes.FailedPrecondition, "Execution %s runs more than once: give its full name.", execution)
		}
		found = x
	}
	if found != nil {
		return found, nil
	}
	for _, key := range s.o.Store.Keys(executionKey) {
		if full := strings.TrimPrefix(key, executionKey); full == execution || shortName(full) == execution {
			return nil, failure(codes.FailedPrecondition, "Execution %s is not running: it has ended.", execution)
		}
	}
	if len(s.running) == 0 {
		return nil, failure(codes.NotFound, "There is no execution %s, and none is running.", execution)
	}
	return nil, failure(codes.NotFound, "There is no execution %s. Running are: %s.", execution, strings.Join(sortedKeys(s.running), ", "))
}

// Running returns the full names of the executions that have not ended, of one
// job when its full or short name is given.
func (s *Service) Running(job string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, name := range sortedKeys(s.running) {
		n := s.running[name].name
		if job == "" || job == n.job || job == n.jobName.String() {
			names = append(names, name)
		}
	}
	return names
}

// Steady reports whether nothing is under way that only takes real time: every
// execution waits for a phase to be over, or has tasks whose programs run.
func (s *Service) Steady() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.o.Clock.Now()
	for _, x := range s.running {
		if !x.steady(now) {
			return s.closed
		}
	}
	return true
}

func (x *driven) steady(now time.Time) bool {
	if !x.scheduled && !x.waits.After(now) {
		return false
	}
	for _, a := range x.active {
		if a.process == nil || a.asked != noEnd || !a.process.Steady() {
			return false
		}
	}
	return true
}

// Await waits until the execution, given by its full name, is as ok wants it. ok
// gets nil while there is no such execution, and must not call the service.
func (s *Service) Await(ctx context.Context, execution string, ok func(*runpb.Execution) bool) (*runpb.Execution, error) {
	return await(ctx, s, executionKey+execution, newExecution, ok)
}

// AwaitTask is Await for a task.
func (s *Service) AwaitTask(ctx context.Context, task string, ok func(*runpb.Task) bool) (*runpb.Task, error) {
	return await(ctx, s, taskKey+task, newTask, ok)
}

func await[M proto.Message](ctx context.Context, s *Service, key string, fresh func() M, ok func(M) bool) (M, error) {
	for {
		s.mu.Lock()
		m, err := read(s, key, fresh())
		changed := s.changed
		s.mu.Unlock()
		if err != nil || ok(m) {
			return m, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return m, fmt.Errorf("%s did not become what was waited for: %w; it is %v", shortName(key), ctx.Err(), m)
		}
	}
}

// Finished is for Await: the execution has ended.
func Finished(e *runpb.Execution) bool { return e != nil && finished(e) }

// Job returns a copy of a job, given by its full name; nil when there is none.
func (s *Service) Job(name string) *runpb.Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, err := read(s, jobKey+name, newJob())
	if err != nil {
		return nil
	}
	return j
}

// SetJob changes a job as another client would: with a new etag, a new
// generation when the desired state differs, and no check or default. It reports
// whether the job exists.
func (s *Service) SetJob(name string, change func(*runpb.Job)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := parseJob("name", name)
	if err != nil {
		return false
	}
	old, err := s.job(n)
	if err != nil || old == nil {
		return false
	}
	job, err := s.job(n)
	if err != nil || job == nil {
		return false
	}
	change(job)
	if s.specChanged(old, job) {
		job.Generation = old.GetGeneration() + 1
		if !job.GetReconciling() {
			job.ObservedGeneration = job.Generation
		}
	}
	t := s.stamp()
	job.UpdateTime = timestamp(t)
	job.Etag = etagOf(name, t)
	return s.putJob(job) == nil
}

// Execution returns a copy of an execution, given by its full name; nil when
// there is none.
func (s *Service) Execution(name string) *runpb.Execution {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := read(s, executionKey+name, newExecution())
	if err != nil {
		return nil
	}
	return e
}

// SetExecution changes the record of an execution and nothing else. It reports
// whether the execution exists.
func (s *Service) SetExecution(name string, change func(*runpb.Execution)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := read(s, executionKey+name, newExecution())
	if err != nil || e == nil {
		return false
	}
	change(e)
	return s.putExecution(e) == nil
}

// AddExecution writes an execution and its tasks as they are, for states that the
// controller does not produce. Nothing runs.
func (s *Service) AddExecution(e *runpb.Execution, tasks ...*runpb.Task) error {
	if _, err := parseExecution("name", e.GetName()); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range tasks {
		if !strings.HasPrefix(t.GetName(), e.GetName()+"/tasks/") {
			return fmt.Errorf("task %q is not one of execution %q", t.GetName(), e.GetName())
		}
		if err := s.putTask(t); err != nil {
			return err
		}
	}
	return s.putExecution(e)
}

// ForgetExecution takes an execution away, as the platform does with old ones.
// Tasks that run are ended.
func (s *Service) ForgetExecution(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := parseExecution("name", name)
	if err != nil {
		return
	}
	if x := s.running[name]; x != nil {
		s.forget(x)
	}
	s.removeExecution(n)
}
