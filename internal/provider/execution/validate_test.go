// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// A null among the arguments is refused where it stands; an empty text and one
// that is not known yet are not.
func TestNullArgument(t *testing.T) {
	t.Parallel()
	var resp validator.ListResponse
	noNulls{}.ValidateList(t.Context(), validator.ListRequest{
		Path:        path.Root("args"),
		ConfigValue: types.ListValueMust(types.StringType, []attr.Value{types.StringValue(""), types.StringNull(), types.StringUnknown()}),
	}, &resp)
	if n := len(resp.Diagnostics); n != 1 {
		t.Fatalf("%d messages, want 1: %v", n, resp.Diagnostics)
	}
	if text := resp.Diagnostics[0].Detail(); !strings.Contains(text, "args[1] has the value null") || !strings.Contains(text, "compact()") {
		t.Error(text)
	}
}
