// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

//go:build unix

package runner

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEndings(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		p := start(t, Options{Mode: mode})
		for script, want := range map[string]Result{
			"exit 0":        {},
			"exit 3":        {ExitCode: 3},
			"exit 143":      {ExitCode: 143},
			"exit 255":      {ExitCode: 255},
			"kill -KILL $$": {Signal: 9},
			"kill -SEGV $$": {Signal: 11},
			"kill -TERM $$": {Signal: 15},
		} {
			t.Run(script, func(t *testing.T) {
				t.Parallel()
				launch(t, p, shell(script)).expect(want)
			})
		}
	})
}

func TestOutputComesByLine(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		p := start(t, Options{Mode: mode})
		w := launch(t, p, shell(`echo one; printf 'two\n\nwithout end'; exec >&2; echo three; printf last`))
		w.expect(Result{})
		var out, err []string
		for _, l := range w.output() {
			if text, ok := strings.CutPrefix(l, "stdout: "); ok {
				out = append(out, text)
			}
			if text, ok := strings.CutPrefix(l, "stderr: "); ok {
				err = append(err, text)
			}
		}
		if diff := cmp.Diff([]string{"one", "two", "", "without end"}, out); diff != "" {
			t.Errorf("stdout (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"three", "last"}, err); diff != "" {
			t.Errorf("stderr (-want +got):\n%s", diff)
		}
	})
}

func TestOutputMayBeDropped(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		a, err := start(t, Options{Mode: mode}).Launch(shell("echo lost"), nil)
		if err != nil {
			t.Fatal(err)
		}
		<-a.Done()
		if a.Result() != (Result{}) {
			t.Errorf("result = %+v", a.Result())
		}
	})
}

// The emulator's environment may hold credentials; a task sees none of it but what a program needs to run.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		p := start(t, Options{Mode: mode, Environ: []string{
			"PATH=" + os.Getenv("PATH"), "HOME=/host/home", "LANG=C.UTF-8",
			"GOOGLE_CREDENTIALS=secret", "AWS_SECRET_ACCESS_KEY=secret", "RESILIENTJOB_EMULATOR_HOST=x", "LD_PRELOAD=x", "PATHOLOGICAL=x",
		}})
		w := launch(t, p, Task{
			Command: []string{"env"},
			Env:     []string{"CLOUD_RUN_TASK_INDEX=3", "HOME=/root", "EMPTY=", "TWICE=first", "TWICE=last", "ODD=a=b c"},
		})
		w.expect(Result{})
		got := w.output()
		want := []string{
			"stdout: PATH=" + os.Getenv("PATH"), "stdout: HOME=/root", "stdout: LANG=C.UTF-8",
			"stdout: CLOUD_RUN_TASK_INDEX=3", "stdout: EMPTY=", "stdout: TWICE=last", "stdout: ODD=a=b c",
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("environment (-want +got):\n%s", diff)
		}
	})
}

func TestTaskIsNotPID1AndHasNoStrangeFiles(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		if _, err := os.Stat("/proc/self/fd"); err != nil {
			t.Skip("this system has no /proc, by which a task is asked for the files that it has open")
		}
		p := start(t, Options{Mode: mode})
		// ls itself has the folder open as number 3.
		w := launch(t, p, shell(`test $$ -ne 1 && echo "not 1"; ls /proc/self/fd | tr '\n' ' '; test -t 0 || read x || echo "no input"`))
		w.await("stdout: not 1")
		w.await("stdout: 0 1 2 3 no input")
		w.expect(Result{})
	})
}

func TestCommandComesFromTheImageRules(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		p := start(t, Options{Mode: mode, Images: []Image{
			{Pattern: "*/other:*", Command: []string{"false"}},
			{Pattern: "europe-docker.pkg.dev/*/train:*", Command: []string{"echo", "from the first rule"}},
			{Pattern: "*", Command: []string{"false"}},
		}})
		task := Task{Image: "europe-docker.pkg.dev/p/r/train:v1", Args: []string{"--steps", "5"}}
		w := launch(t, p, task)
		w.expect(Result{})
		w.await("stdout: from the first rule --steps 5")

		task.Command = []string{"echo", "own command"}
		w = launch(t, p, task)
		w.expect(Result{})
		w.await("stdout: own command --steps 5")
	})
}

