// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"google.golang.org/grpc/codes"
)

// shelf is an API with things that have versions. A read takes a while, and shows what was there at some moment of it; so does each page of
// a list. Time is the test's own.
type shelf struct {
	size    int // things of a page
	latency time.Duration
	slow    time.Duration // what a page takes longer than a read
	refuse  error         // what lists answer
	fails   int           // the page that fails, from 1; 0: none

	mu      sync.Mutex
	singles int
	pages   int
	things  []int // versions; 0: it is not there
}

type thing struct{ id, version int }

func newShelf(n, size int) *shelf {
	s := &shelf{size: size, latency: shelfLatency, things: make([]int, n)}
	for i := range s.things {
		s.things[i] = 1
	}
	return s
}

// shelfLatency is the most that a read takes, unless a shelf is quicker.
const shelfLatency = 40 * time.Millisecond

// travel is the way of a request to the shelf, and that of its answer.
func (s *shelf) travel(ctx context.Context, longer time.Duration) error {
	select {
	case <-time.After(longer + time.Duration(rand.Int64N(int64(s.latency/2)))):
		return nil
	case <-ctx.Done():
		return &Error{Code: codes.Canceled, Err: ctx.Err()}
	}
}

func (s *shelf) read(ctx context.Context, id int) (thing, error) {
	s.mu.Lock()
	s.singles++
	s.mu.Unlock()
	if err := s.travel(ctx, 0); err != nil {
		return thing{}, err
	}
	s.mu.Lock()
	t := thing{id, s.things[id]}
	s.mu.Unlock()
	if err := s.travel(ctx, 0); err != nil {
		return thing{}, err
	}
	if t.version == 0 {
		return thing{}, &Error{Op: "read", Resource: strconv.Itoa(id), Code: codes.NotFound}
	}
	return t, nil
}

func (s *shelf) page(ctx context.Context, token string) (items []thing, next string, err error) {
	s.mu.Lock()
	s.pages++
	nth := s.pages
	s.mu.Unlock()
	if err := s.travel(ctx, s.slow); err != nil {
		return nil, "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != nil {
		return nil, "", s.refuse
	}
	if nth == s.fails {
		return nil, "", &Error{Code: codes.Unavailable}
	}
	from := 0
	if token != "" {
		from, _ = strconv.Atoi(token)
	}
	to := min(from+s.size, len(s.things))
	for id := from; id < to; id++ {
		if v := s.things[id]; v > 0 {
			items = append(items, thing{id, v})
		}
	}
	if to < len(s.things) {
		next = strconv.Itoa(to)
	}
	return items, next, nil
}

// write gives a thing its next version, or takes it away.
func (s *shelf) write(id int, there bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if there {
		s.things[id] = max(s.things[id], 1) + 1
	} else {
		s.things[id] = 0
	}
}

func (s *shelf) version(id int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.things[id]
}

// shortly is how long readers are away at the most.
const shortly = 4 * time.Millisecond

func (s *shelf) requests() int { return s.singles + s.pages }

// gathered are reads of the shelf that gather.
func (s *shelf) gathered() *gathered[thing] {
	return &gathered[thing]{clock: clockwork.NewRealClock(), fetch: func(ctx context.Context, b *gathering[thing]) {
		b.list(func(token string) ([]thing, string, error) { return s.page(ctx, token) },
			func(t thing) []string { return []string{strconv.Itoa(t.id)} }, func(t thing) thing { return t })
	}}
}

func (s *shelf) ask(ctx context.Context, g *gathered[thing], id int) (thing, error) {
	return g.read(ctx, "here", strconv.Itoa(id), nil, func() (thing, error) { return s.read(ctx, id) })
}

// refresh reads every thing, with so many readers at a time, as a plan does: between two questions a reader is away for a moment.
func refresh(n, readers int, away time.Duration, read func(id int)) {
	ids := make(chan int)
	var group sync.WaitGroup
	for range readers {
		group.Go(func() {
			for id := range ids {
				time.Sleep(time.Duration(rand.Int64N(int64(away))))
				read(id)
			}
		})
	}
	for _, id := range rand.Perm(n) {
		ids <- id
	}
	close(ids)
	group.Wait()
}

