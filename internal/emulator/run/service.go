// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run

import (
	"log/slog"
	"sync"
	"time"

	"cloud.google.com/go/logging/apiv2/loggingpb"
	"cloud.google.com/go/run/apiv2/runpb"
	"github.com/jonboulle/clockwork"
	"google.golang.org/grpc"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/operations"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

// Accounts tells which service accounts Cloud Run sees.
type Accounts interface {
	RunViewExists(email string) bool
}

// Buckets gives tasks their Cloud Storage volumes.
type Buckets interface {
	// Exists reports whether there is a bucket of that name.
	Exists(bucket string) bool
	// Dir is the folder of the host that holds the bucket's objects as files.
	Dir(bucket string) (string, bool)
	// Allowed reports whether the bucket's policy gives the member the permission.
	Allowed(bucket, member, permission string) bool
}

// Secrets gives tasks the secrets that they name.
type Secrets interface {
	// Access returns the payload. The secret is projects/P/secrets/S, with the
	// project's id or number, the version a number, "latest" or an alias, the
	// member the one that reads it. The error is a status, whose text is shown to
	// the user: NOT_FOUND without such a version, PERMISSION_DENIED without the
	// right to read it.
	Access(secret, version, member string) ([]byte, error)
}

// Logs takes log entries. It may be called with locks of this room held.
type Logs interface {
	Append(entries ...*loggingpb.LogEntry)
}

// Options are what the room works with. Store, Operations and Launcher are
// required.
type Options struct {
	Store      *store.Store
	Clock      clockwork.Clock // nil is the real one
	Operations *operations.Service
	Accounts   Accounts // nil: every account exists
	Buckets    Buckets  // nil: no bucket exists
	Secrets    Secrets  // nil: no job's secrets are checked, and a task that needs one cannot start
	Logs       Logs     // nil: dropped
	Launcher   runner.Launcher
	Behaviour  Behaviour
	// PreemptAfter preempts the first attempt of each task when it has run so
	// long; 0 does not. PreemptEvery does the same with every later attempt, and
	// with the first when PreemptAfter is 0.
	PreemptAfter, PreemptEvery time.Duration
	// TaskOutput gets every line that a task writes; nil drops them.
	TaskOutput func(task, stream, line string)
	Logger     *slog.Logger // nil is silent
}

// Timing is how long each phase of an execution takes. A negative duration
// means for ever: the execution stays in the phase until it is cancelled.
type Timing struct {
	// Import is from the creation to ContainerReady.
	Import time.Duration
	// Provision is from there to ResourcesAvailable, when tasks are scheduled.
	Provision time.Duration
	// Start is from there to the start of the first tasks.
	Start time.Duration
}

// Service serves jobs, executions and tasks, and runs executions. It is safe for
// concurrent use.
type Service struct {
	runpb.UnimplementedJobsServer
	runpb.UnimplementedExecutionsServer
	runpb.UnimplementedTasksServer

	o Options

	work sync.WaitGroup // goroutines of executions

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at every change
	last    time.Time     // the newest change time that was given out
	timing  Timing
	retimed chan struct{}      // closed and replaced when timing changes
	running map[string]*driven // by full name
	// applying holds the newest write to each job that reconciles: its operation.
	applying map[jobName]string
	pulled   map[string]bool // images that an execution has imported
	missing  map[string]bool // images that cannot be found
	closed   bool
	entries  int64 // log entries made
}

// New returns a service over what the store holds. Executions that an earlier
// emulator left unfinished end as platform failures.
func New(o Options) *Service {
	if o.Clock == nil {
		o.Clock = clockwork.NewRealClock()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{
		o:        o,
		changed:  make(chan struct{}),
		retimed:  make(chan struct{}),
		running:  map[string]*driven{},
		applying: map[jobName]string{},
		pulled:   map[string]bool{},
		missing:  map[string]bool{},
	}
	s.recoverState()
	return s
}

// Register adds the three services to a server.
func (s *Service) Register(server grpc.ServiceRegistrar) {
	runpb.RegisterJobsServer(server, s)
	runpb.RegisterExecutionsServer(server, s)
	runpb.RegisterTasksServer(server, s)
}
