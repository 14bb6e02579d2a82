// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpoints

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestPatternTable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, name, checkpoint, series string
		task                              int64
	}{
		// What the example program writes.
		{"*/task-{task}/step-*.ckpt", "train/task-3/step-00000100.ckpt", "train/task-3/step-00000100.ckpt", "train/task-3", 3},
		{"*/task-{task}/step-*.ckpt", "train/task-3/latest", "", "", 0},
		{"*/task-{task}/step-*.ckpt", "a/b/task-3/step-1.ckpt", "", "", 0},
		{"**/task-{task}/step-*.ckpt", "a/b/task-3/step-1.ckpt", "a/b/task-3/step-1.ckpt", "a/b/task-3", 3},
		{"**/task-{task}/step-*.ckpt", "task-0012/step-1.ckpt", "task-0012/step-1.ckpt", "task-0012", 12},
		{"**", "model.pt", "model.pt", "", -1},
		{"**", "a/b/model.pt", "a/b/model.pt", "a/b", -1},
		{"model.pt", "model.pt", "model.pt", "", -1},
		{"model.pt", "modelXpt", "", "", 0},
		// The index is taken whole, wherever it stands.
		{"*{task}.ckpt", "step-12.ckpt", "step-12.ckpt", "", 12},
		{"rank{task}*", "rank12.pt", "rank12.pt", "", 12},
		{"rank-{task}.pt", "rank-.pt", "", "", 0},
		{"rank-{task}.pt", "rank-99999999999999999999.pt", "", "", 0},
		{"*-{task}-of-*.pt", "model-00002-of-00008.pt", "model-00002-of-00008.pt", "", 2},
		// A folder that differs is none of the series.
		{"step-{step}/rank-{task}.pt", "step-200/rank-1.pt", "step-200/rank-1.pt", "", 1},
		{"*/step-{step}/rank-{task}.pt", "run/step-200/rank-1.pt", "run/step-200/rank-1.pt", "run", 1},
		{"step-{step}/**", "step-200/a/b", "step-200/a/b", "", -1},
		{"step-{step}", "step-", "", "", 0},
		// Folders.
		{"task-{task}/step-*/", "task-1/step-100/model.bin", "task-1/step-100/", "task-1", 1},
		{"task-{task}/step-*/", "task-1/step-100/deep/er/optimizer.bin", "task-1/step-100/", "task-1", 1},
		{"task-{task}/step-*/", "task-1/step-100", "", "", 0},
		{"task-{task}/step-*/", "task-1/latest/x", "", "", 0},
		{"**/checkpoint-{step}/", "out/checkpoint-500/checkpoint-1/model", "out/checkpoint-500/", "out", -1},
		{"**/checkpoint-{step}/", "checkpoint-500/model", "checkpoint-500/", "", -1},
		{"step-{step}/rank-{task}/", "step-7/rank-2/shard", "step-7/rank-2/", "", 2},
		{"epoch=*-step=*.ckpt", "epoch=1-step=2.ckpt", "epoch=1-step=2.ckpt", "", -1},
	} {
		p, err := ParsePattern(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		m, ok := p.Match(c.name)
		if want := (Match{c.checkpoint, c.series, c.task}); ok != (c.checkpoint != "") || ok && m != want {
			t.Errorf("%s of %s: %+v, %t; want %+v", c.pattern, c.name, m, ok, want)
		}
		if ok && !strings.HasPrefix(c.name, p.Literal()) {
			t.Errorf("%s: %s does not begin with %q", c.pattern, c.name, p.Literal())
		}
	}
}

