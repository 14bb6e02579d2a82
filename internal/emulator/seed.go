// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package emulator

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/storage"
)

// seedDocument is what a seed makes. What is left as JSON is the body of the
// API's own request, and goes to the API as it is.
type seedDocument struct {
	Projects map[string]seedProject `json:"projects"`
}

type seedProject struct {
	ServiceAccounts []json.RawMessage `json:"serviceAccounts"` // CreateServiceAccount
	Buckets         []seedBucket      `json:"buckets"`
	Secrets         []seedSecret      `json:"secrets"`
	Jobs            []seedJob         `json:"jobs"`
	LogEntries      []json.RawMessage `json:"logEntries"` // WriteLogEntries
}

type seedBucket struct {
	Bucket  json.RawMessage   `json:"bucket"`  // buckets.insert
	Folders []json.RawMessage `json:"folders"` // folders.insert
	// Objects are metadata as of objects.insert, with "content" or
	// "contentBase64".
	Objects []map[string]any `json:"objects"`
	Policy  json.RawMessage  `json:"policy"` // buckets.setIamPolicy
}

type seedSecret struct {
	SecretID string            `json:"secretId"`
	Secret   json.RawMessage   `json:"secret"`   // CreateSecret
	Versions []json.RawMessage `json:"versions"` // AddSecretVersion
	Policy   json.RawMessage   `json:"policy"`   // SetIamPolicy
}

type seedJob struct {
	Location   string          `json:"location"`
	JobID      string          `json:"jobId"`
	Job        json.RawMessage `json:"job"`    // CreateJob
	Policy     json.RawMessage `json:"policy"` // SetIamPolicy
	Executions []seedExecution `json:"executions"`
}

type seedExecution struct {
	ExecutionID string          `json:"executionId"`
	Run         json.RawMessage `json:"run"` // RunJob
	Attempts    []seedAttempt   `json:"attempts"`
}

// seedAttempt is how an attempt goes, of each task alike.
type seedAttempt struct {
	Ends     string   `json:"ends"`
	After    duration `json:"after"`
	ExitCode *int     `json:"exitCode"`
	Output   []string `json:"output"`
}

// The ways for an attempt to end.
const (
	endsSucceeded = "succeeded"
	endsFailed    = "failed"
	endsPreempted = "preempted"
	endsTimedOut  = "timedOut"
	endsCancelled = "cancelled"
	endsNot       = "running"
)

// again reports whether a task is tried again after such an end.
func (a seedAttempt) again() bool {
	return a.Ends == endsFailed || a.Ends == endsPreempted || a.Ends == endsTimedOut
}

// Seed makes what a document says, by the same calls that a client would make.
// They are not recorded, and no fault strikes them. The first that is refused ends
// it, with the path of its entry; what was made before it stays.
func (e *Emulator) Seed(ctx context.Context, document []byte) error {
	w := e.world()
	if !w.enter() {
		return errResetting().Err()
	}
	defer w.leave()
	_, err := w.seed(ctx, document)
	return err
}

// controlSeed makes what the body says.
func (e *Emulator) controlSeed(w *world, r *http.Request) (any, error) {
	var raw json.RawMessage
	if err := read(r, &raw); err != nil {
		return nil, err
	}
	made, err := w.seed(r.Context(), raw)
	if err != nil {
		return nil, err
	}
	e.options.Logger.Info("seeded: " + counted(made))
	return map[string]any{"made": made}, nil
}

// seeding is a seed that is under way.
type seeding struct {
	w    *world
	ctx  context.Context
	made map[string]int
}

func (w *world) seed(ctx context.Context, raw []byte) (map[string]int, error) {
	var document seedDocument
	if err := decode(raw, &document); err != nil {
		return nil, err
	}
	if len(document.Projects) == 0 {
		return nil, status.Errorf(codes.InvalidArgument, `The document makes nothing: write {"projects": {"my-project": {…}}}, with %s in it.`, and(fieldsOf(seedProject{})))
	}
	if err := document.check(); err != nil {
		return nil, err
	}
	if !w.forward.TryLock() {
		return nil, errBusy("seed or fast-forward")
	}
	defer w.forward.Unlock()
	s := seeding{w: w, ctx: faults.Quiet(ctx), made: map[string]int{}}
	// In an empty cloud the executions lie in the past; else they take the clock along.
	before := w.clock.Offset()
	if lasts := document.lasts(); w.store.Empty() && lasts > 0 {
		if err := w.move(-lasts); err != nil {
			return nil, err
		}
	}
	var err error
	for _, id := range slices.Sorted(maps.Keys(document.Projects)) {
		if err = s.project(id, document.Projects[id]); err != nil {
			ctx = context.WithoutCancel(ctx) // the clock must not be left in the past
			break
		}
	}
	return s.made, cmp.Or(err, w.advance(ctx, before-w.clock.Offset()))
}

