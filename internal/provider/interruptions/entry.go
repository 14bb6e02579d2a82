// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package interruptions

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/logging/apiv2/loggingpb"
	"google.golang.org/genproto/googleapis/cloud/audit"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/lazyregexp"
)

// Log ids.
const (
	logStdout = "run.googleapis.com/stdout"
	logStderr = "run.googleapis.com/stderr"
	logEvents = "cloudaudit.googleapis.com/system_event"
	logAudits = "cloudaudit.googleapis.com/"
)

// Linux's numbers, and the shells' convention of 128 + the signal.
const (
	sigKill     = 9
	sigTerm     = 15
	exitSIGTERM = 128 + sigTerm
)

// The reasons for which an execution ends before its tasks do.
const (
	reasonCancelled = "Cancelled"
	reasonDeleted   = "Deleted"
)

// attempt names an attempt of a task, as the labels of its entries do. What an
// entry does not say is "".
type attempt struct{ execution, task, number string }

// known reports whether the labels name one attempt.
func (a attempt) known() bool { return a.execution != "" && a.task != "" && a.number != "" }

// fact is what an entry says.
type fact int

const (
	preempted fact = iota + 1 // the platform takes the attempt's instance away
	exited                    // the program ended
	timedOut                  // the platform ends the attempt: its timeout is over
	stopped                   // the execution was cancelled or deleted, and has ended
)

// line is an entry as far as it matters here.
type line struct {
	fact     fact
	at       time.Time
	log      string
	attempt  attempt
	instance string
	// exitCode and signal say how the program ended; at most one is set.
	exitCode, signal *int64
	text             string
}

// read tells what an entry says; false when it says nothing about an
// interruption.
func read(e *loggingpb.LogEntry) (line, bool) {
	l := line{
		at: e.GetTimestamp().AsTime(), log: logID(e.GetLogName()), instance: e.GetLabels()[labelInstance],
		attempt: attempt{e.GetLabels()[labelExecution], e.GetLabels()[labelTask], e.GetLabels()[labelAttempt]},
	}
	switch {
	case strings.HasPrefix(l.log, logAudits):
		return l.ofAudit(e)
	case strings.HasPrefix(e.GetTextPayload(), timeoutWords):
		l.fact, l.text = timedOut, e.GetTextPayload()
		return l, true
	case l.readEnd(e.GetTextPayload()):
		return l, true
	}
	texts := append([]string{e.GetTextPayload()}, textsOf(e.GetJsonPayload())...)
	for _, name := range sortedKeys(e.GetLabels()) {
		texts = append(texts, e.GetLabels()[name])
	}
	i := slices.IndexFunc(texts, saysPreempted)
	if i < 0 {
		return line{}, false
	}
	l.fact, l.text = preempted, texts[i]
	if m := e.GetJsonPayload().GetFields()["message"].GetStringValue(); m != "" {
		l.text = m
	} else if t := e.GetTextPayload(); t != "" {
		l.text = t
	}
	return l, true
}

// ofAudit reads an audit entry. It tells of a preemption only by its own status:
// others repeat what a user wrote, such as the environment of a job. One with a
// response is the record of an execution that has ended, not of what happened to
// one of its tasks.
func (l line) ofAudit(e *loggingpb.LogEntry) (line, bool) {
	record := &audit.AuditLog{}
	if l.log != logEvents || e.GetProtoPayload().UnmarshalTo(record) != nil {
		return line{}, false
	}
	if l.attempt.execution == "" {
		if _, name, found := strings.Cut(record.GetResourceName(), "/executions/"); found {
			l.attempt.execution, _, _ = strings.Cut(name, "/")
		}
	}
	l.text = record.GetStatus().GetMessage()
	switch {
	case record.GetResponse() != nil:
		l.fact = stopped
		return l, l.attempt.execution != "" && wasStopped(record.GetResponse())
	case saysPreempted(l.text):
		l.fact = preempted
		return l, true
	}
	return line{}, false
}

// wasStopped reports whether an execution, in the v1 form, ended because somebody
// cancelled or deleted it.
func wasStopped(execution *structpb.Struct) bool {
	conditions := execution.GetFields()["status"].GetStructValue().GetFields()["conditions"].GetListValue()
	return slices.ContainsFunc(conditions.GetValues(), func(v *structpb.Value) bool {
		c := v.GetStructValue().GetFields()
		if c["type"].GetStringValue() != "Completed" {
			return false
		}
		reason, message := c["reason"].GetStringValue(), c["message"].GetStringValue()
		return reason == reasonCancelled || reason == reasonDeleted ||
			reason == "" && (strings.HasPrefix(message, reasonCancelled+" by") || strings.HasPrefix(message, reasonDeleted+" by"))
	})
}

var endings = lazyregexp.New(`^Container (?:called exit\((\d{1,9})\)|terminated on signal (\d{1,9}))\.$`)

// readEnd reads the platform's text on how a program ended. Nothing may stand
// before or after it.
func (l *line) readEnd(text string) bool {
	found := endings.FindStringSubmatch(text)
	if found == nil {
		return false
	}
	l.fact, l.text = exited, text
	l.exitCode, l.signal = number(found[1]), number(found[2])
	return true
}

// number is nil for a text that is none.
func number(s string) *int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

// saysPreempted reports whether a text is the platform's message.
func saysPreempted(text string) bool {
	lower := strings.ToLower(text)
	return strings.Contains(lower, preemptionWords) || strings.Contains(lower, strings.ToLower(preemptionReason))
}

// textsOf returns all texts of a structured payload, those of one level by name.
func textsOf(s *structpb.Struct) []string {
	var all []string
	for _, name := range sortedKeys(s.GetFields()) {
		all = append(all, textsIn(s.GetFields()[name])...)
	}
	return all
}

func textsIn(v *structpb.Value) []string {
	switch v := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		return []string{v.StringValue}
	case *structpb.Value_StructValue:
		return textsOf(v.StructValue)
	case *structpb.Value_ListValue:
		var all []string
		for _, e := range v.ListValue.GetValues() {
			all = append(all, textsIn(e)...)
		}
		return all
	}
	return nil
}

// logID is the part of a log's name that says which log it is.
func logID(name string) string {
	_, id, _ := strings.Cut(name, "/logs/")
	if plain, err := url.PathUnescape(id); err == nil {
		return plain
	}
	return id
}
