// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

//go:build unix

package runner

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRewriteReplacesMountPathsInWholeWords(t *testing.T) {
	t.Parallel()
	s := spec{
		Argv: []string{"/checkpoints/bin/train", "/checkpoints", "/checkpoints/a/b", "--dir=/checkpoints", "--dir=/checkpoints/x", "-o=/data", "x=/checkpoints", "/checkpoints2", "see /checkpoints", "/data/in"},
		Env:  []string{"DIR=/checkpoints", "SUB=/data/x", "OTHER=/checkpoints2", "TEXT=in /data"},
		Dir:  "/data/work",
	}
	rewrite(&s, []Mount{{Path: "/checkpoints", HostDir: "/host/c"}, {Path: "/data", HostDir: "/host/d", ReadOnly: true}})
	want := spec{
		Argv: []string{"/host/c/bin/train", "/host/c", "/host/c/a/b", "--dir=/host/c", "--dir=/host/c/x", "-o=/host/d", "x=/checkpoints", "/checkpoints2", "see /checkpoints", "/host/d/in"},
		Env:  []string{"DIR=/host/c", "SUB=/host/d/x", "OTHER=/checkpoints2", "TEXT=in /data", "RESILIENTJOB_MOUNT_0=/host/c", "RESILIENTJOB_MOUNT_1=/host/d"},
		Dir:  "/host/d/work",
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("rewritten (-want +got):\n%s", diff)
	}
}

func TestRewriteGivesTheTaskTheHostFolder(t *testing.T) {
	t.Parallel()
	p := start(t, Options{Mode: ModeRewrite})
	dir := folder(t)
	task := shell(`pwd; echo "from the task" > "$1/after"; echo "$DIR" "$RESILIENTJOB_MOUNT_0"`, "/checkpoints")
	task.Env = []string{"DIR=/checkpoints/sub"}
	task.WorkingDir = "/checkpoints"
	task.Mounts = []Mount{{Path: "/checkpoints", HostDir: dir}}
	w := launch(t, p, task)
	w.expect(Result{})
	w.await("stdout: " + dir)
	w.await("stdout: " + dir + "/sub " + dir)
	if got, err := os.ReadFile(filepath.Join(dir, "after")); err != nil || string(got) != "from the task\n" {
		t.Errorf("on the host: %q, %v", got, err)
	}
}

// The task given to Launch belongs to the caller.
func TestLaunchLeavesTheTaskAlone(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		dir := folder(t)
		task := Task{
			Command: []string{"true", "/checkpoints"}, Args: []string{"/checkpoints"}, Env: []string{"DIR=/checkpoints"},
			Mounts: []Mount{{Path: "/checkpoints", HostDir: dir}},
		}
		launch(t, start(t, Options{Mode: mode}), task).expect(Result{})
		want := Task{
			Command: []string{"true", "/checkpoints"}, Args: []string{"/checkpoints"}, Env: []string{"DIR=/checkpoints"},
			Mounts: []Mount{{Path: "/checkpoints", HostDir: dir}},
		}
		if diff := cmp.Diff(want, task); diff != "" {
			t.Errorf("the task was changed (-want +got):\n%s", diff)
		}
	})
}
