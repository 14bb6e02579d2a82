// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

// defaultParallelism is how many tasks run at a time when nothing says so.
const defaultParallelism = 100

// RunJob implements runpb.JobsServer. Its operation stays open until the
// execution has ended.
func (s *Service) RunJob(ctx context.Context, req *runpb.RunJobRequest) (*longrunningpb.Operation, error) {
	n, err := parseJob("name", req.GetName())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, failure(codes.Unavailable, "The service is currently unavailable.")
	}
	job, err := s.existingJob(n)
	if err != nil {
		return nil, err
	}
	if err := checkEtag(s.o.Behaviour.StaleEtagOnRun, req.GetEtag(), job.GetEtag(), n.job); err != nil {
		return nil, err
	}
	if err := checkOverrides(job, req.GetOverrides()); err != nil {
		return nil, err
	}
	unready := job.GetTerminalCondition().GetState() == runpb.Condition_CONDITION_FAILED
	if job.GetDeleteTime() != nil || unready && !s.o.Behaviour.RunUnreadyJob {
		return nil, preconditionFailed()
	}
	if req.GetValidateOnly() {
		e := s.executionOf(n, job, n.execution(n.job+"-"+randomSuffix()), req.GetOverrides())
		return s.validated(ctx, n.location, e)
	}
	script := scriptOf(ctx)
	name, err := s.scriptedName(n, script)
	if err != nil {
		return nil, err
	}
	job.CreateExecution = nil // a run of another kind makes the service drop the token
	x, err := s.newRun(n, job, name, req.GetOverrides())
	if err != nil {
		return nil, err
	}
	e, err := s.execution(name)
	if err != nil {
		return nil, err
	}
	op, answer, err := s.open(ctx, n.location, e)
	if err != nil {
		return nil, err
	}
	x.op, x.script = op, script
	x.atEnd = append(x.atEnd, func(e *runpb.Execution, end *status.Status) { s.finish(op, e, end) })
	s.begin(x)
	return answer, nil
}

func checkOverrides(job *runpb.Job, o *runpb.RunJobRequest_Overrides) error {
	if o == nil {
		return nil
	}
	if o.GetTaskCount() != 0 {
		if err := checkTaskCount("overrides.task_count", o.GetTaskCount()); err != nil {
			return err
		}
	}
	if o.Timeout != nil {
		if err := checkTimeout("overrides.timeout", o.GetTimeout()); err != nil {
			return err
		}
	}
	containers := job.GetTemplate().GetTemplate().GetContainers()
	for i, c := range o.GetContainerOverrides() {
		field := fmt.Sprintf("overrides.container_overrides[%d]", i)
		if overridden(containers, c.GetName()) == nil {
			return invalid(field+".name", "No container is named %q.", c.GetName())
		}
		if c.GetClearArgs() && len(c.GetArgs()) > 0 {
			return invalid(field+".args", "Must be empty when clear_args is set.")
		}
		if err := checkEnv(field+".env", c.GetEnv()); err != nil {
			return err
		}
	}
	return nil
}

// overridden finds the container that an override means: without a name the only
// or first one.
func overridden(containers []*runpb.Container, name string) *runpb.Container {
	for _, c := range containers {
		if name == "" || c.GetName() == name {
			return c
		}
	}
	return nil
}

// newRun makes an execution of the job and writes both.
func (s *Service) newRun(n jobName, job *runpb.Job, name executionName, o *runpb.RunJobRequest_Overrides) (*driven, error) {
	e := s.executionOf(n, job, name, o)
	t := s.stamp()
	e.Uid = store.NewUID()
	e.CreateTime, e.UpdateTime = timestamp(t), timestamp(t)
	e.Etag = etagOf(e.GetName(), t)
	if err := s.putExecution(e); err != nil {
		return nil, err
	}
	job.ExecutionCount++
	job.LatestCreatedExecution = &runpb.ExecutionReference{
		Name:             s.referenceName(name),
		CreateTime:       e.GetCreateTime(),
		CompletionStatus: runpb.ExecutionReference_EXECUTION_PENDING,
	}
	if s.o.Behaviour.RunChangesEtag {
		job.UpdateTime = timestamp(t)
		job.Etag = etagOf(job.GetName(), t)
	}
	if err := s.putJob(job); err != nil {
		return nil, err
	}
	x := &driven{name: name, active: map[int]*attempt{}, stopped: make(chan struct{})}
	for _, c := range job.GetTemplate().GetTemplate().GetContainers() {
		x.images = append(x.images, c.GetImage())
	}
	return x, nil
}

func (s *Service) referenceName(n executionName) string {
	if s.o.Behaviour.LatestCreatedExecutionFullName {
		return n.String()
	}
	return n.execution
}

