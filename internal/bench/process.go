// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"
)

// start is how long the provider takes from its start to its schema, as Terraform asks for it.
func start(ctx context.Context, provider string) (took time.Duration, err error) {
	begun := time.Now()
	cmd := exec.CommandContext(ctx, provider)
	// What Terraform sets for the plugins that it starts; without it they tell a person that they are none to start.
	cmd.Env = append(os.Environ(), "TF_PLUGIN_MAGIC_COOKIE=d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2", "PLUGIN_PROTOCOL_VERSIONS=6")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer func() { _ = errors.Join(cmd.Process.Kill(), cmd.Wait()) }() // its end is not measured
	lines := bufio.NewReader(stdout)
	line, err := lines.ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("the provider did not start: %w", err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	// "1|6|unix|/tmp/plugin1|grpc|"
	parts := strings.Split(strings.TrimSpace(line), "|")
	if len(parts) < 5 || parts[2] != "unix" {
		return 0, fmt.Errorf("the provider says %q", line)
	}
	conn, err := grpc.NewClient("unix:"+parts[3], grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1<<28)))
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }() // nor is that
	// The messages of the protocol are not public; their size is all that is of interest.
	if err := conn.Invoke(ctx, "/tfplugin6.Provider/GetProviderSchema", &emptypb.Empty{}, &emptypb.Empty{}); err != nil {
		return 0, err
	}
	return time.Since(begun), nil
}

// peaks are the most that processes had in memory, in MB; 0 where the machine does not tell.
type peaks struct {
	provider float64 // the largest process of the provider
	private  float64 // of that, without the pages of the program's file
	own      float64 // terraform's own
}

// watch looks at the memory of a terraform process and of the providers below it until it ends.
func watch(terraform int, provider string) (ended func() peaks) {
	done := make(chan struct{})
	var group sync.WaitGroup
	var most peaks
	group.Go(func() {
		tick := time.NewTicker(15 * time.Millisecond)
		defer tick.Stop()
		known := map[int]bool{}
		for n := 0; ; n++ {
			most.own = max(most.own, memory(terraform, "VmHWM:"))
			if n%5 == 0 {
				for _, pid := range running(provider) {
					known[pid] = true
				}
			}
			for pid := range known {
				most.provider = max(most.provider, memory(pid, "VmHWM:"))
				most.private = max(most.private, memory(pid, "RssAnon:"))
			}
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	})
	return func() peaks {
		close(done)
		group.Wait()
		return most
	}
}

// running are the processes of a program.
func running(program string) []int {
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	var out []int
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && target == program {
			if pid, err := strconv.Atoi(strings.Split(link, "/")[2]); err == nil {
				out = append(out, pid)
			}
		}
	}
	return out
}

// memory is a line of what the machine tells of a process's memory, in MB.
func memory(pid int, field string) float64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		if value, ok := strings.CutPrefix(line, field); ok {
			kB, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
			if err == nil {
				return kB * 1024 / 1e6
			}
		}
	}
	return 0
}
