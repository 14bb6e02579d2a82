// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	jobs := flag.String("jobs", "1,100", "measure with so many `JOBS` on one bucket, and then with so many")
	parallelism := flag.String("parallelism", "10", "plan with each `PARALLELISM`; everything else has Terraform's default of 10")
	shared := flag.Bool("shared-account", false, "let all jobs run as one account, instead of one each")
	latency := flag.Duration("latency", 0, "let the APIs seem so far away, there and back")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := measure(ctx, os.Stdout, *jobs, *parallelism, *shared, *latency); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1) //nolint:gocritic // the program ends
	}
}

func measure(ctx context.Context, out io.Writer, jobs, parallelism string, shared bool, latency time.Duration) (err error) {
	counts, err := numbers(jobs)
	if err != nil {
		return err
	}
	wide, err := numbers(parallelism)
	if err != nil {
		return err
	}
	root, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root) //nolint:errcheck // a temporary folder
	b := &bench{root: root, provider: filepath.Join(root, "provider", "terraform-provider-resilientjob"), emulator: filepath.Join(root, "resilientjob-emulator")}
	for path, pkg := range map[string]string{b.provider: ".", b.emulator: "./cmd/resilientjob-emulator"} {
		if err := exec.CommandContext(ctx, "go", "build", "-ldflags", "-s -w", "-o", path, pkg).Run(); err != nil {
			return fmt.Errorf("go build %s: %w", pkg, err)
		}
	}
	size, err := os.Stat(b.provider)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s, %s/%s, %d cores, load %s, Go %s, %s\n\n", time.Now().UTC().Format("2 January 2006 15:04"), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(),
		load(), strings.TrimPrefix(runtime.Version(), "go"), terraformVersion(ctx))
	fmt.Fprintf(out, "provider binary: %.1f MB\n", float64(size.Size())/1e6)
	starts := make([]time.Duration, 0, 11)
	for range cap(starts) {
		took, err := start(ctx, b.provider)
		if err != nil {
			return err
		}
		starts = append(starts, took)
	}
	slices.Sort(starts)
	fmt.Fprintf(out, "start to schema: median %d ms, fastest %d ms, slowest %d ms of %d\n\n", starts[len(starts)/2].Milliseconds(), starts[0].Milliseconds(),
		starts[len(starts)-1].Milliseconds(), len(starts))
	if latency > 0 {
		fmt.Fprintf(out, "each call takes %s on its way\n\n", latency)
	}
	fmt.Fprintln(out, "| jobs | command | time | requests | provider's peak memory | of that private | Terraform's own |")
	fmt.Fprintln(out, "| --- | --- | --- | --- | --- | --- | --- |")
	for _, n := range counts {
		if err := b.life(ctx, out, n, wide, shared, latency); err != nil {
			return fmt.Errorf("%d jobs: %w", n, err)
		}
	}
	return nil
}

func numbers(list string) ([]int, error) {
	var out []int
	for _, s := range strings.Split(list, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is not a list of numbers", list)
		}
		out = append(out, n)
	}
	return out, nil
}

// load is what else the machine does.
func load() string {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(raw), " ")
	return first
}

func terraformVersion(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "terraform", "version").Output()
	if err != nil {
		return "terraform"
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return first
}
