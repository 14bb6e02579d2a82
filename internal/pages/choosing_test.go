// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"image"
	_ "image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The page has the published values: the numbers that the formulas were checked
// with stand in its tables.
func TestChoosing(t *testing.T) {
	t.Parallel()
	page, err := choosing()
	if err != nil {
		t.Fatal(err)
	}
	regular(t, page)
	for _, bad := range []string{"%!", "NaN", "Inf", "\n\n\n"} {
		if strings.Contains(page, bad) {
			t.Errorf("%q is there", bad)
		}
	}
	for _, want := range []string{
		"| 12 h | 7.1 % | 6.9 % |",                                    // schedule and chance
		"| 1 min | 2h21m19s, 1.42 % | 53m, 3.82 % | 37m17s, 5.46 % |", // Daly's interval, exact overhead
		"18m19s, 11.33 %", "1h53m26s, 18.70 %",
		"| **best** | **57m51s: 0.58 %** | **2h21m19s: 1.42 %** | **5h14m10s: 3.22 %** |",
		"| 168 h | 93 % | 12.44 h | 12.17 h |", "| 24 h | 61 % | 15.57 h |", "| 12 h | 37 % | 20.62 h |", // without checkpoints
		"for a write of 11 s at one interruption a week",
		"| 12 h | 12 h | 37m17s | 2 | 2 | 3 |", "| 6 h | 1 h | 10m18s | 8 | 9 | 9 |", // retries
		"| 4 | 12 h | 5 | 24 | 288 |", // exposure
		"](" + plotURL + ")",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not there", want)
		}
	}
}

// The plot that is checked in is of these curves: it has their hash.
func TestPlotIsFresh(t *testing.T) {
	t.Parallel()
	var curves bytes.Buffer
	if err := writePlot(&curves); err != nil {
		t.Fatal(err)
	}
	png, err := os.ReadFile(filepath.Join(root, plotFile))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(png, fmt.Appendf(nil, "tEXtSource\x00%x", sha256.Sum256(curves.Bytes()))) {
		t.Errorf("%s is stale: run make generate and commit the result", plotFile)
	}
	if _, _, err := image.Decode(bytes.NewReader(png)); err != nil {
		t.Errorf("%s: %v", plotFile, err)
	}
}

// Each curve falls to its best point, rises from there, and has no point below.
func TestCurves(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := writePlot(&out); err != nil {
		t.Fatal(err)
	}
	var f figure
	if err := json.Unmarshal(out.Bytes(), &f); err != nil || len(f.Curves) != len(plotted) {
		t.Fatalf("%d curves, %v", len(f.Curves), err)
	}
	for _, c := range f.Curves {
		if len(c.Points) < 20 {
			t.Errorf("%s has %d points", c.Label, len(c.Points))
		}
		for i, p := range c.Points {
			switch {
			case p[0] < f.X.Min || p[0] > f.X.Max || p[1] < f.Y.Min || p[1] > f.Y.Max:
				t.Errorf("%s: %v is not on the plot", c.Label, p)
			case p[1] < c.Best.Y-0.001:
				t.Errorf("%s: %v is below the best point", c.Label, p)
			case i > 0 && p[0] < c.Best.X && p[1] > c.Points[i-1][1], i > 0 && c.Points[i-1][0] > c.Best.X && p[1] < c.Points[i-1][1]:
				t.Errorf("%s: at %v it goes the wrong way", c.Label, p)
			}
		}
		if !slices.IsSortedFunc(c.Points, func(a, b [2]float64) int { return int(a[0] - b[0]) }) {
			t.Errorf("%s goes back", c.Label)
		}
	}
}
