// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	gcs "google.golang.org/api/storage/v1"
)

// session starts a resumable upload and returns the path of its session.
func (w *world) session(bucket, name string, header ...string) string {
	w.t.Helper()
	status, body, h := w.send("POST", "/resumable/upload/storage/v1/b/"+bucket+"/o?uploadType=resumable", `{"name":"`+name+`"}`, header...)
	location := h.Get("Location")
	if status != 200 || !strings.HasPrefix(location, w.server.URL) || h.Get("X-Guploader-Uploadid") == "" {
		w.t.Fatalf("starting an upload: %d %s, location %q", status, body, location)
	}
	return strings.TrimPrefix(location, w.server.URL)
}

const granule = 256 << 10

func TestResumableChunks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("data")
	content := string(randomBytes(2*granule + 10))
	path := w.session("data", "o", "X-Upload-Content-Type", "application/x-ckpt")

	status, _, h := w.send("PUT", path, "", "Content-Range", "bytes */*")
	equal(t, "nothing yet", fmt.Sprint(status, h.Get("Range")), "308")
	status, _, h = w.send("PUT", path, content[:granule], "Content-Range", fmt.Sprintf("bytes 0-%d/*", granule-1))
	equal(t, "first chunk", fmt.Sprint(status, " ", h.Get("Range")), fmt.Sprintf("308 bytes=0-%d", granule-1))
	// One client cannot bear a 308.
	status, _, h = w.send("PUT", path, "", "Content-Range", "bytes */*", "X-GUploader-No-308", "yes")
	equal(t, "asked by the Go client", fmt.Sprint(status, " ", h.Get("X-Http-Status-Code-Override"), " ", h.Get("Range")), fmt.Sprintf("200 308 bytes=0-%d", granule-1))
	// What was sent before is sent again with what is new; only whole granules stay.
	status, _, h = w.send("PUT", path, content[100:granule+77], "Content-Range", fmt.Sprintf("bytes 100-%d/*", granule+76))
	equal(t, "no whole granule", fmt.Sprint(status, " ", h.Get("Range")), fmt.Sprintf("308 bytes=0-%d", granule-1))
	status, body, h := w.send("PUT", path, content[2*granule:], "Content-Range", fmt.Sprintf("bytes %d-%d/*", 2*granule, 2*granule+9))
	equal(t, "a gap", fmt.Sprint(status, " ", h.Get("Content-Type"), " ", body), fmt.Sprintf("503 text/plain; charset=utf-8 Invalid request.  According to the Content-Range header, the upload offset is %d byte(s), which exceeds already uploaded size of %d byte(s).", 2*granule, granule))
	status, _, _ = w.send("PUT", path, content[granule:2*granule], "Content-Range", fmt.Sprintf("bytes %d-%d/%d", granule, 2*granule-1, len(content)))
	equal(t, "second chunk", status, 308)
	if _, err := w.api.Objects.Get("data", "o").Do(); err == nil {
		t.Error("the object is there before its last byte")
	}
	status, body, _ = w.send("PUT", path, content[2*granule:], "Content-Range", fmt.Sprintf("bytes %d-%d/%d", 2*granule, len(content)-1, len(content)))
	equal(t, "last chunk", status, 200)
	var o gcs.Object
	ok(t, json.Unmarshal([]byte(body), &o))
	equal(t, "object", o.Name+" "+o.ContentType+" "+o.Crc32c, "o application/x-ckpt "+crc(content))
	status, again, _ := w.send("PUT", path, "", "Content-Range", "bytes */*")
	equal(t, "a finished session answers again", fmt.Sprint(status, again), fmt.Sprint(200, body))
	equal(t, "content", w.text("data", "o") == content, true)
}

func TestResumableDialects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("data")
	big := string(randomBytes(granule + 5))
	for _, tt := range []struct {
		name, content string
		ranges        []string // Content-Range and what is sent with it, in turn
	}{
		{"whole without a range", "hello", []string{"", "hello"}},
		{"whole with a range", "hello", []string{"bytes 0-4/5", "hello"}},
		{"streamed", big, []string{"bytes 0-*/*", big}},
		{"streamed after a stop", big, []string{fmt.Sprintf("bytes 0-%d/*", granule-1), big[:granule], fmt.Sprintf("bytes %d-*/*", granule), big[granule:]}},
		{"streamed with a size", big, []string{fmt.Sprintf("bytes 0-*/%d", len(big)), big}},
		{"empty", "", []string{"bytes */0", ""}},
		{"empty without a range", "", []string{"", ""}},
		{"size said at the end", big[:granule], []string{fmt.Sprintf("bytes 0-%d/*", granule-1), big[:granule], fmt.Sprintf("bytes */%d", granule), ""}},
	} {
		path := w.session("data", "o")
		status := 0
		for i := 0; i < len(tt.ranges); i += 2 {
			var header []string
			if tt.ranges[i] != "" {
				header = []string{"Content-Range", tt.ranges[i]}
			}
			status, _, _ = w.send("PUT", path, tt.ranges[i+1], header...)
		}
		equal(t, tt.name, status, 200)
		equal(t, tt.name, w.text("data", "o") == tt.content, true)
		ok(t, w.api.Objects.Delete("data", "o").Do())
	}
	for _, bad := range []string{"bytes 5-4/10", "bytes 0-10/5", "bytes x-y/z", "5", "bytes 0-4/999999999999999999999"} {
		status, body, _ := w.send("PUT", w.session("data", "o"), "hello", "Content-Range", bad)
		equal(t, bad, fmt.Sprint(status, " ", body), "400 Failed to parse Content-Range header.")
	}
}

func TestResumableEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("data")
	path := w.session("data", "o")
	status, _, _ := w.send("DELETE", path, "")
	equal(t, "cancel", status, 499)
	status, _, _ = w.send("PUT", path, "x")
	equal(t, "after cancel", status, 499)
	status, _, _ = w.send("PUT", strings.Replace(path, "upload_id=", "upload_id=0", 1), "x")
	equal(t, "no such session", status, 404)

	path = w.session("data", "late")
	w.clock.Advance(8 * 24 * time.Hour)
	status, _, _ = w.send("PUT", path, "x")
	equal(t, "after a week", status, 404)

	// The conditions of the start hold at the end.
	status, _, h := w.send("POST", "/upload/storage/v1/b/data/o?uploadType=resumable&name=new&ifGenerationMatch=0", "")
	equal(t, "start", status, 200)
	w.put("data", "new", "somebody else's")
	status, _, _ = w.send("PUT", strings.TrimPrefix(h.Get("Location"), w.server.URL), "mine")
	equal(t, "finish", status, 412)
	equal(t, "content", w.text("data", "new"), "somebody else's")

	path = w.session("data", "sum", "X-Goog-Hash", "crc32c="+crc("other"))
	status, body, _ := w.send("PUT", path, "content")
	if status != 400 || !strings.Contains(body, "Provided CRC32C") {
		t.Errorf("wrong checksum: %d %s", status, body)
	}
	path = w.session("data", "sum")
	status, _, _ = w.send("PUT", path, "content", "X-Goog-Hash", "crc32c="+crc("content"))
	equal(t, "right checksum", status, 200)

	// A bucket that is gone, also when another one has its name.
	w.bucket("brief")
	path = w.session("brief", "o")
	ok(t, w.api.Buckets.Delete("brief").Do())
	status, _, _ = w.send("PUT", path, "x")
	equal(t, "bucket deleted", status, 404)
	w.bucket("short")
	path = w.session("short", "o")
	ok(t, w.api.Buckets.Delete("short").Do())
	w.bucket("short")
	status, _, _ = w.send("PUT", path, "x")
	equal(t, "bucket made anew", status, 404)
	equal(t, "objects", w.names("short"), "")
}

// A connection that breaks in the middle of the content leaves whole granules,
// and the client can go on behind them.
func TestResumableAfterABrokenConnection(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("data")
	content := string(randomBytes(3 * granule))
	path := w.session("data", "o")
	conn, err := net.Dial("tcp", w.server.Listener.Addr().String())
	ok(t, err)
	_, err = fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: x\r\nContent-Range: bytes 0-*/*\r\nContent-Length: %d\r\n\r\n", path, len(content))
	ok(t, err)
	_, err = io.WriteString(conn, content[:granule+1000])
	ok(t, err)
	tcp, isTCP := conn.(*net.TCPConn)
	equal(t, "tcp", isTCP, true)
	ok(t, tcp.CloseWrite())
	_, _ = http.ReadResponse(bufio.NewReader(conn), nil)
	ok(t, conn.Close())

	status, _, h := w.send("PUT", path, "", "Content-Range", "bytes */*")
	equal(t, "what has arrived", fmt.Sprint(status, " ", h.Get("Range")), fmt.Sprintf("308 bytes=0-%d", granule-1))
	status, _, _ = w.send("PUT", path, content[granule:], "Content-Range", fmt.Sprintf("bytes %d-*/*", granule))
	equal(t, "the rest", status, 200)
	equal(t, "content", w.text("data", "o") == content, true)
}

// gcloud writes the boundary in single quotes.
func TestSingleQuotedBoundary(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("data")
	const boundary = "===============1234567890=="
	for _, quote := range []string{"'", `"`, ""} {
		status, body, _ := w.send("POST", "/upload/storage/v1/b/data/o?uploadType=multipart&alt=json",
			"--"+boundary+"\nContent-Type: application/json\nMIME-Version: 1.0\n\n{\"name\":\"o\"}\n"+
				"--"+boundary+"\nContent-Type: text/plain\nContent-Transfer-Encoding: binary\n\nline\r\nline=20\n--"+boundary+"--",
			"Content-Type", "multipart/related; boundary="+quote+boundary+quote)
		equal(t, "status "+body, status, 200)
		equal(t, "content", w.text("data", "o"), "line\r\nline=20")
	}
}

