// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/iam/admin/apiv1/adminpb"
	"cloud.google.com/go/iam/apiv1/iampb"
	"cloud.google.com/go/logging/apiv2/loggingpb"
	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"cloud.google.com/go/run/apiv2/runpb"
	"cloud.google.com/go/secretmanager/apiv1/secretmanagerpb"
	"github.com/jonboulle/clockwork"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/emptypb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// instantClock lets every pause pass at once and remembers it.
type instantClock struct {
	*clockwork.FakeClock

	mu     sync.Mutex
	paused []time.Duration
}

func newInstantClock() *instantClock { return &instantClock{FakeClock: clockwork.NewFakeClock()} }

func (c *instantClock) NewTimer(d time.Duration) clockwork.Timer {
	c.mu.Lock()
	c.paused = append(c.paused, d)
	c.mu.Unlock()
	t := c.FakeClock.NewTimer(d)
	c.Advance(d)
	return t
}

func (c *instantClock) pauses() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]time.Duration(nil), c.paused...)
}

// scripted answers each call of a method with the next of its answers; the last one stays.
type scripted struct {
	mu      sync.Mutex
	answers map[string][]answer
	calls   map[string]int
	seen    map[string][]proto.Message
	headers map[string]metadata.MD
}

type answer struct {
	message proto.Message
	err     error
	block   bool // until the call is given up
	gate    <-chan struct{}
}

func (s *scripted) on(method string, answers ...answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[method] = answers
}

func (s *scripted) count(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[method]
}

func (s *scripted) requests(method string) []proto.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[method]
}

func (s *scripted) header(method string) metadata.MD {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.headers[method]
}

func (s *scripted) next(ctx context.Context, method string, req proto.Message) answer {
	s.mu.Lock()
	s.calls[method]++
	s.seen[method] = append(s.seen[method], req)
	s.headers[method], _ = metadata.FromIncomingContext(ctx)
	list := s.answers[method]
	if len(list) == 0 {
		s.mu.Unlock()
		return answer{err: status.Error(codes.Unimplemented, "no answer scripted for "+method)}
	}
	a := list[0]
	if len(list) > 1 {
		s.answers[method] = list[1:]
	}
	s.mu.Unlock()
	if a.gate != nil {
		<-a.gate
	}
	if a.block {
		<-ctx.Done()
		a.err = status.FromContextError(ctx.Err()).Err() // it may be a moment ahead of the client
	}
	return a
}

func reply[T proto.Message](ctx context.Context, s *scripted, method string, req proto.Message) (T, error) {
	var none T
	a := s.next(ctx, method, req)
	if a.err != nil {
		return none, a.err
	}
	m, ok := a.message.(T)
	if !ok {
		return none, status.Errorf(codes.Internal, "the answer scripted for %s is a %T", method, a.message)
	}
	return m, nil
}

type fakeJobs struct {
	runpb.UnimplementedJobsServer
	*scripted
}

func (f fakeJobs) GetJob(ctx context.Context, r *runpb.GetJobRequest) (*runpb.Job, error) {
	return reply[*runpb.Job](ctx, f.scripted, "GetJob", r)
}

func (f fakeJobs) CreateJob(ctx context.Context, r *runpb.CreateJobRequest) (*longrunningpb.Operation, error) {
	return reply[*longrunningpb.Operation](ctx, f.scripted, "CreateJob", r)
}

func (f fakeJobs) UpdateJob(ctx context.Context, r *runpb.UpdateJobRequest) (*longrunningpb.Operation, error) {
	return reply[*longrunningpb.Operation](ctx, f.scripted, "UpdateJob", r)
}

func (f fakeJobs) DeleteJob(ctx context.Context, r *runpb.DeleteJobRequest) (*longrunningpb.Operation, error) {
	return reply[*longrunningpb.Operation](ctx, f.scripted, "DeleteJob", r)
}

