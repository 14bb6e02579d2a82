// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution

import (
	"errors"
	"fmt"
	"strings"

	"cloud.google.com/go/run/apiv2/runpb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/diags"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

// maxExplained is how many failed tasks a message explains.
const maxExplained = 5

// endedWithoutSuccess says why an execution failed and what the user can do
// with the tainted resource. tasksErr is set when the tasks could not be read.
func endedWithoutSuccess(name resourcename.Execution, e *runpb.Execution, failed []*runpb.Task, tasksErr error) (summary, detail string) {
	var parts []string
	outcome := "failed"
	if StateOf(e) == Cancelled {
		outcome = "was cancelled"
	}
	parts = append(parts, fmt.Sprintf("Execution %s of job %s %s: %s.", name.Name, name.Job.Name, outcome, counts(e)))
	if neverStarted(e) {
		_, message := reasonAndMessage(e)
		parts = append(parts, "The program never ran: the container did not start"+startHint(message)+".")
	}
	var lines []string
	for i, t := range failed {
		if i == maxExplained {
			lines = append(lines, fmt.Sprintf("… and more: %s failed.", plural(int(e.GetFailedCount()), "task")))
			break
		}
		lines = append(lines, explainLine(t))
	}
	if tasksErr != nil {
		lines = append(lines, "The tasks could not be read: "+tasksErr.Error()+".")
	}
	if len(lines) > 0 {
		parts = append(parts, strings.Join(lines, "\n"))
	}
	if says := cloudRunSays(e); says != "" {
		parts = append(parts, says)
	}
	if e.GetLogUri() != "" {
		parts = append(parts, "Logs: "+e.GetLogUri())
	}
	parts = append(parts, "The resource is tainted: the next apply runs the job again. "+
		"To accept this execution instead, run \"terraform untaint\" with the address of this resource.")
	return "Execution ended without success", strings.Join(parts, "\n\n")
}

// explainLine is one failed task in one line.
func explainLine(t *runpb.Task) string {
	outcome := Explain(t)
	used, left := attempts(t)
	var b strings.Builder
	fmt.Fprintf(&b, "Task %d failed after %s", t.GetIndex(), plural(int(used), "attempt"))
	if left > 0 {
		fmt.Fprintf(&b, " (%d left)", left)
	}
	if outcome.ExitCode != nil {
		fmt.Fprintf(&b, ", exit code %d", *outcome.ExitCode)
	}
	if outcome.Signal != nil {
		fmt.Fprintf(&b, ", signal %d", *outcome.Signal)
	}
	if outcome.Meaning != "" {
		b.WriteString(": " + outcome.Meaning)
	}
	b.WriteString(".")
	if outcome.Message != "" {
		fmt.Fprintf(&b, " Cloud Run says: %q", outcome.Message)
	}
	return b.String()
}

// counts says how many tasks ended how.
func counts(e *runpb.Execution) string {
	var parts []string
	for _, c := range []struct {
		n    int32
		word string
	}{
		{e.GetFailedCount(), "failed"}, {e.GetCancelledCount(), "cancelled"}, {e.GetSucceededCount(), "succeeded"}, {e.GetRunningCount(), "still running"},
	} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.word))
		}
	}
	if len(parts) == 0 {
		parts = append(parts, "none began")
	}
	text := "of " + plural(int(e.GetTaskCount()), "task") + " " + strings.Join(parts, ", ")
	if n := e.GetRetriedCount(); n > 0 {
		text += fmt.Sprintf("; %d had been retried", n)
	}
	return text
}

func cloudRunSays(e *runpb.Execution) string {
	reason, message := reasonAndMessage(e)
	switch {
	case message == "" && reason == "":
		return ""
	case message == "":
		return "Cloud Run's reason: " + reason
	case reason == "":
		return "Cloud Run says: " + message
	}
	return "Cloud Run says: " + message + " (" + reason + ")"
}

