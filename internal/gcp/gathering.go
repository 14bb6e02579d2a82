// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
	"google.golang.org/grpc/codes"
)

// Reads that are asked for at the same time and place gather, and one request answers them. That request is sent when the last of them was
// asked: nobody gets an answer that is older than the question. A reader without company waits for nobody.
const (
	// So few readers go out by themselves at once.
	fewReaders = 3
	// Readers of a crowd look that often whether others came.
	gatherPause = 5 * time.Millisecond
	// They wait until no other came for so many pauses, and until those before them are answered, who will come again.
	gatherQuiet = 6
	// A small part of a known crowd waits so many pauses for the others, so that all go together from then on.
	gatherPatience = 16
	// While other requests are under way, whose senders may come next, they wait so many pauses, half a second.
	gatherBusy = 100
	// That many pauses, two seconds, is the longest wait of all.
	gatherLimit = 400
	// What it is worth to send one request less: the APIs let a project read 50 times a second, and more than one run may go on. A list of a
	// thousand things takes longer than a few reads side by side, and may only be as much slower as it is cheaper.
	requestWorth = 50 * time.Millisecond
)

// gathered are the reads of one kind that gather: jobs, accounts or policies.
type gathered[T any] struct {
	clock clockwork.Clock
	// fetch answers readers that have gathered. Those whom it does not answer read by themselves.
	fetch func(context.Context, *gathering[T])
	// busy reports whether requests are under way; nil: it is not known.
	busy func() bool

	mu     sync.Mutex
	places map[string]*place[T]
}

// place is where readers meet: the location that jobs are in, the project that accounts are in, the resource that has a policy.
type place[T any] struct {
	name   string
	open   int             // readers that are here now
	crowd  int             // readers that were here together, lately
	rounds int             // that were gathered
	known  map[string]bool // the keys that were asked for
	probe  int             // from so many keys on it is tried whether readers gather
	lists  int             // under way
	next   *gathering[T]
	cost
}

// cost is what the place has shown of its lists.
type cost struct {
	barred bool          // lists are not to be had, or are of no use
	pages  int           // of one list; 0: not known
	list   time.Duration // what one took, the quickest of them
	single time.Duration // what one read takes
}

// enough is the number of readers from which on a list is the better way: it takes at most half of the requests, and is not slower by more
// than those that it saves are worth.
func (k *cost) enough() int {
	slower := max(0, k.list-k.single)
	return max(2, 2*k.pages, k.pages+int((slower+requestWorth-1)/requestWorth))
}

// crowded is the number of readers that wait for each other.
func (k *cost) crowded() int { return max(fewReaders+1, k.enough()) }

// gathering is readers that one request answers. Its context lives as long as any of them waits.
type gathering[T any] struct {
	of      *gathered[T]
	at      *place[T]
	ctx     context.Context
	cancel  context.CancelFunc
	full    chan struct{} // closed when everybody is here
	readers []*reader[T]
	waiting int       // how many of them wait still
	until   time.Time // when the last of them gives up; zero: never
}

// reader is one who waits, for what has this key in the place.
type reader[T any] struct {
	key    string
	absent func() error // of one who looks before a create: what a whole list that does not hold it means; nil: that proves nothing
	ctx    context.Context
	done   chan result[T]
	stop   func() bool
}

type result[T any] struct {
	value    T
	err      error
	answered bool
}

// read answers one reader: with others, or else by its own call. absent is the error for what a whole list does not hold; nil where its own
// call must tell.
func (g *gathered[T]) read(ctx context.Context, where, key string, absent func() error, alone func() (T, error)) (T, error) {
	at, b, mine := g.enter(ctx, where, key, absent)
	defer g.leave(at)
	if mine != nil {
		defer b.left(mine)
		select {
		case r := <-mine.done:
			if r.answered {
				return r.value, r.err
			}
		case <-ctx.Done(): // its own call finds the words
		}
	}
	begun := g.clock.Now()
	value, err := alone()
	if err == nil {
		g.learn(at, func(k *cost) {
			took := g.clock.Since(begun)
			if k.single == 0 {
				k.single = took
			}
			k.single = (3*k.single + took) / 4
		})
	}
	return value, err
}

