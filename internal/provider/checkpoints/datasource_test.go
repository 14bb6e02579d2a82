// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpoints_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/jonboulle/clockwork"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider"
)

func TestMain(m *testing.M) { acctest.Main(m) }

const (
	typeName    = "resilientjob_checkpoints"
	listObjects = "storage.objects.list"
	bucket      = "ckpt"
)

// world is an emulator with a bucket, a clock that stands, and the provider.
type world struct {
	*emulator.Emulator
	*acctest.Protocol
	t     *testing.T
	clock *clockwork.FakeClock
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldWith(t, clockwork.NewFakeClockAt(time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)))
}

// newWorldWith takes a clock; nil is the real one.
func newWorldWith(t *testing.T, clock *clockwork.FakeClock) *world {
	t.Helper()
	w := &world{t: t, clock: clock}
	w.Emulator = acctest.Emulator(t, func(o *emulator.Options) {
		if clock != nil {
			o.Clock = clock
		}
	})
	vars := map[string]string{"RESILIENTJOB_EMULATOR_HOST": w.Addr(), "GOOGLE_PROJECT": acctest.EmulatorProject, "GOOGLE_REGION": acctest.EmulatorRegion}
	w.Protocol = acctest.NewProtocol(t, provider.WithEnvironment(func(name string) string { return vars[name] }))
	w.Configure(nil)
	w.call(http.MethodPost, "/storage/v1/b?project="+acctest.EmulatorProject, `{"name": "`+bucket+`", "location": "US-CENTRAL1"}`)
	return w
}

// call makes a call to Cloud Storage as somebody else.
func (w *world) call(method, path, body string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, "http://"+w.Addr()+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusOK {
		w.t.Fatalf("%s %s: %s, %v", method, path, resp.Status, err)
	}
}

// put writes objects, each a minute after the one before.
func (w *world) put(names ...string) {
	w.t.Helper()
	for _, name := range names {
		w.clock.Advance(time.Minute)
		w.call(http.MethodPost, "/upload/storage/v1/b/"+bucket+"/o?uploadType=media&name="+strings.ReplaceAll(name, "/", "%2F"), "four")
	}
}

// look reads the data source. The text has a line for each attribute; a
// checkpoint has one, too.
func (w *world) look(attributes map[string]any) (string, []*tfprotov6.Diagnostic) {
	w.t.Helper()
	schema := w.Schema.DataSourceSchemas[typeName]
	config := map[string]tftypes.Value{"bucket": tftypes.NewValue(tftypes.String, bucket)}
	for name, v := range attributes {
		switch v := v.(type) {
		case []string:
			var elements []tftypes.Value
			for _, e := range v {
				elements = append(elements, tftypes.NewValue(tftypes.String, e))
			}
			config[name] = tftypes.NewValue(tftypes.Set{ElementType: tftypes.String}, elements)
		default:
			config[name] = tftypes.NewValue(tftypes.String, v)
		}
	}
	object := w.Object(schema, config)
	valid, err := w.ValidateDataResourceConfig(w.t.Context(), &tfprotov6.ValidateDataResourceConfigRequest{TypeName: typeName, Config: object})
	if err != nil || len(valid.Diagnostics) > 0 {
		return "", valid.Diagnostics
	}
	resp, err := w.ReadDataSource(w.t.Context(), &tfprotov6.ReadDataSourceRequest{TypeName: typeName, Config: object})
	if err != nil {
		w.t.Fatal(err)
	}
	if len(resp.Diagnostics) > 0 {
		return "", resp.Diagnostics
	}
	state, err := resp.State.Unmarshal(schema.ValueType())
	if err != nil {
		w.t.Fatal(err)
	}
	var all map[string]tftypes.Value
	if err := state.As(&all); err != nil {
		w.t.Fatal(err)
	}
	var lines []string
	for _, name := range []string{"newest_time", "newest_name", "newest_size", "checkpoint_count", "total_size", "unfinished_count"} {
		lines = append(lines, name+"="+show(w.t, all[name]))
	}
	var checkpoints []tftypes.Value
	if err := all["checkpoints"].As(&checkpoints); err != nil {
		w.t.Fatal(err)
	}
	for _, c := range checkpoints {
		var one map[string]tftypes.Value
		if err := c.As(&one); err != nil {
			w.t.Fatal(err)
		}
		var parts []string
		for _, name := range []string{"prefix", "task_index", "name", "time", "size", "object_count", "count"} {
			parts = append(parts, show(w.t, one[name]))
		}
		lines = append(lines, strings.Join(parts, " "))
	}
	return strings.Join(lines, "\n"), nil
}

