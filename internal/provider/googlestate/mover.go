// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package googlestate

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
)

// Mover makes a resource's state of a state of Google's provider. A problem is an error in the response.
type Mover func(ctx context.Context, raw []byte, version int64, resp *resource.MoveStateResponse)

// Movers returns the state movers of a resource whose only source is the given type. Whatever cannot be moved is refused here, in words, so
// that the framework has nothing to add.
func Movers(source string, move Mover) []resource.StateMover {
	return []resource.StateMover{{StateMover: func(ctx context.Context, req resource.MoveStateRequest, resp *resource.MoveStateResponse) {
		if err := CheckSource(source, req.SourceTypeName, req.SourceProviderAddress, req.SourceSchemaVersion); err != nil {
			text := err.Error()
			resp.Diagnostics.AddError("Cannot move this resource", strings.ToUpper(text[:1])+text[1:])
			return
		}
		var raw []byte
		if req.SourceRawState != nil {
			raw = req.SourceRawState.JSON
		}
		move(ctx, raw, req.SourceSchemaVersion, resp)
	}}}
}

// Refuse reports the problems of a state, and whether there are any.
func Refuse(source string, problems []Problem, diags *diag.Diagnostics) bool {
	for _, p := range problems {
		diags.AddError("Cannot move this resource", fmt.Sprintf("The %s cannot be moved. %s Nothing was changed. %s", source, p, instead))
	}
	return len(problems) > 0
}

// WarnOfPolicy warns of a deletion_policy that the target does not have; noun is what it is ("job").
func WarnOfPolicy(policy, source, noun, name string, diags *diag.Diagnostics) {
	if policy == "" {
		return
	}
	diags.AddWarning("deletion_policy does not move", fmt.Sprintf(
		"The %s %s has deletion_policy = %q. This resource has no such attribute: a destroy deletes the %s. "+
			"Write lifecycle { prevent_destroy = true } to refuse that; a removed block with lifecycle { destroy = false } takes the %s out of the state and leaves it alone.",
		source, name, policy, noun, noun))
}
