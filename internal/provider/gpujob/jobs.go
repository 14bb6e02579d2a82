// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"google.golang.org/protobuf/proto"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/diags"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

const (
	// imageSettles is how long a create goes on when the service agent may not
	// read the image yet: a grant that was made a moment ago takes minutes to
	// reach it, by the text of the refusal itself.
	imageSettles = 2 * time.Minute
	// secretsSettle is how long a create or an update goes on when the account may
	// not read a secret yet that this apply has granted it: by Google's pages a
	// grant takes two minutes as a rule, and seven or more at times.
	secretsSettle = 5 * time.Minute
	// updateAttempts is how often an update reads and writes again after
	// somebody else changed the job.
	updateAttempts = 3
)

// createJob makes the job and waits until it is ready.
func (w *work) createJob(ctx context.Context, plan *Model) (*runpb.Job, bool) {
	image, secrets := w.settling(imageSettles), w.settling(secretsSettle)
	for {
		live, err := w.sendCreate(ctx, plan)
		if err == nil {
			return live, true
		}
		// Only what the API accepted can be tried again, by making it anew: the
		// job is there, failed, and an equal update would change nothing.
		again := !w.state.UID.IsNull() && (imageUnreadable(err) && image.Wait(ctx, 0) || w.secretsUnseen(err) && secrets.Wait(ctx, 0))
		if !again || !w.dropFailed(ctx) {
			w.reportJob(plan, "Cannot create the Cloud Run job", err)
			return nil, false
		}
	}
}

// settling are the pauses while a grant finds its way to Cloud Run.
func (w *work) settling(budget time.Duration) *gcp.Pauses {
	return gcp.Backoff{Initial: 5 * time.Second, Max: 30 * time.Second, Budget: budget, Clock: w.r.data.Clock}.Start()
}

// sendCreate makes the job once. The state knows it as soon as the API does.
func (w *work) sendCreate(ctx context.Context, plan *Model) (*runpb.Job, error) {
	job := expand(ctx, plan, w.diags)
	name := plan.job()
	op, err := w.r.data.Client.CreateJob(ctx, name.Parent(), name.Name, job, w.freshAccount()...)
	switch {
	case err == nil:
		w.applied(ctx, plan, op.Job())
		live, err := op.Wait(ctx)
		if err != nil {
			return nil, err
		}
		return live, notReady(live)
	case !gcp.IsAmbiguous(err):
		if gcp.IsAlreadyExists(err) && !w.taints && !w.note.Asked && !w.note.Lost {
			// Nothing that we sent can have made that job, though it may look the
			// same to the last. A create did not claim it to begin with.
			w.state.Image = types.StringNull()
			w.save(ctx)
		}
		return nil, err
	}
	// The answer was lost: the job may be there, or come. What the state says
	// must cover both, and tell the job by its image and its account.
	w.state.Image, w.state.ServiceAccountEmail = plan.Image, plan.ServiceAccountEmail
	w.note.Asked = true
	w.save(ctx)
	live, readErr := w.r.data.Client.GetJob(ctx, name.String())
	if readErr != nil || !satisfies(ctx, live, plan) {
		return nil, err
	}
	w.applied(ctx, plan, live)
	return w.awaitReady(ctx, plan)
}

// dropFailed deletes a job that could not become ready, to make it anew.
func (w *work) dropFailed(ctx context.Context) bool {
	op, err := w.r.data.Client.DeleteJob(ctx, w.state.job().String(), "")
	if err == nil {
		_, err = op.Wait(ctx)
	}
	if err != nil && !gcp.IsNotFound(err) {
		return false
	}
	w.state.UID = types.StringNull()
	if w.taints {
		w.state.Image = types.StringNull()
	}
	w.save(ctx)
	return true
}