func TestCommandIsFoundAsAContainerRuntimeDoes(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		p := start(t, Options{Mode: mode})
		dir := folder(t)
		program(t, filepath.Join(dir, "trainer"), "#!/bin/sh\necho \"found in $(pwd)\"\n")
		for name, task := range map[string]Task{
			"PATH of the task":            {Command: []string{"trainer"}, Env: []string{"PATH=" + dir + ":/usr/bin:/bin"}, WorkingDir: "/usr"},
			"relative to the working dir": {Command: []string{"./trainer"}, WorkingDir: dir},
			"absolute":                    {Command: []string{filepath.Join(dir, "trainer")}, WorkingDir: "/usr"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := launch(t, p, task)
				w.expect(Result{})
				w.await("stdout: found in " + task.WorkingDir)
			})
		}
		t.Run("no working dir", func(t *testing.T) {
			t.Parallel()
			here, err := os.Getwd()
			if err != nil {
				t.Fatal(err)
			}
			w := launch(t, p, Task{Command: []string{filepath.Join(dir, "trainer")}})
			w.await("stdout: found in " + here)
		})
	})
}

func TestWhatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		dir := folder(t)
		program(t, filepath.Join(dir, "no-interpreter"), "#!/no/such/shell\n")
		program(t, filepath.Join(dir, "no-program"), "print('hello')\n")
		write(t, filepath.Join(dir, "not-executable"), "#!/bin/sh\n")
		p := start(t, Options{Mode: mode, Images: []Image{{Pattern: "mapped", Command: []string{"no-such-program-anywhere"}}}})
		for name, tc := range map[string]struct {
			task Task
			want []string
		}{
			"no command": {
				Task{Image: "europe-docker.pkg.dev/p/r/train:v1"},
				[]string{"the container has no command", `--image 'europe-docker.pkg.dev/p/r/train:v1=COMMAND'`},
			},
			"empty command":           {Task{Command: []string{""}}, []string{"the container's command is an empty string"}},
			"unknown command":         {Task{Command: []string{"no-such-program-anywhere"}}, []string{`"no-such-program-anywhere"`, "no folder of PATH has it", "install it here"}},
			"unknown command of rule": {Task{Image: "mapped"}, []string{"no folder of PATH has it", `--image with the pattern "mapped"`}},
			"unknown file":            {Task{Command: []string{"/no/such/file"}}, []string{"file does not exist: /no/such/file"}},
			"no interpreter":          {Task{Command: []string{dir + "/no-interpreter"}}, []string{"the interpreter that its first line names does not"}},
			"no program":              {Task{Command: []string{dir + "/no-program"}}, []string{"is no program of this machine", "#!/bin/sh"}},
			"not executable":          {Task{Command: []string{dir + "/not-executable"}}, []string{"is not executable"}},
			"a folder":                {Task{Command: []string{dir}}, []string{"is a folder"}},
			"working dir missing":     {Task{Command: []string{"true"}, WorkingDir: "/no/such/dir"}, []string{`the working directory "/no/such/dir" does not exist`}},
			"working dir relative":    {Task{Command: []string{"true"}, WorkingDir: "app"}, []string{`the working directory "app" is not absolute`}},
			"NUL":                     {Task{Command: []string{"true"}, Args: []string{"a\x00b"}}, []string{"NUL"}},
			"too large":               {Task{Command: []string{"true"}, Args: []string{strings.Repeat("x", 4<<20)}}, []string{"too large"}},
			"negative timeout":        {Task{Command: []string{"true"}, Timeout: -1}, []string{"negative"}},
			"mount relative":          {Task{Command: []string{"true"}, Mounts: []Mount{{Path: "checkpoints", HostDir: dir}}}, []string{`"checkpoints" is not absolute`}},
			"mount root":              {Task{Command: []string{"true"}, Mounts: []Mount{{Path: "/.", HostDir: dir}}}, []string{"would hide the whole file system"}},
			"mount reserved":          {Task{Command: []string{"true"}, Mounts: []Mount{{Path: "/proc/x", HostDir: dir}}}, []string{"reserved"}},
			"mount nested":            {Task{Command: []string{"true"}, Mounts: []Mount{{Path: "/a", HostDir: dir}, {Path: "/a/b", HostDir: dir}}}, []string{"equal or nested"}},
			"mount without folder":    {Task{Command: []string{"true"}, Mounts: []Mount{{Path: "/a", HostDir: dir + "/missing"}}}, []string{`the host folder for the mount at "/a"`}},
			"mount of a file":         {Task{Command: []string{"true"}, Mounts: []Mount{{Path: "/a", HostDir: dir + "/no-program"}}}, []string{"is not a folder"}},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				a, err := p.Launch(tc.task, nil)
				var got string
				if err != nil {
					got = err.Error()
				} else {
					<-a.Done()
					if a.Result().Reason != NotStarted {
						t.Fatalf("result = %+v", a.Result())
					}
					got = a.Result().Message
				}
				for _, want := range tc.want {
					if !strings.Contains(got, want) {
						t.Errorf("the message lacks %q:\n%s", want, got)
					}
				}
			})
		}
	})
}

