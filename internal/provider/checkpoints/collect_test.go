// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpoints

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/api/storage/v1"
	"pgregory.net/rapid"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// gather collects objects in the order of a list.
func gather(t testing.TB, pattern, marker string, ignore []string, objects []Object) ([]Series, int64) {
	t.Helper()
	p, err := ParsePattern(pattern)
	if err != nil {
		t.Fatal(err)
	}
	c := NewCollector(p, newIgnore(ignore), marker)
	objects = slices.Clone(objects)
	slices.SortFunc(objects, func(a, b Object) int { return cmp.Compare(a.Name, b.Name) })
	for _, o := range objects {
		if err := c.Add(o); err != nil {
			t.Fatal(err)
		}
	}
	series, unfinished, err := c.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return series, unfinished
}

// at is an object that was written some minutes after noon, of 10 bytes.
func at(minutes int, name string) Object {
	return Object{Name: name, Size: 10, Created: noon.Add(time.Duration(minutes) * time.Minute)}
}

func TestCollect(t *testing.T) {
	t.Parallel()
	file := func(minutes int, name string) Checkpoint {
		return Checkpoint{Name: name, Time: at(minutes, "").Created, Size: 10, Objects: 1}
	}
	for name, c := range map[string]struct {
		pattern, marker string
		objects         []Object
		want            []Series
		unfinished      int64
	}{
		"nothing": {pattern: "**", want: []Series{}},
		"every object, by folder": {
			pattern: "**", objects: []Object{at(1, "a/x"), at(3, "a/y"), at(2, "a/z"), at(0, "top"), at(9, "a/"), at(9, "b/")},
			want:       []Series{{"", -1, file(0, "top"), 1, 10}, {"a", -1, file(3, "a/y"), 3, 30}},
			unfinished: 0,
		},
		"the newest is by time, not by name": {
			pattern: "task-{task}/step-*.ckpt", objects: []Object{at(5, "task-0/step-1.ckpt"), at(3, "task-0/step-2.ckpt"), at(9, "task-0/latest")},
			want: []Series{{"task-0", 0, file(5, "task-0/step-1.ckpt"), 2, 20}},
		},
		"of the same moment, by name": {
			pattern: "step-*", objects: []Object{at(5, "step-1"), at(5, "step-2")},
			want: []Series{{"", -1, file(5, "step-2"), 2, 20}},
		},
		"tasks in one folder": {
			pattern: "rank-{task}-*.pt", objects: []Object{at(1, "rank-10-a.pt"), at(2, "rank-2-a.pt"), at(3, "rank-2-b.pt")},
			want: []Series{{"", 2, file(3, "rank-2-b.pt"), 2, 20}, {"", 10, file(1, "rank-10-a.pt"), 1, 10}},
		},
		"a folder for each step": {
			pattern: "step-{step}/rank-{task}.pt",
			objects: []Object{at(1, "step-1/rank-0.pt"), at(1, "step-1/rank-1.pt"), at(2, "step-2/rank-0.pt")},
			want:    []Series{{"", 0, file(2, "step-2/rank-0.pt"), 2, 20}, {"", 1, file(1, "step-1/rank-1.pt"), 1, 10}},
		},
		"folders as checkpoints": {
			pattern: "task-{task}/step-*/",
			objects: []Object{at(1, "task-0/step-1/a"), at(4, "task-0/step-1/b"), at(2, "task-0/step-2/a"), at(3, "task-0/step-2/deep/b"), at(8, "task-0/step-2/"), at(9, "task-0/latest")},
			want:    []Series{{"task-0", 0, Checkpoint{"task-0/step-1/", at(4, "").Created, 20, 2}, 2, 40}},
		},
		// case 115: nobody sees a file before it is closed; a marker that is written
		// after the rest says that all of them are.
		"folders that are whole": {
			pattern: "step-*/", marker: ".metadata",
			objects:    []Object{at(1, "step-1/.metadata"), at(1, "step-1/a"), at(5, "step-2/a"), at(6, "step-2/b")},
			want:       []Series{{"", -1, Checkpoint{"step-1/", at(1, "").Created, 20, 2}, 1, 20}},
			unfinished: 2,
		},
		"a marker under a name that is ignored": {
			pattern: "step-*/", marker: ".done.new", objects: []Object{at(1, "step-1/.done.new"), at(1, "step-1/x.new"), at(2, "step-1/a")},
			want:       []Series{{"", -1, Checkpoint{"step-1/", at(2, "").Created, 20, 2}, 1, 20}},
			unfinished: 1,
		},
		"temporary names": {
			pattern: "**", objects: []Object{at(1, "a/x"), at(2, "a/y.tmp"), at(3, "tmp/z"), at(4, "a/.x.Ab12")},
			want:       []Series{{"a", -1, file(1, "a/x"), 1, 10}},
			unfinished: 3,
		},
		"a temporary folder": {
			pattern: "step-*/", objects: []Object{at(1, "step-1/a"), at(2, "step-2.tmp/a")},
			want:       []Series{{"", -1, Checkpoint{"step-1/", at(1, "").Created, 10, 1}, 1, 10}},
			unfinished: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, unfinished := gather(t, c.pattern, c.marker, defaultIgnore, c.objects)
			if !reflect.DeepEqual(got, c.want) || unfinished != c.unfinished {
				t.Errorf("%+v and %d unfinished\nwant %+v and %d", got, unfinished, c.want, c.unfinished)
			}
		})
	}
}