// stoppedWatching says that an execution goes on although the apply does not
// wait for it any more.
func stoppedWatching(name resourcename.Execution, e *runpb.Execution, why error) (summary, detail string) {
	if errors.Is(why, errForgotten) {
		return "Execution is forgotten", fmt.Sprintf(
			"Cloud Run does not know execution %s of job %s any more: it or its job was deleted while Terraform watched it. Its last known state, %q, is kept. Nothing is run again.",
			name.Name, name.Job.Name, StateOf(e))
	}
	detail = fmt.Sprintf("%s\n\nExecution %s of job %s goes on: it was not cancelled, and its last known state is %q. "+
		"The next plan or refresh reads its state again. Resources that depend on this one do not wait for its end.",
		stopReason(why, "timeouts.create"), name.Name, name.Job.Name, StateOf(e))
	if e.GetLogUri() != "" {
		detail += "\n\nLogs: " + e.GetLogUri()
	}
	return "Stopped watching the execution", detail
}

// stopReason says why a watch ended before its goal.
func stopReason(why error, limit string) string {
	switch {
	case errors.Is(why, errInterrupted):
		return "Terraform was interrupted."
	case errors.Is(why, errTimeout):
		return "The time limit ran out (" + limit + ")."
	}
	return diags.Detail(why, "")
}

// stillRunning refuses a destroy.
func stillRunning(name resourcename.Execution, e *runpb.Execution) (summary, detail string) {
	return "Execution is still running", fmt.Sprintf(
		"Execution %s of job %s is %s, and destroying or replacing this resource would end it. Nothing was changed.\n\n"+
			"Wait until it has ended, or end it:\n"+
			"  1. set cancel_on_destroy = true in this resource and apply that alone (Terraform reads the value from the state);\n"+
			"  2. destroy or replace the resource again.\n"+
			"Or cancel it by hand, and destroy or replace the resource then:\n  %s",
		name.Name, name.Job.Name, StateOf(e), cancelCommand(name))
}

func cancelCommand(name resourcename.Execution) string {
	return fmt.Sprintf("gcloud run jobs executions cancel %s --region=%s --project=%s", name.Name, name.Job.Location, name.Job.Project)
}

// notOurs says that an execution goes on although its object is dropped.
func notOurs(name resourcename.Execution, e *runpb.Execution) (summary, detail string) {
	return "Execution was not cancelled", fmt.Sprintf(
		"Execution %s of job %s is %s and goes on, although cancel_on_destroy is true. What was destroyed is an object that a replacement with create_before_destroy has left behind, "+
			"and the object that replaced it may be the same run. If that is another run, and nothing needs this one, cancel it by hand:\n  %s",
		name.Name, name.Job.Name, StateOf(e), cancelCommand(name))
}

// notCancelled says that a cancel did not work, or not yet.
func notCancelled(name resourcename.Execution, e *runpb.Execution, err error) (summary, detail string) {
	return "Execution has not ended", fmt.Sprintf(
		"%s\n\nExecution %s of job %s is %s. The resource stays in the state: destroy it again to go on. To cancel the execution by hand:\n  %s",
		stopReason(err, "timeouts.delete"), name.Name, name.Job.Name, StateOf(e), cancelCommand(name))
}

// hint says what to do about other unfinished executions.
func (e *occupiedError) hint() string {
	var b strings.Builder
	b.WriteString("Wait until they have ended and apply again, set allow_concurrent = true, or cancel them:")
	for i, o := range e.others {
		if i == maxExplained {
			b.WriteString("\n  …")
			break
		}
		b.WriteString("\n  " + cancelCommand(resourcename.Execution{Job: e.job, Name: lastSegment(o.GetName())}))
	}
	return b.String()
}

// hint says what the next apply will do.
func (e *lostError) hint() string {
	return fmt.Sprintf("No execution of job %s with the key %s appeared within %s. Apply again: if the run was accepted after all and has not ended, it is found by its key and not started a second time. "+
		"\"gcloud run jobs executions list --job=%s --region=%s --project=%s\" shows what runs.",
		e.job.Name, e.key, searchWindow, e.job.Name, e.job.Location, e.job.Project)
}
