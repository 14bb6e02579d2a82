// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package resilience

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Stage is a Cloud Run launch stage.
type Stage string

// The launch stages, from the most to the least permissive.
const (
	StageAlpha Stage = "ALPHA"
	StageBeta  Stage = "BETA"
	StageGA    Stage = "GA"
)

// permits tells whether a job of stage s may use features of stage need.
func (s Stage) permits(need Stage) bool {
	rank := map[Stage]int{StageGA: 0, StageBeta: 1, StageAlpha: 2}
	return rank[s] >= rank[need]
}

// Features is what decides about the launch stage of a job.
type Features struct {
	// GPU is the type, or NoGPU.
	GPU string
	// Timeout is that of one attempt.
	Timeout time.Duration
	// DiskVolume is true with a volume of kind empty_dir on disk.
	DiskVolume bool
}

// StageNeed is one row of the table of features that are not generally
// available.
type StageNeed struct {
	// Feature in words.
	Feature string
	// Stage that a job with the feature needs.
	Stage Stage
	// Date and Source of the row.
	Date, Source string

	// used returns the feature with the numbers of the job at hand, or "" for a
	// job without it.
	used func(Features) string
}

var stageNeeds = []StageNeed{
	{
		Feature: "a GPU task timeout above " + FormatDuration(MaxGPUTimeoutGA), Stage: StageBeta,
		Date: TableDate, Source: "Cloud Run page on task timeout (preview mark)",
		used: func(f Features) string {
			if !HasGPU(f.GPU) || f.Timeout <= MaxGPUTimeoutGA {
				return ""
			}
			return fmt.Sprintf("a GPU task timeout of %s (above %s)", FormatDuration(f.Timeout), FormatDuration(MaxGPUTimeoutGA))
		},
	},
	{
		Feature: "an ephemeral disk (a volume with empty_dir on disk)", Stage: StageBeta,
		Date: "2026-04-20", Source: "Cloud Run release notes (preview); newer copies of the page on ephemeral disks bear no mark",
		used: func(f Features) string {
			if !f.DiskVolume {
				return ""
			}
			return "an ephemeral disk (empty_dir on disk)"
		},
	},
}

// StageNeeds returns the table of features that are not generally available.
func StageNeeds() []StageNeed { return slices.Clone(stageNeeds) }

// LowestStage returns the lowest launch stage that a job with these features
// needs, and the features that need it (empty for GA).
func LowestStage(f Features) (stage Stage, feature string) {
	stage = StageGA
	var used []string
	for _, need := range stageNeeds {
		text := need.used(f)
		switch {
		case text == "":
		case stage.permits(need.Stage):
			if need.Stage == stage {
				used = append(used, text)
			}
		default:
			stage, used = need.Stage, []string{text}
		}
	}
	return stage, strings.Join(used, " and ")
}

// CheckLaunchStage warns of a configured stage that does not permit a feature in
// use, and names the feature.
func CheckLaunchStage(configured Stage, f Features) []Finding {
	need, feature := LowestStage(f)
	if configured.permits(need) {
		return nil
	}
	verb := "needs"
	if strings.Contains(feature, " and ") {
		verb = "need"
	}
	return []Finding{{LaunchStage, fmt.Sprintf(
		"launch_stage is %q, but %s %s %q by the table of %s. Cloud Run may refuse the job. Remove launch_stage (the lowest stage that is needed is then sent) or write %[4]q.",
		configured, feature, verb, need, TableDate)}}
}
