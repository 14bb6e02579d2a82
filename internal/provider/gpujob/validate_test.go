// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"fmt"
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 64)
	checkpoint := func(changes map[string]any) map[string]any {
		c := map[string]any{"bucket": "my-checkpoints"}
		for k, v := range changes {
			c[k] = v
		}
		return map[string]any{"checkpoint": c}
	}
	for _, c := range []struct {
		name   string
		config map[string]any
		want   []string // parts of each message, in order; empty for none
	}{
		{"minimal", nil, nil},
		{"everything unknown", map[string]any{
			"name": unknown{}, "project": unknown{}, "location": unknown{}, "image": unknown{}, "command": unknown{}, "args": unknown{}, "env": unknown{},
			"gpu_type": unknown{}, "gpu_zonal_redundancy": unknown{}, "cpu": unknown{}, "memory": unknown{}, "task_count": unknown{}, "parallelism": unknown{},
			"task_timeout": unknown{}, "max_retries": unknown{}, "checkpoint": unknown{}, "service_account": unknown{}, "service_account_id": unknown{},
			"labels": unknown{}, "launch_stage": unknown{}, "cancel_running_executions": unknown{},
		}, nil},
		{"parts unknown", map[string]any{
			"env": map[string]any{"A": unknown{}}, "args": []any{unknown{}}, "labels": map[string]any{"a": unknown{}},
			"checkpoint": map[string]any{"bucket": unknown{}, "mount_path": unknown{}, "prefix": unknown{}, "mount_options": []any{unknown{}}, "interval": unknown{}, "write_time": unknown{}},
		}, nil},
		{"everything", map[string]any{
			"command": []any{"python"}, "args": []any{"", "train.py"}, "env": map[string]any{"A": "", "_b": "1"}, "gpu_type": "nvidia-h100-80gb", "cpu": "0.5", "memory": "1Ki",
			"task_count": 10_000, "parallelism": 10_000, "task_timeout": "1h30m", "max_retries": 0, "labels": map[string]any{"a": ""}, "launch_stage": "ALPHA",
			"service_account_id": "trainer",
		}, nil},
		{"checkpoint in full", checkpoint(map[string]any{
			"mount_path": "/mnt/ckpt/", "prefix": "runs/42", "mount_options": []any{"implicit-dirs", "metadata-cache-ttl-secs=0"}, "role": "projects/p/roles/my.role",
			"interval": "57m", "write_time": "1m", "restore_time": "2m", "work_time": "200h", "grant": false,
		}), nil},

		{"name too long", map[string]any{"name": long}, []string{"error name: Invalid job name: ", "64 characters"}},
		{"name in capitals", map[string]any{"name": "Train"}, []string{"error name: Invalid job name: ", `write "train"`}},
		{"zone", map[string]any{"location": "us-central1-a"}, []string{`error location: Invalid location: `, `"us-central1"`}},
		{"empty image", map[string]any{"image": ""}, []string{"error image: Invalid image: "}},
		{"image with scheme", map[string]any{"image": "https://gcr.io/p/i"}, []string{`write the image without https://, "gcr.io/p/i"`}},
		{"reserved variable", map[string]any{"env": map[string]any{"PORT": "1"}}, []string{`error env["PORT"]: Invalid environment variable: "PORT" is set by Cloud Run itself`}},
		{"malformed variable", map[string]any{"env": map[string]any{"A-B": "1"}}, []string{`error env["A-B"]: `}},
		{"null variable", map[string]any{"env": map[string]any{"A": nil}}, []string{`error env["A"]: Invalid environment variable: A has the value null`}},
		{"huge variable", map[string]any{"env": map[string]any{"A": strings.Repeat("x", 32_769)}}, []string{`error env["A"]: `, "32768 bytes"}},
		{"null argument", map[string]any{"args": []any{nil}}, []string{"error args[0]"}},
		{"empty GPU type", map[string]any{"gpu_type": ""}, []string{`error gpu_type: Invalid GPU type: `, `write "none"`}},
		{"GPU type in capitals", map[string]any{"gpu_type": "NVIDIA-L4"}, []string{`write "nvidia-l4"`}},
		{"CPU in words", map[string]any{"cpu": "4 vcpu"}, []string{`error cpu: `, `write "4"`}},
		{"memory in GB", map[string]any{"memory": "16GB"}, []string{`error memory: `, `write "16Gi"`}},
		{"no task", map[string]any{"task_count": 0}, []string{"error task_count: Number too small: task_count is 0. An execution has at least one task"}},
		{"no parallelism", map[string]any{"parallelism": 0}, []string{"error parallelism: Number too small", "leave parallelism out"}},
		{"more parallelism than tasks", map[string]any{"task_count": 2, "parallelism": 3}, []string{"error parallelism: Parallelism above the number of tasks: parallelism is 3 and task_count is 2"}},
		{"more parallelism than the default", map[string]any{"parallelism": 2}, []string{"error parallelism: ", "task_count is 1"}},
		{"negative retries", map[string]any{"max_retries": -1}, []string{"error max_retries: Number too small: max_retries is -1"}},
		{"a number that no API reads", map[string]any{"task_count": 1 << 40}, []string{"error task_count: Number too large"}},
		// case 11: another unit is no timeout, with a hint.
		{"timeout without unit", map[string]any{"task_timeout": "600"}, []string{"error task_timeout: ", `write "600s"`}},
		{"timeout zero", map[string]any{"task_timeout": "0s"}, []string{"error task_timeout: ", "more than zero"}},
		{"timeout negative", map[string]any{"task_timeout": "-1h"}, []string{"error task_timeout: "}},
		{"account of a person", map[string]any{"service_account": "me@example.com"}, []string{"error service_account: Invalid service account: "}},
		{"account id too short", map[string]any{"service_account_id": "abc"}, []string{"error service_account_id: ", "it has 3 characters; write 6 to 30"}},
		{"two accounts", map[string]any{"service_account": "a@p-p.iam.gserviceaccount.com", "service_account_id": "trainer"}, []string{"error service_account_id: Two service accounts: "}},
		{"label of the platform", map[string]any{"labels": map[string]any{"run.googleapis.com/x": "1"}}, []string{`error labels["run.googleapis.com/x"]: `}},
		{"stage in small letters", map[string]any{"launch_stage": "beta"}, []string{"error launch_stage: "}},
		{"bucket with gs", map[string]any{"checkpoint": map[string]any{"bucket": "gs://b-b-b"}}, []string{`error checkpoint.bucket: `, `"b-b-b"`}},
		{"relative path", checkpoint(map[string]any{"mount_path": "ckpt"}), []string{`error checkpoint.mount_path: Invalid mount path: `, `"ckpt" is relative: write "/ckpt"`}},
		{"root", checkpoint(map[string]any{"mount_path": "//"}), []string{`hide the whole image`}},
		{"system", checkpoint(map[string]any{"mount_path": "/proc/x"}), []string{`belongs to the system`}},
		{"system in disguise", checkpoint(map[string]any{"mount_path": "/a/../sys"}), []string{`write the path as it is meant, "/sys"`}},
		{"not quite system", checkpoint(map[string]any{"mount_path": "/device"}), nil},
		{"colon", checkpoint(map[string]any{"mount_path": "/a:b"}), []string{`contains a colon`}},
		{"empty path", checkpoint(map[string]any{"mount_path": ""}), []string{`the text is empty`}},
		{"prefix with slash", checkpoint(map[string]any{"prefix": "/runs/"}), []string{`error checkpoint.prefix: Invalid prefix: `, `write "runs"`}},
		{"prefix upwards", checkpoint(map[string]any{"prefix": "a/../b"}), []string{`"..\" in it`}},
		{"empty prefix", checkpoint(map[string]any{"prefix": ""}), []string{`leave the attribute out`}},
		{"dashes", checkpoint(map[string]any{"mount_options": []any{"--implicit-dirs"}}), []string{`error checkpoint.mount_options[0]: Invalid mount option: checkpoint.mount_options[0]: "--implicit-dirs" begins with a hyphen, which Cloud Run adds itself: write "implicit-dirs"`}},
		{"option without name", checkpoint(map[string]any{"mount_options": []any{"ok", "=1"}}), []string{`error checkpoint.mount_options[1]: `}},
		{"folder twice", checkpoint(map[string]any{"prefix": "a", "mount_options": []any{"only-dir=b"}}), []string{`error checkpoint.mount_options[0]: Folder to mount is given twice`}},
		{"role without its prefix", checkpoint(map[string]any{"role": "storage.objectUser"}), []string{`error checkpoint.role: Invalid role: `, `write "roles/storage.objectUser"`}},
		{"interval longer than an attempt", checkpoint(map[string]any{"interval": "2h"}), []string{`error checkpoint.interval: Checkpoint interval does not fit into one attempt: `, "one attempt has 1h (task_timeout)"}},
		{"interval and its surroundings", checkpoint(map[string]any{"interval": "58m", "write_time": "1m", "restore_time": "2m"}), []string{`error checkpoint.interval: `, "take 1h1m"}},
		{"interval of nothing", checkpoint(map[string]any{"interval": "0s"}), []string{`error checkpoint.interval: `, "more than zero"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, nil)
			got := h.validate(h.config(c.config))
			if len(c.want) == 0 {
				if len(got) > 0 {
					t.Errorf("refused: %q", got)
				}
				return
			}
			if len(got) != 1 {
				t.Fatalf("%d messages, want one: %q", len(got), got)
			}
			for _, w := range c.want {
				if !strings.Contains(got[0], strings.ReplaceAll(w, `\"`, `"`)) {
					t.Errorf("%q does not say %q", got[0], w)
				}
			}
		})
	}
}

func TestTooManyVariables(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	env := map[string]any{}
	for i := range 1001 {
		env[fmt.Sprintf("V%d", i)] = "x"
	}
	if got := h.validate(h.config(map[string]any{"env": env})); len(got) != 1 || !strings.Contains(got[0], "at most 1000") {
		t.Errorf("%q", got)
	}
}
