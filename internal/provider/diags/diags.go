// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package diags

import (
	"context"
	"errors"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
)

// Error adds one error for err. With a path other than path.Empty() the error
// points at that attribute. The summary says in a few words what did not
// work ("Cannot create the job"). The hint is the next step for the user, in
// whole sentences; when it is empty, the status of the answer chooses one.
func Error(d *diag.Diagnostics, p path.Path, summary string, err error, hint string) {
	add(d, p, diag.NewErrorDiagnostic(summary, Detail(err, hint)))
}

// Warning is Error for what does not stop anything.
func Warning(d *diag.Diagnostics, p path.Path, summary string, err error, hint string) {
	add(d, p, diag.NewWarningDiagnostic(summary, Detail(err, hint)))
}

// NameAJob is what to do about a job that is not there.
const NameAJob = "Write the name of a job that exists in the provider's project and region, or its full name."

// NoSuchJob says that the job of the attribute job is not there.
func NoSuchJob(d *diag.Diagnostics, err error) {
	Error(d, path.Root("job"), "Job does not exist", err, NameAJob)
}

func add(d *diag.Diagnostics, p path.Path, one diag.Diagnostic) {
	if !p.Equal(path.Empty()) {
		one = diag.WithPath(p, one)
	}
	d.Append(one)
}

// Explained is Error for a refusal whose meaning is known: what it means and
// what to do stands above, Google's own text and status beneath.
func Explained(d *diag.Diagnostics, p path.Path, summary string, err error, paragraphs ...string) {
	add(d, p, diag.NewErrorDiagnostic(summary, explained(err, paragraphs)))
}

// ExplainedWarning is Explained for what is no error yet.
func ExplainedWarning(d *diag.Diagnostics, p path.Path, summary string, err error, paragraphs ...string) {
	add(d, p, diag.NewWarningDiagnostic(summary, explained(err, paragraphs)))
}

func explained(err error, paragraphs []string) string {
	attempt, quote := parts(err)
	text := append([]string{attempt}, paragraphs...)
	if quote != "" {
		text = append(text, quote)
	}
	return strings.Join(append(text, lost(err)...), "\n\n")
}

// Quote is what Google said elsewhere than in the answer to a call.
type Quote struct {
	// Attempt says what did not work, in a sentence.
	Attempt string
	// Text is Google's own, Status and Reason are its machine-readable parts.
	Text, Status, Reason string
}

// Quoting is an error that repeats such a text: the condition of a job that
// could not be set up.
type Quoting interface {
	error
	Quote() Quote
}

// Detail returns the text of a diagnostic for err: the step and its resource,
// Google's text and status, and the hint. It is for callers that compose a
// longer text of their own.
func Detail(err error, hint string) string {
	attempt, quote := parts(err)
	text := []string{attempt}
	if quote != "" {
		text = append(text, quote)
	}
	text = append(text, lost(err)...)
	e, isAPI := gcp.AsError(err)
	if isAPI && hint == "" {
		hint = defaultHint(e)
	}
	if isAPI && e.Code == codes.PermissionDenied && hint != defaultHint(e) {
		if role := roleHint(e.Message); role != "" {
			text = append(text, role)
		}
	}
	if hint != "" {
		text = append(text, hint)
	}
	return strings.Join(text, "\n\n")
}

// parts returns what was attempted and what came back; without an attempt, the
// error alone.
func parts(err error) (attempt, quote string) {
	var quoting Quoting
	if errors.As(err, &quoting) {
		q := quoting.Quote()
		return sentence(q.Attempt), quoted(q.Text, q.Status)
	}
	e, isAPI := gcp.AsError(err)
	switch {
	case !isAPI:
		return sentence(cause(err)), ""
	case e.Code == codes.Canceled:
		return step(e), sentence(cause(context.Canceled))
	case e.HTTP == 0 && e.Code == codes.Unauthenticated:
		// No token could be had: nothing was asked, and the text says what to do.
		return step(e), sentence(upper(cause(orErr(e.Err, err))))
	case e.HTTP == 0:
		return step(e), "No answer came: " + sentence(cause(orErr(e.Err, err)))
	}
	return step(e), answer(e)
}

