// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/labels"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/placement"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/timelimits"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/resilience"
)

// The documented defaults. Import writes them, because the framework applies
// none there.
const (
	defaultGPUType    = resilience.DefaultGPU
	defaultTasks      = resilience.DefaultTasks
	defaultTimeout    = "1h"
	defaultRetries    = resilience.DefaultRetries
	defaultMountPath  = "/checkpoints"
	defaultRole       = "roles/storage.objectUser"
	checkpointVolume  = "checkpoint"
	prefixMountOption = "only-dir"
)

// Schema describes the attributes.
func (r *Resource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "A Cloud Run job for long GPU work that survives interruptions: the job, the service account that it runs as (unless one is named) and the grants " +
			"that the account needs on the buckets and secrets that the job uses.\n\n" +
			"Cloud Run does not migrate GPU tasks: its weekly maintenance stops them. A job of many hours survives when its program saves checkpoints to the mounted bucket and the job has retries left.\n\n" +
			"Destroying the job, or revoking what its account was granted, is refused while an execution runs (see `cancel_running_executions`).",
		Attributes: map[string]schema.Attribute{
			"name":     placement.Name("job", "Name of the job: up to 63 lower-case letters, digits and hyphens, a letter first.", resourcename.CheckJob),
			"project":  placement.Project("job"),
			"location": placement.Location("job", "Region of the job, such as `us-central1`."),
			"image": schema.StringAttribute{
				MarkdownDescription: "Container image, such as `us-docker.pkg.dev/PROJECT/REPOSITORY/IMAGE:TAG`, without `https://`. Cloud Run resolves a tag to a digest each time the job runs.",
				Required:            true,
				Validators:          []validator.String{value.Parses("a container image", "Invalid image", checkImage)},
			},
			"command": schema.ListAttribute{
				MarkdownDescription: "Program to start instead of the image's entry point. Default: the image's.",
				ElementType:         types.StringType, Optional: true,
				Validators: []validator.List{noNulls{}},
			},
			"args": schema.ListAttribute{
				MarkdownDescription: "Arguments of the program. Default: the image's.",
				ElementType:         types.StringType, Optional: true,
				Validators: []validator.List{noNulls{}},
			},
			"working_dir": schema.StringAttribute{
				MarkdownDescription: "Absolute path of the folder in which the program starts. Default: the image's.",
				Optional:            true,
				Validators:          []validator.String{value.Parses("an absolute path", "Invalid working directory", checkWorkingDir)},
			},
			"env": schema.MapAttribute{
				MarkdownDescription: "Environment variables. They stand in the state: what is secret belongs into `secret_env`. Default: none. " + reservedEnvText,
				ElementType:         types.StringType, Optional: true,
				Validators: []validator.Map{environment{}},
			},
			"secret_env": secretEnvAttribute(),
			"gpu_type": schema.StringAttribute{
				MarkdownDescription: fmt.Sprintf("GPU of each task: %s. `\"none\"` makes a job without GPU, for rehearsals. Another type is passed on with a warning. Default: `%q`.", gpuNames(), defaultGPUType),
				Optional:            true, Computed: true, Default: stringdefault.StaticString(defaultGPUType),
				Validators: []validator.String{value.Parses("a GPU type", "Invalid GPU type", checkGPUType)},
			},
			"gpu_zonal_redundancy": schema.BoolAttribute{
				MarkdownDescription: "Reserve capacity in a second zone. Cloud Run documents GPU jobs without it, and it needs a quota of its own. Only sent for jobs with a GPU. Default: `false`.",
				Optional:            true, Computed: true, Default: booldefault.StaticBool(false),
			},
			"cpu": schema.StringAttribute{
				MarkdownDescription: "vCPUs of each task, such as `\"8\"` or `\"8000m\"`. " + resourceDefaults(func(g resilience.GPU) string { return g.DefaultCPU }),
				CustomType:          value.QuantityType{},
				Optional:            true, Computed: true,
				PlanModifiers: []planmodifier.String{value.KeepEqual()},
				Validators:    []validator.String{value.IsCPU()},
			},
			"memory": schema.StringAttribute{
				MarkdownDescription: "Memory of each task: bytes, or with a unit such as `Mi`, `Gi`, `M` or `G`, as in `\"32Gi\"`. " + resourceDefaults(func(g resilience.GPU) string { return g.DefaultMemory }),
				CustomType:          value.QuantityType{},
				Optional:            true, Computed: true,
				PlanModifiers: []planmodifier.String{value.KeepEqual()},
				Validators:    []validator.String{value.IsMemory()},
			},
			"task_count": schema.Int64Attribute{
				MarkdownDescription: fmt.Sprintf("Number of tasks of an execution, 1 to %d. Default: `%d`.", resilience.MaxTasks, defaultTasks),
				CustomType:          value.WholeType{},
				Optional:            true, Computed: true, Default: int64default.StaticInt64(defaultTasks),
				Validators: []validator.Int64{count{least: 1, few: "An execution has at least one task: write 1 or more.", many: fmt.Sprintf("Write at most %d.", resilience.MaxTasks)}},
			},
			"parallelism": schema.Int64Attribute{
				MarkdownDescription: "How many tasks may run at the same time, 1 to `task_count`. Default: as many as quota allows.",
				CustomType:          value.WholeType{},
				Optional:            true,
				Validators:          []validator.Int64{count{least: 1, few: "No task could run: write 1 or more, or leave parallelism out to let as many tasks run as quota allows.", many: "Write at most task_count, or leave parallelism out to let as many tasks run as quota allows."}},
			},
			"task_timeout": schema.StringAttribute{
				MarkdownDescription: fmt.Sprintf("How long one attempt of a task may run: hours, minutes and seconds, such as `\"12h\"` or `\"1h30m\"`. Each retry has the full time again. At most %s; with a GPU %s are documented (preview above %s). Default: `%q`.",
					value.FormatDuration(resilience.MaxTimeout), value.FormatDuration(resilience.MaxGPUTimeout), value.FormatDuration(resilience.MaxGPUTimeoutGA), defaultTimeout),
				CustomType: value.DurationType{},
				Optional:   true, Computed: true, Default: stringdefault.StaticString(defaultTimeout),
				PlanModifiers: []planmodifier.String{value.KeepEqual()},
				Validators:    []validator.String{value.IsDuration()},
			},
			"max_retries": schema.Int64Attribute{
				MarkdownDescription: fmt.Sprintf("How often a failed or interrupted task is started again, 0 to %d. A timeout uses up a retry, too. Default: `%d`.", resilience.MaxRetries, defaultRetries),
				CustomType:          value.WholeType{},
				Optional:            true, Computed: true, Default: int64default.StaticInt64(defaultRetries),
				Validators: []validator.Int64{count{least: 0, few: "Write 0 for a single attempt, or the number of attempts after the first.", many: fmt.Sprintf("Write at most %d.", resilience.MaxRetries)}},
			},
			"checkpoint":           checkpointAttribute(),
			"volumes":              volumesAttribute(),
			"network":              networkAttribute(),
			"encryption_key":       encryptionKeyAttribute(),
			"binary_authorization": binaryAuthorizationAttribute(),
			"service_account": schema.StringAttribute{
				MarkdownDescription: "E-mail of an existing service account to run as. Changing it changes the job in place. Default: the provider makes an account for this job, and deletes it with the job.",
				Optional:            true,
				Validators: []validator.String{
					value.Parses("the e-mail of a service account", "Invalid service account", resourcename.CheckServiceAccount),
				},
			},
			"service_account_id": schema.StringAttribute{
				MarkdownDescription: "Id of the account that the provider makes: 6 to 30 lower-case letters, digits and hyphens, a letter first. It stays when it is left out later. Default: the first 21 characters of the job's name, a hyphen and a hash of project, location and name. Excludes `service_account`.",
				Optional:            true, Computed: true,
				Validators: []validator.String{
					value.Parses("the id of a service account", "Invalid service account id", resourcename.CheckServiceAccountID),
				},
			},
			"labels": labels.Attribute("the job and of its executions"),
			"annotations": schema.MapAttribute{
				MarkdownDescription: "Annotations of the job. Only the configured keys are managed: those that others add stay. An import takes every one that is there, but Google's own, for managed. A key has up to 63 letters, digits, `-`, `_` and `.`, and may have a domain and a slash before. " +
					"Those of Google's namespaces, such as `run.googleapis.com/`, are refused. Default: none.",
				ElementType: types.StringType, Optional: true,
				Validators: []validator.Map{annotations{}},
			},
			"launch_stage": schema.StringAttribute{
				MarkdownDescription: "Launch stage of the features that the job may use: `\"GA\"`, `\"BETA\"` or `\"ALPHA\"`. A lower one that Cloud Run reports is no difference. Default: the lowest stage that the features in use need is sent, and nothing is stored.",
				Optional:            true,
				Validators:          []validator.String{value.Parses("a launch stage", "Invalid launch stage", checkLaunchStage)},
			},
			"cancel_running_executions": schema.BoolAttribute{
				MarkdownDescription: "Cancel running executions where a destroy, or an update that revokes a grant or removes an account, would end or break them. With `false` that is refused. " +
					"The value in the *state* counts: set it, apply, then destroy. Changing it sends nothing. Default: `false`.",
				Optional: true, Computed: true, Default: booldefault.StaticBool(false),
			},
			"id":                        computedString("Full name, `projects/PROJECT/locations/LOCATION/jobs/NAME`."),
			"uid":                       computedString("Unique id that Cloud Run gave the job. Null while the job is missing."),
			"service_account_email":     computedString("E-mail of the account that the job runs as."),
			"service_account_unique_id": computedString("Unique id of the account that the provider made. Null for a named account."),
			"console_url":               computedString("Page of the job in the Google Cloud console."),
			"terraform_labels":          labels.TerraformAttribute(),
			"effective_labels":          labels.EffectiveAttribute("job"),
			"grants":                    grantsAttribute(),
			"exposure":                  exposureAttribute(),
			"timeouts":                  timelimits.Attribute(ctx, "the end of executions that it cancels counts, too"),
		},
	}
}

