// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"google.golang.org/api/storage/v1"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/diags"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/refusal"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/timelimits"
)

// settleBudget is how long a create whose answer was lost is followed up.
const settleBudget = 2 * time.Minute

// Create looks for the name, makes the bucket and reads it.
func (r *Resource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan Model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	limit, d := plan.Timeouts.Create(ctx, timelimits.Default)
	resp.Diagnostics.Append(d...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	made := r.make(ctx, &plan, &resp.Diagnostics)
	if made == nil {
		return
	}
	// What was made is in the response before anything else can fail.
	m := complete(plan, flatten(made, &plan))
	save := func() {
		resp.Diagnostics.Append(resp.State.Set(context.WithoutCancel(ctx), &m)...)
	}
	for _, s := range shares {
		*s.members(&m) = s.hold(nil, *s.members(&plan))
	}
	save()
	resp.Diagnostics.Append(r.noteWorld(ctx, resp.Private)...)
	resp.Diagnostics.Append(setIdentity(ctx, resp.Identity, &plan)...)
	read, err := r.data.Client.GetBucket(ctx, made.Name, gcp.Fresh())
	if err != nil {
		// The answer to the create has said everything already. An error would taint a good bucket.
		diags.Warning(&resp.Diagnostics, path.Root("name"), "Bucket not read back", err, "The bucket was made. The next plan reads it again.")
		read = made
	}
	m = complete(plan, flatten(read, &plan))
	given := r.share(ctx, &plan, &Model{}, &m, nil, false,
		"The bucket was made. Mend the cause and apply again: Terraform then makes the bucket anew, unless \"terraform untaint\" says before that it is good.", &resp.Diagnostics)
	save()
	resp.Diagnostics.Append(noteGiven(ctx, resp.Private, given)...)
}

// make makes the bucket, or adds the error that says why not.
func (r *Resource) make(ctx context.Context, plan *Model, diagnostics *diag.Diagnostics) *storage.Bucket {
	name := plan.Name.ValueString()
	found, err := r.data.Client.GetBucket(ctx, name)
	absent := gcp.IsNotFound(err)
	if err != nil && !absent && !gcp.IsPermissionDenied(err) {
		diags.Error(diagnostics, path.Root("name"), "Cannot look for the bucket", err, "")
		return nil
	}
	// Also with a name that is taken the create is sent: nothing happens, and only its answer tells whose the bucket is.
	want := expandCreate(plan)
	project := plan.Project.ValueString()
	made, err := r.data.Client.CreateBucket(ctx, project, want)
	switch {
	case err == nil:
		return made
	case gcp.IsAlreadyExists(err):
		r.taken(plan, err, found != nil, diagnostics)
		return nil
	case !gcp.IsAmbiguous(err):
		refuse(plan, diagnostics, "Cannot create the bucket", err)
		return nil
	case !absent:
		diags.Error(diagnostics, path.Root("name"), "Cannot create the bucket", err, importHint(plan, "If the bucket was made after all"))
		return nil
	}
	return r.settle(ctx, plan, want, err, diagnostics)
}

// settle finds out what became of a create whose answer was lost, by sending it again: a second one changes nothing. The bucket is ours
// when the name was free before, Google says that it is our project's now, and it is exactly what was asked for.
func (r *Resource) settle(ctx context.Context, plan *Model, want *storage.Bucket, lost error, diagnostics *diag.Diagnostics) *storage.Bucket {
	pauses := gcp.Backoff{Budget: settleBudget, Clock: r.data.Clock}.Start()
	for pauses.Wait(ctx, 0) {
		made, err := r.data.Client.CreateBucket(ctx, plan.Project.ValueString(), want)
		switch {
		case err == nil:
			return made
		case gcp.IsAlreadyExists(err):
			read, readErr := r.data.Client.GetBucket(ctx, want.Name, gcp.Fresh())
			if readErr == nil && ownBucket(err) && asAsked(read, want) {
				return read
			}
			r.taken(plan, err, readErr == nil, diagnostics)
			return nil
		case !gcp.IsAmbiguous(err):
			diags.Error(diagnostics, path.Root("name"), "Cannot create the bucket", err, importHint(plan, "An earlier request may have made it. If so"))
			return nil
		}
		lost = err
	}
	diags.Error(diagnostics, path.Root("name"), "Cannot create the bucket", lost, importHint(plan, "If the bucket was made after all"))
	return nil
}

// refuse adds the error of a write that the API refused, at the attribute that it is about as far as the text tells.
func refuse(plan *Model, diagnostics *diag.Diagnostics, summary string, err error) {
	about := &refusal.Subject{Project: plan.Project.ValueString(), Location: plan.Location.Canonical(), Bucket: plan.Name.ValueString()}
	refusal.Error(diagnostics, refusal.At(err, about, path.Root("name")), summary, err, "", about)
}

// asAsked reports whether the bucket is as a create just made it.
func asAsked(b, want *storage.Bucket) bool {
	return strings.EqualFold(b.Location, want.Location) &&
		b.Metageneration <= 1 &&
		b.StorageClass == want.StorageClass &&
		hierarchical(b) == hierarchical(want) &&
		(b.Versioning != nil && b.Versioning.Enabled) == (want.Versioning != nil) &&
		uniformAccess(b) && publicAccess(b) == enforced &&
		softDeleteSeconds(b) == softDeleteSeconds(want) &&
		kmsKey(b) == kmsKey(want) &&
		maps.Equal(b.Labels, want.Labels) &&
		sameRules(liveRules(b), liveRules(want))
}

// ownBucket reports whether the answer to a create says that the name is taken by a bucket of the same project. Google gives both cases
// the same code and reason; only the text differs.
func ownBucket(err error) bool {
	e, ok := gcp.AsError(err)
	return ok && strings.Contains(e.Message, "you already own it")
}

// taken says whose the bucket is that has the name.
func (r *Resource) taken(plan *Model, err error, readable bool, diagnostics *diag.Diagnostics) {
	name := plan.Name.ValueString()
	switch {
	case ownBucket(err):
		diags.Error(diagnostics, path.Root("name"), "Bucket exists already", err, importHint(plan, "The bucket belongs to the project "+plan.Project.ValueString()+". If another block of this configuration has made it, give one of them another name. To manage it here"))
	case readable:
		diags.Error(diagnostics, path.Root("name"), "Bucket name is taken", err, fmt.Sprintf(
			"A bucket named %s exists outside of the project %s, although you may read it. Names of buckets are unique in the world: choose another one. "+
				"To manage that bucket here, import it with its own project: terraform import resilientjob_checkpoint_bucket.NAME PROJECT/%s", name, plan.Project.ValueString(), name))
	default:
		diags.Error(diagnostics, path.Root("name"), "Bucket name is taken", err, fmt.Sprintf(
			"A bucket named %s belongs to somebody else. Names of buckets are unique in the world: choose another one, best with your project's name in it.", name))
	}
}

// importHint ends a sentence that says when to import.
func importHint(plan *Model, when string) string {
	return fmt.Sprintf("%s, import it: terraform import resilientjob_checkpoint_bucket.NAME %s/%s (NAME is the name of this block; in a module, module.MODULE. stands before it).",
		when, plan.Project.ValueString(), plan.Name.ValueString())
}
