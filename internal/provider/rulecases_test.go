// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"strings"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/resilience"
)

// attributes is part of a configuration, as Go values. What is left out is null.
type attributes = map[string]any

// notKnown stands for a value that is not known yet, as that of a variable
// without default is while a configuration is validated.
type notKnown struct{}

// ruleCase sets the attribute at to a wrong and to a right value.
type ruleCase struct {
	rule resilience.Rule
	// at is the attribute that the values are for, "PARENT.CHILD" for a child.
	at string
	// with are further attributes, all of them right.
	with         attributes
	wrong, right any
}

// on is the resource that the case configures. The overrides of an execution
// keep to the rules of its job.
func (c ruleCase) on() string {
	if _, ok := c.with["job"]; ok {
		return "execution"
	}
	return c.rule.Resource
}

func checkpoint(more attributes) attributes {
	c := attributes{"bucket": "my-checkpoints"}
	for k, v := range more {
		c[k] = v
	}
	return attributes{"checkpoint": c}
}

// memory is a volume in the memory of the task.
func memory(path string) attributes {
	return attributes{"mount_path": path, "empty_dir": attributes{}}
}

func many(n int, key, value string) attributes {
	all := attributes{}
	for i := range n {
		all[fmt.Sprintf("%s%d", key, i)] = value
	}
	return all
}

