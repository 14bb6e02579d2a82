// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
)

const (
	workflowFile    = "ci/github-workflow.yml"
	workflowVersion = "0.1.0"
)

// workflowStep is a step of a workflow: what it is called, and its commands.
type workflowStep struct{ Name, Run string }

// workflowSteps reads the steps with commands, in their order.
func workflowSteps(t *testing.T) []workflowStep {
	t.Helper()
	var workflow struct {
		Jobs map[string]struct{ Steps []workflowStep }
	}
	if err := yaml.Unmarshal([]byte(readExample(t, filepath.Join(examples, workflowFile))), &workflow); err != nil {
		t.Fatal(err)
	}
	if len(workflow.Jobs) != 1 {
		t.Fatalf("%d jobs", len(workflow.Jobs))
	}
	var steps []workflowStep
	for _, job := range workflow.Jobs {
		steps = slices.DeleteFunc(job.Steps, func(s workflowStep) bool { return s.Run == "" }) // the others use an action
	}
	return steps
}

// Actions are pinned by hash, with their version beside it, and the workflow may
// read the repository and nothing else.
func TestWorkflowIsPinned(t *testing.T) {
	t.Parallel()
	text := readExample(t, filepath.Join(examples, workflowFile))
	uses := regexp.MustCompile(`(?m)^ *-? *uses: (.*)$`).FindAllStringSubmatch(text, -1)
	pinned := regexp.MustCompile(`^[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	for _, use := range uses {
		if !pinned.MatchString(use[1]) {
			t.Errorf("%s is not pinned by hash and version", use[1])
		}
		// The same as in the project's own workflows, which are kept up to date.
		if own := readExample(t, "../../.github/workflows/test.yml"); !strings.Contains(own, use[1]) {
			t.Errorf("%s is not what .github/workflows/test.yml uses", use[1])
		}
	}
	if len(uses) < 2 || strings.Count(text, "permissions:") != 1 || !strings.Contains(text, "\npermissions:\n  contents: read\n\n") {
		t.Errorf("%d actions; or the permissions are not contents: read alone", len(uses))
	}
	if strings.Contains(text, "secrets.") {
		t.Error("it needs a secret")
	}
}

// The commands of the workflow do what they should, here: with a release of this
// build, which they download from this test, and with the modules of examples/.
func TestAccWorkflow(t *testing.T) {
	t.Parallel()
	address := "RESILIENTJOB_EMULATOR_HOST=" + freeAddress(t)
	tf := acctest.CLI(t, acctest.Emulator(t), address)
	tf.Needs(acctest.Functions)
	tf.Needs(acctest.TestMocks)
	for _, tool := range []string{"bash", "curl", "sha256sum", "tar", "python3"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("NOT TESTED: the workflow is for Linux, and %s is not here", tool)
		}
	}
	root := t.TempDir()
	workspace, temp, path := filepath.Join(root, "workspace"), filepath.Join(root, "temp"), filepath.Join(root, "path")
	for _, part := range []string{"modules", "apps"} {
		if err := os.CopyFS(filepath.Join(workspace, part), os.DirFS(filepath.Join(examples, part))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	// TestAccModules has run the others.
	for _, file := range []string{"guard_rails", "options", "mocked"} {
		if err := os.Remove(filepath.Join(workspace, "modules/resilient-gpu-job/tests", file+".tftest.hcl")); err != nil {
			t.Fatal(err)
		}
	}
	release := workflowRelease(t)
	env := append(tf.Environment(), "EMULATOR_VERSION="+workflowVersion, "GITHUB_WORKSPACE="+workspace, "GITHUB_PATH="+path, "RUNNER_TEMP="+temp)
	tools := workflowTools(t, root)
	run := func(step workflowStep) (string, error) {
		script := strings.ReplaceAll(step.Run, "https://github.com/resilientjob/terraform-provider-resilientjob/releases/download", release.URL)
		cmd := exec.CommandContext(t.Context(), "bash", "-e", "-c", script) // as GitHub does
		cmd.Dir = workspace
		added, _ := os.ReadFile(path) // not there before the first step that adds to it
		cmd.Env = append(slices.Clone(env), "PATH="+strings.Join(append(strings.Fields(string(added)), tools), ":"))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	t.Cleanup(func() { // what a step that failed has left running
		if pid, err := os.ReadFile(filepath.Join(temp, "emulator.pid")); err == nil {
			exec.Command("kill", strings.TrimSpace(string(pid))).Run() //nolint:errcheck // It has ended, as a rule.
		}
	})
	ran := map[string]bool{}
	for _, step := range workflowSteps(t) {
		if strings.HasPrefix(step.Run, "sudo ") {
			continue // a setting of the machine
		}
		if step.Name == "Install the emulator" {
			// Another archive than that of the list is refused.
			release.damaged = true
			if out, err := run(step); err == nil || !strings.Contains(out, "FAILED") {
				t.Errorf("a damaged archive: %v\n%s", err, out)
			}
			release.damaged = false
			if err := os.RemoveAll(filepath.Join(temp, "emulator")); err != nil {
				t.Fatal(err)
			}
		}
		out, err := run(step)
		ran[step.Name] = true
		switch {
		case err != nil:
			said, _ := os.ReadFile(filepath.Join(temp, "emulator.log"))
			t.Fatalf("%s: %v\n%s\nThe emulator says:\n%s", step.Name, err, out, said)
		case step.Name == "Test the modules" && strings.Count(out, " passed, 0 failed.") != 2, step.Name == "Look at the emulator" && !strings.Contains(out, "3 jobs were made"),
			step.Name == "Show what the emulator did" && !strings.Contains(out, "vision-dev-segmenter"):
			t.Errorf("%s:\n%s", step.Name, out)
		}
	}
	if len(ran) < 6 {
		t.Errorf("only these steps were run: %v", ran)
	}
}

// The test in Go that the guide shows finds that a job survives.
func TestAccRehearsalInGo(t *testing.T) {
	t.Parallel()
	e := moduleEmulator(t)
	tf := modules(t, e, "modules/resilient-gpu-job")
	root := t.TempDir()
	token := filepath.Join(root, "token")
	if err := os.WriteFile(token, []byte(e.ControlToken()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := append(tf.Environment(), "PATH="+workflowTools(t, root), "CONTROL_TOKEN_FILE="+token, "MODULE="+tf.Dir)
	program := filepath.Join(root, "rehearsal.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", program, "../../examples/ci")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.v")
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestJobSurvivesInterruption") {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := len(e.Faults().Find(acctest.RunJob)); n != 1 {
		t.Errorf("the job was run %d times", n)
	}
	nothingLeft(t, e, "rehearsal")
}

// The calls of the control API that the guide shows do what it says.
func TestAccControlScript(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("NOT TESTED: curl is not here")
	}
	e := acctest.Emulator(t)
	callEmulator(t, e, "POST", "/storage/v1/b?project=earlier", `{"name": "from-an-earlier-test"}`)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(e.ControlToken()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	script := exec.CommandContext(t.Context(), "bash", filepath.Join(examples, "ci/control.sh"))
	script.Env = append(os.Environ(), "RESILIENTJOB_EMULATOR_HOST="+e.Addr(), "CONTROL_TOKEN_FILE="+token)
	if out, err := script.CombinedOutput(); err != nil || !strings.Contains(string(out), `"calls"`) {
		t.Fatalf("%v\n%s", err, out)
	}
	if code, _ := tryEmulator(t, e, "GET", "/storage/v1/b/from-an-earlier-test", ""); code != http.StatusNotFound {
		t.Errorf("after the reset a bucket is still there: %d", code)
	}
	callEmulator(t, e, "GET", "/storage/v1/b/ml-platform-datasets/o/2026-11-01%2Fimages.csv", "")
	callEmulator(t, e, "GET", "/v1/projects/ml-platform/secrets/wandb-key/versions/1", "")
	if run := callEmulator(t, e, "GET", "/v2/projects/ml-platform/locations/us-central1/jobs/nightly/executions/nightly-bx4kz", ""); !strings.Contains(run, "NON_ZERO_EXIT_CODE") {
		t.Errorf("the seeded execution: %s", run)
	}
	if now := e.Now(); now.Before(before.Add(6 * time.Hour)) {
		t.Errorf("six hours did not pass: it is %s", now)
	}
	for _, want := range []int{http.StatusServiceUnavailable, http.StatusServiceUnavailable, http.StatusOK} {
		code, answer := tryEmulator(t, e, "POST", "/v2/projects/ml-platform/locations/us-central1/jobs?jobId=train", `{"template": {"template": {"containers": [{"image": "us-docker.pkg.dev/p/r/i:1"}]}}}`)
		if code != want {
			t.Errorf("a job is made with %d, want %d: %s", code, want, answer)
		}
	}
}

// release serves the files of a release.
type release struct {
	*httptest.Server
	damaged bool
}

func workflowRelease(t *testing.T) *release {
	t.Helper()
	const archive = "resilientjob-emulator_" + workflowVersion + "_linux_amd64.tar.gz"
	binary := filepath.Join(t.TempDir(), "resilientjob-emulator")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./cmd/resilientjob-emulator")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	zip, err := gzip.NewWriterLevel(&packed, gzip.NoCompression)
	if err != nil {
		t.Fatal(err)
	}
	files := tar.NewWriter(zip)
	for name, text := range map[string][]byte{"resilientjob-emulator": content, "LICENSE": []byte("MPL-2.0\n")} {
		if err := files.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := files.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	r := &release{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		switch q.URL.Path {
		case "/v" + workflowVersion + "/" + archive:
			w.Write(packed.Bytes())
			if r.damaged {
				w.Write([]byte{0})
			}
		case "/v" + workflowVersion + "/terraform-provider-resilientjob_" + workflowVersion + "_SHA256SUMS":
			fmt.Fprintf(w, "%x  another_file.zip\n%x  %s\n", sha256.Sum256(nil), sha256.Sum256(packed.Bytes()), archive)
		default:
			http.NotFound(w, q)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// workflowTools is a PATH in which the command line that is tested is called
// terraform.
func workflowTools(t *testing.T, root string) string {
	t.Helper()
	other := os.Getenv("TF_ACC_TERRAFORM_PATH")
	if other == "" {
		return os.Getenv("PATH")
	}
	found, err := exec.LookPath(other)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(found, filepath.Join(root, "terraform")); err != nil {
		t.Fatal(err)
	}
	return root + ":" + os.Getenv("PATH")
}

// freeAddress returns an address that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // The address was free.
	return l.Addr().String()
}
