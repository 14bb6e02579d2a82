// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package functions_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"pgregory.net/rapid"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/resilience"
)

// The bounds that were compared with simulations. What Cloud Run does not give
// is refused with its number. Case 46: one number for one knob.
func TestRequiredRetries(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	for _, test := range []struct {
		work, timeout, mean, interval string
		want                          [3]int // for 0.95, 0.99, 0.999
	}{
		{"11h", "12h", "168h", "7200s", [3]int{2, 2, 3}},
		{"12h", "12h", "168h", "7200s", [3]int{2, 2, 3}},
		{"24h", "12h", "168h", "7200s", [3]int{3, 4, 4}},
		{"48h", "12h", "168h", "7200s", [3]int{6, 7, 8}},
		{"100h", "12h", "168h", "7200s", [3]int{12, 13, 14}},
		{"120h", "12h", "168h", "7200s", [3]int{14, 15, 18}},
		{"12h", "12h", "24h", "3180s", [3]int{3, 4, 5}},
		{"48h", "12h", "24h", "3180s", [3]int{9, 10, 13}},
		{"6h", "1h", "168h", "600s", [3]int{8, 9, 9}},
		{"10h", "1h", "168h", "600s", [3]int{15, 15, 16}},
	} {
		for i, p := range []float64{0.95, 0.99, 0.999} {
			task := keys{"work_time": test.work, "task_timeout": test.timeout, "mean_time_between_interruptions": test.mean,
				"interval": test.interval, "write_time": "60s", "restore_time": "120s", "probability": p}
			got, text, at := c.call(t, "required_retries", value(task))
			switch want := test.want[i]; {
			case want > resilience.MaxRetries:
				if !strings.Contains(text, fmt.Sprintf("need %d retries, and Cloud Run gives at most 10", want)) || at != 0 {
					t.Errorf("%v: %q, want a refusal with %d", task, text, want)
				}
			case text != "":
				t.Errorf("%v: %s", task, text)
			case numberOf(t, got) != float64(want):
				t.Errorf("%v: %s, want %d", task, got, want)
			}
		}
	}
}

// A key that is left out, or null, has its default.
func TestRequiredRetriesDefaults(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	whole := keys{"work_time": "6h", "task_timeout": "1h", "interval": "10m", "write_time": "0s", "restore_time": "0s",
		"mean_time_between_interruptions": "168h", "probability": 0.99}
	for name := range whole {
		for _, null := range []tftypes.Value{tftypes.NewValue(tftypes.DynamicPseudoType, nil), tftypes.NewValue(tftypes.String, nil)} {
			stated, left, nulled := keys{}, keys{}, keys{}
			for k, v := range whole {
				stated[k], left[k], nulled[k] = v, v, v
			}
			if name == "interval" { // its default is the best one
				stated[name], stated["write_time"], left["write_time"], nulled["write_time"] = "10m18s", "60s", "60s", "60s"
			}
			delete(left, name)
			nulled[name] = null
			want, wantText, _ := c.call(t, "required_retries", value(stated))
			for _, task := range []keys{left, nulled} {
				got, text, _ := c.call(t, "required_retries", value(task))
				switch {
				case name == "work_time":
					if text != `work_time is missing: write work_time = "90h", for example` {
						t.Errorf("%v: %q", task, text)
					}
				case text != wantText || text == "" && numberOf(t, got) != numberOf(t, want):
					t.Errorf("%v: %s %s, want %s %s", task, got, text, want, wantText)
				}
			}
		}
	}
}

// An hour or two of work may need none.
func TestRequiredRetriesCanBeNone(t *testing.T) {
	t.Parallel()
	got, text, _ := newCaller(t).call(t, "required_retries", value(keys{"work_time": "1h", "task_timeout": "12h", "interval": "10m"}))
	if text != "" || numberOf(t, got) != 0 {
		t.Errorf("%s %s", got, text)
	}
}

