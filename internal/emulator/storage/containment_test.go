// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

// FuzzContainment: whatever the names are, and whatever links a task left in
// the mount, nothing is written outside the folder of the bucket.
func FuzzContainment(f *testing.F) {
	for i, seed := range []string{
		"a", "../a", "../../../../tmp/x", "/etc/passwd", "a/../../b", "link/x", "link", "out/secret", "a//b", "a/./b", "a\x00b", "\xff",
		"a\\..\\b", strings.Repeat("a/", 100), "a/", "/", "..", "live/../blobs/x", "%2e%2e/x", "C:\\x", "con", "link/../x",
		// Long names, and long parts of names.
		strings.Repeat("n", 255), strings.Repeat("n", 256), strings.Repeat("n", 1024), strings.Repeat("n", 1025), strings.Repeat("nn/", 341), strings.Repeat("ü", 128),
		// Windows: devices, streams, what it strips from the end, its other separators and roots.
		"CON", "nul.txt", "COM1", "LPT9.bin", "com\u00b9", "CONIN$", "a:stream", "a::$DATA", "a.", "a. .", "a ", "..  ", ".. /x", "a./b", "a /b", "C:x", "c:/x",
		"\\\\host\\share\\x", "//host/share/x", "\\\\?\\C:\\x", "\\\\.\\PhysicalDrive0", "a<b>|?*\"", "GIT~1", "PROGRA~1/x",
		// One name to a file system that folds case or normalises.
		"Model", "MODEL", "\u00e9", "e\u0301", "\u212b", "\u00c5", "\ufb01le", "\u017f", "\u0130", "stra\u00dfe", "\u1e9e",
		// Looks like a dot, a slash or nothing.
		"\uff0e\uff0e/x", "..\uff0fx", "..\u2215x", "\u2024\u2024/x", "\u202e/../x", "\u200b../x", "\ufeff../x", ".\u0301./x",
		// Bytes that are no text, and encodings of dots that are too long.
		"\xc0\xae\xc0\xae/x", "..\xc0\xafx", "\xed\xa0\x80", "a\x00/../../x", "a\r\nb", "a\tb", "\x7f",
		// The names of this service's own folders, and of objects that XML clients may not use.
		"blobs/x", "live/x", "records/x", "../../../records/x", ".well-known/acme-challenge/x", "up/x", "up/blobs/x", "dot/dot/x", "dot/up/up/x", "out/../../x",
	} {
		// The other name is below it, above it, beside it, or the same to a file system that folds case.
		other := []string{seed + "/b", "x/" + seed, seed + "2", strings.ToUpper(seed)}[i%4]
		f.Add(seed, other, i%3 == 0)
	}
	f.Fuzz(func(t *testing.T, name, other string, hierarchical bool) {
		if len(name)+len(other) > 4000 {
			t.Skip("longer than any name")
		}
		top := t.TempDir()
		data := filepath.Join(top, "data")
		outside := filepath.Join(top, "outside")
		if err := os.MkdirAll(outside, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("the content of a file outside"), 0o600); err != nil {
			t.Fatal(err)
		}
		st, err := store.Folder(data)
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(st, nil, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close(); _ = st.Close() }()
		body := `{"name":"bucket","iamConfiguration":{"uniformBucketLevelAccess":{"enabled":true}},"softDeletePolicy":{"retentionDurationSeconds":"0"}`
		if hierarchical {
			body += `,"hierarchicalNamespace":{"enabled":true}`
		}
		send := func(method, path, body string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body)))
			if w.Code >= http.StatusInternalServerError {
				t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
			}
			return w
		}
		do := func(method, path, body string) int { return send(method, path, body).Code }
		read := func(path string) string { return send("GET", path, "").Body.String() }
		s.namesFold = len(name)%2 == 1 // as on a file system that folds
		do("POST", "/storage/v1/b?project=p", body+"}")
		dir, _ := s.Dir("bucket")
		for from, to := range map[string]string{"link": outside, "out": "../../../../../outside", "up": "..", "dot": "."} {
			if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
				t.Fatal(err)
			}
		}
		a, b := url.PathEscape(name), url.PathEscape(other)
		for _, n := range []string{name, other} {
			do("POST", "/upload/storage/v1/b/bucket/o?uploadType=media&name="+url.QueryEscape(n), "content")
			if n == "" {
				continue
			}
			e := url.PathEscape(n)
			do("GET", "/storage/v1/b/bucket/o/"+e, "")
			if got := read("/storage/v1/b/bucket/o/" + e + "?alt=media"); strings.Contains(got, "the content of a file outside") {
				t.Fatalf("the name %q reads a file outside", n)
			}
			do("POST", "/storage/v1/b/bucket/folders?recursive=true", `{"name":`+quoteJSON(n)+`}`)
		}
		if a != "" && b != "" {
			do("POST", "/storage/v1/b/bucket/o/"+a+"/rewriteTo/b/bucket/o/"+b, "{}")
			do("POST", "/storage/v1/b/bucket/o/"+a+"/moveTo/o/"+b, "{}")
			do("POST", "/storage/v1/b/bucket/o/"+a+"/compose", `{"sourceObjects":[{"name":`+quoteJSON(other)+`}]}`)
			do("POST", "/storage/v1/b/bucket/folders/"+a+"/renameTo/folders/"+b, "")
			do("DELETE", "/storage/v1/b/bucket/folders/"+a, "")
			do("DELETE", "/storage/v1/b/bucket/o/"+b, "")
		}
		do("GET", "/storage/v1/b/bucket/o", "")

		err = filepath.WalkDir(top, func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(top, path)
			if err != nil {
				return err
			}
			bucket := filepath.Join("data", "data", "storage", "buckets", "bucket")
			switch {
			case rel == ".", rel == "outside", rel == filepath.Join("outside", "secret"):
			case strings.HasPrefix(bucket, rel): // on the way
			case strings.HasPrefix(rel, filepath.Join(bucket, "live")), strings.HasPrefix(rel, filepath.Join(bucket, "blobs")):
			case strings.HasPrefix(rel, filepath.Join("data", "records")), rel == filepath.Join("data", "lock"), rel == filepath.Join("data", "format"):
			default:
				t.Errorf("names %q and %q made %s", name, other, rel)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(filepath.Join(outside, "secret"))
		if err != nil || string(raw) != "the content of a file outside" {
			t.Errorf("names %q and %q changed what is outside: %q, %v", name, other, raw, err)
		}
	})
}

