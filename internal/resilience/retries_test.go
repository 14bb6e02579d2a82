// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package resilience

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestPoissonQuantile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mu  float64
		cdf [4]float64
		k   [3]int // for 0.95, 0.99, 0.999
	}{
		{12.0 / 168, [4]float64{0.931063, 0.997567, 0.999942, 0.999999}, [3]int{1, 1, 2}},
		{24.0 / 168, [4]float64{0.866878, 0.990718, 0.999563, 0.999985}, [3]int{1, 1, 2}},
		{48.0 / 168, [4]float64{0.751477, 0.966185, 0.996858, 0.999779}, [3]int{1, 2, 3}},
		{0.5, [4]float64{0.606531, 0.909796, 0.985612, 0.998248}, [3]int{2, 3, 4}},
		{1, [4]float64{0.367879, 0.735759, 0.919699, 0.981012}, [3]int{3, 4, 5}},
		{2, [4]float64{0.135335, 0.406006, 0.676676, 0.857123}, [3]int{5, 6, 8}},
		{3, [4]float64{0.049787, 0.199148, 0.423190, 0.647232}, [3]int{6, 8, 10}},
	} {
		for k, cdf := range c.cdf {
			// The quantile jumps exactly at the distribution's value.
			if got, ok := poissonQuantile(c.mu, cdf-1e-6); !ok || got > k {
				t.Errorf("mu=%g: quantile just below P(N<=%d) is %d", c.mu, k, got)
			}
			if got, ok := poissonQuantile(c.mu, cdf+1e-6); cdf+1e-6 < 1 && (!ok || got <= k) {
				t.Errorf("mu=%g: quantile just above P(N<=%d) is %d", c.mu, k, got)
			}
		}
		for i, p := range []float64{0.95, 0.99, 0.999} {
			if got, ok := poissonQuantile(c.mu, p); !ok || got != c.k[i] {
				t.Errorf("mu=%g p=%g: %d, want %d", c.mu, p, got, c.k[i])
			}
		}
	}
	if _, ok := poissonQuantile(1e9, 0.5); ok {
		t.Error("a mean beyond the search has a quantile")
	}
	// exp(-2000) is zero: the sum must not start from it.
	if got, ok := poissonQuantile(2000, 0.5); !ok || got < 1990 || got > 2010 {
		t.Errorf("median for a mean of 2000: %d, %t", got, ok)
	}
}

// The simulated numbers of retries (40 000 runs each) and the bound.
func TestRequiredRetriesAgainstSimulation(t *testing.T) {
	t.Parallel()
	h := time.Hour
	for _, c := range []struct {
		w, tau, m time.Duration
		t         time.Duration
		simulated [3]int
		bound     [3]int
	}{
		{11 * h, 12 * h, 168 * h, 7200 * time.Second, [3]int{1, 1, 2}, [3]int{2, 2, 3}},
		{12 * h, 12 * h, 168 * h, 7200 * time.Second, [3]int{1, 2, 2}, [3]int{2, 2, 3}},
		{24 * h, 12 * h, 168 * h, 7200 * time.Second, [3]int{3, 3, 4}, [3]int{3, 4, 4}},
		{48 * h, 12 * h, 168 * h, 7200 * time.Second, [3]int{5, 6, 7}, [3]int{6, 7, 8}},
		{100 * h, 12 * h, 168 * h, 7200 * time.Second, [3]int{11, 11, 13}, [3]int{12, 13, 14}},
		{120 * h, 12 * h, 168 * h, 7200 * time.Second, [3]int{13, 14, 15}, [3]int{14, 15, 18}},
		{12 * h, 12 * h, 24 * h, 3180 * time.Second, [3]int{2, 3, 4}, [3]int{3, 4, 5}},
		{48 * h, 12 * h, 24 * h, 3180 * time.Second, [3]int{7, 8, 10}, [3]int{9, 10, 13}},
		{6 * h, h, 168 * h, 600 * time.Second, [3]int{7, 8, 8}, [3]int{8, 9, 9}},
		{10 * h, h, 168 * h, 600 * time.Second, [3]int{12, 12, 13}, [3]int{15, 15, 16}},
	} {
		for i, p := range []float64{0.95, 0.99, 0.999} {
			got, err := RequiredRetries(RetryInput{
				Work: c.w, Interval: c.t, Write: time.Minute, Restore: 2 * time.Minute,
				Timeout: c.tau, MeanTimeBetweenInterruptions: c.m, Probability: p,
			})
			if err != nil || got != c.bound[i] {
				t.Errorf("W=%s tau=%s M=%s p=%g: %d (%v), want %d", c.w, c.tau, c.m, p, got, err, c.bound[i])
			}
			if got < c.simulated[i] {
				t.Errorf("W=%s tau=%s M=%s p=%g: the bound %d is below the simulated %d", c.w, c.tau, c.m, p, got, c.simulated[i])
			}
		}
	}
}

