// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package core

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"github.com/zclconf/go-cty/cty/msgpack"
)

// ctyTypes are types that were translated before, by their form in text.
var ctyTypes sync.Map

// ctyType is a type of the protocol as the language has it.
func ctyType(typ tftypes.Type) (cty.Type, error) {
	if known, ok := ctyTypes.Load(typ.String()); ok {
		if out, ok := known.(cty.Type); ok {
			return out, nil
		}
	}
	raw, err := json.Marshal(typ)
	if err != nil {
		return cty.NilType, err
	}
	out, err := ctyjson.UnmarshalType(raw)
	if err == nil {
		ctyTypes.Store(typ.String(), out)
	}
	return out, err
}

// toCty is a value as the language has it.
func toCty(v tftypes.Value) (cty.Value, error) {
	typ, err := ctyType(v.Type())
	if err != nil {
		return cty.NilVal, err
	}
	d, err := tfprotov6.NewDynamicValue(v.Type(), v)
	if err != nil {
		return cty.NilVal, err
	}
	return msgpack.Unmarshal(d.MsgPack, typ)
}

// fromCty makes a value of a type of what a configuration says. What an object
// leaves out is null.
func fromCty(v cty.Value, typ tftypes.Type) (tftypes.Value, error) {
	want, err := ctyType(typ)
	if err != nil {
		return tftypes.Value{}, err
	}
	if v.Type().IsObjectType() {
		for name := range v.Type().AttributeTypes() {
			if !want.HasAttribute(name) {
				return tftypes.Value{}, fmt.Errorf("no attribute %s", name)
			}
		}
	}
	v, err = convert.Convert(v, optional(want))
	if err != nil {
		return tftypes.Value{}, err
	}
	raw, err := msgpack.Marshal(v, want)
	if err != nil {
		return tftypes.Value{}, err
	}
	return (&tfprotov6.DynamicValue{MsgPack: raw}).Unmarshal(typ)
}

// optional is a type whose attributes may all be left out.
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

func dynamic(v tftypes.Value) *tfprotov6.DynamicValue {
	d, err := tfprotov6.NewDynamicValue(v.Type(), v)
	if err != nil {
		panic(err) // a value that came by the protocol goes by the protocol
	}
	return &d
}

// elements are the attributes of an object or the elements of a map.
func elements(v tftypes.Value) map[string]tftypes.Value {
	var out map[string]tftypes.Value
	if err := v.As(&out); err != nil {
		panic(err) // asked for objects and maps only
	}
	return maps.Clone(out) // As gives out the value's own map
}

// keyed tells whether a value is a known object or map.
func keyed(v tftypes.Value) bool {
	return (v.Type().Is(tftypes.Object{}) || v.Type().Is(tftypes.Map{})) && v.IsKnown() && !v.IsNull()
}

func join(at, name string) string { return strings.TrimPrefix(at+"."+name, ".") }

// sortedNames are the keys of both maps in order.
func sortedNames[V any](a, b map[string]V) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]V{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// plain is a value as Go has it: nil, string, bool, float64, []any, map[string]any.
func plain(v tftypes.Value) any {
	if v.IsNull() || !v.IsKnown() {
		return nil
	}
	asCty, err := toCty(v)
	if err != nil {
		panic(err) // as in dynamic
	}
	raw, err := ctyjson.Marshal(asCty, asCty.Type())
	if err != nil {
		panic(err) // known values have a form in JSON
	}
	var out any
	if err := json.Unmarshal(raw, &out); err != nil {
		panic(err)
	}
	return out
}
