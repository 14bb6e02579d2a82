// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"github.com/zclconf/go-cty/cty/msgpack"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest/core"
)

// A configuration as a person writes it, handed to the provider as Terraform
// hands it over, without starting Terraform.

// written is what a configuration says.
type written struct {
	provider        map[string]cty.Value
	resources, data []writtenBlock
	imports         []map[string]cty.Value
	outputs         int
	said            []*tfprotov6.Diagnostic // of the outputs
}

// writtenBlock is a resource or a data source.
type writtenBlock struct {
	typeName   string
	attributes map[string]cty.Value
}

// fill are the required attributes that every example of a resource has. A case
// need not repeat them.
var fill = map[string]map[string]cty.Value{
	"resilientjob_gpu_job":           {"name": cty.StringVal("train"), "image": cty.StringVal("us-docker.pkg.dev/my-project/ml/train:1")},
	"resilientjob_checkpoint_bucket": {"name": cty.StringVal("my-checkpoints")},
	"resilientjob_checkpoints":       {"bucket": cty.StringVal("checkpoints-here")},
	"resilientjob_execution":         {"job": cty.StringVal("train")},
	"resilientjob_executions":        {"job": cty.StringVal("train")},
	"resilientjob_interruptions":     {"job": cty.StringVal("train")},
}

// surroundings are what a configuration may refer to: a few functions, and the
// output of a resource that is known only after apply.
var surroundings = &hcl.EvalContext{
	Variables: map[string]cty.Value{"terraform_data": cty.ObjectVal(map[string]cty.Value{
		"build": cty.ObjectVal(map[string]cty.Value{"output": cty.UnknownVal(cty.String)}),
	})},
	Functions: map[string]function.Function{"range": stdlib.RangeFunc, "join": stdlib.JoinFunc, "format": stdlib.FormatFunc},
}

// parseConfig reads a configuration.
func parseConfig(t testing.TB, text string) written {
	t.Helper()
	file, diags := hclsyntax.ParseConfig([]byte(text), "main.tf", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatalf("%s\n%s", diags, text)
	}
	body, ok := file.Body.(*hclsyntax.Body)
	if !ok {
		t.Fatal("no body")
	}
	var w written
	for _, b := range body.Blocks {
		all := map[string]cty.Value{}
		if b.Type == "output" {
			w.outputs++
			w.said = append(w.said, output(t, b.Body.Attributes["value"].Expr)...)
			continue
		}
		for name, a := range b.Body.Attributes {
			if b.Type == "import" && name == "to" {
				traversal, diags := hcl.AbsTraversalForExpr(a.Expr)
				if diags.HasErrors() {
					t.Fatal(diags)
				}
				all["to"] = cty.StringVal(traversal.RootName())
				continue
			}
			v, diags := a.Expr.Value(surroundings)
			if diags.HasErrors() {
				t.Fatalf("%s\n%s", diags, text)
			}
			all[name] = v
		}
		switch b.Type {
		case "provider":
			w.provider = all
		case "resource", "data":
			block := writtenBlock{b.Labels[0], maps.Clone(fill[b.Labels[0]])}
			if block.attributes == nil {
				t.Fatalf("what is %s?", b.Labels[0])
			}
			if b.Type == "data" {
				block.attributes = map[string]cty.Value{}
			}
			maps.Copy(block.attributes, all)
			if b.Type == "data" {
				w.data = append(w.data, block)
			} else {
				w.resources = append(w.resources, block)
			}
		case "import":
			w.imports = append(w.imports, all)
		default:
			t.Fatalf("a block %s", b.Type)
		}
	}
	return w
}

// ctyType is a type of the protocol, its attributes optional as in a
// configuration.
func ctyType(t testing.TB, typ tftypes.Type) cty.Type {
	t.Helper()
	raw, err := json.Marshal(typ)
	if err != nil {
		t.Fatal(err)
	}
	out, err := ctyjson.UnmarshalType(raw)
	if err != nil {
		t.Fatal(err)
	}
	return optional(out)
}

func optional(typ cty.Type) cty.Type {
	switch {
	case typ.IsObjectType():
		all := map[string]cty.Type{}
		for name, a := range typ.AttributeTypes() {
			all[name] = optional(a)
		}
		return cty.ObjectWithOptionalAttrs(all, slices.Collect(maps.Keys(all)))
	case typ.IsMapType():
		return cty.Map(optional(typ.ElementType()))
	case typ.IsListType():
		return cty.List(optional(typ.ElementType()))
	case typ.IsSetType():
		return cty.Set(optional(typ.ElementType()))
	}
	return typ
}