func show(t *testing.T, v tftypes.Value) string {
	t.Helper()
	var text string
	switch {
	case v.IsNull():
		return "null"
	case v.Type().Is(tftypes.String):
		if err := v.As(&text); err != nil {
			t.Fatal(err)
		}
		return text
	}
	return strings.TrimSuffix(strings.TrimPrefix(v.String(), `tftypes.Number<"`), `">`)
}

func (w *world) shows(attributes map[string]any, want ...string) {
	w.t.Helper()
	got, diags := w.look(attributes)
	for _, d := range diags {
		w.t.Errorf("%v: %s: %s", attributes, d.Summary, d.Detail)
	}
	if all := strings.Join(want, "\n"); got != all {
		w.t.Errorf("%v: shows\n%s\nwant\n%s", attributes, got, all)
	}
}

func TestCheckpointsOfABucket(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("runs/42/task-0/step-1.ckpt", "runs/42/task-1/step-1.ckpt", "runs/42/task-0/step-2.ckpt", "runs/42/task-0/latest", "runs/42/task-1/step-2.ckpt.tmp", "other/model.pt", "empty/")
	task0 := "runs/42/task-0 0 runs/42/task-0/step-2.ckpt 2026-11-29T12:03:00Z 4 1 2"
	want := []string{
		"newest_time=2026-11-29T12:03:00Z", "newest_name=runs/42/task-0/step-2.ckpt", "newest_size=4", "checkpoint_count=3", "total_size=12", "unfinished_count=0",
		task0, "runs/42/task-1 1 runs/42/task-1/step-1.ckpt 2026-11-29T12:02:00Z 4 1 1",
	}
	before := acctest.Since(w.Emulator)
	w.shows(map[string]any{"prefix": "runs/42", "pattern": "task-{task}/step-*.ckpt"}, want...)
	calls := before.Find("")
	if len(calls) != 1 || calls[0].Method != listObjects || calls[0].Query.Get("prefix") != "runs/42/task-" {
		t.Errorf("%d calls: %+v", len(calls), calls)
	}
	// A slash at the end, another name of the bucket, the folder in the pattern: all the same.
	w.shows(map[string]any{"prefix": "runs/42/", "pattern": "task-{task}/step-*.ckpt"}, want...)
	w.shows(map[string]any{"bucket": "gs://ckpt", "prefix": "runs", "pattern": "*/task-{task}/step-*.ckpt"}, want...)
	w.shows(map[string]any{"bucket": "gs://ckpt/", "pattern": "**/task-{task}/step-*.ckpt"}, want...)

	// Without a pattern every object counts, and nothing is guessed.
	w.shows(nil,
		"newest_time=2026-11-29T12:06:00Z", "newest_name=other/model.pt", "newest_size=4", "checkpoint_count=5", "total_size=20", "unfinished_count=1",
		"other null other/model.pt 2026-11-29T12:06:00Z 4 1 1",
		"runs/42/task-0 null runs/42/task-0/latest 2026-11-29T12:04:00Z 4 1 3",
		"runs/42/task-1 null runs/42/task-1/step-1.ckpt 2026-11-29T12:02:00Z 4 1 1")
	// What is ignored is replaced.
	w.shows(map[string]any{"prefix": "runs/42/task-1", "ignore": []string{}},
		"newest_time=2026-11-29T12:05:00Z", "newest_name=runs/42/task-1/step-2.ckpt.tmp", "newest_size=4", "checkpoint_count=2", "total_size=8", "unfinished_count=0",
		"runs/42/task-1 null runs/42/task-1/step-2.ckpt.tmp 2026-11-29T12:05:00Z 4 1 2")
	w.shows(map[string]any{"prefix": "runs", "ignore": []string{"*.tmp", "42"}},
		"newest_time=null", "newest_name=null", "newest_size=null", "checkpoint_count=0", "total_size=0", "unfinished_count=5")
	// A folder, and not what begins like it.
	w.put("runs/421/model.pt")
	w.shows(map[string]any{"prefix": "runs/42/task-0", "pattern": "step-*"},
		"newest_time=2026-11-29T12:03:00Z", "newest_name=runs/42/task-0/step-2.ckpt", "newest_size=4", "checkpoint_count=2", "total_size=8", "unfinished_count=0",
		"runs/42/task-0 null runs/42/task-0/step-2.ckpt 2026-11-29T12:03:00Z 4 1 2")
	// One that was overwritten is as old as its last generation; its metadata has no age.
	w.put("other/model.pt")
	w.clock.Advance(time.Hour)
	w.call(http.MethodPatch, "/storage/v1/b/"+bucket+"/o/other%2Fmodel.pt", `{"metadata": {"a": "b"}}`)
	w.shows(map[string]any{"prefix": "other"},
		"newest_time=2026-11-29T12:09:00Z", "newest_name=other/model.pt", "newest_size=4", "checkpoint_count=1", "total_size=4", "unfinished_count=0",
		"other null other/model.pt 2026-11-29T12:09:00Z 4 1 1")
}