// simulate draws how many retries a task takes: an attempt after the first
// restores, and each works for an interval and writes until it is interrupted,
// timed out or done. The last part is not written.
func simulate(r *rand.Rand, in RetryInput) int {
	work, t, d, restore := in.Work.Seconds(), in.Interval.Seconds(), in.Write.Seconds(), in.Restore.Seconds()
	saved := 0.0
	for retries := 0; ; retries++ {
		end := min(in.Timeout.Seconds(), r.ExpFloat64()*in.MeanTimeBetweenInterruptions.Seconds())
		now := 0.0
		if retries > 0 {
			now = restore
		}
		for {
			if work-saved <= t {
				if now+work-saved <= end {
					return retries
				}
				break
			}
			if now += t + d; now > end {
				break
			}
			saved += t
		}
	}
}

// The bound is this project's own: it holds in simulations, with as much of the
// runs as the probability says, but for what the number of runs leaves open.
func TestRequiredRetriesIsSafe(t *testing.T) {
	t.Parallel()
	const runs = 10_000
	h := time.Hour
	for _, c := range []struct{ work, timeout, mean, interval time.Duration }{
		{11 * h, 12 * h, 168 * h, 2 * h}, {12 * h, 12 * h, 168 * h, 2 * h}, {24 * h, 12 * h, 168 * h, 2 * h}, {48 * h, 12 * h, 168 * h, 2 * h},
		{100 * h, 12 * h, 168 * h, 2 * h}, {12 * h, 12 * h, 24 * h, 3180 * time.Second}, {48 * h, 12 * h, 24 * h, 3180 * time.Second},
		{6 * h, h, 168 * h, 600 * time.Second}, {10 * h, h, 168 * h, 600 * time.Second},
		// With the best interval.
		{48 * h, 12 * h, 168 * h, 0}, {24 * h, 24 * h, 8 * h, 0}, {3 * h, 2 * h, 3 * h, 0}, {20 * time.Minute, h, h, 0},
	} {
		in := RetryInput{Work: c.work, Interval: c.interval, Write: time.Minute, Restore: 2 * time.Minute, Timeout: c.timeout, MeanTimeBetweenInterruptions: c.mean}
		in.Interval = in.BestInterval()
		r := rand.New(rand.NewPCG(1, 2))
		taken := make([]int, runs)
		for i := range taken {
			taken[i] = simulate(r, in)
		}
		for _, in.Probability = range []float64{0.5, 0.9, 0.95, 0.99, 0.999} {
			bound, err := RequiredRetries(in)
			if err != nil {
				t.Fatal(err)
			}
			enough := 0
			for _, n := range taken {
				if n <= bound {
					enough++
				}
			}
			open := 3 * math.Sqrt(in.Probability*(1-in.Probability)/runs)
			if share := float64(enough) / runs; share < in.Probability-open {
				t.Errorf("%+v: %d retries are enough in %g of the runs", in, bound, share)
			}
		}
	}
}