// check finds what no API would, before anything is made.
func (d seedDocument) check() error {
	for _, id := range slices.Sorted(maps.Keys(d.Projects)) {
		if id == "" || strings.Contains(id, "/") {
			return seedError("projects", "%q is no id of a project.", id)
		}
		for i, job := range d.Projects[id].Jobs {
			path := fmt.Sprintf("projects.%s.jobs[%d]", id, i)
			if job.Location == "" || job.JobID == "" {
				return seedError(path, `Give "location", such as "us-central1", and "jobId".`)
			}
			for j, x := range job.Executions {
				if err := x.check(fmt.Sprintf("%s.executions[%d]", path, j), timeoutOf(job.Job, x.Run)); err != nil {
					return err
				}
			}
		}
	}
	if d.lasts() > maxForward {
		return seedError("projects", "The executions take longer than %s, one after the other: make fewer of them, or shorter ones.", hours(maxForward))
	}
	return nil
}

func (x seedExecution) check(path string, timeout time.Duration) error {
	for i, a := range x.Attempts {
		at := fmt.Sprintf("%s.attempts[%d]", path, i)
		ends := []string{endsSucceeded, endsFailed, endsPreempted, endsTimedOut, endsCancelled, endsNot}
		switch {
		case !slices.Contains(ends, a.Ends):
			return seedError(at, `"ends" is %q: write one of %s.`, a.Ends, or(ends))
		case a.After < 0:
			return seedError(at, `"after" is how long the attempt runs: it cannot be negative.`)
		case a.After != 0 && (a.Ends == endsTimedOut || a.Ends == endsNot):
			return seedError(at, `Leave "after" out: the job's timeout says when an attempt of this kind ends.`)
		case time.Duration(a.After) > timeout:
			return seedError(at, `"after" is %s, and the timeout ends the attempt after %s: write less, or give the job a longer timeout.`, hours(time.Duration(a.After)), hours(timeout))
		case a.ExitCode != nil && a.Ends != endsFailed && a.Ends != endsPreempted:
			return seedError(at, `"exitCode" is for an attempt that ends %q or %q.`, endsFailed, endsPreempted)
		case a.ExitCode != nil && (*a.ExitCode < 0 || *a.ExitCode > 255 || *a.ExitCode == 0 && a.Ends == endsFailed):
			return seedError(at, `"exitCode" is %d: write one from 1 to 255.`, *a.ExitCode)
		case i < len(x.Attempts)-1 && !a.again():
			return seedError(at, "No attempt follows one that ends %q: let it be the last.", a.Ends)
		}
	}
	return nil
}

// lasts is how long the executions take, one after the other; what is longer than maxForward is not told apart.
func (d seedDocument) lasts() time.Duration {
	var all time.Duration
	for _, p := range d.Projects {
		for _, j := range p.Jobs {
			for _, x := range j.Executions {
				for _, a := range x.Attempts {
					one := time.Duration(a.After)
					if a.Ends == endsTimedOut {
						one = timeoutOf(j.Job, x.Run)
					}
					all = min(all+min(one, maxForward), maxForward+1) // a sum of texts must not overflow
				}
			}
		}
	}
	return all
}

// timeoutOf reads the timeout of a task from the requests, before the API has
// seen them.
func timeoutOf(job, running json.RawMessage) time.Duration {
	var asJob struct {
		Template struct{ Template struct{ Timeout string } }
	}
	var asRun struct {
		Overrides struct{ Timeout string }
	}
	_ = json.Unmarshal(job, &asJob) // what is wrong is the API's to say
	_ = json.Unmarshal(running, &asRun)
	for _, text := range []string{asRun.Overrides.Timeout, asJob.Template.Template.Timeout} {
		if d, err := time.ParseDuration(text); err == nil && d > 0 {
			return d
		}
	}
	return run.DefaultTimeout
}

func seedError(path, format string, a ...any) error {
	return status.Errorf(codes.InvalidArgument, "%s: "+format, append([]any{path}, a...)...)
}

func (s seeding) project(id string, p seedProject) error {
	in := "projects." + id
	escaped := url.PathEscape(id)
	for i, body := range p.ServiceAccounts {
		if err := s.make("service accounts", fmt.Sprintf("%s.serviceAccounts[%d]", in, i), "POST", "/v1/projects/"+escaped+"/serviceAccounts", body); err != nil {
			return err
		}
	}
	for i, b := range p.Buckets {
		if err := s.bucket(fmt.Sprintf("%s.buckets[%d]", in, i), id, b); err != nil {
			return err
		}
	}
	for i, secret := range p.Secrets {
		if err := s.secret(fmt.Sprintf("%s.secrets[%d]", in, i), id, secret); err != nil {
			return err
		}
	}
	for i, j := range p.Jobs {
		if err := s.job(fmt.Sprintf("%s.jobs[%d]", in, i), id, j); err != nil {
			return err
		}
	}
	for i, body := range p.LogEntries {
		if err := s.make("log entries", fmt.Sprintf("%s.logEntries[%d]", in, i), "POST", "/v2/entries:write", body); err != nil {
			return err
		}
	}
	return nil
}

