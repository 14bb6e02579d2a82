// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gcs "google.golang.org/api/storage/v1"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

// mount is a bucket's folder as a task sees it.
type mount struct {
	t   *testing.T
	dir string
}

func (w *world) mount(bucket string) mount {
	w.t.Helper()
	dir, ok := w.service.Dir(bucket)
	if !ok {
		w.t.Fatalf("no folder of %s", bucket)
	}
	return mount{w.t, dir}
}

func (m mount) path(name string) string { return filepath.Join(m.dir, filepath.FromSlash(name)) }

func (m mount) write(name, content string) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(m.path(name)), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(m.path(name), []byte(content), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

func (m mount) read(name string) string {
	m.t.Helper()
	raw, err := os.ReadFile(m.path(name))
	if err != nil {
		m.t.Fatal(err)
	}
	return string(raw)
}

func TestTasksSeeObjectsAndTheAPISeesFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("ckpt", hierarchical)
	m := w.mount("ckpt")

	w.put("ckpt", "run/step-1.bin", "one")
	equal(t, "as a file", m.read("run/step-1.bin"), "one")

	m.write("run/step-2.bin", "two")
	o, err := w.api.Objects.Get("ckpt", "run/step-2.bin").Do()
	ok(t, err)
	equal(t, "size", o.Size, 3)
	equal(t, "crc32c", o.Crc32c, crc("two"))
	equal(t, "metageneration", o.Metageneration, 1)
	equal(t, "content", w.text("ckpt", "run/step-2.bin"), "two")
	equal(t, "names", w.names("ckpt"), "run/step-1.bin run/step-2.bin")

	// Looking again makes nothing new.
	again, err := w.api.Objects.Get("ckpt", "run/step-2.bin").Do()
	ok(t, err)
	equal(t, "generation", again.Generation, o.Generation)

	// The same size, in place and at once.
	m.write("run/step-2.bin", "TWO")
	over, err := w.api.Objects.Get("ckpt", "run/step-2.bin").Do()
	ok(t, err)
	if over.Generation <= o.Generation || over.Crc32c != crc("TWO") {
		t.Errorf("overwritten: generation %d after %d, crc %s", over.Generation, o.Generation, over.Crc32c)
	}
	m.write("run/step-1.bin", "ONE") // one that the API made
	equal(t, "overwritten", w.text("ckpt", "run/step-1.bin"), "ONE")

	// Write a new name, move it over the old one.
	m.write("run/latest.tmp", "step-2")
	ok(t, os.Rename(m.path("run/latest.tmp"), m.path("run/latest")))
	equal(t, "pointer", w.text("ckpt", "run/latest"), "step-2")
	equal(t, "names", w.names("ckpt"), "run/latest run/step-1.bin run/step-2.bin")

	ok(t, os.Remove(m.path("run/step-1.bin")))
	_, err = w.api.Objects.Get("ckpt", "run/step-1.bin").Do()
	refused(t, err, 404, "notFound", "No such object")
	ok(t, w.api.Objects.Delete("ckpt", "run/step-2.bin").Do())
	if _, err := os.Stat(m.path("run/step-2.bin")); !os.IsNotExist(err) {
		t.Errorf("the file of a deleted object: %v", err)
	}
	_, err = w.api.Objects.Patch("ckpt", "run/latest", &gcs.Object{Metadata: map[string]string{"k": "v"}}).Do()
	ok(t, err)
	equal(t, "touched by nobody", w.text("ckpt", "run/latest"), "step-2")
	o, err = w.api.Objects.Get("ckpt", "run/latest").Do()
	ok(t, err)
	equal(t, "metadata", o.Metadata["k"], "v")
}

func TestFilesHaveTheTimeOfTheirWriting(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("ckpt")
	m := w.mount("ckpt")
	m.write("old", "x")
	hourAgo := time.Now().Add(-time.Hour)
	ok(t, os.Chtimes(m.path("old"), hourAgo, hourAgo))
	o, err := w.api.Objects.Get("ckpt", "old").Do()
	ok(t, err)
	created, err := time.Parse(time.RFC3339, o.TimeCreated)
	ok(t, err)
	if age := w.clock.Now().Sub(created); age < time.Hour || age > time.Hour+10*time.Minute {
		t.Errorf("the object is %s old, want an hour", age)
	}
}