// Whatever the objects are, the result is that of looking at all of them at once.
func TestCollectProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`(task-[01]/)?step-[123]/(a|b|x\.tmp|DONE)`), 0, 12, rapid.ID).Draw(t, "names")
		var objects []Object
		for _, n := range names {
			objects = append(objects, Object{Name: n, Size: rapid.Int64Range(0, 5).Draw(t, "size"), Created: noon.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "time")) * time.Second)})
		}
		marker := rapid.SampledFrom([]string{"", "DONE"}).Draw(t, "marker")
		p, err := ParsePattern("**/step-{step}/")
		if err != nil {
			t.Fatal(err)
		}
		folders, whole := map[string]*Checkpoint{}, map[string]bool{}
		for _, o := range objects {
			if strings.HasSuffix(o.Name, ".tmp") {
				continue
			}
			at := strings.LastIndex(o.Name, "/") + 1
			f := folders[o.Name[:at]]
			if f == nil {
				f = &Checkpoint{Name: o.Name[:at]}
				folders[f.Name] = f
			}
			f.Objects++
			f.Size += o.Size
			if o.Created.After(f.Time) {
				f.Time = o.Created
			}
			whole[f.Name] = whole[f.Name] || marker == "" || o.Name[at:] == marker
		}
		want := map[string]*Series{}
		for name, f := range folders {
			if !whole[name] {
				continue
			}
			m, ok := p.Match(name + "x")
			if !ok {
				t.Fatal(name)
			}
			s := want[m.Series]
			if s == nil {
				s = &Series{Folder: m.Series, Task: -1, Newest: *f}
				want[m.Series] = s
			}
			s.Count++
			s.Size += f.Size
			if newer(*f, s.Newest) {
				s.Newest = *f
			}
		}
		c := NewCollector(p, newIgnore([]string{"*.tmp"}), marker)
		slices.SortFunc(objects, func(a, b Object) int { return cmp.Compare(a.Name, b.Name) })
		for _, o := range objects {
			if err := c.Add(o); err != nil {
				t.Fatal(err)
			}
		}
		got, _, err := c.Finish()
		if err != nil || len(got) != len(want) {
			t.Fatalf("%+v, %v; want %d", got, err, len(want))
		}
		for _, s := range got {
			if s != *want[s.Folder] {
				t.Fatalf("%+v, want %+v", s, *want[s.Folder])
			}
		}
	})
}

// listOf is a list of objects without end in sight, none of which stays in
// memory.
func listOf(n, tasks int) iter.Seq2[*storage.Object, error] {
	return func(yield func(*storage.Object, error) bool) {
		for task := range tasks {
			for i := range n / tasks {
				o := &storage.Object{Name: fmt.Sprintf("runs/42/task-%04d/step-%08d.ckpt", task, i), Size: 1, TimeCreated: noon.Add(time.Duration(i) * time.Second).Format(time.RFC3339)}
				if !yield(o, nil) {
					return
				}
			}
		}
	}
}

// What is kept grows with the tasks and not with the objects, and has an end.
func TestCollectKeepsSeriesOnly(t *testing.T) {
	t.Parallel()
	p, err := ParsePattern("task-{task}/step-*.ckpt")
	if err != nil {
		t.Fatal(err)
	}
	c := NewCollector(p, &Ignore{}, "")
	series, _, err := collect(c, "runs/42/", listOf(100_000, 10))
	if err != nil || len(series) != 10 || len(c.series) != 10 || series[9].Count != 10_000 || series[9].Newest.Name != "task-0009/step-00009999.ckpt" {
		t.Errorf("%d series, %d kept, %v", len(series), len(c.series), err)
	}
	if _, _, err = collect(NewCollector(p, &Ignore{}, ""), "runs/42/", listOf(maxSeries, maxSeries)); err != nil {
		t.Errorf("as many as may be: %v", err)
	}
	if _, _, err = collect(NewCollector(p, &Ignore{}, ""), "runs/42/", listOf(maxSeries+1, maxSeries+1)); !errors.Is(err, errTooManySeries) {
		t.Errorf("one too many: %v", err)
	}
	// Also when the last folder is the one too many.
	folders, err := ParsePattern("*/*/")
	if err != nil {
		t.Fatal(err)
	}
	c = NewCollector(folders, &Ignore{}, "")
	for i := range maxSeries + 1 {
		if err := c.Add(at(0, fmt.Sprintf("%06d/a/b", i))); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := c.Finish(); !errors.Is(err, errTooManySeries) {
		t.Errorf("the last folder: %v", err)
	}
}

// A time that is none is an error, and not the beginning of time.
func TestCollectWithoutTime(t *testing.T) {
	t.Parallel()
	p, err := ParsePattern(everything)
	if err != nil {
		t.Fatal(err)
	}
	list := func(yield func(*storage.Object, error) bool) { yield(&storage.Object{Name: "x"}, nil) }
	if _, _, err := collect(NewCollector(p, &Ignore{}, ""), "", list); err == nil {
		t.Error("no error")
	}
}

// BenchmarkCollect goes through the names of a large bucket, without the network.
func BenchmarkCollect(b *testing.B) {
	p, err := ParsePattern("task-{task}/step-*.ckpt")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, _, err := collect(NewCollector(p, newIgnore(defaultIgnore), ""), "runs/42/", listOf(1_000_000, 1000)); err != nil {
			b.Fatal(err)
		}
	}
}
