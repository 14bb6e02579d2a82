// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/resilience"
)

// figure is the plot of the guide about timeout, retries and interval, with
// every number and every word: tools/overheadplot draws it.
type figure struct {
	Title       string  `json:"title"`
	Description string  `json:"description"`
	X           axis    `json:"x"`
	Y           axis    `json:"y"`
	Curves      []curve `json:"curves"`
}

// axis is one of the two; x is logarithmic, in seconds, and y is in percent.
type axis struct {
	Label string  `json:"label"`
	Min   float64 `json:"min"`
	Max   float64 `json:"max"`
	Ticks []tick  `json:"ticks"`
}

type tick struct {
	At    float64 `json:"at"`
	Label string  `json:"label"`
}

// curve is the overhead of one time to write.
type curve struct {
	Label  string       `json:"label"`
	Points [][2]float64 `json:"points"`
	Best   mark         `json:"best"`
}

// mark is the lowest point of a curve, with a label of two lines.
type mark struct {
	X     float64 `json:"x"`
	Y     float64 `json:"y"`
	Label string  `json:"label"`
}

// plotFile is the plot, in the root of the project: the folder of the documentation
// may hold nothing but pages. A registry shows no file of the repository by a
// relative address, so that a page has the raw one.
const (
	plotFile = "images/overhead-over-interval.png"
	plotURL  = "https://raw.githubusercontent.com/resilientjob/terraform-provider-resilientjob/main/" + plotFile
)

// The times to write that the plot and its table have.
var plotted = []time.Duration{10 * time.Second, 60 * time.Second, 300 * time.Second}

const (
	shortestInterval = 3 * time.Minute
	longestInterval  = 24 * time.Hour
	mostOverhead     = 8 // percent, where the plot ends
	pointsOfCurve    = 60
)

// overheadFigure computes the plot.
func overheadFigure() (figure, error) {
	mean := resilience.MaintenanceInterval
	f := figure{
		Title: fmt.Sprintf("Expected overhead at one interruption every %s on average", spoken(mean)),
		Description: "Expected time beyond the useful work over the interval between two checkpoints, for three times to write a checkpoint. " +
			"Each curve falls steeply, is flat around its best interval, and rises again.",
		X: axis{Label: "useful work between two checkpoints", Min: shortestInterval.Seconds(), Max: longestInterval.Seconds()},
		Y: axis{Label: "expected overhead", Max: mostOverhead},
	}
	for _, d := range []time.Duration{5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 24 * time.Hour} {
		f.X.Ticks = append(f.X.Ticks, tick{d.Seconds(), spoken(d)})
	}
	for y := 0; y <= mostOverhead; y += 2 {
		f.Y.Ticks = append(f.Y.Ticks, tick{float64(y), fmt.Sprintf("%d %%", y)})
	}
	for _, write := range plotted {
		c := curve{Label: fmt.Sprintf("%g s to write", write.Seconds())}
		for i := range pointsOfCurve + 1 {
			x := math.Round(shortestInterval.Seconds() * math.Pow(float64(longestInterval)/float64(shortestInterval), float64(i)/pointsOfCurve))
			y, err := percent(time.Duration(x)*time.Second, write, mean)
			if err != nil {
				return figure{}, err
			}
			if y <= mostOverhead {
				c.Points = append(c.Points, [2]float64{x, math.Round(y*1000) / 1000})
			}
		}
		best, share, err := bestInterval(write, mean)
		if err != nil {
			return figure{}, err
		}
		c.Best = mark{best.Seconds(), share, fmt.Sprintf("%s\n%.2f %%", resilience.FormatDuration(best), share)}
		f.Curves = append(f.Curves, c)
	}
	return f, nil
}

// bestInterval is Daly's interval in whole seconds, with its overhead in
// percent.
func bestInterval(write, mean time.Duration) (best time.Duration, overhead float64, err error) {
	if best, err = resilience.DalyInterval(write, mean); err != nil {
		return 0, 0, err
	}
	best = best.Round(time.Second)
	overhead, err = percent(best, write, mean)
	return best, overhead, err
}

// percent is the expected overhead in percent, without the time to restore.
func percent(interval, write, mean time.Duration) (float64, error) {
	share, err := resilience.Overhead(interval, write, 0, mean)
	return 100 * share, err
}

// spoken writes a duration for people: one number and its unit.
func spoken(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%g s", d.Seconds())
}

// writePlot writes the plot as its program reads it.
func writePlot(out io.Writer) error {
	f, err := overheadFigure()
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(f)
}