// updateJob changes what is managed on the live job and waits until it is
// ready. It writes with the etag that it read, so that nobody's change is lost;
// after a conflict, or a lost answer, it reads again. While Cloud Run does not see
// the grant of a secret that this apply made, the job is sent again. A job that
// is not there is made.
func (w *work) updateJob(ctx context.Context, plan *Model) (*runpb.Job, bool) {
	prior := w.state
	pauses, secrets := gcp.Backoff{Clock: w.r.data.Clock}.Start(), w.settling(secretsSettle)
	for attempt := 1; ; attempt++ {
		var live *runpb.Job
		err := w.r.data.Client.Confirm(ctx, func() (err error) {
			live, err = w.r.data.Client.GetJob(ctx, plan.job().String())
			return err
		})
		if gcp.IsNotFound(err) {
			w.state.UID = types.StringNull()
			return w.createJob(ctx, plan)
		}
		if err == nil && replaced(live, &prior) {
			w.reportReplaced(live)
			return nil, false
		}
		accepted := false
		switch {
		case err != nil:
		case attempt > 1 && notReady(live) == nil && satisfies(ctx, live, plan):
			// What was written before, and not answered, has got there.
			accepted = true
			w.applied(ctx, plan, live)
			live, err = w.awaitReady(ctx, plan)
		default:
			var op *gcp.JobOperation
			op, err = w.r.data.Client.UpdateJob(ctx, w.setUpAgain(ctx, overlay(ctx, live, &prior, plan, w.diags), live, plan), w.freshAccount()...)
			if accepted = err == nil; accepted {
				w.applied(ctx, plan, op.Job())
				live, err = op.Wait(ctx)
			}
			if err == nil {
				err = notReady(live)
			}
		}
		if err == nil {
			return live, true
		}
		if accepted {
			w.note.Unready = true
			w.save(ctx)
			if w.secretsUnseen(err) && secrets.Wait(ctx, 0) {
				attempt = 0 // another write, with attempts of its own
				continue
			}
		}
		if accepted || attempt == updateAttempts || !gcp.IsConflict(err) && !gcp.IsAmbiguous(err) || !pauses.Wait(ctx, 0) {
			w.reportJob(plan, "Cannot update the Cloud Run job", err)
			return nil, false
		}
	}
}

// againMark is an annotation of the template that says nothing but that it was
// not there before.
const againMark = "resilientjob-set-up-again"

// setUpAgain makes an update differ from a live job that is as planned and could
// not be set up: whether Cloud Run sets up again what an equal update sends is
// not known, and a changed template it does. The mark comes and goes by turns,
// and goes with the next change.
func (w *work) setUpAgain(ctx context.Context, next, live *runpb.Job, plan *Model) *runpb.Job {
	_, marked := next.GetTemplate().GetAnnotations()[againMark]
	delete(next.GetTemplate().GetAnnotations(), againMark)
	if !marked && notReady(live) != nil && satisfies(ctx, live, plan) {
		if next.Template.Annotations == nil {
			next.Template.Annotations = map[string]string{}
		}
		next.Template.Annotations[againMark] = "true"
	}
	return next
}

// applied records that the API has taken the job as planned. Grants, account and
// the uid are what they are.
func (w *work) applied(ctx context.Context, plan *Model, live *runpb.Job) {
	before := w.state
	w.state = *plan
	w.state.UID = before.UID
	if live.GetUid() != "" {
		w.state.UID = types.StringValue(live.GetUid())
	}
	w.state.Grants = grantSet(w.held)
	w.state.ServiceAccountID, w.state.ServiceAccountUniqueID = before.ServiceAccountID, before.ServiceAccountUniqueID
	if w.state.EffectiveLabels.IsUnknown() {
		w.state.EffectiveLabels = value.MapOf(live.GetLabels())
	}
	w.save(ctx)
}

// awaitReady reads the job until it is reconciled. It is for a job whose
// operation is not known, because the answer that named it was lost.
func (w *work) awaitReady(ctx context.Context, plan *Model) (*runpb.Job, error) {
	pauses := gcp.Backoff{Initial: 500 * time.Millisecond, Max: 10 * time.Second, Clock: w.r.data.Clock}.Start()
	for {
		live, err := w.r.data.Client.GetJob(ctx, plan.job().String(), gcp.Fresh())
		if err != nil {
			return nil, err
		}
		if !live.GetReconciling() {
			return live, notReady(live)
		}
		if !pauses.Wait(ctx, 0) {
			return nil, fmt.Errorf("%s is still being set up: %w", plan.job(), stopped(ctx))
		}
	}
}

// notReadyError is what Cloud Run says of a job that it could not set up.
type notReadyError struct{ job, message, reason string }

func (e *notReadyError) Error() string {
	return fmt.Sprintf("Cloud Run has %s, and could not set it up: %s", e.job, e.message)
}

// Quote gives diagnostics the text apart from what it is about.
func (e *notReadyError) Quote() diags.Quote {
	status := "Ready condition failed"
	if e.reason != "" {
		status += ", " + e.reason
	}
	return diags.Quote{Attempt: fmt.Sprintf("Cloud Run has %s, and could not set it up", e.job), Text: e.message, Status: status, Reason: e.reason}
}

// notReady returns an error for a job that is reconciled and not ready.
func notReady(live *runpb.Job) error {
	if t := live.GetTerminalCondition(); t.GetState() == runpb.Condition_CONDITION_FAILED {
		return &notReadyError{live.GetName(), t.GetMessage(), reasonOf(t)}
	}
	return nil
}

// reasonOf returns the name of a condition's reason, "" when it has none.
func reasonOf(c *runpb.Condition) string {
	if r, ok := c.GetReasons().(*runpb.Condition_Reason); ok && r.Reason != runpb.Condition_COMMON_REASON_UNDEFINED {
		return r.Reason.String()
	}
	return ""
}

