// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package emulator_test

import (
	"net/http"
	"strings"
	"testing"

	run "cloud.google.com/go/run/apiv2"
	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/api/option"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
)

func TestRESTAnswer(t *testing.T) {
	t.Parallel()
	e := start(t)
	created := must(t, e, "POST", "/v2/"+parent+"/jobs?jobId=train", minimal)
	if created.at("done") != nil || created.at("metadata.@type") != "type.googleapis.com/google.cloud.run.v2.Job" {
		t.Errorf("the first answer: %s", created.text)
	}
	got := must(t, e, "GET", "/v2/"+parent+"/jobs/train", "")
	for path, want := range map[string]any{
		"generation": "1", "launchStage": "GA", "template.taskCount": 1.0, "template.template.timeout": "600s",
		"template.template.executionEnvironment": "EXECUTION_ENVIRONMENT_GEN2", "terminalCondition.state": "CONDITION_SUCCEEDED",
		"executionCount": nil, "conditions": nil, "labels": nil, "reconciling": nil, // zero values are left out
	} {
		if got.at(path) != want {
			t.Errorf("%s = %v, want %v", path, got.at(path), want)
		}
	}
	for name, want := range map[string]string{
		"Content-Type": "application/json; charset=UTF-8", "Server": "ESF", "X-Content-Type-Options": "nosniff",
		"X-Frame-Options": "SAMEORIGIN", "X-Xss-Protection": "0", "Access-Control-Allow-Origin": "",
	} {
		if got.header.Get(name) != want {
			t.Errorf("header %s = %q, want %q", name, got.header.Get(name), want)
		}
	}
	if vary := strings.Join(got.header.Values("Vary"), ","); vary != "Origin,X-Origin,Referer" {
		t.Errorf("Vary = %s", vary)
	}
	if !strings.Contains(got.text, "\n  \"generation\"") {
		t.Errorf("not indented: %s", got.text)
	}
	compact := must(t, e, "GET", "/v2/"+parent+"/jobs/train?prettyPrint=false", "")
	if strings.Contains(strings.TrimSpace(compact.text), "\n") {
		t.Errorf("not compact: %s", compact.text)
	}
}

// Parameters that every Google API takes are no parameters of the method.
func TestSystemParameters(t *testing.T) {
	t.Parallel()
	e := start(t)
	must(t, e, "POST", "/v2/"+parent+"/jobs?jobId=train&alt=json&prettyPrint=true&key=k&quotaUser=u&uploadType=&upload_protocol=&$.xgafv=2&fields=name&access_token=t", minimal)
	for query, want := range map[string]any{
		"":                                   "EXECUTION_ENVIRONMENT_GEN2",
		"?$alt=json":                         "EXECUTION_ENVIRONMENT_GEN2",
		"?%24alt=json%3Benum-encoding%3Dint": 2.0,
		"?$alt=json;enum-encoding=int":       2.0,
		"?alt=json%3Benum-encoding%3Dint":    2.0,
	} {
		got := must(t, e, "GET", "/v2/"+parent+"/jobs/train"+query, "")
		if v := got.at("template.template.executionEnvironment"); v != want {
			t.Errorf("with %q the enum is %v, want %v", query, v, want)
		}
	}
	if got := rest(t, e, "GET", "/v2/"+parent+"/jobs/train?alt=proto", ""); got.code != http.StatusBadRequest {
		t.Errorf("alt=proto: %d %s", got.code, got.text)
	}
}

func TestEnumsIn(t *testing.T) {
	t.Parallel()
	e := start(t)
	for id, stage := range map[string]string{"name": `"BETA"`, "number": `3`} {
		body := `{"launchStage":` + stage + `,` + minimal[1:]
		must(t, e, "POST", "/v2/"+parent+"/jobs?jobId="+id, body)
		req := e.Faults().Find("google.cloud.run.v2.Jobs/CreateJob")
		if sent := req[len(req)-1].Request.(*runpb.CreateJobRequest).GetJob().GetLaunchStage().String(); sent != "BETA" {
			t.Errorf("an enum by %s arrived as %s", id, sent)
		}
	}
}

