// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/lazyregexp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// oneWay checks that a network is reached in exactly one way.
type oneWay struct{}

func (oneWay) Description(context.Context) string {
	return "network or subnetwork, or else connector"
}

func (v oneWay) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (oneWay) ValidateObject(_ context.Context, req validator.ObjectRequest, resp *validator.ObjectResponse) {
	if !value.Known(req.ConfigValue) {
		return
	}
	a := req.ConfigValue.Attributes()
	for _, name := range []string{"network", "subnetwork", "connector", "tags"} {
		if a[name].IsUnknown() {
			return
		}
	}
	direct := !a["network"].IsNull() || !a["subnetwork"].IsNull()
	switch {
	case !a["connector"].IsNull() && (direct || !a["tags"].IsNull()):
		resp.Diagnostics.AddAttributeError(req.Path.AtName("connector"), "Two ways into the network",
			"A job reaches a VPC network directly, by network, subnetwork and tags, or through a connector. Keep one of the two; without a connector it is faster and nothing has to run for it.")
	case !direct && a["connector"].IsNull():
		resp.Diagnostics.AddAttributeError(req.Path, "No way into the network",
			"network says neither which network nor which connector. Write network or subnetwork (or both), or connector, or leave the attribute network out.")
	}
}

// networkTags checks the tags of tasks.
type networkTags struct{}

func (networkTags) Description(context.Context) string { return "network tags" }

func (v networkTags) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

var tagShape = lazyregexp.New(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)

func (networkTags) ValidateSet(_ context.Context, req validator.SetRequest, resp *validator.SetResponse) {
	for _, e := range req.ConfigValue.Elements() {
		s, ok := e.(types.String)
		if !ok || s.IsUnknown() {
			continue
		}
		if s.IsNull() {
			resp.Diagnostics.AddAttributeError(req.Path, "Invalid network tag", fmt.Sprintf("%s has the value null. Leave it out, for example with compact(), or write a tag.", req.Path))
			continue
		}
		if !tagShape.MatchString(s.ValueString()) {
			resp.Diagnostics.AddAttributeError(req.Path.AtSetValue(e), "Invalid network tag", fmt.Sprintf(
				"%s: %q is not a network tag: use 1 to 63 lower-case letters, digits and hyphens, with a letter first and no hyphen last.", req.Path, resourcename.Shorten(s.ValueString())))
		}
	}
}

var (
	networkShape    = lazyregexp.New(`^(projects/[^/\s]+/global/networks/)?[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)
	subnetworkShape = lazyregexp.New(`^(projects/[^/\s]+/regions/[a-z0-9-]+/subnetworks/)?[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)
	connectorShape  = lazyregexp.New(`^(projects/[^/\s]+/locations/[a-z0-9-]+/connectors/)?[a-z]([-a-z0-9]*[a-z0-9])?$`)
	policyShape     = lazyregexp.New(`^projects/[^/\s]+/platforms/cloudRun/policies/[^/\s]+$`)
	// apiAddress is what self links of other resources begin with.
	apiAddress = lazyregexp.New(`^https://[a-z.]+/([a-z]+/)?v1/`)
)

func checkNetwork(s string) error {
	return checkName(s, networkShape, "a network", "\"default\" or \"projects/PROJECT/global/networks/NAME\"")
}

func checkSubnetwork(s string) error {
	return checkName(s, subnetworkShape, "a subnetwork", "\"default\" or \"projects/PROJECT/regions/REGION/subnetworks/NAME\"")
}

func checkConnector(s string) error {
	return checkName(s, connectorShape, "a connector", "\"projects/PROJECT/locations/REGION/connectors/NAME\"")
}

func checkName(s string, shape *lazyregexp.Regexp, kind, form string) error {
	if shape.MatchString(s) {
		return nil
	}
	if rest := apiAddress.ReplaceAllString(s, ""); rest != s && shape.MatchString(rest) {
		return fmt.Errorf("%q is an address: write %q, which is the id of the resource and not its self_link", resourcename.Shorten(s), rest)
	}
	return fmt.Errorf("%q is not %s: write %s", resourcename.Shorten(s), kind, form)
}

func checkEgress(s string) error {
	all, private := runpb.VpcAccess_ALL_TRAFFIC.String(), runpb.VpcAccess_PRIVATE_RANGES_ONLY.String()
	if s == all || s == private {
		return nil
	}
	if guess := strings.ToUpper(strings.ReplaceAll(s, "-", "_")); guess == all || guess == private {
		return fmt.Errorf("%q is not how it is written here: write %q", s, guess)
	}
	return fmt.Errorf("%q is not an egress setting: write %q or %q", resourcename.Shorten(s), private, all)
}

func checkPolicy(s string) error {
	switch {
	case policyShape.MatchString(s):
		return nil
	case s == "default":
		return errors.New("\"default\" is not a policy: write use_default = true instead of policy")
	}
	return fmt.Errorf("%q is not a policy: write \"projects/PROJECT/platforms/cloudRun/policies/NAME\", or use_default = true instead", resourcename.Shorten(s))
}

func checkJustification(s string) error {
	if strings.TrimSpace(s) == "" {
		return errors.New("the text is empty: write why the policy is passed over, or leave the attribute out")
	}
	return nil
}

// onlyTrue refuses false, which is what leaving the attribute out says.
type onlyTrue struct{}

func (onlyTrue) Description(context.Context) string { return "true" }

func (v onlyTrue) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (onlyTrue) ValidateBool(_ context.Context, req validator.BoolRequest, resp *validator.BoolResponse) {
	if value.Known(req.ConfigValue) && !req.ConfigValue.ValueBool() {
		resp.Diagnostics.AddAttributeError(req.Path, "Binary Authorization without a policy",
			"use_default is false. Write true to use the project's default policy, or leave the attribute out and write policy; without any check leave binary_authorization out.")
	}
}

// onePolicy checks that exactly one policy is named.
type onePolicy struct{}

func (onePolicy) Description(context.Context) string { return "use_default or policy" }

func (v onePolicy) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (onePolicy) ValidateObject(_ context.Context, req validator.ObjectRequest, resp *validator.ObjectResponse) {
	if !value.Known(req.ConfigValue) {
		return
	}
	a := req.ConfigValue.Attributes()
	useDefault, policy, reason := a["use_default"], a["policy"], a["breakglass_justification"]
	if useDefault.IsUnknown() || policy.IsUnknown() {
		return
	}
	if b, ok := useDefault.(types.Bool); ok && value.Known(b) && !b.ValueBool() {
		return // refused where it stands
	}
	switch {
	case useDefault.IsNull() && policy.IsNull():
		resp.Diagnostics.AddAttributeError(req.Path, "Binary Authorization without a policy",
			"binary_authorization names no policy. Write use_default = true for the project's default policy, or policy, or leave binary_authorization out.")
	case !useDefault.IsNull() && !policy.IsNull():
		resp.Diagnostics.AddAttributeError(req.Path.AtName("policy"), "Two Binary Authorization policies",
			"binary_authorization has use_default and policy, and an image is checked against one policy. Remove one of them.")
	case useDefault.IsNull() && !reason.IsNull():
		resp.Diagnostics.AddAttributeError(req.Path.AtName("breakglass_justification"), "Breakglass without the default policy",
			"Cloud Run accepts breakglass_justification only together with use_default = true. Remove it, or use the default policy.")
	}
}
