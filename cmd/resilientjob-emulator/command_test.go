// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

// asCommand makes the test binary be the command.
const asCommand = "RESILIENTJOB_EMULATOR_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	runner.MaybeInit()
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

func TestFlags(t *testing.T) {
	t.Parallel()
	for args, c := range map[string]struct {
		code int
		want string
	}{
		"--version":                            {exitOK, "resilientjob-emulator "},
		"--help":                               {exitOK, "--preempt-every DURATION"},
		"-h":                                   {exitOK, "default 127.0.0.1:8085"},
		"--nonsense":                           {exitUsage, "not defined: --nonsense"},
		"extra":                                {exitUsage, `unexpected argument "extra"`},
		"--image train":                        {exitUsage, `flag --image: "train" has no "="`},
		"--log-level loud":                     {exitUsage, "flag --log-level"},
		"--preempt-after soon":                 {exitUsage, "flag --preempt-after: write a length of time such as 60s"},
		"--preempt-after 60":                   {exitUsage, "flag --preempt-after: write a length of time such as 60s"},
		"--preempt-every -1s":                  {exitUsage, "flag --preempt-every: write a length of time such as 60s"},
		"--listen 0.0.0.0:0":                   {exitFailed, "loopback address only"},
		"--listen 127.0.0.1:0 --data DIR/file": {exitFailed, "not a directory"},
		"--listen 127.0.0.1:0 --control-token-file DIR/none/token": {exitFailed, "--control-token-file"},
		"--listen 127.0.0.1:0 --seed DIR/none":                     {exitFailed, "--seed: open "},
		"--listen 127.0.0.1:0 --record DIR/none/record":            {exitFailed, "--record: open "},
		"--listen 127.0.0.1:0 --data DIR/data --seed DIR/bad.json": {exitFailed, "the seed cannot be made: projects.p.buckets[1].bucket: Your previous request"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "bad.json"), []byte(`{"projects":{"p":{"buckets":[{"bucket":{"name":"twice"}},{"bucket":{"name":"twice"}}]}}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		code := command(t.Context(), strings.Fields(strings.ReplaceAll(args, "DIR", dir)), &stdout, &stderr)
		if text := stdout.String() + stderr.String(); code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%s: %d\n%s\nwant %d and %q", args, code, text, c.code, c.want)
		}
		if left, err := filepath.Glob(filepath.Join(dir, "data", "records", "*")); err != nil || len(left) != 0 {
			t.Errorf("%s: a seed that failed left %v, %v", args, left, err)
		}
	}
}

func TestBusyPort(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	var stdout, stderr bytes.Buffer
	code := command(t.Context(), []string{"--listen", listener.Addr().String()}, &stdout, &stderr)
	if code != exitFailed || !strings.Contains(stderr.String(), "another program, perhaps another emulator, uses this port") {
		t.Errorf("%d\n%s", code, stderr.String())
	}
}

// running is the command while it runs.
type running struct {
	addr, token string
	lines       chan string
}

// next returns the next line that begins so.
func (e *running) next(t *testing.T, prefix string) string {
	t.Helper()
	var seen []string
	for line := range e.lines {
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			return rest
		}
		seen = append(seen, line)
	}
	t.Fatalf("the output ended before a line with %q:\n%s", prefix, strings.Join(seen, "\n"))
	return ""
}

func (e *running) post(t *testing.T, path, body string, header ...string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+e.addr+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s %v", path, resp.StatusCode, text, err)
	}
	return string(text)
}

func watch(t *testing.T, out io.Reader) *running {
	t.Helper()
	e := &running{lines: make(chan string, 1000)}
	go func() {
		defer close(e.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			e.lines <- lines.Text()
		}
	}()
	e.addr = e.next(t, "to use it: export RESILIENTJOB_EMULATOR_HOST=")
	e.token = e.next(t, "control token: ")
	return e
}

const loop = `{"template":{"template":{"containers":[{"image":"x","command":["/bin/sh","-c"],` +
	`"args":["trap 'echo caught; exit 143' TERM; echo attempt $CLOUD_RUN_TASK_ATTEMPT; [ $CLOUD_RUN_TASK_ATTEMPT = 1 ] || while :; do sleep 0.01; done"]}]}}}`

const parent = "/v2/projects/p/locations/us-central1/jobs"

// The whole story with a real process: a task is preempted on request and tried
// again.
func TestStory(t *testing.T) {
	t.Parallel()
	token := filepath.Join(t.TempDir(), "token")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, in := io.Pipe()
	code := make(chan int, 1)
	var stderr bytes.Buffer
	go func() {
		code <- command(ctx, []string{"--listen", "127.0.0.1:0", "--control-token-file", token}, in, &stderr)
		_ = in.Close()
	}()
	e := watch(t, out)
	e.post(t, parent+"?jobId=train", loop)
	e.post(t, parent+"/train:run", "{}")
	execution, _, _ := strings.Cut(e.next(t, "train-"), " ")
	if written, err := os.ReadFile(token); err != nil || strings.TrimSpace(string(written)) != e.token {
		t.Errorf("token file: %q, %v", written, err)
	}
	if info, err := os.Stat(token); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("token file: %v, %v; want it for the owner only", info, err)
	}
	e.post(t, "/control/v1/preempt", `{"job":"train"}`, "Authorization", "Bearer "+e.token)
	who := fmt.Sprintf("train-%s task 0 attempt ", execution)
	e.next(t, who+"0: Container instance preemption")
	e.next(t, who+"0 | caught")
	e.next(t, who+"0: Container called exit(143).")
	e.next(t, who+"1 begins: the task is tried again")
	e.next(t, who+"1 | attempt 1")
	e.next(t, "Execution train-"+execution+" has completed successfully.")
	stop()
	e.next(t, "stopped")
	if got := <-code; got != exitOK {
		t.Errorf("exit code %d\n%s", got, stderr.String())
	}
	if _, err := os.Stat(token); !os.IsNotExist(err) {
		t.Errorf("the token file is still there: %v", err)
	}
}

// SIGTERM ends the tasks first and then the program, in good order.
func TestSIGTERM(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--preempt-after", "1h")
	cmd.Env = append(os.Environ(), asCommand+"=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e := watch(t, out)
	e.post(t, parent+"?jobId=train", loop)
	e.post(t, parent+"/train:run", "{}")
	execution, _, _ := strings.Cut(e.next(t, "train-"), " ")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	e.next(t, "stopping: running tasks get SIGTERM")
	e.next(t, "train-"+execution+" task 0 attempt 0 | caught")
	e.next(t, "stopped")
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, stderr.String())
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	l := newLogger(0, &b)
	l.Debug("hidden")
	l.Info("plain | text with = and \x1b[31mcolour\nand a line")
	l.Warn("careful", "key", "two words", "n", 3, "empty", "")
	l.With("a", 1).WithGroup("g").Error("bad", "b", "x=y")
	want := `plain | text with = and \x1b[31mcolour\nand a line
warn: careful key="two words" n=3 empty=""
error: bad a=1 g.b="x=y"
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