func (s seeding) bucket(at, project string, b seedBucket) error {
	if err := s.make("buckets", at+".bucket", "POST", "/storage/v1/b?project="+url.QueryEscape(project), b.Bucket); err != nil {
		return err
	}
	var named struct{ Name string }
	if err := json.Unmarshal(b.Bucket, &named); err != nil {
		return seedError(at+".bucket", "%v", err)
	}
	path := "/storage/v1/b/" + url.PathEscape(named.Name)
	if b.Policy != nil {
		if err := s.make("policies", at+".policy", "PUT", path+"/iam", b.Policy); err != nil {
			return err
		}
	}
	for i, body := range b.Folders {
		if err := s.make("folders", fmt.Sprintf("%s.folders[%d]", at, i), "POST", path+"/folders?recursive=true", body); err != nil {
			return err
		}
	}
	for i, o := range b.Objects {
		if err := s.object(fmt.Sprintf("%s.objects[%d]", at, i), path, o); err != nil {
			return err
		}
	}
	return nil
}

// object uploads metadata and content in one.
func (s seeding) object(at, bucket string, o map[string]any) error {
	metadata := maps.Clone(o)
	delete(metadata, "content")
	delete(metadata, "contentBase64")
	content, ok := o["content"].(string)
	encoded, isEncoded := o["contentBase64"].(string)
	if o["content"] != nil && !ok || o["contentBase64"] != nil && !isEncoded || ok && isEncoded {
		return seedError(at, `Give the content as one text, "content" or "contentBase64".`)
	}
	raw := []byte(content)
	if isEncoded {
		var err error
		if raw, err = base64.StdEncoding.DecodeString(encoded); err != nil {
			return seedError(at, `"contentBase64" is not base64: %v.`, err)
		}
	}
	var body bytes.Buffer
	parts := multipart.NewWriter(&body)
	first, err := parts.CreatePart(textproto.MIMEHeader{"Content-Type": {"application/json"}})
	if err == nil {
		err = json.NewEncoder(first).Encode(metadata)
	}
	if err == nil {
		var second io.Writer
		if second, err = parts.CreatePart(textproto.MIMEHeader{"Content-Type": {"application/octet-stream"}}); err == nil {
			_, err = second.Write(raw)
		}
	}
	if err != nil {
		return seedError(at, "%v", err)
	}
	_ = parts.Close() // of a buffer
	_, err = s.call(at, "POST", "/upload"+bucket+"/o?uploadType=multipart", "multipart/related; boundary="+parts.Boundary(), body.Bytes())
	if err == nil {
		s.made["objects"]++
	}
	return err
}

func (s seeding) secret(at, project string, secret seedSecret) error {
	path := "/v1/projects/" + url.PathEscape(project) + "/secrets"
	if err := s.make("secrets", at+".secret", "POST", path+"?secretId="+url.QueryEscape(secret.SecretID), secret.Secret); err != nil {
		return err
	}
	path += "/" + url.PathEscape(secret.SecretID)
	for i, body := range secret.Versions {
		if err := s.make("secret versions", fmt.Sprintf("%s.versions[%d]", at, i), "POST", path+":addVersion", body); err != nil {
			return err
		}
	}
	return s.policy(at, path, secret.Policy)
}

// policy writes that of a resource of a newer API; nil writes none.
func (s seeding) policy(at, path string, policy json.RawMessage) error {
	if policy == nil {
		return nil
	}
	body, err := json.Marshal(map[string]json.RawMessage{"policy": policy})
	if err != nil {
		return seedError(at+".policy", "%v", err)
	}
	return s.make("policies", at+".policy", "POST", path+":setIamPolicy", body)
}

func (s seeding) job(at, project string, j seedJob) error {
	path := "/v2/projects/" + url.PathEscape(project) + "/locations/" + url.PathEscape(j.Location) + "/jobs"
	operation, err := s.call(at+".job", "POST", path+"?jobId="+url.QueryEscape(j.JobID), "application/json", j.Job)
	if err != nil {
		return err
	}
	s.made["jobs"]++
	path += "/" + url.PathEscape(j.JobID)
	if err := s.await(at+".job", operation.Name); err != nil {
		return err
	}
	if err := s.policy(at, path, j.Policy); err != nil {
		return err
	}
	for i, x := range j.Executions {
		if err := s.execution(fmt.Sprintf("%s.executions[%d]", at, i), path, x); err != nil {
			return err
		}
	}
	return nil
}