// satisfies tells whether a live job is what the plan asks for.
func satisfies(ctx context.Context, live *runpb.Job, plan *Model) bool {
	var diags diag.Diagnostics
	read := flatten(ctx, live, plan, &diags)
	return sameRequest(ctx, &read, plan, &diags) && !diags.HasError()
}

// sameRequest tells whether two models ask for the same job.
func sameRequest(ctx context.Context, a, b *Model, diags *diag.Diagnostics) bool {
	return proto.Equal(expand(ctx, a, diags), expand(ctx, b, diags))
}

// ours tells whether a job that the state does not know by its uid was made by
// this resource, by an apply that did not learn of it. A state without an image is
// that of an apply which knows that it has made none: nothing was sent, or all of it
// was refused. It is all that the destroy of a tainted object can tell it by.
func ours(live *runpb.Job, state *Model) bool {
	task := live.GetTemplate().GetTemplate()
	return len(task.GetContainers()) > 0 && task.GetContainers()[0].GetImage() == state.Image.ValueString() &&
		task.GetServiceAccount() == state.ServiceAccountEmail.ValueString()
}

// replaced tells whether a live job of the state's name is somebody else's.
func replaced(live *runpb.Job, state *Model) bool {
	return (!value.Known(state.UID) || live.GetUid() != state.UID.ValueString()) && !ours(live, state)
}

// checkOwner makes sure, before an update writes anything, that the job of that
// name is not somebody else's.
func (w *work) checkOwner(ctx context.Context) bool {
	var live *runpb.Job
	err := w.r.data.Client.Confirm(ctx, func() (err error) {
		live, err = w.r.data.Client.GetJob(ctx, w.state.job().String())
		return err
	})
	switch {
	case gcp.IsNotFound(err):
		return true
	case err != nil:
		w.fail("", "Cannot tell whether the job exists", err, nothingWritten)
		return false
	case replaced(live, &w.state):
		w.reportReplaced(live)
		return false
	}
	return true
}

// reportReplaced says that the job of the state is gone and somebody else's has
// its name.
func (w *work) reportReplaced(live *runpb.Job) {
	w.report("name", "Job exists already", fmt.Sprintf(
		"The Cloud Run job %s is gone, and somebody else made another one of the same name (its uid is %s). Nothing of it was changed. "+
			"Delete that job, to have this one made again, or choose another name.\n\n"+
			"To manage that job here instead, take this resource out of the state, which leaves the account and the roles that it made, and import the job:\n\n"+
			"  terraform state rm ADDRESS\n  terraform import ADDRESS %[1]s\n\nwhere ADDRESS is this resource's, such as resilientjob_gpu_job.%[3]s.",
		w.state.job(), live.GetUid(), addressName(w.state.Name.ValueString())))
}

// reportBeaten says that somebody else has made the job since this apply looked.
func (w *work) reportBeaten(m *Model) {
	w.report("name", "Job exists already", fmt.Sprintf(
		"Somebody else made the Cloud Run job %[1]s while this apply was under way: another Terraform with the same configuration and a state of its own, perhaps. "+
			"Nothing of the job was changed. This resource will not touch it, nor the account that it runs as and the roles that it needs, as long as the job is there.\n\n"+
			"Leave the job to the other and choose another name here. To manage it here instead, let the other forget it first, take this resource out of the state if it is there, and import the job:\n\n"+
			"  terraform state rm ADDRESS\n  terraform import ADDRESS %[1]s\n\nwhere ADDRESS is this resource's, such as resilientjob_gpu_job.%[2]s.",
		m.job(), addressName(m.Name.ValueString())))
}

// reportTaken says that the name of the job is in use.
func (w *work) reportTaken(m *Model) {
	job := m.job()
	w.report("name", "Job exists already", fmt.Sprintf(
		"The Cloud Run job %s exists and is not in the state. Nothing of it was changed. Import it to manage it here, or choose another name.\n\n"+
			"  terraform import ADDRESS %[1]s\n\nor, in the configuration:\n\n  import {\n    to = ADDRESS\n    id = \"%[1]s\"\n  }\n\nwhere ADDRESS is this resource's, such as resilientjob_gpu_job.%[2]s.\n\n"+
			"With create_before_destroy the address may still hold the job that is to be replaced. When Terraform calls this resource tainted, run \"terraform untaint ADDRESS\" and apply again. "+
			"When an apply that was killed has left the job, delete it and apply again:\n\n"+
			"  gcloud run jobs delete %[3]s --region=%[4]s --project=%[5]s",
		job, addressName(m.Name.ValueString()), job.Name, job.Location, job.Project))
}

// addressName makes a name that Terraform accepts of a job's.
func addressName(s string) string {
	out := []byte(s)
	for i, c := range out {
		if c == '-' {
			out[i] = '_'
		}
	}
	return string(out)
}
