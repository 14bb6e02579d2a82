// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	tfpath "github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/lazyregexp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/resilience"
)

// The validators hold what can never work and depends on the configuration
// alone, so that "terraform validate" finds it. Limits of a dated table are held
// by limits.go in validation, and by the plan (see check.go).

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
	validateEnv(&m, &resp.Diagnostics)
	validateMounts(ctx, &m, c, &resp.Diagnostics)
	validateSecretFiles(ctx, &m, &resp.Diagnostics)
	if c != nil {
		validateInterval(&m, c, &resp.Diagnostics)
		validatePrefix(c, &resp.Diagnostics)
	}
}

func validateParallelism(m *Model, diags *diag.Diagnostics) {
	tasks := m.TaskCount
	if tasks.IsNull() {
		tasks = value.NewWhole(defaultTasks)
	}
	// A number that is no number of tasks at all has its own message.
	if value.Known(m.Parallelism) && value.Known(tasks) && tasks.ValueInt64() >= 1 && m.Parallelism.ValueInt64() > tasks.ValueInt64() && m.Parallelism.ValueInt64() <= math.MaxInt32 {
		diags.AddAttributeError(tfpath.Root("parallelism"), resilience.ParallelismRange.Summary, fmt.Sprintf(
			"parallelism is %d and task_count is %d: no more tasks can run at the same time than there are. Write at most %[2]d, a larger task_count, or leave parallelism out to let as many tasks run as quota allows.",
			m.Parallelism.ValueInt64(), tasks.ValueInt64()))
	}
}

func validateAccount(m *Model, diags *diag.Diagnostics) {
	if value.Known(m.ServiceAccount) && value.Known(m.ServiceAccountID) {
		diags.AddAttributeError(tfpath.Root("service_account_id"), "Two service accounts", fmt.Sprintf(
			"service_account names the existing account %s, and service_account_id the one that the provider would make. A job has one account: remove service_account_id to use the existing one, or service_account to have one made.",
			m.ServiceAccount.ValueString()))
	}
}

// validateEnv checks the two maps of environment variables against each other.
func validateEnv(m *Model, diags *diag.Diagnostics) {
	secrets := m.SecretEnv.Elements()
	for _, name := range sortedKeys(m.Env.Elements()) {
		if _, twice := secrets[name]; twice {
			diags.AddAttributeError(tfpath.Root("secret_env").AtMapKey(name), "Environment variable is given twice", fmt.Sprintf(
				"%s stands in env and in secret_env, and a variable has one value. Remove it from one of them.", name))
		}
	}
	if n := len(m.Env.Elements()) + len(secrets); n > resilience.MaxEnv && len(m.Env.Elements()) <= resilience.MaxEnv && len(secrets) <= resilience.MaxEnv {
		diags.AddAttributeError(tfpath.Root("env"), "Too many environment variables", fmt.Sprintf(
			"%d variables are configured in env and secret_env together; a container has at most %d. Put the values into a file, of the image or of the bucket.", n, resilience.MaxEnv))
	}
}

// validateMounts checks that no mount hides another.
func validateMounts(ctx context.Context, m *Model, c *Checkpoint, diags *diag.Diagnostics) {
	type mount struct {
		at   tfpath.Path
		path string
		of   string
		sql  bool
	}
	var mounts []mount
	if c != nil {
		at := c.MountPath
		if at.IsNull() {
			at = types.StringValue(defaultMountPath)
		}
		if value.Known(at) {
			mounts = append(mounts, mount{tfpath.Root("checkpoint").AtName("mount_path"), path.Clean(at.ValueString()), "the checkpoint", false})
		}
	}
	volumes := m.volumes(ctx, diags)
	for _, name := range sortedKeys(volumes) {
		v := volumes[name]
		at := tfpath.Root("volumes").AtMapKey(name)
		switch {
		case value.Known(v.CloudSQL):
			mounts = append(mounts, mount{at, cloudSQLPath, "the volume " + name, true})
		case value.Known(v.MountPath):
			mounts = append(mounts, mount{at.AtName("mount_path"), path.Clean(v.MountPath.ValueString()), "the volume " + name, false})
		}
	}
	for i, b := range mounts {
		for _, a := range mounts[:i] {
			switch {
			case a.path == b.path && a.sql && b.sql:
				diags.AddAttributeError(b.at, "Two Cloud SQL volumes", fmt.Sprintf(
					"%s and %s are both Cloud SQL volumes, and Cloud Run mounts every instance below %s. List the instances of both in one volume.", capital(a.of), b.of, cloudSQLPath))
			case a.path == b.path:
				diags.AddAttributeError(b.at, "Two volumes at one path", fmt.Sprintf(
					"%s and %s are both mounted at %s, where a task can see only one of them. Choose another mount_path for one of the two.", capital(a.of), b.of, b.path))
			case strings.HasPrefix(b.path, a.path+"/") || strings.HasPrefix(a.path, b.path+"/"):
				diags.AddAttributeError(b.at, "Volume inside of another", fmt.Sprintf(
					"%s is mounted at %s, and %s at %s: a volume inside of another is not possible. Give one of them a mount_path that is not above or below the other.", capital(a.of), a.path, b.of, b.path))
			default:
				continue
			}
			break // one message for each volume
		}
	}
}