// In a hierarchical bucket directories are folders.
func TestDirectoriesAreFolders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("deep", hierarchical)
	m := w.mount("deep")
	ok(t, os.MkdirAll(m.path("a/b/c"), 0o755))
	m.write("d/file", "x")
	equal(t, "folders", w.folders("deep"), "a/ a/b/ a/b/c/ d/")
	equal(t, "objects", w.names("deep"), "d/file")

	// Folders outlive the objects in them.
	ok(t, os.Remove(m.path("d/file")))
	equal(t, "folders", w.folders("deep"), "a/ a/b/ a/b/c/ d/")
	ok(t, os.Remove(m.path("d")))
	ok(t, os.Rename(m.path("a/b"), m.path("moved")))
	equal(t, "folders", w.folders("deep"), "a/ moved/ moved/c/")

	w.put("deep", "up/load", "x")
	equal(t, "made for an upload", w.folders("deep"), "a/ moved/ moved/c/ up/")
	ok(t, w.api.Objects.Delete("deep", "up/load").Do())
	ok(t, w.api.Folders.Delete("deep", "up/").Do())
	equal(t, "after delete", w.folders("deep"), "a/ moved/ moved/c/")
	refused(t, w.api.Buckets.Delete("deep").Do(), 409, "conflict", "not empty")
	// Its directory may be mounted: it is there, and stands for nothing until
	// something is written below it.
	m.write("up/again", "x")
	equal(t, "written below", w.folders("deep"), "a/ moved/ moved/c/ up/")

	equal(t, "prefixes", w.names("deep", func(c *gcs.ObjectsListCall) { c.Delimiter("/") }), "+up/")
	equal(t, "folders as prefixes", w.names("deep", func(c *gcs.ObjectsListCall) { c.Delimiter("/").IncludeFoldersAsPrefixes(true) }), "+a/ +moved/ +up/")
}

// In a flat bucket a directory that a task makes is a placeholder object, as
// gcsfuse makes one; one on the way to an object is nothing.
func TestDirectoriesArePlaceholders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("flat")
	m := w.mount("flat")
	w.put("flat", "api/x/file", "x")
	ok(t, os.Mkdir(m.path("made"), 0o755))
	equal(t, "names", w.names("flat"), "api/x/file made/")
	o, err := w.api.Objects.Get("flat", "made/").Do()
	ok(t, err)
	equal(t, "size", o.Size, 0)
	equal(t, "crc32c", o.Crc32c, "AAAAAA==")

	w.put("flat", "placed/", "")
	fi, err := os.Stat(m.path("placed"))
	ok(t, err)
	equal(t, "a placeholder is a directory", fi.IsDir(), true)
	ok(t, os.Remove(m.path("made")))
	ok(t, os.Remove(m.path("placed")))
	ok(t, w.api.Objects.Delete("flat", "api/x/file").Do())
	equal(t, "names", w.names("flat"), "")
	ok(t, w.api.Buckets.Delete("flat").Do())
}

// What is no plain file is no object, and what is behind a link is nobody's.
func TestLinksLeadNowhere(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	ok(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600))
	w := newWorld(t)
	w.bucket("linked")
	w.bucket("neighbour")
	w.put("neighbour", "file", "neighbour's")
	m := w.mount("linked")
	ok(t, os.Symlink(filepath.Join(outside, "secret"), m.path("file-link")))
	ok(t, os.Symlink(outside, m.path("dir-link")))
	ok(t, os.Symlink(w.mount("neighbour").dir, m.path("neighbour-link")))
	ok(t, os.Symlink("../blobs", m.path("blob-link")))

	equal(t, "names", w.names("linked"), "blob-link dir-link file-link neighbour-link")
	o, err := w.api.Objects.Get("linked", "file-link").Do()
	ok(t, err)
	equal(t, "as gcsfuse keeps a link", o.Metadata["gcsfuse_symlink_target"], filepath.Join(outside, "secret"))
	equal(t, "its content", w.text("linked", "file-link"), "")
	for _, name := range []string{"dir-link/secret", "neighbour-link/file"} {
		_, err := w.api.Objects.Get("linked", name).Do()
		refused(t, err, 404, "notFound", "No such object")
	}
	// Writing there makes objects, and no files behind the links.
	for _, name := range []string{"dir-link/secret", "dir-link/new", "neighbour-link/file", "blob-link/x", "file-link"} {
		w.put("linked", name, "mine")
		equal(t, name, w.text("linked", name), "mine")
	}
	raw, err := os.ReadFile(filepath.Join(outside, "secret"))
	ok(t, err)
	equal(t, "outside", string(raw), "secret")
	entries, err := os.ReadDir(outside)
	ok(t, err)
	equal(t, "files outside", len(entries), 1)
	equal(t, "the neighbour", w.text("neighbour", "file"), "neighbour's")
	for _, name := range []string{"dir-link/secret", "dir-link/new", "neighbour-link/file"} {
		ok(t, w.api.Objects.Delete("linked", name).Do())
	}
	raw, err = os.ReadFile(filepath.Join(outside, "secret"))
	ok(t, err)
	equal(t, "outside after deletes", string(raw), "secret")
}

