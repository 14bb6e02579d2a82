// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"context"
	"errors"
	"iter"

	"cloud.google.com/go/iam/admin/apiv1/adminpb"
	"cloud.google.com/go/run/apiv2/runpb"
	"google.golang.org/api/storage/v1"
)

var errNotYet = errors.ErrUnsupported

func transient(e *Error) bool { return false }

type call struct{}

// Option changes one call.
type Option func(*call)

// FreshAccount says that the account was created a moment ago: what the API answers while it does not see it yet is waited out.
func FreshAccount(email string) Option { return func(*call) {} }

// Fresh says that the resource was created a moment ago: "not found" is waited out.
func Fresh() Option { return func(*call) {} }

// IfMetageneration lets a bucket change only while the bucket has this metageneration.
func IfMetageneration(n int64) Option { return func(*call) {} }

// GetJob reads a job by its full name.
func (c *Client) GetJob(ctx context.Context, name string, opts ...Option) (*runpb.Job, error) {
	return nil, errNotYet
}

// CreateJob creates a job.
func (c *Client) CreateJob(ctx context.Context, parent, id string, job *runpb.Job, opts ...Option) (*JobOperation, error) {
	return nil, errNotYet
}

// UpdateJob replaces a job.
func (c *Client) UpdateJob(ctx context.Context, job *runpb.Job, opts ...Option) (*JobOperation, error) {
	return nil, errNotYet
}

// DeleteJob deletes a job.
func (c *Client) DeleteJob(ctx context.Context, name, etag string) (*JobOperation, error) {
	return nil, errNotYet
}

// JobOperation is a running create, update or delete of a job.
type JobOperation struct{}

// Job returns the job as the operation's first answer shows it.
func (o *JobOperation) Job() *runpb.Job { return nil }

// Name returns the operation's name.
func (o *JobOperation) Name() string { return "" }

// Wait waits for the operation's end.
func (o *JobOperation) Wait(ctx context.Context) (*runpb.Job, error) { return nil, errNotYet }

// RunJob starts an execution.
func (c *Client) RunJob(ctx context.Context, req *runpb.RunJobRequest) (*runpb.Execution, error) {
	return nil, errNotYet
}

// GetExecution reads an execution by its full name.
func (c *Client) GetExecution(ctx context.Context, name string) (*runpb.Execution, error) {
	return nil, errNotYet
}

// Executions lists the executions of a job, newest first.
func (c *Client) Executions(ctx context.Context, parent string) iter.Seq2[*runpb.Execution, error] {
	return func(func(*runpb.Execution, error) bool) {}
}

// Tasks lists the tasks of an execution.
func (c *Client) Tasks(ctx context.Context, parent string) iter.Seq2[*runpb.Task, error] {
	return func(func(*runpb.Task, error) bool) {}
}

// GetTask reads a task by its full name.
func (c *Client) GetTask(ctx context.Context, name string) (*runpb.Task, error) { return nil, errNotYet }

// CancelExecution asks for the end of a running execution.
func (c *Client) CancelExecution(ctx context.Context, name string) (*runpb.Execution, error) {
	return nil, errNotYet
}

// GetServiceAccount reads an account.
func (c *Client) GetServiceAccount(ctx context.Context, project, email string, opts ...Option) (*adminpb.ServiceAccount, error) {
	return nil, errNotYet
}

// CreateServiceAccount creates an account.
func (c *Client) CreateServiceAccount(ctx context.Context, project, id, displayName, description string) (*adminpb.ServiceAccount, error) {
	return nil, errNotYet
}

// UpdateServiceAccount changes display name and description.
func (c *Client) UpdateServiceAccount(ctx context.Context, project, email, displayName, description string) (*adminpb.ServiceAccount, error) {
	return nil, errNotYet
}

// DeleteServiceAccount deletes an account.
func (c *Client) DeleteServiceAccount(ctx context.Context, project, emailOrUniqueID string) error {
	return errNotYet
}

// GetBucket reads a bucket's metadata.
func (c *Client) GetBucket(ctx context.Context, name string, opts ...Option) (*storage.Bucket, error) {
	return nil, errNotYet
}

// CreateBucket creates a bucket.
func (c *Client) CreateBucket(ctx context.Context, project string, b *storage.Bucket) (*storage.Bucket, error) {
	return nil, errNotYet
}

// PatchBucket changes the fields of b that are set, forced or null.
func (c *Client) PatchBucket(ctx context.Context, name string, b *storage.Bucket, opts ...Option) (*storage.Bucket, error) {
	return nil, errNotYet
}

// DeleteBucket deletes an empty bucket.
func (c *Client) DeleteBucket(ctx context.Context, name string) error { return errNotYet }

// BucketPermissions returns which of perms the caller has on the bucket.
func (c *Client) BucketPermissions(ctx context.Context, bucket string, perms []string) ([]string, error) {
	return nil, errNotYet
}

// CountObjects counts objects, all versions, up to limit.
func (c *Client) CountObjects(ctx context.Context, bucket string, limit int) (n int, more bool, err error) {
	return 0, false, errNotYet
}

// EmptyBucket deletes everything in a bucket.
func (c *Client) EmptyBucket(ctx context.Context, bucket string) (deleted int, err error) {
	return 0, errNotYet
}

// Grant is one role for one member on one resource.
type Grant struct{ Resource, Role, Member string }

// AddMember adds a grant; false when the member has it already.
func (c *Client) AddMember(ctx context.Context, g Grant, opts ...Option) (added bool, err error) {
	return false, errNotYet
}

// RemoveMember removes a grant; false when it is not there.
func (c *Client) RemoveMember(ctx context.Context, g Grant) (removed bool, err error) {
	return false, errNotYet
}

// HasMember reports whether the policy holds the grant.
func (c *Client) HasMember(ctx context.Context, g Grant) (bool, error) { return false, errNotYet }

// EmulatorUID reports whether a uid, unique id or project number was made by the emulator.
func EmulatorUID(uid string) bool { return false }
