// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run

import (
	"fmt"
	"strconv"

	"cloud.google.com/go/logging/apiv2/loggingpb"
	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/genproto/googleapis/cloud/audit"
	logtype "google.golang.org/genproto/googleapis/logging/type"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

const serviceName = "run.googleapis.com"

func auditEntry(e *loggingpb.LogEntry, record *audit.AuditLog) *loggingpb.LogEntry {
	record.ServiceName = serviceName
	if payload, err := anypb.New(record); err == nil { // it always packs
		e.Payload = &loggingpb.LogEntry_ProtoPayload{ProtoPayload: payload}
	}
	return e
}

// executionEvent is the system event at the end of an execution.
func (s *Service) executionEvent(n executionName, e *runpb.Execution, end *status.Status) {
	severity := logtype.LogSeverity_INFO
	st := &statuspb.Status{Message: fmt.Sprintf("Execution %s has completed successfully.", n.execution)}
	if end != nil || e.GetCancelledCount() > 0 {
		severity = logtype.LogSeverity_ERROR
		st = &statuspb.Status{
			Code: int32(codes.Unknown), // seen on the entry of a cancel
			Message: fmt.Sprintf("Execution %s has failed to complete, %d/%d tasks were a success.",
				n.execution, e.GetSucceededCount(), e.GetTaskCount()),
		}
		if end != nil {
			st.Code = end.Proto().GetCode()
		}
	}
	entry := s.entry(n.jobName, logEvent, severity)
	entry.Labels = map[string]string{"run.googleapis.com/execution_name": n.execution}
	s.append(auditEntry(entry, &audit.AuditLog{
		MethodName:   "/Jobs.RunJob",
		ResourceName: "namespaces/" + n.project + "/executions/" + n.execution,
		Status:       st,
		Response:     s.v1Execution(n, e),
	}))
}

// jobEvent is the system event at the end of a create or update.
func (s *Service) jobEvent(n jobName, method string, fault *status.Status) {
	severity, st := logtype.LogSeverity_INFO, &statuspb.Status{}
	if fault != nil {
		severity, st = logtype.LogSeverity_ERROR, fault.Proto()
	}
	s.append(auditEntry(s.entry(n, logEvent, severity), &audit.AuditLog{
		MethodName:   "/Jobs." + method,
		ResourceName: "namespaces/" + n.project + "/jobs/" + n.job,
		Status:       st,
	}))
}

// adminActivity is the audit entry of a call that changes a job.
func (s *Service) adminActivity(n jobName, method string) {
	s.append(auditEntry(s.entry(n, logActivity, logtype.LogSeverity_NOTICE), &audit.AuditLog{
		MethodName:         "google.cloud.run.v2.Jobs." + method,
		ResourceName:       n.String(),
		AuthenticationInfo: &audit.AuthenticationInfo{PrincipalEmail: caller},
	}))
}

// preemptionEvent is one of the forms that the entry of a preemption may have.
func (s *Service) preemptionEvent(a *attempt) *loggingpb.LogEntry {
	return auditEntry(s.taskEntry(a, logEvent, logtype.LogSeverity_WARNING), &audit.AuditLog{
		MethodName:   "/Jobs.RunJob",
		ResourceName: "namespaces/" + a.task.project + "/executions/" + a.task.execution,
		Status:       &statuspb.Status{Code: int32(codes.Unavailable), Message: preemptionReason + ": " + preemptionText},
	})
}

// v1Execution is the execution as the v1 view shows it.
func (s *Service) v1Execution(n executionName, e *runpb.Execution) *structpb.Struct {
	job, _ := s.job(n.jobName) // a deleted job has no labels to give
	containers := []any{}
	for _, c := range e.GetTemplate().GetContainers() {
		containers = append(containers, map[string]any{"image": c.GetImage()})
	}
	list := []any{}
	for _, c := range e.GetConditions() {
		list = append(list, v1Condition(c))
	}
	st := map[string]any{"conditions": list, "logUri": e.GetLogUri()}
	for key, count := range map[string]int32{
		"succeededCount": e.GetSucceededCount(), "failedCount": e.GetFailedCount(),
		"cancelledCount": e.GetCancelledCount(), "retriedCount": e.GetRetriedCount(),
	} {
		if count != 0 {
			st[key] = float64(count)
		}
	}
	for key, t := range map[string]*timestamppb.Timestamp{"startTime": e.GetStartTime(), "completionTime": e.GetCompletionTime()} {
		if t != nil {
			st[key] = t.AsTime().Format("2006-01-02T15:04:05.000000Z")
		}
	}
	payload, err := structpb.NewStruct(map[string]any{
		"apiVersion": "run.googleapis.com/v1",
		"kind":       "Execution",
		"metadata": map[string]any{
			"name": n.execution,
			"uid":  e.GetUid(),
			"labels": map[string]any{
				"run.googleapis.com/job":           n.job,
				"run.googleapis.com/jobGeneration": strconv.FormatInt(job.GetGeneration(), 10),
				"run.googleapis.com/jobUid":        job.GetUid(),
				"cloud.googleapis.com/location":    n.location.location,
			},
		},
		"spec": map[string]any{
			"parallelism": float64(e.GetParallelism()),
			"taskCount":   float64(e.GetTaskCount()),
			"template": map[string]any{"spec": map[string]any{
				"maxRetries":         float64(e.GetTemplate().GetMaxRetries()),
				"timeoutSeconds":     strconv.FormatInt(e.GetTemplate().GetTimeout().GetSeconds(), 10),
				"serviceAccountName": e.GetTemplate().GetServiceAccount(),
				"containers":         containers,
			}},
		},
		"status": st,
	})
	if err != nil { // only text that is not UTF-8, which the API does not take
		return nil
	}
	return payload
}

func v1Condition(c *runpb.Condition) map[string]any {
	state := map[runpb.Condition_State]string{
		runpb.Condition_CONDITION_SUCCEEDED: "True",
		runpb.Condition_CONDITION_FAILED:    "False",
	}[c.GetState()]
	if state == "" {
		state = "Unknown"
	}
	v1 := map[string]any{"type": c.GetType(), "status": state}
	if c.GetMessage() != "" {
		v1["message"] = c.GetMessage()
	}
	if t := c.GetLastTransitionTime(); t != nil {
		v1["lastTransitionTime"] = t.AsTime().Format("2006-01-02T15:04:05.000000Z")
	}
	if c.GetSeverity() == runpb.Condition_INFO {
		v1["severity"] = "Info"
	}
	reason := map[runpb.Condition_ExecutionReason]string{
		runpb.Condition_NON_ZERO_EXIT_CODE: "NonZeroExitCode",
		runpb.Condition_CANCELLED:          "Cancelled",
		runpb.Condition_DELETED:            "Deleted",
	}[c.GetExecutionReason()]
	switch c.GetReason() {
	case runpb.Condition_IMMEDIATE_RETRY:
		reason = "ImmediateRetry"
	case runpb.Condition_CONTAINER_MISSING:
		reason = "ContainerMissing"
	}
	if reason != "" {
		v1["reason"] = reason
	}
	return v1
}
