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
)

const (
	// foreignBinary is the name under which the test binary is a provider without anything, in the place of Google's.
	foreignBinary  = "terraform-provider-google"
	foreignAddress = "registry.terraform.io/hashicorp/google"
)

// foreign is a provider without any resource. Terraform asks for the provider of everything that stands in a state, also of what moves away
// from it, and then does not use it.
type foreign struct{}

func newForeign() tfprovider.Provider { return foreign{} }

func (foreign) Metadata(_ context.Context, _ tfprovider.MetadataRequest, resp *tfprovider.MetadataResponse) {
	resp.TypeName = "google"
}

func (foreign) Schema(context.Context, tfprovider.SchemaRequest, *tfprovider.SchemaResponse) {}

func (foreign) Configure(context.Context, tfprovider.ConfigureRequest, *tfprovider.ConfigureResponse) {
}

func (foreign) DataSources(context.Context) []func() datasource.DataSource { return nil }

func (foreign) Resources(context.Context) []func() resource.Resource { return nil }

// Foreign is a resource of another provider in a state, named test.
type Foreign struct {
	// Provider is the address HOST/NAMESPACE/TYPE.
	Provider      string
	Type          string
	SchemaVersion int64
	// Attributes are JSON, as the other provider wrote them.
	Attributes json.RawMessage
}

// WriteState writes a state that resources of Google's provider stand in, as Terraform keeps it. An empty provider takes the place of Google's.
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
		entries = append(entries, entry{"managed", r.Type, "test", fmt.Sprintf("provider[%q]", r.Provider), []instance{{r.SchemaVersion, r.Attributes}}})
	}
	state["resources"] = entries
	raw, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		tf.t.Fatal(err)
	}
	tf.WriteFile("terraform.tfstate", string(raw))
}
