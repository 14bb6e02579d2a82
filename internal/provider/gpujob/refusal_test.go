// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

// refused is a status with details.
func refused(t testing.TB, code codes.Code, text string, details ...protoadapt.MessageV1) *status.Status {
	t.Helper()
	s := status.New(code, text)
	if len(details) == 0 {
		return s
	}
	s, err := s.WithDetails(details...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// unseen is a world without the command line, so that the tests need none.
func unseen(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, e: acctest.Emulator(t)}
	client, err := gcp.New(t.Context(), gcp.Options{EmulatorHost: w.e.Addr()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	w.client = client
	w.job = resourcename.Job{Project: acctest.EmulatorProject, Location: acctest.EmulatorRegion, Name: acctest.Name("job")}
	return w
}

// change plans and applies a change by the protocol.
func (s *spoken) change(prior *tfprotov6.DynamicValue, private []byte, config, proposed map[string]tftypes.Value) *tfprotov6.ApplyResourceChangeResponse {
	s.t.Helper()
	ctx := s.t.Context()
	written := s.Object(s.schema, config)
	planned, err := s.PlanResourceChange(ctx, &tfprotov6.PlanResourceChangeRequest{
		TypeName: jobType, PriorState: prior, ProposedNewState: s.Object(s.schema, proposed), Config: written, PriorPrivate: private})
	s.ok(planned.Diagnostics, err)
	applied, err := s.ApplyResourceChange(ctx, &tfprotov6.ApplyResourceChangeRequest{
		TypeName: jobType, PriorState: prior, PlannedState: planned.PlannedState, Config: written, PlannedPrivate: planned.PlannedPrivate})
	if err != nil {
		s.t.Fatal(err)
	}
	return applied
}

// attributes reads a state.
func (s *spoken) attributes(state *tfprotov6.DynamicValue) map[string]tftypes.Value {
	s.t.Helper()
	v, err := state.Unmarshal(s.typ)
	if err != nil {
		s.t.Fatal(err)
	}
	var out map[string]tftypes.Value
	if err := v.As(&out); err != nil {
		s.t.Fatal(err)
	}
	return out
}

// alone returns the only diagnostic.
func alone(t testing.TB, diags []*tfprotov6.Diagnostic) *tfprotov6.Diagnostic {
	t.Helper()
	if len(diags) != 1 || diags[0].Severity != tfprotov6.DiagnosticSeverityError {
		for _, d := range diags {
			t.Logf("%s at %s: %s\n%s", d.Severity, d.Attribute, d.Summary, d.Detail)
		}
		t.Fatalf("%d diagnostics, want one error", len(diags))
	}
	return diags[0]
}

// Google's refusals on the whole way through a create: one diagnostic, at the
// attribute to blame, and the state keeps what was made (cases 16, 34, 35, 53,
// 55, 62, 64, 83).
func TestRefusals(t *testing.T) {
	t.Parallel()
	text, number := func(s string) tftypes.Value { return tftypes.NewValue(tftypes.String, s) }, func(n int) tftypes.Value { return tftypes.NewValue(tftypes.Number, n) }
	operation := func(s *status.Status) faults.Fault {
		return faults.Fault{Method: acctest.CreateJob, Operation: &faults.OperationFault{Status: s}}
	}
	for name, c := range map[string]struct {
		fault  faults.Fault
		config map[string]tftypes.Value
		named  bool
		at     string
		title  string
		says   []string
		// uid and account say what the state must have afterwards.
		uid, account bool
		calls        int
	}{
		"quota at admission": {
			fault: faults.Fault{Method: acctest.CreateJob, Status: refused(t, codes.InvalidArgument, "Max instances must be set to 0 or fewer to set the requested total CPU.\n\nQuota violated:\nCpuAllocPerProjectRegion requested: 60000 allowed: 3000\nMemAllocPerProjectRegion requested: 85899345920 allowed: 42949672960")},
			at:    `AttributeName("cpu")`, title: ": quota is too small", says: []string{"60 vCPU requested, 3 vCPU allowed", "80 GiB requested, 40 GiB allowed", acctest.EmulatorRegion, acctest.EmulatorProject}, account: true, calls: 1,
		},
		"quota that looks like a wrong value": {
			fault:  faults.Fault{Method: acctest.CreateJob, Status: refused(t, codes.InvalidArgument, "spec.template.spec.containers.resources.limits.cpu: Invalid value specified for cpu. For the specified value, maxScale may not exceed 2.")},
			config: map[string]tftypes.Value{"task_count": number(9), "parallelism": number(6)},
			at:     `AttributeName("parallelism")`, title: ": regional CPU quota is too small", says: []string{"The value of cpu is not wrong", "parallelism is 6 now"}, account: true, calls: 1,
		},
		"quota at provisioning": {
			fault: operation(refused(t, codes.ResourceExhausted, "Quota exceeded for total allowable count of GPUs per project per region.")),
			at:    `AttributeName("gpu_type")`, title: ": no GPU quota", says: []string{"NvidiaL4GpuAllocNoZonalRedundancyPerProjectRegion", "terraform untaint resilientjob_gpu_job.", "makes it anew"}, uid: true, account: true, calls: 1,
		},
		"rate limit": {
			fault: faults.Fault{Method: acctest.CreateJob, Status: refused(t, codes.ResourceExhausted, "Too Many Requests",
				&errdetails.ErrorInfo{Reason: "RATE_LIMIT_EXCEEDED"}, &errdetails.RetryInfo{RetryDelay: durationpb.New(time.Hour)})},
			title: ": too many calls at once", says: []string{"The configuration is valid", "Status: HTTP 429"}, account: true, calls: 1,
		},
		"service agent": {
			fault: faults.Fault{Method: acctest.CreateJob, Status: refused(t, codes.PermissionDenied, "Google Cloud Run Service Agent does not have permission to get access tokens for the service account trainer@other.iam.gserviceaccount.com. Please give service-123@serverless-robot-prod.iam.gserviceaccount.com permission iam.serviceAccounts.getAccessToken on the service account.")},
			named: true, at: `AttributeName("service_account")`, title: ": Cloud Run may not use the service account", says: []string{"roles/iam.serviceAccountTokenCreator", "service-123@"}, calls: 1,
		},
		"image": {
			fault: operation(refused(t, codes.NotFound, "Image 'us-docker.pkg.dev/p/r/train:1' not found.")),
			at:    `AttributeName("image")`, title: ": the image was not found", says: []string{"gcloud artifacts docker images list us-docker.pkg.dev/p/r"}, uid: true, account: true, calls: 1,
		},
		"secrets": {
			fault: operation(refused(t, codes.FailedPrecondition, "spec.template.spec.containers[0].env[0].value_from.secret_key_ref.name: Secret projects/1/secrets/token/versions/latest was not found")),
			config: map[string]tftypes.Value{"secret_env": tftypes.NewValue(secretEnvType, map[string]tftypes.Value{
				"TOKEN": tftypes.NewValue(secretEnvType.ElementType, map[string]tftypes.Value{"secret": text("token"), "version": tftypes.NewValue(tftypes.String, nil), "grant": tftypes.NewValue(tftypes.Bool, nil)}),
			})},
			named: true, at: `AttributeName("secret_env").ElementKeyString("TOKEN").AttributeName("secret")`, title: ": a secret cannot be used",
			says: []string{`secret token, version latest (secret_env["TOKEN"].secret)`, "gcloud secrets versions list token --project=1"}, uid: true, calls: 1,
		},
		"size": {
			fault: faults.Fault{Method: acctest.CreateJob, Status: refused(t, codes.InvalidArgument, "spec.template.spec.containers.resources.limits.memory: Invalid value specified for memory with gen2 execution environment. For 4.0 CPU, memory must be between 2Gi and 16Gi inclusive.")},
			at:    `AttributeName("memory")`, title: ": cpu and memory do not fit together", says: []string{"2Gi to 16Gi"}, account: true, calls: 1,
		},
		"launch stage": {
			fault: faults.Fault{Method: acctest.CreateJob, Status: refused(t, codes.InvalidArgument, "The feature 'X' is not supported in the declared launch stage on resource R. The launch stage annotation should be specified at least as ALPHA.")},
			at:    `AttributeName("launch_stage")`, title: ": the launch stage does not permit a feature", says: []string{`launch_stage = "ALPHA"`}, account: true, calls: 1,
		},
		"account": {
			fault: faults.Fault{Method: acctest.CreateServiceAccount, Status: refused(t, codes.ResourceExhausted, "Maximum number of service accounts on project reached.", &errdetails.RetryInfo{RetryDelay: durationpb.New(86401 * time.Second)})},
			at:    `AttributeName("service_account_id")`, title: ": too many service accounts", says: []string{"service_account = EMAIL"},
		},
		"a text that is not known": {
			fault: faults.Fault{Method: acctest.CreateJob, Status: refused(t, codes.InvalidArgument, "The moon is in the wrong phase.")},
			says:  []string{"Google answered: The moon is in the wrong phase.", "does not know this text"}, account: true, calls: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := unseen(t)
			s := speak(t, w)
			config := map[string]tftypes.Value{"name": text(w.job.Name), "image": text("us-docker.pkg.dev/p/r/train:1")}
			if c.named {
				config["service_account"] = text(w.addAccount("trainer", "").GetEmail())
			}
			maps.Copy(config, c.config)
			c.fault.Times = -1
			w.e.Faults().Add(c.fault)
			since := acctest.Since(w.e)
			null, err := tfprotov6.NewDynamicValue(s.typ, tftypes.NewValue(s.typ, nil))
			if err != nil {
				t.Fatal(err)
			}
			applied := s.change(&null, nil, config, config)
			d := alone(t, applied.Diagnostics)
			summary := "Cannot create the Cloud Run job" + c.title
			if c.fault.Method == acctest.CreateServiceAccount {
				summary = "Cannot make the job's service account" + c.title
			}
			equal(t, "summary", d.Summary, summary)
			at := ""
			if d.Attribute != nil {
				at = d.Attribute.String()
			}
			equal(t, "attribute", at, c.at)
			for _, words := range append(c.says, "Google answered: ", "Status: ") {
				if !strings.Contains(d.Detail, words) {
					t.Errorf("%q is not in\n%s", words, d.Detail)
				}
			}
			equal(t, "creates", since.Count(acctest.CreateJob), c.calls)
			state := s.attributes(applied.NewState)
			equal(t, "the state has the job", !state["uid"].IsNull(), c.uid)
			equal(t, "the state has the account", !state["service_account_unique_id"].IsNull(), c.account)
		})
	}
}

var secretEnvType = tftypes.Map{ElementType: tftypes.Object{AttributeTypes: map[string]tftypes.Type{"secret": tftypes.String, "version": tftypes.String, "grant": tftypes.Bool}}}

// The same on the way through an update: the state says what is true.
func TestRefusedUpdate(t *testing.T) {
	t.Parallel()
	w := unseen(t)
	s := speak(t, w)
	config := map[string]tftypes.Value{"name": tftypes.NewValue(tftypes.String, w.job.Name), "image": tftypes.NewValue(tftypes.String, "train:1"), "task_count": tftypes.NewValue(tftypes.Number, 2)}
	null, err := tfprotov6.NewDynamicValue(s.typ, tftypes.NewValue(s.typ, nil))
	if err != nil {
		t.Fatal(err)
	}
	created := s.change(&null, nil, config, config)
	s.silent(created.Diagnostics)

	w.e.Faults().Add(faults.Fault{Method: acctest.UpdateJob, Status: refused(t, codes.InvalidArgument, "Quota violated: NvidiaL4GpuAllocNoZonalRedundancyPerProjectRegion requested: 5 allowed: 3")})
	config["task_count"] = tftypes.NewValue(tftypes.Number, 5)
	proposed := s.attributes(created.NewState)
	proposed["task_count"] = config["task_count"]
	updated := s.change(created.NewState, created.Private, config, proposed)
	d := alone(t, updated.Diagnostics)
	equal(t, "summary", d.Summary, "Cannot update the Cloud Run job: quota is too small")
	equal(t, "attribute", d.Attribute.String(), `AttributeName("task_count")`)
	for _, words := range []string{"5 GPUs requested, 3 GPUs allowed", "set parallelism = 3 (it is not set, and task_count is 5)"} {
		if !strings.Contains(d.Detail, words) {
			t.Errorf("%q is not in\n%s", words, d.Detail)
		}
	}
	equal(t, "tasks in the state", s.attributes(updated.NewState)["task_count"].Equal(tftypes.NewValue(tftypes.Number, 2)), true)
	equal(t, "tasks of the job", w.live().GetTemplate().GetTaskCount(), 2)
}
