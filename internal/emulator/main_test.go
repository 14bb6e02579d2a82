// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package emulator_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	run "cloud.google.com/go/run/apiv2"
	"cloud.google.com/go/run/apiv2/runpb"
	"go.uber.org/goleak"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

const parent = "projects/p/locations/us-central1"

func TestMain(m *testing.M) {
	runner.MaybeInit()
	code := m.Run()
	if code == 0 {
		// Google's clients keep idle connections and a worker of their own.
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		if err := goleak.Find(goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"),
			goleak.IgnoreAnyFunction("internal/poll.runtime_pollWait")); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			code = 1
		}
	}
	os.Exit(code)
}

// start runs an emulator whose tasks are scripted.
func start(t *testing.T, change ...func(*emulator.Options)) *emulator.Emulator {
	t.Helper()
	o := emulator.Options{Launcher: runner.NewScripted()}
	for _, f := range change {
		f(&o)
	}
	e, err := emulator.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// answer is what a REST call got.
type answer struct {
	code   int
	header http.Header
	text   string
	body   map[string]any
}

// at follows a path of names in the body.
func (a answer) at(path string) any {
	var v any = a.body
	for name := range strings.SplitSeq(path, ".") {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// send sends a request as it is; the host is the emulator's.
func send(t *testing.T, e *emulator.Emulator, method, path, body string, header ...string) (answer, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+e.Addr()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		switch header[i] {
		case "Host":
			req.Host = header[i+1]
		default:
			req.Header.Set(header[i], header[i+1])
		}
		if header[i+1] == "" {
			req.Header.Del(header[i])
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{}, err
	}
	a := answer{code: resp.StatusCode, header: resp.Header, text: string(raw)}
	_ = json.NewDecoder(bytes.NewReader(raw)).Decode(&a.body) // not every answer is JSON
	return a, nil
}

// rest sends a request and wants an answer.
func rest(t *testing.T, e *emulator.Emulator, method, path, body string, header ...string) answer {
	t.Helper()
	a, err := send(t, e, method, path, body, header...)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

// must is rest for calls that succeed.
func must(t *testing.T, e *emulator.Emulator, method, path, body string, header ...string) answer {
	t.Helper()
	a := rest(t, e, method, path, body, header...)
	if a.code != http.StatusOK {
		t.Fatalf("%s %s: %d %s", method, path, a.code, a.text)
	}
	return a
}

// jobs is Google's client by gRPC.
func jobs(t *testing.T, e *emulator.Emulator) *run.JobsClient {
	t.Helper()
	c, err := run.NewJobsClient(t.Context(), option.WithEndpoint(e.Addr()), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

const minimal = `{"template":{"template":{"containers":[{"image":"example.com/train:1"}]}}}`

func minimalJob() *runpb.Job {
	return &runpb.Job{Template: &runpb.ExecutionTemplate{Template: &runpb.TaskTemplate{
		Containers: []*runpb.Container{{Image: "example.com/train:1"}},
	}}}
}