// object makes a value of a schema.
func object(t testing.TB, schema *tfprotov6.Schema, attributes map[string]cty.Value) tftypes.Value {
	t.Helper()
	typ := schema.ValueType()
	want := ctyType(t, typ)
	for name := range attributes {
		if !want.HasAttribute(name) {
			t.Fatalf("no attribute %s", name)
		}
	}
	v, err := convert.Convert(cty.ObjectVal(attributes), want)
	if err != nil {
		t.Fatalf("%s: %v", slices.Sorted(maps.Keys(attributes)), err)
	}
	raw, err := msgpack.Marshal(v, want.WithoutOptionalAttributesDeep())
	if err != nil {
		t.Fatal(err)
	}
	out, err := (&tfprotov6.DynamicValue{MsgPack: raw}).Unmarshal(typ)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// life is one resource in Terraform's hands.
type life struct {
	state    tftypes.Value
	private  []byte
	identity *tfprotov6.ResourceIdentityData
}

// hands are Terraform's: they go through the configuration block by block.
type hands struct {
	*acctest.Protocol
	t     testing.TB
	lives map[string]life // by the type of the resource
	said  []*tfprotov6.Diagnostic
}

func (h *hands) dynamic(v tftypes.Value) *tfprotov6.DynamicValue {
	h.t.Helper()
	d, err := tfprotov6.NewDynamicValue(v.Type(), v)
	if err != nil {
		h.t.Fatal(err)
	}
	return &d
}

func (h *hands) hear(err error, diags []*tfprotov6.Diagnostic) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
	h.said = append(h.said, diags...)
}

func (h *hands) stopped() bool {
	return slices.ContainsFunc(h.said, func(d *tfprotov6.Diagnostic) bool { return d.Severity == tfprotov6.DiagnosticSeverityError })
}

// configure is what comes before anything is planned: the block and every
// resource are validated, and all mistakes are told together.
func (h *hands) configure(w written) {
	h.t.Helper()
	block := h.dynamic(object(h.t, h.Schema.Provider, w.provider))
	v, err := h.ValidateProviderConfig(h.t.Context(), &tfprotov6.ValidateProviderConfigRequest{Config: block})
	h.hear(err, v.Diagnostics)
	for _, r := range w.resources {
		v, err := h.ValidateResourceConfig(h.t.Context(), &tfprotov6.ValidateResourceConfigRequest{TypeName: r.typeName, Config: h.dynamic(h.config(r))})
		h.hear(err, v.Diagnostics)
	}
	for _, d := range w.data {
		v, err := h.ValidateDataResourceConfig(h.t.Context(), &tfprotov6.ValidateDataResourceConfigRequest{TypeName: d.typeName, Config: h.dynamic(object(h.t, h.Schema.DataSourceSchemas[d.typeName], d.attributes))})
		h.hear(err, v.Diagnostics)
	}
	if h.stopped() {
		return
	}
	c, err := h.ConfigureProvider(h.t.Context(), &tfprotov6.ConfigureProviderRequest{TerraformVersion: "1.11.4", Config: block})
	h.hear(err, c.Diagnostics)
}

func (h *hands) config(r writtenBlock) tftypes.Value {
	h.t.Helper()
	return object(h.t, h.Schema.ResourceSchemas[r.typeName], r.attributes)
}

// life returns the resource as it was left.
func (h *hands) life(r writtenBlock) life {
	if l, ok := h.lives[r.typeName]; ok {
		return l
	}
	return life{state: tftypes.NewValue(h.Schema.ResourceSchemas[r.typeName].ValueType(), nil)}
}

// refresh reads what is there.
func (h *hands) refresh(w written) {
	h.t.Helper()
	for _, r := range w.resources {
		l := h.life(r)
		if l.state.IsNull() {
			continue
		}
		v, err := h.ReadResource(h.t.Context(), &tfprotov6.ReadResourceRequest{TypeName: r.typeName, CurrentState: h.dynamic(l.state), Private: l.private, CurrentIdentity: l.identity})
		h.hear(err, v.Diagnostics)
	}
}

