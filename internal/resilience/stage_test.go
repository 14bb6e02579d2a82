// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package resilience

import (
	"testing"
	"time"
)

func TestLowestStage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		in      Features
		want    Stage
		feature string
	}{
		{"one hour with a GPU", Features{GPU: NvidiaL4, Timeout: time.Hour}, StageGA, ""},
		{"a moment more", Features{GPU: NvidiaL4, Timeout: time.Hour + 1}, StageBeta, "a GPU task timeout of 1h0m0.000000001s (above 1h)"},
		{"a long time with the other type", Features{GPU: NvidiaRTXPro6000, Timeout: 12 * time.Hour}, StageBeta, "a GPU task timeout of 12h (above 1h)"},
		{"a long time without GPU", Features{GPU: NoGPU, Timeout: 168 * time.Hour}, StageGA, ""},
		{"a disk", Features{GPU: NoGPU, Timeout: time.Hour, DiskVolume: true}, StageBeta, "an ephemeral disk (empty_dir on disk)"},
		{"both", Features{GPU: NvidiaL4, Timeout: 2 * time.Hour, DiskVolume: true}, StageBeta,
			"a GPU task timeout of 2h (above 1h) and an ephemeral disk (empty_dir on disk)"},
		{"nothing known", Features{}, StageGA, ""},
	} {
		if got, feature := LowestStage(c.in); got != c.want || feature != c.feature {
			t.Errorf("%s: %s %q, want %s %q", c.name, got, feature, c.want, c.feature)
		}
	}
}

// case 16: the message names the feature and the stage that it needs.
func TestCheckLaunchStage(t *testing.T) {
	t.Parallel()
	long := Features{GPU: NvidiaL4, Timeout: 2 * time.Hour}
	compare(t, "GA with a long GPU timeout", CheckLaunchStage(StageGA, long),
		want{LaunchStage, `launch_stage is "GA", but a GPU task timeout of 2h (above 1h) needs "BETA" by the table of ` + TableDate})
	compare(t, "GA with two features", CheckLaunchStage(StageGA, Features{GPU: NvidiaL4, Timeout: 2 * time.Hour, DiskVolume: true}),
		want{LaunchStage, `on disk) need "BETA" by`})
	compare(t, "BETA", CheckLaunchStage(StageBeta, long))
	compare(t, "ALPHA permits BETA", CheckLaunchStage(StageAlpha, long))
	compare(t, "GA without need", CheckLaunchStage(StageGA, Features{GPU: NvidiaL4, Timeout: time.Hour}))
}
