// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package emulator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/clock"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/iam"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/logging"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/operations"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/run"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/secretmanager"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/storage"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

// world is a cloud: the rooms over one store, and the door to them. A reset
// closes it, empties the store and makes another.
type world struct {
	store      *store.Store
	clock      *clock.Clock
	faults     *faults.Script
	operations *operations.Service
	iam        *iam.Service
	logging    *logging.Service
	storage    *storage.Service
	secrets    *secretmanager.Service
	run        *run.Service

	door    http.Handler // to the APIs, behind the faults
	stop    func()       // of what the door started
	methods []string     // that it leads to
	forward sync.Mutex   // held by whoever moves the clock

	// ended ends the requests that are still under way.
	ended context.Context
	end   context.CancelFunc

	mu     sync.Mutex
	inside int
	shut   bool
	left   chan struct{} // closed when it is shut and nobody is inside
}

// newWorld makes the rooms, those that others need first. In case of an error
// what was made is to be closed.
func newWorld(o Options, s *store.Store, firstCall int) (*world, error) {
	w := &world{store: s, left: make(chan struct{})}
	w.ended, w.end = context.WithCancel(context.Background())
	offset, err := readOffset(s)
	if err != nil {
		return w, err
	}
	w.clock = clock.New(o.Clock, offset)
	tell := &narrator{logger: o.Logger, attempts: map[attemptOf]string{}}
	w.faults = faults.NewScript(w.clock)
	w.faults.StartAt(firstCall)
	w.faults.Watch(tell.call)
	if o.Record != nil {
		w.faults.Watch(recorder{out: o.Record, logger: o.Logger}.call)
	}
	w.operations = operations.New(s, w.clock)
	w.iam = iam.New(s, w.clock)
	if w.logging, err = logging.New(s, w.clock); err != nil {
		return w, err
	}
	if w.storage, err = storage.New(s, w.clock, w.faults, w.iam); err != nil {
		return w, err
	}
	w.secrets = secretmanager.New(s, w.clock, w.iam)
	w.run = run.New(run.Options{
		Store: s, Clock: w.clock, Operations: w.operations,
		Accounts: w.iam, Buckets: w.storage, Secrets: w.secrets, Logs: tell.logs(w.logging),
		Launcher: o.Launcher, Behaviour: o.Behaviour,
		PreemptAfter: o.PreemptAfter, PreemptEvery: o.PreemptEvery,
		TaskOutput: o.TaskOutput, Logger: o.Logger,
	})
	door, stop, err := w.handler(o.Logger)
	if err != nil {
		return w, err
	}
	w.door, w.stop = door, stop
	return w, nil
}

// ServeHTTP implements http.Handler: the APIs, as long as the world is there.
func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if !w.enter() {
		writeError(rw, errResetting())
		return
	}
	defer w.leave()
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	told := make(chan struct{})
	stop := context.AfterFunc(w.ended, func() {
		defer close(told)
		cancel(errResetting().Err())
		// A body that is still to come would keep its reader waiting.
		_ = http.NewResponseController(rw).SetReadDeadline(time.Now()) // where there is none, nobody waits
	})
	defer func() {
		if !stop() {
			<-told // the connection is the next call's from now on
		}
	}()
	w.door.ServeHTTP(rw, r.WithContext(ctx))
}

func (w *world) enter() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shut {
		return false
	}
	w.inside++
	return true
}

func (w *world) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inside--
	if w.shut && w.inside == 0 {
		close(w.left)
	}
}

// shutDoor lets nobody in any more and waits for those inside to leave; when the
// patience is over they are told to.
func (w *world) shutDoor(patience time.Duration) {
	w.mu.Lock()
	if !w.shut {
		w.shut = true
		if w.inside == 0 {
			close(w.left)
		}
	}
	w.mu.Unlock()
	for _, limit := range []time.Duration{patience, drain} {
		timer := time.NewTimer(limit)
		select {
		case <-w.left:
		case <-timer.C:
		}
		timer.Stop()
		w.end()
	}
}

// close closes what was made, in the opposite order. The requests are over.
func (w *world) close() error {
	w.end()
	var errs []error
	if w.run != nil {
		w.run.Close()
	}
	if w.stop != nil {
		w.stop()
	}
	if w.storage != nil {
		errs = append(errs, w.storage.Close())
	}
	if w.operations != nil {
		w.operations.Close()
	}
	if w.logging != nil {
		errs = append(errs, w.logging.Close())
	}
	return errors.Join(errs...)
}

// resetPatience is how long a reset lets requests end that are under way.
const resetPatience = 250 * time.Millisecond

// Reset makes the cloud empty again: tasks are ended (SIGTERM, the grace,
// SIGKILL), and everything that was made is gone, from the folder too. The clock
// shows the real time again. Calls that come meanwhile are refused as
// UNAVAILABLE, another reset as ABORTED.
func (e *Emulator) Reset() error {
	if !e.resetting.TryLock() {
		return errBusy("reset")
	}
	defer e.resetting.Unlock()
	if e.closed {
		return errResetting().Err()
	}
	old := e.world()
	old.shutDoor(resetPatience)
	if err := errors.Join(old.close(), e.store.Clear()); err != nil {
		return fmt.Errorf("the emulator could not be emptied: %w", err)
	}
	fresh, err := newWorld(e.options, e.store, old.faults.Last())
	if err != nil {
		return fmt.Errorf("the emulator could not be emptied: %w", errors.Join(err, fresh.close()))
	}
	e.current.Store(fresh)
	e.options.Logger.Info("reset: the cloud is empty")
	return nil
}
