// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package functions_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"pgregory.net/rapid"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/resilience"
)

// The intervals that Daly's formula was checked with, in whole seconds.
func TestCheckpointInterval(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	for _, test := range []struct {
		write, mean any
		want        string
	}{
		{"60s", "168h", "2h21m19s"},  // 8479.2 s
		{"1m", nil, "2h21m19s"},      // the mean time that plans assume
		{"10s", "168h", "57m51s"},    // 3471.3 s
		{"300s", "168h", "5h14m10s"}, // 18849.9 s
		{"60s", "24h", "53m"},        // 3180.1 s
		{"60s", "12h", "37m17s"},     // 2237.0 s
		{"60s", "3h", "18m19s"},      // 1098.8 s
		{"600s", "720m", "1h53m26s"}, // 6805.6 s
		{"60s", "1h", "10m18s"},
		// The field data of a training with 16,384 GPUs: 3.093 hours.
		{"60s", "11135s", "18m36s"},
		// A second is the least, and just inside the formula's limit is an answer.
		{"1ns", "1s", "1s"},
		{"7199s", "1h", "53m20s"},
	} {
		mean := value(test.mean)
		if test.mean == nil {
			mean = tftypes.NewValue(tftypes.String, nil)
		}
		got, text, _ := c.call(t, "checkpoint_interval", value(test.write), mean)
		if text != "" {
			t.Errorf("%v, %v: %s", test.write, test.mean, text)
		} else if s := textOf(t, got); s != test.want {
			t.Errorf("%v, %v: %s, want %s", test.write, test.mean, s, test.want)
		}
	}
}

func TestCheckpointIntervalRefuses(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	for _, test := range []struct {
		write, mean any
		at          int64
		want        string
	}{
		{"60", "168h", 0, `"60" is not a duration: write "60s"`},
		{"60s", "168", 1, `"168" is not a duration: write "168s"`},
		{"0s", "168h", 0, `"0s" is not more than zero`},
		{"-1s", "168h", 0, `"-1s" is not more than zero`},
		{"60s", "0s", 1, `"0s" is not more than zero`},
		{"60s", "", 1, "an empty text is not a duration"},
		{"2h", "1h", 0, "Make checkpoints smaller or faster to write"},
		{"337h", "168h", 0, "interruptions come every 168h on average"},
		// What is known is held to the rules while the other is not.
		{"60", unknown{}, 0, `write "60s"`},
		{unknown{}, "168", 1, `write "168s"`},
	} {
		_, text, at := c.call(t, "checkpoint_interval", value(test.write), value(test.mean))
		if !strings.Contains(text, test.want) || at != test.at {
			t.Errorf("%v, %v: %q at %d, want %q at %d", test.write, test.mean, text, at, test.want, test.at)
		}
	}
	for _, args := range [][]tftypes.Value{
		{value(unknown{}), value("168h")}, {value("60s"), value(unknown{})}, {value(unknown{}), value(unknown{})},
	} {
		if got, text, _ := c.call(t, "checkpoint_interval", args...); text != "" || got.IsKnown() {
			t.Errorf("%s: %s %s, want a result that is not known", args, got, text)
		}
	}
}

// Whatever is asked, the answer is within half a second of the formula, can be
// written into a configuration, and is near the best that the exact theory has.
func TestCheckpointIntervalProperties(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	rapid.Check(t, func(t *rapid.T) {
		mean := time.Duration(rapid.Int64Range(int64(time.Minute), int64(10_000*time.Hour)).Draw(t, "mean"))
		write := time.Duration(rapid.Int64Range(1, int64(mean/10)).Draw(t, "write"))
		got, text, _ := c.call(t, "checkpoint_interval", value(write), value(mean))
		if text != "" {
			t.Fatalf("%s, %s: %s", write, mean, text)
		}
		d, err := time.ParseDuration(textOf(t, got))
		if err != nil || d < time.Second || d%time.Second != 0 {
			t.Fatalf("%s, %s: %s (%v)", write, mean, got, err)
		}
		daly, err := resilience.DalyInterval(write, mean)
		if err != nil || daly >= time.Second && (d-daly).Abs() > time.Second/2 {
			t.Fatalf("%s, %s: %s, and the formula has %s (%v)", write, mean, d, daly, err)
		}
		if daly < 100*time.Second {
			return // rounding shows
		}
		here, err := resilience.Overhead(d, write, 0, mean)
		for _, other := range []time.Duration{d / 2, d - d/10, d + d/10, 2 * d} {
			there, err := resilience.Overhead(other, write, 0, mean)
			if err != nil || there < here*(1-1e-3) {
				t.Fatalf("%s, %s: overhead %v at %s, and %v at %s (%v)", write, mean, here, d, there, other, err)
			}
		}
		if err != nil || math.IsNaN(here) {
			t.Fatalf("%s, %s: overhead %v, %v", write, mean, here, err)
		}
	})
}