func computedString(description string) schema.StringAttribute {
	return schema.StringAttribute{MarkdownDescription: description, Computed: true}
}

func checkpointAttribute() schema.SingleNestedAttribute {
	duration := func(description string) schema.StringAttribute {
		return schema.StringAttribute{
			MarkdownDescription: description, CustomType: value.DurationType{}, Optional: true,
			PlanModifiers: []planmodifier.String{value.KeepEqual()},
			Validators:    []validator.String{value.IsDuration()},
		}
	}
	return schema.SingleNestedAttribute{
		MarkdownDescription: "Where the program saves its checkpoints: a bucket that is mounted into each task. " +
			"Several tasks, and an attempt that is still ending beside the next one, write to the same mount: keep `CLOUD_RUN_TASK_INDEX` in the path, since of two writers of one object one loses its checkpoint. " +
			"An object exists for others once its file is closed, and not before; `fsync` does not change that. Where a checkpoint consists of several files, write a marker file after the last is closed. Default: none.",
		Optional: true,
		Attributes: map[string]schema.Attribute{
			"bucket": schema.StringAttribute{
				MarkdownDescription: "Name of the bucket, without `gs://`. It must exist before the job.",
				Required:            true,
				Validators:          []validator.String{value.Parses("the name of a bucket", "Invalid bucket name", checkCheckpointBucket)},
			},
			"mount_path": schema.StringAttribute{
				MarkdownDescription: fmt.Sprintf("Absolute path under which each task sees the bucket. Default: `%q`.", defaultMountPath),
				Optional:            true, Computed: true, Default: stringdefault.StaticString(defaultMountPath),
				Validators: []validator.String{value.Parses("a mount path", "Invalid mount path", checkMountPath)},
			},
			"prefix": schema.StringAttribute{
				MarkdownDescription: "Folder of the bucket to mount instead of the whole bucket, such as `\"runs/42\"`, without a slash at its ends. Default: the whole bucket.",
				Optional:            true,
				Validators:          []validator.String{value.Parses("a folder of the bucket", "Invalid prefix", checkPrefix)},
			},
			"mount_options": schema.ListAttribute{
				MarkdownDescription: "Options of gcsfuse, without leading hyphens, such as `\"metadata-cache-ttl-secs=0\"`. They are sent as they are written. A framework that writes a checkpoint out of order can fail on the mount with an I/O error: let it write to a local folder, such as an `empty_dir` volume, and copy the whole file to the mount, " +
					"or have gcsfuse stage such files with `enable-streaming-writes=false`, which takes memory for the whole file. `cache-dir` with `file-cache-max-size-mb` keeps a copy of what is read. Default: none.",
				ElementType: types.StringType, Optional: true,
				Validators: []validator.List{noNulls{}, mountOptions{}},
			},
			"role": schema.StringAttribute{
				MarkdownDescription: fmt.Sprintf("Role that the account is granted on the bucket. Default: `%q`.", defaultRole),
				Optional:            true, Computed: true, Default: stringdefault.StaticString(defaultRole),
				Validators: []validator.String{value.Parses("a role", "Invalid role", checkRole)},
			},
			"grant": schema.BoolAttribute{
				MarkdownDescription: "Whether to grant the role. Default: `true` for the account that the provider makes, `false` for a named `service_account` (two jobs that share an account must not revoke each other's grants).",
				Optional:            true,
			},
			"per_task": schema.BoolAttribute{
				MarkdownDescription: "`true` states that the program keeps its tasks apart: each writes below a path of its own. Not sent: without it, the plan of a job with several tasks warns, unless `CLOUD_RUN_TASK_INDEX` stands in `command`, `args` or `env`. Default: not stated.",
				Optional:            true,
			},
			"interval":     duration("How much work the program does between two checkpoints. A duration such as `\"30m\"`. Not sent: the plan checks with it that an attempt can save at least once. Default: not checked."),
			"write_time":   duration("How long the program takes to write a checkpoint, such as `\"2m\"`. Not sent: it counts in the checks of `interval` and `work_time`. Default: no time."),
			"restore_time": duration("How long an attempt takes until it has read a checkpoint, such as `\"5m\"`. Not sent: it counts in the checks of `interval` and `work_time`. Default: no time."),
			"work_time":    duration("How long a task works in all, such as `\"90h\"`. Not sent: the plan checks with it whether `max_retries` are enough. Default: not checked."),
		},
	}
}

