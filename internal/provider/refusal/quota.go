// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package refusal

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/lazyregexp"
)

// violation is one line of "Quota violated:".
type violation struct {
	id string
	// requested and allowed are in the quota's own unit.
	requested, allowed int64
}

// A text may break the line before "allowed", and may set points before lines.
var violations = lazyregexp.New(`([A-Z][A-Za-z0-9]*)\s+requested:\s*(\d+)\s+allowed:\s*(\d+)`)

func readViolations(text string) []violation {
	var out []violation
	for _, found := range violations.FindAllStringSubmatch(text, -1) {
		requested, err := strconv.ParseInt(found[2], 10, 64)
		allowed, errAllowed := strconv.ParseInt(found[3], 10, 64)
		if err == nil && errAllowed == nil {
			out = append(out, violation{found[1], requested, allowed})
		}
	}
	return out
}

// quota is what is known of a quota by its id.
type quota struct {
	attribute string
	// words writes an amount; nil for a unit that is not known.
	words func(n int64) string
	// task is how much of it one task needs, in the quota's unit; 0 when that is
	// not known.
	task int64
	gpu  bool
}

var gpuQuota = lazyregexp.New(`^Nvidia([A-Za-z0-9]+?)GpuAlloc(NoZonalRedundancy)?PerProjectRegion$`)

// lookup returns what is known of a quota.
func (s *Subject) lookup(id string) quota {
	switch id {
	case "CpuAllocPerProjectRegion":
		return quota{"cpu", vCPU, s.CPU, false}
	case "MemAllocPerProjectRegion":
		return quota{"memory", gibi, s.Memory, false}
	}
	found := gpuQuota.FindStringSubmatch(id)
	if found == nil {
		return quota{}
	}
	q := quota{attribute: "gpu_type", gpu: true}
	if unit := gpuUnit(found[1]); unit != 0 {
		q.task, q.words = unit, func(n int64) string { return gpus(n, unit) }
	}
	return q
}

// gpuUnit is how much one GPU of a family is in its quota: L4 counts whole GPUs,
// RTX thousandths. 0 for a family that is not known.
func gpuUnit(family string) int64 {
	switch strings.ToLower(family) {
	case "l4":
		return 1
	case "rtxpro6000":
		return 1000
	}
	return 0
}

// gpuQuotaID is the id of the quota of the configured GPU type, with the unit of
// one GPU; empty for a type whose quota is not known.
func (s *Subject) gpuQuotaID(redundant bool) (id string, unit int64) {
	family := map[string]string{"nvidia-l4": "L4", "nvidia-rtx-pro-6000": "RtxPro6000"}[s.GPUType]
	if family == "" {
		return "", 0
	}
	kind := "NoZonalRedundancy"
	if redundant {
		kind = ""
	}
	return "Nvidia" + family + "GpuAlloc" + kind + "PerProjectRegion", gpuUnit(family)
}

// atOnce is how many tasks may run at the same time.
func (s *Subject) atOnce() int64 {
	if s.Parallelism > 0 {
		return s.Parallelism
	}
	return max(s.Tasks, 1)
}

// lever is the attribute that lowers how many tasks run at the same time.
func (s *Subject) lever() path.Path {
	if s.Parallelism > 0 {
		return path.Root("parallelism")
	}
	return path.Root("task_count")
}

func (s *Subject) setting() string {
	switch {
	case s.Parallelism > 0:
		return fmt.Sprintf("parallelism is %d now", s.Parallelism)
	case s.Tasks > 1:
		return fmt.Sprintf("it is not set, and task_count is %d", s.Tasks)
	}
	return ""
}

const whatQuota = "A quota is the most that a project may use at one time. The configuration is valid; the project may not use that much."