func quoteJSON(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20:
			b.WriteString(`\u00`)
			b.WriteByte("0123456789abcdef"[r>>4])
			b.WriteByte("0123456789abcdef"[r&15])
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// On a file system that holds "A" and "a" for one file, the second of them has
// no file.
func TestFoldedNames(t *testing.T) {
	t.Parallel()
	st := store.Memory()
	s, err := New(st, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(); _ = st.Close() })
	s.namesFold = true
	do := func(method, path, body string) string {
		t.Helper()
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body)))
		if w.Code >= http.StatusBadRequest {
			t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
		}
		return w.Body.String()
	}
	do("POST", "/storage/v1/b?project=p", `{"name":"bucket"}`)
	names := []string{"Model", "model", "Dir/a", "dir/b", "Dir/A", "\u00e9", "e\u0301"}
	for _, n := range names {
		do("POST", "/upload/storage/v1/b/bucket/o?uploadType=media&name="+url.QueryEscape(n), n)
	}
	dir, _ := s.Dir("bucket")
	for i, n := range names {
		if got := do("GET", "/storage/v1/b/bucket/o/"+url.PathEscape(n)+"?alt=media", ""); got != n {
			t.Errorf("%q holds %q", n, got)
		}
		_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(n)))
		if hasFile := err == nil; hasFile != (i == 0 || i == 2 || i == 5) {
			t.Errorf("%q has a file: %v", n, hasFile)
		}
	}
}

func TestLivePath(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a": "live/a", "a/b": "live/a/b", "a/": "live/a", "a b": "live/a b", "...": "live/...", ".a": "live/.a", "ü/é": "live/ü/é",
		"": "", ".": "", "..": "", "/": "", "/a": "", "a//b": "", "a/../b": "", "./a": "", "a/.": "", "a\x00": "", "a\nb": "", "\xff": "", "//": "",
		strings.Repeat("n", 255): "live/" + strings.Repeat("n", 255), strings.Repeat("n", 256): "",
	} {
		got, ok := livePath(name)
		if got != want || ok != (want != "") {
			t.Errorf("%q: got %q %v, want %q", name, got, ok, want)
		}
	}
}