func TestDownloads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("data")
	o := w.put("data", "a/b", "0123456789")
	for _, path := range []string{"/storage/v1/b/data/o/a%2Fb?alt=media", "/download/storage/v1/b/data/o/a%2Fb?alt=media", "/data/a/b", "/data/a%2Fb"} {
		for _, tt := range []struct {
			header, want, contentRange string
			status                     int
		}{
			{"", "0123456789", "", 200},
			{"bytes=0-0", "0", "bytes 0-0/10", 206},
			{"bytes=3-", "3456789", "bytes 3-9/10", 206},
			{"bytes=-2", "89", "bytes 8-9/10", 206},
			{"bytes=-20", "0123456789", "bytes 0-9/10", 206},
			{"bytes=8-100", "89", "bytes 8-9/10", 206},
			{"bytes=5-2", "0123456789", "", 200},
			{"lines=1-2", "0123456789", "", 200},
		} {
			var header []string
			if tt.header != "" {
				header = []string{"Range", tt.header}
			}
			status, body, h := w.send("GET", path, "", header...)
			equal(t, path+" "+tt.header, fmt.Sprint(status, body, h.Get("Content-Range")), fmt.Sprint(tt.status, tt.want, tt.contentRange))
			equal(t, "generation", h.Get("X-Goog-Generation"), fmt.Sprint(o.Generation))
			equal(t, "hash", strings.Join(h.Values("X-Goog-Hash"), ","), "crc32c="+o.Crc32c+",md5="+o.Md5Hash)
		}
		status, _, h := w.send("GET", path, "", "Range", "bytes=10-")
		equal(t, path+" behind the end", fmt.Sprint(status, h.Get("Content-Range")), "416bytes */10")
	}
	status, body, h := w.send("HEAD", "/data/a/b", "")
	equal(t, "head", fmt.Sprint(status, body, h.Get("Content-Length")), "20010")
	status, body, _ = w.send("GET", "/data/none", "")
	equal(t, "xml error", fmt.Sprint(status, " ", strings.Contains(body, "<Code>NoSuchKey</Code>")), "404 true")
}

// A write that is repeated with the token of the first is not done again.
func TestIdempotencyTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("data")
	w.put("data", "o", "x")
	remove := func(token string) int {
		status, _, _ := w.send("DELETE", "/storage/v1/b/data/o/o", "", "X-Goog-Gcs-Idempotency-Token", token)
		return status
	}
	equal(t, "first", remove("t1"), 204)
	equal(t, "repeat", remove("t1"), 204)
	equal(t, "another", remove("t2"), 404)
	w.put("data", "o", "new")
	equal(t, "repeat after it was made anew", remove("t1"), 204)
	equal(t, "content", w.text("data", "o"), "new")
	equal(t, "a failure is not remembered", remove("t2"), 204)
	w.clock.Advance(3 * time.Minute)
	equal(t, "after the window", remove("t1"), 404)
}

// What is stored compressed is unpacked for a client that does not say that it
// can.
func TestCompressedObjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("data")
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := io.WriteString(z, "plain text")
	ok(t, err)
	ok(t, z.Close())
	_, err = w.api.Objects.Insert("data", &gcs.Object{Name: "o", ContentEncoding: "gzip"}).Media(bytes.NewReader(packed.Bytes())).Do()
	ok(t, err)
	status, body, h := w.send("GET", "/storage/v1/b/data/o/o?alt=media", "", "Accept-Encoding", "identity")
	equal(t, "unpacked", fmt.Sprint(status, " ", body, " ", h.Get("Content-Encoding")), "200 plain text ")
	status, body, h = w.send("GET", "/storage/v1/b/data/o/o?alt=media", "", "Accept-Encoding", "gzip")
	equal(t, "as stored", fmt.Sprint(status, " ", body == packed.String(), " ", h.Get("Content-Encoding")), "200 true gzip")
	// The handwritten client can, and unpacks by itself.
	r, err := w.go_.Bucket("data").Object("o").NewReader(t.Context())
	ok(t, err)
	all, err := io.ReadAll(r)
	ok(t, err)
	ok(t, r.Close())
	equal(t, "read", string(all), "plain text")
}

// Every call of a client is in the record, under the discovery document's name.
func TestRecordOfCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("data")
	w.put("data", "dir/o", "x")
	w.send("PUT", w.session("data", "big"), "content")
	ok(t, w.api.Objects.Delete("data", "dir/o").Do())
	_, err := w.api.Folders.Get("data", "f/").Do()
	refused(t, err, 409, "conflict", "The bucket does not support hierarchical namespace.")
	var got []string
	for _, c := range w.script.Calls() {
		got = append(got, fmt.Sprintf("%s %s %s", c.Method, c.Resource, c.Code))
	}
	equal(t, "calls", strings.Join(got, "\n"), strings.Join([]string{
		"storage.buckets.insert data OK",
		"storage.objects.insert data/dir/o OK",
		"storage.objects.insert data/big OK",
		"storage.objects.insert.resume data OK",
		"storage.objects.delete data/dir/o OK",
		"storage.folders.get data/f/ AlreadyExists",
	}, "\n"))
	insert := w.script.Find("storage.buckets.insert")[0]
	if !strings.Contains(string(insert.Body), `"retentionDurationSeconds":"0"`) || insert.Query.Get("project") != project {
		t.Errorf("body %s, query %v", insert.Body, insert.Query)
	}
}
