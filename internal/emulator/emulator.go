// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package emulator

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/iam"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/logging"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/operations"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/secretmanager"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/storage"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

// drain is how long Close lets requests end that are under way.
const drain = 2 * time.Second

// Options of Start. The zero value is usable: a free port, memory only, real
// processes.
type Options struct {
	// Listen is host:port on a loopback address; empty means 127.0.0.1 and any
	// free port.
	Listen string
	// Data is a folder that keeps everything; empty means memory only. Objects
	// then live in a temporary folder that Close removes.
	Data string
	// Clock is the time of every room; nil is the real one.
	Clock clockwork.Clock
	// Launcher starts tasks; nil means real processes.
	Launcher runner.Launcher
	// Images say what to start for images whose jobs name no command.
	Images []runner.Image
	// PreemptAfter and PreemptEvery preempt tasks on a schedule; see run.Options.
	PreemptAfter, PreemptEvery time.Duration
	// TaskOutput gets every line that a task writes; nil drops them. The log
	// entries hold them in any case.
	TaskOutput func(task, stream, line string)
	// Logger gets what happens; nil is silent.
	Logger *slog.Logger
	// Behaviour chooses where public material leaves open what Google does.
	Behaviour run.Behaviour
	// ControlToken admits to the control API; empty means a random one.
	ControlToken string
}

// Emulator is a running emulator.
type Emulator struct {
	listener net.Listener
	server   *http.Server
	served   chan struct{}
	stop     func() // of what the front started
	token    string
	mode     string
	logger   *slog.Logger

	store      *store.Store
	faults     *faults.Script
	operations *operations.Service
	iam        *iam.Service
	logging    *logging.Service
	storage    *storage.Service
	secrets    *secretmanager.Service
	run        *run.Service

	closing  sync.Once
	closeErr error
}

// Start starts an emulator. When it returns without error, requests are
// answered.
func Start(o Options) (*Emulator, error) {
	if o.Clock == nil {
		o.Clock = clockwork.NewRealClock()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.ControlToken == "" {
		o.ControlToken = rand.Text()
	}
	e := &Emulator{token: o.ControlToken, logger: o.Logger, served: make(chan struct{})}
	if err := e.start(o); err != nil {
		return nil, errors.Join(err, e.closeRooms())
	}
	return e, nil
}

func (e *Emulator) start(o Options) error {
	// The port first: a second emulator must not touch the first one's folder.
	listener, err := listen(o.Listen)
	if err != nil {
		return err
	}
	if err := e.build(o); err != nil {
		return errors.Join(err, listener.Close())
	}
	handler, stop, err := e.handler()
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	e.listener, e.stop = listener, stop
	e.server = newServer(handler, o.Logger)
	go func() {
		defer close(e.served)
		if err := e.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			o.Logger.Error("the emulator serves no more", "error", err)
		}
	}()
	return nil
}

// build makes the rooms, those that others need first.
func (e *Emulator) build(o Options) error {
	var err error
	if o.Data == "" {
		e.store = store.Memory()
	} else if e.store, err = store.Folder(o.Data); err != nil {
		return err
	}
	if o.Launcher == nil {
		if o.Launcher, err = runner.NewProcesses(runner.Options{Images: o.Images, Clock: o.Clock, Logger: o.Logger}); err != nil {
			return err
		}
	}
	if launcher, ok := o.Launcher.(interface{ Mode() string }); ok {
		e.mode = launcher.Mode()
	}
	tell := &narrator{logger: o.Logger, attempts: map[attemptOf]string{}}
	e.faults = faults.NewScript(o.Clock)
	e.faults.Watch(tell.call)
	e.operations = operations.New(e.store, o.Clock)
	e.iam = iam.New(e.store, o.Clock)
	if e.logging, err = logging.New(e.store, o.Clock); err != nil {
		return err
	}
	if e.storage, err = storage.New(e.store, o.Clock, e.faults, e.iam); err != nil {
		return err
	}
	e.secrets = secretmanager.New(e.store, o.Clock, e.iam)
	e.run = run.New(run.Options{
		Store: e.store, Clock: o.Clock, Operations: e.operations,
		Accounts: e.iam, Buckets: e.storage, Secrets: e.secrets, Logs: tell.logs(e.logging),
		Launcher: o.Launcher, Behaviour: o.Behaviour,
		PreemptAfter: o.PreemptAfter, PreemptEvery: o.PreemptEvery,
		TaskOutput: o.TaskOutput, Logger: o.Logger,
	})
	return nil
}

// listen opens the port. Whoever reaches it can start processes, so that it is
// never one that other machines reach.
func listen(address string) (net.Listener, error) {
	if address == "" {
		address = "127.0.0.1:0"
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %q: want HOST:PORT, such as 127.0.0.1:8085: %w", address, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("cannot listen on %q: the emulator starts processes for whoever reaches its port, so that it listens on a loopback address only, such as 127.0.0.1:8085", address)
	}
	listener, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("cannot listen on %s: another program, perhaps another emulator, uses this port; stop it or choose another port: %w", address, err)
	case err != nil:
		return nil, fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	return listener, nil
}

// Addr is where the emulator listens, host:port.
func (e *Emulator) Addr() string { return e.listener.Addr().String() }

// Close stops the emulator: the tasks first (SIGTERM, the grace, SIGKILL), then
// the port, then the rooms. Calls after the first return what it returned.
func (e *Emulator) Close() error {
	e.closing.Do(func() {
		e.run.Close()
		ctx, cancel := context.WithTimeout(context.Background(), drain)
		defer cancel()
		if e.server.Shutdown(ctx) != nil {
			_ = e.server.Close() // somebody still polls; the answer is of no use to them
		}
		<-e.served
		e.stop()
		e.closeErr = e.closeRooms()
	})
	return e.closeErr
}

// closeRooms closes what was made so far, in the opposite order.
func (e *Emulator) closeRooms() error {
	var errs []error
	if e.run != nil {
		e.run.Close()
	}
	if e.storage != nil {
		errs = append(errs, e.storage.Close())
	}
	if e.operations != nil {
		e.operations.Close()
	}
	if e.logging != nil {
		errs = append(errs, e.logging.Close())
	}
	if e.store != nil {
		errs = append(errs, e.store.Close())
	}
	return errors.Join(errs...)
}

// TaskMode is how tasks see their mounts: runner.ModeNamespace,
// runner.ModeRewrite, or empty with a launcher that starts no processes.
func (e *Emulator) TaskMode() string { return e.mode }

// Faults is the record of calls and what is to go wrong with them.
func (e *Emulator) Faults() *faults.Script { return e.faults }

// Run is Cloud Run.
func (e *Emulator) Run() *run.Service { return e.run }

// Storage is Cloud Storage.
func (e *Emulator) Storage() *storage.Service { return e.storage }

// IAM is Identity and Access Management.
func (e *Emulator) IAM() *iam.Service { return e.iam }

// Secrets is Secret Manager.
func (e *Emulator) Secrets() *secretmanager.Service { return e.secrets }

// Logging is Cloud Logging.
func (e *Emulator) Logging() *logging.Service { return e.logging }

// Operations holds the long-running operations.
func (e *Emulator) Operations() *operations.Service { return e.operations }

// ControlToken admits to the control API.
func (e *Emulator) ControlToken() string { return e.token }
