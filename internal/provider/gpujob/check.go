// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gpujob

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"google.golang.org/api/storage/v1"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/resilience"
)

// lookLimit is how long a plan looks for something to warn of.
const lookLimit = 15 * time.Second

// planCheck holds the rules of a plan. A rule speaks only on create, or when an
// input of it changes, and only when all its inputs are known.
type planCheck struct {
	state, plan *Model
	// before and checkpoint are the attribute checkpoint of state and plan.
	before, checkpoint *Checkpoint
	warnOnly           bool
	diags              *diag.Diagnostics
}

// checkPlan refuses what can never work and warns of what may not.
func (r *Resource) checkPlan(ctx context.Context, config, state, plan *Model, diags *diag.Diagnostics) {
	c := planCheck{state: state, plan: plan, checkpoint: plan.checkpoint(ctx, diags), warnOnly: r.data.WarnOnly(), diags: diags}
	if state != nil {
		c.before = state.checkpoint(ctx, diags)
	}
	c.gpu(ctx)
	c.resources(config)
	c.time()
	c.counts(c.budget())
	c.shared(ctx)
	c.names()
	r.checkBucketPlace(ctx, &c)
}

// report puts findings at the path of their attribute.
func (c *planCheck) report(findings []resilience.Finding) {
	reportFindings(findings, c.warnOnly, c.diags)
}

// changed tells whether a rule with these inputs has something to say: all are
// known, and on an update one of them is new.
func (c *planCheck) changed(inputs ...func(*Model) attr.Value) bool {
	fresh := c.state == nil
	for _, in := range inputs {
		if in(c.plan).IsUnknown() {
			return false
		}
		fresh = fresh || !in(c.plan).Equal(in(c.state))
	}
	return fresh
}

func gpuType(m *Model) attr.Value     { return m.GPUType }
func taskTimeout(m *Model) attr.Value { return m.TaskTimeout }
func maxRetries(m *Model) attr.Value  { return m.MaxRetries }

// hasCheckpoint is the input of rules that ask only whether there is one.
func hasCheckpoint(m *Model) attr.Value {
	if m.Checkpoint.IsUnknown() {
		return m.Checkpoint
	}
	return types.BoolValue(!m.Checkpoint.IsNull())
}

func (c *planCheck) gpu(ctx context.Context) {
	gpu := c.plan.GPUType.ValueString()
	if c.changed(gpuType) {
		c.report(resilience.CheckGPUType(gpu))
	}
	if c.changed(gpuType, func(m *Model) attr.Value { return m.Location }) {
		c.report(resilience.CheckRegion(gpu, c.plan.Location.Canonical()))
	}
	if c.changed(gpuType, func(m *Model) attr.Value { return m.GPUZonalRedundancy }) {
		c.report(resilience.CheckZonalRedundancy(gpu, c.plan.GPUZonalRedundancy.ValueBool()))
	}
	if value.Known(c.plan.LaunchStage) && c.changed(gpuType, taskTimeout, func(m *Model) attr.Value { return m.LaunchStage }) {
		c.report(resilience.CheckLaunchStage(resilience.Stage(c.plan.LaunchStage.ValueString()), c.plan.features(ctx)))
	}
}

func (c *planCheck) resources(config *Model) {
	if c.changed(gpuType, func(m *Model) attr.Value { return m.CPU }, func(m *Model) attr.Value { return m.Memory }) {
		c.report(resourceFindings(config, c.plan.GPUType.ValueString(), c.plan.CPU, c.plan.Memory))
	}
}

func (c *planCheck) time() {
	if c.changed(gpuType, taskTimeout) {
		c.report(resilience.CheckTimeout(c.plan.GPUType.ValueString(), c.plan.timeout()))
	}
	if c.changed(taskTimeout, hasCheckpoint) {
		c.report(resilience.CheckLongTask(c.plan.timeout(), c.checkpoint != nil))
	}
}

// counts checks retries and tasks. Retries that are too few for the stated work
// are said to be that, with a number, and not also to be none.
func (c *planCheck) counts(tooFew bool) {
	if c.changed(maxRetries, hasCheckpoint) {
		c.report(resilience.CheckRetries(c.plan.MaxRetries.ValueInt64(), c.checkpoint != nil && !tooFew))
	}
	if c.changed(func(m *Model) attr.Value { return m.TaskCount }) {
		c.report(resilience.CheckTasks(c.plan.TaskCount.ValueInt64()))
	}
}

// shared warns of several tasks on one checkpoint path. What a program does with
// its index cannot be seen: it is taken from a statement, or from where the index
// is handed over.
func (c *planCheck) shared(ctx context.Context) {
	perTask := func(m *Model) attr.Value {
		if m.Checkpoint.IsUnknown() {
			return types.BoolUnknown()
		}
		if cp := m.checkpoint(ctx, c.diags); cp != nil {
			return cp.PerTask
		}
		return types.BoolNull()
	}
	several := func(m *Model) attr.Value {
		if m.TaskCount.IsUnknown() {
			return types.BoolUnknown()
		}
		return types.BoolValue(m.TaskCount.ValueInt64() > 1)
	}
	if !c.changed(several, hasCheckpoint, perTask) {
		return
	}
	apart := c.checkpoint != nil && c.checkpoint.PerTask.ValueBool()
	for _, v := range []interface {
		attr.Value
		Elements() []attr.Value
	}{c.plan.Command, c.plan.Args, envValues{c.plan.Env}} {
		apart = apart || v.IsUnknown()
		for _, e := range v.Elements() {
			apart = apart || e.IsUnknown() || strings.Contains(e.String(), resilience.TaskIndexEnv)
		}
	}
	c.report(resilience.CheckSharedCheckpoint(c.plan.TaskCount.ValueInt64(), c.checkpoint != nil, apart))
}