func TestTwentyInParallel(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		p := start(t, Options{Mode: mode})
		dir := folder(t)
		var tasks []*watched
		for i := range 20 {
			task := shell(`echo "$1" > "$2/$1"; exit "$1"`, fmt.Sprint(i), "/checkpoints")
			task.Mounts = []Mount{{Path: "/checkpoints", HostDir: dir}}
			tasks = append(tasks, launch(t, p, task))
		}
		for i, w := range tasks {
			w.expect(Result{ExitCode: i})
			if got, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(i))); err != nil || string(got) != fmt.Sprintln(i) {
				t.Errorf("file of task %d = %q, %v", i, got, err)
			}
		}
	})
}

// Not parallel: it counts what the whole process holds.
func TestNothingLeaks(t *testing.T) { //nolint:paralleltest // see above
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("no /proc here")
	}
	count := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	for _, mode := range []string{ModeNamespace, ModeRewrite} { //nolint:paralleltest // see above
		t.Run(mode, func(t *testing.T) {
			p := start(t, Options{Mode: mode})
			launch(t, p, shell("true")).expect(Result{}) // what the runtime opens once
			before := count()
			for range 10 {
				launch(t, p, shell("sleep 1000 & echo x")).expect(Result{})
				if _, err := p.Launch(Task{}, nil); err == nil {
					t.Error("a task without a command was launched")
				}
			}
			if after := count(); after > before {
				t.Errorf("%d open files before ten tasks, %d after", before, after)
			}
			if children := descendants(t, os.Getpid()); len(children) > 0 {
				t.Errorf("processes left: %v", children)
			}
		})
	}
}

// descendants are the ids of a process's children.
func descendants(t *testing.T, pid int) []string {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, f := range files {
		content, err := os.ReadFile(f)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		ids = append(ids, strings.Fields(string(content))...)
	}
	return ids
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]Options{
		`there is no mode "docker"`:   {Mode: "docker"},
		"cannot be negative":          {Grace: -1, Mode: ModeRewrite},
		"needs a pattern and a comma": {Images: []Image{{Pattern: "x"}}, Mode: ModeRewrite},
	} {
		if _, err := NewProcesses(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("NewProcesses(%+v) = %v, want %q", o, err, want)
		}
	}
}

func TestModeSaysWhy(t *testing.T) {
	t.Parallel()
	p := start(t, Options{Mode: ModeRewrite})
	if p.Mode() != ModeRewrite || p.Why() == "" {
		t.Errorf("mode %q, why %q", p.Mode(), p.Why())
	}
	p = start(t, Options{})
	if (p.Mode() == ModeNamespace) != (p.Why() == "") {
		t.Errorf("mode %q, why %q", p.Mode(), p.Why())
	}
}

func TestForgottenMaybeInitIsAnError(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperVariable+"=without-init")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "MaybeInit was not called") {
		t.Errorf("%v: %s", err, out)
	}
}
