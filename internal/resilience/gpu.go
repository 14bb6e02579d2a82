// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package resilience

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The GPU types by the names that Cloud Run uses in a node selector.
const (
	NvidiaL4         = "nvidia-l4"
	NvidiaRTXPro6000 = "nvidia-rtx-pro-6000"
	// NoGPU is this provider's word for a job without GPU.
	NoGPU = "none"
	// DefaultGPU is the type of a job that names none.
	DefaultGPU = NvidiaL4
)

const (
	// MiB and GiB in bytes.
	MiB int64 = 1 << 20
	GiB int64 = 1 << 30
)

// Region is a place where a GPU type can be had.
type Region struct {
	Name string
	// Invitation is true where Google's page says "invitation only".
	Invitation bool
}

// Pair is one CPU value with the range of memory that Cloud Run accepts for it.
type Pair struct {
	// CPU in thousandths.
	CPU int64
	// MinMemory and MaxMemory in bytes, both inclusive.
	MinMemory, MaxMemory int64
}

// GPU is one row of the table of GPU types. The row of [NoGPU] describes jobs
// without GPU.
type GPU struct {
	Name string
	// Title is the product's name.
	Title string
	// VRAM in bytes, apart from the instance's memory.
	VRAM int64
	// MinCPU in thousandths, MinMemory in bytes.
	MinCPU, MinMemory int64
	// DefaultCPU and DefaultMemory as Cloud Run writes them.
	DefaultCPU, DefaultMemory string
	// Pairs lists the CPU values on offer, in rising order. It is empty where
	// Google documents only the minimum.
	Pairs []Pair
	// Regions where the type is offered; empty for [NoGPU].
	Regions []Region
	// Since is the day on which the type became generally available for jobs;
	// empty for [NoGPU].
	Since string
	// Date and Source of the row.
	Date, Source string
}

// generalPairs are the CPU values of jobs; the types whose minimum lies within
// them use the upper part.
var generalPairs = []Pair{
	{CPU: 1000, MinMemory: 512 * MiB, MaxMemory: 4 * GiB},
	{CPU: 2000, MinMemory: 512 * MiB, MaxMemory: 8 * GiB},
	{CPU: 4000, MinMemory: 2 * GiB, MaxMemory: 16 * GiB},
	{CPU: 6000, MinMemory: 4 * GiB, MaxMemory: 24 * GiB},
	{CPU: 8000, MinMemory: 4 * GiB, MaxMemory: 32 * GiB},
}

var gpuTypes = []GPU{
	{
		Name: NvidiaL4, Title: "NVIDIA L4", VRAM: 24 * GiB,
		MinCPU: 4000, MinMemory: 16 * GiB, DefaultCPU: "4", DefaultMemory: "16Gi",
		Pairs: []Pair{
			{CPU: 4000, MinMemory: 16 * GiB, MaxMemory: 16 * GiB},
			{CPU: 6000, MinMemory: 16 * GiB, MaxMemory: 24 * GiB},
			{CPU: 8000, MinMemory: 16 * GiB, MaxMemory: 32 * GiB},
		},
		// One copy of the page marks us-central1 "invitation only", others and
		// a public test do not: it counts as open.
		Regions: []Region{
			{Name: "asia-south1", Invitation: true}, {Name: "asia-southeast1"},
			{Name: "europe-west1"}, {Name: "europe-west4"},
			{Name: "us-central1"}, {Name: "us-east4"},
		},
		Since: "2025-10-21", Date: TableDate, Source: "Cloud Run pages on GPUs; release notes",
	},
	{
		Name: NvidiaRTXPro6000, Title: "NVIDIA RTX PRO 6000 Blackwell", VRAM: 96 * GiB,
		MinCPU: 20_000, MinMemory: 80 * GiB, DefaultCPU: "20", DefaultMemory: "80Gi",
		Regions: []Region{
			{Name: "asia-south2", Invitation: true}, {Name: "asia-southeast1"},
			{Name: "europe-west4"}, {Name: "us-central1"},
		},
		Since: "2026-04-13", Date: TableDate, Source: "Cloud Run pages on GPUs; release notes",
	},
	{
		Name: NoGPU, Title: "no GPU",
		MinCPU: 1000, MinMemory: 512 * MiB, DefaultCPU: "1", DefaultMemory: "512Mi",
		Pairs: generalPairs,
		Date:  TableDate, Source: "Cloud Run pages on CPU and memory limits for jobs",
	},
}

