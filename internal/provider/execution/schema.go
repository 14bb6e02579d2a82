// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/listplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/objectplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/timelimits"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// The values of wait_for.
const (
	waitCreated   = "created"
	waitStarted   = "started"
	waitCompleted = "completed"
)

// maxFailedTasks is how many failed tasks the state holds; their number stands
// in failed_count.
const maxFailedTasks = 20

const resourceDescription = `Runs a Cloud Run job once for each configuration.

The run starts when the resource is created. A change of ` + "`job`" + `, of an override or of ` + "`triggers`" + ` replaces the resource, which runs the job again; nothing else does.

**Exactly once.** Each run carries a key, made from the job's uid, the overrides and the triggers, in the environment variable ` + "`RESILIENTJOB_RUN_KEY`" + ` of its override. Before it starts anything the provider lists the unfinished executions of the job: one with this key is adopted (a lost answer, a killed Terraform), any other is refused by name unless ` + "`allow_concurrent`" + ` is set, because two executions of one job write to one checkpoint folder. Two resources with the same job, overrides and triggers are one run: give them a trigger that differs. A run that finished while Terraform was killed during the create cannot be told from one that was asked for again, and is run again.

**Never killed by Terraform.** An interrupt (Ctrl-C), a timeout, a lost permission or an outage ends the watching, not the run: the resource is created with what is known (` + "`state = \"running\"`" + `) and a warning. Whatever depends on the resource goes on then; with ` + "`wait_for = \"completed\"`" + `, write a ` + "`postcondition`" + ` on ` + "`self.state`" + ` where that matters. Create fails only when the execution has ended without success. The resource is then tainted on purpose: the next apply runs the job again, ` + "`terraform untaint`" + ` accepts the failed run. Destroying or replacing one that still runs is refused, unless ` + "`cancel_on_destroy`" + ` is ` + "`true`" + ` in the state.

Destroy never deletes the execution's record. Cloud Run forgets old executions (it keeps the newest 1000 of a job and those of the last seven days); a forgotten one keeps its last known state here and never causes a new run.`

