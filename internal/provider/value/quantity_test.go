// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package value_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// case 7: "1" and "1000m" are one amount.
func TestQuantitySemanticEquality(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b value.Quantity
		want bool
	}{
		{value.NewQuantity("1"), value.NewQuantity("1000m"), true},
		{value.NewQuantity("8"), value.NewQuantity("8000m"), true},
		{value.NewQuantity("32Gi"), value.NewQuantity("34359738368"), true},
		{value.NewQuantity("16Gi"), value.NewQuantity("16384Mi"), true},
		{value.NewQuantity("16Gi"), value.NewQuantity("16G"), false},
		{value.NewQuantity("1.5"), value.NewQuantity("1500m"), true},
		{value.NewQuantity("x"), value.NewQuantity("1"), false},
		{value.NewQuantityNull(), value.NewQuantity("1"), false},
		{value.NewQuantityUnknown(), value.NewQuantity("1"), false},
		{value.NewQuantityNull(), value.NewQuantityNull(), true},
	} {
		for _, pair := range [][2]value.Quantity{{test.a, test.b}, {test.b, test.a}} {
			got, diags := pair[0].StringSemanticEquals(t.Context(), pair[1])
			if diags.HasError() || got != test.want {
				t.Errorf("%s equals %s: %t, %v; want %t", pair[0], pair[1], got, diags, test.want)
			}
		}
	}
}

// case 8: CPU is sent in thousandths, memory in the shortest spelling, which
// keeps 16G as it is and turns bytes into binary units.
func TestSentSpelling(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"8": "8000m", "8000m": "8000m", "1.5": "1500m", "1": "1000m", "0.08": "80m"} {
		milli, err := value.ParseCPU(in)
		if err != nil || value.APICPU(milli) != want {
			t.Errorf("cpu %q is sent as %q, %v; want %q", in, value.APICPU(milli), err, want)
		}
	}
	for in, want := range map[string]string{
		"16Gi": "16Gi", "16384Mi": "16Gi", "16G": "16G", "34359738368": "32Gi", "512Mi": "512Mi", "0.5Gi": "512Mi",
		"1.5Gi": "1536Mi", "80Gi": "80Gi", "1000": "1k", "1000001": "1000001", "1024": "1Ki",
	} {
		bytes, err := value.ParseMemory(in)
		if err != nil || value.APIMemory(bytes) != want {
			t.Errorf("memory %q is sent as %q, %v; want %q", in, value.APIMemory(bytes), err, want)
		}
	}
	for milli, want := range map[int64]string{8000: "8", 1500: "1500m", 80: "80m", 20000: "20"} {
		if got := value.FormatCPU(milli); got != want {
			t.Errorf("FormatCPU(%d) = %q; want %q", milli, got, want)
		}
	}
}

func TestQuantityErrors(t *testing.T) {
	t.Parallel()
	cpu := func(s string) error { _, err := value.ParseCPU(s); return err }
	memory := func(s string) error { _, err := value.ParseMemory(s); return err }
	for _, test := range []struct {
		parse    func(string) error
		in, want string
	}{
		{memory, "16GB", `"16GB" is not a quantity: write "16Gi"`},
		{memory, "16 GiB", `write "16Gi"`},
		{memory, "16 gi", `write "16Gi"`},
		{memory, "512m", `"m" means thousandths of a byte; write "512Mi"`},
		{memory, "0", "more than zero"},
		{memory, "-1Gi", "more than zero"},
		{memory, "10E", "below 8Ei"},
		{memory, "1e30", "below 8Ei"},
		{memory, "0.5", "whole number of bytes"},
		{memory, "lots", "is not a quantity: write a number"},
		{memory, "", "is not a quantity: write a number"},
		{cpu, "4 vCPU", `write "4"`},
		{cpu, "4cores", `write "4"`},
		{cpu, "0", "more than zero"},
		{cpu, "-4", "more than zero"},
		{cpu, "0.0005", "at most three decimals"},
		{cpu, "1e30", "at most three decimals"},
		{cpu, "four", "is not a quantity"},
	} {
		if err := test.parse(test.in); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: error %v; want %q", test.in, err, test.want)
		}
	}
}

func TestMemoryRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		bytes := rapid.OneOf(
			rapid.Int64Range(1, math.MaxInt64-1),
			rapid.Map(rapid.Int64Range(1, 1<<20), func(n int64) int64 { return n << 30 }),
			rapid.Map(rapid.Int64Range(1, 1<<20), func(n int64) int64 { return n * 1e9 }),
		).Draw(t, "bytes")
		s := value.FormatMemory(bytes)
		got, err := value.ParseMemory(s)
		if err != nil || got != bytes {
			t.Fatalf("%d is written %q and read as %d, %v", bytes, s, got, err)
		}
		if plain := fmt.Sprint(bytes); len(s) > len(plain) {
			t.Fatalf("%q is longer than %q", s, plain)
		}
	})
}

func TestCPURoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		milli := rapid.Int64Range(1, 1<<40).Draw(t, "milli")
		for _, s := range []string{value.FormatCPU(milli), value.APICPU(milli)} {
			if got, err := value.ParseCPU(s); err != nil || got != milli {
				t.Fatalf("%d is written %q and read as %d, %v", milli, s, got, err)
			}
		}
	})
}

// What an error proposes must be accepted.
func TestQuantityGuessIsAccepted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`[0-9]{1,6}(\.[0-9])? ?([kKmMgGtTpPeE][iI]?[bB]?|v?[cC][pP][uU]s?|cores?)`).Draw(t, "s")
		_, err := value.ParseQuantity(s)
		if err == nil {
			return
		}
		_, guess, ok := strings.Cut(err.Error(), "write \"")
		if !ok {
			t.Fatalf("for %q nothing is proposed: %v", s, err)
		}
		if _, err := value.ParseQuantity(strings.TrimSuffix(guess, "\"")); err != nil {
			t.Fatalf("for %q the proposal is %q, which is refused: %v", s, guess, err)
		}
	})
}

func TestQuantityValue(t *testing.T) {
	t.Parallel()
	if n, err := value.NewQuantity("8").CPUMilli(); err != nil || n != 8000 {
		t.Errorf("8 is %d, %v", n, err)
	}
	if n, err := value.NewQuantity("1Ki").MemoryBytes(); err != nil || n != 1024 {
		t.Errorf("1Ki is %d, %v", n, err)
	}
	if q, err := value.NewQuantity("2").Quantity(); err != nil || q.Value() != 2 {
		t.Errorf("2 is %s, %v", q.String(), err)
	}
	for _, v := range []value.Quantity{value.NewQuantityNull(), value.NewQuantityUnknown()} {
		_, err1 := v.CPUMilli()
		_, err2 := v.MemoryBytes()
		_, err3 := v.Quantity()
		if err1 == nil || err2 == nil || err3 == nil {
			t.Errorf("%s has a value", v)
		}
	}
}
