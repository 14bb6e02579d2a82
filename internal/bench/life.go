// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// bench is the binaries that are measured, in a folder for what they write.
type bench struct {
	root, provider, emulator string
}

const configuration = `
terraform {
  required_providers {
    resilientjob = { source = "resilientjob/resilientjob" }
  }
}
resource "resilientjob_checkpoint_bucket" "all" {
  name          = "ckpt-bench"
  force_destroy = true
}
resource "resilientjob_gpu_job" "all" {
  count      = %d
  name       = "bench-${count.index}"
  image      = "us-docker.pkg.dev/cloudrun/container/job"
  gpu_type   = "none"
  checkpoint = { bucket = resilientjob_checkpoint_bucket.all.name, mount_path = "/mnt/ckpt" }
%s}
`

const (
	project = "bench-project"
	account = "trainer@" + project + ".iam.gserviceaccount.com"
	token   = "bench"
)

// life measures apply, plans and destroy of so many jobs, on an emulator of their own.
func (b *bench) life(ctx context.Context, out io.Writer, jobs int, wide []int, shared bool, latency time.Duration) (err error) {
	dir, err := os.MkdirTemp(b.root, "life")
	if err != nil {
		return err
	}
	address, stop, err := b.serve(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	called := address
	if latency > 0 {
		var near func() error
		if called, near, err = distant(address, latency); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, near()) }()
	}
	more := ""
	if shared {
		more = "  service_account = \"" + account + "\"\n"
		if err := addAccount(ctx, address); err != nil {
			return err
		}
	}
	rc := filepath.Join(dir, "terraform.rc")
	override := fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"resilientjob/resilientjob\" = %q\n  }\n  direct {}\n}\n", filepath.Dir(b.provider))
	if err := errors.Join(os.WriteFile(rc, []byte(override), 0o600),
		os.WriteFile(filepath.Join(dir, "main.tf"), fmt.Appendf(nil, configuration, jobs, more), 0o600)); err != nil {
		return err
	}
	env := append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "TF_") || strings.HasPrefix(v, "GOOGLE_") || strings.HasPrefix(v, "RESILIENTJOB_")
	}), "TF_CLI_CONFIG_FILE="+rc, "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "TF_INPUT=0",
		"RESILIENTJOB_EMULATOR_HOST="+called, "GOOGLE_PROJECT="+project, "GOOGLE_REGION=us-central1")
	run := func(args ...string) error {
		if err := forget(ctx, address); err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, "terraform", args...)
		var said bytes.Buffer
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, &said, &said
		begun := time.Now()
		if err := cmd.Start(); err != nil {
			return err
		}
		ended := watch(cmd.Process.Pid, b.provider)
		err := cmd.Wait()
		took := time.Since(begun)
		memory := ended()
		if err != nil {
			return fmt.Errorf("terraform %s: %w\n%s", strings.Join(args, " "), err, said.String())
		}
		requests, err := count(ctx, address)
		if err != nil {
			return err
		}
		shown := strings.Join(slices.DeleteFunc(args, func(a string) bool { return a == "-no-color" || a == "-auto-approve" || a == "-detailed-exitcode" }), " ")
		fmt.Fprintf(out, "| %d | %s | %.2f s | %d | %.0f MB | %.0f MB | %.0f MB |\n", jobs, shown, took.Seconds(), requests, memory.provider, memory.private, memory.own)
		return nil
	}
	steps := [][]string{{"apply", "-no-color", "-auto-approve"}}
	for _, p := range wide {
		// An exit code of 2 would be a plan with changes.
		steps = append(steps, []string{"plan", "-no-color", "-detailed-exitcode", fmt.Sprintf("-parallelism=%d", p)})
	}
	steps = append(steps, []string{"destroy", "-no-color", "-auto-approve"})
	for _, args := range steps {
		if err := run(args...); err != nil {
			return err
		}
	}
	return nil
}

// serve starts the emulator at a free port.
func (b *bench) serve(ctx context.Context) (address string, stop func() error, err error) {
	free, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	address = free.Addr().String()
	if err := free.Close(); err != nil {
		return "", nil, err
	}
	cmd := exec.Command(b.emulator, "--listen", address, "--control-token", token, "--log-level", "error")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	// It says something when it listens.
	if _, err := stdout.Read(make([]byte, 1)); err != nil {
		return "", nil, errors.Join(fmt.Errorf("the emulator did not start: %w", err), cmd.Wait())
	}
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	return address, func() error { return errors.Join(cmd.Process.Signal(os.Interrupt), cmd.Wait()) }, nil
}

func control(ctx context.Context, method, address string, answer any) error {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+address+"/control/v1/calls", nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	return send(r, answer)
}

func send(r *http.Request, answer any) error {
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", r.Method, r.URL, resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode(answer)
}

func forget(ctx context.Context, address string) error {
	return control(ctx, http.MethodDelete, address, new(struct{}))
}

// count is how many requests came since forget.
func count(ctx context.Context, address string) (int, error) {
	var answer struct{ Calls []json.RawMessage }
	err := control(ctx, http.MethodGet, address, &answer)
	if os.Getenv("BENCH_CALLS") != "" {
		return len(answer.Calls), errors.Join(err, tell(answer.Calls))
	}
	return len(answer.Calls), err
}

// tell says on the standard error which methods were called how often.
func tell(calls []json.RawMessage) error {
	methods := map[string]int{}
	for _, raw := range calls {
		var call struct{ Method string }
		if err := json.Unmarshal(raw, &call); err != nil {
			return err
		}
		methods[call.Method]++
	}
	fmt.Fprintln(os.Stderr, methods)
	return nil
}

// addAccount makes the account that all jobs run as.
func addAccount(ctx context.Context, address string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/v1/projects/"+project+"/serviceAccounts",
		strings.NewReader(`{"accountId":"trainer"}`))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	return send(r, new(struct{}))
}
