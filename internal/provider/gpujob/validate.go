// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	tfpath "github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/resilience"
)

// The validators hold what can never work and depends on the configuration
// alone, so that "terraform validate" finds it. Limits of a dated table are held
// by limits.go in validation, and by the plan (see check.go).

const (
	maxEnv     = 1000
	maxEnvSize = 32_768
)

const reservedEnvText = "Names are letters, digits and underscores, no digit first. `CLOUD_RUN_JOB`, `CLOUD_RUN_EXECUTION`, `CLOUD_RUN_TASK_INDEX`, `CLOUD_RUN_TASK_ATTEMPT`, " +
	"`CLOUD_RUN_TASK_COUNT` and `PORT` are the platform's, `X_GOOGLE_*` Google's, and `RESILIENTJOB_RUN_KEY` marks the runs of `resilientjob_execution`."

// ValidateConfig checks attributes against each other.
func (r *Resource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var m Model
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	c := m.checkpoint(ctx, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	r.validateLimits(&m, &resp.Diagnostics)
	validateParallelism(&m, &resp.Diagnostics)
	validateAccount(&m, &resp.Diagnostics)
	if c != nil {
		validateInterval(&m, c, &resp.Diagnostics)
		validatePrefix(c, &resp.Diagnostics)
	}
}

func validateParallelism(m *Model, diags *diag.Diagnostics) {
	tasks := m.TaskCount
	if tasks.IsNull() {
		tasks = types.Int64Value(defaultTasks)
	}
	if known(m.Parallelism) && known(tasks) && tasks.ValueInt64() >= 1 && m.Parallelism.ValueInt64() > tasks.ValueInt64() {
		diags.AddAttributeError(tfpath.Root("parallelism"), "Parallelism above the number of tasks", fmt.Sprintf(
			"parallelism is %d and task_count is %d: no more tasks can run at the same time than there are. Write at most %[2]d, or leave parallelism out to let as many tasks run as quota allows.",
			m.Parallelism.ValueInt64(), tasks.ValueInt64()))
	}
}

func validateAccount(m *Model, diags *diag.Diagnostics) {
	if known(m.ServiceAccount) && known(m.ServiceAccountID) {
		diags.AddAttributeError(tfpath.Root("service_account_id"), "Two service accounts", fmt.Sprintf(
			"service_account names the existing account %s, and service_account_id the one that the provider would make. A job has one account: remove service_account_id to use the existing one, or service_account to have one made.",
			m.ServiceAccount.ValueString()))
	}
}

func validateInterval(m *Model, c *Checkpoint, diags *diag.Diagnostics) {
	timeout := m.TaskTimeout
	if timeout.IsNull() {
		timeout = value.NewDuration(defaultTimeout)
	}
	if c.Interval.IsUnknown() || c.WriteTime.IsUnknown() || c.RestoreTime.IsUnknown() {
		return
	}
	limit, err := timeout.Duration()
	interval, intervalErr := c.Interval.Duration()
	if err != nil || intervalErr != nil || limit <= 0 {
		return
	}
	// A wrong duration has its own message; a missing one counts as nothing.
	write, _ := c.WriteTime.Duration()
	restore, _ := c.RestoreTime.Duration()
	for _, f := range resilience.CheckCheckpointInterval(interval, write, restore, limit) {
		diags.AddAttributeError(tfpath.Root("checkpoint").AtName("interval"), f.Rule.Summary, f.Detail)
	}
}

func validatePrefix(c *Checkpoint, diags *diag.Diagnostics) {
	if !known(c.Prefix) || !known(c.MountOptions) {
		return
	}
	for i, o := range stringList(c.MountOptions) {
		if key, _, _ := strings.Cut(o, "="); key == prefixMountOption {
			diags.AddAttributeError(tfpath.Root("checkpoint").AtName("mount_options").AtListIndex(i), "Folder to mount is given twice", fmt.Sprintf(
				"prefix is %q and mount_options has %q; both choose the folder of the bucket that is mounted. Remove one of them.", c.Prefix.ValueString(), o))
		}
	}
}

// environment checks the names and sizes of environment variables.
type environment struct{}

func (environment) Description(context.Context) string {
	return "names that a program can read, and that the platform does not set itself"
}

func (v environment) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (environment) ValidateMap(_ context.Context, req validator.MapRequest, resp *validator.MapResponse) {
	elements := req.ConfigValue.Elements()
	if len(elements) > maxEnv {
		resp.Diagnostics.AddAttributeError(req.Path, "Too many environment variables", fmt.Sprintf(
			"%d variables are configured; a container has at most %d. Put the values into a file, of the image or of the bucket.", len(elements), maxEnv))
	}
	for _, name := range sortedKeys(elements) {
		p := req.Path.AtMapKey(name)
		if err := resilience.CheckEnvName(name); err != nil {
			resp.Diagnostics.AddAttributeError(p, "Invalid environment variable", capital(err.Error())+".")
			continue
		}
		s, ok := elements[name].(types.String)
		switch {
		case !ok || s.IsUnknown():
		case s.IsNull():
			resp.Diagnostics.AddAttributeError(p, "Invalid environment variable", fmt.Sprintf("%s has the value null. Leave the variable out, or write \"\" for an empty one.", name))
		case len(name) > maxEnvSize || len(s.ValueString()) > maxEnvSize:
			resp.Diagnostics.AddAttributeError(p, "Invalid environment variable", fmt.Sprintf(
				"%.40s is longer than the %d bytes that a name or a value may have. Put the value into a file, of the image or of the bucket.", name, maxEnvSize))
		}
	}
}

// count refuses numbers below a least one.
type count struct {
	least int64
	why   string
}

func (v count) Description(context.Context) string { return fmt.Sprintf("at least %d", v.least) }

func (v count) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v count) ValidateInt64(_ context.Context, req validator.Int64Request, resp *validator.Int64Response) {
	if !known(req.ConfigValue) {
		return
	}
	switch n := req.ConfigValue.ValueInt64(); {
	case n < v.least:
		resp.Diagnostics.AddAttributeError(req.Path, "Number too small", fmt.Sprintf("%s is %d; it must be at least %d. %s", req.Path, n, v.least, v.why))
	case n > math.MaxInt32:
		resp.Diagnostics.AddAttributeError(req.Path, "Number too large", fmt.Sprintf("%s is %d, a larger number than Cloud Run can read.", req.Path, n))
	}
}