// A thousand things are read in little more than a request for each round of readers, and where a list has many pages by no more requests
// than there are things.
func TestGathering(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		n, readers, page int
		slow             time.Duration
		most             int
		latency, away    time.Duration
	}{
		"a hundred at a time":                  {n: 1000, readers: 100, page: 1000, most: 20},
		"ten at a time":                        {n: 1000, readers: 10, page: 1000, most: 130},
		"pages of a hundred":                   {n: 1000, readers: 100, page: 100, most: 200},
		"pages of a hundred, ten at a time":    {n: 1000, readers: 10, page: 100, most: 1010},
		"a hundred things, ten at a time":      {n: 100, readers: 10, page: 100, most: 20},
		"lists that take a second":             {n: 1000, readers: 100, page: 1000, slow: time.Second, most: 20},
		"lists that take a second, ten a time": {n: 1000, readers: 10, page: 1000, slow: time.Second, most: 1002},
		// Answers come quickly, and readers are away for longer than they wait: they meet because they are let wait for each other.
		"ten at a time, quick answers":       {n: 1000, readers: 10, page: 1000, most: 250, latency: time.Millisecond, away: 30 * time.Millisecond},
		"a hundred at a time, quick answers": {n: 1000, readers: 100, page: 1000, most: 30, latency: time.Millisecond, away: 300 * time.Millisecond},
		"three at a time":                    {n: 100, readers: 3, page: 100, most: 100},
		"one after the other":                {n: 50, readers: 1, page: 100, most: 50},
		"readers as many as things":          {n: 1000, readers: 1000, page: 1000, most: 5},
		"few of many that are not ours":      {n: 10, readers: 10, page: 100, most: 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newShelf(c.n, c.page)
				s.slow, s.latency = c.slow, cmp.Or(c.latency, shelfLatency)
				g := s.gathered()
				begun := time.Now()
				refresh(c.n, c.readers, cmp.Or(c.away, shortly), func(id int) {
					if got, err := s.ask(t.Context(), g, id); err != nil || got != (thing{id, 1}) {
						t.Errorf("%d: %v, %v", id, got, err)
					}
				})
				t.Logf("%d reads and %d pages, in %s", s.singles, s.pages, time.Since(begun))
				if s.requests() > c.most {
					t.Errorf("%d requests for %d things, want at most %d", s.requests(), c.n, c.most)
				}
			})
		})
	}
}

// A reader without a crowd is not kept waiting.
func TestLoneReadersDoNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &gathered[int]{clock: clockwork.NewRealClock()}
		var group sync.WaitGroup
		for range fewReaders {
			group.Go(func() {
				begun := time.Now()
				if _, err := g.read(t.Context(), "here", "a", nil, func() (int, error) { time.Sleep(time.Second); return 1, nil }); err != nil {
					t.Error(err)
				}
				if took := time.Since(begun); took != time.Second {
					t.Errorf("it took %s", took)
				}
			})
		}
		group.Wait()
	})
}

// Whatever was written before a question is in its answer, and what is not there is known to be missing, while others write all the time.
func TestNoAnswerIsOlderThanItsQuestion(t *testing.T) {
	t.Parallel()
	for _, readers := range []int{2, 5, 10, 50, 100} {
		for _, page := range []int{7, 100, 1000} {
			t.Run(fmt.Sprintf("%d readers, pages of %d", readers, page), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					const n = 300
					s := newShelf(n, page)
					g := s.gathered()
					ctx, stop := context.WithCancel(t.Context())
					var writers sync.WaitGroup
					for range 5 {
						writers.Go(func() {
							for ctx.Err() == nil {
								time.Sleep(time.Duration(rand.Int64N(int64(3 * time.Millisecond))))
								id := rand.IntN(n)
								if id%3 == 0 {
									s.write(id, rand.IntN(2) == 0) // comes and goes
								} else {
									s.write(id, true)
								}
							}
						})
					}
					refresh(n, readers, shortly, func(id int) {
						before := s.version(id)
						got, err := s.ask(t.Context(), g, id)
						switch {
						case id%3 == 0:
							if err != nil && !IsNotFound(err) {
								t.Errorf("%d: %v", id, err)
							}
						case err != nil || got.id != id || got.version < before:
							t.Errorf("%d: version %d was there before the question; the answer is %v, %v", id, before, got, err)
						}
					})
					stop()
					writers.Wait()
				})
			})
		}
	}
}