// ruleCases has at least one row for each rule. A new attribute is a new row.
var ruleCases = []ruleCase{
	{resilience.GPUUnknown, "gpu_type", nil, "nvidia-h100-80gb", "nvidia-l4"},
	{resilience.GPURegion, "location", nil, "europe-north1", "europe-west1"},
	{resilience.GPURegionInvitation, "location", nil, "asia-south1", "asia-southeast1"},
	{resilience.GPUZonalRedundancy, "gpu_zonal_redundancy", nil, true, false},

	// case 61: less than one CPU.
	{resilience.CPUMinimum, "cpu", attributes{"gpu_type": "none"}, "500m", "1"},
	{resilience.CPUMinimum, "cpu", nil, "3999m", "4"},
	{resilience.CPUMinimum, "cpu", attributes{"gpu_type": "nvidia-rtx-pro-6000"}, "8", "20"},
	{resilience.CPUValue, "cpu", nil, "5", "6000m"},
	{resilience.CPUMaximum, "cpu", nil, "12", "8"},
	{resilience.MemoryMinimum, "memory", nil, "8Gi", "16Gi"},
	{resilience.MemoryMinimum, "memory", attributes{"gpu_type": "nvidia-rtx-pro-6000"}, "79Gi", "80Gi"},
	// case 62: the memory that goes with one CPU.
	{resilience.MemoryPair, "memory", attributes{"gpu_type": "none", "cpu": "1"}, "8Gi", "4Gi"},
	// The other half of the pair is the table's.
	{resilience.MemoryPair, "memory", nil, "32Gi", "17179869184"},

	// case 11: another unit passes nowhere.
	{resilience.TimeoutShape, "task_timeout", nil, "600", "10m"},
	{resilience.TimeoutShape, "task_timeout", nil, "0s", "1ms"},
	{resilience.TimeoutMax, "task_timeout", attributes{"gpu_type": "none", "checkpoint": attributes{"bucket": "my-checkpoints"}}, "168h1s", "168h"},
	{resilience.TimeoutMax, "task_timeout", checkpoint(nil), "200h", "12h"},
	// case 52: what Google has raised before only warns, and two hours say nothing.
	{resilience.TimeoutGPU, "task_timeout", checkpoint(nil), "13h", "2h"},
	// case 16: the feature and the stage that it needs.
	{resilience.LaunchStage, "launch_stage", attributes{"task_timeout": "2h", "checkpoint": attributes{"bucket": "my-checkpoints"}}, "GA", "BETA"},
	{resilience.LaunchStage, "task_timeout", attributes{"launch_stage": "GA", "checkpoint": attributes{"bucket": "my-checkpoints"}}, "61m", "60m"},
	{resilience.TimeoutWithoutCheckpoint, "task_timeout", nil, "61m", "1h"},
	{resilience.TimeoutWithoutCheckpoint, "checkpoint", attributes{"task_timeout": "2h"}, nil, attributes{"bucket": "my-checkpoints"}},

	{resilience.RetriesRange, "max_retries", nil, 11, 10},
	{resilience.RetriesNone, "max_retries", checkpoint(nil), 0, 1},
	{resilience.RetriesBudget, "max_retries", attributes{"task_timeout": "12h", "checkpoint": attributes{
		"bucket": "my-checkpoints", "work_time": "12h", "interval": "2h", "write_time": "1m", "restore_time": "2m"}}, 1, 2},
	{resilience.RetriesBudget, "checkpoint.work_time", attributes{"task_timeout": "12h"}, "100h", "10h"},
	{resilience.TasksRange, "task_count", nil, 10_001, 10_000},
	{resilience.TasksRange, "task_count", attributes{"job": "train"}, 10_001, 10_000},
	{resilience.TimeoutMax, "task_timeout", attributes{"job": "train"}, "169h", "168h"},
	{resilience.ParallelismRange, "parallelism", attributes{"task_count": 3}, 4, 3},
	{resilience.ParallelismRange, "parallelism", nil, 2, 1},

	{resilience.CheckpointFits, "checkpoint.interval", checkpoint(attributes{"write_time": "1m", "restore_time": "2m"}), "58m", "57m"},
	{resilience.CheckpointPlace, "checkpoint.bucket", nil, "elsewhere", "my-checkpoints"},
	// case 113: several tasks on one path. Where the index stands, the program is told of it.
	{resilience.CheckpointShared, "checkpoint.per_task", attributes{"task_count": 4, "checkpoint": attributes{"bucket": "my-checkpoints"}}, nil, true},
	{resilience.CheckpointShared, "task_count", checkpoint(nil), 4, 1},
	{resilience.CheckpointShared, "args", attributes{"task_count": 4, "checkpoint": attributes{"bucket": "my-checkpoints"}}, nil, []any{"/checkpoints/task-$CLOUD_RUN_TASK_INDEX"}},
	{resilience.MountPath, "checkpoint.mount_path", checkpoint(nil), "checkpoints", "/checkpoints"},
	{resilience.MountPath, "checkpoint.mount_path", checkpoint(nil), "/", "/a"},
	{resilience.MountPath, "checkpoint.mount_path", checkpoint(nil), "/a:b", "/a-b"},
	{resilience.MountPath, "checkpoint.mount_path", checkpoint(nil), "/dev", "/device"},
	{resilience.MountPath, "checkpoint.mount_path", checkpoint(nil), "/proc/self", "/processed"},
	{resilience.MountPath, "checkpoint.mount_path", checkpoint(nil), "/sys/", "/system"},
	{resilience.MountOption, "checkpoint.mount_options", checkpoint(nil), []any{"--implicit-dirs"}, []any{"implicit-dirs", "uid=1000"}},

	{resilience.VolumeName, "volumes", nil, attributes{"Data": memory("/data")}, attributes{"data": memory("/data")}},
	{resilience.VolumeName, "volumes", nil, attributes{"checkpoint": memory("/data")}, attributes{"checkpoints": memory("/data")}},
	{resilience.VolumeNoKind, "volumes", nil, attributes{"data": attributes{"mount_path": "/data"}}, attributes{"data": memory("/data")}},
	{resilience.VolumeKinds, "volumes", nil, attributes{"data": attributes{"mount_path": "/data", "empty_dir": attributes{}, "gcs": attributes{"bucket": "my-data"}}},
		attributes{"data": attributes{"mount_path": "/data", "gcs": attributes{"bucket": "my-data"}}}},
	{resilience.VolumePath, "volumes", nil, attributes{"data": memory("data")}, attributes{"data": memory("/data")}},
	{resilience.VolumePath, "volumes", nil, attributes{"data": memory("/proc/data")}, attributes{"data": memory("/process")}},
	{resilience.VolumeTwice, "volumes", nil, attributes{"a": memory("/data"), "b": memory("/data/")}, attributes{"a": memory("/data"), "b": memory("/data2")}},
	{resilience.VolumeTwice, "volumes", checkpoint(nil), attributes{"a": memory("/checkpoints")}, attributes{"a": memory("/data")}},
	{resilience.VolumeNested, "volumes", nil, attributes{"a": memory("/data"), "b": memory("/data/b")}, attributes{"a": memory("/data/a"), "b": memory("/data/b")}},
	{resilience.VolumeNested, "volumes", checkpoint(nil), attributes{"a": memory("/checkpoints/a")}, attributes{"a": memory("/checkpoints-a")}},
	{resilience.VolumeSubPath, "volumes", nil, attributes{"key": attributes{"mount_path": "/key", "sub_path": "a", "secret": attributes{"secret": "key"}}},
		attributes{"key": attributes{"mount_path": "/key", "secret": attributes{"secret": "key"}}}},

	{resilience.JobName, "name", nil, strings.Repeat("a", 64), strings.Repeat("a", 49)},
	{resilience.JobName, "name", nil, "train-", "train-1"},
	{resilience.JobNameLong, "name", nil, strings.Repeat("a", 50), strings.Repeat("a", 49)},
	{resilience.EnvName, "env", nil, attributes{"PORT": "1"}, attributes{"PORTS": "1"}},
	{resilience.EnvName, "env", nil, attributes{"RESILIENTJOB_RUN_KEY": "1"}, attributes{"LR": ""}},
	{resilience.EnvName, "env", nil, attributes{"A": strings.Repeat("x", 32_769)}, attributes{"A": strings.Repeat("x", 32_768)}},
	{resilience.EnvCount, "env", nil, many(1001, "V", "x"), many(1000, "V", "x")},
	{resilience.EnvTwice, "secret_env", attributes{"env": attributes{"KEY": "1"}}, attributes{"KEY": attributes{"secret": "key"}}, attributes{"TOKEN": attributes{"secret": "key"}}},
	{resilience.EnvService, "env", nil, attributes{"K_SERVICE": "1"}, attributes{"KEY": "1"}},
	{resilience.Label, "labels", nil, attributes{"run.googleapis.com/x": "1"}, attributes{"team": ""}},
	{resilience.Label, "labels", nil, attributes{"a": strings.Repeat("x", 64)}, attributes{"a": strings.Repeat("x", 63)}},
	{resilience.LabelCount, "labels", nil, many(65, "l", "x"), many(64, "l", "x")},
	{resilience.Annotation, "annotations", nil, attributes{"run.googleapis.com/x": "1"}, attributes{"example.com/x": ""}},
	{resilience.Annotation, "annotations", nil, attributes{"a b": "1"}, attributes{"a.b": "1"}},
	{resilience.Account, "service_account", nil, "me@example.com", "trainer@my-project.iam.gserviceaccount.com"},
	{resilience.AccountID, "service_account_id", nil, "short", "shorts"},
	{resilience.AccountID, "service_account_id", nil, strings.Repeat("a", 31), strings.Repeat("a", 30)},

	{resilience.BucketName, "name", nil, "ab", "abc"},
	{resilience.BucketName, "name", nil, strings.Repeat("a", 64), strings.Repeat("a", 63)},
	{resilience.SoftDelete, "soft_delete_retention", nil, "167h", "168h"},
	{resilience.SoftDelete, "soft_delete_retention", nil, "2161h", "2160h"},
	{resilience.SoftDelete, "soft_delete_retention", nil, "1s", "0s"},
	{resilience.VersioningNamespace, "versioning", attributes{"hierarchical_namespace": true}, true, false},
	{resilience.BucketReader, "readers", nil, []any{"allUsers"}, []any{"group:ml@example.com"}},
	{resilience.BucketReader, "readers", nil, []any{"trainer@my-project.iam.gserviceaccount.com"}, []any{"serviceAccount:trainer@my-project.iam.gserviceaccount.com"}},
	{resilience.BucketWriter, "writers", nil, []any{"allAuthenticatedUsers"}, []any{"user:me@example.com"}},
	{resilience.BucketLabel, "labels", nil, attributes{"Team": "a"}, attributes{"team": "a"}},
}
