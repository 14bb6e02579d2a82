// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	client "cloud.google.com/go/storage"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/iterator"
	"google.golang.org/api/option"
	gcs "google.golang.org/api/storage/v1"
)

// put writes an object in one request.
func (w *world) put(bucket, name, content string) *gcs.Object {
	w.t.Helper()
	o, err := w.api.Objects.Insert(bucket, &gcs.Object{Name: name}).Media(strings.NewReader(content), googleapi.ContentType("text/plain")).Do()
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

// text reads an object, the live one or a generation.
func (w *world) text(bucket, name string, generation ...int64) string {
	w.t.Helper()
	call := w.api.Objects.Get(bucket, name)
	if len(generation) > 0 {
		call.Generation(generation[0])
	}
	res, err := call.Download()
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(raw)
}

// names lists a bucket: objects, and prefixes with a leading +.
func (w *world) names(bucket string, change ...func(*gcs.ObjectsListCall)) string {
	w.t.Helper()
	call := w.api.Objects.List(bucket)
	for _, c := range change {
		c(call)
	}
	var names []string
	err := call.Pages(w.t.Context(), func(page *gcs.Objects) error {
		for _, o := range page.Items {
			names = append(names, o.Name)
		}
		for _, p := range page.Prefixes {
			names = append(names, "+"+p)
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.Join(names, " ")
}

func TestObjectRoundTrip(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("data")
	o := w.put("data", "dir/a b.txt", "hello")
	sum := md5.Sum([]byte("hello"))
	equal(t, "md5Hash", o.Md5Hash, base64.StdEncoding.EncodeToString(sum[:]))
	equal(t, "crc32c", o.Crc32c, "mnG7TA==")
	equal(t, "size", o.Size, 5)
	equal(t, "contentType", o.ContentType, "text/plain")
	equal(t, "storageClass", o.StorageClass, "STANDARD")
	equal(t, "metageneration", o.Metageneration, 1)
	equal(t, "timeCreated", o.TimeCreated, "2026-11-29T12:00:00.000Z")
	equal(t, "id", o.Id, fmt.Sprintf("data/dir/a b.txt/%d", o.Generation))
	equal(t, "generation is microseconds", o.Generation/1e6, w.clock.Now().Unix())
	equal(t, "content", w.text("data", "dir/a b.txt"), "hello")
	_, body, _ := w.send("GET", strings.TrimPrefix(o.MediaLink, w.server.URL), "")
	equal(t, "mediaLink", body, "hello")

	_, err := w.api.Objects.Get("data", "none").Do()
	refused(t, err, 404, "notFound", "No such object: data/none")
	_, err = w.api.Objects.Get("nobucket", "none").Do()
	refused(t, err, 404, "notFound", "The specified bucket does not exist.")
	refused(t, w.api.Objects.Delete("data", "none").Do(), 404, "notFound", "No such object: data/none")

	ok(t, w.api.Objects.Delete("data", "dir/a b.txt").Do())
	equal(t, "after delete", w.names("data"), "")
}

// Both ways in which Google's handwritten client reads.
func TestHandwrittenClient(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("data")
	ctx := t.Context()
	xml, err := client.NewClient(ctx, option.WithEndpoint(w.server.URL+"/storage/v1/"), option.WithoutAuthentication())
	ok(t, err)
	defer func() { _ = xml.Close() }()
	h := w.go_.Bucket("data").Object("dir/ü?#.bin")
	out := h.NewWriter(ctx)
	out.Metadata = map[string]string{"step": "12"}
	_, err = out.Write([]byte("0123456789"))
	ok(t, err)
	ok(t, out.Close())
	for name, c := range map[string]*client.Client{"json": w.go_, "xml": xml} {
		o := c.Bucket("data").Object("dir/ü?#.bin")
		r, err := o.NewReader(ctx)
		ok(t, err)
		all, err := io.ReadAll(r)
		ok(t, err)
		ok(t, r.Close())
		equal(t, name+" content", string(all), "0123456789")
		equal(t, name+" generation", r.Attrs.Generation, out.Attrs().Generation)
		for _, tt := range []struct {
			offset, length int64
			want           string
		}{{2, 3, "234"}, {7, -1, "789"}, {-4, -1, "6789"}, {5, 100, "56789"}} {
			r, err := o.NewRangeReader(ctx, tt.offset, tt.length)
			ok(t, err)
			part, err := io.ReadAll(r)
			ok(t, err)
			ok(t, r.Close())
			equal(t, fmt.Sprintf("%s range %d+%d", name, tt.offset, tt.length), string(part), tt.want)
			equal(t, name+" size", r.Attrs.Size, 10)
		}
		_, err = o.NewRangeReader(ctx, 10, 5)
		var e *googleapi.Error
		if !errors.As(err, &e) || e.Code != http.StatusRequestedRangeNotSatisfiable {
			t.Errorf("%s: range behind the end: %v", name, err)
		}
		_, err = c.Bucket("data").Object("none").NewReader(ctx)
		if !errors.Is(err, client.ErrObjectNotExist) {
			t.Errorf("%s: missing object: %v", name, err)
		}
		_, err = o.If(client.Conditions{GenerationMatch: 7}).NewReader(ctx)
		if !errors.As(err, &e) || e.Code != http.StatusPreconditionFailed {
			t.Errorf("%s: other generation: %v", name, err)
		}
		_, err = o.Generation(out.Attrs().Generation).NewReader(ctx)
		ok(t, err)
	}
	attrs, err := h.Attrs(ctx)
	ok(t, err)
	equal(t, "metadata", attrs.Metadata["step"], "12")
	attrs, err = h.Update(ctx, client.ObjectAttrsToUpdate{Metadata: map[string]string{"step": "13"}, ContentType: "application/x-ckpt"})
	ok(t, err)
	equal(t, "metadata", attrs.Metadata["step"]+" "+attrs.ContentType, "13 application/x-ckpt")
	equal(t, "metageneration", attrs.Metageneration, 2)

	it := w.go_.Bucket("data").Objects(ctx, &client.Query{Versions: true})
	got, err := it.Next()
	ok(t, err)
	equal(t, "listed", got.Name, "dir/ü?#.bin")
	if _, err = it.Next(); !errors.Is(err, iterator.Done) {
		t.Errorf("got %v, want the end", err)
	}
	ok(t, h.Delete(ctx))

	b := w.go_.Bucket("second")
	ok(t, b.Create(ctx, project, &client.BucketAttrs{Location: region, UniformBucketLevelAccess: client.UniformBucketLevelAccess{Enabled: true}, SoftDeletePolicy: &client.SoftDeletePolicy{}}))
	battrs, err := b.Update(ctx, client.BucketAttrsToUpdate{VersioningEnabled: true})
	ok(t, err)
	equal(t, "versioning", battrs.VersioningEnabled, true)
	policy, err := b.IAM().V3().Policy(ctx)
	ok(t, err)
	policy.Bindings[0].Members = append(policy.Bindings[0].Members, "user:a@example.com")
	ok(t, b.IAM().V3().SetPolicy(ctx, policy))
	ok(t, b.Delete(ctx))
}

func TestWritePreconditions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("data")
	insert := func() *gcs.ObjectsInsertCall {
		return w.api.Objects.Insert("data", &gcs.Object{Name: "o"}).Media(strings.NewReader("x"))
	}
	o, err := insert().IfGenerationMatch(0).Do()
	ok(t, err)
	_, err = insert().IfGenerationMatch(0).Do()
	refused(t, err, 412, "conditionNotMet", "pre-conditions")
	_, err = insert().IfGenerationMatch(o.Generation + 1).Do()
	refused(t, err, 412, "conditionNotMet", "pre-conditions")
	_, err = insert().IfMetagenerationMatch(2).Do()
	refused(t, err, 412, "conditionNotMet", "pre-conditions")
	second, err := insert().IfGenerationMatch(o.Generation).IfMetagenerationMatch(1).Do()
	ok(t, err)
	if second.Generation <= o.Generation {
		t.Errorf("generation %d is not behind %d", second.Generation, o.Generation)
	}
	refused(t, w.api.Objects.Delete("data", "o").IfGenerationMatch(o.Generation).Do(), 412, "conditionNotMet", "pre-conditions")
	refused(t, w.api.Objects.Delete("data", "o").Generation(o.Generation).Do(), 404, "notFound", "No such object")
	if _, err = w.api.Objects.Get("data", "o").IfGenerationNotMatch(second.Generation).Do(); !googleapi.IsNotModified(err) {
		t.Errorf("got %v, want 304", err)
	}
	ok(t, w.api.Objects.Delete("data", "o").Generation(second.Generation).IfMetagenerationMatch(1).Do())
}

func TestRefusedObjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("data")
	const upload = "/upload/storage/v1/b/data/o"
	for _, tt := range []struct{ name, method, path, body, contentType, text string }{
		{"no name", "POST", upload + "?uploadType=media", "x", "text/plain", "Required parameter: name"},
		{"line feed", "POST", upload + "?uploadType=media&name=a%0Ab", "x", "text/plain", "Disallowed unicode characters"},
		{"NUL", "POST", upload + "?uploadType=media&name=a%00b", "x", "text/plain", "Disallowed unicode characters"},
		{"not UTF-8", "POST", upload + "?uploadType=media&name=a%FFb", "x", "text/plain", "Disallowed unicode characters"},
		{"dot", "POST", upload + "?uploadType=media&name=.", "x", "text/plain", "not allowed"},
		{"dots", "POST", upload + "?uploadType=media&name=..", "x", "text/plain", "not allowed"},
		{"acme", "POST", upload + "?uploadType=media&name=.well-known%2Facme-challenge%2Fx", "x", "text/plain", "not allowed"},
		{"too long", "POST", upload + "?uploadType=media&name=" + strings.Repeat("n", 1025), "x", "text/plain", "maximum object length is 1024"},
		{"no upload type", "POST", upload + "?name=a", "x", "text/plain", "Invalid upload type"},
		{"no upload path", "POST", "/storage/v1/b/data/o?name=a", "{}", "application/json", "URL path beginning with /upload/"},
		{"unknown field", "POST", upload + "?uploadType=resumable&name=a", `{"colour":"red"}`, "application/json", `Unknown name "colour"`},
		{"no boundary", "POST", upload + "?uploadType=multipart", "x", "multipart/related", "names no boundary"},
		{"one part", "POST", upload + "?uploadType=multipart", "--b\r\n\r\n{\"name\":\"a\"}\r\n--b--", "multipart/related; boundary=b", "Malformed multipart body"},
		{"wrong md5", "POST", upload + "?uploadType=multipart", "--b\r\n\r\n{\"name\":\"a\",\"md5Hash\":\"XUFAKrxLKna5cZ2REBfFkg==\"}\r\n--b\r\n\r\nother\r\n--b--", "multipart/related; boundary=b", "Provided MD5 hash"},
		{"wrong crc", "POST", upload + "?uploadType=multipart", "--b\r\n\r\n{\"name\":\"a\",\"crc32c\":\"mnG7TA==\"}\r\n--b\r\n\r\nother\r\n--b--", "multipart/related; boundary=b", "Provided CRC32C"},
	} {
		status, body, _ := w.send(tt.method, tt.path, tt.body, "Content-Type", tt.contentType)
		if status != 400 || !strings.Contains(strings.ReplaceAll(body, `\"`, `"`), tt.text) {
			t.Errorf("%s: got %d %s, want 400 %q", tt.name, status, body, tt.text)
		}
	}
	equal(t, "objects", w.names("data"), "")
}

func TestLists(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("data")
	for _, name := range []string{"a", "a-b", "a/1", "a/2", "a/b/3", "a0", "b/", "b/x.txt", "c//d", "é/1"} {
		w.put("data", name, name)
	}
	for _, tt := range []struct {
		name   string
		change func(*gcs.ObjectsListCall)
		want   string
	}{
		{"all", func(*gcs.ObjectsListCall) {}, "a a-b a/1 a/2 a/b/3 a0 b/ b/x.txt c//d é/1"},
		{"prefix", func(c *gcs.ObjectsListCall) { c.Prefix("a/") }, "a/1 a/2 a/b/3"},
		{"delimiter", func(c *gcs.ObjectsListCall) { c.Delimiter("/") }, "a a-b a0 +a/ +b/ +c/ +é/"},
		{"prefix and delimiter", func(c *gcs.ObjectsListCall) { c.Prefix("a/").Delimiter("/") }, "a/1 a/2 +a/b/"},
		{"inner delimiter", func(c *gcs.ObjectsListCall) { c.Prefix("c/").Delimiter("/") }, "+c//"},
		{"trailing delimiter", func(c *gcs.ObjectsListCall) { c.Delimiter("/").IncludeTrailingDelimiter(true) }, "a a-b a0 b/ +a/ +b/ +c/ +é/"},
		{"other delimiter", func(c *gcs.ObjectsListCall) { c.Delimiter("-") }, "a a/1 a/2 a/b/3 a0 b/ b/x.txt c//d é/1 +a-"},
		{"offsets", func(c *gcs.ObjectsListCall) { c.StartOffset("a/2").EndOffset("b/x.txt") }, "a/2 a/b/3 a0 b/"},
		{"glob", func(c *gcs.ObjectsListCall) { c.MatchGlob("a/*") }, "a/1 a/2"},
		{"deep glob", func(c *gcs.ObjectsListCall) { c.MatchGlob("a/**") }, "a/1 a/2 a/b/3"},
		{"glob in the middle", func(c *gcs.ObjectsListCall) { c.MatchGlob("**/*.txt") }, "b/x.txt"},
		{"alternatives", func(c *gcs.ObjectsListCall) { c.MatchGlob("{a0,a-[a-c]}") }, "a-b a0"},
	} {
		equal(t, tt.name, w.names("data", tt.change), tt.want)
		// By pages of one the same comes out; prefixes are in the order of names then.
		paged := strings.Fields(w.names("data", tt.change, func(c *gcs.ObjectsListCall) { c.MaxResults(1) }))
		if len(paged) != len(strings.Fields(tt.want)) {
			t.Errorf("%s by pages: %v", tt.name, paged)
		}
		for _, name := range strings.Fields(tt.want) {
			if !strings.Contains(" "+strings.Join(paged, " ")+" ", " "+name+" ") {
				t.Errorf("%s by pages: %s is missing in %v", tt.name, name, paged)
			}
		}
	}
	for _, glob := range []string{"[", "{a", "a}", "[]"} {
		_, err := w.api.Objects.List("data").MatchGlob(glob).Do()
		refused(t, err, 400, "invalid", "Invalid glob")
	}
	_, err := w.api.Objects.List("data").PageToken("?").Do()
	refused(t, err, 400, "invalidParameter", "pageToken")
	_, raw, _ := w.send("GET", "/storage/v1/b/data/o?fields=items(name),nextPageToken&maxResults=1", "")
	if !strings.HasPrefix(raw, `{"items":[{"name":"a"}],"nextPageToken":`) {
		t.Errorf("fields: %s", raw)
	}
}

// case 85: overwritten generations are listed and deleted one by one.
func TestVersions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("kept", versioned)
	first := w.put("kept", "o", "one")
	w.clock.Advance(time.Second)
	second := w.put("kept", "o", "two")
	third := w.put("kept", "o", "three")
	equal(t, "live", w.text("kept", "o"), "three")
	equal(t, "first", w.text("kept", "o", first.Generation), "one")
	old, err := w.api.Objects.Get("kept", "o").Generation(first.Generation).Do()
	ok(t, err)
	equal(t, "timeDeleted", old.TimeDeleted, second.TimeCreated)
	versions := func(c *gcs.ObjectsListCall) { c.Versions(true) }
	equal(t, "versions", w.names("kept", versions), "o o o")
	equal(t, "versions by pages", w.names("kept", versions, func(c *gcs.ObjectsListCall) { c.MaxResults(1) }), "o o o")
	status, body, _ := w.send("GET", "/storage/v1/b/kept/o?versions=True&fields=items/generation", "") // as one client writes it
	equal(t, "status", status, 200)
	equal(t, "order", body, fmt.Sprintf(`{"items":[{"generation":"%d"},{"generation":"%d"},{"generation":"%d"}]}`, first.Generation, second.Generation, third.Generation))

	ok(t, w.api.Objects.Delete("kept", "o").Do())
	equal(t, "live after delete", w.names("kept"), "")
	equal(t, "versions after delete", w.names("kept", versions), "o o o")
	refused(t, w.api.Buckets.Delete("kept").Do(), 409, "conflict", "The bucket you tried to delete is not empty.")
	for _, o := range []*gcs.Object{first, second, third} {
		ok(t, w.api.Objects.Delete("kept", "o").Generation(o.Generation).Do())
	}
	ok(t, w.api.Buckets.Delete("kept").Do())
}

func TestVersioningThatIsSwitchedOnKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("data")
	first := w.put("data", "o", "one")
	_, err := w.api.Buckets.Patch("data", &gcs.Bucket{Versioning: &gcs.BucketVersioning{Enabled: true}}).Do()
	ok(t, err)
	w.put("data", "o", "two")
	equal(t, "first", w.text("data", "o", first.Generation), "one")
}

func TestSoftDeletedObjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("soft", softDeleted)
	first := w.put("soft", "dir/o", "one")
	w.put("soft", "dir/o", "two")
	ok(t, w.api.Objects.Delete("soft", "dir/o").Do())
	deleted := func(c *gcs.ObjectsListCall) { c.SoftDeleted(true) }
	equal(t, "live", w.names("soft"), "")
	equal(t, "soft-deleted", w.names("soft", deleted), "dir/o dir/o")
	o, err := w.api.Objects.Get("soft", "dir/o").SoftDeleted(true).Generation(first.Generation).Do()
	ok(t, err)
	equal(t, "hardDeleteTime", o.HardDeleteTime, "2026-12-06T12:00:00.000Z")
	_, err = w.api.Objects.Get("soft", "dir/o").Generation(first.Generation).Do()
	refused(t, err, 404, "notFound", "No such object")

	restored, err := w.api.Objects.Restore("soft", "dir/o", first.Generation).Do()
	ok(t, err)
	if restored.Generation <= first.Generation {
		t.Error("the restored object has no generation of its own")
	}
	equal(t, "restored", w.text("soft", "dir/o"), "one")
	equal(t, "still soft-deleted", w.names("soft", deleted), "dir/o dir/o")
	_, err = w.api.Objects.Restore("soft", "dir/o", first.Generation).IfGenerationMatch(0).Do()
	refused(t, err, 412, "conditionNotMet", "pre-conditions")

	ok(t, w.api.Objects.Delete("soft", "dir/o").Do())
	w.clock.Advance(7 * 24 * time.Hour)
	equal(t, "after the retention", w.names("soft", deleted), "")
	ok(t, w.api.Buckets.Delete("soft").Do())

	w.bucket("hard")
	w.put("hard", "o", "gone")
	ok(t, w.api.Objects.Delete("hard", "o").Do())
	_, err = w.api.Objects.List("hard").SoftDeleted(true).Do()
	refused(t, err, 400, "invalid", "Soft delete policy is required.")
}

