// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
)

// The places in which something secret could turn up.
const (
	inErrors = "errors"
	inOutput = "other output"
	inLog    = "log at level TRACE"
	inState  = "state"
	inPlan   = "plan as JSON"
	inEmu    = "the emulator's log"
	inCalls  = "the emulator's record of calls"
)

// canary is a text that is looked for everywhere.
type canary struct {
	what, text string
	// may are the places in which it may stand; everywhere else it is a leak.
	may []string
}

// What may stand where. Credentials are never of use to anybody but the API, and
// payloads of secrets are never read. The values of variables are the user's own:
// Terraform shows them in a plan as it does every attribute that is not marked
// sensitive, and keeps them in the state and the plan file (the documentation of
// env says so, and points to secret_env). They are sent to the API, so that the
// record of calls, which only tests can read, has them. But a log or an error is
// copied into tickets and build logs, and does not have them.
var (
	canaryPayload  = canary{what: "the payload of a secret", text: "canary-payload-9f31"}
	canaryToken    = canary{what: "the access token", text: "canary-token-5d20"}
	canaryFetched  = canary{what: "a token that was had for the private key", text: "canary-fetched-77aa"}
	canaryVariable = canary{"a value in env of a job", "canary-variable-1c02", []string{inOutput, inState, inPlan, inCalls}}
	canaryOverride = canary{"a value in env of an execution", "canary-override-e8b4", []string{inOutput, inState, inPlan, inCalls}}
)

// evidence is what was found, by place.
type evidence struct {
	t     *testing.T
	texts map[string]string
}

func (e *evidence) add(place, text string) { e.texts[place] += text + "\n" }

// command adds what a command wrote. Errors go to the other stream than the rest;
// warnings are in the log as well, which may hold less.
func (e *evidence) command(r *acctest.Result) {
	plain := map[string]bool{}
	for line := range strings.Lines(r.Stdout) {
		plain[line] = true
	}
	e.add(inOutput, r.Stdout)
	for line := range strings.Lines(r.Output()) {
		if !plain[line] {
			e.add(inErrors, line)
		}
	}
}

// check looks for every canary in every place.
func (e *evidence) check(all ...canary) {
	e.t.Helper()
	for _, c := range all {
		for place, text := range e.texts {
			if at := strings.Index(text, c.text); at >= 0 && !slices.Contains(c.may, place) {
				e.t.Errorf("%s is in: %s: …%s…", c.what, place, text[max(0, at-200):min(len(text), at+100)])
			}
		}
		for _, place := range c.may {
			// Otherwise the test looks at the wrong thing.
			if !strings.Contains(e.texts[place], c.text) {
				e.t.Errorf("%s is not even in: %s", c.what, place)
			}
		}
	}
}

// traced runs a command line with the log of core and provider in a file.
func traced(t *testing.T, e *emulator.Emulator, extra ...string) (tf *acctest.Terraform, log string) {
	t.Helper()
	log = filepath.Join(t.TempDir(), "trace.log")
	return acctest.CLI(t, e, append([]string{"TF_LOG=TRACE", "TF_LOG_PATH=" + log}, extra...)...).Processes(), log
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

const ephemeral = `
variable "token" {
  type      = string
  ephemeral = true
}
variable "key" {
  type      = string
  ephemeral = true
}
`

// serviceAccountKey makes the content of a key file, and a part of its private
// key that is nowhere else.
func serviceAccountKey(t *testing.T, tokenURL string) (file, part string) {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	text := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	raw, err := json.Marshal(map[string]string{"type": "service_account", "project_id": "p", "private_key_id": "id", "private_key": text,
		"client_email": "deployer@p.iam.gserviceaccount.com", "client_id": "1", "token_uri": tokenURL})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw), strings.Split(text, "\n")[10]
}

