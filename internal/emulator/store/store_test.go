// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package store_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

func folder(t *testing.T, path string) *store.Store {
	t.Helper()
	s, err := store.Folder(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func put(t *testing.T, s *store.Store, key, value string) {
	t.Helper()
	if err := s.Put(key, []byte(value)); err != nil {
		t.Fatal(err)
	}
}

func TestStores(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*store.Store{"memory": store.Memory(), "folder": folder(t, t.TempDir())} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			value := []byte("one")
			if err := s.Put("run/a", value); err != nil {
				t.Fatal(err)
			}
			value[0] = 'X' // the store has its own copy
			put(t, s, "run/b", "two")
			put(t, s, "iam/a", "")
			got, ok := s.Get("run/a")
			if !ok || string(got) != "one" {
				t.Errorf("Get(run/a) = %q, %v; want one", got, ok)
			}
			got[0] = 'X'
			if again, _ := s.Get("run/a"); string(again) != "one" {
				t.Errorf("the bytes that Get returned are the store's own: %q", again)
			}
			if got, ok := s.Get("iam/a"); !ok || len(got) != 0 {
				t.Errorf("Get(iam/a) = %q, %v; want an empty value", got, ok)
			}
			if got := s.Keys("run/"); !slices.Equal(got, []string{"run/a", "run/b"}) {
				t.Errorf("Keys(run/) = %v", got)
			}
			if err := s.Delete("run/a"); err != nil {
				t.Fatal(err)
			}
			if err := s.Delete("run/a"); err != nil {
				t.Errorf("deleting a missing key: %v", err)
			}
			if _, ok := s.Get("run/a"); ok {
				t.Error("run/a is there after its deletion")
			}
			for _, key := range []string{"", "/a", "a/", "a//b"} {
				if err := s.Put(key, nil); err == nil {
					t.Errorf("Put(%q) was accepted", key)
				}
			}
			if info, err := os.Stat(s.Root()); err != nil || !info.IsDir() {
				t.Errorf("Root() = %q is no folder: %v", s.Root(), err)
			}
		})
	}
}

func TestMemoryLeavesNothing(t *testing.T) {
	t.Parallel()
	s := store.Memory()
	root := s.Root()
	if err := os.WriteFile(filepath.Join(root, "object"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(root); !os.IsNotExist(err) {
		t.Errorf("%s is there after Close: %v", root, err)
	}
}

func TestFolderComesBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	keys := []string{
		"run/projects/p/locations/l/jobs/j", "run/projects/p", "iam/a@p.iam.gserviceaccount.com",
		"x/..", "x/.", "x/.hidden", "x/a b%2Fc", "x/ü:*?", "x.rec/y", "x", "x.rec", "x.tmp", "x/y.rec/z", "x/y",
	}
	first := folder(t, dir)
	for _, key := range keys {
		put(t, first, key, "value of "+key)
	}
	if err := first.Delete("x/y"); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	// What a killed emulator may leave.
	if err := os.WriteFile(filepath.Join(dir, "records", "half.rec.tmp"), []byte("ha"), 0o600); err != nil {
		t.Fatal(err)
	}
	second := folder(t, dir)
	want := slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k == "x/y" })
	slices.Sort(want)
	if got := second.Keys(""); !slices.Equal(got, want) {
		t.Errorf("keys after a restart:\n%q\nwant\n%q", got, want)
	}
	for _, key := range want {
		if got, _ := second.Get(key); string(got) != "value of "+key {
			t.Errorf("Get(%q) = %q", key, got)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "records", "half.rec.tmp")); !os.IsNotExist(err) {
		t.Errorf("the half-written record is still there: %v", err)
	}
}

func TestFolderIsForOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := folder(t, dir)
	if _, err := store.Folder(dir); err == nil || !strings.Contains(err.Error(), "in use by another emulator") {
		t.Errorf("a second store on the folder: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	folder(t, dir)
}

// A cleared store is as a new one, also after a restart, and still nobody else's.
func TestClear(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, s := range map[string]*store.Store{"memory": store.Memory(), "folder": folder(t, dir)} {
		put(t, s, "run/a", "one")
		if err := os.WriteFile(filepath.Join(s.Root(), "object"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if s.Empty() {
			t.Errorf("%s: empty with a record", name)
		}
		if err := s.Clear(); err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(s.Root()); err != nil || len(left) != 0 || len(s.Keys("")) != 0 || !s.Empty() {
			t.Errorf("%s: %v, %v, %q are left", name, left, err, s.Keys(""))
		}
		put(t, s, "run/b", "two")
		if got := s.Keys("run/"); !slices.Equal(got, []string{"run/b"}) {
			t.Errorf("%s: keys %q", name, got)
		}
		if name == "folder" {
			if _, err := store.Folder(dir); err == nil {
				t.Error("a cleared folder may be used by another")
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got := folder(t, dir).Keys(""); !slices.Equal(got, []string{"run/b"}) {
		t.Errorf("keys after a restart: %q", got)
	}
}

// A clear that was broken off is finished by the next start: no object may come
// back to life in a bucket of the same name.
func TestBrokenOffClear(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := folder(t, dir)
	put(t, first, "run/a", "one")
	if err := os.WriteFile(filepath.Join(first.Root(), "object"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "records"), filepath.Join(dir, "cleared")); err != nil {
		t.Fatal(err)
	}
	second := folder(t, dir)
	if left, err := os.ReadDir(second.Root()); err != nil || len(left) != 0 || !second.Empty() {
		t.Errorf("%v, %v, %q are left", left, err, second.Keys(""))
	}
	if _, err := os.Stat(filepath.Join(dir, "cleared")); !os.IsNotExist(err) {
		t.Errorf("what was cleared is still there: %v", err)
	}
}

// A folder says which form it has; one of a later form is left alone.
func TestFormat(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := folder(t, dir)
	put(t, first, "run/a", "one")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "format")
	if raw, err := os.ReadFile(file); err != nil || string(raw) != "1\n" {
		t.Errorf("format %q, %v", raw, err)
	}
	for text, want := range map[string]string{
		"2\n": "was written by a newer emulator: it has format 2, and this one reads formats up to 1",
		"x\n": `holds "x" and not the number of a format`,
		"":    "not the number of a format",
		"0":   "not the number of a format",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Folder(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("format %q: %v, want %q", text, err, want)
		}
		if raw, err := os.ReadFile(file); err != nil || string(raw) != text {
			t.Errorf("the file of format %q became %q, %v", text, raw, err)
		}
	}
	if err := os.Remove(file); err != nil { // as folders were before
		t.Fatal(err)
	}
	if got := folder(t, dir).Keys(""); !slices.Equal(got, []string{"run/a"}) {
		t.Errorf("keys of a folder without a format: %q", got)
	}
}

func TestFolderIsPrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "data")
	put(t, folder(t, dir), "logging/entry", "secret")
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && path != dir && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v: others may read it", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestProto(t *testing.T) {
	t.Parallel()
	s := store.Memory()
	if err := store.PutProto(s, "a", wrapperspb.String("x")); err != nil {
		t.Fatal(err)
	}
	got := &wrapperspb.StringValue{}
	if found, err := store.GetProto(s, "a", got); err != nil || !found || got.GetValue() != "x" {
		t.Errorf("GetProto = %v, %v, %v", found, err, got)
	}
	if found, err := store.GetProto(s, "b", got); err != nil || found {
		t.Errorf("GetProto of a missing key = %v, %v", found, err)
	}
	put(t, s, "broken", "\xff\xff")
	if _, err := store.GetProto(s, "broken", got); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("GetProto of a broken record: %v; want its key", err)
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	s := folder(t, t.TempDir())
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 50 {
				key := fmt.Sprintf("k/%d", i%5)
				if err := s.Put(key, bytes.Repeat([]byte{byte(w)}, 100)); err != nil {
					t.Error(err)
				}
				if value, ok := s.Get(key); ok && (len(value) != 100 || value[0] != value[99]) {
					t.Errorf("a torn value of %s", key)
				}
				s.Keys("k/")
			}
		})
	}
	wg.Wait()
}

func TestIdentifiers(t *testing.T) {
	t.Parallel()
	uid := regexp.MustCompile(`^00e30000-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	if a, b := store.NewUID(), store.NewUID(); !uid.MatchString(a) || a == b {
		t.Errorf("uids %s and %s", a, b)
	}
	number := regexp.MustCompile(`^999[0-9]{9}$`)
	for _, project := range []string{"p", "my-project", "example.com:scoped", ""} {
		got := store.ProjectNumber(project)
		if !number.MatchString(got) || got != store.ProjectNumber(project) || store.ProjectNumber(got) != got {
			t.Errorf("ProjectNumber(%q) = %s", project, got)
		}
	}
	if store.ProjectNumber("a") == store.ProjectNumber("b") {
		t.Error("two projects have one number")
	}
}