func TestPatternRefuses(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"":                       "leave the attribute out",
		"/":                      "leave the attribute out",
		"/task-{task}":           `write "task-{task}"`,
		"gs://b/task-{task}":     "write the bucket in bucket",
		"a//b":                   "two slashes",
		"a\nb":                   "a line end",
		"step-?":                 `"?" in it`,
		"step-[0-9]":             `"[" in it`,
		"{rank}":                 `"{rank}" in it`,
		"a{task":                 `a single "{" in it`,
		"a}":                     `a single "}" in it`,
		"{task}/{task}":          "more than once",
		"a**":                    "alone between two slashes",
		"**/":                    "every folder would be a checkpoint",
		"a/**/":                  "every folder would be a checkpoint",
		strings.Repeat("*", 3):   "alone between two slashes",
		strings.Repeat("a", 999): "",
	} {
		_, err := ParsePattern(pattern)
		if want == "" {
			if err != nil {
				t.Errorf("%q: %v", pattern, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", pattern, err, want)
		}
	}
}

// found is what the oracle says of a name.
type found struct {
	task string
	step int // where the first part with {step} begins; -1 without
}

// oracle tries everything, in the order of preference, without any engine.
func oracle(segments []string, s string, pos int, f found) (found, bool) {
	segment, rest := segments[0], segments[1:]
	if segment == "**" {
		if len(rest) == 0 {
			return f, true
		}
		if g, ok := oracle(rest, s, pos, f); ok {
			return g, true
		}
		for i := pos; i < len(s); i++ {
			if s[i] == '/' {
				if g, ok := oracle(rest, s, i+1, f); ok {
					return g, true
				}
			}
		}
		return f, false
	}
	if f.step < 0 && strings.Contains(segment, "{step}") {
		f.step = pos
	}
	return within(segment, s, pos, f, func(end int, f found) (found, bool) {
		switch {
		case len(rest) == 0:
			return f, end == len(s)
		case end < len(s) && s[end] == '/':
			return oracle(rest, s, end+1, f)
		}
		return f, false
	})
}

func within(segment, s string, pos int, f found, then func(int, found) (found, bool)) (found, bool) {
	text := func(rest string, least int) (found, bool) {
		for n, end := 0, pos; ; n++ {
			if n >= least {
				if g, ok := within(rest, s, end, f, then); ok {
					return g, true
				}
			}
			if end >= len(s) || s[end] == '/' {
				return f, false
			}
			_, size := utf8.DecodeRuneInString(s[end:])
			end += size
		}
	}
	if segment == "" {
		return then(pos, f)
	}
	if rest, ok := strings.CutPrefix(segment, "*"); ok {
		return text(rest, 0)
	}
	if rest, ok := strings.CutPrefix(segment, "{step}"); ok {
		return text(rest, 1)
	}
	if rest, ok := strings.CutPrefix(segment, "{task}"); ok {
		most := pos
		for most < len(s) && s[most] >= '0' && s[most] <= '9' {
			most++
		}
		for end := most; end > pos; end-- {
			g := f
			g.task = s[pos:end]
			if g, ok := within(rest, s, end, g, then); ok {
				return g, true
			}
		}
		return f, false
	}
	if pos < len(s) && s[pos] == segment[0] {
		return within(segment[1:], s, pos+1, f, then)
	}
	return f, false
}

// draw makes a pattern, and a name that fits it or nearly does.
func draw(t *rapid.T) (pattern, name string) {
	task := false
	letters := rapid.StringOfN(rapid.RuneFrom([]rune("a1-é")), 0, 3, -1)
	var patterns, names []string
	for range rapid.IntRange(1, 4).Draw(t, "parts") {
		if rapid.IntRange(0, 5).Draw(t, "open") == 0 {
			patterns = append(patterns, "**")
			for range rapid.IntRange(0, 2).Draw(t, "folders") {
				names = append(names, letters.Draw(t, "folder"))
			}
			continue
		}
		var p, n string
		for range rapid.IntRange(1, 4).Draw(t, "words") {
			switch w := rapid.SampledFrom([]string{"*", "{step}", "{task}", "text", "text"}).Draw(t, "word"); {
			case w == "{task}" && !task:
				task = true
				p, n = p+w, n+rapid.StringMatching(`[01]{1,3}`).Draw(t, "task")
			case w == "*" && !strings.HasSuffix(p, "*"), w == "{step}":
				p, n = p+w, n+letters.Draw(t, "any")
			default:
				s := letters.Draw(t, "text")
				p, n = p+s, n+s
			}
		}
		if p == "" {
			p, n = "a", n+"a"
		}
		patterns, names = append(patterns, p), append(names, n)
	}
	name = strings.Join(names, "/")
	if rapid.Bool().Draw(t, "spoil") {
		at := rapid.IntRange(0, len(name)).Draw(t, "at")
		name = name[:at] + rapid.SampledFrom([]string{"a", "1", "/", "-"}).Draw(t, "by") + name[at:]
	}
	return strings.Join(patterns, "/"), name
}

// The matcher says what trying everything says.
func TestPatternProperty(t *testing.T) {
	t.Parallel()
	fits := 0
	rapid.Check(t, func(t *rapid.T) {
		text, name := draw(t)
		p, err := ParsePattern(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		want, fit := oracle(strings.Split(text, "/"), name, 0, found{step: -1})
		got, ok := p.Match(name)
		if ok != fit {
			t.Fatalf("%q of %q: %t, want %t", text, name, ok, fit)
		}
		if !ok {
			return
		}
		fits++
		series := name[:max(strings.LastIndex(name, "/"), 0)]
		if want.step >= 0 {
			series = name[:max(want.step-1, 0)]
		}
		if got.Checkpoint != name || got.Series != series {
			t.Fatalf("%q of %q: %+v, want the series %q", text, name, got, series)
		}
		index := int64(-1)
		if want.task != "" {
			index = 0
			for _, d := range want.task {
				index = 10*index + int64(d-'0')
			}
		}
		if got.Task != index {
			t.Fatalf("%q of %q: task %d, want %q", text, name, got.Task, want.task)
		}
		if !strings.HasPrefix(name, p.Literal()) {
			t.Fatalf("%q of %q does not begin with %q", text, name, p.Literal())
		}
	})
	if fits == 0 {
		t.Error("no name fitted")
	}
}

// Of the folders around an object, the outermost that fits is the checkpoint.
func TestFolderPatternProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, name := draw(t)
		p, err := ParsePattern(text + "/")
		if strings.HasSuffix("/"+text, "/**") {
			if err == nil {
				t.Fatalf("%q is accepted", text+"/")
			}
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		name += "/" + rapid.SampledFrom([]string{"x", "a/x", "1/a/x"}).Draw(t, "inside")
		want := ""
		for i := range len(name) {
			if _, ok := oracle(strings.Split(text, "/"), name[:i], 0, found{step: -1}); ok && name[i] == '/' {
				want = name[:i+1]
				break
			}
		}
		if got, ok := p.Match(name); got.Checkpoint != want || ok != (want != "") {
			t.Fatalf("%q of %q: %+v, %t; want %q", text, name, got, ok, want)
		}
	})
}

