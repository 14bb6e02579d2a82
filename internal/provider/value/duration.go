// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package value

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/lazyregexp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

var (
	_ basetypes.StringTypable                    = DurationType{}
	_ basetypes.StringValuableWithSemanticEquals = Duration{}
)

// DurationType is the type of attributes that hold a span of time as a string
// in Go's units, such as "90m" or "1h30m".
type DurationType struct{ basetypes.StringType }

// String names the type for developers.
func (DurationType) String() string { return "value.DurationType" }

// Equal reports whether o is the same type.
func (DurationType) Equal(o attr.Type) bool { _, ok := o.(DurationType); return ok }

// ValueType returns an empty value of the type.
func (DurationType) ValueType(context.Context) attr.Value { return Duration{} }

// ValueFromString wraps a plain string value.
func (DurationType) ValueFromString(_ context.Context, in basetypes.StringValue) (basetypes.StringValuable, diag.Diagnostics) {
	return Duration{in}, nil
}

// ValueFromTerraform converts a protocol value.
func (t DurationType) ValueFromTerraform(ctx context.Context, in tftypes.Value) (attr.Value, error) {
	s, err := stringFromTerraform(ctx, in)
	return Duration{s}, err
}

// Duration is a value of [DurationType].
type Duration struct{ basetypes.StringValue }

// NewDuration returns a known value with the spelling s, unchecked.
func NewDuration(s string) Duration { return Duration{basetypes.NewStringValue(s)} }

// NewDurationNull returns the null value.
func NewDurationNull() Duration { return Duration{basetypes.NewStringNull()} }

// NewDurationUnknown returns the value that is not known yet.
func NewDurationUnknown() Duration { return Duration{basetypes.NewStringUnknown()} }

// DurationOf returns the value of d in its shortest spelling.
func DurationOf(d time.Duration) Duration { return NewDuration(FormatDuration(d)) }

// Type returns the type of the value.
func (Duration) Type(context.Context) attr.Type { return DurationType{} }

// Equal reports whether o is a duration with the same spelling.
func (d Duration) Equal(o attr.Value) bool {
	other, ok := o.(Duration)
	return ok && d.StringValue.Equal(other.StringValue)
}

// StringSemanticEquals reports whether both spellings are the same span of time.
func (d Duration) StringSemanticEquals(ctx context.Context, o basetypes.StringValuable) (bool, diag.Diagnostics) {
	return equalBy(ctx, d.StringValue, o, func(a, b string) bool {
		x, errX := ParseDuration(a)
		y, errY := ParseDuration(b)
		return errX == nil && errY == nil && x == y
	})
}

// Duration returns the span of time. Null, unknown and misspelt values are
// errors; a caller asks for null and unknown first.
func (d Duration) Duration() (time.Duration, error) {
	if d.IsNull() || d.IsUnknown() {
		return 0, errors.New("the duration has no value yet")
	}
	return ParseDuration(d.ValueString())
}

// durationForm is the part of a message that says what is accepted.
const durationForm = `a number with a unit ("s", "m" or "h"), or several of them, such as "90m" or "1h30m"`

// ParseDuration reads a span of time in Go's units. The error is for users: it
// quotes what was written and, where the intention can be guessed, says what
// to write instead.
func ParseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err == nil {
		return d, nil
	}
	if strings.TrimSpace(s) == "" {
		return 0, fmt.Errorf("an empty text is not a duration: write %s", durationForm)
	}
	if goDuration.MatchString(s) {
		return 0, fmt.Errorf("%q is longer than any duration can be, about 292 years: write a smaller number", resourcename.Shorten(s))
	}
	if guess := guessDuration(s); guess != "" {
		return 0, fmt.Errorf("%q is not a duration: write %q", resourcename.Shorten(s), guess)
	}
	return 0, fmt.Errorf("%q is not a duration: write %s", resourcename.Shorten(s), durationForm)
}

var (
	bareNumber  = lazyregexp.New(`^[+-]?\d+(\.\d+)?$`)
	goDuration  = lazyregexp.New(`^[+-]?(\d+(\.\d*)?(ns|us|µs|ms|s|m|h))+$`)
	numberUnit  = lazyregexp.New(`^(\d+(?:\.\d+)?)([a-z]+)$`)
	isoDuration = lazyregexp.New(`^p(?:(\d+)d)?(?:t(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?)?$`)

	// unitNames are the ways in which people write units that Go does not know.
	unitNames = map[string]time.Duration{
		"sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
		"min": time.Minute, "mins": time.Minute, "minute": time.Minute, "minutes": time.Minute,
		"hr": time.Hour, "hrs": time.Hour, "hour": time.Hour, "hours": time.Hour,
		"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
		"w": 7 * 24 * time.Hour, "week": 7 * 24 * time.Hour, "weeks": 7 * 24 * time.Hour,
	}
)

// guessDuration returns what the writer of a misspelt duration probably meant,
// or nothing.
func guessDuration(s string) string {
	if bareNumber.MatchString(s) {
		if _, err := time.ParseDuration(s + "s"); err != nil {
			return ""
		}
		return s + "s"
	}
	compact := strings.ToLower(strings.Join(strings.Fields(s), ""))
	if d, err := time.ParseDuration(compact); err == nil && !bareNumber.MatchString(compact) {
		return FormatDuration(d)
	}
	if m := numberUnit.FindStringSubmatch(compact); m != nil {
		if unit, ok := unitNames[m[2]]; ok {
			return scaled(m[1], unit)
		}
	}
	if m := isoDuration.FindStringSubmatch(compact); m != nil {
		var sum time.Duration
		for i, unit := range []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second} {
			if m[i+1] == "" {
				continue
			}
			part, err := ParseDuration(scaled(m[i+1], unit))
			if err != nil || sum+part < sum {
				return ""
			}
			sum += part
		}
		if sum > 0 {
			return FormatDuration(sum)
		}
	}
	return ""
}

// scaled returns number times unit in the shortest spelling, or nothing when
// the product is too large for a duration.
func scaled(number string, unit time.Duration) string {
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || n*float64(unit) > float64(1<<62) {
		return ""
	}
	return FormatDuration(time.Duration(n * float64(unit)))
}

// FormatDuration returns the shortest spelling of d: whole hours, else whole
// minutes, else seconds, as in "12h", "90m" and "3.5s".
func FormatDuration(d time.Duration) string {
	switch {
	case d == 0:
		return "0s"
	case d%time.Hour == 0:
		return strconv.FormatInt(int64(d/time.Hour), 10) + "h"
	case d%time.Minute == 0:
		return strconv.FormatInt(int64(d/time.Minute), 10) + "m"
	}
	whole, rest := int64(d/time.Second), int64(d%time.Second)
	if rest == 0 {
		return strconv.FormatInt(whole, 10) + "s"
	}
	sign := ""
	if d < 0 {
		sign, whole, rest = "-", -whole, -rest
	}
	return sign + strconv.FormatInt(whole, 10) + "." + strings.TrimRight(fmt.Sprintf("%09d", rest), "0") + "s"
}
