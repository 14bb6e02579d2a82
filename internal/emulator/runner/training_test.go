// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

//go:build unix

package runner

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The example program goes through what a task goes through: interrupted twice, it resumes from the checkpoint that it saved
// last, at the path of its mount, and finishes.
func TestCheckpointedTrainingSurvivesPreemption(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3 on this machine")
	}
	program, err := filepath.Abs("../../../examples/apps/checkpointed-training/train.py")
	if err != nil {
		t.Fatal(err)
	}
	eachMode(t, func(t *testing.T, mode string) {
		p := start(t, Options{Mode: mode, Images: []Image{{Pattern: "*/training:*", Command: []string{"python3", program}}}})
		dir := folder(t)
		seen := "/checkpoints"
		if mode == ModeRewrite {
			seen = dir
		}
		attempt := func(n, steps int) *watched {
			return launch(t, p, Task{
				Image: "europe-docker.pkg.dev/p/r/training:v1",
				Args:  []string{"--seconds-per-step", "0.01", fmt.Sprintf("--steps=%d", steps)},
				Env: []string{
					"CLOUD_RUN_JOB=trainer", "CLOUD_RUN_TASK_INDEX=2", fmt.Sprintf("CLOUD_RUN_TASK_ATTEMPT=%d", n),
					"CHECKPOINT_DIR=/checkpoints", "TRAIN_SAVE_EVERY=0.01",
				},
				Mounts: []Mount{{Path: "/checkpoints", HostDir: dir}},
			})
		}
		file := func(step int) string { return fmt.Sprintf("%s/trainer/task-2/step-%08d.ckpt", seen, step) }

		const many = 1_000_000
		first := attempt(0, many)
		first.await("stdout: no checkpoint in " + seen + "/trainer/task-2: starting at step 0")
		first.await("stdout: step 2 saved to " + file(2))
		first.Preempt()
		first.expect(Result{Reason: Preempted, ExitCode: 143})
		saved := lastSaved(t, first)

		second := attempt(1, many)
		second.await(fmt.Sprintf("stdout: resumed at step %d from %s", saved, file(saved)))
		second.Cancel()
		second.expect(Result{Reason: Cancelled, ExitCode: 143})
		saved = lastSaved(t, first, second)

		third := attempt(2, 1) // fewer steps than are done: nothing is left
		third.await(fmt.Sprintf("stdout: resumed at step %d from %s", saved, file(saved)))
		third.expect(Result{})
	})
}

// lastSaved is the step of the newest checkpoint that the attempts announced.
func lastSaved(t *testing.T, attempts ...*watched) int {
	t.Helper()
	var all []string
	for _, a := range attempts {
		all = append(all, a.output()...)
	}
	found := regexp.MustCompile(`(?m)^stdout: step (\d+) saved to `).FindAllStringSubmatch(strings.Join(all, "\n"), -1)
	if len(found) == 0 {
		t.Fatalf("no checkpoint was announced:\n%s", strings.Join(all, "\n"))
	}
	step, err := strconv.Atoi(found[len(found)-1][1])
	if err != nil {
		t.Fatal(err)
	}
	return step
}