func TestRESTErrors(t *testing.T) {
	t.Parallel()
	e := start(t)
	must(t, e, "POST", "/v2/"+parent+"/jobs?jobId=train", minimal)
	for name, c := range map[string]struct {
		method, path, body string
		code               int
		status, message    string
	}{
		"missing": {"GET", "/v2/" + parent + "/jobs/none", "", 404, "NOT_FOUND",
			"Resource 'none' of kind 'JOB' in region 'us-central1' in project 'p' does not exist."},
		"taken": {"POST", "/v2/" + parent + "/jobs?jobId=train", minimal, 409, "ALREADY_EXISTS",
			"Job " + parent + "/jobs/train already exists."},
		"unknown field": {"POST", "/v2/" + parent + "/jobs?jobId=x", `{"nonsense":1,` + minimal[1:], 400, "INVALID_ARGUMENT",
			`Invalid JSON payload received. Unknown name "nonsense" at 'job': Cannot find field.`},
		// case 58: an API that does not know a field yet says so like this.
		"unknown field, deep": {"PATCH", "/v2/" + parent + "/jobs/train", `{"template":{"template":{"containers":[{"image":"x","gpus":1}],"zonal":true}}}`, 400, "INVALID_ARGUMENT",
			`Invalid JSON payload received. Unknown name "gpus" at 'job.template.template.containers[0]': Cannot find field.` + "\n" +
				`Invalid JSON payload received. Unknown name "zonal" at 'job.template.template': Cannot find field.`},
		"unknown field of a whole body": {"POST", "/v2/" + parent + "/jobs/train:run", `{"override":{}}`, 400, "INVALID_ARGUMENT",
			`Invalid JSON payload received. Unknown name "override": Cannot find field.`},
		"unknown parameter": {"GET", "/v2/" + parent + "/jobs/train?nonsense=1", "", 400, "INVALID_ARGUMENT",
			`Invalid JSON payload received. Unknown name "nonsense": Cannot bind query parameter. Field 'nonsense' could not be found in request message.`},
		"parameter of another type": {"GET", "/v2/" + parent + "/jobs?pageSize=many", "", 400, "INVALID_ARGUMENT", ""},
		"field of another type":     {"POST", "/v2/" + parent + "/jobs?jobId=x", `{"template":{"taskCount":"many"}}`, 400, "INVALID_ARGUMENT", ""},
		"unknown enum":              {"POST", "/v2/" + parent + "/jobs?jobId=x", `{"launchStage":"LATER"}`, 400, "INVALID_ARGUMENT", ""},
		"broken JSON":               {"POST", "/v2/" + parent + "/jobs?jobId=x", `{"template":`, 400, "INVALID_ARGUMENT", ""},
		"no JSON object":            {"POST", "/v2/" + parent + "/jobs?jobId=x", `[]`, 400, "INVALID_ARGUMENT", ""},
		"no such path":              {"GET", "/v2/nonsense", "", 404, "NOT_FOUND", "The emulator serves no such method: GET /v2/nonsense"},
		"no such verb":              {"PUT", "/v2/" + parent + "/jobs/train", "{}", 404, "NOT_FOUND", "The emulator serves no such method: PUT /v2/" + parent + "/jobs/train"},
		"not implemented":           {"GET", "/v1/projects/p/serviceAccounts/a@p.iam.gserviceaccount.com/keys", "", 501, "UNIMPLEMENTED", ""},
	} {
		got := rest(t, e, c.method, c.path, c.body)
		if got.code != c.code || got.at("error.code") != float64(c.code) || got.at("error.status") != c.status {
			t.Errorf("%s: %d %s", name, got.code, got.text)
		}
		message, _ := got.at("error.message").(string)
		if message == "" || c.message != "" && message != c.message {
			t.Errorf("%s: message %q, want %q", name, message, c.message)
		}
		if strings.Contains(message, "proto:") || strings.Contains(message, "\u00a0") {
			t.Errorf("%s: the message shows the parser: %q", name, message)
		}
	}
}