// noNulls refuses elements that are null.
type noNulls struct{}

func (noNulls) Description(context.Context) string { return "no element is null" }

func (v noNulls) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (noNulls) ValidateList(_ context.Context, req validator.ListRequest, resp *validator.ListResponse) {
	for i, e := range req.ConfigValue.Elements() {
		if e.IsNull() {
			resp.Diagnostics.AddAttributeError(req.Path.AtListIndex(i), "Element is null", fmt.Sprintf(
				"%s has the value null. Leave the element out, for example with compact(), or write \"\" for an empty text.", req.Path.AtListIndex(i)))
		}
	}
}

// mountOptions checks the options of gcsfuse.
type mountOptions struct{}

func (mountOptions) Description(context.Context) string { return "options without leading hyphens" }

func (v mountOptions) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (mountOptions) ValidateList(_ context.Context, req validator.ListRequest, resp *validator.ListResponse) {
	for i, e := range req.ConfigValue.Elements() {
		s, ok := e.(types.String)
		if !ok || !known(s) {
			continue
		}
		if err := checkMountOption(s.ValueString()); err != nil {
			resp.Diagnostics.AddAttributeError(req.Path.AtListIndex(i), "Invalid mount option", capital(err.Error())+".")
		}
	}
}

var mountOptionShape = regexp.MustCompile(`^[a-z][a-z0-9-]*(=.*)?$`)

