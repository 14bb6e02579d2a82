// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run

import (
	"context"
	"strings"
	"time"

	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

// caller is who makes every change: the emulator knows no callers.
const caller = "emulator@example.com"

// keptDeleted is how long a deleted resource can be listed.
const keptDeleted = 30 * 24 * time.Hour

// CreateJob implements runpb.JobsServer.
func (s *Service) CreateJob(ctx context.Context, req *runpb.CreateJobRequest) (*longrunningpb.Operation, error) {
	parent, err := parseLocation("parent", req.GetParent())
	if err != nil {
		return nil, err
	}
	n := jobName{parent, req.GetJobId()}
	if n.job == "" {
		n.job = "job-" + randomSuffix() + randomSuffix()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.create(ctx, n, req.GetJob(), req.GetValidateOnly())
}

func (s *Service) create(ctx context.Context, n jobName, sent *runpb.Job, validateOnly bool) (*longrunningpb.Operation, error) {
	if err := s.checkJobID(n.job); err != nil {
		return nil, err
	}
	job, err := s.accept(n, sent)
	if err != nil {
		return nil, err
	}
	if old, err := s.job(n); err != nil {
		return nil, err
	} else if old != nil {
		return nil, failure(codes.AlreadyExists, "Job %s already exists.", n)
	}
	if err := s.checkAccount(n.project, job.GetTemplate().GetTemplate().GetServiceAccount()); err != nil {
		return nil, err
	}
	job.Creator, job.LastModifier = caller, caller
	job.Generation = 1
	job.LatestCreatedExecution = s.noExecution()
	if validateOnly {
		return s.validated(ctx, n.location, job)
	}
	t := s.stamp()
	job.Uid = store.NewUID()
	job.CreateTime, job.UpdateTime = timestamp(t), timestamp(t)
	job.Etag = etagOf(job.GetName(), t)
	job.Reconciling = true
	job.TerminalCondition = &runpb.Condition{State: runpb.Condition_CONDITION_PENDING}
	return s.apply(ctx, n, job, executionToken(job), "CreateJob")
}

// accept returns the job that a create or update asks for, checked and with
// defaults; what only the server sets is cleared.
func (s *Service) accept(n jobName, sent *runpb.Job) (*runpb.Job, error) {
	if sent == nil {
		return nil, invalid("job", "Required field not specified.")
	}
	job := &runpb.Job{
		Name:                n.String(),
		Labels:              sent.GetLabels(),
		Annotations:         sent.GetAnnotations(),
		Client:              sent.GetClient(),
		ClientVersion:       sent.GetClientVersion(),
		LaunchStage:         sent.GetLaunchStage(),
		BinaryAuthorization: sent.GetBinaryAuthorization(),
		Template:            sent.GetTemplate(),
		CreateExecution:     sent.GetCreateExecution(),
		FunctionalType:      sent.GetFunctionalType(),
	}
	job.ProtoReflect().SetUnknown(sent.ProtoReflect().GetUnknown())
	job = proto.CloneOf(job)
	s.fillDefaults(n.project, job)
	if err := s.validate(n, job); err != nil {
		return nil, err
	}
	s.lowerStage(job)
	return job, nil
}

// noExecution is latest_created_execution before the first run.
func (s *Service) noExecution() *runpb.ExecutionReference {
	if s.o.Behaviour.LatestCreatedExecutionEpoch {
		epoch := timestamp(time.Unix(0, 0))
		return &runpb.ExecutionReference{CreateTime: epoch, CompletionTime: epoch}
	}
	return &runpb.ExecutionReference{}
}

// GetJob implements runpb.JobsServer.
func (s *Service) GetJob(_ context.Context, req *runpb.GetJobRequest) (*runpb.Job, error) {
	n, err := parseJob("name", req.GetName())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.existingJob(n)
}

func (s *Service) existingJob(n jobName) (*runpb.Job, error) {
	job, err := s.job(n)
	if err == nil && job == nil {
		err = n.notFound()
	}
	return job, err
}

// ListJobs implements runpb.JobsServer.
func (s *Service) ListJobs(_ context.Context, req *runpb.ListJobsRequest) (*runpb.ListJobsResponse, error) {
	parent, err := parseLocation("parent", req.GetParent())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	prefixes := []string{jobKey}
	if req.GetShowDeleted() {
		prefixes = append(prefixes, deletedKey)
	}
	var all []*runpb.Job
	for _, prefix := range prefixes {
		jobs, err := readAll(s, prefix, func(key string) bool { return strings.HasPrefix(key, parent.String()+"/jobs/") }, newJob)
		if err != nil {
			return nil, err
		}
		all = append(all, jobs...)
	}
	page, next, err := newestFirst(all, req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	return &runpb.ListJobsResponse{Jobs: page, NextPageToken: next}, nil
}

// UpdateJob implements runpb.JobsServer. There is no field mask: what the
// request leaves out gets its default again.
func (s *Service) UpdateJob(ctx context.Context, req *runpb.UpdateJobRequest) (*longrunningpb.Operation, error) {
	n, err := parseJob("job.name", req.GetJob().GetName())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old, err := s.job(n)
	if err != nil {
		return nil, err
	}
	if old == nil {
		if req.GetAllowMissing() {
			return s.create(ctx, n, req.GetJob(), req.GetValidateOnly())
		}
		return nil, n.notFound()
	}
	job, err := s.accept(n, req.GetJob())
	if err != nil {
		return nil, err
	}
	if err := checkEtag(s.o.Behaviour.StaleEtagOnUpdate, req.GetJob().GetEtag(), old.GetEtag(), n.job); err != nil {
		return nil, err
	}
	if old.GetDeleteTime() != nil {
		return nil, preconditionFailed()
	}
	if err := s.checkAccount(n.project, job.GetTemplate().GetTemplate().GetServiceAccount()); err != nil {
		return nil, err
	}
	token := executionToken(job)
	if token != "" && token == executionToken(old) && s.o.Behaviour.SameTokenIgnored {
		token = ""
	}
	inherit(job, old)
	if s.specChanged(old, job) || token != "" {
		job.Generation++
	}
	job.LastModifier = caller
	if req.GetValidateOnly() {
		return s.validated(ctx, n.location, job)
	}
	t := s.stamp()
	job.UpdateTime = timestamp(t)
	job.Etag = etagOf(job.GetName(), t)
	if s.o.Behaviour.EqualUpdateKeepsReady && job.GetGeneration() == old.GetGeneration() && !old.GetReconciling() {
		return s.keep(ctx, n, job)
	}
	job.Reconciling = true
	job.TerminalCondition = pendingReady(t)
	return s.apply(ctx, n, job, token, "UpdateJob")
}

func pendingReady(t time.Time) *runpb.Condition {
	return &runpb.Condition{Type: "Ready", State: runpb.Condition_CONDITION_PENDING, LastTransitionTime: timestamp(t)}
}

// inherit copies what an update cannot change.
func inherit(job, old *runpb.Job) {
	job.Uid = old.GetUid()
	job.Generation = old.GetGeneration()
	job.ObservedGeneration = old.GetObservedGeneration()
	job.CreateTime = old.GetCreateTime()
	job.UpdateTime = old.GetUpdateTime()
	job.Creator = old.GetCreator()
	job.ExecutionCount = old.GetExecutionCount()
	job.LatestCreatedExecution = old.GetLatestCreatedExecution()
	job.SatisfiesPzs = old.GetSatisfiesPzs()
	job.Etag = old.GetEtag()
	job.TerminalCondition = old.GetTerminalCondition()
}

// specChanged reports whether the desired state differs.
func (s *Service) specChanged(old, job *runpb.Job) bool {
	spec := func(j *runpb.Job) *runpb.Job {
		spec := &runpb.Job{
			BinaryAuthorization: j.GetBinaryAuthorization(),
			Template:            j.GetTemplate(),
			FunctionalType:      j.GetFunctionalType(),
		}
		if s.o.Behaviour.MetadataRaisesGeneration {
			spec.Labels, spec.Annotations = j.GetLabels(), j.GetAnnotations()
			spec.Client, spec.ClientVersion = j.GetClient(), j.GetClientVersion()
		}
		return spec
	}
	return !proto.Equal(spec(old), spec(job))
}

// DeleteJob implements runpb.JobsServer. Executions that run are killed.
func (s *Service) DeleteJob(ctx context.Context, req *runpb.DeleteJobRequest) (*longrunningpb.Operation, error) {
	n, err := parseJob("name", req.GetName())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	job, err := s.existingJob(n)
	if err != nil {
		return nil, err
	}
	if err := checkEtag(s.o.Behaviour.StaleEtagOnDelete, req.GetEtag(), job.GetEtag(), n.job); err != nil {
		return nil, err
	}
	if req.GetValidateOnly() {
		return s.validated(ctx, n.location, job)
	}
	if job.GetDeleteTime() != nil {
		return nil, preconditionFailed()
	}
	t := s.stamp()
	job.Generation++
	job.UpdateTime, job.DeleteTime, job.ExpireTime = timestamp(t), timestamp(t), timestamp(t.Add(keptDeleted))
	job.Etag = etagOf(job.GetName(), t)
	job.Reconciling = true
	job.TerminalCondition = pendingReady(t)
	op, answer, err := s.open(ctx, n.location, job)
	if err != nil {
		return nil, err
	}
	if err := s.putJob(job); err != nil {
		return nil, err
	}
	s.applying[n] = op.Name()
	for _, x := range s.running {
		if x.name.jobName == n {
			s.stop(x, stopDeleted)
		}
	}
	s.adminActivity(n, "DeleteJob")
	s.finishDelete(op, n, job.GetUid())
	return answer, nil
}
