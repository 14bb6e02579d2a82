// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package resilience

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// exactInterval finds the best interval of the exact theory by golden section:
// the least of (e^((t+d)/m) − 1) / t. All in seconds.
func exactInterval(d, m float64) float64 {
	ratio := (math.Sqrt(5) - 1) / 2
	low, high := 1e-6*m, 3*m
	cost := func(t float64) float64 { return math.Expm1((t+d)/m) / t }
	for high-low > 1e-7*m {
		a, b := high-ratio*(high-low), low+ratio*(high-low)
		if cost(a) < cost(b) {
			high = b
		} else {
			low = a
		}
	}
	return (low + high) / 2
}

func near(got, want, tolerance float64) bool { return math.Abs(got-want) <= tolerance }

func secs(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func TestIntervalsAgainstPublishedValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d, mHours, young, daly, exact float64
		waste, overhead0, overhead120 float64 // in percent
	}{
		{60, 168, 8519.2, 8479.2, 8479.2, 1.409, 1.4219, 1.4420},
		{10, 168, 3477.9, 3471.3, 3471.3, 0.575, 0.5773, 0.5972},
		{300, 168, 19049.4, 18849.9, 18849.9, 3.150, 3.2170, 3.2375},
		{60, 24, 3219.9, 3180.1, 3180.1, 3.727, 3.8213, 3.9656},
		{60, 12, 2276.8, 2237.0, 2237.0, 5.271, 5.4611, 5.7544},
		{60, 3, 1138.4, 1098.8, 1098.8, 10.548, 11.3262, 12.5700},
		{600, 12, 7200.0, 6805.6, 6805.7, 16.693, 18.6998, 19.0300},
	} {
		m := c.mHours * 3600
		young, err := YoungInterval(secs(c.d), secs(m))
		if err != nil || !near(young.Seconds(), c.young, 0.051) {
			t.Errorf("d=%g M=%gh: Young %v (%v), want %g", c.d, c.mHours, young.Seconds(), err, c.young)
		}
		daly, err := DalyInterval(secs(c.d), secs(m))
		if err != nil || !near(daly.Seconds(), c.daly, 0.051) {
			t.Errorf("d=%g M=%gh: Daly %v (%v), want %g", c.d, c.mHours, daly.Seconds(), err, c.daly)
		}
		exact := exactInterval(c.d, m)
		if !near(exact, c.exact, 0.06) || !near(daly.Seconds()/exact, 1, 2e-5) {
			t.Errorf("d=%g M=%gh: exact %v, want %g; Daly %v", c.d, c.mHours, exact, c.exact, daly.Seconds())
		}
		x := daly.Seconds()
		if waste := 100 * (c.d/x + x/(2*m)); !near(waste, c.waste, 0.00051) {
			t.Errorf("d=%g M=%gh: first-order waste %v, want %g", c.d, c.mHours, waste, c.waste)
		}
		for r, want := range map[float64]float64{0: c.overhead0, 120: c.overhead120} {
			if got, err := Overhead(daly, secs(c.d), secs(r), secs(m)); err != nil || !near(100*got, want, 0.000051) {
				t.Errorf("d=%g M=%gh R=%g: overhead %v (%v), want %g", c.d, c.mHours, r, 100*got, err, want)
			}
		}
	}
	// The published field data: 3.093 hours between unexpected stops; the values
	// derived from it are approximate.
	m := secs(3.093 * 3600)
	if got, _ := YoungInterval(time.Minute, m); !near(got.Seconds(), 1153.4, 3) {
		t.Errorf("Young at 3.093h: %v", got.Seconds())
	}
	if got, _ := DalyInterval(time.Minute, m); !near(got.Seconds(), 1113.7, 3) {
		t.Errorf("Daly at 3.093h: %v", got.Seconds())
	}
}

func TestExpectedWallTimes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ w, m, d, r, want float64 }{
		{12, 168, 60, 120, 12.173}, {48, 168, 60, 120, 48.692}, {168, 168, 60, 300, 170.473},
	} {
		interval, err := DalyInterval(secs(c.d), secs(c.m*3600))
		if err != nil {
			t.Fatal(err)
		}
		share, err := Overhead(interval, secs(c.d), secs(c.r), secs(c.m*3600))
		if got := c.w * (1 + share); err != nil || !near(got, c.want, 0.00051) {
			t.Errorf("W=%gh M=%gh: %v (%v), want %g", c.w, c.m, got, err, c.want)
		}
	}
	// Without checkpoints: E = M (e^(W/M) - 1), P(first try) = e^(-W/M).
	for _, c := range []struct{ m, want, first float64 }{{168, 12.439, 0.9311}, {24, 15.569, 0.6065}, {12, 20.619, 0.3679}} {
		share, err := Overhead(12*time.Hour, 0, 0, secs(c.m*3600))
		if got := 12 * (1 + share); err != nil || !near(got, c.want, 0.00051) || !near(math.Exp(-12/c.m), c.first, 0.000051) {
			t.Errorf("M=%gh without checkpoints: %v (%v), want %g", c.m, got, err, c.want)
		}
	}
}

