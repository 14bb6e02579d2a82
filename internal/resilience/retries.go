// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package resilience

import (
	"errors"
	"fmt"
	"math"
	"sort"
	"time"
)

// RetryInput describes the work of one task.
type RetryInput struct {
	// Work is the useful work in total, without checkpoints.
	Work time.Duration
	// Interval is the useful work between two checkpoints. Zero stands for the
	// best one, see [RetryInput.BestInterval].
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

// negligible is a chance far below the smallest distance of a probability to 1.
const negligible = 1e-20

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
// The bound is this project's own; it held in every simulated case.
//
// It fails when a number is out of range, when an attempt is not longer than
// interval, write and restore together (no progress would survive), and when
// interruptions come so fast that no number is enough. The result may be 0 for
// work of an hour or two; weekly maintenance is a schedule and not a matter of
// chance, so a plan should still allow one. It may also be above [MaxRetries].
func RequiredRetries(in RetryInput) (int, error) {
	if err := in.check(); err != nil {
		return 0, err
	}
	in.Interval = in.BestInterval()
	if err := in.checkProgress(); err != nil {
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
			return 0, errors.New("interruptions come faster than the work gets on; save more often (interval) or make restoring faster (restore_time)")
		}
		if k <= j {
			break
		}
		j = k
	}
	attempts := math.Ceil((work + float64(j)*loss) / (tau - loss))
	if attempts > maxInterruptions {
		return 0, fmt.Errorf("more than %d attempts would be needed; write a longer task_timeout", maxInterruptions)
	}
	return j + int(attempts) - 1, nil
}

// BestInterval returns the interval that counts: the one that is stated, else
// the best one by [DalyInterval] for the time to write, at most the whole work.
// An attempt ends after its timeout at the latest, as if it were interrupted
// then, so that the timeout bounds the mean time. Without a time to write it is
// zero: saving costs nothing, and an interruption loses nothing.
func (in RetryInput) BestInterval() time.Duration {
	if in.Interval != 0 {
		return in.Interval
	}
	best, err := DalyInterval(in.Write, min(in.MeanTimeBetweenInterruptions, in.Timeout))
	if err != nil {
		return 0 // a duration is not positive: nothing is written, or check says so
	}
	return min(best, in.Work)
}

// MostWork returns the most work, in whole minutes, that a number of retries is
// enough for when everything else is as in in; zero when there is none.
func MostWork(retries int, in RetryInput) time.Duration {
	enough := func(minutes int) bool {
		in.Work = time.Duration(minutes) * time.Minute
		need, err := RequiredRetries(in)
		return err == nil && need <= retries
	}
	// More than all attempts in full is never done.
	limit := int(min((float64(retries)+1)*in.Timeout.Minutes(), math.MaxInt64/float64(2*time.Minute)))
	return time.Duration(sort.Search(limit, func(i int) bool { return !enough(i + 1) })) * time.Minute
}

func (in RetryInput) check() error {
	for _, d := range []struct {
		what  string
		value time.Duration
		zero  bool
	}{
		{"work_time", in.Work, false},
		{"interval", in.Interval, true},
		{"write_time", in.Write, true},
		{"restore_time", in.Restore, true},
		{"task_timeout", in.Timeout, false},
		{"the mean time between interruptions", in.MeanTimeBetweenInterruptions, false},
	} {
		if d.value < 0 || d.value == 0 && !d.zero {
			return fmt.Errorf("%s is %s; it must be positive", d.what, FormatDuration(d.value))
		}
	}
	if !(in.Probability > 0 && in.Probability < 1) {
		return fmt.Errorf("the probability is %g; it must lie between 0 and 1", in.Probability)
	}
	return nil
}

// checkProgress refuses an attempt in which no progress would survive.
func (in RetryInput) checkProgress() error {
	// In seconds: the sum of three durations may overflow one.
	loss := in.Interval.Seconds() + in.Write.Seconds() + in.Restore.Seconds()
	if loss < in.Timeout.Seconds() {
		return nil
	}
	return fmt.Errorf("interval (%s), write_time (%s) and restore_time (%s) take %s together, and an attempt has %s (task_timeout): no progress would survive; write a shorter interval or a longer task_timeout",
		roughly(in.Interval.Seconds()), roughly(in.Write.Seconds()), roughly(in.Restore.Seconds()), roughly(loss), FormatDuration(in.Timeout))
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
		// For p next to 1 the rounded sum may never get there; the rest of the
		// terms is then nothing.
		if sum >= p || float64(k) > mu && math.Exp(term) < negligible {
			return k, true
		}
	}
	return 0, false
}
