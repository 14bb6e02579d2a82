// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package checkpointbucket

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// ValidateConfig refuses what only several attributes together show to be impossible.
func (r *Resource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config Model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if config.Versioning.ValueBool() && config.HierarchicalNamespace.ValueBool() {
		refuseVersioning(&resp.Diagnostics, "Cloud Storage keeps no versions in a bucket with a hierarchical namespace. Write hierarchical_namespace = false, or versioning = false.")
	}
	switch days, prefixes := config.ExpireAfterDays, config.ExpirePrefixes; {
	case value.Known(days) && prefixes.IsNull():
		resp.Diagnostics.AddAttributeError(path.Root("expire_after_days"), "Expiry without prefixes",
			"expire_after_days alone would delete the newest checkpoint, too. Say with expire_prefixes which objects may go, such as expire_prefixes = [\"scratch/\"], or take expire_after_days out.")
	case value.Known(prefixes) && len(prefixes.Elements()) > 0 && days.IsNull():
		resp.Diagnostics.AddAttributeError(path.Root("expire_prefixes"), "Prefixes without expiry",
			"expire_prefixes says which objects expire, and nothing says when. Add expire_after_days, such as expire_after_days = 30, or take expire_prefixes out.")
	}
}

func refuseVersioning(diagnostics *diag.Diagnostics, detail string) {
	diagnostics.AddAttributeError(path.Root("versioning"), "Versioning with a hierarchical namespace", detail)
}

// days accepts a number of days that the API can hold.
type days struct {
	least int64
	why   string // a whole sentence
}

func (d days) Description(context.Context) string {
	return fmt.Sprintf("a number of days, %d or more", d.least)
}

func (d days) MarkdownDescription(ctx context.Context) string { return d.Description(ctx) }

func (d days) ValidateInt64(_ context.Context, req validator.Int64Request, resp *validator.Int64Response) {
	if !value.Known(req.ConfigValue) {
		return
	}
	switch n := req.ConfigValue.ValueInt64(); {
	case n < d.least:
		resp.Diagnostics.AddAttributeError(req.Path, "Too few days", fmt.Sprintf("%s is %d, less than %d. %s", req.Path, n, d.least, d.why))
	case n > math.MaxInt32:
		resp.Diagnostics.AddAttributeError(req.Path, "Too many days", fmt.Sprintf("%s is %d, more than Cloud Storage can hold. Write at most %d.", req.Path, n, math.MaxInt32))
	}
}

// each accepts sets of strings of which each element passes check. Each that does not gets one error, at the attribute.
type each struct {
	description, summary string
	least                int // 1: the empty set is refused
	empty                string
	check                func(string) error
}

func (e each) Description(context.Context) string { return e.description }

func (e each) MarkdownDescription(context.Context) string { return e.description }

func (e each) ValidateSet(_ context.Context, req validator.SetRequest, resp *validator.SetResponse) {
	if !value.Known(req.ConfigValue) {
		return
	}
	elements := req.ConfigValue.Elements()
	if len(elements) < e.least {
		resp.Diagnostics.AddAttributeError(req.Path, e.summary, fmt.Sprintf("%s: %s.", req.Path, e.empty))
	}
	for _, element := range elements {
		s, ok := element.(types.String)
		if !ok || s.IsUnknown() {
			continue
		}
		err := errors.New("an element is null: take it out, or write a value")
		if !s.IsNull() {
			err = e.check(s.ValueString())
		}
		if err != nil {
			resp.Diagnostics.AddAttributeError(req.Path, e.summary, fmt.Sprintf("%s: %s.", req.Path, err))
		}
	}
}

func checkStorageClass(s string) error {
	switch upper := strings.ToUpper(strings.TrimSpace(s)); {
	case upper == "":
		return errors.New("the class is empty: write \"STANDARD\"")
	case s != upper:
		return fmt.Errorf("%.60q is not how Google writes it: write %.60q", s, upper)
	}
	return nil
}

func checkSoftDelete(s string) error {
	d, err := value.ParseDuration(s)
	switch {
	case err != nil:
		return err
	case d != 0 && (d < minSoftDelete || d > maxSoftDelete):
		return fmt.Errorf("%q is not possible: write \"0s\" for no soft delete, or 7 to 90 days (%q to %q)", s,
			value.FormatDuration(minSoftDelete), value.FormatDuration(maxSoftDelete))
	case d%time.Second != 0:
		return fmt.Errorf("%q is not in whole seconds: write %q", s, value.FormatDuration(d.Truncate(time.Second)))
	}
	return nil
}

func checkPrefix(s string) error {
	switch {
	case s == "":
		return errors.New("\"\" is the beginning of every name, so that all checkpoints would expire: write a folder such as \"scratch/\"")
	case strings.HasPrefix(s, "/") || strings.HasPrefix(s, "gs://"):
		return fmt.Errorf("%.80q is not how names of objects begin: write it without the bucket and without a leading slash", s)
	case len(s) > maxObjectName:
		return fmt.Errorf("%.80q… has %d bytes, and no object's name has more than %d: write a shorter one", s, len(s), maxObjectName)
	}
	return nil
}
