// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest/core"
)

// reads reads a data source that one attribute is enough for.
func reads(typeName, attribute, value string) course {
	return course{{name: "read", do: func(w *permissionWorld) *core.Result {
		out := &core.Result{}
		w.readData(out, typeName, map[string]tftypes.Value{attribute: str(value)})
		return out
	}}}
}
