// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package resilience

import (
	"fmt"
	"math"
	"time"
)

// YoungLimit is the largest share that writing a checkpoint may have in the mean
// time between interruptions for [YoungInterval]: at that share its answer is
// about 7 % above the best interval.
const YoungLimit = 1.0 / 50

// YoungInterval returns the useful work between two checkpoints by Young's first
// order formula, sqrt(2·write·mean) (Communications of the ACM 17(9), 1974). It
// fails when a duration is not positive and when write is above [YoungLimit] of
// mean, where the formula does not hold.
func YoungInterval(write, mean time.Duration) (time.Duration, error) {
	if err := positive(write, mean); err != nil {
		return 0, err
	}
	if write.Seconds() > YoungLimit*mean.Seconds() {
		return 0, fmt.Errorf("writing a checkpoint takes %s, more than %g of the mean time between interruptions (%s): Young's formula holds only for much shorter writes, use Daly's",
			FormatDuration(write), YoungLimit, FormatDuration(mean))
	}
	return seconds(math.Sqrt(2 * write.Seconds() * mean.Seconds()))
}

// DalyInterval returns the useful work between two checkpoints by Daly's higher
// order formula (Future Generation Computer Systems 22(3), 2006): for write below
// twice mean it is
//
//	sqrt(2·write·mean) · (1 + sqrt(write/2mean)/3 + (write/2mean)/9) − write
//
// and mean above that. Interruptions are taken as exponential; the time to
// restore does not move the optimum. It fails when a duration is not positive.
func DalyInterval(write, mean time.Duration) (time.Duration, error) {
	if err := positive(write, mean); err != nil {
		return 0, err
	}
	d, m := write.Seconds(), mean.Seconds()
	if d >= 2*m {
		return mean, nil
	}
	x := d / (2 * m)
	return seconds(math.Sqrt(2*d*m)*(1+math.Sqrt(x)/3+x/9) - d)
}

// Overhead returns the expected time beyond the useful work as a share of it,
// when a checkpoint is written after each interval of work:
//
//	mean · e^(restore/mean) · (e^((interval+write)/mean) − 1) / interval − 1
//
// Interruptions are taken as exponential, and may also hit writing and
// restoring. With a write of zero and the whole work as the interval, it is the
// overhead of a job without checkpoints. It fails when interval or mean is not
// positive, when another duration is negative, and where the share is too large
// to be a number.
func Overhead(interval, write, restore, mean time.Duration) (float64, error) {
	if interval <= 0 || mean <= 0 || write < 0 || restore < 0 {
		return 0, fmt.Errorf("the overhead of interval %s, write %s and restore %s at a mean time of %s between interruptions: interval and mean must be positive, the others not negative",
			FormatDuration(interval), FormatDuration(write), FormatDuration(restore), FormatDuration(mean))
	}
	t, d, r, m := interval.Seconds(), write.Seconds(), restore.Seconds(), mean.Seconds()
	share := m*math.Exp(r/m)*math.Expm1((t+d)/m)/t - 1
	if math.IsInf(share, 0) || math.IsNaN(share) {
		return 0, fmt.Errorf("an interval of %s is hardly ever finished when interruptions come every %s", FormatDuration(interval), FormatDuration(mean))
	}
	return max(share, 0), nil
}

func positive(write, mean time.Duration) error {
	if write <= 0 {
		return fmt.Errorf("the time to write a checkpoint is %s; it must be positive", FormatDuration(write))
	}
	if mean <= 0 {
		return fmt.Errorf("the mean time between interruptions is %s; it must be positive", FormatDuration(mean))
	}
	return nil
}

// seconds makes a duration of a number of seconds, with an error where it would
// overflow.
func seconds(s float64) (time.Duration, error) {
	ns := s * float64(time.Second)
	if math.IsNaN(ns) || ns >= math.MaxInt64 {
		return 0, fmt.Errorf("the interval of %g seconds is too long for a duration", s)
	}
	return time.Duration(ns), nil
}
