// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package value_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"pgregory.net/rapid"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// case 10: 3.5s and 3.500s are one value. case 11: other people's formats are
// either accepted or refused with what to write instead.
func TestParseDuration(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in   string
		want time.Duration
		err  string // a part of the error
	}{
		{in: "12h", want: 12 * time.Hour},
		{in: "720m", want: 12 * time.Hour},
		{in: "43200s", want: 12 * time.Hour},
		{in: "3.5s", want: 3500 * time.Millisecond},
		{in: "3.500s", want: 3500 * time.Millisecond},
		{in: "10m", want: 10 * time.Minute},
		{in: "1h30m", want: 90 * time.Minute},
		{in: "0s"},
		{in: "0"},
		{in: "-1h", want: -time.Hour},
		{in: "600", err: `"600" is not a duration: write "600s"`},
		{in: "3.5", err: `write "3.5s"`},
		{in: "12 h", err: `write "12h"`},
		{in: "12H", err: `write "12h"`},
		{in: " 12h", err: `write "12h"`},
		{in: "1h 30m", err: `write "90m"`},
		{in: "7d", err: `write "168h"`},
		{in: "1 day", err: `write "24h"`},
		{in: "2 weeks", err: `write "336h"`},
		{in: "90 minutes", err: `write "90m"`},
		{in: "1.5 hours", err: `write "90m"`},
		{in: "30sec", err: `write "30s"`},
		{in: "PT12H", err: `write "12h"`},
		{in: "P7D", err: `write "168h"`},
		{in: "P1DT1H30M", err: `write "1530m"`},
		{in: "", err: "an empty text is not a duration: write a number with a unit"},
		{in: "99999999999999999999h", err: `"99999999999999999999h" is longer than any duration can be`},
		{in: "soon", err: `"soon" is not a duration: write a number with a unit`},
		{in: "999999999999d", err: "write a number with a unit"},
		{in: "P999999999999D", err: "write a number with a unit"},
		{in: "PT", err: "write a number with a unit"},
		{in: strings.Repeat("x", 500), err: "xx…"},
	} {
		got, err := value.ParseDuration(test.in)
		switch {
		case test.err == "" && (err != nil || got != test.want):
			t.Errorf("ParseDuration(%q) = %s, %v; want %s", test.in, got, err, test.want)
		case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
			t.Errorf("ParseDuration(%q): error %v; want %q", test.in, err, test.err)
		}
		if err != nil && len(err.Error()) > 250 {
			t.Errorf("ParseDuration(%.20q…): the error has %d characters", test.in, len(err.Error()))
		}
	}
}

func TestFormatDuration(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]time.Duration{
		"0s": 0, "12h": 12 * time.Hour, "90m": 90 * time.Minute, "100s": 100 * time.Second, "3.5s": 3500 * time.Millisecond,
		"168h": 168 * time.Hour, "3661s": time.Hour + time.Minute + time.Second, "0.001s": time.Millisecond,
		"0.000000001s": 1, "-1.5s": -1500 * time.Millisecond, "-0.5s": -500 * time.Millisecond, "-2h": -2 * time.Hour,
	} {
		if got := value.FormatDuration(d); got != want {
			t.Errorf("FormatDuration(%d) = %q; want %q", d, got, want)
		}
	}
}

func TestDurationRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64().Draw(t, "d"))
		s := value.FormatDuration(d)
		got, err := value.ParseDuration(s)
		if err != nil || got != d {
			t.Fatalf("%d is written %q and read as %d, %v", d, s, got, err)
		}
		if other := d.String(); len(s) > len(other) && d%time.Second == 0 {
			t.Fatalf("%q is longer than Go's %q", s, other)
		}
	})
}

// What an error proposes must be accepted, whatever was written.
func TestDurationGuessIsAccepted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`[pP]?[tT]?[0-9]{1,14}(\.[0-9]{1,3})? ?[a-zA-Z]{0,7}([0-9]{1,3}[a-zA-Z])?`).Draw(t, "s")
		_, err := value.ParseDuration(s)
		if err == nil {
			return
		}
		_, guess, ok := strings.Cut(err.Error(), "write \"")
		if !ok {
			return
		}
		guess = strings.TrimSuffix(guess, "\"")
		if _, err := value.ParseDuration(guess); err != nil {
			t.Fatalf("for %q the proposal is %q, which is refused: %v", s, guess, err)
		}
	})
}

func TestDurationSemanticEquality(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b value.Duration
		want bool
	}{
		{value.NewDuration("12h"), value.NewDuration("720m"), true},
		{value.NewDuration("12h"), value.NewDuration("43200s"), true},
		{value.NewDuration("3.5s"), value.NewDuration("3.500s"), true}, // case 10
		{value.NewDuration("12h"), value.NewDuration("11h"), false},
		{value.NewDuration("soon"), value.NewDuration("soon"), true},
		{value.NewDuration("soon"), value.NewDuration("12h"), false},
		{value.NewDurationNull(), value.NewDurationNull(), true},
		{value.NewDurationNull(), value.NewDuration("0s"), false},
		{value.NewDurationUnknown(), value.NewDuration("0s"), false},
		{value.NewDurationUnknown(), value.NewDurationNull(), false},
	} {
		for _, pair := range [][2]value.Duration{{test.a, test.b}, {test.b, test.a}} {
			got, diags := pair[0].StringSemanticEquals(t.Context(), pair[1])
			if diags.HasError() || got != test.want {
				t.Errorf("%s equals %s: %t, %v; want %t", pair[0], pair[1], got, diags, test.want)
			}
		}
	}
	if value.NewDuration("12h").Equal(value.NewDuration("720m")) {
		t.Error("Equal compares spellings, and 12h is not spelt 720m")
	}
	if value.NewDuration("12h").Equal(basetypes.NewStringValue("12h")) {
		t.Error("a duration equals no plain string")
	}
}

func TestDurationValue(t *testing.T) {
	t.Parallel()
	if d, err := value.NewDuration("90m").Duration(); err != nil || d != 90*time.Minute {
		t.Errorf("90m is %s, %v", d, err)
	}
	for _, v := range []value.Duration{value.NewDurationNull(), value.NewDurationUnknown(), value.NewDuration("x")} {
		if d, err := v.Duration(); err == nil {
			t.Errorf("%s is %s", v, d)
		}
	}
	if got := value.DurationOf(2 * time.Hour).ValueString(); got != "2h" {
		t.Errorf("2h is spelt %q", got)
	}
}
