// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"context"
	"errors"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
)

// gone is what a whole list says of what it does not hold.
var gone = &Error{Op: "list", Message: "not in the list"}

// askFree asks whether a thing is there, as before its create.
func (s *shelf) askFree(ctx context.Context, g *gathered[thing], id int) (thing, error) {
	return g.read(ctx, "here", strconv.Itoa(id), func() error { return gone }, func() (thing, error) { return s.read(ctx, id) })
}

// Before a create a whole list is enough to call things missing, and lists that hold none of what is asked for are no reason to give lists up.
func TestListsBeforeCreates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(400, 1000)
		for id := 100; id < 400; id++ {
			s.write(id, false)
		}
		g := s.gathered()
		var absent, found atomic.Int64
		refresh(400, 20, shortly, func(id int) {
			switch got, err := s.askFree(t.Context(), g, id); {
			case id < 100 && err == nil && got.id == id:
				found.Add(1)
			case id >= 100 && (errors.Is(err, gone) || IsNotFound(err)):
				absent.Add(1)
			default:
				t.Errorf("%d: %v, %v", id, got, err)
			}
		})
		// Each that is there was read by itself as well.
		if found.Load() != 100 || absent.Load() != 300 || s.singles < 100 || s.requests() > 160 {
			t.Errorf("%d found, %d absent, by %d reads and %d pages", found.Load(), absent.Load(), s.singles, s.pages)
		}
	})
}

// A list may still show what was deleted a moment ago, as the old objects of a replacement were. Whoever is about to make it again asks by itself.
func TestListsThatLagBehindDeletes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(40, 1000)
		lags := newShelf(40, 1000)
		for id := range 40 {
			s.write(id, false)
		}
		g := lags.gathered()
		refresh(40, 40, shortly, func(id int) {
			_, err := g.read(t.Context(), "here", strconv.Itoa(id), func() error { return gone }, func() (thing, error) { return s.read(t.Context(), id) })
			if !IsNotFound(err) {
				t.Errorf("%d: %v", id, err)
			}
		})
		if lags.pages == 0 {
			t.Error("nothing was listed")
		}
	})
}

// A thing that several ask for, by several names, is nobody's but theirs: no two get the same one.
func TestListsShareNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &gathered[*thing]{clock: clockwork.NewRealClock()}
		g.fetch = func(_ context.Context, b *gathering[*thing]) {
			b.list(func(string) ([]*thing, string, error) { return []*thing{{id: 1}}, "", nil },
				func(*thing) []string { return []string{"name", "number"} }, func(t *thing) *thing { c := *t; return &c })
		}
		var given sync.Map
		refresh(40, 40, shortly, func(id int) {
			got, err := g.read(t.Context(), "here", []string{"name", "number"}[id%2], nil, func() (*thing, error) { return &thing{id: 1}, nil })
			if err != nil || got.id != 1 {
				t.Errorf("%v, %v", got, err)
			}
			if _, twice := given.LoadOrStore(got, true); twice {
				t.Error("two have the same thing")
			}
			got.version++ // as its own
		})
	})
}

// A list that was not read to its end says nothing of what it does not hold: each thing is then asked for by itself.
func TestListsThatEndEarlyProveNoAbsence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(100, 20)
		s.fails = 3
		s.write(99, false) // on the last page
		g := s.gathered()
		refresh(100, 100, shortly, func(id int) {
			got, err := s.askFree(t.Context(), g, id)
			if id == 99 {
				if !IsNotFound(err) || errors.Is(err, gone) {
					t.Errorf("what is missing is called %v", err)
				}
			} else if err != nil || got.id != id {
				t.Errorf("%d: %v, %v", id, got, err)
			}
		})
	})
}

// A crowd waits for those whose requests are under way, half a second at the most.
func TestReadersWaitForThoseWhoAreBusy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		busy time.Duration // until then requests are under way
		most time.Duration
	}{
		"as long as they are": {busy: 200 * time.Millisecond, most: 300 * time.Millisecond},
		"not for ever":        {busy: time.Hour, most: gatherBusy*gatherPause + 200*time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newShelf(40, 1000)
				g := s.gathered()
				begun := time.Now()
				g.busy = func() bool { return time.Since(begun) < c.busy }
				var group sync.WaitGroup
				for id := range 40 {
					group.Go(func() {
						if id >= 30 { // their requests were under way
							time.Sleep(2 * gatherQuiet * gatherPause)
						}
						if got, err := s.ask(t.Context(), g, id); err != nil || got.id != id {
							t.Errorf("%d: %v, %v", id, got, err)
						}
					})
				}
				group.Wait()
				if took := time.Since(begun); took > c.most {
					t.Errorf("it took %s", took)
				}
				if s.pages != 1 || s.singles > fewReaders {
					t.Errorf("%d reads and %d pages", s.singles, s.pages)
				}
			})
		})
	}
}