func TestRequiredRetriesLimits(t *testing.T) {
	t.Parallel()
	good := RetryInput{Work: time.Hour, Interval: 10 * time.Minute, Write: time.Minute, Restore: time.Minute,
		Timeout: time.Hour, MeanTimeBetweenInterruptions: 168 * time.Hour, Probability: 0.99}
	with := func(change func(*RetryInput)) RetryInput { in := good; change(&in); return in }
	for _, c := range []struct {
		name string
		in   RetryInput
		want string // part of the error; empty for none
	}{
		{"good", good, ""},
		{"no work", with(func(in *RetryInput) { in.Work = 0 }), "work_time is 0s"},
		{"negative write", with(func(in *RetryInput) { in.Write = -1 }), "write_time is -1ns"},
		{"negative interval", with(func(in *RetryInput) { in.Interval = -1 }), "interval is -1ns"},
		{"no interval but writes", with(func(in *RetryInput) { in.Interval = 0 }), ""},
		{"no interval and slow writes", with(func(in *RetryInput) { in.Work, in.Interval, in.Write = 30*time.Hour, 0, 50*time.Minute }), "interval (48m), write_time (50m) and restore_time (1m) take 1h39m together"},
		{"no mean time", with(func(in *RetryInput) { in.MeanTimeBetweenInterruptions = 0 }), "the mean time between interruptions is 0s"},
		{"no timeout", with(func(in *RetryInput) { in.Timeout = 0 }), "task_timeout is 0s"},
		{"nothing known of checkpoints", with(func(in *RetryInput) { in.Interval, in.Write, in.Restore = 0, 0, 0 }), ""},
		{"probability one", with(func(in *RetryInput) { in.Probability = 1 }), "the probability is 1"},
		{"probability not a number", with(func(in *RetryInput) { in.Probability = math.NaN() }), "the probability is NaN"},
		{"attempt exactly as long as the loss", with(func(in *RetryInput) { in.Timeout = 12 * time.Minute }), "no progress would survive"},
		{"durations that overflow in sum", with(func(in *RetryInput) { in.Interval, in.Write = math.MaxInt64, math.MaxInt64 }), "no progress would survive"},
		{"interruptions faster than work", with(func(in *RetryInput) { in.MeanTimeBetweenInterruptions = time.Minute }), "come faster"},
		{"attempts without end", with(func(in *RetryInput) {
			in.Work, in.Timeout, in.MeanTimeBetweenInterruptions = 100_000*time.Hour, 12*time.Minute+time.Second, 1_000_000*time.Hour
		}), "attempts would be needed"},
	} {
		got, err := RequiredRetries(c.in)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %d, %v; want an error with %q", c.name, got, err, c.want)
		}
	}
	// Next to certainty there is still an answer.
	sure := with(func(in *RetryInput) { in.Probability = math.Nextafter(1, 0) })
	if got, err := RequiredRetries(sure); err != nil || got < 5 || got > 12 {
		t.Errorf("next to certainty: %d, %v", got, err)
	}
	// Work that is nearly never hit needs none.
	in := with(func(in *RetryInput) { in.Work, in.Timeout = time.Minute, 12*time.Hour })
	if got, err := RequiredRetries(in); err != nil || got != 0 {
		t.Errorf("one minute of work: %d, %v; want 0", got, err)
	}
}

// An interval that is not stated is the best one.
func TestBestInterval(t *testing.T) {
	t.Parallel()
	h := time.Hour
	for _, c := range []struct {
		name string
		in   RetryInput
		want time.Duration // to the second
	}{
		{"as stated", RetryInput{Work: h, Interval: 7 * time.Minute, Write: time.Minute, Timeout: h, MeanTimeBetweenInterruptions: 168 * h}, 7 * time.Minute},
		{"nothing to write", RetryInput{Work: h, Timeout: h, MeanTimeBetweenInterruptions: 168 * h}, 0},
		{"for rare timeouts", RetryInput{Work: 400 * h, Write: time.Minute, Timeout: 168 * h, MeanTimeBetweenInterruptions: 168 * h}, 8479 * time.Second},
		{"for a timeout of 12 hours", RetryInput{Work: 48 * h, Write: time.Minute, Timeout: 12 * h, MeanTimeBetweenInterruptions: 168 * h}, 2237 * time.Second},
		{"for many interruptions", RetryInput{Work: 48 * h, Write: time.Minute, Timeout: 12 * h, MeanTimeBetweenInterruptions: 3 * h}, 1099 * time.Second},
		{"for little work", RetryInput{Work: time.Minute, Write: time.Minute, Timeout: 12 * h, MeanTimeBetweenInterruptions: 168 * h}, time.Minute},
	} {
		if got := c.in.BestInterval().Round(time.Second); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		c.in.Probability = 0.99
		stated := c.in
		stated.Interval = c.in.BestInterval()
		left, errLeft := RequiredRetries(c.in)
		said, errSaid := RequiredRetries(stated)
		if left != said || errLeft != nil || errSaid != nil {
			t.Errorf("%s: %d (%v) retries, and %d (%v) with the interval stated", c.name, left, errLeft, said, errSaid)
		}
	}
}

