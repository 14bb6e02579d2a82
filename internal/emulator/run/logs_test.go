// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run_test

import (
	"path"

	"cloud.google.com/go/logging/apiv2/loggingpb"
	"google.golang.org/genproto/googleapis/cloud/audit"
	"google.golang.org/grpc/codes"
)

const (
	stdoutLog   = "run.googleapis.com%2Fstdout"
	stderrLog   = "run.googleapis.com%2Fstderr"
	systemLog   = "run.googleapis.com%2Fvarlog%2Fsystem"
	eventLog    = "cloudaudit.googleapis.com%2Fsystem_event"
	activityLog = "cloudaudit.googleapis.com%2Factivity"
)

func (w *world) audit(e *loggingpb.LogEntry) *audit.AuditLog {
	w.t.Helper()
	record := &audit.AuditLog{}
	if err := e.GetProtoPayload().UnmarshalTo(record); err != nil {
		w.t.Fatal(err)
	}
	return record
}

// auditCode is the status code of the system event at the end of an execution.
func (w *world) auditCode(execution string) codes.Code {
	w.t.Helper()
	for _, e := range w.logs.all(eventLog) {
		if e.GetLabels()["run.googleapis.com/execution_name"] != path.Base(execution) {
			continue
		}
		if record := w.audit(e); record.GetMethodName() == "/Jobs.RunJob" && record.GetResponse() != nil {
			return codes.Code(record.GetStatus().GetCode())
		}
	}
	w.t.Errorf("no system event about %s", execution)
	return codes.Unknown
}