// executionOf is the execution of a job as the first answer to a run shows it,
// without what only a real one has.
func (s *Service) executionOf(n jobName, job *runpb.Job, name executionName, o *runpb.RunJobRequest_Overrides) *runpb.Execution {
	t := job.GetTemplate()
	e := &runpb.Execution{
		Name:          name.String(),
		Creator:       caller,
		Generation:    1,
		Labels:        t.GetLabels(),
		Annotations:   t.GetAnnotations(),
		LaunchStage:   job.GetLaunchStage(),
		Job:           n.job,
		Parallelism:   t.GetParallelism(),
		TaskCount:     t.GetTaskCount(),
		Template:      t.GetTemplate(),
		Reconciling:   true,
		Conditions:    []*runpb.Condition{{Type: condCompleted, State: runpb.Condition_CONDITION_PENDING}},
		LogUri:        logURI(name, ""),
		Client:        t.GetClient(),
		ClientVersion: t.GetClientVersion(),
	}
	e = proto.CloneOf(e)
	delay := t.GetDelayExecution()
	if o != nil {
		if o.GetTaskCount() > 0 {
			e.TaskCount = o.GetTaskCount()
		}
		if o.Timeout != nil {
			e.Template.Timeout = proto.CloneOf(o.GetTimeout())
		}
		if o.DelayExecution != nil {
			delay = o.GetDelayExecution()
		}
		for _, c := range o.GetContainerOverrides() {
			override(overridden(e.Template.GetContainers(), c.GetName()), c)
		}
	}
	if delay {
		e.Conditions[0].Reasons = executionReason(runpb.Condition_DELAYED_START_PENDING)
	}
	limit := s.o.Behaviour.MaxParallelism
	if limit <= 0 {
		limit = defaultParallelism
	}
	if e.Parallelism == 0 {
		e.Parallelism = limit
	}
	e.Parallelism = min(e.Parallelism, e.TaskCount)
	for _, c := range e.Template.GetContainers() {
		c.Image = resolveImage(c.GetImage())
	}
	if s.o.Behaviour.SystemLabels {
		e.Labels = withSystemLabels(e.GetLabels(), map[string]string{
			"run.googleapis.com/job":           n.job,
			"run.googleapis.com/jobGeneration": fmt.Sprint(job.GetGeneration()),
			"run.googleapis.com/jobUid":        job.GetUid(),
			"cloud.googleapis.com/location":    n.location.location,
		})
		e.Annotations = withSystemLabels(e.GetAnnotations(), map[string]string{
			"run.googleapis.com/creator":               caller,
			"run.googleapis.com/lastModifier":          caller,
			"run.googleapis.com/execution-environment": "gen2",
		})
	}
	return e
}

func withSystemLabels(labels, system map[string]string) map[string]string {
	all := map[string]string{}
	for k, v := range labels {
		all[k] = v
	}
	for k, v := range system {
		all[k] = v
	}
	return all
}

// override merges env by name, an override winning, and replaces args.
func override(c *runpb.Container, o *runpb.RunJobRequest_Overrides_ContainerOverride) {
	for _, e := range o.GetEnv() {
		e = proto.CloneOf(e)
		i := slices.IndexFunc(c.Env, func(old *runpb.EnvVar) bool { return old.GetName() == e.GetName() })
		if i >= 0 {
			c.Env[i] = e
		} else {
			c.Env = append(c.Env, e)
		}
	}
	if len(o.GetArgs()) > 0 || o.GetClearArgs() {
		c.Args = slices.Clone(o.GetArgs())
	}
}

// resolveImage replaces a tag by a digest that depends on the reference only.
func resolveImage(image string) string {
	if strings.Contains(image, "@sha256:") {
		return image
	}
	digest := sha256.Sum256([]byte(image))
	repository := image
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		repository = image[:i]
	}
	return repository + "@sha256:" + hex.EncodeToString(digest[:])
}

// logURI points the Cloud console at the entries of an execution, or of one of
// its tasks.
func logURI(n executionName, taskIndex string) string {
	lines := []string{
		`resource.type="cloud_run_job"`,
		`resource.labels.job_name="` + n.job + `"`,
		`resource.labels.location="` + n.location.location + `"`,
		`labels."run.googleapis.com/execution_name"="` + n.execution + `"`,
	}
	if taskIndex != "" {
		lines = append(lines, `labels."run.googleapis.com/task_index"="`+taskIndex+`"`)
	}
	return "https://console.cloud.google.com/logs/viewer?project=" + url.QueryEscape(n.project) +
		"&advancedFilter=" + url.QueryEscape(strings.Join(lines, "\n"))
}
