// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run

import (
	"os"
	"slices"
	"strings"

	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// recoverState takes over what an earlier emulator left in the store. Tasks do
// not outlive the emulator: what was unfinished ends as a platform failure. Jobs
// that were reconciling become ready.
func (s *Service) recoverState() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.o.Store.Persistent() {
		// An emulator that was killed left the volumes of its tasks, secrets among them.
		if err := os.RemoveAll(s.scratch()); err != nil {
			s.o.Logger.Error("the volumes of earlier tasks cannot be removed", "error", err)
		}
	}
	jobs, err := readAll(s, jobKey, nil, newJob)
	if err != nil {
		return // said in the log; the same records fail again when they are asked for
	}
	executions, err := readAll(s, executionKey, nil, newExecution)
	if err != nil {
		return
	}
	for _, j := range jobs {
		s.seen(j.GetUpdateTime(), j.GetCreateTime())
	}
	for _, e := range executions {
		s.seen(e.GetUpdateTime(), e.GetCreateTime())
	}
	for _, j := range jobs {
		s.recoverJob(j)
	}
	for _, e := range executions {
		if n, err := parseExecution("name", e.GetName()); err == nil && !finished(e) {
			s.recoverExecution(n, e)
		}
	}
	s.recoverOperations()
}

// recoverOperations ends what an earlier emulator left open, with what became of
// the resource.
func (s *Service) recoverOperations() {
	for _, key := range s.o.Store.Keys(openKey) {
		about, _ := s.o.Store.Get(key)
		op, open := s.o.Operations.Open(strings.TrimPrefix(key, openKey))
		s.remove(key)
		if !open {
			continue
		}
		if n, err := parseExecution("name", string(about)); err == nil {
			e, err := s.execution(n)
			if err != nil || e == nil {
				op.Finish(nil, nil, status.Convert(n.notFound()))
				continue
			}
			s.finish(op, e, lostExecution(e))
			continue
		}
		n, err := parseJob("name", string(about))
		if err != nil {
			continue
		}
		job, err := s.job(n)
		if err != nil || job == nil { // deleted
			op.Finish(nil, nil, nil)
			continue
		}
		op.Finish(job, job, nil)
	}
}

// lostExecution is the error of an operation whose execution failed; nil when it
// did not.
func lostExecution(e *runpb.Execution) *status.Status {
	c := conditions(e.GetConditions()).find(condCompleted)
	if c.GetState() == runpb.Condition_CONDITION_SUCCEEDED || e.GetCancelledCount() > 0 {
		return nil
	}
	return status.New(codes.Internal, c.GetMessage())
}

// seen keeps later change times behind those of the store.
func (s *Service) seen(times ...*timestamppb.Timestamp) {
	for _, t := range times {
		if at := t.AsTime(); t != nil && at.After(s.last) {
			s.last = at
		}
	}
}

func (s *Service) recoverJob(j *runpb.Job) {
	n, err := parseJob("name", j.GetName())
	if err != nil {
		return
	}
	if j.GetDeleteTime() != nil {
		s.settle(j, nil)
		if s.put(deletedKey+j.GetName()+"/"+j.GetUid(), j) == nil {
			s.forgetExecutions(n)
			s.remove(policyKey + n.String())
			s.remove(jobKey + n.String())
		}
		return
	}
	if j.GetReconciling() {
		s.settle(j, nil)
		if err := s.putJob(j); err != nil {
			s.o.Logger.Error("a job keeps reconciling", "job", j.GetName(), "error", err)
		}
	}
}

// recoverExecution ends an execution that an earlier emulator left unfinished.
func (s *Service) recoverExecution(n executionName, e *runpb.Execution) {
	x := &driven{name: n, active: map[int]*attempt{}, retried: map[int]bool{}, stopped: make(chan struct{})}
	tasks, err := readAll(s, taskKey+n.String()+"/", nil, newTask)
	if err != nil {
		return
	}
	slices.SortFunc(tasks, func(a, b *runpb.Task) int { return int(a.GetIndex() - b.GetIndex()) })
	lost := failed(codes.Internal, internalError, 0, 0).result
	e.FailedCount, e.SucceededCount, e.CancelledCount = 0, 0, 0
	for _, t := range tasks {
		if t.GetRetried() > 0 {
			x.retried[int(t.GetIndex())] = true
		}
		s.countRecovered(x, e, t, lost)
	}
	if len(tasks) == 0 {
		e.FailedCount = e.GetTaskCount()
		x.failure = &taskEnd{task: n.task(0).task, result: lost}
	}
	s.complete(x, e)
}

// countRecovered counts one task, after ending it if it had not ended.
func (s *Service) countRecovered(x *driven, e *runpb.Execution, t *runpb.Task, lost *runpb.TaskAttemptResult) {
	c := conditions(t.GetConditions()).find(condCompleted)
	switch {
	case c.GetState() == runpb.Condition_CONDITION_SUCCEEDED:
		e.SucceededCount++
		return
	case c.GetState() == runpb.Condition_CONDITION_FAILED && c.GetExecutionReason() == runpb.Condition_CANCELLED:
		e.CancelledCount++
		return
	case c.GetState() != runpb.Condition_CONDITION_FAILED:
		t.LastAttemptResult = lost
		s.endTask(t, runpb.Condition_CONDITION_FAILED, s.now(), internalError)
		if err := s.putTask(t); err != nil {
			s.o.Logger.Error("a lost task is stale", "task", t.GetName(), "error", err)
		}
	}
	e.FailedCount++
	if x.failure == nil {
		x.failure = &taskEnd{
			task:   shortName(t.GetName()),
			result: t.GetLastAttemptResult(),
			exited: t.GetLastAttemptResult().GetExitCode() != 0,
		}
	}
}
