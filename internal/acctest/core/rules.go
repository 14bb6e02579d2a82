// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package core

import (
	"fmt"
	"strconv"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Proposed merges configuration and prior state as Terraform does: computed
// attributes that the configuration leaves out keep their value, also those of
// nested objects, by the key of their map.
func Proposed(schema []*tfprotov6.SchemaAttribute, prior, config tftypes.Value) tftypes.Value {
	if !keyed(config) || !keyed(prior) {
		return config
	}
	before, out := elements(prior), elements(config)
	for _, a := range schema {
		switch {
		case a.Computed && out[a.Name].IsNull():
			out[a.Name] = before[a.Name]
		case a.NestedType == nil:
		case a.NestedType.Nesting == tfprotov6.SchemaObjectNestingModeSingle:
			out[a.Name] = Proposed(a.NestedType.Attributes, before[a.Name], out[a.Name])
		case a.NestedType.Nesting == tfprotov6.SchemaObjectNestingModeMap && keyed(out[a.Name]) && keyed(before[a.Name]):
			old, all := elements(before[a.Name]), elements(out[a.Name])
			for k, v := range all {
				if was, ok := old[k]; ok {
					all[k] = Proposed(a.NestedType.Attributes, was, v)
				}
			}
			out[a.Name] = tftypes.NewValue(out[a.Name].Type(), all)
		}
	}
	return tftypes.NewValue(config.Type(), out)
}

// InvalidPlan returns where a plan breaks Terraform's rule: what is configured is
// planned as it is written or as it was, and what is neither configured nor
// computed is planned as null.
func InvalidPlan(schema []*tfprotov6.SchemaAttribute, prior, config, planned tftypes.Value) []string {
	return invalid(schema, "", prior, config, planned)
}

func invalid(schema []*tfprotov6.SchemaAttribute, at string, prior, config, planned tftypes.Value) []string {
	if !keyed(config) || !keyed(planned) {
		if !config.Equal(planned) {
			return []string{fmt.Sprintf("%s is planned as %s, configured as %s", at, planned, config)}
		}
		return nil
	}
	var out []string
	var before map[string]tftypes.Value
	if keyed(prior) {
		before = elements(prior)
	}
	wanted, will := elements(config), elements(planned)
	for _, a := range schema {
		was, ok := before[a.Name]
		if !ok {
			was = tftypes.NewValue(wanted[a.Name].Type(), nil)
		}
		p, c, here := will[a.Name], wanted[a.Name], join(at, a.Name)
		switch {
		case p.Equal(c), c.IsNull() && a.Computed, !was.IsNull() && !c.IsNull() && p.Equal(was):
		case a.NestedType != nil && a.NestedType.Nesting == tfprotov6.SchemaObjectNestingModeSingle:
			out = append(out, invalid(a.NestedType.Attributes, here, was, c, p)...)
		case a.NestedType != nil && a.NestedType.Nesting == tfprotov6.SchemaObjectNestingModeMap && keyed(c) && keyed(p):
			ep, ec := elements(p), elements(c)
			old := map[string]tftypes.Value{}
			if keyed(was) {
				old = elements(was)
			}
			for _, k := range sortedNames(ep, ec) {
				_, inPlan := ep[k]
				_, inConfig := ec[k]
				if !inPlan || !inConfig {
					out = append(out, fmt.Sprintf("%s: element %s is planned: %t, configured: %t", here, k, inPlan, inConfig))
					continue
				}
				oldElement, ok := old[k]
				if !ok {
					oldElement = tftypes.NewValue(ec[k].Type(), nil)
				}
				out = append(out, invalid(a.NestedType.Attributes, join(here, k), oldElement, ec[k], ep[k])...)
			}
		default:
			out = append(out, fmt.Sprintf("%s is planned as %s, configured as %s, was %s", here, p, c, was))
		}
	}
	return out
}

// Incompatible returns where a result breaks Terraform's rule: what a plan knew
// is so afterwards. It holds for an apply, and for a second plan, when what was
// unknown is known.
func Incompatible(planned, got tftypes.Value) []string { return incompatible("", planned, got) }

func incompatible(at string, planned, got tftypes.Value) []string {
	if !planned.IsKnown() || planned.Equal(got) {
		return nil
	}
	if !keyed(planned) || !keyed(got) {
		if planned.Type().Is(tftypes.Set{}) && !planned.IsFullyKnown() && got.IsKnown() && !got.IsNull() {
			return nil // elements that are not known may become any
		}
		if planned.Type().Is(tftypes.List{}) && !planned.IsNull() && got.IsKnown() && !got.IsNull() {
			var a, b []tftypes.Value
			if planned.As(&a) == nil && got.As(&b) == nil && len(a) == len(b) {
				var out []string
				for i := range a {
					out = append(out, incompatible(join(at, strconv.Itoa(i)), a[i], b[i])...)
				}
				return out
			}
		}
		return []string{fmt.Sprintf("%s was planned as %s and is %s", at, planned, got)}
	}
	var out []string
	ep, eg := elements(planned), elements(got)
	for _, name := range sortedNames(ep, eg) {
		p, inPlan := ep[name]
		g, is := eg[name]
		if !inPlan || !is {
			out = append(out, fmt.Sprintf("%s was planned: %t, is: %t", join(at, name), inPlan, is))
			continue
		}
		out = append(out, incompatible(join(at, name), p, g)...)
	}
	return out
}