// violated explains "Quota violated:" and its lines.
func violated(s *Subject, text string, _ []string) Explanation {
	all := readViolations(text)
	var lines []string
	fits := int64(math.MaxInt64)
	at := path.Empty()
	blame := 0
	for _, v := range all {
		q := s.lookup(v.id)
		lines = append(lines, "\n  "+v.words(q))
		if q.task > 0 {
			fits = min(fits, v.allowed/q.task)
		}
		switch {
		case q.attribute == "":
		case q.gpu && blame < 2:
			at, blame = path.Root(q.attribute), 2
		case blame < 1:
			at, blame = path.Root(q.attribute), 1
		}
	}
	known := fits != math.MaxInt64
	next := []string{}
	switch {
	case known && fits == 0:
		next = append(next, "Not even one task of this job fits, so that a lower parallelism does not help.")
	case known && s.atOnce() > fits:
		at = s.lever()
		next = append(next, fmt.Sprintf("By these numbers at most %d of its tasks can run at the same time: set parallelism = %[1]d (%s).", fits, s.setting()))
	case known:
		next = append(next, fmt.Sprintf("By these numbers %s of its tasks can run at the same time, if nothing else in the region uses the quota.", strconv.FormatInt(fits, 10)))
	}
	return Explanation{
		Kind: Quota, Title: "quota is too small", At: at,
		What: fmt.Sprintf("The job needs more than %s is allowed in %s:%s\n\n%s", s.project(), s.region(), strings.Join(lines, ""), whatQuota),
		Next: paragraphs(join(append(next, maxInstances(text))...), s.askFor(all)),
	}
}

// words writes a violation as "8 vCPU requested, 4 vCPU allowed (quota X)".
func (v violation) words(q quota) string {
	if q.words == nil {
		return fmt.Sprintf("%d requested, %d allowed (quota %s, in its own unit)", v.requested, v.allowed, v.id)
	}
	return fmt.Sprintf("%s requested, %s allowed (quota %s)", q.words(v.requested), q.words(v.allowed), v.id)
}

// maxInstances translates a word of Google's that no attribute of a job has.
func maxInstances(text string) string {
	if !strings.Contains(strings.ToLower(text), "max instances") {
		return ""
	}
	return "What Google calls max instances is, for a job, how many tasks run at the same time."
}

// askFor says how to get more of quotas.
func (s *Subject) askFor(all []violation) string {
	var lines []string
	gpu := false
	for _, v := range all {
		gpu = gpu || s.lookup(v.id).gpu
		lines = append(lines, s.request(v.id, strconv.FormatInt(v.requested, 10)))
	}
	return "Use a region where the project has more, or ask for more" + askAt(s, gpu) + commands(lines...)
}

func askAt(s *Subject, gpu bool) string {
	if gpu {
		return " (https://g.co/cloudrun/gpu-quota):"
	}
	return " (https://console.cloud.google.com/iam-admin/quotas?project=" + s.projectID() + "&service=run.googleapis.com):"
}

func (s *Subject) request(id, value string) string {
	return fmt.Sprintf("gcloud beta quotas preferences create --service=run.googleapis.com --quota-id=%s --preferred-value=%s --dimensions=region=%s --project=%s",
		id, value, s.locationID(), s.projectID())
}

// noGPUs explains a refusal for want of GPU quota that has no numbers. The text
// may say with or without zonal redundancy; otherwise the configuration does.
func (s *Subject) noGPUs(redundant bool, what string) Explanation {
	mode := "without"
	if redundant {
		mode = "with"
	}
	n := s.atOnce()
	id, unit := s.gpuQuotaID(redundant)
	named, lines := "", ""
	if id != "" {
		named = " (quota " + id + ")"
		lines = ":" + commands(s.request(id, strconv.FormatInt(n*unit, 10)))
	}
	each := fmt.Sprintf("Each task that runs at the same time needs one GPU, so that this job needs %s.", plural(strconv.FormatInt(n, 10), "GPU"))
	other := ""
	switch {
	case redundant:
		other = "GPUs without zonal redundancy count for another quota: gpu_zonal_redundancy = false uses that one."
	case n > 1:
		other = "A lower parallelism needs fewer (" + s.setting() + ")."
	}
	return Explanation{
		Kind: Quota, Title: "no GPU quota", At: path.Root("gpu_type"),
		What: fmt.Sprintf("%s %s %s GPUs %s zonal redundancy in %s%s. %s", upper(s.project()), what, or(s.GPUType, "these"), mode, s.region(), named, whatQuota),
		Next: paragraphs(join(each, other), "Use a region where the project has GPU quota, rehearse without a GPU (gpu_type = \"none\"), or ask for more (https://g.co/cloudrun/gpu-quota)"+or(lines, ".")),
	}
}

