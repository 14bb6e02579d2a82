// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package googlestate

import (
	"time"

	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/genproto/googleapis/api"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/lazyregexp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

// Job is what the state of a google_cloud_run_v2_job says.
type Job struct {
	Name resourcename.Job
	// Live is the job as the API would answer, without what Cloud Run reports about it (conditions, times, etag).
	Live *runpb.Job
	// Labels and Annotations of the job; those of its executions are in Live.
	Labels, Annotations Managed
	// Timeouts are durations by operation.
	Timeouts map[string]string
	// DeletionPolicy is what keeps the job where Terraform destroys, PREVENT or ABANDON; empty for DELETE.
	DeletionPolicy string
}

// ReadJob reads the state of a google_cloud_run_v2_job. With problems the job is incomplete.
func ReadJob(raw []byte) (Job, []Problem) {
	o, ok := parse(raw)
	if !ok {
		return Job{Live: &runpb.Job{}}, o.found.problems
	}
	j := Job{
		Labels:         o.managed("labels", "terraform_labels", "effective_labels"),
		Annotations:    o.managed("annotations", "", "effective_annotations"),
		Timeouts:       o.timeouts(),
		DeletionPolicy: o.keptOnDestroy(),
	}
	j.Name = o.jobName()
	j.Live = &runpb.Job{
		Name: j.Name.String(), Uid: o.text("uid"),
		Labels: j.Labels.Live, Annotations: j.Annotations.Live,
		Client: o.text("client"), ClientVersion: o.text("client_version"),
		LaunchStage: api.LaunchStage(o.enum("launch_stage", api.LaunchStage_value)),
	}
	if token := o.text("start_execution_token"); token != "" {
		j.Live.CreateExecution = &runpb.Job_StartExecutionToken{StartExecutionToken: token}
	}
	if token := o.text("run_execution_token"); token != "" {
		j.Live.CreateExecution = &runpb.Job_RunExecutionToken{RunExecutionToken: token}
	}
	o.one("binary_authorization", func(b *object) { j.Live.BinaryAuthorization = b.binaryAuthorization() })
	o.one("template", func(t *object) { j.Live.Template = t.execution() })
	if j.Live.Template.GetTemplate() == nil && len(o.found.problems) == 0 {
		o.problem("template", "is missing in the state")
	}
	return j, o.found.problems
}

// jobName reads the parts of the name, each of which may be left to the id.
func (o *object) jobName() resourcename.Job {
	j := resourcename.Job{Project: lastPart(o.text("project")), Location: lastPart(o.text("location")), Name: lastPart(o.text("name"))}
	if id, err := resourcename.ParseJob(o.text("id"), resourcename.Defaults{Project: j.Project, Location: j.Location}); err == nil {
		if j.Project == "" {
			j.Project = id.Project
		}
		if j.Location == "" {
			j.Location = id.Location
		}
		if j.Name == "" {
			j.Name = id.Name
		}
	}
	parsed, err := resourcename.ParseJob(j.String(), resourcename.Defaults{})
	if err != nil {
		o.problem("", "the state does not name a job: it has project %.60q, location %.60q and name %.60q", j.Project, j.Location, j.Name)
		return j
	}
	return parsed
}

// enum returns the number of a name; nothing is 0.
func (o *object) enum(name string, values map[string]int32) int32 {
	s := o.text(name)
	if s == "" {
		return 0
	}
	n, ok := values[s]
	if !ok {
		o.problem(o.at(name), "has a value that this version of the provider does not know")
	}
	return n
}

func (o *object) binaryAuthorization() *runpb.BinaryAuthorization {
	b := &runpb.BinaryAuthorization{BreakglassJustification: o.text("breakglass_justification")}
	policy, useDefault := o.text("policy"), o.is("use_default")
	switch {
	case policy != "":
		b.BinauthzMethod = &runpb.BinaryAuthorization_Policy{Policy: policy}
	case useDefault:
		b.BinauthzMethod = &runpb.BinaryAuthorization_UseDefault{UseDefault: true}
	case b.BreakglassJustification == "":
		return nil
	}
	return b
}

func (o *object) execution() *runpb.ExecutionTemplate {
	e := &runpb.ExecutionTemplate{
		Labels: o.textMap("labels"), Annotations: o.textMap("annotations"),
		Parallelism: o.count("parallelism"), TaskCount: o.count("task_count"),
	}
	o.one("template", func(t *object) { e.Template = t.task() })
	return e
}

func (o *object) task() *runpb.TaskTemplate {
	t := &runpb.TaskTemplate{
		Timeout:                    o.duration("timeout"),
		ServiceAccount:             o.text("service_account"),
		ExecutionEnvironment:       runpb.ExecutionEnvironment(o.enum("execution_environment", runpb.ExecutionEnvironment_value)),
		EncryptionKey:              o.text("encryption_key"),
		GpuZonalRedundancyDisabled: o.flag("gpu_zonal_redundancy_disabled"),
	}
	if o.has("max_retries") {
		t.Retries = &runpb.TaskTemplate_MaxRetries{MaxRetries: o.count("max_retries")}
	}
	o.one("node_selector", func(n *object) {
		if a := n.text("accelerator"); a != "" {
			t.NodeSelector = &runpb.NodeSelector{Accelerator: a}
		}
	})
	o.one("vpc_access", func(v *object) { t.VpcAccess = v.vpcAccess() })
	o.each("volumes", func(v *object) { t.Volumes = append(t.Volumes, v.volume()) })
	o.each("containers", func(c *object) { t.Containers = append(t.Containers, c.container()) })
	return t
}

// seconds is the only spelling of a duration that Google's provider takes.
var seconds = lazyregexp.New(`^[0-9]+(\.[0-9]{1,9})?s$`)

func (o *object) duration(name string) *durationpb.Duration {
	s := o.text(name)
	if s == "" {
		return nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || !seconds.MatchString(s) {
		o.wrong(name, `a number of seconds such as "600s"`)
		return nil
	}
	return durationpb.New(d)
}

func (o *object) vpcAccess() *runpb.VpcAccess {
	v := &runpb.VpcAccess{
		Connector: o.text("connector"),
		Egress:    runpb.VpcAccess_VpcEgress(o.enum("egress", runpb.VpcAccess_VpcEgress_value)),
	}
	o.each("network_interfaces", func(n *object) {
		v.NetworkInterfaces = append(v.NetworkInterfaces, &runpb.VpcAccess_NetworkInterface{
			Network: n.text("network"), Subnetwork: n.text("subnetwork"), Tags: n.texts("tags"),
		})
	})
	return v
}