func grantsAttribute() schema.SetNestedAttribute {
	return schema.SetNestedAttribute{
		MarkdownDescription: "The grants that this resource holds. A grant that was there before, for a named account, is not among them and is never revoked.",
		Computed:            true,
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"resource": computedString("What the role is granted on, such as `projects/_/buckets/NAME`."),
			"role":     computedString("The role."),
			"member":   computedString("Who has it, `serviceAccount:EMAIL`."),
		}},
	}
}

func exposureAttribute() schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{
		MarkdownDescription: "The most that one execution can use: every attempt of every task, each for the full timeout. Known at plan.",
		Computed:            true,
		Attributes: map[string]schema.Attribute{
			"attempts":   schema.Int64Attribute{MarkdownDescription: "`task_count` × (`max_retries` + 1).", Computed: true},
			"gpu_hours":  schema.Float64Attribute{MarkdownDescription: "Hours of GPU time; each attempt is billed in full.", Computed: true},
			"task_hours": schema.Float64Attribute{MarkdownDescription: "Hours of all attempts.", Computed: true},
		},
	}
}

// gpuNames lists the GPU types of the table for a description.
func gpuNames() string {
	var names []string
	for _, g := range resilience.GPUTypes() {
		if resilience.HasGPU(g.Name) {
			names = append(names, fmt.Sprintf("`%q` (%s)", g.Name, g.Title))
		}
	}
	return strings.Join(names, ", ")
}

// resourceDefaults lists what each GPU type has by default.
func resourceDefaults(of func(resilience.GPU) string) string {
	var defaults []string
	for _, g := range resilience.GPUTypes() {
		defaults = append(defaults, fmt.Sprintf("`%q` for `%s`", of(g), g.Name))
	}
	return "Default, by the planned `gpu_type`: " + strings.Join(defaults, ", ") + "."
}