// envValues are the values of a map, as a list has them.
type envValues struct{ types.Map }

// Elements returns the values.
func (v envValues) Elements() []attr.Value { return slices.Collect(maps.Values(v.Map.Elements())) }

// budget compares the retries with the stated work, and reports whether it had
// something to say.
func (c *planCheck) budget() bool {
	cp := c.checkpoint
	if cp == nil || !value.Known(cp.WorkTime) || cp.Interval.IsUnknown() || cp.WriteTime.IsUnknown() || cp.RestoreTime.IsUnknown() {
		return false
	}
	unchanged := c.before != nil && cp.WorkTime.Equal(c.before.WorkTime) && cp.Interval.Equal(c.before.Interval) &&
		cp.WriteTime.Equal(c.before.WriteTime) && cp.RestoreTime.Equal(c.before.RestoreTime)
	if c.plan.MaxRetries.IsUnknown() || c.plan.TaskTimeout.IsUnknown() || unchanged && !c.changed(maxRetries, taskTimeout) {
		return false
	}
	// Missing times count as nothing, and a missing interval as the best one: the
	// function required_retries takes them alike.
	in := resilience.RetryInput{Timeout: c.plan.timeout(), MeanTimeBetweenInterruptions: resilience.MaintenanceInterval, Probability: resilience.PlanProbability}
	in.Work, _ = cp.WorkTime.Duration()
	in.Write, _ = cp.WriteTime.Duration()
	in.Restore, _ = cp.RestoreTime.Duration()
	in.Interval, _ = cp.Interval.Duration()
	findings := resilience.CheckRetryBudget(c.plan.MaxRetries.ValueInt64(), in)
	c.report(findings)
	return len(findings) > 0
}

// names warns of names that pass but may surprise.
func (c *planCheck) names() {
	if name := c.plan.Name.ValueString(); c.changed(func(m *Model) attr.Value { return m.Name }) && len(name) > resourcename.SafeJobName {
		c.diags.AddAttributeWarning(path.Root("name"), resilience.JobNameLong.Summary, fmt.Sprintf(
			"%s has %d characters. Jobs with up to %d are known to work, but Google documents only up to %d, for Cloud Run's services. A shorter name is safe.",
			name, len(name), resourcename.MaxJobName, resourcename.SafeJobName))
	}
	for attribute, of := range map[string]func(*Model) types.Map{"env": func(m *Model) types.Map { return m.Env }, "secret_env": func(m *Model) types.Map { return m.SecretEnv }} {
		var old map[string]attr.Value
		if c.state != nil {
			old = of(c.state).Elements()
		}
		for _, name := range sortedKeys(of(c.plan).Elements()) {
			if _, before := old[name]; !before && resilience.ServiceEnvName(name) {
				c.diags.AddAttributeWarning(path.Root(attribute).AtMapKey(name), resilience.EnvService.Summary, fmt.Sprintf(
					"%s is a name that Cloud Run gives to services, not to jobs: a library that sees it may take the task for a service. Use another name unless that is meant.", name))
			}
		}
	}
}

// checkBucketPlace warns of a bucket that lies elsewhere than the job: each
// checkpoint would be slow and billed as traffic. It reads the bucket once, on
// create or when bucket or location change, and says nothing when it cannot.
func (r *Resource) checkBucketPlace(ctx context.Context, c *planCheck) {
	if c.checkpoint == nil || !value.Known(c.checkpoint.Bucket) || !value.Known(c.plan.Location) || r.data.Deferred() {
		return
	}
	if c.before != nil && c.before.Bucket.Equal(c.checkpoint.Bucket) && c.plan.Location.Equal(c.state.Location) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	bucket, err := r.data.Client.GetBucket(ctx, c.checkpoint.Bucket.ValueString(), gcp.InBulk())
	if err != nil || holds(bucket, c.plan.Location.Canonical()) {
		return
	}
	c.diags.AddAttributeWarning(path.Root("checkpoint").AtName("bucket"), resilience.CheckpointPlace.Summary, fmt.Sprintf(
		"Bucket %s is in %s and the job in %s: saving and restoring checkpoints is slower, and traffic between regions is billed. Use a bucket in %[3]s.",
		bucket.Name, strings.ToLower(bucket.Location), c.plan.Location.Canonical()))
}

// dualRegions are the predefined pairs. Other codes are not judged.
var dualRegions = map[string][]string{
	"NAM4": {"us-central1", "us-east1"}, "EUR4": {"europe-north1", "europe-west4"}, "ASIA1": {"asia-northeast1", "asia-northeast2"},
}

// holds tells whether a bucket keeps its data in a region, or may.
func holds(b *storage.Bucket, region string) bool {
	location := strings.ToUpper(b.Location)
	if b.CustomPlacementConfig != nil && len(b.CustomPlacementConfig.DataLocations) > 0 {
		return slices.ContainsFunc(b.CustomPlacementConfig.DataLocations, func(l string) bool { return strings.EqualFold(l, region) })
	}
	if pair, ok := dualRegions[location]; ok {
		return slices.Contains(pair, region)
	}
	switch location {
	case "US":
		return strings.HasPrefix(region, "us-")
	case "EU":
		return strings.HasPrefix(region, "europe-")
	case "ASIA":
		return strings.HasPrefix(region, "asia-")
	}
	if !strings.Contains(location, "-") {
		return true // a code that this version does not know
	}
	return strings.EqualFold(location, region)
}
