// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package resilience

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"
)

func TestRulesAreComplete(t *testing.T) {
	t.Parallel()
	ids, summaries := map[string]bool{}, map[string]bool{}
	for _, r := range Rules() {
		if r.ID == "" || r.Attribute == "" || r.Summary == "" || r.Source == "" || !strings.HasSuffix(r.Limit, ".") {
			t.Errorf("%+v has an empty field, or a limit that is no sentence", r)
		}
		if r.Resource != JobResource && r.Resource != BucketResource {
			t.Errorf("%s speaks of %q", r.ID, r.Resource)
		}
		if _, err := time.Parse(time.DateOnly, r.Date); err != nil {
			t.Errorf("%s: %v", r.ID, err)
		}
		summary := r.Resource + r.Attribute + r.Summary
		if ids[r.ID] || summaries[summary] {
			t.Errorf("%s: id or summary is there twice", r.ID)
		}
		ids[r.ID], summaries[summary] = true, true
	}
	for _, need := range StageNeeds() {
		if _, err := time.Parse(time.DateOnly, need.Date); err != nil || need.Feature == "" || need.Source == "" || need.Stage == StageGA {
			t.Errorf("%+v: %v", need, err)
		}
	}
	if Refuse.String() != "refuses" || Warn.String() != "warns" {
		t.Error("the words of the documentation changed")
	}
}

// A refusal of a dated rule says how to go on when the table is out of date.
func TestRefusal(t *testing.T) {
	t.Parallel()
	if got := (Finding{TimeoutMax, "Too long."}).Refusal(); !strings.Contains(got, "Too long.\n\nThis limit is as of 2025-11-11") || !strings.Contains(got, `plan_validation = "warn"`) {
		t.Errorf("dated: %q", got)
	}
	if got := (Finding{CheckpointFits, "Too long."}).Refusal(); got != "Too long." {
		t.Errorf("not dated: %q", got)
	}
}

// boundary is one value on either side of a limit.
type boundary struct {
	rule         Rule
	right, wrong func() []Finding
}

