// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"strings"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// work is one create, update or delete on its way. Each step that has made or
// removed something changes state and calls save, so that the response holds
// what is true when a later step fails.
type work struct {
	r     *Resource
	diags *diag.Diagnostics
	// state is what is true now.
	state Model
	// held are the grants of the state.
	held []gcp.Grant
	// note is what goes beside the state.
	note note
	// store writes state and note into the response.
	store func(context.Context, Model, note) diag.Diagnostics
	// given are the grants that this very apply has added: what they permit is
	// refused for a while all the same.
	given []gcp.Grant
	// fresh is the e-mail of an account that was made or adopted just now.
	fresh string
	// taints is true in a create, after whose failure Terraform makes everything
	// anew.
	taints bool
	// provenOnly is true in the destroy of a deposed object, which a replacement
	// with create_before_destroy leaves. When the create of that one had failed,
	// its replacement has the same name, and the job that looks like its own, the
	// account and the grants are the replacement's.
	//
	// Terraform does not say which of the two it destroys. But it destroys a
	// current object by the plan that another process of the provider has made,
	// and plans the destroy of a deposed one anew, in the process that applies.
	provenOnly bool
	// heir is a job of the state's name that may have taken over the account and the
	// grants: that of the resource which replaces a deposed object, or one that
	// somebody else made; nil for none.
	heir *runpb.Job
	// cancel permits to cancel running executions. It is read from the state.
	cancel bool
}

func (w *work) save(ctx context.Context) {
	known := value.Known(w.state.UID)
	w.note.Unsure, w.note.Asked = w.note.Unsure && !known, w.note.Asked && !known
	// What is in the response must not depend on whether time is left.
	w.diags.Append(w.store(context.WithoutCancel(ctx), w.state.settled(), w.note)...)
}

// freshAccount lets calls wait until they see the new account.
func (w *work) freshAccount() []gcp.Option {
	if w.fresh == "" {
		return nil
	}
	return []gcp.Option{gcp.FreshAccount(w.fresh)}
}

// attribute makes a path of a dotted name; "" is no path.
func attribute(name string) path.Path {
	if name == "" {
		return path.Empty()
	}
	p := path.Empty()
	for _, step := range strings.Split(name, ".") {
		p = p.AtName(step)
	}
	return p
}

// fail adds an error for err at an attribute.
func (w *work) fail(at, summary string, err error, hint string) {
	w.explain(&w.state, attribute(at), summary, err, hint)
}

// report adds an error in our own words at an attribute.
func (w *work) report(at, summary, detail string) {
	if at == "" {
		w.diags.AddError(summary, detail)
		return
	}
	w.diags.AddAttributeError(attribute(at), summary, detail)
}

// stopped says why a wait ended: ctx, or that the next look would come after its
// deadline.
func stopped(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return context.DeadlineExceeded
}
