// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package resilience

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"
)

// want is a rule and a part of its detail.
type want struct {
	rule   Rule
	detail string
}

func compare(t *testing.T, name string, got []Finding, wants ...want) {
	t.Helper()
	if len(got) != len(wants) {
		t.Errorf("%s: %d findings %+v, want %d", name, len(got), got, len(wants))
		return
	}
	for i, w := range wants {
		if got[i].Rule != w.rule || !strings.Contains(got[i].Detail, w.detail) {
			t.Errorf("%s: finding %s %q, want %s with %q", name, got[i].Rule.ID, got[i].Detail, w.rule.ID, w.detail)
		}
	}
}

func TestGPUTable(t *testing.T) {
	t.Parallel()
	for _, row := range GPUTypes() {
		cpu, memory := resource.MustParse(row.DefaultCPU), resource.MustParse(row.DefaultMemory)
		compare(t, "defaults of "+row.Name, CheckResources(row.Name, cpu.MilliValue(), memory.Value()))
		if cpu.MilliValue() < row.MinCPU || memory.Value() < row.MinMemory {
			t.Errorf("%s: defaults %s, %s below the minimum", row.Name, row.DefaultCPU, row.DefaultMemory)
		}
		if row.Date == "" || row.Source == "" || row.Title == "" {
			t.Errorf("%s: a row without date, source or title", row.Name)
		}
		if !slices.IsSortedFunc(row.Pairs, func(a, b Pair) int { return int(a.CPU - b.CPU) }) {
			t.Errorf("%s: pairs are not in rising order", row.Name)
		}
		for _, r := range row.Regions {
			if found := CheckRegion(row.Name, r.Name); (len(found) == 1) != r.Invitation {
				t.Errorf("%s in %s: %+v", row.Name, r.Name, found)
			}
		}
		if got := CheckGPUType(row.Name); got != nil {
			t.Errorf("%s is unknown to its own table: %v", row.Name, got)
		}
	}
	// A caller cannot change the table.
	GPUTypes()[0].Pairs[0].CPU = 1
	if row, _ := LookupGPU(NvidiaL4); row.Pairs[0].CPU != 4000 {
		t.Error("a copy of the table shares its pairs")
	}
}

func TestCheckResources(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		gpu         string
		cpu, memory int64
		want        []want
	}{
		{"L4 with 8 and 32", NvidiaL4, 8000, 32 * GiB, nil},
		{"L4 with 6 and 24", NvidiaL4, 6000, 24 * GiB, nil},
		{"L4 with too little CPU", NvidiaL4, 2000, 16 * GiB, []want{{CPUMinimum, `needs at least 4 CPU, and 2 is configured. Write cpu = "4" or more.`}}},
		{"L4 with too little memory", NvidiaL4, 4000, 8 * GiB, []want{{MemoryMinimum, `needs at least 16Gi of memory, and 8Gi is configured. Write memory = "16Gi"`}}},
		{"L4 with too little of both", NvidiaL4, 1000, GiB, []want{{CPUMinimum, "4"}, {MemoryMinimum, "16Gi"}}},
		{"L4 with 4 CPU and too much memory", NvidiaL4, 4000, 32 * GiB, []want{{MemoryPair, `has exactly 16Gi of memory, and 32Gi is configured. Write memory = "16Gi", or cpu = "8"`}}},
		{"L4 with an odd CPU", NvidiaL4, 5000, 16 * GiB, []want{{CPUValue, "can have 4, 6 or 8 CPU, and 5 is configured"}}},
		{"L4 with more than the table", NvidiaL4, 12_000, 48 * GiB, []want{{CPUMaximum, `cpu is "12"; the largest value for nvidia-l4`}}},
		{"RTX at its minimum", NvidiaRTXPro6000, 20_000, 80 * GiB, nil},
		{"RTX above its minimum", NvidiaRTXPro6000, 30_000, 120 * GiB, nil},
		{"RTX with 8 CPU", NvidiaRTXPro6000, 8000, 80 * GiB, []want{{CPUMinimum, "20"}}},
		// case 61
		{"no GPU, half a CPU", NoGPU, 500, 512 * MiB, []want{{CPUMinimum, `needs at least 1 CPU, and 500m is configured`}}},
		// case 62
		{"no GPU, 1 CPU, 8Gi", NoGPU, 1000, 8 * GiB, []want{{MemoryPair, `For 1 CPU, memory must be between 512Mi and 4Gi inclusive, and 8Gi is configured. Write memory = "4Gi" or less, or cpu = "2"`}}},
		{"no GPU, memory for no pair", NoGPU, 8000, 64 * GiB, []want{{MemoryPair, `Write memory = "32Gi" or less.`}}},
		{"no GPU, 3 CPU", NoGPU, 3000, 4 * GiB, []want{{CPUValue, "1, 2, 4, 6 or 8"}}},
		{"a type of tomorrow", "nvidia-h100-80gb", 1, 1, nil},
	} {
		compare(t, c.name, CheckResources(c.gpu, c.cpu, c.memory), c.want...)
	}
}

func TestCheckPlaces(t *testing.T) {
	t.Parallel()
	compare(t, "L4 where it is not", CheckRegion(NvidiaL4, "europe-north1"), want{GPURegion, "does not list nvidia-l4 in europe-north1; it lists asia-south1, "})
	compare(t, "L4 by invitation", CheckRegion(NvidiaL4, "asia-south1"), want{GPURegionInvitation, "by invitation only"})
	compare(t, "L4 in capitals", CheckRegion(NvidiaL4, "US-EAST4"))
	compare(t, "no GPU anywhere", CheckRegion(NoGPU, "europe-north1"))
	compare(t, "unknown type anywhere", CheckRegion("tpu", "europe-north1"))
	compare(t, "short for a type", CheckGPUType("L4"), want{GPUUnknown, `Did you mean "nvidia-l4"?`})
	compare(t, "unknown type", CheckGPUType("nvidia-h100-80gb"), want{GPUUnknown, `knows "nvidia-l4", "nvidia-rtx-pro-6000" and "none"`})
	compare(t, "redundancy", CheckZonalRedundancy(NvidiaL4, true), want{GPUZonalRedundancy, "quota"})
	compare(t, "redundancy without GPU", CheckZonalRedundancy(NoGPU, true))
	compare(t, "no redundancy", CheckZonalRedundancy(NvidiaL4, false))
}

func TestFormatQuantities(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		milli := rapid.Int64Range(0, 1<<40).Draw(t, "milli")
		if q, err := resource.ParseQuantity(FormatCPU(milli)); err != nil || q.MilliValue() != milli {
			t.Fatalf("%d: %s, %v", milli, FormatCPU(milli), err)
		}
		bytes := rapid.Int64Range(0, 1<<50).Draw(t, "bytes")
		if q, err := resource.ParseQuantity(FormatMemory(bytes)); err != nil || q.Value() != bytes {
			t.Fatalf("%d: %s, %v", bytes, FormatMemory(bytes), err)
		}
	})
}

func TestGuessGPU(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"L4": NvidiaL4, "l4": NvidiaL4, "NVIDIA L4": NvidiaL4, "nvidia_l4": NvidiaL4, "nvidia-tesla-l4": NvidiaL4, "RTX PRO 6000": NvidiaRTXPro6000,
		"None": NoGPU, "": "", "nvidia": "", "nvidia-h100-80gb": "", "1": "",
	} {
		if got := GuessGPU(name); got != want {
			t.Errorf("%q is taken for %q, want %q", name, got, want)
		}
	}
}
