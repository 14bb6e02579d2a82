// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/providerdata"
	"golang.org/x/oauth2"
)

// model is the provider block.
type model struct {
	Project                   types.String `tfsdk:"project"`
	Region                    types.String `tfsdk:"region"`
	Credentials               types.String `tfsdk:"credentials"`
	AccessToken               types.String `tfsdk:"access_token"`
	ImpersonateServiceAccount types.String `tfsdk:"impersonate_service_account"`
	BillingProject            types.String `tfsdk:"billing_project"`
	UserProjectOverride       types.Bool   `tfsdk:"user_project_override"`
	DefaultLabels             types.Map    `tfsdk:"default_labels"`
	RequestTimeout            types.String `tfsdk:"request_timeout"`
	PlanValidation            types.String `tfsdk:"plan_validation"`
	Endpoints                 types.Object `tfsdk:"endpoints"`
}

// read returns the block as plain values.
func read(ctx context.Context, config tfsdk.Config) (block, diag.Diagnostics) {
	var m model
	diags := config.Get(ctx, &m)
	if diags.HasError() {
		return block{}, diags
	}
	b := block{
		project: settingOf(m.Project), region: settingOf(m.Region), credentials: settingOf(m.Credentials),
		accessToken: settingOf(m.AccessToken), impersonate: settingOf(m.ImpersonateServiceAccount),
		billingProject: settingOf(m.BillingProject), requestTimeout: settingOf(m.RequestTimeout),
		planValidation:      settingOf(m.PlanValidation),
		userProjectOverride: setting{unknown: m.UserProjectOverride.IsUnknown()},
		labelsUnknown:       m.DefaultLabels.IsUnknown(),
		endpointsUnknown:    m.Endpoints.IsUnknown(),
	}
	if !m.UserProjectOverride.IsNull() && !m.UserProjectOverride.IsUnknown() {
		b.userProjectOverride = setting{value: strconv.FormatBool(m.UserProjectOverride.ValueBool()), set: true}
	}
	b.labels = settingsOf(m.DefaultLabels.Elements())
	b.endpoints = settingsOf(m.Endpoints.Attributes())
	return b, diags
}

func settingOf(s basetypes.StringValue) setting {
	return setting{value: s.ValueString(), set: !s.IsNull() && !s.IsUnknown(), unknown: s.IsUnknown()}
}

func settingsOf[V any](values map[string]V) map[string]setting {
	all := make(map[string]setting, len(values))
	for k, v := range values {
		if s, ok := any(v).(basetypes.StringValue); ok {
			all[k] = settingOf(s)
		}
	}
	return all
}

// ValidateConfig finds the mistakes that need nothing but the block.
func (p *Provider) ValidateConfig(ctx context.Context, req provider.ValidateConfigRequest, resp *provider.ValidateConfigResponse) {
	b, diags := read(ctx, req.Config)
	resp.Diagnostics.Append(diags...)
	if !diags.HasError() {
		p.early.Observe(b.planValidation.value, b.planValidation.unknown)
		report(&resp.Diagnostics, check(b))
	}
}

// EmulatorWarning is the summary of the warning that every Configure gives
// while calls go to an emulator. It is constant, so that Terraform folds
// repetitions.
const EmulatorWarning = "Using the local emulator, not Google Cloud"

// Configure makes the client and hands it over.
func (p *Provider) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	b, diags := read(ctx, req.Config)
	resp.Diagnostics.Append(diags...)
	if diags.HasError() {
		return
	}
	p.early.Observe(b.planValidation.value, b.planValidation.unknown)
	c, problems := resolve(b, outside{getenv: p.getenv, readFile: os.ReadFile})
	report(&resp.Diagnostics, problems)
	if len(problems) > 0 {
		return
	}
	data := &providerdata.Data{
		Project: c.Project, Region: c.Region, DefaultLabels: c.DefaultLabels,
		PlanValidation: c.PlanValidation, Clock: p.clock, Unknown: c.Unknown,
	}
	client, err := gcp.New(ctx, p.options(c, data.Deferred(), req.TerraformVersion))
	if err != nil {
		resp.Diagnostics.AddError("Invalid provider configuration", err.Error()+".")
		return
	}
	p.client = client
	data.Client, data.Emulator = client, client.Emulator()
	if data.Emulator {
		warnEmulator(&resp.Diagnostics, c)
	}
	if data.Deferred() && req.ClientCapabilities.DeferralAllowed {
		resp.Deferred = &provider.Deferred{Reason: provider.DeferredReasonProviderConfigUnknown}
	}
	resp.ResourceData, resp.DataSourceData = data, data
}

func (p *Provider) options(c Config, deferred bool, terraformVersion string) gcp.Options {
	o := gcp.Options{
		CredentialsJSON:           c.Credentials,
		AccessToken:               c.AccessToken,
		ImpersonateServiceAccount: c.ImpersonateServiceAccount,
		BillingProject:            c.BillingProject,
		UserProjectOverride:       c.UserProjectOverride,
		Project:                   c.Project,
		UserAgent:                 userAgent(p.version, p.commit, terraformVersion, p.getenv("TF_APPEND_USER_AGENT")),
		RequestTimeout:            c.RequestTimeout,
		Endpoints:                 c.Endpoints,
		EmulatorHost:              c.EmulatorHost,
		Clock:                     p.clock,
	}
	if deferred {
		// Whoever calls all the same must not act as somebody else, or elsewhere.
		o.TokenSource, o.Endpoints = notKnownYet{c.Unknown}, gcp.Endpoints{}
	}
	return o
}

// notKnownYet stands for credentials that the configuration does not know yet.
type notKnownYet struct{ attributes []string }

func (n notKnownYet) Token() (*oauth2.Token, error) {
	return nil, errors.New("the provider's configuration is not known before apply (" + strings.Join(n.attributes, ", ") + ")")
}

// userAgent tells Google which programs call: products, each with a comment in
// parentheses. The last part is whatever the variable TF_APPEND_USER_AGENT, which all providers of Google's know, adds.
func userAgent(version, commit, terraformVersion, more string) string {
	s := "terraform-provider-resilientjob/" + version
	if commit != "" {
		s += " (commit " + commit + ")"
	}
	if terraformVersion != "" {
		s = "Terraform/" + terraformVersion + " (+https://www.terraform.io) " + s
	}
	if more = strings.TrimSpace(more); more != "" {
		s += " " + more
	}
	return s
}

func warnEmulator(diags *diag.Diagnostics, c Config) {
	detail := "The environment variable " + emulatorEnv + " is set: every call goes to " + c.EmulatorHost +
		", and nothing in Google Cloud is read or changed. Unset it to work with Google Cloud."
	if c.EmulatorHost == "" {
		detail = "The endpoints of the provider block are plain addresses of this machine: every call goes there, without credentials, and nothing in Google Cloud is read or changed."
	}
	if len(c.Ignored) > 0 {
		detail += fmt.Sprintf("\n\nThese settings of the provider block have no meaning there and are not used: %s.", strings.Join(c.Ignored, ", "))
	}
	diags.AddWarning(EmulatorWarning, detail)
}

func report(diags *diag.Diagnostics, problems []problem) {
	for _, p := range problems {
		if p.path.Equal(path.Empty()) {
			diags.AddError(p.summary, p.detail)
		} else {
			diags.AddAttributeError(p.path, p.summary, p.detail)
		}
	}
}
