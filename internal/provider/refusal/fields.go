// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package refusal

import (
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/lazyregexp"
)

// fields says which attribute of a job is sent in which field of the API. The
// texts use the field paths of the first API version, those of the second, or
// both; indices are left out of the comparison. The first that fits counts.
var fields = []struct {
	end string
	at  path.Path
}{
	{"resources.limits.cpu", path.Root("cpu")},
	{"resources.limits.memory", path.Root("memory")},
	{"resources.limits.nvidia.com/gpu", path.Root("gpu_type")},
	{"resources.limits", path.Root("cpu")},
	{"containers.image", path.Root("image")},
	{"containers.command", path.Root("command")},
	{"containers.args", path.Root("args")},
	{"template.taskcount", path.Root("task_count")},
	{"template.task_count", path.Root("task_count")},
	{"template.parallelism", path.Root("parallelism")},
	{"template.spec.maxretries", path.Root("max_retries")},
	{"template.max_retries", path.Root("max_retries")},
	{"template.spec.timeoutseconds", path.Root("task_timeout")},
	{"template.timeout", path.Root("task_timeout")},
	{"template.spec.serviceaccountname", path.Root("service_account")},
	{"template.service_account", path.Root("service_account")},
	{"nodeselector", path.Root("gpu_type")},
	{"nodeselector.run.googleapis.com/accelerator", path.Root("gpu_type")},
	{"node_selector.accelerator", path.Root("gpu_type")},
	{"gpu_zonal_redundancy_disabled", path.Root("gpu_zonal_redundancy")},
	{"encryption_key", path.Root("encryption_key")},
	{"vpc_access", path.Root("network")},
	{"launch_stage", path.Root("launch_stage")},
	{"metadata.labels", path.Root("labels")},
	{"job.labels", path.Root("labels")},
}

// fieldPath finds the field path at the begin of a text: words with dots, and
// a colon behind.
var fieldPath = lazyregexp.New(`(?m)^(?:Violation in \w+Request\.)?((?:job|spec|template|metadata|launch_stage)[\w.\-\[\]/]*):\s`)

var indices = lazyregexp.New(`\[\d+\]`)

// blamed returns the attribute that is sent in the field that a text begins
// with; path.Empty() when there is none.
func blamed(text string) path.Path {
	found := fieldPath.FindStringSubmatch(text)
	if found == nil {
		return path.Empty()
	}
	field := strings.ToLower(indices.ReplaceAllString(found[1], ""))
	for _, f := range fields {
		if field == f.end || strings.HasSuffix(field, "."+f.end) {
			return f.at
		}
	}
	return path.Empty()
}
