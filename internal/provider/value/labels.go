// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package value

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/lazyregexp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

// MaxLabels is how many labels one resource of Google Cloud may have.
const MaxLabels = 64

var (
	labelKey   = lazyregexp.New(`^[\p{Ll}\p{Lo}][\p{Ll}\p{Lo}\p{N}_-]*$`)
	labelValue = lazyregexp.New(`^[\p{Ll}\p{Lo}\p{N}_-]*$`)
)

// systemNamespaces are the key prefixes that Cloud Run keeps to itself, in
// labels and annotations.
var systemNamespaces = []string{"run.googleapis.com", "cloud.googleapis.com", "serving.knative.dev", "autoscaling.knative.dev"}

// SystemNamespace returns the namespace of Google's that a label or annotation
// key is in, or nothing.
func SystemNamespace(key string) string {
	for _, n := range systemNamespaces {
		if key == n || strings.HasPrefix(key, n+"/") {
			return n
		}
	}
	return ""
}

// CheckLabel holds one label to Google Cloud's rules: 63 characters each for
// key and value; lower-case letters of any script, digits, "_" and "-"; a
// letter first in the key. The error is for users.
func CheckLabel(key, val string) error {
	switch n := len([]rune(key)); {
	case key == "":
		return errors.New("the key is empty: write one such as \"team\", or take the label out")
	case SystemNamespace(key) != "":
		return fmt.Errorf("keys in %s belong to Google: choose another key", SystemNamespace(key))
	case n > 63:
		return fmt.Errorf("the key has %d characters, and 63 is the most: write a shorter one", n)
	case !labelKey.MatchString(key):
		if lower := strings.ToLower(key); labelKey.MatchString(lower) {
			return fmt.Errorf("the key %q is not in lower case, as keys of labels are: write %q", resourcename.Shorten(key), resourcename.Shorten(lower))
		}
		return fmt.Errorf("the key %q is not allowed: use lower-case letters, digits, \"_\" and \"-\", with a letter first", resourcename.Shorten(key))
	}
	if n := len([]rune(val)); n > 63 {
		return fmt.Errorf("the value has %d characters, and 63 is the most: write a shorter one", n)
	}
	if !labelValue.MatchString(val) {
		if lower := strings.ToLower(val); labelValue.MatchString(lower) {
			return fmt.Errorf("the value %q is not in lower case, as values of labels are: write %q", resourcename.Shorten(val), resourcename.Shorten(lower))
		}
		return fmt.Errorf("the value %q is not allowed: use lower-case letters, digits, \"_\" and \"-\"", resourcename.Shorten(val))
	}
	return nil
}

// IsLabels accepts maps of labels. Each label that breaks a rule gets one error
// at its own path.
func IsLabels() validator.Map { return isLabels{} }

type isLabels struct{}

func (isLabels) Description(context.Context) string {
	return "labels: keys and values of at most 63 lower-case letters, digits, \"_\" and \"-\""
}

func (l isLabels) MarkdownDescription(ctx context.Context) string { return l.Description(ctx) }

func (isLabels) ValidateMap(ctx context.Context, req validator.MapRequest, resp *validator.MapResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	elements := req.ConfigValue.Elements()
	if len(elements) > MaxLabels {
		resp.Diagnostics.AddAttributeError(req.Path, "Too many labels", fmt.Sprintf("%s has %d labels, and %d is the most that a resource of Google Cloud can have. Take some out.", req.Path, len(elements), MaxLabels))
	}
	for _, key := range slices.Sorted(maps.Keys(elements)) {
		valuable, ok := elements[key].(basetypes.StringValuable)
		if !ok {
			continue
		}
		s, diags := valuable.ToStringValue(ctx)
		resp.Diagnostics.Append(diags...)
		err := CheckLabel(key, s.ValueString())
		if err == nil && s.IsNull() {
			err = errors.New("the value is null: write \"\" for an empty one")
		}
		if err != nil {
			at := req.Path.AtMapKey(key)
			resp.Diagnostics.Append(diag.NewAttributeErrorDiagnostic(at, "Invalid label", fmt.Sprintf("%s: %s.", req.Path.AtMapKey(resourcename.Shorten(key)), err)))
		}
	}
}