// Nothing secret leaves the place where it belongs, in a life with
// refusals that repeat the request, and at the highest log level.
func TestAccSecretsStayWhereTheyBelong(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	var lock sync.Mutex
	tasks := runner.NewScripted()
	tasks.OnLaunch(func(a *runner.ScriptedAttempt) { a.Exit(0) })
	e := acctest.Emulator(t, func(o *emulator.Options) {
		o.Launcher = tasks
		o.Logger = slog.New(slog.NewTextHandler(lockedWriter{&lock, &log}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	callEmulator(t, e, http.MethodPost, "/v1/projects/"+theProject+"/secrets?secretId=token", `{"replication":{"automatic":{}}}`)
	callEmulator(t, e, http.MethodPost, "/v1/projects/"+theProject+"/secrets/token:addVersion", `{"payload":{"data":"`+base64.StdEncoding.EncodeToString([]byte(canaryPayload.text))+`"}}`)

	file, part := serviceAccountKey(t, "https://127.0.0.1:1/token")
	key := canary{what: "the private key", text: part}
	tf, trace := traced(t, e, "TF_VAR_token="+canaryToken.text, "TF_VAR_key="+file)
	tf.Needs(acctest.Ephemeral)
	config := func(image string) string {
		return ephemeral + `
provider "resilientjob" {
  project      = "` + theProject + `"
  region       = "us-central1"
  access_token = var.token
}
provider "resilientjob" {
  alias       = "key"
  project     = "` + theProject + `"
  region      = "us-central1"
  credentials = var.key
}
resource "resilientjob_gpu_job" "j" {
  provider   = resilientjob.key
  name       = "train"
  image      = "` + image + `"
  env        = { WORD = "` + canaryVariable.text + `" }
  secret_env = { TOKEN = { secret = "token", version = "1" } }
}
resource "resilientjob_execution" "x" {
  job      = resilientjob_gpu_job.j.id
  env      = { MORE = "` + canaryOverride.text + `" }
  wait_for = "completed"
}
`
	}
	found := &evidence{t: t, texts: map[string]string{}}

	// Google's validators quote what they do not like; here they quote it all.
	echo := func(method string, of canary) *faults.Handle {
		return e.Faults().Add(faults.Fault{Method: method, Status: status.Newf(codes.InvalidArgument,
			"Invalid value at 'job.template.template.containers[0].env[0].value' (%q): the request was {name: train env: {value: %[1]s}}", of.text)})
	}
	struck := []*faults.Handle{echo(acctest.CreateJob, canaryVariable)}
	tf.Write(config(theImage + "1"))
	found.command(tf.Apply().Fails("(the value of WORD)"))
	struck = append(struck, echo(acctest.RunJob, canaryOverride))
	found.command(tf.Apply().Fails("(the value of MORE)"))
	found.command(tf.Apply().Succeeds())
	tf.Write(config(theImage + "2"))
	struck = append(struck, echo(acctest.UpdateJob, canaryVariable), e.Faults().Add(faults.Fault{Method: acctest.DeleteJob, Status: status.New(codes.FailedPrecondition, "The job cannot be deleted now.")}))
	found.command(tf.Apply().Fails("(the value of WORD)"))
	plan := tf.Plan()
	found.command(plan.Result)
	shown, err := json.Marshal(plan.JSON())
	if err != nil {
		t.Fatal(err)
	}
	found.add(inPlan, string(shown))
	found.add(inState, readFile(t, filepath.Join(tf.Dir, "terraform.tfstate")))
	found.command(tf.Destroy().Fails("The job cannot be deleted now."))
	found.command(tf.Destroy().Succeeds())
	for i, h := range struck {
		if h.Struck() == 0 {
			t.Errorf("refusal %d was never given", i)
		}
	}
	found.add(inLog, readFile(t, trace))
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	lock.Lock()
	found.add(inEmu, log.String())
	lock.Unlock()
	for _, c := range e.Faults().Calls() {
		found.add(inCalls, fmt.Sprintf("%s %s %s %v %s", c.Method, c.Resource, c.Body, c.Query, c.UserAgent))
		if c.Request != nil {
			found.add(inCalls, prototext.Format(c.Request))
		}
	}
	for place, want := range map[string]string{inErrors: "Cannot create the Cloud Run job", inLog: "[TRACE]", inEmu: "job train created", inCalls: "jobs/train"} {
		if !strings.Contains(found.texts[place], want) {
			t.Errorf("%s does not have %q: the test looks at the wrong thing", place, want)
		}
	}
	found.check(canaryPayload, canaryToken, key, canaryVariable, canaryOverride)
	found.check(canary{what: "the payload of a secret, encoded", text: base64.StdEncoding.EncodeToString([]byte(canaryPayload.text))})
}

// Over TLS the credentials go to the API, and nowhere else, also when every
// answer repeats the headers of the request.
func TestAccCredentialsStayWhereTheyBelong(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		t.Skip("a certificate can be trusted for one process only where SSL_CERT_FILE counts")
	}
	acctest.Emulator(t) // declares that no cloud is needed
	var heard sync.Map
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said := r.Header.Get("Authorization")
		heard.Store(said, true)
		switch {
		case r.URL.Path == "/token":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":3600}`, canaryFetched.text)
		case strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc"):
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set("Grpc-Status", "7")
			w.Header().Set("Grpc-Message", url.PathEscape("The proxy does not let this through: authorization: "+said))
		default:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, `{"error":{"code":403,"message":"The proxy does not let this through: authorization: %s"}}`, said)
		}
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	roots := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	file, part := serviceAccountKey(t, server.URL+"/token")
	key := canary{what: "the private key", text: part}
	tf, trace := traced(t, nil, "SSL_CERT_FILE="+roots, "TF_VAR_token="+canaryToken.text, "TF_VAR_key="+file, "GOOGLE_CREDENTIALS=", "GOOGLE_OAUTH_ACCESS_TOKEN=")
	tf.Needs(acctest.Ephemeral)
	settings := "  project   = \"p\"\n  region    = \"us-central1\"\n  endpoints = { " + strings.Join(strings.Fields(strings.NewReplacer("URL", `"`+server.URL+`"`).Replace("run=URL, iam=URL, storage=URL, secretmanager=URL")), " ") + " }\n}\n"
	tf.Write(ephemeral + "provider \"resilientjob\" {\n  access_token = var.token\n" + settings + "provider \"resilientjob\" {\n  alias       = \"key\"\n  credentials = var.key\n" + settings + `
data "resilientjob_execution" "token" { job = "train" }
data "resilientjob_execution" "key" {
  provider = resilientjob.key
  job      = "train"
}
resource "resilientjob_checkpoint_bucket" "b" { name = "our-checkpoints" }
`)
	found := &evidence{t: t, texts: map[string]string{}}
	found.command(tf.Plan().Fails("The proxy does not let this through: authorization: Bearer (the access token)"))
	found.command(tf.Import("resilientjob_checkpoint_bucket.b", "our-checkpoints").Fails("Cannot import the bucket", "authorization: Bearer (the access token)"))
	found.command(tf.Apply("-target=resilientjob_checkpoint_bucket.b").Fails("Cannot create the bucket"))
	found.add(inLog, readFile(t, trace))
	for _, text := range []string{canaryToken.text, canaryFetched.text} {
		if _, ok := heard.Load("Bearer " + text); !ok {
			t.Errorf("the API has not heard %q", text)
		}
	}
	found.check(canaryToken, key, canaryFetched)
	if bearer := regexp.MustCompile(`Bearer [^(\s]\S*`).FindString(found.texts[inLog] + found.texts[inErrors]); bearer != "" {
		t.Errorf("there is a token: %s", bearer)
	}
}

type lockedWriter struct {
	lock *sync.Mutex
	to   *bytes.Buffer
}

func (w lockedWriter) Write(p []byte) (int, error) {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.to.Write(p)
}