// Checkpoints that are folders, as frameworks save them. A folder that somebody
// still writes has no marker (case 115).
func TestCheckpointsAreFolders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("out/checkpoint-500/model-0", "out/checkpoint-500/model-1", "out/checkpoint-500/.metadata", "out/checkpoint-1000/model-0", "out/tmp-checkpoint-1500/model-0", "out/log")
	w.shows(map[string]any{"prefix": "out", "pattern": "checkpoint-{step}/"},
		"newest_time=2026-11-29T12:04:00Z", "newest_name=out/checkpoint-1000/", "newest_size=4", "checkpoint_count=2", "total_size=16", "unfinished_count=0",
		"out null out/checkpoint-1000/ 2026-11-29T12:04:00Z 4 1 2")
	w.shows(map[string]any{"prefix": "out", "pattern": "checkpoint-{step}/", "marker": ".metadata"},
		"newest_time=2026-11-29T12:03:00Z", "newest_name=out/checkpoint-500/", "newest_size=12", "checkpoint_count=1", "total_size=12", "unfinished_count=1",
		"out null out/checkpoint-500/ 2026-11-29T12:03:00Z 12 3 1")
}

// An empty bucket has no checkpoints; a bucket that is not there, and one that
// may not be listed, are errors of their own.
func TestCheckpointsNothingThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	nothing := []string{"newest_time=null", "newest_name=null", "newest_size=null", "checkpoint_count=0", "total_size=0", "unfinished_count=0"}
	w.shows(nil, nothing...)
	w.shows(map[string]any{"prefix": "not/there", "pattern": "task-{task}/"}, nothing...)

	w.fails(map[string]any{"bucket": "missing-bucket"}, "bucket", "Bucket does not exist", "The specified bucket does not exist.", "Write the name of a bucket that exists")
	w.Faults().Add(faults.Fault{Method: listObjects, Status: status.New(codes.PermissionDenied,
		"me@example.com does not have storage.objects.list access to the Google Cloud Storage bucket. Permission 'storage.objects.list' denied on resource (or it may not exist).")})
	w.fails(nil, "bucket", "Cannot list the checkpoints", "storage.objects.list", "roles/storage.objectViewer")
}

// fails asserts one error, at an attribute, that says each of the texts.
func (w *world) fails(attributes map[string]any, at, summary string, texts ...string) {
	w.t.Helper()
	_, diags := w.look(attributes)
	if len(diags) != 1 || diags[0].Summary != summary || diags[0].Attribute.String() != fmt.Sprintf("AttributeName(%q)", at) {
		w.t.Fatalf("%v: %d diagnostics, want %q at %s: %+v", attributes, len(diags), summary, at, diags)
	}
	for _, text := range texts {
		if !strings.Contains(diags[0].Detail, text) {
			w.t.Errorf("%v: does not say %q: %s", attributes, text, diags[0].Detail)
		}
	}
}