func (f fakeJobs) RunJob(ctx context.Context, r *runpb.RunJobRequest) (*longrunningpb.Operation, error) {
	return reply[*longrunningpb.Operation](ctx, f.scripted, "RunJob", r)
}

type fakeExecutions struct {
	runpb.UnimplementedExecutionsServer
	*scripted
}

func (f fakeExecutions) GetExecution(ctx context.Context, r *runpb.GetExecutionRequest) (*runpb.Execution, error) {
	return reply[*runpb.Execution](ctx, f.scripted, "GetExecution", r)
}

func (f fakeExecutions) ListExecutions(ctx context.Context, r *runpb.ListExecutionsRequest) (*runpb.ListExecutionsResponse, error) {
	return reply[*runpb.ListExecutionsResponse](ctx, f.scripted, "ListExecutions", r)
}

func (f fakeExecutions) CancelExecution(ctx context.Context, r *runpb.CancelExecutionRequest) (*longrunningpb.Operation, error) {
	return reply[*longrunningpb.Operation](ctx, f.scripted, "CancelExecution", r)
}

type fakeTasks struct {
	runpb.UnimplementedTasksServer
	*scripted
}

func (f fakeTasks) ListTasks(ctx context.Context, r *runpb.ListTasksRequest) (*runpb.ListTasksResponse, error) {
	return reply[*runpb.ListTasksResponse](ctx, f.scripted, "ListTasks", r)
}

func (f fakeTasks) GetTask(ctx context.Context, r *runpb.GetTaskRequest) (*runpb.Task, error) {
	return reply[*runpb.Task](ctx, f.scripted, "GetTask", r)
}

type fakeOperations struct {
	longrunningpb.UnimplementedOperationsServer
	*scripted
}

func (f fakeOperations) GetOperation(ctx context.Context, r *longrunningpb.GetOperationRequest) (*longrunningpb.Operation, error) {
	return reply[*longrunningpb.Operation](ctx, f.scripted, "GetOperation", r)
}

type fakeIAM struct {
	adminpb.UnimplementedIAMServer
	*scripted
}

func (f *fakeIAM) GetServiceAccount(ctx context.Context, r *adminpb.GetServiceAccountRequest) (*adminpb.ServiceAccount, error) {
	return reply[*adminpb.ServiceAccount](ctx, f.scripted, "GetServiceAccount", r)
}

func (f *fakeIAM) CreateServiceAccount(ctx context.Context, r *adminpb.CreateServiceAccountRequest) (*adminpb.ServiceAccount, error) {
	return reply[*adminpb.ServiceAccount](ctx, f.scripted, "CreateServiceAccount", r)
}

func (f *fakeIAM) PatchServiceAccount(ctx context.Context, r *adminpb.PatchServiceAccountRequest) (*adminpb.ServiceAccount, error) {
	return reply[*adminpb.ServiceAccount](ctx, f.scripted, "PatchServiceAccount", r)
}

func (f *fakeIAM) DeleteServiceAccount(ctx context.Context, r *adminpb.DeleteServiceAccountRequest) (*emptypb.Empty, error) {
	return reply[*emptypb.Empty](ctx, f.scripted, "DeleteServiceAccount", r)
}

type fakeSecrets struct {
	secretmanagerpb.UnimplementedSecretManagerServiceServer
	*scripted
}

func (f *fakeSecrets) GetSecret(ctx context.Context, r *secretmanagerpb.GetSecretRequest) (*secretmanagerpb.Secret, error) {
	return reply[*secretmanagerpb.Secret](ctx, f.scripted, "GetSecret", r)
}

func (f *fakeSecrets) GetIamPolicy(ctx context.Context, r *iampb.GetIamPolicyRequest) (*iampb.Policy, error) {
	return reply[*iampb.Policy](ctx, f.scripted, "GetIamPolicy", r)
}