// enter lets a reader into a place. It waits for an answer when there is a crowd.
func (g *gathered[T]) enter(ctx context.Context, where, key string, absent func() error) (*place[T], *gathering[T], *reader[T]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.places == nil {
		g.places = map[string]*place[T]{}
	}
	at := g.places[where]
	if at == nil {
		at = &place[T]{name: where, known: map[string]bool{}, probe: fewReaders + 1}
		g.places[where] = at
	}
	at.open++
	at.known[key] = true
	// Where answers come quickly readers seldom meet by themselves: that many things are asked for one after the other is a sign, too.
	if at.barred || max(at.open, at.crowd) < at.crowded() && len(at.known) < at.probe {
		return at, nil, nil
	}
	at.crowd = max(at.crowd, at.open)
	if at.next == nil {
		b := &gathering[T]{of: g, at: at, full: make(chan struct{})}
		b.ctx, b.cancel = context.WithCancel(context.WithoutCancel(ctx))
		at.next = b
		go b.gather()
	}
	b := at.next
	return at, b, b.add(ctx, key, absent)
}

func (g *gathered[T]) leave(at *place[T]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	at.open--
}

func (g *gathered[T]) learn(at *place[T], change func(*cost)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change(&at.cost)
}

// add lets a reader in. The lock is held.
func (b *gathering[T]) add(ctx context.Context, key string, absent func() error) *reader[T] {
	r := &reader[T]{key: key, absent: absent, ctx: ctx, done: make(chan result[T], 1)}
	b.readers = append(b.readers, r)
	b.waiting++
	r.stop = context.AfterFunc(ctx, b.gone)
	// Now and then it is tried whether there are more.
	if len(b.readers) == b.at.crowd && b.at.rounds%8 != 0 {
		b.at.next = nil
		close(b.full)
	}
	return r
}

// left says that one reader waits no longer, unless its context has said so.
func (b *gathering[T]) left(r *reader[T]) {
	if r.stop() {
		b.gone()
	}
}

// gone counts one reader out. Without readers nothing is sent, and what was sent is given up.
func (b *gathering[T]) gone() {
	b.of.mu.Lock()
	defer b.of.mu.Unlock()
	if b.waiting--; b.waiting > 0 {
		return
	}
	b.cancel()
	if b.at.next == b {
		b.at.next = nil
	}
}

// gather waits for the readers, and has them answered.
func (b *gathering[T]) gather() {
	defer b.cancel()
	b.await()
	if b.close() {
		if !b.until.IsZero() {
			var cancel context.CancelFunc
			b.ctx, cancel = context.WithDeadline(b.ctx, b.until)
			defer cancel()
		}
		b.of.fetch(b.ctx, b)
		b.ended()
	}
	for _, r := range b.readers {
		select {
		case r.done <- result[T]{}:
		default: // it is answered
		}
	}
}

// lull counts the pauses in which nobody came and nothing went on.
type lull struct{ before, still int }

// pause tells of one more, with so many here; it returns how long the lull is.
func (l *lull) pause(now int, goesOn bool) int {
	if l.still++; now != l.before || goesOn {
		l.before, l.still = now, 0
	}
	return l.still
}

// await returns when everybody is here, or when no more readers come.
func (b *gathering[T]) await() {
	var l lull
	for n := range gatherLimit {
		pause := b.of.clock.NewTimer(gatherPause)
		select {
		case <-pause.Chan():
		case <-b.full:
			pause.Stop()
			return
		case <-b.ctx.Done():
			pause.Stop()
			return
		}
		now, crowd, lists := b.size()
		still := l.pause(now, lists > 0 || n < gatherBusy && b.of.busy != nil && b.of.busy())
		if still >= gatherPatience || still >= gatherQuiet && 2*now >= crowd {
			return
		}
	}
}

// size is how many readers have gathered, how many there may be, and how many lists are under way for others.
func (b *gathering[T]) size() (now, crowd, lists int) {
	b.of.mu.Lock()
	defer b.of.mu.Unlock()
	return len(b.readers), b.at.crowd, b.at.lists
}

