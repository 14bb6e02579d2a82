// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/jonboulle/clockwork"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/checkpointbucket"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/checkpoints"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/execution"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/functions"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/gpujob"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/interruptions"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/providerdata"
)

// Address is where the provider is published.
const Address = "registry.terraform.io/resilientjob/resilientjob"

var (
	_ provider.Provider                   = (*Provider)(nil)
	_ provider.ProviderWithFunctions      = (*Provider)(nil)
	_ provider.ProviderWithValidateConfig = (*Provider)(nil)
)

// Provider is the provider "resilientjob".
type Provider struct {
	version string
	commit  string // short, empty when unknown
	getenv  func(string) string
	clock   clockwork.Clock
	// early carries what the block says to the resources' validation, which comes
	// before Configure.
	early *providerdata.Early
	// client is what Configure made.
	client *gcp.Client
}

// Close closes the connections of a configured provider. A process that ends
// need not; one that goes on with another provider does.
func (p *Provider) Close() error {
	if p.client == nil {
		return nil
	}
	return p.client.Close()
}

// Option changes what a provider takes from the process around it.
type Option func(*Provider)

// WithEnvironment replaces the environment variables of the process. Tests use
// it to run in parallel, each with an emulator of its own.
func WithEnvironment(getenv func(string) string) Option {
	return func(p *Provider) { p.getenv = getenv }
}

// WithClock replaces the real clock.
func WithClock(c clockwork.Clock) Option { return func(p *Provider) { p.clock = c } }

// WithCommit says from which commit, in its short form, the provider was built.
func WithCommit(commit string) Option { return func(p *Provider) { p.commit = commit } }

// New returns the maker of providers that providerserver.Serve asks for.
func New(version string, opts ...Option) func() provider.Provider {
	return func() provider.Provider {
		p := &Provider{version: version, getenv: os.Getenv, clock: clockwork.NewRealClock(), early: &providerdata.Early{}}
		for _, o := range opts {
			o(p)
		}
		return p
	}
}

// Metadata names the provider.
func (p *Provider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "resilientjob"
	resp.Version = p.version
}

// Resources lists the resources.
func (p *Provider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		checkpointbucket.NewResource,
		func() resource.Resource { return gpujob.NewResource(p.early) },
		func() resource.Resource { return execution.NewResource(p.early) },
	}
}

// DataSources lists the data sources.
func (p *Provider) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{
		checkpoints.NewDataSource,
		execution.NewDataSource,
		execution.NewListDataSource,
		interruptions.NewDataSource,
		gpujob.NewDataSource,
	}
}

// Functions lists the functions.
func (p *Provider) Functions(context.Context) []func() function.Function {
	return []func() function.Function{
		functions.NewCheckpointInterval,
		functions.NewRequiredRetries,
		functions.NewExposure,
	}
}
