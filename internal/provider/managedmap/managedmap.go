// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package managedmap

import (
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// Read returns the managed keys with their live values; null and unknown stay. A key that is gone is left out, so that the plan brings it
// back. A map that also stands elsewhere (copies) is the first one's: a copy that has another value is shown, so that the next apply mends
// it, and one that lacks the key is not, because other clients write only the first.
func Read(managed types.Map, live map[string]string, copies ...map[string]string) types.Map {
	if !value.Known(managed) {
		return managed
	}
	out := map[string]string{}
	for k, want := range value.Strings(managed) {
		v, ok := live[k]
		if !ok {
			continue
		}
		for _, m := range copies {
			if other, ok := m[k]; ok && v == want {
				v = other
			}
		}
		out[k] = v
	}
	return value.MapOf(out)
}

// Changes returns what leads from the live map to the wanted one, for an API that merges: the keys to set, and the keys to take away, which
// are those of had that are wanted no longer.
func Changes(live map[string]string, had, want types.Map) (set map[string]string, gone []string) {
	wanted := value.Strings(want)
	for k, v := range wanted {
		if old, ok := live[k]; !ok || old != v {
			if set == nil {
				set = map[string]string{}
			}
			set[k] = v
		}
	}
	for k := range value.Strings(had) {
		_, keep := wanted[k]
		if _, there := live[k]; there && !keep {
			gone = append(gone, k)
		}
	}
	slices.Sort(gone)
	return set, gone
}

// Overlay returns the whole map to write, for an API that replaces it: the live one without the keys of had, with the wanted ones; nil when
// nothing is left. The live map is not changed.
func Overlay(live map[string]string, had, want types.Map) map[string]string {
	out := maps.Clone(live)
	for k := range value.Strings(had) {
		delete(out, k)
	}
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, value.Strings(want))
	if len(out) == 0 {
		return nil
	}
	return out
}

// Import returns the live keys that an imported resource is to manage: all but those that foreign names. Without any it is null.
func Import(live map[string]string, foreign func(key, val string) bool) types.Map {
	own := maps.Clone(live)
	maps.DeleteFunc(own, foreign)
	if len(own) == 0 {
		return types.MapNull(types.StringType)
	}
	return value.MapOf(own)
}
