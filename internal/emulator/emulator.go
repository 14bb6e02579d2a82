// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package emulator

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jonboulle/clockwork"
	"google.golang.org/grpc/status"

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
	// Record gets a line of JSON for each call when it has ended; nil gets none.
	Record io.Writer
	// Seed is a document of which the world is made when it is empty at the start;
	// see Emulator.Seed. An error of it is one of the start.
	Seed []byte
}

// Emulator is a running emulator.
type Emulator struct {
	options  Options
	listener net.Listener
	server   *http.Server
	served   chan struct{}
	mode     string
	store    *store.Store
	current  atomic.Pointer[world]

	resetting sync.Mutex // held by a reset, and by Close
	closed    bool       // guarded by resetting
	closing   sync.Once
	closeErr  error
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
	e := &Emulator{options: o, served: make(chan struct{})}
	// The port first: a second emulator must not touch the first one's folder.
	listener, err := listen(o.Listen)
	if err != nil {
		return nil, err
	}
	e.listener = listener
	if err := e.build(); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	e.server = newServer(guard(e), o.Logger)
	go func() {
		defer close(e.served)
		if err := e.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			o.Logger.Error("the emulator serves no more", "error", err)
		}
	}()
	return e, nil
}

// build makes the store, what starts tasks, and the first world.
func (e *Emulator) build() error {
	o := &e.options
	var err error
	if o.Data == "" {
		e.store = store.Memory()
	} else if e.store, err = store.Folder(o.Data); err != nil {
		return err
	}
	if o.Launcher == nil {
		// By the base of the clock: the grace of a task that ends is real time.
		if o.Launcher, err = runner.NewProcesses(runner.Options{Images: o.Images, Clock: o.Clock, Logger: o.Logger}); err != nil {
			return errors.Join(err, e.store.Close())
		}
	}
	if launcher, ok := o.Launcher.(interface{ Mode() string }); ok {
		e.mode = launcher.Mode()
	}
	w, err := newWorld(*o, e.store, 0)
	if err != nil {
		return errors.Join(err, w.close(), e.store.Close())
	}
	e.current.Store(w)
	if err := e.seedAtStart(w); err != nil {
		return errors.Join(err, w.close(), e.store.Close())
	}
	return nil
}

// seedAtStart makes the world of the options' document, all of it or nothing.
func (e *Emulator) seedAtStart(w *world) error {
	switch {
	case e.options.Seed == nil:
		return nil
	case !e.store.Empty():
		e.options.Logger.Info("the seed is not used: there is something in the data folder")
		return nil
	}
	made, err := w.seed(context.Background(), e.options.Seed)
	if err != nil {
		return errors.Join(fmt.Errorf("the seed cannot be made: %s", status.Convert(err).Message()), e.store.Clear())
	}
	e.options.Logger.Info("seeded: " + counted(made))
	return nil
}

// counted writes numbers of things for people.
func counted(made map[string]int) string {
	var words []string
	for _, kind := range slices.Sorted(maps.Keys(made)) {
		words = append(words, fmt.Sprintf("%s: %d", kind, made[kind]))
	}
	return strings.Join(words, ", ")
}

func (e *Emulator) world() *world { return e.current.Load() }

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
		e.resetting.Lock()
		defer e.resetting.Unlock()
		e.closed = true
		w := e.world()
		w.run.Close()
		ctx, cancel := context.WithTimeout(context.Background(), drain)
		defer cancel()
		if e.server.Shutdown(ctx) != nil {
			_ = e.server.Close() // somebody still polls; the answer is of no use to them
		}
		<-e.served
		w.shutDoor(0)
		e.closeErr = errors.Join(w.close(), e.store.Close())
	})
	return e.closeErr
}

// TaskMode is how tasks see their mounts: runner.ModeNamespace,
// runner.ModeRewrite, or empty with a launcher that starts no processes.
func (e *Emulator) TaskMode() string { return e.mode }

// The rooms below are those of now: after a Reset there are others.

// Faults is the record of calls and what is to go wrong with them.
func (e *Emulator) Faults() *faults.Script { return e.world().faults }

// Run is Cloud Run.
func (e *Emulator) Run() *run.Service { return e.world().run }

// Storage is Cloud Storage.
func (e *Emulator) Storage() *storage.Service { return e.world().storage }

// IAM is Identity and Access Management.
func (e *Emulator) IAM() *iam.Service { return e.world().iam }

// Secrets is Secret Manager.
func (e *Emulator) Secrets() *secretmanager.Service { return e.world().secrets }

// Logging is Cloud Logging.
func (e *Emulator) Logging() *logging.Service { return e.world().logging }

// Operations holds the long-running operations.
func (e *Emulator) Operations() *operations.Service { return e.world().operations }

// ControlToken admits to the control API.
func (e *Emulator) ControlToken() string { return e.options.ControlToken }
