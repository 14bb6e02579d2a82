// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package core

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/zclconf/go-cty/cty"
)

// config is a configuration.
type config struct {
	provider  hclsyntax.Attributes
	resources []*block // those that others refer to first, else as in the file
}

// block is a resource block.
type block struct {
	typeName, name string
	attributes     hclsyntax.Attributes
	createFirst    bool
	needs          []string // addresses that it refers to
}

func (b *block) address() string { return b.typeName + "." + b.name }

// parse reads a configuration.
func parse(text string) (*config, error) {
	file, diags := hclsyntax.ParseConfig([]byte(text), "main.tf", hcl.InitialPos)
	if diags.HasErrors() {
		return nil, diags
	}
	body, ok := file.Body.(*hclsyntax.Body)
	if !ok {
		return nil, fmt.Errorf("no configuration: %T", file.Body)
	}
	c := &config{}
	for _, b := range body.Blocks {
		switch b.Type {
		case "terraform":
		case "provider":
			c.provider = b.Body.Attributes
		case "resource":
			r := &block{typeName: b.Labels[0], name: b.Labels[1], attributes: b.Body.Attributes}
			for _, inner := range b.Body.Blocks {
				if inner.Type != "lifecycle" {
					return nil, fmt.Errorf("a block %s in %s", inner.Type, r.address())
				}
				if a, ok := inner.Body.Attributes["create_before_destroy"]; ok {
					v, diags := a.Expr.Value(nil)
					if diags.HasErrors() {
						return nil, diags
					}
					r.createFirst = v.True()
				}
			}
			for _, name := range slices.Sorted(maps.Keys(r.attributes)) {
				for _, t := range r.attributes[name].Expr.Variables() {
					if len(t) < 2 {
						return nil, fmt.Errorf("a reference to %s", t.RootName())
					}
					if attr, ok := t[1].(hcl.TraverseAttr); ok {
						r.needs = append(r.needs, t.RootName()+"."+attr.Name)
					}
				}
			}
			c.resources = append(c.resources, r)
		default:
			return nil, fmt.Errorf("a block %s", b.Type)
		}
	}
	return c, c.sort()
}

// sort puts what others refer to first.
func (c *config) sort() error {
	var sorted []*block
	done := map[string]bool{}
	for len(sorted) < len(c.resources) {
		i := slices.IndexFunc(c.resources, func(b *block) bool {
			return !done[b.address()] && !slices.ContainsFunc(b.needs, func(a string) bool { return !done[a] })
		})
		if i < 0 {
			return fmt.Errorf("references to nothing, or in a circle")
		}
		sorted = append(sorted, c.resources[i])
		done[c.resources[i].address()] = true
	}
	c.resources = sorted
	return nil
}

func (c *config) find(address string) *block {
	for _, b := range c.resources {
		if b.address() == address {
			return b
		}
	}
	return nil
}

// evaluate makes the value of a block's attributes. values are those of other
// resources by address.
func (c *Core) evaluate(attributes hclsyntax.Attributes, typ tftypes.Type, values map[string]tftypes.Value) (tftypes.Value, error) {
	byType := map[string]map[string]cty.Value{}
	for address, v := range values {
		b := c.config.find(address)
		if b == nil {
			continue
		}
		if byType[b.typeName] == nil {
			byType[b.typeName] = map[string]cty.Value{}
		}
		asCty, err := toCty(v)
		if err != nil {
			return tftypes.Value{}, err
		}
		byType[b.typeName][b.name] = asCty
	}
	ctx := &hcl.EvalContext{Variables: map[string]cty.Value{}}
	for typeName, all := range byType {
		ctx.Variables[typeName] = cty.ObjectVal(all)
	}
	all := map[string]cty.Value{}
	for name, a := range attributes {
		v, diags := a.Expr.Value(ctx)
		if diags.HasErrors() {
			return tftypes.Value{}, diags
		}
		all[name] = v
	}
	return fromCty(cty.ObjectVal(all), typ)
}
