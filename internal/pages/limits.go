// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/resilience"
)

// limits renders the page about the tables of the room resilience.
func limits() string {
	var b strings.Builder
	fmt.Fprintf(&b, `---
page_title: "Limits and GPU types"
subcategory: ""
description: |-
  The GPU types, sizes, regions, times and counts that a plan knows, and what it does about them.
---

<!-- Generated from the tables in internal/resilience by "make generate". Do not edit. -->

# Limits and GPU types

%[1]sterraform validate%[1]s and %[1]sterraform plan%[1]s hold a configuration to the tables of this page. They were last compared with Google's
pages on %[2]s. What can never work is refused; a limit that Google raises now and then only warns. What the
configuration alone shows to be wrong is refused by %[1]sterraform validate%[1]s already.

## When a limit has changed

Google raises limits. Until this provider knows, %[1]splan_validation%[1]s turns every refusal that comes from a dated table
into a warning, and what is configured is sent as it is:

%[1]s%[1]s%[1]sterraform
provider "resilientjob" {
  plan_validation = "warn"
}
%[1]s%[1]s%[1]s

%[1]sterraform validate%[1]s reads the setting from the provider block, and refuses where a folder has none, such as a module that
gets its provider from another. While the value is not known yet, it counts as %[1]s"warn"%[1]s.

`, "`", resilience.TableDate)

	gpuTable(&b)
	sizeTable(&b)
	timeTable(&b)
	stageTable(&b)
	ruleTable(&b, resilience.JobResource)
	ruleTable(&b, resilience.BucketResource)
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// table writes one table and an empty line.
func table(b *strings.Builder, head []string, rows [][]string) {
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(head)
	line(slices.Repeat([]string{"---"}, len(head)))
	for _, r := range rows {
		line(r)
	}
	b.WriteString("\n")
}

func code(s string) string { return "`" + s + "`" }

// quoted is a value as a configuration has it.
func quoted(s string) string { return fmt.Sprintf("`%q`", s) }

func gpuTable(b *strings.Builder) {
	b.WriteString("## GPU types\n\nEach task has one GPU. A type that is not in the table is passed on as written, with a warning.\n\n")
	var rows, places [][]string
	var with []resilience.GPU
	for _, g := range resilience.GPUTypes() {
		if !resilience.HasGPU(g.Name) {
			continue
		}
		with = append(with, g)
		rows = append(rows, []string{quoted(g.Name), g.Title, fmt.Sprintf("%d GB", g.VRAM/resilience.GiB), g.Since, g.Date, g.Source})
	}
	table(b, []string{code("gpu_type"), "product", "GPU memory", "for jobs since", "as of", "source"}, rows)

	b.WriteString("### Regions\n\nA region that the table does not list warns: regions are added several times a year.\n\n")
	head := []string{"region"}
	for _, g := range with {
		head = append(head, code(g.Name))
	}
	for _, region := range regions(with) {
		row := []string{code(region)}
		for _, g := range with {
			row = append(row, offer(g, region))
		}
		places = append(places, row)
	}
	table(b, head, places)
}

// regions are the places of all types, sorted.
func regions(types []resilience.GPU) []string {
	var all []string
	for _, g := range types {
		for _, r := range g.Regions {
			all = append(all, r.Name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// offer is a type in a region, in words.
func offer(g resilience.GPU, region string) string {
	i := slices.IndexFunc(g.Regions, func(r resilience.Region) bool { return r.Name == region })
	switch {
	case i < 0:
		return "–"
	case g.Regions[i].Invitation:
		return "by invitation"
	}
	return "yes"
}

func sizeTable(b *strings.Builder) {
	b.WriteString("## CPU and memory\n\n`cpu` and `memory` that are left out get the default of the planned `gpu_type`. Memory of the GPU comes on top.\n\n")
	var rows [][]string
	for _, g := range resilience.GPUTypes() {
		standard := quoted(g.DefaultCPU) + ", " + quoted(g.DefaultMemory)
		if len(g.Pairs) == 0 {
			rows = append(rows, []string{quoted(g.Name), resilience.FormatCPU(g.MinCPU) + " or more", resilience.FormatMemory(g.MinMemory) + " or more", standard})
		}
		for i, p := range g.Pairs {
			name := ""
			if i == 0 {
				name = quoted(g.Name)
			} else {
				standard = ""
			}
			memory := resilience.FormatMemory(p.MinMemory)
			if p.MaxMemory != p.MinMemory {
				memory += " to " + resilience.FormatMemory(p.MaxMemory)
			}
			rows = append(rows, []string{name, resilience.FormatCPU(p.CPU), memory, standard})
		}
	}
	table(b, []string{code("gpu_type"), code("cpu"), code("memory"), "default"}, rows)
	b.WriteString("`\"none\"` is a job without a GPU. For a type with \"or more\", Google documents only the least.\n\n")
}

func timeTable(b *strings.Builder) {
	d := resilience.FormatDuration
	b.WriteString("## Time, retries and tasks\n\n")
	table(b, []string{"attribute", "limit"}, [][]string{
		{"`task_timeout` without a GPU", "at most " + d(resilience.MaxTimeout)},
		{"`task_timeout` with a GPU", fmt.Sprintf("at most %s (preview), %s without preview", d(resilience.MaxGPUTimeout), d(resilience.MaxGPUTimeoutGA))},
		{"`max_retries`", fmt.Sprintf("0 to %d", resilience.MaxRetries)},
		{"`task_count`", fmt.Sprintf("1 to %d", resilience.MaxTasks)},
	})
	fmt.Fprintf(b, "The timeout counts for each attempt, so that one task of one execution has at most %d attempts and, with a GPU, %s.\n"+
		"More work continues from its checkpoint in another execution. An interruption and a timeout use up a retry each;\n"+
		"plans assume one interruption in %s on average (`required_retries` with a probability of %g). The limits of `task_timeout`\n"+
		"and `task_count` hold for the overrides of `resilientjob_execution`, too.\n\n",
		resilience.MaxRetries+1, d((resilience.MaxRetries+1)*resilience.MaxGPUTimeout), d(resilience.MaintenanceInterval), resilience.PlanProbability)
}

func stageTable(b *strings.Builder) {
	b.WriteString("## Launch stages\n\n`launch_stage` that is left out is sent as the lowest stage that the features in use need: `\"GA\"`, or by this table.\n\n")
	var rows [][]string
	for _, n := range resilience.StageNeeds() {
		rows = append(rows, []string{n.Feature, quoted(string(n.Stage)), n.Date, n.Source})
	}
	table(b, []string{"feature", "stage", "as of", "source"}, rows)
}

func ruleTable(b *strings.Builder, resource string) {
	fmt.Fprintf(b, "## Rules of `resilientjob_%s`\n\n", resource)
	var rows [][]string
	for _, r := range resilience.Rules() {
		if r.Resource != resource {
			continue
		}
		lenient := r.Verdict.String()
		if r.Dated {
			lenient = resilience.Warn.String()
		}
		rows = append(rows, []string{code(r.Attribute), r.Limit, r.Verdict.String(), lenient, r.Date, r.Source})
	}
	table(b, []string{"attribute", "rule", "the plan", "with `\"warn\"`", "as of", "source"}, rows)
}