// validateSecretFiles checks the files of secret volumes.
func validateSecretFiles(ctx context.Context, m *Model, diags *diag.Diagnostics) {
	volumes := m.volumes(ctx, diags)
	for _, name := range sortedKeys(volumes) {
		if s := decode[SecretVolume](ctx, volumes[name].Secret, diags); s != nil && value.Known(s.Version) && value.Known(s.Items) {
			diags.AddAttributeError(tfpath.Root("volumes").AtMapKey(name).AtName("secret").AtName("version"), "Version of a secret is given twice", fmt.Sprintf(
				"The secret volume %s has version, which makes one file with the secret's name, and items, where each file has its own version. Remove one of the two.", name))
		}
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
	if !value.Known(c.Prefix) || !value.Known(c.MountOptions) {
		return
	}
	for i, o := range value.Elements(c.MountOptions) {
		if key, _, _ := strings.Cut(o, "="); key == prefixMountOption {
			diags.AddAttributeError(tfpath.Root("checkpoint").AtName("mount_options").AtListIndex(i), "Folder to mount is given twice", fmt.Sprintf(
				"prefix is %q and mount_options has %q; both choose the folder of the bucket that is mounted. Remove one of them.", resourcename.Shorten(c.Prefix.ValueString()), resourcename.Shorten(o)))
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
	if len(elements) > resilience.MaxEnv {
		resp.Diagnostics.AddAttributeError(req.Path, "Too many environment variables", fmt.Sprintf(
			"%d variables are configured in %s; a container has at most %d. Put the values into a file, of the image or of the bucket.", len(elements), req.Path, resilience.MaxEnv))
	}
	for _, name := range sortedKeys(elements) {
		p := req.Path.AtMapKey(name)
		if err := resilience.CheckEnvName(name); err != nil {
			resp.Diagnostics.AddAttributeError(p, "Invalid environment variable", capital(err.Error())+".")
			continue
		}
		s, plain := elements[name].(types.String)
		switch {
		case elements[name].IsUnknown():
		case elements[name].IsNull():
			instead := "."
			if plain {
				instead = ", or write \"\" for an empty one."
			}
			resp.Diagnostics.AddAttributeError(p, "Invalid environment variable", fmt.Sprintf("%s has the value null. Leave the variable out%s", name, instead))
		case len(name) > resilience.MaxEnvSize || len(s.ValueString()) > resilience.MaxEnvSize:
			resp.Diagnostics.AddAttributeError(p, "Invalid environment variable", fmt.Sprintf(
				"%.40s is longer than the %d bytes that a name or a value may have. Put the value into a file, of the image or of the bucket.", name, resilience.MaxEnvSize))
		}
	}
}

// count refuses numbers below a least one, and those that the API cannot read.
// What lies between and above a dated limit is the table's.
type count struct {
	least int64
	// few is the reason of the least number and what to write instead, many what
	// to write instead of one that cannot be read, as sentences.
	few, many string
}

func (v count) Description(context.Context) string { return fmt.Sprintf("at least %d", v.least) }

func (v count) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v count) ValidateInt64(_ context.Context, req validator.Int64Request, resp *validator.Int64Response) {
	if !value.Known(req.ConfigValue) {
		return
	}
	switch n := req.ConfigValue.ValueInt64(); {
	case n < v.least:
		resp.Diagnostics.AddAttributeError(req.Path, "Number too small", fmt.Sprintf("%s is %d. %s", req.Path, n, v.few))
	case n > math.MaxInt32:
		resp.Diagnostics.AddAttributeError(req.Path, "Number too large", fmt.Sprintf("%s is %d, a larger number than Cloud Run can read. %s", req.Path, n, v.many))
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
		if !ok || !value.Known(s) {
			continue
		}
		if err := checkMountOption(s.ValueString()); err != nil {
			resp.Diagnostics.AddAttributeError(req.Path.AtListIndex(i), "Invalid mount option", fmt.Sprintf("%s: %s.", req.Path.AtListIndex(i), err))
		}
	}
}

var mountOptionShape = lazyregexp.New(`^[a-z][a-z0-9-]*(=.*)?$`)

func checkMountOption(s string) error {
	if bare := strings.TrimLeft(s, "-"); bare != s {
		return fmt.Errorf("%q begins with a hyphen, which Cloud Run adds itself: write %q", resourcename.Shorten(s), resourcename.Shorten(bare))
	}
	if !mountOptionShape.MatchString(s) {
		return fmt.Errorf("%q is not an option of gcsfuse: write one as \"name\" or \"name=value\", such as \"implicit-dirs\"", resourcename.Shorten(s))
	}
	return nil
}

// annotations checks the keys of annotations.
type annotations struct{}

func (annotations) Description(context.Context) string { return "keys outside of Google's namespaces" }

func (v annotations) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

var annotationShape = lazyregexp.New(`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)

func (annotations) ValidateMap(_ context.Context, req validator.MapRequest, resp *validator.MapResponse) {
	elements := req.ConfigValue.Elements()
	for _, key := range sortedKeys(elements) {
		at := req.Path.AtMapKey(key)
		switch {
		case value.SystemNamespace(key) != "":
			resp.Diagnostics.AddAttributeError(at, "Invalid annotation", fmt.Sprintf(
				"Annotations of %s are Cloud Run's own, and it refuses them here. What they set has an attribute, or is not for jobs: remove %q.", value.SystemNamespace(key), resourcename.Shorten(key)))
		case !annotationShape.MatchString(key):
			resp.Diagnostics.AddAttributeError(at, "Invalid annotation", fmt.Sprintf(
				"%q cannot be the key of an annotation: write up to 63 letters, digits, \"-\", \"_\" and \".\", with a letter or digit at both ends, and where wanted a domain and a slash before, such as \"example.com/owner\".", resourcename.Shorten(key)))
		case elements[key].IsNull():
			resp.Diagnostics.AddAttributeError(at, "Invalid annotation", fmt.Sprintf("%s has the value null. Leave the annotation out, or write \"\" for an empty one.", key))
		}
	}
}

func checkWorkingDir(s string) error {
	if !path.IsAbs(s) {
		return fmt.Errorf("%q is relative: write an absolute path such as %q", resourcename.Shorten(s), resourcename.Shorten(path.Clean("/"+s)))
	}
	return nil
}

var imageShape = lazyregexp.New(`^\S+$`)

func checkImage(s string) error {
	if rest, ok := strings.CutPrefix(s, "https://"); ok && rest != "" {
		return fmt.Errorf("%q is an address: write the image without https://, %q", resourcename.Shorten(s), resourcename.Shorten(rest))
	}
	if !imageShape.MatchString(s) {
		return fmt.Errorf("%q is not a container image: write one such as \"us-docker.pkg.dev/PROJECT/REPOSITORY/IMAGE:TAG\"", resourcename.Shorten(s))
	}
	return nil
}

// checkLaunchStage names the stages, and the right spelling of one.
func checkLaunchStage(s string) error {
	ga, beta, alpha := resilience.StageGA, resilience.StageBeta, resilience.StageAlpha
	switch guess := resilience.Stage(strings.ToUpper(strings.TrimSpace(s))); guess {
	case ga, beta, alpha:
		if string(guess) == s {
			return nil
		}
		return fmt.Errorf("%q is not how Cloud Run writes it: write %q", s, guess)
	case "PREVIEW":
		return fmt.Errorf("%q is called %q by Cloud Run: write that, or leave the attribute out for the lowest stage that the job needs", resourcename.Shorten(s), beta)
	}
	return fmt.Errorf("%q is not a launch stage: write %q, %q or %q, or leave the attribute out for the lowest stage that the job needs", resourcename.Shorten(s), ga, beta, alpha)
}

var gpuTypeShape = lazyregexp.New(`^[a-z][a-z0-9-]*$`)

func checkGPUType(s string) error {
	lower := strings.ToLower(strings.TrimSpace(s))
	guess := resilience.GuessGPU(s)
	switch {
	case s == "":
		return errors.New("the text is empty: write \"none\" for a job without GPU, or leave the attribute out for the default")
	case gpuTypeShape.MatchString(s):
		return nil
	case guess != "":
		return fmt.Errorf("%q is not how Cloud Run writes it: write %q", resourcename.Shorten(s), guess)
	case gpuTypeShape.MatchString(lower):
		return fmt.Errorf("%q is not how Cloud Run writes GPU types: write %q or another one of those that the guide Limits and GPU types lists, or a newer type in this spelling, %q",
			resourcename.Shorten(s), defaultGPUType, resourcename.Shorten(lower))
	}
	return fmt.Errorf("%q is not a GPU type: write one such as \"nvidia-l4\", or \"none\"", resourcename.Shorten(s))
}

// checkMountPath holds the rules for a mount path: absolute, not the root, not
// of the system, without a colon.
func checkMountPath(s string) error {
	clean := path.Clean(s)
	switch {
	case s == "":
		return errors.New("the text is empty: write an absolute path such as \"/checkpoints\"")
	case !strings.HasPrefix(s, "/"):
		return fmt.Errorf("%q is relative: write %q", resourcename.Shorten(s), resourcename.Shorten(path.Clean("/"+s)))
	case strings.Contains(s, ":"):
		return fmt.Errorf("%q contains a colon, which Cloud Run does not accept in a mount path: write one without, such as %q", resourcename.Shorten(s), resourcename.Shorten(strings.ReplaceAll(s, ":", "-")))
	case strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("%q contains a line end or another control character: write a path without", resourcename.Shorten(s))
	case clean == "/":
		return errors.New("\"/\" would hide the whole image: write a folder such as \"/checkpoints\"")
	case strings.Contains(s+"/", "/../") || strings.Contains(s+"/", "/./"):
		return fmt.Errorf("%q has \".\" or \"..\" in it: write the path as it is meant, %q", resourcename.Shorten(s), resourcename.Shorten(clean))
	}
	for _, reserved := range []string{"/dev", "/proc", "/sys"} {
		if clean == reserved || strings.HasPrefix(clean, reserved+"/") {
			return fmt.Errorf("%q belongs to the system: Cloud Run mounts nothing on %s or below it; write a folder such as \"/checkpoints\"", resourcename.Shorten(s), reserved)
		}
	}
	return nil
}

// checkCheckpointBucket tells the folder from the bucket where both are written
// together: it has an attribute of its own.
func checkCheckpointBucket(s string) error {
	err := resourcename.CheckBucket(s)
	bucket, folder, found := strings.Cut(strings.TrimPrefix(s, "gs://"), "/")
	folder = strings.Trim(folder, "/")
	if err == nil || !found || resourcename.CheckBucket(bucket) != nil || checkPrefix(folder) != nil {
		return err
	}
	return fmt.Errorf("%q has a folder behind the bucket: write bucket = %q and prefix = %q", resourcename.Shorten(s), bucket, folder)
}

// checkPrefix holds the rules for a folder of the bucket.
func checkPrefix(s string) error {
	trimmed := strings.Trim(s, "/")
	switch {
	case trimmed == "":
		return fmt.Errorf("%q is no folder: leave the attribute out to mount the whole bucket", resourcename.Shorten(s))
	case trimmed != s:
		return fmt.Errorf("%q begins or ends with a slash: write %q", resourcename.Shorten(s), resourcename.Shorten(trimmed))
	case strings.ContainsAny(s, ",\r\n"):
		return fmt.Errorf("%q contains a comma or a line end, which a mount option cannot carry: write a folder without", resourcename.Shorten(s))
	}
	for _, part := range strings.Split(s, "/") {
		if part == "" || part == "." || part == ".." {
			return fmt.Errorf("%q has an empty part, \".\" or \"..\" in it: write a folder such as \"runs/42\"", resourcename.Shorten(s))
		}
	}
	return nil
}

var roleShape = lazyregexp.New(`^(roles/|projects/[^/]+/roles/|organizations/[^/]+/roles/)[A-Za-z0-9_.]+$`)

func checkRole(s string) error {
	if roleShape.MatchString(s) {
		return nil
	}
	if roleShape.MatchString("roles/" + s) {
		return fmt.Errorf("%q is not a role: write %q", resourcename.Shorten(s), resourcename.Shorten("roles/"+s))
	}
	return fmt.Errorf("%q is not a role: write one such as %q", resourcename.Shorten(s), defaultRole)
}

// capital begins a sentence with an upper-case letter.
func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