// GPUTypes returns the table: the GPU types and, last, the row of jobs without
// GPU.
func GPUTypes() []GPU {
	out := slices.Clone(gpuTypes)
	for i := range out {
		out[i].Pairs = slices.Clone(out[i].Pairs)
		out[i].Regions = slices.Clone(out[i].Regions)
	}
	return out
}

// LookupGPU returns the row of a GPU type; ok is false for a type that the
// table does not know.
func LookupGPU(name string) (row GPU, ok bool) {
	i := slices.IndexFunc(gpuTypes, func(g GPU) bool { return g.Name == name })
	if i < 0 {
		return GPU{}, false
	}
	return GPUTypes()[i], true
}

// HasGPU tells whether a job of this type uses a GPU.
func HasGPU(gpuType string) bool { return gpuType != NoGPU }

// names lists the GPU types for a message.
func names() string {
	var out []string
	for _, g := range gpuTypes {
		out = append(out, strconv.Quote(g.Name))
	}
	return strings.Join(out[:len(out)-1], ", ") + " and " + out[len(out)-1]
}

// GuessGPU returns the type of the table that is probably meant by a name in
// another spelling, such as "NVIDIA L4", "L4" or "nvidia-tesla-l4"; "" when none is.
func GuessGPU(name string) string {
	plain := func(s string) string {
		return strings.Trim(strings.NewReplacer("nvidia", "", "tesla", "", "_", "", "-", "", " ", "").Replace(strings.ToLower(s)), ".")
	}
	for _, g := range gpuTypes {
		if meant := plain(name); meant != "" && plain(g.Name) == meant {
			return g.Name
		}
	}
	return ""
}

// CheckGPUType warns of a type that the table does not know.
func CheckGPUType(gpuType string) []Finding {
	if _, ok := LookupGPU(gpuType); ok {
		return nil
	}
	detail := fmt.Sprintf("gpu_type is %.80q; the table of %s knows %s. It is passed on as written, and CPU, memory and region are not checked. "+
		"Cloud Run refuses the job if it does not know the type either.", gpuType, TableDate, names())
	if guess := GuessGPU(gpuType); guess != "" {
		detail += fmt.Sprintf(" Did you mean %q?", guess)
	}
	return []Finding{{GPUUnknown, detail}}
}

// CheckRegion warns when a GPU type is not known to exist in a region, or only
// by invitation.
func CheckRegion(gpuType, region string) []Finding {
	row, ok := LookupGPU(gpuType)
	if !ok || !HasGPU(gpuType) {
		return nil
	}
	i := slices.IndexFunc(row.Regions, func(r Region) bool { return strings.EqualFold(r.Name, region) })
	if i < 0 {
		var known []string
		for _, r := range row.Regions {
			known = append(known, r.Name)
		}
		return []Finding{{GPURegion, fmt.Sprintf(
			"The table of %s does not list %s in %s; it lists %s. Regions are added several times a year: if this one is newer than the table, nothing needs to be done, else choose one of the list.",
			row.Date, row.Name, region, strings.Join(known, ", "))}}
	}
	if row.Regions[i].Invitation {
		return []Finding{{GPURegionInvitation, fmt.Sprintf(
			"By the table of %s, %s in %s is offered by invitation only. Without the invitation Cloud Run refuses the job for lack of quota: choose another location.",
			row.Date, row.Name, region)}}
	}
	return nil
}

// CheckZonalRedundancy warns of redundancy asked for on a GPU job.
func CheckZonalRedundancy(gpuType string, redundancy bool) []Finding {
	if !redundancy || !HasGPU(gpuType) {
		return nil
	}
	return []Finding{{GPUZonalRedundancy,
		"gpu_zonal_redundancy is true. Cloud Run documents GPU jobs without zonal redundancy, and the quota that is granted by default is the one without it: expect a refusal for lack of quota. Remove the attribute unless Google granted you quota with zonal redundancy."}}
}