// Names that cannot be files are objects all the same, outside the mount.
func TestNamesWithoutFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("odd")
	m := w.mount("odd")
	names := []string{
		"../escape", "a/../../escape", "/absolute", "a//b", "a/./b", "./x", "x/..", "...", "//", "/",
		strings.Repeat("n", 256), strings.Repeat("d/", 40) + "deep", `back\slash`, "-dash", "tab\there", "sp ace", "ünï", "%2e%2e%2f", "con", "a/.../b",
	}
	for _, name := range names {
		w.put("odd", name, "content of "+name)
	}
	for _, name := range names {
		equal(t, name, w.text("odd", name), "content of "+name)
	}
	equal(t, "listed", len(w.list("odd")), len(names))
	equal(t, "a plain one has a file", m.read("sp ace"), "content of sp ace")
	for _, outside := range []string{"../escape", "../../escape", "../../../escape"} {
		if _, err := os.Lstat(m.path(outside)); !os.IsNotExist(err) {
			t.Errorf("%s: %v", outside, err)
		}
	}
	for _, name := range names {
		ok(t, w.api.Objects.Delete("odd", name).Do())
	}
	ok(t, w.api.Buckets.Delete("odd").Do())
}

// Where a file is in the way of a directory, or the other way round, the second
// one has no file.
func TestFileAndDirectoryOfOneName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("clash")
	m := w.mount("clash")
	w.put("clash", "a", "file")
	w.put("clash", "a/b", "below")
	w.put("clash", "c/d", "below")
	w.put("clash", "c", "file")
	equal(t, "names", w.names("clash"), "a a/b c c/d")
	for name, want := range map[string]string{"a": "file", "a/b": "below", "c": "file", "c/d": "below"} {
		equal(t, name, w.text("clash", name), want)
	}
	equal(t, "the first", m.read("a"), "file")
	ok(t, w.api.Objects.Delete("clash", "a").Do())
	m.write("a/new", "x") // the task makes a directory of it
	equal(t, "names", w.names("clash"), "a/ a/b a/new c c/d")
	equal(t, "still there", w.text("clash", "a/b"), "below")
	m.write("a/b", "from the task")
	equal(t, "taken over", w.text("clash", "a/b"), "from the task")
}

// A bucket with versions keeps what a task overwrites in place.
func TestVersionsOfFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("kept", versioned)
	m := w.mount("kept")
	m.write("f", "one")
	first, err := w.api.Objects.Get("kept", "f").Do()
	ok(t, err)
	m.write("f", "two")
	equal(t, "live", w.text("kept", "f"), "two")
	equal(t, "first", w.text("kept", "f", first.Generation), "one")
	ok(t, os.Remove(m.path("f")))
	equal(t, "live", w.names("kept"), "")
	equal(t, "versions", w.names("kept", func(c *gcs.ObjectsListCall) { c.Versions(true) }), "f f")
	w.put("kept", "g", "api")
	g, err := w.api.Objects.Get("kept", "g").Do()
	ok(t, err)
	m.write("g", "task")
	equal(t, "overwritten", w.text("kept", "g"), "task")
	equal(t, "before", w.text("kept", "g", g.Generation), "api")
}

func TestObjectsSurviveARestart(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first, err := store.Folder(folder)
	ok(t, err)
	w := newWorldOn(t, first)
	w.bucket("flat", versioned)
	w.bucket("deep", hierarchical)
	old := w.put("flat", "dir/x", "one")
	w.put("flat", "dir/x", "two")
	w.put("flat", "../odd", "odd")
	w.mount("flat").write("task/file", "from a task")
	before := w.names("flat")
	o, err := w.api.Objects.Get("flat", "task/file").Do()
	ok(t, err)
	ok(t, os.Mkdir(w.mount("deep").path("folder"), 0o755))
	_, err = w.api.ManagedFolders.Insert("deep", &gcs.ManagedFolder{Name: "managed"}).Do()
	ok(t, err)
	folders := w.folders("deep")
	// Written while nobody looked.
	w.mount("flat").write("late", "late")
	w.stop()

	second, err := store.Folder(folder)
	ok(t, err)
	again := newWorldOn(t, second)
	equal(t, "names", again.names("flat"), strings.Replace(before, "task/", "late task/", 1))
	equal(t, "noncurrent", again.text("flat", "dir/x", old.Generation), "one")
	equal(t, "odd", again.text("flat", "../odd"), "odd")
	same, err := again.api.Objects.Get("flat", "task/file").Do()
	ok(t, err)
	equal(t, "generation", same.Generation, o.Generation)
	equal(t, "folders", again.folders("deep"), folders)
	_, err = again.api.ManagedFolders.Get("deep", "managed/").Do()
	ok(t, err)
	newest := again.put("flat", "dir/x", "three")
	if newest.Generation <= old.Generation {
		t.Error("a generation was given out twice")
	}
}

// list returns all names of a bucket as they are.
func (w *world) list(bucket string) []string {
	w.t.Helper()
	var names []string
	ok(w.t, w.api.Objects.List(bucket).Pages(w.t.Context(), func(page *gcs.Objects) error {
		for _, o := range page.Items {
			names = append(names, o.Name)
		}
		return nil
	}))
	return names
}

func (w *world) folders(bucket string) string {
	w.t.Helper()
	var names []string
	ok(w.t, w.api.Folders.List(bucket).PageSize(2).Pages(w.t.Context(), func(page *gcs.Folders) error {
		for _, f := range page.Items {
			names = append(names, f.Name)
		}
		return nil
	}))
	return strings.Join(names, " ")
}