func TestIntervalValidity(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		f           func(write, mean time.Duration) (time.Duration, error)
		write, mean time.Duration
		want        string
	}{
		{"Young, write zero", YoungInterval, 0, time.Hour, "must be positive"},
		{"Young, mean negative", YoungInterval, time.Second, -time.Hour, "mean time between interruptions is -1h; it must be positive"},
		{"Young, write too long", YoungInterval, 73 * time.Second, time.Hour, "use Daly's"},
		{"Daly, write zero", DalyInterval, 0, time.Hour, "must be positive"},
		{"Daly, mean zero", DalyInterval, time.Second, 0, "must be positive"},
	} {
		if got, err := c.f(c.write, c.mean); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v; want an error with %q", c.name, got, err, c.want)
		}
	}
	if got, err := YoungInterval(72*time.Second, time.Hour); err != nil || got != 12*time.Minute {
		t.Errorf("Young at its limit: %v, %v", got, err)
	}
	for _, write := range []time.Duration{2 * time.Hour, 3 * time.Hour} {
		if got, err := DalyInterval(write, time.Hour); err != nil || got != time.Hour {
			t.Errorf("Daly with write %s and mean 1h: %v, %v; want the mean", write, got, err)
		}
	}
	if got, err := DalyInterval(math.MaxInt64, math.MaxInt64); err != nil || got <= 0 {
		t.Errorf("Daly with the longest durations: %v, %v", got, err)
	}
}

func TestOverheadValidity(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ interval, write, restore, mean time.Duration }{
		{0, 1, 1, time.Hour}, {-1, 1, 1, time.Hour}, {1, -1, 1, time.Hour}, {1, 1, -1, time.Hour}, {1, 1, 1, 0},
		{math.MaxInt64, 0, 0, 1}, {1, 0, math.MaxInt64, 1},
	} {
		if got, err := Overhead(c.interval, c.write, c.restore, c.mean); err == nil {
			t.Errorf("%+v: %v and no error", c, got)
		}
	}
}

func TestIntervalProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		mean := time.Duration(rapid.Int64Range(int64(time.Second), int64(100_000*time.Hour)).Draw(t, "mean"))
		write := time.Duration(rapid.Int64Range(int64(time.Millisecond), int64(mean)).Draw(t, "write"))
		daly, err := DalyInterval(write, mean)
		if err != nil || daly <= 0 || daly > mean+mean/2 {
			t.Fatalf("Daly(%s, %s) = %v, %v", write, mean, daly, err)
		}
		longer, err := DalyInterval(write, 2*mean)
		if err != nil || longer < daly {
			t.Fatalf("rarer interruptions shorten the interval: %v then %v (%v)", daly, longer, err)
		}
		young, err := YoungInterval(write, mean)
		if (err == nil) != (write.Seconds() <= YoungLimit*mean.Seconds()) {
			t.Fatalf("Young(%s, %s) = %v, %v", write, mean, young, err)
		}
		if err == nil && (young < daly || young.Seconds() > 1.08*daly.Seconds()+1e-6) {
			t.Fatalf("inside its limit Young(%s, %s) = %v is not within 8%% of Daly's %v", write, mean, young, daly)
		}
		// Nothing nearby is better by more than what Daly's formula leaves open.
		best, err := Overhead(daly, write, 0, mean)
		if err != nil {
			t.Fatalf("Daly(%s, %s) = %v: %v", write, mean, daly, err)
		}
		for _, other := range []time.Duration{daly - daly/10, daly + daly/10} {
			if share, err := Overhead(max(other, 1), write, 0, mean); err == nil && write < mean/10 && share < best*(1-1e-3)-1e-9 {
				t.Fatalf("Daly(%s, %s) = %v has overhead %v, and %v has %v", write, mean, daly, best, other, share)
			}
		}
		if write < mean/10 && write > mean/1_000_000 && !near(daly.Seconds()/exactInterval(write.Seconds(), mean.Seconds()), 1, 2e-3) {
			t.Fatalf("Daly(%s, %s) = %v is not the optimum", write, mean, daly)
		}
	})
}