// The function and the plan of a job say the same: with the function's number
// of retries there is no warning, and with one less there is one that names it.
func TestRequiredRetriesIsTheWarning(t *testing.T) {
	t.Parallel()
	c := newPlanner(t)
	warned := func(task keys, retries int) string {
		checkpoint := keys{"bucket": "checkpoints-here"}
		for _, name := range []string{"work_time", "interval", "write_time", "restore_time"} {
			checkpoint[name] = task[name]
		}
		_, said := c.planJob(t, keys{"max_retries": retries, "task_timeout": task["task_timeout"], "checkpoint": checkpoint})
		for _, d := range said {
			if d.Summary == resilience.RetriesBudget.Summary {
				return d.Detail
			}
		}
		return ""
	}
	tasks := rapid.Custom(func(t *rapid.T) keys {
		task := keys{"work_time": time.Duration(rapid.Int64Range(1, 100*60).Draw(t, "work")) * time.Minute}
		for _, o := range []struct {
			name    string
			longest int64 // in minutes
		}{{"task_timeout", 24 * 60}, {"interval", 3 * 60}, {"write_time", 10}, {"restore_time", 10}} {
			if rapid.IntRange(0, 3).Draw(t, o.name+" is stated") > 0 {
				task[o.name] = time.Duration(rapid.Int64Range(1, o.longest).Draw(t, o.name)) * time.Minute
			}
		}
		return task
	})
	// A plan takes its time: some of them, and one of each kind, will do.
	tried := []keys{
		{"work_time": "24h", "task_timeout": "12h", "interval": "2h", "write_time": "1m", "restore_time": "2m"},
		{"work_time": "48h", "task_timeout": "12h", "write_time": "1m"}, {"work_time": "3h"},
		{"work_time": "1h", "task_timeout": "12h", "interval": "10m"}, {"work_time": "200h", "task_timeout": "12h", "interval": "1h"},
		{"work_time": "6h", "interval": "59m", "write_time": "1m"}, {"work_time": "1000h", "task_timeout": "10s"},
	}
	for i := range 12 {
		tried = append(tried, tasks.Example(i))
	}
	kinds := map[string]int{}
	for _, task := range tried {
		got, text, _ := c.call(t, "required_retries", value(task))
		_, why, never := strings.Cut(text, "no number of retries is enough: ")
		_, after, tooMany := strings.Cut(text, " need ")
		switch {
		case never:
			kinds["never"]++
			if said := warned(task, resilience.MaxRetries); !strings.Contains(said, why) {
				t.Errorf("%v: the function says %q, the plan %q", task, text, said)
			}
		case tooMany:
			kinds["too many"]++
			number, _, _ := strings.Cut(after, " ")
			if said := warned(task, resilience.MaxRetries); !strings.Contains(said, "need "+number+" retries") {
				t.Errorf("%v: the function says %q, the plan %q", task, text, said)
			}
		case text != "":
			t.Errorf("%v: %s", task, text)
		default:
			kinds["enough"]++
			need := int(numberOf(t, got))
			if said := warned(task, need); said != "" {
				t.Errorf("%v: the function says %d, the plan %q", task, need, said)
			}
			if said := fmt.Sprintf("need %d retries", need); need > 0 && !strings.Contains(warned(task, need-1), said) {
				t.Errorf("%v: the function says %d, the plan of one less %q", task, need, warned(task, need-1))
			}
		}
	}
	if kinds["never"] < 2 || kinds["too many"] < 2 || kinds["enough"] < 4 {
		t.Errorf("too little was tried: %v", kinds)
	}
}

// More is never needed for less: the work that a refusal offers is accepted.
func TestRequiredRetriesOffersWhatFits(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	task := keys{"work_time": "100h", "task_timeout": "12h", "interval": "2h", "write_time": "60s", "restore_time": "120s"}
	_, text, _ := c.call(t, "required_retries", value(task))
	_, after, found := strings.Cut(text, "work_time can be up to ")
	offer, _, _ := strings.Cut(after, ":")
	task["work_time"] = offer
	if got, text, _ := c.call(t, "required_retries", value(task)); !found || text != "" || numberOf(t, got) != resilience.MaxRetries {
		t.Errorf("%q offers %q, and that is %s %s", text, offer, got, text)
	}
}