func TestCopies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("data")
	w.bucket("other")
	from := w.put("data", "from", "content")
	_, err := w.api.Objects.Patch("data", "from", &gcs.Object{Metadata: map[string]string{"step": "1"}, ContentType: "text/x"}).Do()
	ok(t, err)

	c, err := w.api.Objects.Copy("data", "from", "other", "dir/copy", nil).Do()
	ok(t, err)
	equal(t, "metadata", c.Metadata["step"]+" "+c.ContentType+" "+c.Md5Hash, "1 text/x "+from.Md5Hash)
	equal(t, "copy", w.text("other", "dir/copy"), "content")

	r, err := w.api.Objects.Rewrite("data", "from", "data", "rewritten", &gcs.Object{ContentType: "text/y"}).Do()
	ok(t, err)
	equal(t, "done", r.Done, true)
	equal(t, "bytes", r.TotalBytesRewritten, 7)
	equal(t, "metadata of the body", r.Resource.ContentType+" "+r.Resource.Metadata["step"], "text/y ")
	_, err = w.api.Objects.Rewrite("data", "from", "data", "rewritten", nil).IfSourceGenerationMatch(7).Do()
	refused(t, err, 412, "conditionNotMet", "pre-conditions")
	_, err = w.api.Objects.Rewrite("data", "none", "data", "rewritten", nil).Do()
	refused(t, err, 404, "notFound", "No such object: data/none")

	m, err := w.api.Objects.Move("data", "rewritten", "dir/moved").IfGenerationMatch(0).Do()
	ok(t, err)
	equal(t, "moved", w.text("data", "dir/moved")+m.ContentType, "contenttext/y")
	equal(t, "names", w.names("data"), "dir/moved from")

	composed, err := w.api.Objects.Compose("data", "whole", &gcs.ComposeRequest{
		Destination:   &gcs.Object{ContentType: "text/z"},
		SourceObjects: []*gcs.ComposeRequestSourceObjects{{Name: "from"}, {Name: "dir/moved", Generation: m.Generation}, {Name: "from"}},
	}).Do()
	ok(t, err)
	equal(t, "composed", w.text("data", "whole"), "contentcontentcontent")
	equal(t, "components", composed.ComponentCount, 3)
	equal(t, "md5 of a composed object", composed.Md5Hash, "")
	equal(t, "crc32c", composed.Crc32c, crc("contentcontentcontent"))
	_, err = w.api.Objects.Compose("data", "whole", &gcs.ComposeRequest{SourceObjects: []*gcs.ComposeRequestSourceObjects{{Name: "none"}}}).Do()
	refused(t, err, 404, "notFound", "No such object: data/none")
	// An object may be made of itself.
	_, err = w.api.Objects.Compose("data", "from", &gcs.ComposeRequest{SourceObjects: []*gcs.ComposeRequestSourceObjects{{Name: "from"}, {Name: "from"}}}).Do()
	ok(t, err)
	equal(t, "appended", w.text("data", "from"), "contentcontent")
}