// Schema describes the attributes.
func (r *Resource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	computedString := func(description string) schema.StringAttribute {
		return schema.StringAttribute{
			MarkdownDescription: description,
			Computed:            true,
			PlanModifiers:       []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
		}
	}
	computedCount := func(description string) schema.Int64Attribute {
		return schema.Int64Attribute{
			MarkdownDescription: description,
			Computed:            true,
			PlanModifiers:       []planmodifier.Int64{int64planmodifier.UseStateForUnknown()},
		}
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: resourceDescription,
		Attributes: map[string]schema.Attribute{
			"id": computedString("Full name of the execution, `projects/P/locations/L/jobs/J/executions/E`."),

			"job": schema.StringAttribute{
				MarkdownDescription: "Job to run: its name, with the provider's project and region, or its full name (`resilientjob_gpu_job.NAME.id`). A change runs the other job.",
				Required:            true,
				Validators:          []validator.String{isJob},
			},
			"args": schema.ListAttribute{
				MarkdownDescription: "Arguments that replace the job's for this run. An empty list runs the container without arguments. A change runs the job again.",
				ElementType:         types.StringType,
				Optional:            true,
				Validators:          []validator.List{noNulls{}},
			},
			"env": schema.MapAttribute{
				MarkdownDescription: "Environment variables that are added to the job's for this run; an existing one is overridden. Needs the permission `run.jobs.runWithOverrides`, as every run by this provider does. A change runs the job again.",
				ElementType:         types.StringType,
				Optional:            true,
				Validators:          []validator.Map{mapvalidator.KeysAre(isEnvName), noNulls{}},
			},
			"task_count": schema.Int64Attribute{
				MarkdownDescription: "Number of tasks of this run instead of the job's. A change runs the job again.",
				CustomType:          value.WholeType{},
				Optional:            true,
				Validators:          []validator.Int64{taskCount{}},
			},
			"task_timeout": schema.StringAttribute{
				MarkdownDescription: "Timeout of one attempt of a task for this run instead of the job's, such as `\"90m\"`. A change runs the job again.",
				CustomType:          value.DurationType{},
				Optional:            true,
				PlanModifiers:       []planmodifier.String{value.KeepEqual()},
				Validators:          []validator.String{value.IsDuration()},
			},
			"triggers": schema.MapAttribute{
				MarkdownDescription: "Any values: a change of one runs the job again. Use values that are known at plan. One that is known only after apply replaces the resource, and so runs the job, at every plan that does not know it.",
				ElementType:         types.StringType,
				Optional:            true,
			},

			"wait_for": schema.StringAttribute{
				MarkdownDescription: "How long create waits: `\"created\"` (not at all), `\"started\"` (until the first task runs) or `\"completed\"` (until the execution has ended). Takes effect at the next run. Default: `\"started\"`.",
				Optional:            true,
				Computed:            true,
				Default:             stringdefault.StaticString(waitStarted),
				Validators:          []validator.String{isWait},
			},
			"allow_concurrent": schema.BoolAttribute{
				MarkdownDescription: "Run the job although another execution of it is unfinished. Both write to the same checkpoint folder unless the program keeps them apart. Default: `false`.",
				Optional:            true,
				Computed:            true,
				Default:             booldefault.StaticBool(false),
			},
			"cancel_on_destroy": schema.BoolAttribute{
				MarkdownDescription: "Destroying or replacing this resource cancels an execution that still runs, and waits until it has ended. Read from the state: apply the change before the destroy. A replacement with `create_before_destroy` never cancels, because its old object (Terraform calls it deposed) and the new one may be the same run, also after an apply that was interrupted: the old object is dropped, and where the new one has not visibly taken its execution over a warning names the command that cancels it. Default: `false`, which refuses the destroy.",
				Optional:            true,
				Computed:            true,
				Default:             booldefault.StaticBool(false),
			},
			"timeouts": timelimits.Checked(timeouts.Attributes(ctx, timeouts.Opts{
				Create:            true,
				Delete:            true,
				CreateDescription: "How long create watches the execution; then it returns with a warning and the execution goes on. Default: `20m`; with `wait_for = \"completed\"` the longest that the execution can take, ceil(tasks ÷ parallelism) × (retries + 1) × task timeout, and one hour.",
				DeleteDescription: "How long destroy waits for the end of an execution that it cancelled. Default: `20m`.",
			})),

			"name":                 computedString("Name of the execution within the job, such as `train-x7k2p`."),
			"uid":                  computedString("Unique id that Cloud Run gave the execution."),
			"state":                computedString("`pending`, `running`, `succeeded`, `failed` or `cancelled`. Derived from the execution's conditions, counts and times."),
			"reason":               computedString("Cloud Run's reason for the state, such as `NON_ZERO_EXIT_CODE`. There is none for a timeout, the memory limit, a preemption or a failure of the platform."),
			"message":              computedString("Cloud Run's own words on the execution."),
			"effective_task_count": computedCount("Number of tasks of this execution, from the override or from the job."),
			"running_count":        computedCount("Number of tasks that run."),
			"succeeded_count":      computedCount("Number of tasks that succeeded."),
			"failed_count":         computedCount("Number of tasks that failed for good."),
			"cancelled_count":      computedCount("Number of tasks that were cancelled."),
			"retried_count":        computedCount("Number of tasks that were retried at least once."),
			"create_time":          computedString("When Cloud Run accepted the execution, RFC 3339."),
			"start_time":           computedString("When Cloud Run began to start tasks, RFC 3339."),
			"completion_time":      computedString("When the execution ended, RFC 3339."),
			"log_uri":              computedString("Link to the logs of the execution."),
			"failed_tasks": schema.ListNestedAttribute{
				MarkdownDescription: "The first failed tasks, at most 20, by index. `failed_count` is their number.",
				Computed:            true,
				PlanModifiers:       []planmodifier.List{listplanmodifier.UseStateForUnknown()},
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"index":     schema.Int64Attribute{Computed: true, MarkdownDescription: "Index of the task, from 0."},
					"attempts":  schema.Int64Attribute{Computed: true, MarkdownDescription: "Number of attempts that the task used."},
					"exit_code": schema.Int64Attribute{Computed: true, MarkdownDescription: "Exit code of the last attempt; null when the program did not end by itself."},
					"signal":    schema.Int64Attribute{Computed: true, MarkdownDescription: "Signal that ended the last attempt; null when none did."},
					"message":   schema.StringAttribute{Computed: true, MarkdownDescription: "Cloud Run's own words on the last attempt."},
					"meaning":   schema.StringAttribute{Computed: true, MarkdownDescription: "What the exit code, the signal or the status of the last attempt means."},
				}},
			},
			"exposure": schema.SingleNestedAttribute{
				MarkdownDescription: "The most that this execution can use, its overrides counted.",
				Computed:            true,
				PlanModifiers:       []planmodifier.Object{objectplanmodifier.UseStateForUnknown()},
				Attributes: map[string]schema.Attribute{
					"attempts":   schema.Int64Attribute{Computed: true, MarkdownDescription: "Attempts of all tasks."},
					"gpu_hours":  schema.Float64Attribute{Computed: true, MarkdownDescription: "GPU hours, when every attempt runs into its timeout."},
					"task_hours": schema.Float64Attribute{Computed: true, MarkdownDescription: "Hours of all attempts, when every one runs into its timeout."},
				},
			},
		},
	}
}

// IdentitySchema describes the identity, which is fully known and never changes.
func (r *Resource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"project":  identityschema.StringAttribute{OptionalForImport: true, Description: "Project of the job; the provider's when left out."},
		"location": identityschema.StringAttribute{OptionalForImport: true, Description: "Location of the job; the provider's region when left out."},
		"job":      identityschema.StringAttribute{RequiredForImport: true, Description: "Name of the job."},
		"name":     identityschema.StringAttribute{RequiredForImport: true, Description: "Name of the execution within the job."},
	}}
}
