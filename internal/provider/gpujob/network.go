// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"strings"

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

// defaultEgress is what Cloud Run takes where nothing is asked for (VpcAccess).
const defaultEgress = "PRIVATE_RANGES_ONLY"

// Network is the attribute network.
type Network struct {
	Network    types.String `tfsdk:"network"`
	Subnetwork types.String `tfsdk:"subnetwork"`
	Tags       types.Set    `tfsdk:"tags"`
	Connector  types.String `tfsdk:"connector"`
	Egress     types.String `tfsdk:"egress"`
}

var networkTypes = map[string]attr.Type{
	"network": types.StringType, "subnetwork": types.StringType, "tags": types.SetType{ElemType: types.StringType},
	"connector": types.StringType, "egress": types.StringType,
}

func networkAttribute() schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{
		MarkdownDescription: "How tasks reach a VPC network: directly, by `network` and `subnetwork`, or through a `connector`. Default: tasks reach the internet only.",
		Optional:            true,
		Validators:          []validator.Object{oneWay{}},
		Attributes: map[string]schema.Attribute{
			"network": schema.StringAttribute{
				MarkdownDescription: "VPC network: its name, or `projects/PROJECT/global/networks/NAME`. Default: the network of `subnetwork`.",
				Optional:            true,
				PlanModifiers:       []planmodifier.String{keepSame{func(a, b string, at placement.Place) bool { return sameName(fullNetwork, at, a, b, false) }}},
				Validators:          []validator.String{value.Parses("a network", "Invalid network", checkNetwork)},
			},
			"subnetwork": schema.StringAttribute{
				MarkdownDescription: "Subnetwork from which tasks get their addresses: its name, or `projects/PROJECT/regions/REGION/subnetworks/NAME`. Default: the one with the network's name.",
				Optional:            true,
				PlanModifiers:       []planmodifier.String{keepSame{func(a, b string, at placement.Place) bool { return sameName(fullSubnetwork, at, a, b, false) }}},
				Validators:          []validator.String{value.Parses("a subnetwork", "Invalid subnetwork", checkSubnetwork)},
			},
			"tags": schema.SetAttribute{
				MarkdownDescription: "Network tags of the tasks, for firewall rules: each up to 63 lower-case letters, digits and hyphens, a letter first. Default: none.",
				ElementType:         types.StringType, Optional: true,
				Validators: []validator.Set{networkTags{}},
			},
			"connector": schema.StringAttribute{
				MarkdownDescription: "Serverless VPC Access connector: `projects/PROJECT/locations/REGION/connectors/NAME`. Excludes `network`, `subnetwork` and `tags`. Default: none.",
				Optional:            true,
				Validators:          []validator.String{value.Parses("a connector", "Invalid connector", checkConnector)},
			},
			"egress": schema.StringAttribute{
				MarkdownDescription: "What goes through the network: `\"PRIVATE_RANGES_ONLY\"` or `\"ALL_TRAFFIC\"`. Default: `\"PRIVATE_RANGES_ONLY\"`.",
				Optional:            true, Computed: true, Default: stringdefault.StaticString(defaultEgress),
				Validators: []validator.String{value.Parses("an egress setting", "Invalid egress", checkEgress)},
			},
		},
	}
}

// overlayNetwork sets the network of tasks.
func overlayNetwork(ctx context.Context, task *runpb.TaskTemplate, m *Model, diags *diag.Diagnostics) {
	n := decode[Network](ctx, m.Network, diags)
	if n == nil {
		task.VpcAccess = nil
		return
	}
	if task.VpcAccess == nil {
		task.VpcAccess = &runpb.VpcAccess{}
	}
	access := task.VpcAccess
	access.Egress = runpb.VpcAccess_VpcEgress(runpb.VpcAccess_VpcEgress_value[n.Egress.ValueString()])
	access.Connector = n.Connector.ValueString()
	if value.Known(n.Connector) {
		access.NetworkInterfaces = nil
		return
	}
	// Left out, one of the two is looked up from the other, anew each time.
	access.NetworkInterfaces = []*runpb.VpcAccess_NetworkInterface{{
		Network: n.Network.ValueString(), Subnetwork: n.Subnetwork.ValueString(), Tags: value.Elements(n.Tags),
	}}
}