func (f *fakeSecrets) SetIamPolicy(ctx context.Context, r *iampb.SetIamPolicyRequest) (*iampb.Policy, error) {
	return reply[*iampb.Policy](ctx, f.scripted, "SetIamPolicy", r)
}

func (f *fakeSecrets) TestIamPermissions(ctx context.Context, r *iampb.TestIamPermissionsRequest) (*iampb.TestIamPermissionsResponse, error) {
	return reply[*iampb.TestIamPermissionsResponse](ctx, f.scripted, "TestIamPermissions", r)
}

type fakeLogs struct {
	loggingpb.UnimplementedLoggingServiceV2Server
	*scripted
}

func (f *fakeLogs) ListLogEntries(ctx context.Context, r *loggingpb.ListLogEntriesRequest) (*loggingpb.ListLogEntriesResponse, error) {
	return reply[*loggingpb.ListLogEntriesResponse](ctx, f.scripted, "ListLogEntries", r)
}

// fakeCloud is a gRPC server with scripted answers, and the client that calls it.
type fakeCloud struct {
	*scripted
	*Client
	clock *instantClock
}

func newFakeCloud(t *testing.T, change ...func(*Options)) *fakeCloud {
	t.Helper()
	return newFakeCloudWith(t, nil, change...)
}

// newFakeCloudWith is newFakeCloud behind TLS, when there are credentials.
func newFakeCloudWith(t *testing.T, secure credentials.TransportCredentials, change ...func(*Options)) *fakeCloud {
	t.Helper()
	s := &scripted{answers: map[string][]answer{}, calls: map[string]int{}, seen: map[string][]proto.Message{}, headers: map[string]metadata.MD{}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serverOptions []grpc.ServerOption
	scheme := "http://"
	if secure != nil {
		serverOptions, scheme = append(serverOptions, grpc.Creds(secure)), "https://"
	}
	server := grpc.NewServer(serverOptions...)
	runpb.RegisterJobsServer(server, fakeJobs{scripted: s})
	runpb.RegisterExecutionsServer(server, fakeExecutions{scripted: s})
	runpb.RegisterTasksServer(server, fakeTasks{scripted: s})
	longrunningpb.RegisterOperationsServer(server, fakeOperations{scripted: s})
	adminpb.RegisterIAMServer(server, &fakeIAM{scripted: s})
	secretmanagerpb.RegisterSecretManagerServiceServer(server, &fakeSecrets{scripted: s})
	loggingpb.RegisterLoggingServiceV2Server(server, &fakeLogs{scripted: s})
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	f := &fakeCloud{scripted: s, clock: newInstantClock()}
	address := scheme + listener.Addr().String()
	o := Options{Endpoints: Endpoints{Run: address, IAM: address}, AccessToken: "secret-token", UserAgent: "test-agent", Clock: f.clock}
	for _, c := range change {
		c(&o)
	}
	f.Client = newTestClient(t, o)
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Errorf("the fake server: %v", err)
		}
	})
	return f
}

func newTestClient(t *testing.T, o Options) *Client {
	t.Helper()
	if o.Clock == nil {
		o.Clock = newInstantClock()
	}
	c, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return c
}

// newStorageClient returns a client whose Cloud Storage is the handler.
func newStorageClient(t *testing.T, h http.Handler) (*Client, *instantClock) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	clock := newInstantClock()
	return newTestClient(t, Options{Endpoints: Endpoints{Storage: server.URL}, AccessToken: "secret-token", Clock: clock}), clock
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func wantError(t *testing.T, err error) *Error {
	t.Helper()
	e, ok := AsError(err)
	if !ok {
		t.Fatalf("got %v, want an *Error", err)
	}
	return e
}

func anyOfMessage(t *testing.T, m proto.Message) *anypb.Any {
	t.Helper()
	return must[*anypb.Any](t)(anypb.New(m))
}

const (
	testParent = "projects/p/locations/us-central1"
	testJob    = testParent + "/jobs/train"
)