// boundaries has each rule that this package checks, just inside and just
// outside of its limit. A rule that is checked elsewhere, where the values are
// read, is listed there.
func boundaries() []boundary {
	h, m := time.Hour, time.Minute
	resources := func(gpu string, cpu, memory int64) func() []Finding {
		return func() []Finding { return CheckResources(gpu, cpu, memory) }
	}
	budget := func(retries int64) func() []Finding {
		return func() []Finding {
			return CheckRetryBudget(retries, RetryInput{Work: 24 * h, Interval: 2 * h, Write: m, Restore: 2 * m, Timeout: 12 * h,
				MeanTimeBetweenInterruptions: MaintenanceInterval, Probability: PlanProbability})
		}
	}
	env := func(name string) func() []Finding {
		return func() []Finding {
			if err := CheckEnvName(name); err != nil {
				return []Finding{{EnvName, err.Error()}}
			}
			return nil
		}
	}
	service := func(name string) func() []Finding {
		return func() []Finding {
			if ServiceEnvName(name) {
				return []Finding{{EnvService, name}}
			}
			return nil
		}
	}
	all := []boundary{
		{GPUUnknown, func() []Finding { return CheckGPUType(NoGPU) }, func() []Finding { return CheckGPUType("nvidia-l") }},
		{GPURegion, func() []Finding { return CheckRegion(NvidiaL4, "us-east4") }, func() []Finding { return CheckRegion(NvidiaRTXPro6000, "us-east4") }},
		{GPURegionInvitation, func() []Finding { return CheckRegion(NvidiaRTXPro6000, "asia-southeast1") }, func() []Finding { return CheckRegion(NvidiaRTXPro6000, "asia-south2") }},
		{GPUZonalRedundancy, func() []Finding { return CheckZonalRedundancy(NoGPU, true) }, func() []Finding { return CheckZonalRedundancy(NvidiaL4, true) }},
		{CPUMinimum, resources(NoGPU, 1000, 512*MiB), resources(NoGPU, 999, 512*MiB)}, // case 61
		{CPUMinimum, resources(NvidiaL4, 4000, 16*GiB), resources(NvidiaL4, 3999, 16*GiB)},
		{CPUMinimum, resources(NvidiaRTXPro6000, 20_000, 80*GiB), resources(NvidiaRTXPro6000, 19_999, 80*GiB)},
		{CPUValue, resources(NvidiaL4, 6000, 16*GiB), resources(NvidiaL4, 6001, 16*GiB)},
		{CPUMaximum, resources(NvidiaL4, 8000, 16*GiB), resources(NvidiaL4, 8001, 16*GiB)},
		{CPUMaximum, resources(NoGPU, 8000, 32*GiB), resources(NoGPU, 16_000, 64*GiB)},
		{MemoryMinimum, resources(NoGPU, 1000, 512*MiB), resources(NoGPU, 1000, 512*MiB-1)},
		{MemoryMinimum, resources(NvidiaL4, 4000, 16*GiB), resources(NvidiaL4, 4000, 16*GiB-1)},
		{MemoryMinimum, resources(NvidiaRTXPro6000, 20_000, 80*GiB), resources(NvidiaRTXPro6000, 20_000, 80*GiB-1)},
		{TimeoutMax, func() []Finding { return CheckTimeout(NoGPU, 168*h) }, func() []Finding { return CheckTimeout(NoGPU, 168*h+1) }},
		{TimeoutGPU, func() []Finding { return CheckTimeout(NvidiaL4, 12*h) }, func() []Finding { return CheckTimeout(NvidiaL4, 12*h+1) }},
		{LaunchStage, func() []Finding { return CheckLaunchStage(StageGA, Features{GPU: NvidiaL4, Timeout: h}) },
			func() []Finding { return CheckLaunchStage(StageGA, Features{GPU: NvidiaL4, Timeout: h + 1}) }},
		{LaunchStage, func() []Finding { return CheckLaunchStage(StageBeta, Features{GPU: NoGPU, DiskVolume: true}) },
			func() []Finding { return CheckLaunchStage(StageGA, Features{GPU: NoGPU, DiskVolume: true}) }},
		{TimeoutWithoutCheckpoint, func() []Finding { return CheckLongTask(h, false) }, func() []Finding { return CheckLongTask(h+1, false) }},
		{RetriesRange, func() []Finding { return CheckRetries(10, true) }, func() []Finding { return CheckRetries(11, true) }},
		{RetriesRange, func() []Finding { return CheckRetries(0, false) }, func() []Finding { return CheckRetries(-1, false) }},
		{RetriesNone, func() []Finding { return CheckRetries(1, true) }, func() []Finding { return CheckRetries(0, true) }},
		{RetriesBudget, budget(4), budget(3)},
		{TasksRange, func() []Finding { return CheckTasks(10_000) }, func() []Finding { return CheckTasks(10_001) }},
		{CheckpointShared, func() []Finding { return CheckSharedCheckpoint(1, true, false) }, func() []Finding { return CheckSharedCheckpoint(2, true, false) }},
		{CheckpointFits, func() []Finding { return CheckCheckpointInterval(57*m, m, 2*m, h) }, func() []Finding { return CheckCheckpointInterval(57*m+1, m, 2*m, h) }},
		{EnvName, env("a_1"), env("1_a")}, {EnvName, env("CLOUD_RUN_JOBS"), env("CLOUD_RUN_JOB")}, {EnvName, env("X_GOOGLE"), env("X_GOOGLE_")},
		{EnvService, service("K"), service("K_")},
	}
	// Both ends of the memory of every pair.
	for _, row := range GPUTypes() {
		for _, p := range row.Pairs {
			all = append(all, boundary{MemoryPair, resources(row.Name, p.CPU, p.MaxMemory), resources(row.Name, p.CPU, p.MaxMemory+1)})
			if p.MinMemory > row.MinMemory {
				all = append(all, boundary{MemoryPair, resources(row.Name, p.CPU, p.MinMemory), resources(row.Name, p.CPU, p.MinMemory-1)})
			}
		}
	}
	return all
}

// elsewhere are the rules whose values are read and checked by the provider.
var elsewhere = []Rule{
	TimeoutShape, ParallelismRange, CheckpointPlace, MountPath, MountOption, JobName, JobNameLong, EnvCount, Label, LabelCount, Account, AccountID,
	VolumeName, VolumeNoKind, VolumeKinds, VolumePath, VolumeTwice, VolumeNested, VolumeSubPath, EnvTwice, Annotation,
	BucketName, SoftDelete, VersioningNamespace, BucketReader, BucketWriter, BucketLabel,
}

// Each rule has a wrong and a right value, next to each other, and a wrong value
// breaks one rule only.
func TestBoundaries(t *testing.T) {
	t.Parallel()
	covered := slices.Clone(elsewhere)
	for _, b := range boundaries() {
		covered = append(covered, b.rule)
		compare(t, b.rule.ID+", right", b.right())
		compare(t, b.rule.ID+", wrong", b.wrong(), want{b.rule, ""})
	}
	for _, r := range Rules() {
		if !slices.Contains(covered, r) {
			t.Errorf("%s has no case", r.ID)
		}
	}
	for _, r := range covered {
		if !slices.Contains(Rules(), r) {
			t.Errorf("%s is not in the table", r.ID)
		}
	}
}