// flattenNetwork reads the network of tasks. What Cloud Run fills in where the
// configuration says nothing stays unsaid.
func flattenNetwork(ctx context.Context, task *runpb.TaskTemplate, prior *Model, diags *diag.Diagnostics) types.Object {
	access := task.GetVpcAccess()
	if access.GetConnector() == "" && len(access.GetNetworkInterfaces()) == 0 {
		return types.ObjectNull(networkTypes)
	}
	before := decode[Network](ctx, prior.Network, diags)
	n := &Network{
		Network: types.StringNull(), Subnetwork: types.StringNull(), Tags: types.SetNull(types.StringType),
		Connector: text(access.GetConnector()), Egress: types.StringValue(defaultEgress),
	}
	if before == nil {
		before = &Network{Network: types.StringNull(), Subnetwork: types.StringNull(), Tags: n.Tags, Connector: n.Connector, Egress: n.Egress}
		if len(access.GetNetworkInterfaces()) > 0 {
			before.Network, before.Subnetwork = text(access.GetNetworkInterfaces()[0].GetNetwork()), text(access.GetNetworkInterfaces()[0].GetSubnetwork())
		}
	}
	if e := access.GetEgress(); e != runpb.VpcAccess_VPC_EGRESS_UNSPECIFIED {
		n.Egress = types.StringValue(e.String())
	}
	at := prior.place()
	n.Connector = keepName(fullConnector, at, n.Connector, before.Connector)
	if len(access.GetNetworkInterfaces()) > 0 {
		i := access.GetNetworkInterfaces()[0]
		// One of the two is looked up from the other.
		if value.Known(before.Network) || !value.Known(before.Subnetwork) {
			n.Network = keepName(fullNetwork, at, text(i.GetNetwork()), before.Network)
		}
		// Left out, the subnetwork is the one with the network's name.
		if value.Known(before.Subnetwork) || i.GetNetwork() != "" && i.GetSubnetwork() != "" && bareName(i.GetSubnetwork()) != bareName(i.GetNetwork()) {
			n.Subnetwork = keepName(fullSubnetwork, at, text(i.GetSubnetwork()), before.Subnetwork)
		}
		n.Tags = flattenSet(i.GetTags(), before.Tags)
	}
	return encode(ctx, networkTypes, n, diags)
}

// What a bare name means for a job.
func fullNetwork(s string, at placement.Place) string {
	return inFull(s, "projects/"+at.Project.ValueString()+"/global/networks/")
}

func fullSubnetwork(s string, at placement.Place) string {
	return inFull(s, "projects/"+at.Project.ValueString()+"/regions/"+at.Location.Canonical()+"/subnetworks/")
}

func fullConnector(s string, at placement.Place) string {
	return inFull(s, "projects/"+at.Project.ValueString()+"/locations/"+at.Location.Canonical()+"/connectors/")
}

// alwaysFull is for names that are not written bare.
func alwaysFull(s string, _ placement.Place) string { return s }

func inFull(s, prefix string) string {
	if strings.Contains(s, "/") {
		return s
	}
	return prefix + s
}

// sameName tells whether two spellings of a name mean the same.
func sameName(full func(string, placement.Place) string, at placement.Place, a, b string, lenient bool) bool {
	return resourcename.SameName(full(a, at), full(b, at), lenient)
}

// keepName keeps prior's spelling of what Google answers.
func keepName(full func(string, placement.Place) string, at placement.Place, live, prior types.String) types.String {
	if value.Known(prior) && value.Known(live) && sameName(full, at, live.ValueString(), prior.ValueString(), true) {
		return prior
	}
	return live
}
