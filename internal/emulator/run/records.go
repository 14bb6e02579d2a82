// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run

import (
	"strings"
	"time"

	"cloud.google.com/go/iam/apiv1/iampb"
	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

// Keys of the store. Below each stands the full resource name; a deleted job's
// has its uid behind it.
const (
	jobKey       = "run/jobs/"
	deletedKey   = "run/deleted/"
	executionKey = "run/executions/"
	taskKey      = "run/tasks/"
	policyKey    = "run/policies/"
	openKey      = "run/operations/" // open operations → the resource each is about
)

// Every function below that reads or writes wants s.mu.

// now is the present, to the microsecond, never before the newest change.
func (s *Service) now() time.Time {
	t := s.o.Clock.Now().UTC().Truncate(time.Microsecond)
	if t.Before(s.last) {
		return s.last
	}
	return t
}

// stamp is a change time: later than every earlier one, so that no two changes
// share an etag and creation times order lists.
func (s *Service) stamp() time.Time {
	t := s.now()
	if !t.After(s.last) {
		t = s.last.Add(time.Microsecond)
	}
	s.last = t
	return t
}

// notify wakes everybody who waits for a change.
func (s *Service) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Service) job(n jobName) (*runpb.Job, error) {
	return read(s, jobKey+n.String(), &runpb.Job{})
}

func (s *Service) execution(n executionName) (*runpb.Execution, error) {
	return read(s, executionKey+n.String(), &runpb.Execution{})
}

func (s *Service) task(n taskName) (*runpb.Task, error) {
	return read(s, taskKey+n.String(), &runpb.Task{})
}

func (s *Service) policy(n jobName) (*iampb.Policy, error) {
	return read(s, policyKey+n.String(), &iampb.Policy{})
}

func (s *Service) putJob(j *runpb.Job) error { return s.put(jobKey+j.GetName(), j) }

func (s *Service) putExecution(e *runpb.Execution) error {
	return s.put(executionKey+e.GetName(), e)
}

func (s *Service) putTask(t *runpb.Task) error { return s.put(taskKey+t.GetName(), t) }

func (s *Service) put(key string, m proto.Message) error {
	if err := store.PutProto(s.o.Store, key, m); err != nil {
		return s.storeFailed(err)
	}
	s.notify()
	return nil
}

func (s *Service) remove(key string) {
	if err := s.o.Store.Delete(key); err != nil {
		s.o.Logger.Error("the store failed", "error", err)
	}
	s.notify()
}

// removeExecution forgets an execution and its tasks.
func (s *Service) removeExecution(n executionName) {
	for _, key := range s.o.Store.Keys(taskKey + n.String() + "/") {
		s.remove(key)
	}
	s.remove(executionKey + n.String())
}

// read returns nil without an error when there is no such record.
func read[M proto.Message](s *Service, key string, into M) (M, error) {
	var none M
	found, err := store.GetProto(s.o.Store, key, into)
	if err != nil {
		return none, s.storeFailed(err)
	}
	if !found {
		return none, nil
	}
	return into, nil
}

// readAll returns the records below a prefix that the filter takes, by key.
func readAll[M proto.Message](s *Service, prefix string, take func(key string) bool, fresh func() M) ([]M, error) {
	var all []M
	for _, key := range s.o.Store.Keys(prefix) {
		if take != nil && !take(strings.TrimPrefix(key, prefix)) {
			continue
		}
		m := fresh()
		found, err := store.GetProto(s.o.Store, key, m)
		if err != nil {
			return nil, s.storeFailed(err)
		}
		if found {
			all = append(all, m)
		}
	}
	return all, nil
}

func newJob() *runpb.Job             { return &runpb.Job{} }
func newExecution() *runpb.Execution { return &runpb.Execution{} }
func newTask() *runpb.Task           { return &runpb.Task{} }

func timestamp(t time.Time) *timestamppb.Timestamp { return timestamppb.New(t) }