// cpuCap explains the refusal that calls a regional quota a wrong value of cpu.
func cpuCap(s *Subject, text string, found []string) Explanation {
	attribute, most := strings.ToLower(found[1]), found[2]
	amount, id, value := "", "CpuAllocPerProjectRegion", s.CPU*s.atOnce()
	if s.CPU > 0 {
		amount = vCPU(s.CPU)
	}
	if attribute == "memory" {
		amount, id, value = "", "MemAllocPerProjectRegion", s.Memory*s.atOnce()
		if s.Memory > 0 {
			amount = gibi(s.Memory)
		}
	}
	of := "this " + attribute
	if amount != "" {
		of = amount
	}
	at := path.Root(attribute)
	next := "No parallelism fits: use a smaller " + attribute + ", or ask for more."
	if n, err := strconv.ParseInt(most, 10, 64); err == nil && n > 0 {
		next = fmt.Sprintf("Set parallelism = %d or less", n)
		if now := s.setting(); now != "" {
			next += " (" + now + ")"
		}
		next += "."
		if s.atOnce() > n {
			at = s.lever()
		}
	}
	billing := ""
	if strings.Contains(text, "billing information") {
		billing = "By what Google says, a project with billing may get more."
	}
	preferred := "AMOUNT"
	if value > 0 {
		preferred = strconv.FormatInt(value, 10)
	}
	return Explanation{
		Kind: Quota, Title: "regional " + strings.Replace(attribute, "cpu", "CPU", 1) + " quota is too small", At: at,
		What: fmt.Sprintf("The value of %s is not wrong, whatever the text says: with %s a task, the quota of %s allows at most %s at the same time in %s.",
			attribute, of, s.project(), plural(most, "task"), s.region()),
		Next: paragraphs(join(next, billing), "Or use a region where the project has more, or ask for more"+askAt(s, false)+commands(s.request(id, preferred))),
	}
}

// instanceCap is the same without numbers of the quotas.
func instanceCap(s *Subject, text string, found []string) Explanation {
	what := strings.ToLower(found[2])
	x := cpuCap(s, text, []string{"", map[bool]string{true: "memory", false: "cpu"}[strings.Contains(what, "memory")], found[1]})
	if strings.Contains(what, "gpu") {
		x = s.noGPUs(s.ZonalRedundancy, "")
	}
	x.What = fmt.Sprintf("With the CPU, memory and GPU of one task, the quota of %s allows at most %s at the same time in %s. %s",
		s.project(), plural(found[1], "task"), s.region(), maxInstances(text))
	return x
}

var callsAMinute = lazyregexp.New(`(?i)per minute|per second|PerMinute|PerSecond`)

// metric explains the text that all of Google's APIs have for a used up quota.
func metric(s *Subject, text string, found []string) Explanation {
	if callsAMinute.MatchString(text) {
		return tooManyCalls(s, text, nil)
	}
	service := found[3]
	return Explanation{
		Kind: Quota, Title: "quota is used up",
		What: fmt.Sprintf("The quota %q (limit %q) of the service %s is used up for %s. %s", found[1], found[2], service, s.project(), whatQuota),
		Next: "Free some of it, or ask for more: https://console.cloud.google.com/iam-admin/quotas?project=" + s.projectID() + "&service=" + service,
	}
}

// tooManyCalls explains a rate limit.
func tooManyCalls(s *Subject, _ string, _ []string) Explanation {
	return Explanation{
		Kind: RateLimit, Title: "too many calls at once",
		What: "Google allows a project only so many calls a minute, and this one came on top of them. The configuration is valid. The provider waited and tried again for up to a minute.",
		Next: "Wait a minute and apply again. When it happens often, let Terraform do less at the same time (terraform apply -parallelism=3), or ask for more: " +
			"https://console.cloud.google.com/iam-admin/quotas?project=" + s.projectID(),
	}
}
