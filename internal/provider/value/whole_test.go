// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package value_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr/xattr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

func TestWhole(t *testing.T) {
	t.Parallel()
	huge := new(big.Float).SetMantExp(big.NewFloat(1), 2000)
	for name, c := range map[string]struct {
		in   any
		want value.Whole
		says string
	}{
		"null":     {nil, value.NewWholeNull(), ""},
		"zero":     {0, value.NewWhole(0), ""},
		"negative": {-3, value.NewWhole(-3), ""},
		"largest":  {new(big.Float).SetInt64(1<<63 - 1), value.NewWhole(1<<63 - 1), ""},
		"half":     {big.NewFloat(0.5), value.Whole{}, "days = 0.5 cannot be used: write a whole number"},
		"too big":  {big.NewFloat(1 << 63), value.Whole{}, "days = 9.22337e+18 cannot be used"},
		"huge":     {huge, value.Whole{}, "days = 1.14813e+602 cannot be used"},
	} {
		v, err := value.WholeType{}.ValueFromTerraform(t.Context(), tftypes.NewValue(tftypes.Number, c.in))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, ok := v.(value.Whole)
		if !ok {
			t.Fatalf("%s: a %T", name, v)
		}
		var resp xattr.ValidateAttributeResponse
		got.ValidateAttribute(t.Context(), xattr.ValidateAttributeRequest{Path: path.Root("days")}, &resp)
		if c.says == "" {
			if !got.Equal(c.want) || resp.Diagnostics.HasError() {
				t.Errorf("%s: %s, %v", name, got, resp.Diagnostics)
			}
			continue
		}
		if len(resp.Diagnostics) != 1 || !strings.Contains(resp.Diagnostics[0].Detail(), c.says) || got.Equal(value.NewWhole(0)) {
			t.Errorf("%s: %s, %v", name, got, resp.Diagnostics)
		}
	}
	unknown, err := value.WholeType{}.ValueFromTerraform(t.Context(), tftypes.NewValue(tftypes.Number, tftypes.UnknownValue))
	if err != nil || !unknown.IsUnknown() {
		t.Errorf("unknown is %v, %v", unknown, err)
	}
}