// lost warns of a request that may have taken effect although it failed.
func lost(err error) []string {
	if gcp.IsAmbiguous(err) {
		return []string{"The request may have taken effect all the same."}
	}
	return nil
}

func step(e *gcp.Error) string {
	s := "Could not " + e.Op
	if e.Resource != "" {
		s += " " + e.Resource
	}
	return sentence(s)
}

// answer quotes Google's text with its status on a line of its own.
func answer(e *gcp.Error) string {
	text := strings.TrimSpace(e.Message)
	if text == "" && e.Err != nil {
		text = e.Err.Error()
		// The library's own form, "rpc error: code = ... desc = ...", is not for users.
		if s, ok := status.FromError(e.Err); ok {
			text = strings.TrimSpace(s.Message())
		}
	}
	return quoted(text, e.Status())
}

func quoted(text, status string) string {
	if text = strings.TrimSpace(text); text == "" {
		text = "(no text)"
	}
	return "Google answered: " + text + "\nStatus: " + status
}

// cause says an interruption or a time limit in words; every other error
// speaks for itself.
func cause(err error) string {
	switch {
	case err == nil:
		return "the reason is not known"
	case errors.Is(err, context.Canceled):
		return "The operation was interrupted"
	case errors.Is(err, context.DeadlineExceeded), status.Code(err) == codes.DeadlineExceeded:
		return "the time limit ran out"
	}
	// The library's own form, "rpc error: code = ... desc = ...", is not for users.
	if s, ok := status.FromError(err); ok {
		return undress(s.Message())
	}
	return err.Error()
}

// undress takes gRPC's wrapping off the reason why a connection failed.
func undress(s string) string {
	if inner, ok := strings.CutPrefix(s, `connection error: desc = "transport: `); ok {
		return strings.TrimPrefix(strings.TrimSuffix(inner, `"`), "Error while dialing: ")
	}
	return s
}

func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func orErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" || strings.ContainsAny(s[len(s)-1:], ".!?") {
		return s
	}
	return s + "."
}

// defaultHint is the next step that follows from the status alone.
func defaultHint(e *gcp.Error) string {
	switch {
	case e.Code == codes.Unauthenticated && e.HTTP == 0:
		return ""
	case e.Code == codes.Canceled:
		return "Apply again to go on."
	case e.Reason == "SERVICE_DISABLED":
		return "Enable the API that is named above in the project, wait a minute, and apply again."
	case e.Code == codes.PermissionDenied && roleHint(e.Message) != "":
		return roleHint(e.Message)
	case e.Code == codes.PermissionDenied && !permissionNamed.MatchString(e.Message):
		return "Google does not say which permission is missing. The guide Permissions lists what the account that Terraform runs as needs. Give it that, and apply again."
	case e.Code == codes.PermissionDenied:
		return "Give the account that Terraform runs as the permission that is named above, and apply again."
	case e.Code == codes.Unauthenticated:
		return "Log in with \"gcloud auth application-default login\", or check the provider's credentials."
	case e.Code == codes.ResourceExhausted:
		return "A quota or a rate limit is used up. Wait, or ask for more, and apply again."
	case e.HTTP == 0 && e.Err != nil && strings.Contains(e.Err.Error(), "connection refused"):
		return "Nothing listens at that address. If it is the emulator's, start the emulator, or unset RESILIENTJOB_EMULATOR_HOST."
	case e.Code == codes.Unavailable, e.Code == codes.Internal, e.Code == codes.DeadlineExceeded, e.HTTP == 0:
		return "Apply again; if it goes on, see https://status.cloud.google.com."
	}
	return "Read what Google says above, mend what it names, and apply again."
}
