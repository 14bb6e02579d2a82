// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package emulator_test

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

var writeSample = flag.Bool("write-sample", false, "write the sample of a data folder anew; only for a new format: the samples of the older ones stay as they are")

// samples are the formats of data folders that were ever written. Each has an
// archive of a folder, and the answers that were read from it.
var samples = []string{"testdata/data-format-1"}

// sampleTime is when the samples were written, and an hour later they are read.
var sampleTime = time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)

// sampleAnswers are what was read, by request: "GET /path", or "POST /path BODY".
type sampleAnswers map[string]json.RawMessage

// A folder that an earlier version wrote is read: everything that was in it is
// answered as it was.
func TestOlderDataFolders(t *testing.T) {
	t.Parallel()
	if *writeSample {
		writeNewSample(t, samples[len(samples)-1])
	}
	for _, sample := range samples {
		t.Run(filepath.Base(sample), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			unpack(t, sample+".tar.gz", dir)
			raw, err := os.ReadFile(sample + ".json")
			if err != nil {
				t.Fatal(err)
			}
			var want sampleAnswers
			if err := json.Unmarshal(raw, &want); err != nil {
				t.Fatal(err)
			}
			for _, again := range []bool{false, true} { // what has been read is kept as it is
				e := openSample(t, dir)
				if again {
					// The end of the interrupted execution was written by the first start.
					for request := range want {
						if strings.Contains(request, "train-now") {
							delete(want, request)
						}
					}
				}
				for request, text := range want {
					if got, was := ask(t, e, request), reformat(t, text); got != was {
						t.Errorf("%s (again: %t):\n%s\nwas\n%s", request, again, got, was)
					}
				}
				if err := e.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func openSample(t *testing.T, dir string) *emulator.Emulator {
	t.Helper()
	return start(t, func(o *emulator.Options) { o.Data, o.Clock = dir, clockwork.NewFakeClockAt(sampleTime.Add(time.Hour)) })
}

// ask sends a request and returns the answer, without what depends on the port.
func ask(t *testing.T, e *emulator.Emulator, request string) string {
	t.Helper()
	method, rest, _ := strings.Cut(request, " ")
	path, body, _ := strings.Cut(rest, " ")
	got := must(t, e, method, path, body)
	text := strings.ReplaceAll(got.text, e.Addr(), "HOST")
	if !json.Valid([]byte(text)) {
		return quote(text)
	}
	return reformat(t, []byte(text))
}

func reformat(t *testing.T, raw []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// writeNewSample writes one of today's format.
func writeNewSample(t *testing.T, sample string) {
	t.Helper()
	dir := t.TempDir()
	e := start(t, func(o *emulator.Options) { o.Data, o.Clock = dir, clockwork.NewFakeClockAt(sampleTime) })
	if err := e.Seed(t.Context(), []byte(everything)); err != nil {
		t.Fatal(err)
	}
	must(t, e, "POST", "/storage/v1/b?project=p", `{"name":"soft-bucket","softDeletePolicy":{"retentionDurationSeconds":"604800"},"lifecycle":{"rule":[{"action":{"type":"Delete"},"condition":{"age":30}}]}}`)
	must(t, e, "POST", "/upload/storage/v1/b/soft-bucket/o?uploadType=media&name=deleted", "x", "Content-Type", "text/plain")
	rest(t, e, "DELETE", "/storage/v1/b/soft-bucket/o/deleted", "")
	must(t, e, "POST", "/storage/v1/b/folders-bucket/managedFolders", `{"name":"managed/"}`)
	must(t, e, "POST", "/v1/projects/p/secrets/api-key/versions/1:disable", "{}")
	must(t, e, "POST", "/v1/projects/p/serviceAccounts", `{"accountId":"deleted"}`)
	rest(t, e, "DELETE", "/v1/projects/p/serviceAccounts/deleted@p.iam.gserviceaccount.com", "")
	created, _ := must(t, e, "POST", "/v2/"+parent+"/jobs?jobId=plain", minimal).at("name").(string)
	ask(t, e, "GET /v2/"+created)
	live, _ := e.Storage().Dir("soft-bucket")
	if err := errors.Join(os.MkdirAll(filepath.Join(live, "by-a-task"), 0o700), os.WriteFile(filepath.Join(live, "by-a-task", "file.txt"), []byte("y"), 0o600)); err != nil {
		t.Fatal(err)
	}
	ask(t, e, "GET /storage/v1/b/soft-bucket/o")
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	pack(t, dir, sample+".tar.gz")

	again := openSample(t, dir)
	answers := sampleAnswers{}
	for _, request := range []string{
		"GET /v2/" + created, "GET /v2/" + parent + "/jobs", "GET /v2/" + parent + "/jobs/train", "GET /v2/" + parent + "/jobs/train:getIamPolicy",
		"GET /v2/" + parent + "/jobs/train/executions", "GET /v2/" + parent + "/jobs/train/executions/train-first", "GET /v2/" + parent + "/jobs/train/executions/train-first/tasks",
		"GET /v2/" + parent + "/jobs/train/executions/train-now", "GET /v2/" + parent + "/jobs/train/executions/train-now/tasks",
		"GET /v1/projects/p/serviceAccounts", "GET /v1/projects/p/serviceAccounts/trainer@p.iam.gserviceaccount.com",
		"GET /v1/projects/p/secrets", "GET /v1/projects/p/secrets/api-key/versions", "GET /v1/projects/p/secrets/api-key/versions/2:access", "GET /v1/projects/p/secrets/api-key:getIamPolicy",
		"GET /storage/v1/b?project=p&projection=full", "GET /storage/v1/b/ckpt-bucket/iam", "GET /storage/v1/b/ckpt-bucket/o?versions=true", "GET /storage/v1/b/ckpt-bucket/o/run%2Flatest?alt=media",
		"GET /storage/v1/b/ckpt-bucket/o?delimiter=/", "GET /storage/v1/b/soft-bucket/o?softDeleted=true", "GET /storage/v1/b/soft-bucket/o", "GET /storage/v1/b/soft-bucket/o/by-a-task%2Ffile.txt?alt=media",
		"GET /storage/v1/b/folders-bucket/folders", "GET /storage/v1/b/folders-bucket/managedFolders",
		`POST /v2/entries:list {"resourceNames":["projects/p"],"filter":"logName=\"projects/p/logs/l\" OR labels.\"run.googleapis.com/execution_name\"=\"train-first\""}`,
	} {
		answers[request] = json.RawMessage(ask(t, again, request))
	}
	raw, err := json.MarshalIndent(answers, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(sample+".json", append(raw, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

func pack(t *testing.T, dir, archive string) {
	t.Helper()
	f, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	zipped := gzip.NewWriter(f)
	out := tar.NewWriter(zipped)
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir || entry.Name() == "lock" {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		header, err := tar.FileInfoHeader(info, "")
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		header.Name, header.Uname, header.Gname, header.Uid, header.Gid = filepath.ToSlash(rel), "", "", 0, 0
		if err := out.WriteHeader(header); err != nil || entry.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err == nil {
			_, err = out.Write(raw)
		}
		return err
	})
	if err := errors.Join(err, out.Close(), zipped.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	zipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	in := tar.NewReader(zipped)
	for {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(header.Name))
		if header.FileInfo().IsDir() {
			err = os.MkdirAll(path, 0o700)
		} else {
			var raw []byte
			if raw, err = io.ReadAll(in); err == nil {
				err = os.WriteFile(path, raw, 0o600)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A record with a field that this version does not know is none of its format:
// it would be lost with the next write.
func TestUnknownFieldOfARecord(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := start(t, func(o *emulator.Options) { o.Data = dir })
	must(t, first, "POST", "/storage/v1/b?project=p", `{"name":"ckpt-bucket"}`)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := store.Folder(dir)
	if err != nil {
		t.Fatal(err)
	}
	const key = "storage/buckets/ckpt-bucket"
	raw, _ := s.Get(key)
	if err := errors.Join(s.Put(key, []byte(strings.Replace(string(raw), "{", `{"later":1,`, 1))), s.Close()); err != nil {
		t.Fatal(err)
	}
	_, err = emulator.Start(emulator.Options{Data: dir})
	if err == nil || !strings.Contains(err.Error(), `record storage/buckets/ckpt-bucket: json: unknown field "later"`) {
		t.Errorf("%v", err)
	}
}

// A copied folder holds the same objects: no file of it counts as written anew.
func TestCopiedDataFolder(t *testing.T) {
	t.Parallel()
	dir, archive := t.TempDir(), filepath.Join(t.TempDir(), "a.tar.gz")
	first := start(t, func(o *emulator.Options) { o.Data = dir })
	must(t, first, "POST", "/storage/v1/b?project=p", `{"name":"ckpt-bucket","versioning":{"enabled":true}}`)
	for _, name := range []string{"a", "dir/b"} {
		must(t, first, "POST", "/upload/storage/v1/b/ckpt-bucket/o?uploadType=media&name="+name, "x", "Content-Type", "text/plain")
	}
	live, _ := first.Storage().Dir("ckpt-bucket")
	if err := os.WriteFile(filepath.Join(live, "c"), []byte("z"), 0o600); err != nil {
		t.Fatal(err)
	}
	const list = "GET /storage/v1/b/ckpt-bucket/o?versions=true"
	want := ask(t, first, list)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	pack(t, dir, archive)
	copied := t.TempDir()
	unpack(t, archive, copied)
	second := start(t, func(o *emulator.Options) { o.Data = copied })
	if got := ask(t, second, list); got != want {
		t.Errorf("%s\nwas\n%s", got, want)
	}
	live, _ = second.Storage().Dir("ckpt-bucket")
	if err := os.WriteFile(filepath.Join(live, "c"), []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := must(t, second, "GET", "/storage/v1/b/ckpt-bucket/o?versions=true&prefix=c", ""); len(got.at("items").([]any)) != 2 {
		t.Errorf("a file that was written after the copy: %s", got.text)
	}
	if got := rest(t, second, "GET", "/storage/v1/b/ckpt-bucket/o/dir%2F", ""); got.code != http.StatusNotFound {
		t.Errorf("a folder on the way to an object became one: %d %s", got.code, got.text)
	}
}
