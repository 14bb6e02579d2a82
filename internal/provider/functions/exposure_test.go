// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package functions_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"pgregory.net/rapid"
)

// exposureOf returns the three numbers.
func exposureOf(t fails, v tftypes.Value) [3]float64 {
	t.Helper()
	all := map[string]tftypes.Value{}
	if err := v.As(&all); err != nil || len(all) != 3 {
		t.Fatalf("%s: %v", v, err)
	}
	return [3]float64{numberOf(t, all["attempts"]), numberOf(t, all["gpu_hours"]), numberOf(t, all["task_hours"])}
}

func TestExposure(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	for _, test := range []struct {
		job  keys
		want [3]float64 // attempts, GPU hours, task hours
	}{
		{keys{}, [3]float64{4, 4, 4}},
		{keys{"gpu_type": nil, "task_count": nil, "task_timeout": nil, "max_retries": nil}, [3]float64{4, 4, 4}},
		{keys{"max_retries": 0}, [3]float64{1, 1, 1}},
		{keys{"task_count": 4, "task_timeout": "12h", "max_retries": 5}, [3]float64{24, 288, 288}},
		{keys{"task_count": 4, "task_timeout": "12h", "max_retries": 5, "gpu_type": "none"}, [3]float64{24, 0, 288}},
		{keys{"task_timeout": "90m", "gpu_type": "nvidia-rtx-pro-6000"}, [3]float64{4, 6, 6}},
		{keys{"gpu_type": "nvidia-of-tomorrow"}, [3]float64{4, 4, 4}},
		// Limits that Google may raise are the job's to check.
		{keys{"max_retries": 20, "task_timeout": "336h", "task_count": 20_000}, [3]float64{420_000, 141_120_000, 141_120_000}},
	} {
		if got, text, _ := c.call(t, "exposure", value(test.job)); text != "" || exposureOf(t, got) != test.want {
			t.Errorf("%v: %s %s, want %v", test.job, got, text, test.want)
		}
	}
}

// A map will do where its values are of one type.
func TestMapAsArgument(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	job := tftypes.NewValue(tftypes.Map{ElementType: tftypes.String}, map[string]tftypes.Value{"task_timeout": value("2h"), "gpu_type": value("none")})
	if got, text, _ := c.call(t, "exposure", job); text != "" || exposureOf(t, got) != [3]float64{4, 0, 8} {
		t.Errorf("%s %s", got, text)
	}
}

// The function has the numbers of the plan of a job, whatever that states. Case
// 47: what is left out counts by the documented default.
func TestExposureIsThatOfTheJob(t *testing.T) {
	t.Parallel()
	c := newPlanner(t)
	jobs := rapid.Custom(func(t *rapid.T) keys {
		job := keys{}
		if rapid.Bool().Draw(t, "type is stated") {
			job["gpu_type"] = rapid.SampledFrom([]string{"nvidia-l4", "nvidia-rtx-pro-6000", "none", "nvidia-of-tomorrow"}).Draw(t, "type")
		}
		if rapid.Bool().Draw(t, "tasks are stated") {
			job["task_count"] = rapid.IntRange(1, 10_000).Draw(t, "tasks")
		}
		if rapid.Bool().Draw(t, "timeout is stated") {
			job["task_timeout"] = time.Duration(rapid.Int64Range(1, int64(168*time.Hour)).Draw(t, "timeout"))
		}
		if rapid.Bool().Draw(t, "retries are stated") {
			job["max_retries"] = rapid.IntRange(0, 10).Draw(t, "retries")
		}
		return job
	})
	tried := []keys{{}} // a plan takes its time: some of them will do
	for i := range 12 {
		tried = append(tried, jobs.Example(i))
	}
	for _, job := range tried {
		planned, said := c.planJob(t, job)
		attributes := map[string]tftypes.Value{}
		if err := planned.As(&attributes); err != nil {
			t.Fatalf("%v: %v, %v", job, err, said)
		}
		got, text, _ := c.call(t, "exposure", value(job))
		if text != "" || exposureOf(t, got) != exposureOf(t, attributes["exposure"]) {
			t.Errorf("%v: %s %s, and the plan has %s", job, got, text, attributes["exposure"])
		}
	}
}

func TestUnknownMakesUnknown(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	anything := tftypes.NewValue(tftypes.DynamicPseudoType, tftypes.UnknownValue)
	for name, args := range map[string][]tftypes.Value{
		"exposure": {
			anything, value(keys{"task_timeout": unknown{}}), value(keys{"task_timeout": anything, "max_retries": 2}),
			tftypes.NewValue(tftypes.Object{AttributeTypes: map[string]tftypes.Type{"max_retries": tftypes.Number}}, tftypes.UnknownValue),
			value(keys{"max_retries": tftypes.NewValue(tftypes.Number, tftypes.UnknownValue)}), value(keys{"gpu_type": unknown{}}),
		},
		"required_retries": {
			anything, value(keys{"work_time": unknown{}}), value(keys{"work_time": "2h", "probability": tftypes.NewValue(tftypes.Number, tftypes.UnknownValue)}),
			value(keys{"work_time": "100000h", "interval": anything}),
		},
	} {
		for _, arg := range args {
			if got, text, _ := c.call(t, name, arg); text != "" || got.IsKnown() {
				t.Errorf("%s(%s): %s %s, want a result that is not known", name, arg, got, text)
			}
		}
	}
	// Mistakes in what is known are told at once, and so is a type that is wrong.
	for _, test := range []struct {
		name string
		arg  keys
		want string
	}{
		{"exposure", keys{"task_timeout": unknown{}, "max_retries": -1}, "max_retries is -1"},
		{"exposure", keys{"max_retries": unknown{}}, "max_retries is a text: write a number such as 3"},
		{"required_retries", keys{"work_time": unknown{}, "timeout": "2h"}, "write task_timeout"},
		{"required_retries", keys{"work_time": tftypes.NewValue(tftypes.Number, tftypes.UnknownValue)}, `work_time is a number: write a duration in quotes, such as "90m"`},
	} {
		if _, text, at := c.call(t, test.name, value(test.arg)); !strings.Contains(text, test.want) || at != 0 {
			t.Errorf("%s(%v): %q, want %q", test.name, test.arg, text, test.want)
		}
	}
}