func TestMostWork(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		span := func(name string, low, high time.Duration) time.Duration {
			return time.Duration(rapid.Int64Range(int64(low), int64(high)).Draw(t, name))
		}
		in := RetryInput{
			Interval: span("interval", 0, 10*time.Hour), Write: span("write", 0, time.Hour), Restore: span("restore", 0, time.Hour),
			Timeout: span("timeout", time.Second, 168*time.Hour), MeanTimeBetweenInterruptions: span("mean", time.Minute, 10_000*time.Hour),
			Probability: rapid.Float64Range(0.5, 0.9999).Draw(t, "p"),
		}
		retries := rapid.IntRange(0, 20).Draw(t, "retries")
		most := MostWork(retries, in)
		if most > 0 {
			in.Work = most
			if need, err := RequiredRetries(in); err != nil || need > retries {
				t.Fatalf("%d retries are enough for %s, and that needs %d (%v)", retries, most, need, err)
			}
		}
		in.Work = most + time.Minute
		if need, err := RequiredRetries(in); err == nil && need <= retries {
			t.Fatalf("%d retries are enough for %s at most, and a minute more needs %d", retries, most, need)
		}
	})
	if got := MostWork(10, RetryInput{}); got != 0 {
		t.Errorf("most work of nothing: %s", got)
	}
}

func TestRequiredRetriesProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		span := func(name string, low, high time.Duration) time.Duration {
			return time.Duration(rapid.Int64Range(int64(low), int64(high)).Draw(t, name))
		}
		in := RetryInput{
			Work: span("work", time.Second, 1000*time.Hour), Interval: span("interval", time.Second, 10*time.Hour),
			Write: span("write", 0, time.Hour), Restore: span("restore", 0, time.Hour),
			Timeout: span("timeout", time.Second, 168*time.Hour), MeanTimeBetweenInterruptions: span("mean", time.Minute, 10_000*time.Hour),
			Probability: rapid.Float64Range(0.5, 0.9999).Draw(t, "p"),
		}
		got, err := RequiredRetries(in)
		if err != nil {
			return
		}
		if got < 0 {
			t.Fatalf("%+v: %d retries", in, got)
		}
		// The attempts hold the work at least once.
		if capacity := float64(got+1) * in.Timeout.Seconds(); capacity < in.Work.Seconds() {
			t.Fatalf("%+v: %d retries hold %gs of work", in, got, capacity)
		}
		for name, change := range map[string]func(*RetryInput){
			"more work":            func(in *RetryInput) { in.Work += time.Hour },
			"a higher probability": func(in *RetryInput) { in.Probability = (in.Probability + 1) / 2 },
			"a slower restore":     func(in *RetryInput) { in.Restore += time.Minute },
			"a shorter timeout":    func(in *RetryInput) { in.Timeout -= in.Timeout / 10 },
			"more interruptions":   func(in *RetryInput) { in.MeanTimeBetweenInterruptions /= 2 },
		} {
			worse := in
			change(&worse)
			if more, err := RequiredRetries(worse); err == nil && more < got {
				t.Fatalf("%s needs fewer retries: %+v %d, then %d", name, in, got, more)
			}
		}
	})
}
