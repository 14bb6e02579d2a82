// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution

import (
	"strings"
	"testing"

	"cloud.google.com/go/run/apiv2/runpb"
)

// case 44: "The container exited with an error." alone explains nothing.
func TestExplainTask(t *testing.T) {
	t.Parallel()
	const failed = `"conditions": [{"type": "Completed", "state": "CONDITION_FAILED"}], `
	code := func(n int32) *int32 { return &n }
	for name, c := range map[string]struct {
		task         string
		cause        Cause
		meaning      string
		exit, signal *int32
		message      string
	}{
		"no attempt has finished": {`{` + begin + `}`, CauseNone, "", nil, nil, ""},
		"exit 0":                  {`{"lastAttemptResult": {"status": {}}}`, CauseSuccess, "exit code 0", code(0), nil, ""},
		"exit 1": {
			`{` + failed + `"lastAttemptResult": {"exitCode": 1, "status": {"code": 10, "message": "The container exited with an error."}}}`,
			CauseProgram, "the program ended with exit code 1", code(1), nil, "The container exited with an error.",
		},
		"exit 143 after SIGTERM": {
			`{"retried": 1, "lastAttemptResult": {"exitCode": 143, "status": {"code": 10, "message": "The container exited with an error."}}}`,
			CauseInterrupted, "interrupted (SIGTERM) and asked for a retry", code(143), nil, "The container exited with an error.",
		},
		"exit 137":  {`{` + failed + `"lastAttemptResult": {"exitCode": 137, "status": {"code": 10}}}`, CauseKilled, "out of memory, or still running when the ten seconds", code(137), nil, ""},
		"signal 9":  {`{` + failed + `"lastAttemptResult": {"termSignal": 9, "status": {"code": 10}}}`, CauseKilled, "killed (SIGKILL)", nil, code(9), ""},
		"signal 15": {`{` + failed + `"lastAttemptResult": {"termSignal": 15}}`, CauseInterrupted, "did not handle it", nil, code(15), ""},
		"signal 11": {`{` + failed + `"lastAttemptResult": {"termSignal": 11}}`, CauseProgram, "ended by SIGSEGV", nil, code(11), ""},
		"signal 60": {`{` + failed + `"lastAttemptResult": {"termSignal": 60}}`, CauseProgram, "ended by signal 60", nil, code(60), ""},
		"exit 139":  {`{` + failed + `"lastAttemptResult": {"exitCode": 139}}`, CauseProgram, "exit code 139, which stands for SIGSEGV", code(139), nil, ""},
		"exit 127":  {`{` + failed + `"lastAttemptResult": {"exitCode": 127}}`, CauseProgram, "the command was not found", code(127), nil, ""},
		"exit 126":  {`{` + failed + `"lastAttemptResult": {"exitCode": 126}}`, CauseProgram, "cannot be executed", code(126), nil, ""},
		"exit 255":  {`{` + failed + `"lastAttemptResult": {"exitCode": 255}}`, CauseProgram, "ended with exit code 255", code(255), nil, ""},
		"exit 200":  {`{` + failed + `"lastAttemptResult": {"exitCode": 200}}`, CauseProgram, "ended with exit code 200", code(200), nil, ""},
		"timeout": {
			`{"timeout": "43200s", ` + failed + `"lastAttemptResult": {"status": {"code": 4, "message": "The configured timeout was reached."}}}`,
			CauseTimeout, "reached the task timeout of 12h", nil, nil, "The configured timeout was reached.",
		},
		"timeout, by the text alone": {
			`{` + failed + `"lastAttemptResult": {"status": {"code": 10, "message": "The configured timeout was reached."}}}`,
			CauseTimeout, "reached the task timeout", nil, nil, "The configured timeout was reached.",
		},
		"timeout of a program that handles SIGTERM": {
			`{` + failed + `"lastAttemptResult": {"exitCode": 143, "status": {"code": 4}}}`, CauseTimeout, "reached the task timeout", code(143), nil, "",
		},
		"memory limit": {
			`{` + failed + `"lastAttemptResult": {"status": {"code": 8, "message": "The configured memory limit was reached."}}}`,
			CauseMemory, "memory limit", nil, nil, "The configured memory limit was reached.",
		},
		"memory limit, with a signal": {
			`{` + failed + `"lastAttemptResult": {"termSignal": 9, "status": {"code": 10, "message": "The configured memory limit was reached."}}}`,
			CauseMemory, "memory limit", nil, code(9), "The configured memory limit was reached.",
		},
		"platform failure": {
			`{` + failed + `"lastAttemptResult": {"status": {"code": 13, "message": "Internal error."}}}`,
			CausePlatform, "the platform failed (status 13), not the program", nil, nil, "Internal error.",
		},
		"cancelled": {
			`{` + failed + `"lastAttemptResult": {"status": {"code": 1, "message": "Cancelled by user."}}}`,
			CauseCancelled, "cancelled", nil, nil, "Cancelled by user.",
		},
		"cancelled, by the reason": {
			`{"conditions": [{"type": "Completed", "state": "CONDITION_FAILED", "executionReason": "CANCELLED"}]}`,
			CauseCancelled, "cancelled", nil, nil, "",
		},
		// cases 109 and 110: the mount fails and the container never starts.
		"mount failed": {
			`{"conditions": [{"type": "Started", "state": "CONDITION_FAILED"}, {"type": "Completed", "state": "CONDITION_FAILED", "message": "Mounting volume ckpt failed: permission denied."}], "lastAttemptResult": {"status": {"code": 9}}}`,
			CauseNotStarted, "a volume could not be mounted", nil, nil, "Mounting volume ckpt failed: permission denied.",
		},
		"mount failed, reported as internal": {
			`{"conditions": [{"type": "Started", "state": "CONDITION_RECONCILING"}, {"type": "Completed", "state": "CONDITION_FAILED"}], "lastAttemptResult": {"status": {"code": 13, "message": "gcsfuse could not start."}}}`,
			CauseNotStarted, "a volume could not be mounted", nil, nil, "gcsfuse could not start.",
		},
		"image missing, without conditions of the start": {
			`{` + begin + `, ` + failed + `"lastAttemptResult": {"status": {"code": 5, "message": "Image 'i' not found."}}}`,
			CauseNotStarted, "the image could not be used", nil, nil, "Image 'i' not found.",
		},
		"failed without a result": {
			`{"conditions": [{"type": "Completed", "state": "CONDITION_FAILED", "message": "Something."}]}`,
			CauseUnknown, "no exit code, signal or status", nil, nil, "Something.",
		},
		"a status that is new": {
			`{` + failed + `"lastAttemptResult": {"status": {"code": 77}}}`, CauseUnknown, "status 77", nil, nil, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Explain(fromJSON(t, &runpb.Task{}, c.task))
			if got.Cause != c.cause || !strings.Contains(got.Meaning, c.meaning) || (c.meaning == "") != (got.Meaning == "") {
				t.Errorf("got %q: %q, want %q: …%q…", got.Cause, got.Meaning, c.cause, c.meaning)
			}
			if !same(got.ExitCode, c.exit) || !same(got.Signal, c.signal) {
				t.Errorf("exit code %v, signal %v", got.ExitCode, got.Signal)
			}
			if got.Message != c.message {
				t.Errorf("message %q, want Google's own %q", got.Message, c.message)
			}
			if strings.HasSuffix(got.Meaning, ".") {
				t.Errorf("%q ends with a full stop: the sentence around it has one", got.Meaning)
			}
		})
	}
}

func same(a, b *int32) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }
