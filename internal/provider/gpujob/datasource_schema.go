// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

func shownText(description string) schema.StringAttribute {
	return schema.StringAttribute{Computed: true, MarkdownDescription: description}
}

func shownCount(description string) schema.Int64Attribute {
	return schema.Int64Attribute{Computed: true, MarkdownDescription: description}
}

func shownBool(description string) schema.BoolAttribute {
	return schema.BoolAttribute{Computed: true, MarkdownDescription: description}
}

func shownList(description string) schema.ListAttribute {
	return schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: description}
}

func shownSet(description string) schema.SetAttribute {
	return schema.SetAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: description}
}

func shownMap(description string) schema.MapAttribute {
	return schema.MapAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: description}
}

func shownObject(description string, attributes map[string]schema.Attribute) schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{Computed: true, MarkdownDescription: description, Attributes: attributes}
}

func shownObjects(description string, attributes map[string]schema.Attribute) schema.MapNestedAttribute {
	return schema.MapNestedAttribute{Computed: true, MarkdownDescription: description, NestedObject: schema.NestedAttributeObject{Attributes: attributes}}
}

// Schema describes the attributes: those of the resource that the job itself
// has, under the same names, and what changes because the job runs.
func (d *DataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "A Cloud Run job that exists, whoever made it: its settings under the names that the resource `resilientjob_gpu_job` has for them, whether Cloud Run could set it up, and its latest execution. " +
			"One request. A job that the resource could not hold, with sidecars for example, can be read nevertheless: `not_shown` names what is left out.\n\n" +
			"The values of environment variables stand in the state, as those of the resource do. Secrets are shown by their names only.",
		Attributes: map[string]schema.Attribute{
			"job": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "Job: its name, with the provider's project and region, or `LOCATION/NAME`, `PROJECT/LOCATION/NAME` or its full name. The resource's `id` is one.",
				Validators:          []validator.String{value.IsJob()},
			},
			"id":                    shownText("Full name, `projects/PROJECT/locations/LOCATION/jobs/NAME`."),
			"uid":                   shownText("Unique id that Cloud Run gave the job."),
			"name":                  shownText("Name of the job."),
			"project":               shownText("Project of the job."),
			"location":              shownText("Region of the job."),
			"image":                 shownText("Container image."),
			"command":               shownList("Program that is started instead of the image's entry point. Null for the image's."),
			"args":                  shownList("Arguments of the program. Null for the image's."),
			"working_dir":           shownText("Folder in which the program starts. Null for the image's."),
			"env":                   shownMap("Environment variables with plain values. Null when there are none."),
			"secret_env":            shownObjects("Environment variables whose values are secrets: by name, without the values.", map[string]schema.Attribute{"secret": shownText("The secret."), "version": shownText("Version of the secret: a number, an alias or `\"latest\"`.")}),
			"gpu_type":              shownText("GPU of each task; `\"none\"` for a job without."),
			"gpu_zonal_redundancy":  shownBool("Whether capacity in a second zone is reserved."),
			"cpu":                   shownText("vCPUs of each task."),
			"memory":                shownText("Memory of each task."),
			"task_count":            shownCount("Number of tasks of an execution."),
			"parallelism":           shownCount("How many tasks may run at the same time. Null when all of them may."),
			"task_timeout":          shownText("How long one attempt of a task may run, such as `\"12h\"`."),
			"max_retries":           shownCount("How often a failed or interrupted task is started again."),
			"checkpoint":            shownCheckpoint(),
			"volumes":               shownVolumes(),
			"network":               shownNetwork(),
			"encryption_key":        shownText("Key of Cloud KMS that encrypts the deployed image. Null for Google's own."),
			"binary_authorization":  shownBinaryAuthorization(),
			"service_account_email": shownText("E-mail of the account that the job runs as. Null for the project's default account."),
			"labels":                shownMap("All labels of the job, whoever set them."),
			"annotations":           shownMap("All annotations of the job, whoever set them."),
			"launch_stage":          shownText("Launch stage of the job, such as `\"GA\"`."),
			"console_url":           shownText("Page of the job in the Google Cloud console."),
			"exposure": shownObject("The most that one execution can use: every attempt of every task, each for the full timeout.", map[string]schema.Attribute{
				"attempts":   shownCount("`task_count` × (`max_retries` + 1)."),
				"gpu_hours":  schema.Float64Attribute{Computed: true, MarkdownDescription: "Hours of GPU time; each attempt is billed in full."},
				"task_hours": schema.Float64Attribute{Computed: true, MarkdownDescription: "Hours of all attempts."},
			}),
			"create_time":     shownText("When the job was made, RFC 3339."),
			"update_time":     shownText("When it was last changed, RFC 3339."),
			"ready":           shownBool("Whether Cloud Run could set up the job as it is now. `false` also while it still does. Null when it does not say."),
			"ready_reason":    shownText("Cloud Run's reason why it is not ready, such as `CONTAINER_MISSING`. Null without one."),
			"ready_message":   shownText("Cloud Run's own words on it. Null without any."),
			"execution_count": shownCount("Number of executions so far."),
			"latest_execution": shownObject("The latest execution. Null before the first. The data source `resilientjob_execution` tells more of it.", map[string]schema.Attribute{
				"name":            shownText("Name of the execution within the job."),
				"state":           shownText("`pending`, `running`, `succeeded`, `failed` or `cancelled`. Null when Cloud Run does not say."),
				"create_time":     shownText("When Cloud Run accepted it, RFC 3339."),
				"completion_time": shownText("When it ended, RFC 3339; null before."),
			}),
			"not_shown": shownList("What the job has and this data source has no attributes for: containers beside the first, volumes that are mounted twice or not at all, probes. Empty for a job of this provider's."),
		},
	}
}

func shownCheckpoint() schema.SingleNestedAttribute {
	return shownObject("Where the program saves its checkpoints, as an import would take it: the volume called `checkpoint`, else the only bucket that tasks can write to. Null without one.", map[string]schema.Attribute{
		"bucket":        shownText("Name of the bucket."),
		"mount_path":    shownText("Path under which each task sees it."),
		"prefix":        shownText("Folder of the bucket that is mounted. Null for the whole bucket."),
		"mount_options": shownList("Options of gcsfuse beside that."),
		"volume":        shownText("Name of the volume."),
	})
}

func shownVolumes() schema.MapNestedAttribute {
	return shownObjects("Volumes beside the checkpoint's, by name. Each has exactly one of `gcs`, `nfs`, `empty_dir`, `secret` and `cloud_sql`.", map[string]schema.Attribute{
		"mount_path": shownText("Path under which each task sees the volume. Null for `cloud_sql`, whose path is always `" + cloudSQLPath + "`."),
		"read_only":  shownBool("`true` when tasks can only read it."),
		"sub_path":   shownText("Folder of the volume that is mounted. Null for the whole volume."),
		"gcs": shownObject("A Cloud Storage bucket.", map[string]schema.Attribute{
			"bucket": shownText("Name of the bucket."), "mount_options": shownList("Options of gcsfuse."),
		}),
		"nfs": shownObject("A folder of an NFS server.", map[string]schema.Attribute{
			"server": shownText("Host name or IP address of the server."), "path": shownText("Path that the server exports."),
		}),
		"empty_dir": shownObject("A folder that is empty when a task starts.", map[string]schema.Attribute{
			"medium":     shownText("`\"disk\"`; null for memory."),
			"size_limit": schema.StringAttribute{Computed: true, CustomType: value.QuantityType{}, MarkdownDescription: "The most that its files may take. Null without a limit of its own."},
		}),
		"secret": shownObject("Versions of a secret as files.", map[string]schema.Attribute{
			"secret":  shownText("The secret."),
			"version": shownText("Version that the only file holds. Null for the newest, and with `items`."),
			"items": shownObjects("The files, by their path below the mount path. Null for one file with the secret's name.", map[string]schema.Attribute{
				"version": shownText("Version of the secret."),
				"mode":    schema.StringAttribute{Computed: true, CustomType: value.FileModeType{}, MarkdownDescription: "Mode bits of this file in octal. Null for `default_mode`."},
			}),
			"default_mode": schema.StringAttribute{Computed: true, CustomType: value.FileModeType{}, MarkdownDescription: "Mode bits of the files in octal. Null for Cloud Run's default, `0444`."},
		}),
		"cloud_sql": shownObject("Cloud SQL instances, as sockets.", map[string]schema.Attribute{"instances": shownSet("Connection names, `PROJECT:REGION:INSTANCE`.")}),
	})
}

func shownNetwork() schema.SingleNestedAttribute {
	return shownObject("How tasks reach a VPC network. Null when they reach the internet only.", map[string]schema.Attribute{
		"network":    shownText("VPC network."),
		"subnetwork": shownText("Subnetwork from which tasks get their addresses. Null for the one with the network's name."),
		"tags":       shownSet("Network tags of the tasks."),
		"connector":  shownText("Serverless VPC Access connector."),
		"egress":     shownText("What goes through the network: `\"PRIVATE_RANGES_ONLY\"` or `\"ALL_TRAFFIC\"`."),
	})
}

func shownBinaryAuthorization() schema.SingleNestedAttribute {
	return shownObject("Which images are admitted. Null when every image is.", map[string]schema.Attribute{
		"use_default":              shownBool("`true` for the project's default policy."),
		"policy":                   shownText("A platform policy."),
		"breakglass_justification": shownText("Why an image that the policy does not accept is admitted nevertheless."),
	})
}