// One slow list is not held against lists for ever.
func TestListThatWasSlowOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(3000, 10000)
		s.slow = 2 * time.Second
		g := &gathered[thing]{clock: clockwork.NewRealClock(), fetch: func(ctx context.Context, b *gathering[thing]) {
			b.list(func(token string) ([]thing, string, error) {
				items, next, err := s.page(ctx, token)
				s.slow = 0
				return items, next, err
			}, func(t thing) []string { return []string{strconv.Itoa(t.id)} }, func(t thing) thing { return t })
		}}
		refresh(3000, 10, shortly, func(id int) {
			if got, err := s.ask(t.Context(), g, id); err != nil || got.id != id {
				t.Errorf("%d: %v, %v", id, got, err)
			}
		})
		if s.pages < 50 || s.singles > 1500 {
			t.Errorf("%d reads and %d pages", s.singles, s.pages)
		}
	})
}

// A crowd is waited for only where answers come quickly; farther away the wait would be longer than the requests that it saves.
func TestBusyIsForQuickAnswers(t *testing.T) {
	t.Parallel()
	clock := clockwork.NewFakeClock()
	c := &Client{clock: clock}
	if c.busy() {
		t.Error("nothing was sent, and it is busy")
	}
	for _, step := range []struct {
		takes time.Duration
		busy  bool // in the last of twenty requests that take so long
	}{{2 * time.Millisecond, true}, {100 * time.Millisecond, false}, {2 * time.Millisecond, true}} {
		var busy bool
		for range 20 {
			if err := c.sent(func() error { busy = c.busy(); clock.Advance(step.takes); return nil }); err != nil {
				t.Fatal(err)
			}
		}
		if busy != step.busy {
			t.Errorf("while requests take %s: busy %v", step.takes, busy)
		}
		if c.busy() {
			t.Error("all is answered, and it is busy")
		}
	}
}

// The first changes of a policy are written at once. Those of a crowd wait while requests of others are under way, and are one write.
func TestGrantsOfACrowdWaitForEachOther(t *testing.T) {
	t.Parallel()
	s := &policyServer{t: t, version: 1}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	clock := clockwork.NewFakeClock() // stands still unless it is told
	client := newTestClient(t, Options{Endpoints: Endpoints{Storage: server.URL}, AccessToken: "secret-token", Clock: clock})
	add := func(i int) error {
		_, err := client.AddMember(t.Context(), Grant{testGrant.Resource, viewer, "user:" + strconv.Itoa(i) + "@x.example"})
		return err
	}
	writes := func() int { s.mu.Lock(); defer s.mu.Unlock(); return s.writes }
	for i := range fewReaders {
		if err := add(i); err != nil || writes() != i+1 {
			t.Fatalf("%d: %v, %d writes", i, err, writes())
		}
	}
	client.sending.Add(1) // somebody's
	const crowd = 5
	done := make(chan error, crowd)
	for i := range crowd {
		go func() { done <- add(fewReaders + i) }()
	}
	gathered := func() bool {
		client.policies.mu.Lock()
		defer client.policies.mu.Unlock()
		return len(client.policies.waiting[testGrant.Resource]) == crowd
	}
	pause := func() {
		t.Helper()
		if err := clock.BlockUntilContext(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		clock.Advance(gatherPause)
	}
	waitFor(t, gathered)
	for range 2 * gatherQuiet {
		pause()
	}
	if !gathered() || writes() != fewReaders {
		t.Errorf("while others are busy: %d writes", writes())
	}
	client.sending.Add(-1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		for clock.BlockUntilContext(ctx, 1) == nil {
			clock.Advance(gatherPause)
		}
	}()
	for range crowd {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if writes() != fewReaders+1 {
		t.Errorf("%d writes", writes())
	}
}
