// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run

import (
	"context"
	"strconv"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/protobuf/proto"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

// GetTask implements runpb.TasksServer.
func (s *Service) GetTask(_ context.Context, req *runpb.GetTaskRequest) (*runpb.Task, error) {
	n, err := parseTask("name", req.GetName())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.task(n)
	if err == nil && t == nil {
		err = n.notFound()
	}
	return t, err
}

// ListTasks implements runpb.TasksServer. The proto names no order: executions
// come newest first, their tasks by index. "-" stands for every job or execution.
func (s *Service) ListTasks(_ context.Context, req *runpb.ListTasksRequest) (*runpb.ListTasksResponse, error) {
	n, err := parseExecution("parent", req.GetParent())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkListed(n.jobName); err != nil {
		return nil, err
	}
	all, err := readAll(s, taskKey, func(key string) bool {
		t, err := parseTask("name", key)
		return err == nil && t.location == n.location && within(n.job, t.job) && within(n.execution, t.execution)
	}, newTask)
	if err != nil {
		return nil, err
	}
	started := map[string]int64{}
	for _, t := range all {
		key := t.GetJob() + "/" + t.GetExecution()
		if _, ok := started[key]; ok {
			continue
		}
		e, err := s.execution(jobName{n.location, t.GetJob()}.execution(t.GetExecution()))
		if err != nil {
			return nil, err
		}
		started[key] = -e.GetCreateTime().AsTime().UnixMicro()
	}
	page, next, err := paged(all, req.GetPageSize(), req.GetPageToken(), func(t *runpb.Task) place {
		return place{started[t.GetJob()+"/"+t.GetExecution()], int64(t.GetIndex()), t.GetName()}
	})
	if err != nil {
		return nil, err
	}
	return &runpb.ListTasksResponse{Tasks: page, NextPageToken: next}, nil
}

func within(pattern, id string) bool { return pattern == "-" || pattern == id }

// newTaskRecord is a task that waits for its first attempt.
func (s *Service) newTaskRecord(n executionName, e *runpb.Execution, index int) *runpb.Task {
	name := n.task(index)
	now := s.stamp()
	template := proto.CloneOf(e.GetTemplate())
	t := &runpb.Task{
		Name:                       name.String(),
		Uid:                        store.NewUID(),
		Generation:                 1,
		ObservedGeneration:         1,
		Labels:                     e.GetLabels(),
		Annotations:                e.GetAnnotations(),
		CreateTime:                 timestamp(now),
		UpdateTime:                 timestamp(now),
		ScheduledTime:              timestamp(now),
		Job:                        n.job,
		Execution:                  n.execution,
		Containers:                 template.GetContainers(),
		Sandboxes:                  template.GetSandboxes(),
		Volumes:                    template.GetVolumes(),
		MaxRetries:                 template.GetMaxRetries(),
		Timeout:                    template.GetTimeout(),
		ServiceAccount:             template.GetServiceAccount(),
		ExecutionEnvironment:       template.GetExecutionEnvironment(),
		EncryptionKey:              template.GetEncryptionKey(),
		VpcAccess:                  template.GetVpcAccess(),
		NodeSelector:               template.GetNodeSelector(),
		GpuZonalRedundancyDisabled: template.GpuZonalRedundancyDisabled,
		WorkloadIdentityConfig:     template.GetWorkloadIdentityConfig(),
		Reconciling:                true,
		Index:                      int32(index),
		LogUri:                     logURI(n, strconv.Itoa(index)),
		Etag:                       etagOf(name.String(), now),
	}
	setOn(&t.Conditions, condCompleted, runpb.Condition_CONDITION_PENDING, now, "")
	setOn(&t.Conditions, condStarted, runpb.Condition_CONDITION_PENDING, now, "")
	if s.o.Behaviour.SystemLabels {
		t.Labels = withSystemLabels(t.GetLabels(), map[string]string{
			"run.googleapis.com/execution":    n.execution,
			"run.googleapis.com/runningState": "Running",
		})
		t.Annotations = withSystemLabels(t.GetAnnotations(), map[string]string{
			"run.googleapis.com/scheduled-time": now.Format(time.RFC3339Nano),
		})
	}
	return proto.CloneOf(t)
}

// endTask ends a task and returns its Completed condition.
func (s *Service) endTask(t *runpb.Task, state runpb.Condition_State, at time.Time, message string) *runpb.Condition {
	t.Reconciling = false
	t.CompletionTime = timestamp(at)
	if s.o.Behaviour.SystemLabels {
		word := "Failed"
		if state == runpb.Condition_CONDITION_SUCCEEDED {
			word = "Succeeded"
		}
		t.Labels = withSystemLabels(t.GetLabels(), map[string]string{"run.googleapis.com/runningState": word})
	}
	return setOn(&t.Conditions, condCompleted, state, at, message)
}

// cancelWaiting ends a task that waits for an attempt.
func (s *Service) cancelWaiting(x *driven, index int) {
	t, err := s.task(x.name.task(index))
	if err != nil || t == nil {
		return
	}
	s.endTask(t, runpb.Condition_CONDITION_FAILED, s.now(), cancelledByUser).Reasons = executionReason(runpb.Condition_CANCELLED)
	if t.LastAttemptResult == nil {
		t.LastAttemptResult = cancelledOutcome().result
	}
	if err := s.putTask(t); err != nil {
		s.o.Logger.Error("a cancelled task is stale", "task", t.GetName(), "error", err)
	}
}