// CheckResources refuses CPU (thousandths) and memory (bytes) that a job of
// this GPU type can never have, and warns of CPU values above the table. A type
// that the table does not know is not checked. One mistake gives one finding.
func CheckResources(gpuType string, cpu, memory int64) []Finding {
	row, ok := LookupGPU(gpuType)
	if !ok {
		return nil
	}
	who := "A job with " + row.Name
	if !HasGPU(gpuType) {
		who = "A job without GPU"
	}
	var out []Finding
	if cpu < row.MinCPU {
		out = append(out, Finding{CPUMinimum, fmt.Sprintf("%s needs at least %s CPU, and %s is configured. Write cpu = %q or more.",
			who, FormatCPU(row.MinCPU), FormatCPU(cpu), FormatCPU(row.MinCPU))})
	}
	if memory < row.MinMemory {
		return append(out, Finding{MemoryMinimum, fmt.Sprintf("%s needs at least %s of memory, and %s is configured. Write memory = %q or more.",
			who, FormatMemory(row.MinMemory), amount(memory), FormatMemory(row.MinMemory))})
	}
	if len(out) > 0 || len(row.Pairs) == 0 {
		return out
	}
	if last := row.Pairs[len(row.Pairs)-1]; cpu > last.CPU {
		return []Finding{{CPUMaximum, fmt.Sprintf("cpu is %q; the largest value for %s in the table of %s is %q. It is sent as written, and Cloud Run refuses the job if it does not offer that. Write at most %[4]s unless Google offers more by now.",
			FormatCPU(cpu), row.Name, row.Date, FormatCPU(last.CPU))}}
	}
	i := slices.IndexFunc(row.Pairs, func(p Pair) bool { return p.CPU == cpu })
	if i < 0 {
		return []Finding{{CPUValue, fmt.Sprintf("%s can have %s CPU, and %s is configured. Write one of these values for cpu.",
			who, cpuValues(row.Pairs), FormatCPU(cpu))}}
	}
	pair := row.Pairs[i]
	if memory >= pair.MinMemory && memory <= pair.MaxMemory {
		return nil
	}
	detail := fmt.Sprintf("For %s CPU, memory must be between %s and %s inclusive, and %s is configured.",
		FormatCPU(cpu), FormatMemory(pair.MinMemory), FormatMemory(pair.MaxMemory), FormatMemory(memory))
	if pair.MinMemory == pair.MaxMemory {
		detail = fmt.Sprintf("%s and %s CPU has exactly %s of memory, and %s is configured.",
			who, FormatCPU(cpu), FormatMemory(pair.MinMemory), FormatMemory(memory))
	}
	write := FormatMemory(pair.MinMemory)
	switch {
	case pair.MinMemory == pair.MaxMemory:
		write = strconv.Quote(write)
	case memory < pair.MinMemory:
		write = strconv.Quote(write) + " or more"
	default:
		write = strconv.Quote(FormatMemory(pair.MaxMemory)) + " or less"
	}
	detail += " Write memory = " + write
	fits := slices.IndexFunc(row.Pairs, func(p Pair) bool { return memory >= p.MinMemory && memory <= p.MaxMemory })
	if fits >= 0 {
		detail += fmt.Sprintf(", or cpu = %q, which goes with %s", FormatCPU(row.Pairs[fits].CPU), FormatMemory(memory))
	}
	return []Finding{{MemoryPair, detail + "."}}
}

// amount writes memory for a message. Whoever writes 32 means another unit.
func amount(bytes int64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%d bytes (a number without a unit counts bytes)", bytes)
	}
	return FormatMemory(bytes)
}

func cpuValues(pairs []Pair) string {
	var out []string
	for _, p := range pairs {
		out = append(out, FormatCPU(p.CPU))
	}
	return strings.Join(out[:len(out)-1], ", ") + " or " + out[len(out)-1]
}

// FormatCPU writes thousandths of a CPU as short as Cloud Run accepts: "4",
// "500m".
func FormatCPU(milli int64) string {
	if milli%1000 == 0 {
		return strconv.FormatInt(milli/1000, 10)
	}
	return strconv.FormatInt(milli, 10) + "m"
}

// FormatMemory writes bytes with the largest binary unit that divides them:
// "16Gi", "512Mi".
func FormatMemory(bytes int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{GiB, "Gi"}, {MiB, "Mi"}, {1 << 10, "Ki"}} {
		if bytes != 0 && bytes%unit.size == 0 {
			return strconv.FormatInt(bytes/unit.size, 10) + unit.name
		}
	}
	return strconv.FormatInt(bytes, 10)
}
