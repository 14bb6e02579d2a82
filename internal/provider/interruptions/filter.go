// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package interruptions

import (
	"fmt"
	"strings"
	"time"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

// Query says where and when interruptions are looked for.
type Query struct {
	Job resourcename.Job
	// Execution is the short name of the only one to look at; "" for all.
	Execution string
	// Start is included, End is excluded. A zero End is no end: what is written
	// while the entries are read counts.
	Start, End time.Time
}

// holds reports whether a moment lies in the window.
func (q Query) holds(t time.Time) bool {
	return !t.Before(q.Start) && (q.End.IsZero() || t.Before(q.End))
}

// margin is how far apart entries about one interruption may be: the message,
// ten seconds of grace, the exit, and the end of a cancelled execution. The
// filter reaches this far beyond the window on both sides, so that an
// interruption at its edge is seen as a whole and counted in one window only.
const margin = time.Minute

// The platform's texts.
const (
	preemptionReason = "INSTANCE_PREEMPTED"
	preemptionWords  = "preemption initiated by the platform"
	timeoutWords     = "Terminating task because it has reached the maximum timeout"
	exitWords        = "Container called exit("
)

func exitText(code int) string { return fmt.Sprintf("%s%d).", exitWords, code) }

func signalText(n int) string { return fmt.Sprintf("Container terminated on signal %d.", n) }

// Labels of the entries of a task.
const (
	labelExecution = "run.googleapis.com/execution_name"
	labelTask      = "run.googleapis.com/task_index"
	labelAttempt   = "run.googleapis.com/task_attempt"
	labelInstance  = "instanceId"
)

// Filter is the text in the Logging query language that finds every entry that
// tells of an interruption, and those that tell a timeout and a cancel from one.
//
// Where the platform writes that it preempted a task is documented nowhere, so
// that no log is named: only the two that the program itself writes to are left
// out, which may repeat any text.
func Filter(q Query) string {
	return scope(q) + `
AND (
  textPayload:` + quote(preemptionWords) + `
  OR jsonPayload.message:` + quote(preemptionWords) + `
  OR ` + quote(preemptionReason) + `
  OR textPayload=` + quote(exitText(exitSIGTERM)) + `
  OR textPayload=` + quote(signalText(sigTerm)) + `
  OR textPayload=` + quote(signalText(sigKill)) + `
  OR textPayload:` + quote(timeoutWords) + `
  OR (log_id(` + quote(logEvents) + `) AND (` + quote(reasonCancelled) + ` OR ` + quote(reasonDeleted) + `))
)`
}

// exitFilter finds how the programs of some attempts ended, whatever they exited
// with. Every attempt has such an entry, so that it is asked for a few only.
func exitFilter(q Query, attempts []attempt) string {
	terms := make([]string, len(attempts))
	for i, a := range attempts {
		terms[i] = fmt.Sprintf("(%s AND %s AND %s)", labelIs(labelExecution, a.execution), labelIs(labelTask, a.task), labelIs(labelAttempt, a.number))
	}
	return scope(q) + "\nAND textPayload:" + quote(exitWords) + "\nAND (\n  " + strings.Join(terms, "\n  OR ") + "\n)"
}

// scope is what all entries have in common.
func scope(q Query) string {
	terms := []string{`resource.type="cloud_run_job"`}
	// The entries have the project's id. Where the job is named by the number, the
	// project that is asked says the same.
	if strings.Trim(q.Job.Project, "0123456789") != "" {
		terms = append(terms, `resource.labels.project_id=`+quote(q.Job.Project))
	}
	terms = append(terms, `resource.labels.location=`+quote(q.Job.Location), `resource.labels.job_name=`+quote(q.Job.Name))
	if q.Execution != "" {
		terms = append(terms, labelIs(labelExecution, q.Execution))
	}
	terms = append(terms, `timestamp>=`+quote(q.Start.Add(-margin).UTC().Format(time.RFC3339Nano)))
	if !q.End.IsZero() {
		terms = append(terms, `timestamp<`+quote(q.End.Add(margin).UTC().Format(time.RFC3339Nano)))
	}
	terms = append(terms, `NOT log_id(`+quote(logStdout)+`)`, `NOT log_id(`+quote(logStderr)+`)`)
	return strings.Join(terms, "\nAND ")
}

func labelIs(label, value string) string { return "labels." + quote(label) + "=" + quote(value) }

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`)

// quote writes a text as the language wants it, whatever is in it.
func quote(s string) string { return `"` + escapes.Replace(s) + `"` }