// What makes a matcher that goes back and tries again take for ever takes no time.
func TestPatternIsLinear(t *testing.T) {
	t.Parallel()
	p, err := ParsePattern("**/*a" + strings.Repeat("*a", 30) + "{task}*b")
	if err != nil {
		t.Fatal(err)
	}
	if m, ok := p.Match(strings.Repeat("a1", 500)); ok {
		t.Errorf("fits: %+v", m)
	}
	folders, err := ParsePattern("**/**/**/x*x*x/")
	if err != nil {
		t.Fatal(err)
	}
	if m, ok := folders.Match(strings.Repeat("x/", 500)); ok {
		t.Errorf("fits: %+v", m)
	}
}

// The names that programs give to what is not whole yet, and those that they
// give to what is.
func TestDefaultIgnore(t *testing.T) {
	t.Parallel()
	ignore := newIgnore(defaultIgnore)
	for name, want := range map[string]bool{
		// Write, then rename.
		"task-0/step-100.ckpt.tmp": true, "task-0/step-100.ckpt.tmp.1234": true, "task-0/step-100.tmp-ab12": true, "a/model.pt.part": true,
		"a/model.pt.partial": true, "a/model.pt~": true, "task-0/latest.new": true, "a/model.temp": true, "a/model.safetensors.incomplete": true,
		// rsync; Python's tempfile; gcsfuse; Transformers; TensorFlow; Orbax.
		"a/.model.pt.Xa81Zq": true, "a/tmpab12cd34": true, ".gcsfuse_tmp/x": true, "run/tmp-checkpoint-500/model.safetensors": true,
		"ckpt-1_temp/part-00000-of-00001": true, "100.orbax-checkpoint-tmp-1700000000/d/x": true, "100.orbax-checkpoint-tmp/x": true,
		// A temporary folder.
		"tmp/task-0/step-1.ckpt": true, "task-0/step-1.tmp/deep/model.bin": true, "_tmp/x": true, ".tmp/x": true,
		// Whole.
		"task-0/step-00000100.ckpt": false, "task-0/latest": false, "step-100/.metadata": false, "epoch=1-step=2.ckpt": false,
		"checkpoint-500/pytorch_model.bin": false, "100/commit_success.txt": false, "ckpt-1.data-00000-of-00001": false, "model.pt": false,
		"attempts/model.pt": false, "template/model.pt": false, "newest/model.pt": false, "part-0/model.pt": false, "__0_0.distcp": false,
	} {
		if got := ignore.Match(name); got != want {
			t.Errorf("%s: ignored %t, want %t", name, got, want)
		}
		if got := ignore.Match(name); got != want {
			t.Errorf("%s, asked again: ignored %t, want %t", name, got, want)
		}
	}
	for _, p := range defaultIgnore {
		if err := checkIgnore(p); err != nil {
			t.Error(err)
		}
	}
}

func TestIgnoreProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		patterns := rapid.SliceOfN(rapid.StringMatching(`[a.]{0,2}\*?[a.]{1,2}\*?`), 1, 3).Draw(t, "patterns")
		ignore := newIgnore(patterns)
		for range 3 {
			name := rapid.StringMatching(`[ab.]{1,4}(/[ab.]{1,4}){0,3}`).Draw(t, "name")
			want := slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool {
				return slices.ContainsFunc(patterns, func(p string) bool {
					_, ok := oracle([]string{p}, part, 0, found{step: -1})
					return ok
				})
			})
			if got := ignore.Match(name); got != want {
				t.Fatalf("%q of %q: %t, want %t", patterns, name, got, want)
			}
		}
	})
}
