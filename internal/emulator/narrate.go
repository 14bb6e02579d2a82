// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package emulator

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"cloud.google.com/go/iam/apiv1/iampb"
	"cloud.google.com/go/logging/apiv2/loggingpb"
	"google.golang.org/genproto/googleapis/cloud/audit"
	"google.golang.org/grpc/codes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
)

// narrator tells a person who watches what happens, one line for each event:
// what was made and deleted, what tasks say, that one was preempted, ended, and
// tried again. Everything else is at debug level.
type narrator struct {
	logger *slog.Logger

	mu       sync.Mutex
	attempts map[attemptOf]string // the attempt that was last heard of
}

type attemptOf struct{ execution, task string }

const secretService = "google.cloud.secretmanager.v1.SecretManagerService/"

// deeds are the calls that change something and their words.
var deeds = map[string]string{
	"google.iam.admin.v1.IAM/CreateServiceAccount":   "service account %s created",
	"google.iam.admin.v1.IAM/DeleteServiceAccount":   "service account %s deleted",
	"google.iam.admin.v1.IAM/UndeleteServiceAccount": "service account %s undeleted",
	"google.cloud.run.v2.Jobs/CreateJob":             "job %s created",
	"google.cloud.run.v2.Jobs/UpdateJob":             "job %s updated",
	"google.cloud.run.v2.Jobs/DeleteJob":             "job %s deleted",
	"google.cloud.run.v2.Jobs/RunJob":                "job %s run",
	"google.cloud.run.v2.Executions/CancelExecution": "execution %s cancelled",
	"google.cloud.run.v2.Executions/DeleteExecution": "execution %s deleted",
	"storage.buckets.insert":                         "bucket %s created",
	"storage.buckets.patch":                          "bucket %s updated",
	"storage.buckets.update":                         "bucket %s updated",
	"storage.buckets.delete":                         "bucket %s deleted",
	"storage.buckets.setIamPolicy":                   "policy of bucket %s written",
	secretService + "CreateSecret":                   "secret %s created",
	secretService + "DeleteSecret":                   "secret %s deleted",
	secretService + "AddSecretVersion":               "secret %s has a new version",
	secretService + "SetIamPolicy":                   "policy of secret %s written",
}

// call tells of a call that ended.
func (n *narrator) call(c faults.Call) {
	if dry, ok := c.Request.(interface{ GetValidateOnly() bool }); ok && dry.GetValidateOnly() {
		n.logger.Debug("validated", "method", c.Method, "resource", c.Resource, "code", c.Code.String())
		return
	}
	words, isDeed := deeds[c.Method]
	if !isDeed {
		n.logger.Debug("call", "method", c.Method, "resource", c.Resource, "code", c.Code.String())
		return
	}
	what := fmt.Sprintf(words, c.Resource[strings.LastIndex(c.Resource, "/")+1:])
	if c.Code == codes.OK {
		n.logger.Info(what + grants(c))
		return
	}
	if c.Method == "storage.buckets.delete" && c.Code == codes.AlreadyExists { // 409 conflict
		n.logger.Info("bucket " + c.Resource + " is not empty and was not deleted")
		return
	}
	n.logger.Info("refused, " + codeName[c.Code] + ": " + what)
}

// grants says what a written policy grants beyond the convenience values that
// every bucket begins with.
func grants(c faults.Call) string {
	if written, ok := c.Request.(*iampb.SetIamPolicyRequest); ok {
		var words strings.Builder
		for _, b := range written.GetPolicy().GetBindings() {
			fmt.Fprintf(&words, "; %s for %s", b.GetRole(), strings.Join(b.GetMembers(), ", "))
		}
		return words.String()
	}
	if c.Method != "storage.buckets.setIamPolicy" {
		return ""
	}
	var policy struct {
		Bindings []struct {
			Role    string
			Members []string
		}
	}
	if err := json.Unmarshal(c.Body, &policy); err != nil {
		return ""
	}
	var words strings.Builder
	for _, b := range policy.Bindings {
		if !strings.HasPrefix(b.Role, "roles/storage.legacy") {
			fmt.Fprintf(&words, "; %s for %s", b.Role, strings.Join(b.Members, ", "))
		}
	}
	return words.String()
}

// logs passes entries on and tells of them.
func (n *narrator) logs(next run.Logs) run.Logs { return narrated{n, next} }

type narrated struct {
	narrator *narrator
	next     run.Logs
}

// Append implements run.Logs.
func (l narrated) Append(entries ...*loggingpb.LogEntry) {
	l.next.Append(entries...)
	if !l.narrator.logger.Enabled(context.Background(), slog.LevelInfo) {
		return
	}
	for _, e := range entries {
		l.narrator.entry(e)
	}
}

func (n *narrator) entry(e *loggingpb.LogEntry) {
	labels := e.GetLabels()
	execution, task := labels["run.googleapis.com/execution_name"], labels["run.googleapis.com/task_index"]
	switch {
	case execution == "": // about a job: the call was told of
	case task == "":
		n.forget(execution)
		n.logger.Info(text(e))
	default:
		attempt := labels["run.googleapis.com/task_attempt"]
		who := fmt.Sprintf("%s task %s attempt %s", execution, task, attempt)
		if n.begins(attemptOf{execution, task}, attempt) {
			n.logger.Info(who + " begins: the task is tried again")
		}
		if strings.HasSuffix(e.GetLogName(), "%2Fstdout") || strings.HasSuffix(e.GetLogName(), "%2Fstderr") {
			n.logger.Info(who + " | " + text(e))
			return
		}
		n.logger.Info(who + ": " + text(e))
	}
}

// begins reports whether this is the first word of an attempt that is not the
// task's first.
func (n *narrator) begins(of attemptOf, attempt string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	last, heard := n.attempts[of]
	n.attempts[of] = attempt
	return attempt != "0" && (!heard || last != attempt)
}

func (n *narrator) forget(execution string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for of := range n.attempts {
		if of.execution == execution {
			delete(n.attempts, of)
		}
	}
}

// text is what an entry says to a reader.
func text(e *loggingpb.LogEntry) string {
	switch payload := e.GetPayload().(type) {
	case *loggingpb.LogEntry_TextPayload:
		return payload.TextPayload
	case *loggingpb.LogEntry_JsonPayload:
		if message := payload.JsonPayload.GetFields()["message"].GetStringValue(); message != "" {
			return message
		}
		raw, err := json.Marshal(payload.JsonPayload.AsMap())
		if err != nil {
			return ""
		}
		return string(raw)
	case *loggingpb.LogEntry_ProtoPayload:
		record := &audit.AuditLog{}
		if payload.ProtoPayload.UnmarshalTo(record) == nil {
			return record.GetStatus().GetMessage()
		}
	}
	return ""
}