var suggestion = regexp.MustCompile(`[Ww]rite (cpu|memory) = "([^"]+)"`)

// Whatever is configured, a job that passes has what its type needs, a mistake
// has one message, and what a message tells to write is right.
func TestCheckResourcesProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		row := rapid.SampledFrom(GPUTypes()).Draw(t, "type")
		cpu := rapid.OneOf(rapid.SampledFrom([]int64{1000, 2000, 4000, 6000, 8000, 20_000}), rapid.Int64Range(0, 40_000)).Draw(t, "cpu")
		memory := rapid.OneOf(rapid.SampledFrom([]int64{512 * MiB, 2 * GiB, 4 * GiB, 8 * GiB, 16 * GiB, 24 * GiB, 32 * GiB, 80 * GiB}), rapid.Int64Range(0, 128*GiB)).Draw(t, "memory")
		found := CheckResources(row.Name, cpu, memory)
		attributes := map[string]bool{}
		for _, f := range found {
			if attributes[f.Rule.Attribute] {
				t.Fatalf("two findings about %s: %+v", f.Rule.Attribute, found)
			}
			attributes[f.Rule.Attribute] = true
		}
		fits := slices.ContainsFunc(row.Pairs, func(p Pair) bool { return p.CPU == cpu && p.MinMemory <= memory && memory <= p.MaxMemory })
		if len(row.Pairs) == 0 {
			fits = cpu >= row.MinCPU && memory >= row.MinMemory
		}
		if fits != (len(found) == 0) {
			t.Fatalf("%s with %d and %d: %+v", row.Name, cpu, memory, found)
		}
		// Following the advice ends, and in a job that passes or only warns.
		for range 4 {
			advised := false
			for _, f := range CheckResources(row.Name, cpu, memory) {
				if m := suggestion.FindStringSubmatch(f.Detail); m != nil {
					advised = true
					q := resource.MustParse(m[2])
					if m[1] == "cpu" {
						cpu = q.MilliValue()
					} else {
						memory = q.Value()
					}
				}
			}
			if !advised {
				break
			}
		}
		for _, f := range CheckResources(row.Name, cpu, memory) {
			if suggestion.MatchString(f.Detail) {
				t.Fatalf("%s with %d and %d after the advice: %s", row.Name, cpu, memory, f.Detail)
			}
		}
	})
}

// One limit, one verdict: on either side of a number nothing else is said, and
// what is longer is never less wrong.
func TestNumberProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.OneOf(rapid.Int64Range(1, int64(200*time.Hour)), rapid.Int64Range(1, math.MaxInt64)).Draw(t, "timeout"))
		gpu := rapid.SampledFrom([]string{NvidiaL4, NvidiaRTXPro6000, NoGPU, "nvidia-of-tomorrow"}).Draw(t, "type")
		var rules []Rule
		switch {
		case d > MaxTimeout:
			rules = []Rule{TimeoutMax}
		case d > MaxGPUTimeout && HasGPU(gpu):
			rules = []Rule{TimeoutGPU}
		}
		same(t, "timeout", CheckTimeout(gpu, d), rules)

		n := rapid.OneOf(rapid.Int64Range(-20, 20), rapid.Int64()).Draw(t, "n")
		checkpoint := rapid.Bool().Draw(t, "checkpoint")
		rules = nil
		switch {
		case n < 0 || n > MaxRetries:
			rules = []Rule{RetriesRange}
		case n == 0 && checkpoint:
			rules = []Rule{RetriesNone}
		}
		same(t, "retries", CheckRetries(n, checkpoint), rules)

		tasks := rapid.OneOf(rapid.Int64Range(1, 20_000), rapid.Int64Range(1, math.MaxInt64)).Draw(t, "tasks")
		rules = nil
		if tasks > MaxTasks {
			rules = []Rule{TasksRange}
		}
		same(t, "tasks", CheckTasks(tasks), rules)

		f := Features{GPU: gpu, Timeout: d, DiskVolume: rapid.Bool().Draw(t, "disk")}
		need, feature := LowestStage(f)
		if (feature == "") != (need == StageGA) || CheckLaunchStage(need, f) != nil || CheckLaunchStage(StageAlpha, f) != nil {
			t.Fatalf("%+v: %s, %q", f, need, feature)
		}
	})
}

func same(t *rapid.T, what string, found []Finding, rules []Rule) {
	if !slices.EqualFunc(found, rules, func(f Finding, r Rule) bool { return f.Rule == r }) {
		t.Fatalf("%s: %+v, want %+v", what, found, rules)
	}
}