func crc(content string) string {
	sum := crc32.Checksum([]byte(content), crc32.MakeTable(crc32.Castagnoli))
	return base64.StdEncoding.EncodeToString([]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
}

func TestHolds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("data")
	w.put("data", "o", "x")
	_, err := w.api.Objects.Patch("data", "o", &gcs.Object{TemporaryHold: true}).Do()
	ok(t, err)
	refused(t, w.api.Objects.Delete("data", "o").Do(), 403, "forbidden", "Object 'o' is under active Temporary hold")
	_, err = w.api.Objects.Insert("data", &gcs.Object{Name: "o"}).Media(strings.NewReader("y")).Do()
	refused(t, err, 403, "forbidden", "under active Temporary hold")
	_, err = w.api.Objects.Patch("data", "o", &gcs.Object{TemporaryHold: false, ForceSendFields: []string{"TemporaryHold"}}).Do()
	ok(t, err)
	ok(t, w.api.Objects.Delete("data", "o").Do())
}

// The generated client's own resumable upload, whole and after a broken chunk.
func TestGeneratedClientUploads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("data")
	content := randomBytes(3 << 20)
	for _, chunk := range []int{0, 256 << 10, 1 << 20} {
		o, err := w.api.Objects.Insert("data", &gcs.Object{Name: fmt.Sprint("chunk", chunk)}).Media(bytes.NewReader(content), googleapi.ChunkSize(chunk)).Do()
		ok(t, err)
		equal(t, "size", o.Size, 3<<20)
		equal(t, "content", w.text("data", o.Name) == string(content), true)
	}
	out := w.go_.Bucket("data").Object("streamed").NewWriter(t.Context())
	out.ChunkSize = 256 << 10
	_, err := io.Copy(out, bytes.NewReader(content))
	ok(t, err)
	ok(t, out.Close())
	equal(t, "content", w.text("data", "streamed") == string(content), true)

	ctx, cancel := context.WithCancel(t.Context())
	broken := w.go_.Bucket("data").Object("broken").NewWriter(ctx)
	broken.ChunkSize = 256 << 10
	_, err = broken.Write(content[:1<<20])
	ok(t, err)
	cancel()
	if err := broken.Close(); err == nil {
		t.Error("a cancelled upload closed without error")
	}
	if _, err := w.api.Objects.Get("data", "broken").Do(); err == nil {
		t.Error("a broken off upload made an object")
	}
}

func randomBytes(n int) []byte {
	raw := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(raw)
	return raw
}