// await lets the time pass until the operation is done. One that ends with an
// error is a job that is not ready, which a document may want.
func (s seeding) await(at, operation string) error {
	for waits := true; ; {
		if err := s.w.settle(s.ctx); err != nil {
			return err
		}
		if op, err := s.call(at, "GET", "/v2/"+operation, "", nil); err != nil || op.Done {
			return err
		}
		if !waits { // and did not in the round before, which may have fired the last
			return seedError(at, "This does not end by itself: a fault or a timing keeps it open.")
		}
		var next time.Duration
		if next, waits = s.w.clock.NextIn(); !waits {
			continue
		}
		if _, err := s.w.step(s.ctx, max(next, 0)); err != nil {
			return err
		}
	}
}

// execution runs a job by a script.
func (s seeding) execution(at, job string, x seedExecution) error {
	shown, err := s.call(at, "GET", job, "", nil)
	if err != nil {
		return err
	}
	most := shown.Template.Template.MaxRetries + 1
	n := len(x.Attempts)
	switch {
	case n > most:
		return seedError(at, "The job's tasks have %d attempts at most (maxRetries %d), and here are %d.", most, most-1, n)
	case n > 0 && n < most && x.Attempts[n-1].again():
		return seedError(at, "A task whose attempt ends %q is tried again, up to %d times: say how its other attempts end.", x.Attempts[n-1].Ends, most-1)
	}
	script := &run.Script{Execution: x.ExecutionID}
	var lasts time.Duration
	last := endsSucceeded
	for _, a := range x.Attempts {
		lasts, last = lasts+time.Duration(a.After), a.Ends
		script.Attempts = append(script.Attempts, a.script())
	}
	scripted := s
	scripted.ctx = run.WithScript(s.ctx, script)
	body := x.Run
	if body == nil {
		body = json.RawMessage("{}")
	}
	operation, err := scripted.call(at, "POST", job+":run", "application/json", body)
	if err != nil {
		return err
	}
	s.made["executions"]++
	if err := s.w.settle(s.ctx); err != nil {
		return err
	}
	if last != endsNot && last != endsCancelled {
		return s.await(at, operation.Name)
	}
	if err := s.w.advance(s.ctx, lasts); err != nil {
		return err
	}
	if last == endsNot {
		return nil
	}
	cancelled, err := s.call(at, "POST", "/v2/"+operation.Metadata.Name+":cancel", "application/json", []byte("{}"))
	if err != nil {
		return err
	}
	return s.await(at, cancelled.Name)
}

func (a seedAttempt) script() run.ScriptedAttempt {
	how := run.ScriptedAttempt{Lasts: time.Duration(a.After), Output: a.Output}
	switch a.Ends {
	case endsFailed:
		how.Result.ExitCode = 1
	case endsPreempted:
		how.Preempted = true
		how.Result = runner.Result{Reason: runner.Preempted, ExitCode: 143}
	case endsTimedOut, endsCancelled, endsNot:
		how.Lasts = -1
		how.Result.ExitCode = 143
	}
	if a.ExitCode != nil {
		how.Result.ExitCode = *a.ExitCode
	}
	return how
}

// seedAnswer is what a seed reads of the answers to its calls.
type seedAnswer struct {
	Name     string
	Done     bool
	Metadata struct{ Name string }
	Template struct{ Template struct{ MaxRetries int } }
	Error    struct {
		Code    json.RawMessage
		Message string
	}
}

// make is a call that makes one of a kind.
func (s seeding) make(kind, at, method, path string, body []byte) error {
	_, err := s.call(at, method, path, "application/json", body)
	if err == nil {
		s.made[kind]++
	}
	return err
}

// call is a request through the door, as a client's. A refusal is at the entry's
// path, with the API's own text.
func (s seeding) call(at, method, path, contentType string, body []byte) (seedAnswer, error) {
	var answer seedAnswer
	r, err := http.NewRequestWithContext(s.ctx, method, "http://localhost"+path, bytes.NewReader(body))
	if err != nil {
		return answer, seedError(at, "%v", err)
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	got := &buffer{header: http.Header{}, code: http.StatusOK}
	s.w.door.ServeHTTP(got, r)
	if got.body.Len() > 0 {
		if err := json.Unmarshal(got.body.Bytes(), &answer); err != nil {
			return answer, seedError(at, "%v", err)
		}
	}
	if got.code >= http.StatusBadRequest {
		return answer, status.Errorf(storage.CodeOf(got.code), "%s: %s", at, answer.Error.Message)
	}
	return answer, nil
}
