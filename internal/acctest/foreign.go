// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	tfprovider "github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

const (
	// foreignBinary is the name under which the test binary stands in the place of Google's provider.
	foreignBinary  = "terraform-provider-google"
	foreignAddress = "registry.terraform.io/hashicorp/google"
)

// foreign stands in the place of Google's provider: Terraform asks for the provider of everything that is in a state, also of what moves away
// from it. It knows the resources that stay, or that Terraform forgets, when a job moves, and only shows them as they are.
type foreign struct{}

func newForeign() tfprovider.Provider { return foreign{} }

func (foreign) Metadata(_ context.Context, _ tfprovider.MetadataRequest, resp *tfprovider.MetadataResponse) {
	resp.TypeName = "google"
}

func (foreign) Schema(context.Context, tfprovider.SchemaRequest, *tfprovider.SchemaResponse) {}

func (foreign) Configure(context.Context, tfprovider.ConfigureRequest, *tfprovider.ConfigureResponse) {
}

func (foreign) DataSources(context.Context) []func() datasource.DataSource { return nil }

func (foreign) Resources(context.Context) []func() resource.Resource {
	var all []func() resource.Resource
	for name, attributes := range map[string][]string{
		"service_account":                  {"account_id", "email", "member", "name", "project", "unique_id"},
		"storage_bucket_iam_member":        {"bucket", "role", "member", "etag"},
		"secret_manager_secret_iam_member": {"secret_id", "role", "member", "project", "etag"},
	} {
		all = append(all, func() resource.Resource { return foreignResource{name, attributes} })
	}
	return all
}

// foreignResource has attributes that are all texts, and may be read and deleted; nothing else is expected of it.
type foreignResource struct {
	name       string
	attributes []string
}

func (r foreignResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + r.name
}

func (r foreignResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema.Attributes = map[string]schema.Attribute{"id": schema.StringAttribute{Computed: true}}
	for _, a := range r.attributes {
		resp.Schema.Attributes[a] = schema.StringAttribute{Optional: true, Computed: true}
	}
}

func (r foreignResource) Create(_ context.Context, _ resource.CreateRequest, resp *resource.CreateResponse) {
	resp.Diagnostics.AddError("Not expected", "A google_"+r.name+" was created.")
}

func (r foreignResource) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

func (r foreignResource) Update(_ context.Context, _ resource.UpdateRequest, resp *resource.UpdateResponse) {
	resp.Diagnostics.AddError("Not expected", "A google_"+r.name+" was updated.")
}

func (r foreignResource) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}

// Foreign is a resource of another provider in a state.
type Foreign struct {
	// Provider is the address HOST/NAMESPACE/TYPE.
	Provider      string
	Type, Name    string
	SchemaVersion int64
	// Attributes are JSON, as the other provider wrote them.
	Attributes json.RawMessage
}

// WriteState writes a state that resources of Google's provider stand in, as Terraform keeps it. A provider that only shows them takes the place of Google's.
func (tf *Terraform) WriteState(resources ...Foreign) {
	tf.t.Helper()
	self, err := os.Executable()
	if err != nil {
		tf.t.Fatal(err)
	}
	folder := filepath.Join(filepath.Dir(tf.Dir), "foreign")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		tf.t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(folder, foreignBinary)); err != nil && !os.IsExist(err) {
		tf.t.Fatal(err)
	}
	tf.override(map[string]string{"hashicorp/google": folder})
	type instance struct {
		SchemaVersion int64           `json:"schema_version"`
		Attributes    json.RawMessage `json:"attributes"`
	}
	type entry struct {
		Mode      string     `json:"mode"`
		Type      string     `json:"type"`
		Name      string     `json:"name"`
		Provider  string     `json:"provider"`
		Instances []instance `json:"instances"`
	}
	state := map[string]any{"version": 4, "terraform_version": "1.8.0", "serial": 1, "lineage": "11111111-2222-3333-4444-555555555555", "outputs": struct{}{}}
	var entries []entry
	for _, r := range resources {
		entries = append(entries, entry{"managed", r.Type, r.Name, fmt.Sprintf("provider[%q]", r.Provider), []instance{{r.SchemaVersion, r.Attributes}}})
	}
	state["resources"] = entries
	raw, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		tf.t.Fatal(err)
	}
	tf.WriteFile("terraform.tfstate", string(raw))
}