// The details of an error arrive in their JSON form.
func TestErrorDetails(t *testing.T) {
	t.Parallel()
	e := start(t)
	got := rest(t, e, "GET", "/v1/projects/-/serviceAccounts/none@p.iam.gserviceaccount.com", "")
	details, _ := got.at("error.details").([]any)
	if got.code != http.StatusForbidden || len(details) != 1 {
		t.Fatalf("%d %s", got.code, got.text)
	}
	info, _ := details[0].(map[string]any)
	if info["@type"] != "type.googleapis.com/google.rpc.ErrorInfo" || info["reason"] != "IAM_PERMISSION_DENIED" {
		t.Errorf("details %v", info)
	}
	unknown := rest(t, e, "POST", "/v2/"+parent+"/jobs?jobId=x", `{"nonsense":1}`)
	if !strings.Contains(unknown.text, "google.rpc.BadRequest") || !strings.Contains(unknown.text, "fieldViolations") {
		t.Errorf("an unknown field has no BadRequest: %s", unknown.text)
	}
}

func TestOperationsByREST(t *testing.T) {
	t.Parallel()
	e := start(t)
	name, _ := must(t, e, "POST", "/v2/"+parent+"/jobs?jobId=train", minimal).at("name").(string)
	if got := must(t, e, "GET", "/v2/"+name, ""); got.at("done") != true || got.at("response.observedGeneration") != "1" {
		t.Errorf("get: %s", got.text)
	}
	if got := must(t, e, "POST", "/v2/"+name+":wait", `{"timeout":"5s"}`); got.at("done") != true {
		t.Errorf("wait: %s", got.text)
	}
	if got := must(t, e, "POST", "/v2/"+name+":wait", ""); got.at("done") != true {
		t.Errorf("wait without a body: %s", got.text)
	}
	if got := must(t, e, "GET", "/v2/"+parent+"/operations", ""); len(got.at("operations").([]any)) != 1 {
		t.Errorf("list: %s", got.text)
	}
	if got := must(t, e, "DELETE", "/v2/"+name, ""); len(got.body) != 0 {
		t.Errorf("delete: %s", got.text)
	}
	if got := rest(t, e, "GET", "/v2/"+name, ""); got.code != http.StatusNotFound {
		t.Errorf("get after delete: %d", got.code)
	}
}

func TestGoRESTClient(t *testing.T) {
	t.Parallel()
	e := start(t)
	c, err := run.NewJobsRESTClient(t.Context(), option.WithEndpoint("http://"+e.Addr()), option.WithoutAuthentication())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	job := minimalJob()
	job.Template.Template.Retries = &runpb.TaskTemplate_MaxRetries{MaxRetries: 0}
	job.Template.Template.Timeout = durationpb.New(3.5e9)
	op, err := c.CreateJob(t.Context(), &runpb.CreateJobRequest{Parent: parent, JobId: "train", Job: job})
	if err != nil {
		t.Fatal(err)
	}
	made, err := op.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	task := made.GetTemplate().GetTemplate()
	if made.GetTerminalCondition().GetState() != runpb.Condition_CONDITION_SUCCEEDED || task.GetMaxRetries() != 0 || task.GetTimeout().AsDuration() != 3.5e9 ||
		task.GetExecutionEnvironment() != runpb.ExecutionEnvironment_EXECUTION_ENVIRONMENT_GEN2 {
		t.Errorf("made %v", made)
	}
	_, err = c.GetJob(t.Context(), &runpb.GetJobRequest{Name: parent + "/jobs/none"})
	if status.Code(err) != codes.NotFound || !strings.Contains(err.Error(), "of kind 'JOB' in region") {
		t.Errorf("a missing job: %v", err)
	}
	calls := e.Faults().Find("google.cloud.run.v2.Jobs/CreateJob")
	if len(calls) != 1 || calls[0].Resource != parent+"/jobs/train" || calls[0].UserAgent == "" {
		t.Errorf("recorded %+v", calls)
	}
}

// A defect of a room, here of a hook, must not end the emulator.
func TestPanicIsOneAnswer(t *testing.T) {
	t.Parallel()
	e := start(t)
	e.Faults().Add(faults.Fault{Method: "*/GetJob", Do: func(faults.Call) { panic("boom") }})
	got := rest(t, e, "GET", "/v2/"+parent+"/jobs/train", "")
	if got.code != http.StatusInternalServerError || strings.Contains(got.text, "boom") {
		t.Errorf("%d %s", got.code, got.text)
	}
	if got := rest(t, e, "GET", "/v2/"+parent+"/jobs/train", ""); got.code != http.StatusNotFound {
		t.Errorf("afterwards: %d %s", got.code, got.text)
	}
}
