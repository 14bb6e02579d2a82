// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package resilience

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// RetryInput describes the work of one task.
type RetryInput struct {
	// Work is the useful work in total, without checkpoints.
	Work time.Duration
	// Interval is the useful work between two checkpoints. It may be zero (what
	// is lost by an interruption is then taken as nothing) when Write is zero.
	Interval time.Duration
	// Write is the time to write a checkpoint.
	Write time.Duration
	// Restore is the time to start again and read a checkpoint.
	Restore time.Duration
	// Timeout is the task timeout of one attempt.
	Timeout time.Duration
	// MeanTimeBetweenInterruptions is the mean of an exponential distribution.
	MeanTimeBetweenInterruptions time.Duration
	// Probability is how sure the result shall be, between 0 and 1.
	Probability float64
}

// maxInterruptions bounds the search: more interruptions than this in one task
// are an answer of no use.
const maxInterruptions = 10_000

// RequiredRetries returns a number of retries that is enough with the given
// probability. Both an interruption and a timeout use one.
//
// It is a safe bound: with j the smallest number of interruptions that a Poisson
// distribution over the wall time (which itself grows with j) keeps to with the
// probability,
//
//	wall = work + writes + j·(interval + write + restore)
//	retries = j + ceil(wall / (timeout − interval − write − restore)) − 1
//
// It fails when a number is out of range, when an attempt is not longer than
// interval, write and restore together (no progress would survive), and when
// interruptions come so fast that no number is enough. The result may be 0 for
// work of an hour or two; weekly maintenance is a schedule and not a matter of
// chance, so a plan should still allow one.
func RequiredRetries(in RetryInput) (int, error) {
	if err := in.check(); err != nil {
		return 0, err
	}
	work, t, d, r := in.Work.Seconds(), in.Interval.Seconds(), in.Write.Seconds(), in.Restore.Seconds()
	tau, mean := in.Timeout.Seconds(), in.MeanTimeBetweenInterruptions.Seconds()
	loss := t + d + r
	if d > 0 {
		work += d * (math.Ceil(work/t) - 1)
	}
	j := 0
	for {
		k, ok := poissonQuantile((work+float64(j)*loss)/mean, in.Probability)
		if !ok {
			return 0, errors.New("interruptions come faster than the work gets on; save more often or make restoring faster")
		}
		if k <= j {
			break
		}
		j = k
	}
	attempts := math.Ceil((work + float64(j)*loss) / (tau - loss))
	if attempts > maxInterruptions {
		return 0, fmt.Errorf("more than %d attempts would be needed; write a longer task timeout", maxInterruptions)
	}
	return j + int(attempts) - 1, nil
}

func (in RetryInput) check() error {
	for _, d := range []struct {
		what  string
		value time.Duration
		zero  bool
	}{
		{"the work", in.Work, false},
		{"the interval between checkpoints", in.Interval, in.Write == 0},
		{"the time to write a checkpoint", in.Write, true},
		{"the time to restore", in.Restore, true},
		{"the task timeout", in.Timeout, false},
		{"the mean time between interruptions", in.MeanTimeBetweenInterruptions, false},
	} {
		if d.value < 0 || d.value == 0 && !d.zero {
			return fmt.Errorf("%s is %s; it must be positive", d.what, FormatDuration(d.value))
		}
	}
	if !(in.Probability > 0 && in.Probability < 1) {
		return fmt.Errorf("the probability is %g; it must lie between 0 and 1", in.Probability)
	}
	// In seconds: the sum of three durations may overflow one.
	if loss := in.Interval.Seconds() + in.Write.Seconds() + in.Restore.Seconds(); loss >= in.Timeout.Seconds() {
		return fmt.Errorf("interval (%s), write and restore take %s together and an attempt has %s: no progress would survive; save more often or write a longer task timeout",
			roughly(in.Interval.Seconds()), roughly(loss), FormatDuration(in.Timeout))
	}
	return nil
}

// roughly writes a number of seconds for a person, to the minute where there are
// some.
func roughly(seconds float64) string {
	d := time.Duration(min(seconds, math.MaxInt64/float64(2*time.Second)) * float64(time.Second))
	if d >= 10*time.Minute {
		return FormatDuration(d.Round(time.Minute))
	}
	return FormatDuration(d.Round(time.Second))
}

// poissonQuantile returns the smallest k with P(N <= k) >= p for a Poisson
// distribution with mean mu; ok is false when it is above maxInterruptions.
func poissonQuantile(mu, p float64) (k int, ok bool) {
	if mu > maxInterruptions {
		return 0, false
	}
	// The terms are summed from their logarithms: exp(-mu) alone is zero for
	// large mu.
	sum, term := 0.0, -mu
	for k = 0; k <= maxInterruptions; k++ {
		if k > 0 {
			term += math.Log(mu) - math.Log(float64(k))
		}
		sum += math.Exp(term)
		if sum >= p {
			return k, true
		}
	}
	return 0, false
}