// What was deleted before the question is missing, not remembered; each error names its own thing.
func TestGatheredReadsOfMissingThings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(200, 1000)
		g := s.gathered()
		for id := range 200 {
			if id%10 == 0 {
				s.write(id, false)
			}
		}
		refresh(200, 50, shortly, func(id int) {
			_, err := s.ask(t.Context(), g, id)
			if missing := id%10 == 0; IsNotFound(err) != missing {
				t.Errorf("%d: %v", id, err)
			} else if missing && wantError(t, err).Resource != strconv.Itoa(id) {
				t.Errorf("%d: the error speaks of another: %v", id, err)
			}
		})
		if s.requests() > 50 {
			t.Errorf("%d requests", s.requests())
		}
	})
}

// Where lists are denied each thing is read by itself, the list is not asked for again, and nobody waits for a crowd from then on. A list
// that has an outage is tried again.
func TestListsThatAreNotToBeHad(t *testing.T) {
	t.Parallel()
	for code, again := range map[codes.Code]bool{
		codes.PermissionDenied: false, codes.Unimplemented: false, codes.InvalidArgument: false, codes.DeadlineExceeded: false, codes.Unavailable: true,
	} {
		t.Run(code.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newShelf(500, 1000)
				s.refuse = &Error{Code: code}
				g := s.gathered()
				begun := time.Now()
				refresh(500, 50, shortly, func(id int) {
					if got, err := s.ask(t.Context(), g, id); err != nil || got.id != id {
						t.Errorf("%d: %v, %v", id, got, err)
					}
				})
				if s.singles != 500 || again != (s.pages > 1) || s.pages == 0 {
					t.Errorf("%d reads and %d lists", s.singles, s.pages)
				}
				if took := time.Since(begun); !again && took > 10*(shelfLatency+4*time.Millisecond)+100*time.Millisecond {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// One page fails: what came before it is answered by it, and the others are read by themselves.
func TestPageThatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(100, 20)
		s.fails = 3
		g := s.gathered()
		refresh(100, 100, shortly, func(id int) {
			if got, err := s.ask(t.Context(), g, id); err != nil || got.id != id {
				t.Errorf("%d: %v, %v", id, got, err)
			}
		})
		if s.pages != 3 || s.singles < 60 || s.singles > 60+2*fewReaders {
			t.Errorf("%d reads and %d pages", s.singles, s.pages)
		}
	})
}

// One who gives up is gone at once, and the others have their answers; when all have given up nothing more is sent.
func TestReadersThatGiveUp(t *testing.T) {
	t.Parallel()
	for name, all := range map[string]bool{"one": false, "all": true} {
		for when, after := range map[string]time.Duration{"while they gather": gatherPause, "while the list is under way": 10 * gatherPause} {
			t.Run(name+" "+when, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := newShelf(100, 10)
					s.slow = time.Second
					g := s.gathered()
					ctx, interrupt := context.WithCancel(t.Context())
					time.AfterFunc(after, interrupt)
					begun := time.Now()
					var group sync.WaitGroup
					for id := range 60 {
						group.Go(func() {
							given := all || id%20 == 13
							asking := t.Context()
							if given {
								asking = ctx
							}
							_, err := s.ask(asking, g, id)
							switch {
							case !given && err != nil:
								t.Errorf("%d: %v", id, err)
							case given && err != nil && (!errors.Is(err, context.Canceled) || time.Since(begun) > after+shelfLatency):
								t.Errorf("%d: %v after %s", id, err, time.Since(begun))
							}
						})
					}
					group.Wait()
					synctest.Wait()
					if all && s.pages > 1 {
						t.Errorf("%d pages were read for nobody", s.pages)
					}
					if at := g.places["here"]; at.open != 0 || at.next != nil {
						t.Errorf("somebody is left in the place: %+v", at)
					}
				})
			})
		}
	}
}
