// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"cloud.google.com/go/logging/apiv2/loggingpb"
	monitoredres "google.golang.org/genproto/googleapis/api/monitoredres"
	logtype "google.golang.org/genproto/googleapis/logging/type"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

// Log ids.
const (
	logStdout   = "run.googleapis.com/stdout"
	logStderr   = "run.googleapis.com/stderr"
	logSystem   = "run.googleapis.com/varlog/system"
	logEvent    = "cloudaudit.googleapis.com/system_event"
	logActivity = "cloudaudit.googleapis.com/activity"
)

const (
	preemptionText   = "Container instance preemption initiated by the platform due to underlying hardware maintenance."
	preemptionReason = "INSTANCE_PREEMPTED"
	memoryText       = "Out-of-memory event detected in container"
	timeoutHelp      = "To change this limit, see https://cloud.google.com/run/docs/configuring/task-timeout"
)

// append gives entries to the log room.
func (s *Service) append(entries ...*loggingpb.LogEntry) {
	if s.o.Logs != nil {
		s.o.Logs.Append(entries...)
	}
}

// entry is an entry of a job, without payload. It wants s.mu.
func (s *Service) entry(n jobName, logID string, severity logtype.LogSeverity) *loggingpb.LogEntry {
	t := s.now()
	s.entries++
	return &loggingpb.LogEntry{
		LogName:          "projects/" + n.project + "/logs/" + url.QueryEscape(logID),
		InsertId:         strconv.FormatInt(t.UnixMicro(), 36) + "-" + strconv.FormatInt(s.entries, 36),
		Timestamp:        timestamp(t),
		ReceiveTimestamp: timestamp(t),
		Severity:         severity,
		Resource: &monitoredres.MonitoredResource{
			Type:   "cloud_run_job",
			Labels: map[string]string{"project_id": n.project, "location": n.location.location, "job_name": n.job},
		},
	}
}

// taskEntry is an entry of an attempt, without payload.
func (s *Service) taskEntry(a *attempt, logID string, severity logtype.LogSeverity) *loggingpb.LogEntry {
	e := s.entry(a.task.jobName, logID, severity)
	e.Labels = map[string]string{
		"instanceId":                        a.instance,
		"run.googleapis.com/execution_name": a.task.execution,
		"run.googleapis.com/task_index":     strconv.Itoa(a.index),
		"run.googleapis.com/task_attempt":   strconv.Itoa(a.number),
	}
	return e
}

// systemEntry is an entry of the platform about an attempt.
func (s *Service) systemEntry(a *attempt, severity logtype.LogSeverity, format string, args ...any) *loggingpb.LogEntry {
	e := s.taskEntry(a, logSystem, severity)
	e.Labels["container_name"] = a.container
	e.Payload = &loggingpb.LogEntry_TextPayload{TextPayload: fmt.Sprintf(format, args...)}
	return e
}

// output takes a line that a task writes. A line that is a JSON object becomes a
// structured entry, whose severity is the program's.
func (s *Service) output(a *attempt, stream, line string) {
	if s.o.TaskOutput != nil {
		s.o.TaskOutput(a.task.task, stream, line)
	}
	logID := logStdout
	if stream == runner.Stderr {
		logID = logStderr
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.taskEntry(a, logID, logtype.LogSeverity_DEFAULT)
	e.Payload = &loggingpb.LogEntry_TextPayload{TextPayload: line}
	if fields, ok := jsonObject(line); ok {
		if name, ok := fields["severity"].(string); ok {
			if severity, known := logtype.LogSeverity_value[strings.ToUpper(name)]; known {
				e.Severity = logtype.LogSeverity(severity)
				delete(fields, "severity")
			}
		}
		if payload, err := structpb.NewStruct(fields); err == nil {
			e.Payload = &loggingpb.LogEntry_JsonPayload{JsonPayload: payload}
		}
	}
	s.append(e)
}

func jsonObject(line string) (map[string]any, bool) {
	if !strings.HasPrefix(strings.TrimSpace(line), "{") {
		return nil, false
	}
	var fields map[string]any
	err := json.Unmarshal([]byte(line), &fields)
	return fields, err == nil && fields != nil
}

// endEntries are the platform's words about the end of an attempt.
func (s *Service) endEntries(x *driven, a *attempt, r runner.Result) {
	switch a.interruption {
	case MemoryLimit:
		s.append(s.systemEntry(a, logtype.LogSeverity_ERROR, memoryText))
		return
	case PlatformFailure:
		return // the instance is lost, and its last words with it
	}
	switch r.Reason {
	case runner.TimedOut:
		seconds := strconv.FormatFloat(x.timeout.Seconds(), 'f', -1, 64)
		s.append(s.systemEntry(a, logtype.LogSeverity_ERROR,
			"Terminating task because it has reached the maximum timeout of %s seconds. %s", seconds, timeoutHelp))
	case runner.NotStarted:
		s.append(s.systemEntry(a, logtype.LogSeverity_ERROR, "The container could not be started: %s", r.Message))
		return
	case runner.Cancelled:
		if a.process == nil {
			return
		}
	}
	switch {
	case r.Signal != 0:
		s.append(s.systemEntry(a, logtype.LogSeverity_WARNING, "Container terminated on signal %d.", r.Signal))
	case r.ExitCode != 0:
		s.append(s.systemEntry(a, logtype.LogSeverity_WARNING, "Container called exit(%d).", r.ExitCode))
	default:
		s.append(s.systemEntry(a, logtype.LogSeverity_INFO, "Container called exit(0)."))
	}
}

// preemptionEntry announces a preemption.
func (s *Service) preemptionEntry(a *attempt) {
	e := s.systemEntry(a, logtype.LogSeverity_WARNING, preemptionText+" "+preemptionReason)
	switch s.o.Behaviour.PreemptionLog {
	case PreemptionJSON:
		e.Payload = &loggingpb.LogEntry_JsonPayload{JsonPayload: &structpb.Struct{Fields: map[string]*structpb.Value{
			"message": structpb.NewStringValue(preemptionText),
			"reason":  structpb.NewStringValue(preemptionReason),
		}}}
	case PreemptionAudit:
		e = s.preemptionEvent(a)
	}
	s.append(e)
}