func checkMountOption(s string) error {
	if bare := strings.TrimLeft(s, "-"); bare != s {
		return fmt.Errorf("%q begins with a hyphen, which Cloud Run adds itself: write %q", s, bare)
	}
	if !mountOptionShape.MatchString(s) {
		return fmt.Errorf("%q is not an option of gcsfuse: write one as \"name\" or \"name=value\", such as \"implicit-dirs\"", s)
	}
	return nil
}

var imageShape = regexp.MustCompile(`^\S+$`)

func checkImage(s string) error {
	if rest, ok := strings.CutPrefix(s, "https://"); ok && rest != "" {
		return fmt.Errorf("%q is an address: write the image without https://, %q", s, rest)
	}
	if !imageShape.MatchString(s) {
		return fmt.Errorf("%q is not a container image: write one such as \"us-docker.pkg.dev/PROJECT/REPOSITORY/IMAGE:TAG\"", s)
	}
	return nil
}

var gpuTypeShape = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

func checkGPUType(s string) error {
	lower := strings.ToLower(strings.TrimSpace(s))
	switch {
	case s == "":
		return errors.New("the text is empty: write \"none\" for a job without GPU, or leave the attribute out for the default")
	case gpuTypeShape.MatchString(s):
		return nil
	case gpuTypeShape.MatchString(lower):
		return fmt.Errorf("%q is not how Cloud Run writes it: write %q", s, lower)
	}
	return fmt.Errorf("%q is not a GPU type: write one such as \"nvidia-l4\", or \"none\"", s)
}

// checkMountPath holds the rules for a mount path: absolute, not the root, not
// of the system, without a colon.
func checkMountPath(s string) error {
	clean := path.Clean(s)
	switch {
	case s == "":
		return errors.New("the text is empty: write an absolute path such as \"/checkpoints\"")
	case !strings.HasPrefix(s, "/"):
		return fmt.Errorf("%q is relative: write %q", s, path.Clean("/"+s))
	case strings.Contains(s, ":"):
		return fmt.Errorf("%q contains a colon, which a mount path must not: write one without", s)
	case strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("%q contains a control character: write a path without", s)
	case clean == "/":
		return errors.New("\"/\" would hide the whole image: write a folder such as \"/checkpoints\"")
	case strings.Contains(s+"/", "/../") || strings.Contains(s+"/", "/./"):
		return fmt.Errorf("%q has \".\" or \"..\" in it: write the path as it is meant, %q", s, clean)
	}
	for _, reserved := range []string{"/dev", "/proc", "/sys"} {
		if clean == reserved || strings.HasPrefix(clean, reserved+"/") {
			return fmt.Errorf("%q belongs to the system: Cloud Run mounts nothing on %s or below it; write a folder such as \"/checkpoints\"", s, reserved)
		}
	}
	return nil
}

// checkPrefix holds the rules for a folder of the bucket.
func checkPrefix(s string) error {
	trimmed := strings.Trim(s, "/")
	switch {
	case trimmed == "":
		return fmt.Errorf("%q is no folder: leave the attribute out to mount the whole bucket", s)
	case trimmed != s:
		return fmt.Errorf("%q begins or ends with a slash: write %q", s, trimmed)
	case strings.ContainsAny(s, ",\r\n"):
		return fmt.Errorf("%q contains a comma or a line end, which a mount option cannot carry", s)
	}
	for _, part := range strings.Split(s, "/") {
		if part == "" || part == "." || part == ".." {
			return fmt.Errorf("%q has an empty part, \".\" or \"..\" in it: write a folder such as \"runs/42\"", s)
		}
	}
	return nil
}

var roleShape = regexp.MustCompile(`^(roles/|projects/[^/]+/roles/|organizations/[^/]+/roles/)[A-Za-z0-9_.]+$`)

func checkRole(s string) error {
	if roleShape.MatchString(s) {
		return nil
	}
	if roleShape.MatchString("roles/" + s) {
		return fmt.Errorf("%q is not a role: write %q", s, "roles/"+s)
	}
	return fmt.Errorf("%q is not a role: write one such as %q", s, defaultRole)
}

// capital begins a sentence with an upper-case letter.
func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
