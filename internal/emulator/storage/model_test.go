// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	gcs "google.golang.org/api/storage/v1"
	"pgregory.net/rapid"
)

// Whatever clients and a task do in turn, the API lists and serves what a plain
// map of names would hold, in both kinds of bucket.
func TestAPIAndMountAgreeWithAModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("flat")
	w.bucket("deep", hierarchical)
	w.bucket("kept", versioned)
	rapid.Check(t, func(rt *rapid.T) {
		bucket := rapid.SampledFrom([]string{"flat", "deep", "kept"}).Draw(rt, "bucket")
		m := w.mount(bucket)
		clearBucket(rt, w, bucket)
		model := map[string]string{}
		// Names of which some are in each other's way, and some have no file.
		name := rapid.SampledFrom([]string{"a", "b", "d/a", "d/b", "d/e/a", "d-x", "f/g", "../up", "x//y", strings.Repeat("n", 300)})
		content := rapid.SampledFrom([]string{"", "one", "two", "three and more"})
		rt.Repeat(map[string]func(*rapid.T){
			"api write": func(rt *rapid.T) {
				n, c := name.Draw(rt, "name"), content.Draw(rt, "content")
				if _, err := w.api.Objects.Insert(bucket, &gcs.Object{Name: n}).Media(strings.NewReader(c)).Do(); err != nil {
					rt.Fatal(err)
				}
				model[n] = c
			},
			"api delete": func(rt *rapid.T) {
				n := name.Draw(rt, "name")
				err := w.api.Objects.Delete(bucket, n).Do()
				if _, there := model[n]; there != (err == nil) {
					rt.Fatalf("deleting %s: %v, in the model %v", n, err, there)
				}
				delete(model, n)
			},
			"api move": func(rt *rapid.T) {
				from, to := name.Draw(rt, "from"), name.Draw(rt, "to")
				_, err := w.api.Objects.Move(bucket, from, to).Do()
				if _, there := model[from]; (there && from != to) != (err == nil) {
					rt.Fatalf("moving %s to %s: %v, in the model %v", from, to, err, there)
				}
				if err == nil {
					model[to] = model[from]
					delete(model, from)
				}
			},
			"task write": func(rt *rapid.T) {
				n, c := name.Draw(rt, "name"), content.Draw(rt, "content")
				if strings.Contains(n, "..") || strings.Contains(n, "//") || len(n) > 255 {
					rt.Skip("no file")
				}
				dir := m.path(n[:strings.LastIndex(n, "/")+1])
				if os.MkdirAll(dir, 0o755) != nil {
					rt.Skip("a file is in the way")
				}
				if os.WriteFile(m.path(n), []byte(c), 0o644) != nil {
					rt.Skip("a directory is in the way")
				}
				model[n] = c
			},
			"task rename": func(rt *rapid.T) {
				from, to := name.Draw(rt, "from"), name.Draw(rt, "to")
				fi, err := os.Lstat(m.path(from))
				if err != nil || !fi.Mode().IsRegular() || from == to || strings.Contains(from+to, "..") || strings.Contains(from+to, "//") {
					rt.Skip("no file")
				}
				if os.Rename(m.path(from), m.path(to)) != nil {
					rt.Skip("no way")
				}
				model[to] = model[from]
				delete(model, from)
			},
			"task remove": func(rt *rapid.T) {
				n := name.Draw(rt, "name")
				fi, err := os.Lstat(m.path(n))
				if err != nil || !fi.Mode().IsRegular() || strings.Contains(n, "..") || strings.Contains(n, "//") {
					rt.Skip("no file")
				}
				if err := os.Remove(m.path(n)); err != nil {
					rt.Fatal(err)
				}
				delete(model, n)
			},
			"": func(rt *rapid.T) {
				listed := map[string]string{}
				var got []string
				page, err := w.api.Objects.List(bucket).Do()
				if err != nil {
					rt.Fatal(err)
				}
				for _, o := range page.Items {
					if strings.HasSuffix(o.Name, "/") { // placeholders are tested by themselves
						continue
					}
					got = append(got, o.Name)
					listed[o.Name] = o.Crc32c
				}
				want := slices.Sorted(maps.Keys(model))
				if !slices.Equal(got, want) {
					rt.Fatalf("listed %v, want %v", got, want)
				}
				for n, c := range model {
					if listed[n] != crc(c) {
						rt.Fatalf("%s is listed with the sum %s, want that of %q", n, listed[n], c)
					}
				}
				if len(want) == 0 {
					return
				}
				n := rapid.SampledFrom(want).Draw(rt, "read")
				if got := w.text(bucket, n); got != model[n] {
					rt.Fatalf("%s holds %q, want %q", n, got, model[n])
				}
			},
		})
	})
}

func clearBucket(rt *rapid.T, w *world, bucket string) {
	for _, n := range w.list(bucket) {
		if err := w.api.Objects.Delete(bucket, n).Do(); err != nil {
			rt.Fatal(err)
		}
	}
	if got := w.list(bucket); len(got) > 0 {
		rt.Fatalf("left %v", got)
	}
}
