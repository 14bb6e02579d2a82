// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package resilience

import (
	"strings"
	"testing"
)

func TestCheckEnvName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"LR": "", "_x": "", "A1": "", "K_SERVICE": "", "CLOUD_RUN_JOBS": "", "resilientjob_run_key": "",
		"":                     "empty",
		"1A":                   "no digit first",
		"A-B":                  "letters, digits",
		"A=B":                  "letters, digits",
		"Ä":                    "letters, digits",
		"PORT":                 "set by Cloud Run",
		"CLOUD_RUN_JOB":        "set by Cloud Run",
		"CLOUD_RUN_TASK_INDEX": "set by Cloud Run",
		RunKeyEnv:              "reserved",
		"X_GOOGLE_FOO":         "reserves",
	} {
		err := CheckEnvName(name)
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", name, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: got %v, want a text with %q", name, err, want)
		}
	}
	if !ServiceEnvName("K_SERVICE") || ServiceEnvName("KEY") {
		t.Error("ServiceEnvName knows K_ names, and only them")
	}
}
