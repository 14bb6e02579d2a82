// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Command overheadplot reads curves as JSON, as `go run ./internal/pages -plot`
// writes them, and draws them as the SVG of the guide about timeout, retries and
// interval. The same curves always make the same file, so that a stale one shows.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/color"
	"io"
	"os"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// figure is what is drawn. It has every number and every word.
type figure struct {
	Title string `json:"title"`
	// Description is for people who do not see the plot.
	Description string  `json:"description"`
	X           axis    `json:"x"` // logarithmic
	Y           axis    `json:"y"`
	Curves      []curve `json:"curves"`
}

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

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "overheadplot:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	var f figure
	decode := json.NewDecoder(in)
	decode.DisallowUnknownFields()
	if err := decode.Decode(&f); err != nil {
		return fmt.Errorf("read the curves: %w", err)
	}
	if len(f.Curves) > len(lines) {
		return fmt.Errorf("%d curves, and only %d colours", len(f.Curves), len(lines))
	}
	svg, err := f.draw()
	if err != nil {
		return err
	}
	_, err = out.Write(svg)
	return err
}

const (
	width, height = 640, 400 // points of the drawing, which scales
	size          = 12
	margin        = 6
)

// The colours stand for classes: style.go says which, and what they look like.
var (
	ink   = color.RGBA{0x01, 0, 0, 0xff}
	grid  = color.RGBA{0x02, 0, 0, 0xff}
	lines = []color.RGBA{{0x03, 0, 0, 0xff}, {0x04, 0, 0, 0xff}, {0x05, 0, 0, 0xff}}
)

func (f figure) draw() ([]byte, error) {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	plotter.DefaultFont = plot.DefaultFont
	p := plot.New()
	p.BackgroundColor = nil
	p.Title.Text, p.Title.Padding = f.Title, 6
	p.Title.TextStyle.Font.Size, p.Title.TextStyle.Color = size, ink
	for _, a := range []struct {
		of   *plot.Axis
		from axis
	}{{&p.X, f.X}, {&p.Y, f.Y}} {
		a.of.Label.Text, a.of.Min, a.of.Max = a.from.Label, a.from.Min, a.from.Max
		a.of.Label.TextStyle.Font.Size = size
		a.of.Tick.Label.Font.Size = size
		a.of.Label.TextStyle.Color, a.of.Tick.Label.Color = ink, ink
		a.of.Color, a.of.Tick.Color = ink, ink
		var ticks plot.ConstantTicks
		for _, t := range a.from.Ticks {
			ticks = append(ticks, plot.Tick{Value: t.At, Label: t.Label})
		}
		a.of.Tick.Marker = ticks
		a.of.Padding = 0
	}
	p.X.Scale = plot.LogScale{}
	raster := plotter.NewGrid()
	raster.Horizontal.Color, raster.Vertical.Color = grid, grid
	raster.Horizontal.Width, raster.Vertical.Width = 0.5, 0.5
	p.Add(raster)
	for i, c := range f.Curves {
		if err := c.add(p, lines[i]); err != nil {
			return nil, fmt.Errorf("curve %s: %w", c.Label, err)
		}
	}
	canvas := vgsvg.New(width, height)
	p.Draw(draw.Crop(draw.New(canvas), margin, -margin, margin, -margin))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, err
	}
	return f.styled(b.Bytes())
}

func (c curve) add(p *plot.Plot, colour color.Color) error {
	points := make(plotter.XYs, len(c.Points))
	for i, at := range c.Points {
		points[i] = plotter.XY{X: at[0], Y: at[1]}
	}
	line, err := plotter.NewLine(points)
	if err != nil {
		return err
	}
	line.Width, line.Color = 2, colour
	best := plotter.XYs{{X: c.Best.X, Y: c.Best.Y}}
	dot, err := plotter.NewScatter(best)
	if err != nil {
		return err
	}
	dot.GlyphStyle = draw.GlyphStyle{Color: colour, Radius: 4.5, Shape: draw.CircleGlyph{}}
	name, err := label(c.Label, points[0], colour, vg.Point{X: 6, Y: -2}, text.XLeft, text.YTop)
	if err != nil {
		return err
	}
	value, err := label(c.Best.Label, best[0], colour, vg.Point{Y: 8}, text.XCenter, text.YBottom)
	if err != nil {
		return err
	}
	p.Add(line, dot, name, value)
	return nil
}

// label writes a text beside a point.
func label(s string, at plotter.XY, colour color.Color, offset vg.Point, x text.XAlignment, y text.YAlignment) (*plotter.Labels, error) {
	l, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{at}, Labels: []string{s}})
	if err != nil {
		return nil, err
	}
	l.Offset = offset
	l.TextStyle[0].Font.Size = size
	l.TextStyle[0].Color = colour
	l.TextStyle[0].XAlign, l.TextStyle[0].YAlign = x, y
	return l, nil
}
