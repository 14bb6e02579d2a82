// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"fmt"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/placement"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// defaultVersion is the version of a secret that is read where none is named.
const defaultVersion = "latest"

// SecretEnv is one element of the attribute secret_env.
type SecretEnv struct {
	Secret  types.String `tfsdk:"secret"`
	Version types.String `tfsdk:"version"`
	Grant   types.Bool   `tfsdk:"grant"`
}

var (
	secretEnvTypes = map[string]attr.Type{"secret": types.StringType, "version": types.StringType, "grant": types.BoolType}
	secretEnvType  = types.ObjectType{AttrTypes: secretEnvTypes}
)

func secretEnvAttribute() schema.MapNestedAttribute {
	return schema.MapNestedAttribute{
		MarkdownDescription: "Environment variables whose values are secrets of Secret Manager, read when a task starts. A name stands in `env` or here, not in both, and follows the same rules. Default: none.",
		Optional:            true,
		Validators:          []validator.Map{environment{}},
		NestedObject: schema.NestedAttributeObject{Validators: []validator.Object{namesSecret{}}, Attributes: map[string]schema.Attribute{
			"secret":  namedSecretAttribute(),
			"version": versionAttribute(),
			"grant":   secretGrantAttribute(),
		}},
	}
}

func secretAttribute() schema.StringAttribute {
	return schema.StringAttribute{
		MarkdownDescription: "The secret: its name, or `projects/PROJECT/secrets/NAME` for one of another project. It must exist before the job.",
		Required:            true,
		PlanModifiers: []planmodifier.String{keepSame{func(a, b string, at placement.Place) bool {
			return resourcename.SameSecret(a, b, at.Project.ValueString(), false)
		}}},
		Validators: []validator.String{value.Parses("a secret", "Invalid secret", resourcename.CheckSecret)},
	}
}

// namedSecretAttribute is secretAttribute in an element of a map, where the
// framework takes a required attribute of an element that is not known yet for a
// missing one. namesSecret requires it instead.
func namedSecretAttribute() schema.StringAttribute {
	a := secretAttribute()
	a.MarkdownDescription = "Required. " + a.MarkdownDescription
	a.Required, a.Optional = false, true
	return a
}

// namesSecret requires the attribute secret.
type namesSecret struct{}

func (namesSecret) Description(context.Context) string { return "a secret is named" }

func (v namesSecret) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (namesSecret) ValidateObject(_ context.Context, req validator.ObjectRequest, resp *validator.ObjectResponse) {
	if value.Known(req.ConfigValue) && req.ConfigValue.Attributes()["secret"].IsNull() {
		resp.Diagnostics.AddAttributeError(req.Path.AtName("secret"), "Secret is missing", fmt.Sprintf(
			"%s names no secret. Write its name, such as secret = \"api-token\".", req.Path))
	}
}

func versionAttribute() schema.StringAttribute {
	return schema.StringAttribute{
		MarkdownDescription: "Version of the secret: a number, an alias or `\"latest\"`, which is looked up each time a task starts. Default: `\"latest\"`.",
		Optional:            true, Computed: true, Default: stringdefault.StaticString(defaultVersion),
		Validators: []validator.String{value.Parses("a version of a secret", "Invalid secret version", checkVersion)},
	}
}

func secretGrantAttribute() schema.BoolAttribute {
	return schema.BoolAttribute{
		MarkdownDescription: "Whether to grant the account `" + accessorRole + "` on the secret. Default: `true` for the account that the provider makes, `false` for a named `service_account`.",
		Optional:            true,
	}
}

// overlayEnv keeps the order of live variables; new ones follow by name.
func overlayEnv(ctx context.Context, live []*runpb.EnvVar, m *Model, diags *diag.Diagnostics) []*runpb.EnvVar {
	plain, secrets := value.Strings(m.Env), m.secretEnv(ctx, diags)
	var out []*runpb.EnvVar
	done := map[string]bool{}
	put := func(e *runpb.EnvVar) {
		name := e.GetName()
		if done[name] {
			return
		}
		done[name] = true
		if s, ok := secrets[name]; ok {
			e.Values = &runpb.EnvVar_ValueSource{ValueSource: &runpb.EnvVarSource{SecretKeyRef: &runpb.SecretKeySelector{
				Secret: s.Secret.ValueString(), Version: s.Version.ValueString(),
			}}}
			out = append(out, e)
		} else if v, ok := plain[name]; ok {
			e.Values = &runpb.EnvVar_Value{Value: v}
			out = append(out, e)
		}
	}
	for _, e := range live {
		put(e)
	}
	for _, names := range [][]string{sortedKeys(plain), sortedKeys(secrets)} {
		for _, name := range names {
			put(&runpb.EnvVar{Name: name})
		}
	}
	return out
}

// flattenEnv takes the plain variables. Their order means nothing.
func flattenEnv(live []*runpb.EnvVar, prior types.Map) types.Map {
	plain := map[string]string{}
	for _, e := range live {
		if e.GetValueSource() == nil {
			plain[e.GetName()] = e.GetValue()
		}
	}
	if len(plain) == 0 {
		if value.Known(prior) && len(prior.Elements()) == 0 {
			return prior
		}
		return types.MapNull(types.StringType)
	}
	return value.MapOf(plain)
}

// flattenSecretEnv takes the variables that come from secrets. What is granted
// is not the API's to know, and comes from prior.
func flattenSecretEnv(ctx context.Context, live []*runpb.EnvVar, prior *Model, diags *diag.Diagnostics) types.Map {
	before := prior.secretEnv(ctx, diags)
	out := map[string]*SecretEnv{}
	for _, e := range live {
		ref := e.GetValueSource().GetSecretKeyRef()
		if ref == nil {
			continue
		}
		s := &SecretEnv{Secret: types.StringValue(ref.GetSecret()), Version: types.StringValue(versionOf(ref.GetVersion())), Grant: types.BoolNull()}
		if old, ok := before[e.GetName()]; ok {
			s.Secret, s.Grant = prior.sameSecret(ref.GetSecret(), old.Secret), old.Grant
		}
		out[e.GetName()] = s
	}
	return encodeMap(ctx, secretEnvTypes, out, prior.SecretEnv, diags)
}

// sameSecret keeps the spelling of a secret that is the same.
func (m *Model) sameSecret(live string, prior types.String) types.String {
	if value.Known(prior) && resourcename.SameSecret(live, prior.ValueString(), m.Project.ValueString(), true) {
		return prior
	}
	return types.StringValue(live)
}

// versionOf reads no version as the newest.
func versionOf(s string) string {
	if s == "" {
		return defaultVersion
	}
	return s
}
