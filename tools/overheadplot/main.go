// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Command overheadplot reads curves as JSON, as `go run ./internal/pages -plot`
// writes them, and draws them as the PNG of the guide about timeout, retries and
// interval.
//
// It may import nothing of the project. Its main rule: the file names the curves
// that it shows, by their hash, so that a test finds a stale one. A file of the
// same curves is left as it is, because machines round differently; delete the
// file after a change of how things are drawn.
//
// It is a PNG because the page is shown by registries, which show no files of the
// repository: the image comes from its raw address, and an SVG comes from there as
// plain text, or without its styles.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"image/color"
	"io"
	"io/fs"
	"os"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
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
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: overheadplot FILE, with the curves on the standard input")
		os.Exit(2)
	}
	if err := run(os.Stdin, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "overheadplot:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, file string) error {
	curves, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("read the curves: %w", err)
	}
	note := fmt.Appendf(nil, "Source\x00%x", sha256.Sum256(curves))
	switch old, err := os.ReadFile(file); {
	case err == nil && bytes.Contains(old, note):
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	var f figure
	decode := json.NewDecoder(bytes.NewReader(curves))
	decode.DisallowUnknownFields()
	if err := decode.Decode(&f); err != nil {
		return fmt.Errorf("read the curves: %w", err)
	}
	if len(f.Curves) > len(lines) {
		return fmt.Errorf("%d curves, and only %d colours", len(f.Curves), len(lines))
	}
	picture, err := f.draw()
	if err != nil {
		return err
	}
	return os.WriteFile(file, annotate(picture, note), 0o644)
}

// annotate adds a text to a PNG, behind its first chunk.
func annotate(picture, note []byte) []byte {
	const first = 8 + 4 + 4 + 13 + 4 // signature; length, type, data and sum of the header
	body := append([]byte("tEXt"), note...)
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(note)))
	chunk = append(chunk, body...)
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(body))
	return bytes.Join([][]byte{picture[:first], chunk, picture[first:]}, nil)
}

const (
	width, height = 640, 400 // points of the drawing
	resolution    = 144      // dots per inch: two for each point
	size          = 12
	margin        = 6
)

var (
	paper = color.White
	ink   = color.RGBA{0x24, 0x29, 0x2f, 0xff}
	grid  = color.RGBA{0xd0, 0xd7, 0xde, 0xff}
	lines = []color.RGBA{{0x0a, 0x5f, 0xa8, 0xff}, {0xa8, 0x43, 0x00, 0xff}, {0x00, 0x6b, 0x54, 0xff}}
)

func (f figure) draw() ([]byte, error) {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	plotter.DefaultFont = plot.DefaultFont
	p := plot.New()
	p.BackgroundColor = paper
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
	canvas := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(resolution), vgimg.UseBackgroundColor(paper))}
	p.Draw(draw.Crop(draw.New(canvas), margin, -margin, margin, -margin))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
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
