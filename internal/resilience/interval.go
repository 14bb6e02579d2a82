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