// What is refused: one message, at the attribute, and no call.
func TestCheckpointsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := acctest.Since(w.Emulator)
	for _, c := range []struct {
		attributes        map[string]any
		at, summary, says string
	}{
		{map[string]any{"bucket": "A_B"}, "bucket", "Invalid bucket name", "is not the name of a bucket"},
		{map[string]any{"bucket": "gs://ckpt/runs/42"}, "bucket", "Invalid bucket name", `write bucket = "ckpt" and prefix = "runs/42"`},
		{map[string]any{"prefix": "/runs"}, "prefix", "Invalid prefix", `write "runs"`},
		{map[string]any{"prefix": ""}, "prefix", "Invalid prefix", "leave the attribute out"},
		{map[string]any{"pattern": "rank-[0-9]*"}, "pattern", "Invalid pattern", "write * for any text"},
		{map[string]any{"pattern": "{rank}"}, "pattern", "Invalid pattern", "{task}, for the index of a task"},
		{map[string]any{"ignore": []string{"a/b"}}, "ignore", "Invalid ignore pattern", "has a slash"},
		{map[string]any{"ignore": []string{"*"}}, "ignore", "Invalid ignore pattern", "fits every name"},
		{map[string]any{"ignore": []string{""}}, "ignore", "Invalid ignore pattern", "is empty"},
		{map[string]any{"ignore": []string{"{task}"}}, "ignore", "Invalid ignore pattern", "no meaning here"},
		{map[string]any{"pattern": "a-*/", "marker": "*"}, "marker", "Invalid marker", "wildcard"},
		{map[string]any{"pattern": "a-*/", "marker": "done/"}, "marker", "Invalid marker", "no name of an object"},
		{map[string]any{"pattern": "a-*", "marker": "DONE"}, "marker", "Marker without folders", "slash at its end"},
		{map[string]any{"marker": "DONE"}, "marker", "Marker without folders", "slash at its end"},
	} {
		w.fails(c.attributes, c.at, c.summary, c.says)
	}
	if n := before.Count(""); n > 0 {
		t.Errorf("%d calls", n)
	}
}

// Pages of 1000 are followed to the end, and only below the folder that is asked for.
func TestCheckpointsPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir, ok := w.Storage().Dir(bucket)
	if !ok {
		t.Fatal("no folder of the bucket")
	}
	for _, folder := range []string{"a", "b"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
		for i := range 1001 {
			if err := os.WriteFile(filepath.Join(dir, folder, fmt.Sprintf("step-%06d", i)), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for pattern, want := range map[string]struct{ requests, count int }{"a/step-*": {2, 1001}, "*/step-*": {3, 2002}, "a/step-000*": {1, 1000}} {
		before := acctest.Since(w.Emulator)
		got, diags := w.look(map[string]any{"pattern": pattern})
		if len(diags) > 0 || !strings.Contains(got, fmt.Sprintf("checkpoint_count=%d\n", want.count)) {
			t.Errorf("%s: %s %+v", pattern, got, diags)
		}
		if n := before.Count(listObjects); n != want.requests || before.Count("") != n {
			t.Errorf("%s: %v, want %d lists", pattern, before.Methods(), want.requests)
		}
	}
}

// What the example program really writes, to the folder that a task sees.
func TestCheckpointsOfTheExampleProgram(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, nil)
	dir, ok := w.Storage().Dir(bucket)
	if !ok {
		t.Fatal("no folder of the bucket")
	}
	for _, task := range []string{"0", "1"} {
		cmd := exec.CommandContext(t.Context(), "python3", "../../../examples/apps/checkpointed-training/train.py", "--steps=3", "--seconds-per-step=0", "--save-every=0", "--run=train", "--checkpoint-dir="+dir)
		cmd.Env = append(slices.Clone(os.Environ()), "CLOUD_RUN_TASK_INDEX="+task)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	got, diags := w.look(map[string]any{"prefix": "train", "pattern": "task-{task}/step-*.ckpt"})
	if len(diags) > 0 {
		t.Fatalf("%+v", diags)
	}
	lines := strings.Split(got, "\n")
	if len(lines) != 8 || lines[3] != "checkpoint_count=6" || lines[5] != "unfinished_count=0" ||
		!strings.HasPrefix(lines[6], "train/task-0 0 train/task-0/step-00000003.ckpt ") || !strings.HasPrefix(lines[7], "train/task-1 1 train/task-1/step-00000003.ckpt ") {
		t.Errorf("shows\n%s", got)
	}
}

// With the real command line: the example's checks, of which one turns red.
func TestAccCheckpoints(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, clockwork.NewFakeClockAt(time.Now().Add(-time.Hour)))
	w.put("train/task-0/step-00000001.ckpt")
	example, err := os.ReadFile("../../../examples/data-sources/resilientjob_checkpoints/data-source.tf")
	if err != nil {
		t.Fatal(err)
	}
	tf := acctest.CLI(t, w.Emulator)
	tf.Write(acctest.ProviderConfig(w.Emulator) + strings.Replace(string(example), "my-checkpoints", bucket, 1) + `
output "newest" {
  value = data.resilientjob_checkpoints.train.newest_name
}
`)
	tf.Apply().Succeeds().Says("Only 1 of 4 tasks have a checkpoint.", "No checkpoint for 30 minutes: task 0 since "+w.clock.Now().UTC().Format("2006-01-02T15:04:05"),
		`newest = "train/task-0/step-00000001.ckpt"`)
}
