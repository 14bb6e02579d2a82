// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package timelimits

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// Default is how long each verb may take when nothing else is configured.
const Default = 20 * time.Minute

// Attribute is the attribute timeouts. about adds to the description of delete what takes its time ("emptying a bucket needs more"); it may
// be empty.
func Attribute(ctx context.Context, about string) schema.Attribute {
	if about != "" {
		about = "; " + about
	}
	return Checked(timeouts.Attributes(ctx, timeouts.Opts{
		Create: true, CreateDescription: "How long a create may take, such as `30m`. Default: `20m`.",
		Read: true, ReadDescription: "How long a read may take. Default: `20m`.",
		Update: true, UpdateDescription: "How long an update may take. Default: `20m`.",
		Delete: true, DeleteDescription: "How long a destroy may take" + about + ". It counts once it has been applied. Default: `20m`.",
	}))
}

// Checked is an attribute timeouts whose durations are held to the provider's own
// rule, as every other duration: with one message, which says what to write.
func Checked(a schema.Attribute) schema.Attribute {
	object, ok := a.(schema.SingleNestedAttribute)
	if !ok {
		return a
	}
	object.MarkdownDescription = "How long the provider takes at most for each kind of change, as durations such as `30m`."
	for verb, child := range object.Attributes {
		if s, ok := child.(schema.StringAttribute); ok {
			s.Validators = []validator.String{value.IsDuration()}
			object.Attributes[verb] = s
		}
	}
	return object
}

// Null returns the attribute without any value, as a state of an import holds it.
func Null(ctx context.Context) timeouts.Value {
	names := map[string]attr.Type{}
	if t, ok := Attribute(ctx, "").GetType().(attr.TypeWithAttributeTypes); ok {
		names = t.AttributeTypes()
	}
	return timeouts.Value{Object: types.ObjectNull(names)}
}

// Of returns the attribute with the given durations, by verb. Without any it is null.
func Of(ctx context.Context, durations map[string]string) timeouts.Value {
	null := Null(ctx)
	elements := map[string]attr.Value{}
	set := false
	for verb := range null.AttributeTypes(ctx) {
		elements[verb] = types.StringNull()
		if d := durations[verb]; d != "" {
			elements[verb], set = types.StringValue(d), true
		}
	}
	if !set {
		return null
	}
	return timeouts.Value{Object: types.ObjectValueMust(null.AttributeTypes(ctx), elements)}
}