// close lets nobody in any more, and reports whether there are enough for a list. A crowd that did not come is forgotten.
func (b *gathering[T]) close() bool {
	b.of.mu.Lock()
	defer b.of.mu.Unlock()
	if b.at.next == b {
		b.at.next = nil
	}
	n := len(b.readers)
	if b.at.crowd = max(b.at.crowd, n); 2*n < b.at.crowd {
		b.at.crowd = (b.at.crowd + n) / 2
	}
	for _, r := range b.readers {
		until, ok := r.ctx.Deadline()
		if !ok {
			b.until = time.Time{}
			break
		}
		if until.After(b.until) {
			b.until = until
		}
	}
	b.at.rounds++
	if n < b.at.enough() {
		b.at.list -= b.at.list / 8 // it may have been slow for once
		b.at.crowd = (b.at.crowd + n) / 2
		b.at.probe = len(b.at.known)*5/4 + fewReaders + 1
		return false
	}
	b.at.lists++
	return true
}

func (b *gathering[T]) ended() {
	b.of.mu.Lock()
	defer b.of.mu.Unlock()
	b.at.lists--
}

// answer gives every reader the same.
func (b *gathering[T]) answer(each func() (T, error)) {
	for _, r := range b.readers {
		value, err := each()
		r.done <- result[T]{value, err, true}
	}
}

// list answers readers from the pages of a list, by the keys that its items have, and stops when the pages that are left would cost more than
// the readers who are. What is not found is not missing for that: its reader asks for it alone, unless a whole list is enough for it. Such a
// reader looks whether a name is free, and asks alone for what the list holds.
func (b *gathering[T]) list(page func(token string) (items []T, next string, err error), keys func(T) []string, copied func(T) T) {
	wanted := map[string][]*reader[T]{}
	for _, r := range b.readers {
		wanted[r.key] = append(wanted[r.key], r)
	}
	begun := b.of.clock.Now()
	left, pages, known := len(b.readers), 0, 0
	b.of.learn(b.at, func(k *cost) { known = k.pages })
	for token := ""; ; {
		items, next, err := page(token)
		if err != nil {
			if b.ctx.Err() == nil && !passing(err) {
				b.of.learn(b.at, func(k *cost) { k.barred = true })
			}
			return
		}
		pages++
		for _, item := range items {
			var readers []*reader[T]
			for _, key := range keys(item) {
				readers = append(readers, wanted[key]...)
				delete(wanted, key)
			}
			left -= len(readers)
			for i, r := range slices.Backward(readers) {
				switch {
				case r.absent != nil: // the list may lag behind a delete
					r.done <- result[T]{}
				case i > 0:
					r.done <- result[T]{copied(item), nil, true}
				default: // the last, whose it is from now on
					r.done <- result[T]{item, nil, true}
				}
			}
		}
		if next == "" {
			left -= absentFrom(wanted)
		}
		ahead := known - pages
		if ahead <= 0 {
			ahead = pages // nobody knows: as many again
		}
		if next == "" || left == 0 || ahead >= left {
			b.of.learn(b.at, func(k *cost) {
				if took := b.of.clock.Since(begun); k.list == 0 || took < k.list {
					k.list = took
				}
				switch {
				case next == "":
					k.pages = pages
					k.barred = left == len(b.readers) // it speaks of them by other names, or they are all gone
				case left > 0:
					k.pages = max(k.pages, pages+ahead)
				default:
					k.pages = max(k.pages, pages)
				}
			})
			return
		}
		token = next
	}
}

// absentFrom answers the readers of what a whole list does not hold, if that is enough for them, and returns how many they are.
func absentFrom[T any](wanted map[string][]*reader[T]) (answered int) {
	for _, readers := range wanted {
		for _, r := range readers {
			if r.absent != nil {
				var none T
				r.done <- result[T]{none, r.absent(), true}
				answered++
			}
		}
	}
	return answered
}

// passing reports whether a list that failed may be had a moment later.
func passing(err error) bool {
	e, ok := AsError(err)
	return ok && transient(e) && e.Code != codes.DeadlineExceeded
}
