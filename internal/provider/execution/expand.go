// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package execution

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/resilience"
)

// run is what makes one run differ from another run of the same job. Its JSON
// form is what the key is made from: see key.
type run struct {
	// Args is nil for the job's own; an empty list clears them.
	Args      *[]string          `json:"args,omitempty"`
	Env       map[string]string  `json:"env,omitempty"`
	TaskCount int32              `json:"task_count,omitempty"`
	Timeout   time.Duration      `json:"timeout,omitempty"`
	Triggers  map[string]*string `json:"triggers,omitempty"`
}

// expandRun reads overrides and triggers from a model whose values are known.
func expandRun(ctx context.Context, m Model) (run, diag.Diagnostics) {
	var r run
	var diags diag.Diagnostics
	if !m.Args.IsNull() {
		args := []string{}
		diags.Append(m.Args.ElementsAs(ctx, &args, false)...)
		r.Args = &args
	}
	diags.Append(m.Env.ElementsAs(ctx, &r.Env, false)...)
	diags.Append(m.Triggers.ElementsAs(ctx, &r.Triggers, false)...)
	r.TaskCount = int32(m.TaskCount.ValueInt64())
	if !m.TaskTimeout.IsNull() {
		d, err := m.TaskTimeout.Duration()
		if err != nil {
			diags.AddAttributeError(path.Root("task_timeout"), "Invalid duration", err.Error()+".")
		}
		r.Timeout = d
	}
	return r, diags
}

// key names a run: the same job, overrides and triggers have the same key, in
// every process and in every version of the provider. A version that made other
// keys would start the runs again that an older one lost sight of.
func (r run) key(jobUID string) string {
	text, err := json.Marshal(struct {
		Version int    `json:"version"`
		Job     string `json:"job"`
		run
	}{1, jobUID, r})
	if err != nil {
		panic(err) // strings, numbers and maps of strings can be written as JSON
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// request is the call that starts the run. The key is an override of the
// execution's environment: overrides are merged by name, so that the job and
// its own variables are untouched. A job with several containers has them in its
// first one.
func (r run) request(name resourcename.Job, job *runpb.Job, key string) *runpb.RunJobRequest {
	container := &runpb.RunJobRequest_Overrides_ContainerOverride{}
	if all := job.GetTemplate().GetTemplate().GetContainers(); len(all) > 0 {
		container.Name = all[0].GetName()
	}
	if r.Args != nil {
		container.Args, container.ClearArgs = *r.Args, len(*r.Args) == 0
	}
	for _, name := range slices.Sorted(maps.Keys(r.Env)) {
		container.Env = append(container.Env, envVar(name, r.Env[name]))
	}
	container.Env = append(container.Env, envVar(resilience.RunKeyEnv, key))

	overrides := &runpb.RunJobRequest_Overrides{
		ContainerOverrides: []*runpb.RunJobRequest_Overrides_ContainerOverride{container},
		TaskCount:          r.TaskCount,
	}
	if r.Timeout > 0 {
		overrides.Timeout = durationpb.New(r.Timeout)
	}
	return &runpb.RunJobRequest{Name: name.String(), Overrides: overrides}
}

func envVar(name, value string) *runpb.EnvVar {
	return &runpb.EnvVar{Name: name, Values: &runpb.EnvVar_Value{Value: value}}
}

// keyOf returns the key that an execution carries, empty for one that the
// provider did not start.
func keyOf(e *runpb.Execution) string {
	for _, c := range e.GetTemplate().GetContainers() {
		for _, v := range c.GetEnv() {
			if v.GetName() == resilience.RunKeyEnv {
				return v.GetValue()
			}
		}
	}
	return ""
}

// The server's defaults for what a template leaves out.
const (
	defaultTaskTimeout = 10 * time.Minute
	defaultRetries     = 3
)

// longest is the longest that an execution of this size can take: every attempt
// of every task runs into its timeout.
func longest(tasks, parallelism int64, t *runpb.TaskTemplate) time.Duration {
	tasks = max(tasks, 1)
	if parallelism < 1 || parallelism > tasks {
		parallelism = tasks
	}
	rounds := (tasks + parallelism - 1) / parallelism
	attempts := rounds * (retriesOf(t) + 1)
	timeout := timeoutOfTemplate(t)
	const most = 1<<63 - 1 - time.Hour
	if attempts > int64(most/timeout) {
		return most
	}
	return time.Duration(attempts) * timeout
}

// patience is how long create watches unless the configuration says otherwise.
func (r run) patience(job *runpb.Job, waitFor string) time.Duration {
	if waitFor != waitCompleted {
		return defaultPatience
	}
	template := job.GetTemplate()
	tasks := int64(template.GetTaskCount())
	if r.TaskCount > 0 {
		tasks = int64(r.TaskCount)
	}
	one := template.GetTemplate()
	if r.Timeout > 0 {
		one = &runpb.TaskTemplate{Timeout: durationpb.New(r.Timeout), Retries: one.GetRetries()}
	}
	return longest(tasks, int64(template.GetParallelism()), one) + time.Hour
}

// defaultPatience is the default of timeouts.create and of timeouts.delete.
const defaultPatience = 20 * time.Minute

func retriesOf(t *runpb.TaskTemplate) int64 {
	if t.GetRetries() == nil {
		return defaultRetries
	}
	return int64(t.GetMaxRetries())
}

func timeoutOfTemplate(t *runpb.TaskTemplate) time.Duration {
	if d := t.GetTimeout().AsDuration(); d > 0 {
		return d
	}
	return defaultTaskTimeout
}
