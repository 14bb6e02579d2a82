// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package diags_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/diags"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestDetail(t *testing.T) {
	t.Parallel()
	const job = "projects/p/locations/us-central1/jobs/train"
	for _, test := range []struct {
		name string
		err  error
		hint string
		want string
	}{
		{"an answer", &gcp.Error{Op: "read the job", Resource: job, Code: codes.NotFound, HTTP: 404, Message: "Resource 'train' of kind 'JOB' does not exist."}, "Create it first.",
			"Could not read the job projects/p/locations/us-central1/jobs/train.\n\n" +
				"Google answered: Resource 'train' of kind 'JOB' does not exist.\nStatus: HTTP 404, NOT_FOUND\n\nCreate it first."},
		{"wrapped", fmt.Errorf("more: %w", &gcp.Error{Op: "read the job", Code: codes.NotFound, HTTP: 404, Message: "gone"}), "",
			"Could not read the job.\n\nGoogle answered: gone\nStatus: HTTP 404, NOT_FOUND\n\nRead what Google says above, mend what it names, and apply again."},
		{"a text of several lines", &gcp.Error{Op: "create the job", Resource: job, Code: codes.InvalidArgument, HTTP: 400, Message: "Quota violated:\nCpuAllocPerProjectRegion requested: 60000 allowed: 20000\n"}, "",
			"Could not create the job " + job + ".\n\nGoogle answered: Quota violated:\nCpuAllocPerProjectRegion requested: 60000 allowed: 20000\nStatus: HTTP 400, INVALID_ARGUMENT\n\nRead what Google says above, mend what it names, and apply again."},
		{"no text", &gcp.Error{Op: "create the job", Code: codes.Internal, HTTP: 500}, "Ask Google.",
			"Could not create the job.\n\nGoogle answered: (no text)\nStatus: HTTP 500, INTERNAL\n\nAsk Google."},
		{"a status without text", &gcp.Error{Op: "create the job", Code: codes.Internal, HTTP: 500, Err: status.Error(codes.Internal, "")}, "Ask Google.",
			"Could not create the job.\n\nGoogle answered: (no text)\nStatus: HTTP 500, INTERNAL\n\nAsk Google."},
		{"permission, hint by status", &gcp.Error{Op: "create the job", Code: codes.PermissionDenied, HTTP: 403, Message: "no"}, "",
			"Could not create the job.\n\nGoogle answered: no\nStatus: HTTP 403, PERMISSION_DENIED\n\n" +
				"Google does not say which permission is missing. The guide Permissions lists what the account that Terraform runs as needs. Give it that, and apply again."},
		{"permission that is named, and not known here", &gcp.Error{Op: "create the job", Code: codes.PermissionDenied, HTTP: 403, Message: "Permission 'compute.networks.use' denied."}, "",
			"Could not create the job.\n\nGoogle answered: Permission 'compute.networks.use' denied.\nStatus: HTTP 403, PERMISSION_DENIED\n\n" +
				"Give the account that Terraform runs as the permission that is named above, and apply again."},
		{"API off, hint by reason", &gcp.Error{Op: "create the job", Code: codes.PermissionDenied, HTTP: 403, Reason: "SERVICE_DISABLED", Message: "off"}, "",
			"Could not create the job.\n\nGoogle answered: off\nStatus: HTTP 403, PERMISSION_DENIED\n\n" +
				"Enable the API that is named above in the project, wait a minute, and apply again."},
		{"no answer", &gcp.Error{Op: "run the job", Resource: job, Code: codes.Unavailable, Ambiguous: true, Err: errors.New("connection reset by peer")}, "",
			"Could not run the job " + job + ".\n\nNo answer came: connection reset by peer.\n\n" +
				"The request may have taken effect all the same.\n\nApply again; if it goes on, see https://status.cloud.google.com."},
		{"time limit", &gcp.Error{Op: "read the job", Code: codes.DeadlineExceeded, Err: fmt.Errorf("rpc: %w", context.DeadlineExceeded)}, "Raise timeouts.create.",
			"Could not read the job.\n\nNo answer came: the time limit ran out.\n\nRaise timeouts.create."},
		{"interrupted", context.Canceled, "", "The operation was interrupted."},
		{"interrupted call", &gcp.Error{Op: "read the job", Code: codes.Canceled, Err: status.Error(codes.Canceled, "context canceled")}, "",
			"Could not read the job.\n\nThe operation was interrupted.\n\nApply again to go on."},
		{"the library's form", &gcp.Error{Op: "read the job", Code: codes.Unavailable, Err: status.Error(codes.Unavailable, "connection refused")}, "Start it.",
			"Could not read the job.\n\nNo answer came: connection refused.\n\nStart it."},
		{"nobody listens", &gcp.Error{Op: "read the job", Code: codes.Unavailable,
			Err: status.Error(codes.Unavailable, `connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused"`)}, "",
			"Could not read the job.\n\nNo answer came: dial tcp 127.0.0.1:1: connect: connection refused.\n\n" +
				"Nothing listens at that address. If it is the emulator's, start the emulator, or unset RESILIENTJOB_EMULATOR_HOST."},
		{"no credentials", &gcp.Error{Op: "read the job", Code: codes.Unauthenticated, Err: errors.New("no Google credentials were found: log in")}, "",
			"Could not read the job.\n\nNo Google credentials were found: log in."},
		{"the library's time limit", &gcp.Error{Op: "read the job", Code: codes.DeadlineExceeded, Err: status.Error(codes.DeadlineExceeded, "context deadline exceeded")}, "Wait.",
			"Could not read the job.\n\nNo answer came: the time limit ran out.\n\nWait."},
		{"any other error", errors.New("something else"), "Do this.", "something else.\n\nDo this."},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := diags.Detail(test.err, test.hint); got != test.want {
				t.Errorf("got\n%s\n\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestErrorAndWarning(t *testing.T) {
	t.Parallel()
	var d diag.Diagnostics
	err := &gcp.Error{Op: "read the job", Code: codes.NotFound, HTTP: 404, Message: "gone"}
	diags.Error(&d, path.Empty(), "Cannot read the job", err, "")
	diags.Error(&d, path.Root("job"), "Cannot read the job", err, "")
	diags.Warning(&d, path.Root("job"), "Not watched to the end", err, "")
	if len(d) != 3 {
		t.Fatalf("%d diagnostics: %v", len(d), d)
	}
	for i, want := range []struct {
		severity diag.Severity
		path     path.Path
		summary  string
	}{
		{diag.SeverityError, path.Empty(), "Cannot read the job"},
		{diag.SeverityError, path.Root("job"), "Cannot read the job"},
		{diag.SeverityWarning, path.Root("job"), "Not watched to the end"},
	} {
		at := path.Empty()
		if p, ok := d[i].(diag.DiagnosticWithPath); ok {
			at = p.Path()
		}
		if d[i].Severity() != want.severity || d[i].Summary() != want.summary || !at.Equal(want.path) || !strings.Contains(d[i].Detail(), "Status: HTTP 404, NOT_FOUND") {
			t.Errorf("diagnostic %d is %v at %s; want %v", i, d[i], at, want)
		}
	}
}