// plan plans one resource, or its end.
func (h *hands) plan(r writtenBlock, destroy bool) (life, *tfprotov6.PlanResourceChangeResponse) {
	h.t.Helper()
	l := h.life(r)
	schema := h.Schema.ResourceSchemas[r.typeName]
	config := h.config(r)
	proposed := config
	switch {
	case destroy:
		config = tftypes.NewValue(config.Type(), nil)
		proposed = config
	case !l.state.IsNull():
		proposed = core.Proposed(schema.Block.Attributes, l.state, config)
	}
	p, err := h.PlanResourceChange(h.t.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: r.typeName, PriorState: h.dynamic(l.state), PriorPrivate: l.private, PriorIdentity: l.identity, Config: h.dynamic(config), ProposedNewState: h.dynamic(proposed),
	})
	h.hear(err, p.Diagnostics)
	return l, p
}

// apply makes what is configured.
func (h *hands) apply(w written) {
	h.t.Helper()
	h.lives = map[string]life{}
	for _, r := range w.resources {
		l, p := h.plan(r, false)
		if h.stopped() {
			return
		}
		a, err := h.ApplyResourceChange(h.t.Context(), &tfprotov6.ApplyResourceChangeRequest{
			TypeName: r.typeName, PriorState: h.dynamic(l.state), Config: h.dynamic(h.config(r)), PlannedState: p.PlannedState, PlannedPrivate: p.PlannedPrivate, PlannedIdentity: p.PlannedIdentity,
		})
		h.hear(err, a.Diagnostics)
		state, err := a.NewState.Unmarshal(l.state.Type())
		if err != nil {
			h.t.Fatal(err)
		}
		h.lives[r.typeName] = life{state, a.Private, a.NewIdentity}
	}
}

// take imports what the import blocks name. It reports whether there are any.
func (h *hands) take(w written) bool {
	h.t.Helper()
	for _, i := range w.imports {
		req := &tfprotov6.ImportResourceStateRequest{TypeName: i["to"].AsString()}
		if id, ok := i["id"]; ok {
			req.ID = id.AsString()
		} else {
			schemas, err := h.GetResourceIdentitySchemas(h.t.Context(), &tfprotov6.GetResourceIdentitySchemasRequest{})
			h.hear(err, schemas.Diagnostics)
			typ := schemas.IdentitySchemas[req.TypeName].ValueType()
			v, err := convert.Convert(i["identity"], ctyType(h.t, typ))
			if err != nil {
				h.t.Fatal(err)
			}
			raw, err := msgpack.Marshal(v, v.Type())
			if err != nil {
				h.t.Fatal(err)
			}
			req.Identity = &tfprotov6.ResourceIdentityData{IdentityData: &tfprotov6.DynamicValue{MsgPack: raw}}
		}
		v, err := h.ImportResourceState(h.t.Context(), req)
		h.hear(err, v.Diagnostics)
		for _, r := range v.ImportedResources {
			state, err := r.State.Unmarshal(h.Schema.ResourceSchemas[r.TypeName].ValueType())
			if err != nil {
				h.t.Fatal(err)
			}
			if h.lives == nil {
				h.lives = map[string]life{}
			}
			h.lives[r.TypeName] = life{state, r.Private, r.Identity}
		}
	}
	return len(w.imports) > 0
}

// read reads the data sources.
func (h *hands) read(w written) {
	h.t.Helper()
	for _, d := range w.data {
		v, err := h.ReadDataSource(h.t.Context(), &tfprotov6.ReadDataSourceRequest{TypeName: d.typeName, Config: h.dynamic(object(h.t, h.Schema.DataSourceSchemas[d.typeName], d.attributes))})
		h.hear(err, v.Diagnostics)
	}
}

// pathOf writes a path as a configuration would.
func pathOf(p *tftypes.AttributePath) string {
	var b strings.Builder
	for _, step := range p.Steps() {
		switch step := step.(type) {
		case tftypes.AttributeName:
			if b.Len() > 0 {
				b.WriteString(".")
			}
			b.WriteString(string(step))
		case tftypes.ElementKeyString:
			fmt.Fprintf(&b, "[%q]", string(step))
		case tftypes.ElementKeyInt:
			fmt.Fprintf(&b, "[%d]", int64(step))
		case tftypes.ElementKeyValue:
			var text string
			if err := tftypes.Value(step).As(&text); err != nil {
				text = tftypes.Value(step).String()
			}
			fmt.Fprintf(&b, "[%q]", text)
		}
	}
	return b.String()
}
