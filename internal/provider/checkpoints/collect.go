// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpoints

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/resilience"
)

// maxSeries is how many series are told apart: as many as the largest job has
// tasks.
const maxSeries = resilience.MaxTasks

var errTooManySeries = errors.New("too many series of checkpoints")

// Object is what a list says of an object. The name is relative to the folder of
// the pattern, the size in bytes.
type Object struct {
	Name    string
	Size    int64
	Created time.Time
}

// Checkpoint is a file, or a folder with everything in it.
type Checkpoint struct {
	Name string // relative; that of a folder ends in a slash
	Time time.Time
	Size int64
	// Objects is how many objects it consists of.
	Objects int64
}

// Series are the checkpoints of one task in one folder.
type Series struct {
	Folder string // relative, without a slash at its end; empty for the top
	Task   int64  // -1: not known
	Newest Checkpoint
	// Count and Size are of all its checkpoints.
	Count, Size int64
}

type seriesKey struct {
	folder string
	task   int64
}

// Collector goes through a list of objects, which comes by name, and keeps the
// newest checkpoint of each series. Its memory grows with the series only.
type Collector struct {
	pattern *Pattern
	ignore  *Ignore
	marker  string // name of the file that makes a folder whole; empty for none

	series map[seriesKey]*Series
	// unfinished counts objects that were left out as not whole.
	unfinished int64

	// The folder whose objects come at the moment.
	open  Checkpoint
	match Match
	whole bool
}

// NewCollector starts a collection.
func NewCollector(p *Pattern, ignore *Ignore, marker string) *Collector {
	return &Collector{pattern: p, ignore: ignore, marker: marker, series: map[seriesKey]*Series{}}
}

// Add takes the next object of the list.
func (c *Collector) Add(o Object) error {
	if o.Name == "" || strings.HasSuffix(o.Name, "/") {
		return nil // a folder marker
	}
	m, fits := c.pattern.Match(o.Name)
	if !fits {
		return nil
	}
	isMarker := c.marker != "" && o.Name == m.Checkpoint+c.marker
	if !isMarker && c.ignore.Match(o.Name) {
		c.unfinished++
		return nil
	}
	if !c.pattern.Folder() {
		return c.put(m, Checkpoint{Name: o.Name, Time: o.Created, Size: o.Size, Objects: 1})
	}
	if m.Checkpoint != c.open.Name {
		if err := c.close(); err != nil {
			return err
		}
		c.open, c.match, c.whole = Checkpoint{Name: m.Checkpoint}, m, c.marker == ""
	}
	c.whole = c.whole || isMarker
	if o.Created.After(c.open.Time) {
		c.open.Time = o.Created
	}
	c.open.Size += o.Size
	c.open.Objects++
	return nil
}

// close ends the folder whose objects came.
func (c *Collector) close() error {
	defer func() { c.open = Checkpoint{} }()
	switch {
	case c.open.Name == "":
		return nil
	case !c.whole:
		c.unfinished += c.open.Objects
		return nil
	}
	return c.put(c.match, c.open)
}

func (c *Collector) put(m Match, found Checkpoint) error {
	key := seriesKey{m.Series, m.Task}
	s := c.series[key]
	if s == nil {
		if len(c.series) == maxSeries {
			return errTooManySeries
		}
		s = &Series{Folder: key.folder, Task: key.task}
		c.series[key] = s
	}
	s.Count++
	s.Size += found.Size
	if s.Count == 1 || newer(found, s.Newest) {
		s.Newest = found
	}
	return nil
}

// newer tells whether a is newer than b. Of the same moment, the name decides.
func newer(a, b Checkpoint) bool {
	return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Name, b.Name)) > 0
}

// Finish ends the collection. It returns the series by folder and task, and how
// many objects were left out as not whole.
func (c *Collector) Finish() ([]Series, int64, error) {
	if err := c.close(); err != nil {
		return nil, 0, err
	}
	out := make([]Series, 0, len(c.series))
	for _, s := range c.series {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b Series) int {
		return cmp.Or(cmp.Compare(a.Folder, b.Folder), cmp.Compare(a.Task, b.Task))
	})
	return out, c.unfinished, nil
}
