// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
)

// policyBudget is how long one change of a policy goes on against conflicting writers.
const policyBudget = 2 * time.Minute

// Grant is one role for one member on one resource.
type Grant struct {
	Resource string // "projects/_/buckets/B" or "projects/P/secrets/S"
	Role     string // "roles/storage.objectUser"
	Member   string // "serviceAccount:EMAIL"
}

// Same reports whether two grants are one, their members as policies compare them.
func (g Grant) Same(o Grant) bool {
	return g.Resource == o.Resource && g.Role == o.Role && SameMember(g.Member, o.Member)
}

// ContainsGrant reports whether a grant is among others.
func ContainsGrant(grants []Grant, g Grant) bool { return slices.ContainsFunc(grants, g.Same) }

// WithoutGrants returns the grants that are not among others, in a slice of its own.
func WithoutGrants(grants, others []Grant) []Grant {
	return slices.DeleteFunc(slices.Clone(grants), func(g Grant) bool { return ContainsGrant(others, g) })
}

// AddMember gives the grant's role to its member, beside everything that the policy holds already. It returns false, and writes nothing,
// when the member has the role without a condition. Conflicts with other writers are read and merged again.
func (c *Client) AddMember(ctx context.Context, g Grant, opts ...Option) (added bool, err error) {
	return c.changePolicy(ctx, &policyChange{grant: g}, opts)
}

// RemoveMember takes the grant's role from its member. It returns false, and writes nothing, when the member does not have it.
func (c *Client) RemoveMember(ctx context.Context, g Grant) (removed bool, err error) {
	return c.changePolicy(ctx, &policyChange{grant: g, remove: true}, nil)
}

// HasMember reports whether the member has the grant's role without a condition.
func (c *Client) HasMember(ctx context.Context, g Grant) (bool, error) {
	p, err := c.sharedPolicy(ctx, g.Resource, g.Role+" "+g.Member)
	if err != nil {
		return false, err
	}
	return p.has(g.Role, g.Member), nil
}

// changePolicy hands a change to the resource's writer. A change whose account is not visible yet waits here, outside of the writer, so
// that it does not hold up the changes of others.
func (c *Client) changePolicy(ctx context.Context, change *policyChange, opts []Option) (bool, error) {
	k := (&call{}).apply(opts)
	pauses := c.backoff.Start()
	ambiguous := false
	for {
		again := *change
		again.attempted = ambiguous
		changed, err := c.policies.submit(ctx, &again)
		if err == nil {
			return changed, nil
		}
		e, ok := AsError(err)
		if !ok {
			return false, err
		}
		// The writer gives one error to all whose changes it carried; each gets its own copy.
		own := *e
		ambiguous = ambiguous || own.Ambiguous
		own.Ambiguous = ambiguous
		if k.account == "" || !accountUnseen(&own, k.account) || !pauses.wait(ctx, own.retryAfter, accountBudget) {
			return false, &own
		}
	}
}

// policyChange is one grant to add or to remove.
type policyChange struct {
	grant     Grant
	remove    bool
	attempted bool // it was in a write whose answer is not known

	ctx  context.Context
	done chan policyResult
}

type policyResult struct {
	changed bool
	err     error
}

// policyWriters lets one writer at a time work on each resource. Changes that arrive while it works wait, and go out together in its next
// write: fifty jobs that are granted one bucket in one apply make a few writes, not fifty that conflict.
type policyWriters struct {
	client *Client

	mu      sync.Mutex
	waiting map[string][]*policyChange // key present: a writer is at work
	came    map[string]int             // changes so far
}

// submit hands over a change and waits for its result.
func (w *policyWriters) submit(ctx context.Context, change *policyChange) (bool, error) {
	change.ctx, change.done = ctx, make(chan policyResult, 1)
	resource := change.grant.Resource
	w.mu.Lock()
	if w.waiting == nil {
		w.waiting, w.came = map[string][]*policyChange{}, map[string]int{}
	}
	w.came[resource]++
	waiting, busy := w.waiting[resource]
	w.waiting[resource] = append(waiting, change)
	w.mu.Unlock()
	if !busy {
		go w.write(resource)
	}
	select {
	case r := <-change.done:
		return r.changed, r.err
	case <-ctx.Done():
		return false, &Error{Op: "change the IAM policy of", Resource: resource, Code: contextCode(ctx.Err()), Message: contextText(ctx.Err()),
			Err: ctx.Err(), Ambiguous: true}
	}
}

// write is a resource's writer: it works until no change waits.
func (w *policyWriters) write(resource string) {
	for {
		w.await(resource)
		w.mu.Lock()
		changes := w.waiting[resource]
		if len(changes) == 0 {
			delete(w.waiting, resource)
			w.mu.Unlock()
			return
		}
		w.waiting[resource] = nil
		w.mu.Unlock()

		b := newBatch(changes)
		err := w.apply(resource, b, true)
		b.end()
		w.settle(resource, b.changes, err)
	}
}

// await lets the changes of a crowd gather, as reads do, see gathering.go: where some were made already, others come from those whose requests
// are under way.
func (w *policyWriters) await(resource string) {
	var l lull
	for range gatherBusy {
		w.mu.Lock()
		now, alone := len(w.waiting[resource]), w.came[resource] <= fewReaders
		w.mu.Unlock()
		if alone || now == 0 || l.pause(now, w.client.busy()) >= gatherQuiet {
			return
		}
		<-w.client.clock.NewTimer(gatherPause).Chan()
	}
}

// settle gives the changes of a batch their error. When one of them was refused for its content the others need not be: it is
// divided, and what is not refused in smaller company is written.
func (w *policyWriters) settle(resource string, changes []*policyChange, err error) {
	e, ok := AsError(err)
	switch {
	case err == nil:
		return // they know
	case ok && len(changes) > 1 && (IsInvalid(e) || e.Code == codes.FailedPrecondition):
		for _, part := range apart(changes, e.Message) {
			b := newBatch(part)
			err := w.apply(resource, b, false)
			b.end()
			w.settle(resource, part, err)
		}
		return
	}
	for _, change := range changes {
		change.done <- policyResult{err: mayHave(err, change.attempted)}
	}
}

// apart divides changes that were refused together: into those whose member the text names and the others, or else into halves.
func apart(changes []*policyChange, text string) [][]*policyChange {
	var named, others []*policyChange
	text = strings.ToLower(text)
	for _, change := range changes {
		_, name, ok := strings.Cut(change.grant.Member, ":")
		if !ok {
			name = change.grant.Member // allUsers
		}
		if name != "" && strings.Contains(text, strings.ToLower(name)) {
			named = append(named, change)
		} else {
			others = append(others, change)
		}
	}
	if len(named) == 0 || len(others) == 0 {
		half := len(changes) / 2
		return [][]*policyChange{changes[:half], changes[half:]}
	}
	return [][]*policyChange{others, named}
}

// mayHave says of an error whether the change may have taken effect: when it was in a write whose answer is not known, whatever went wrong
// after that, and not when it was in none.
func mayHave(err error, attempted bool) error {
	e, ok := AsError(err)
	if !ok {
		return err
	}
	own := *e
	own.Ambiguous = attempted
	return &own
}

// apply reads, merges and writes until the batch is in the policy, and tells each change its result. On an error it tells nobody. With more,
// changes that came while it read or waited join the batch.
func (w *policyWriters) apply(resource string, b *batch, more bool) error {
	backoff := w.client.backoff
	backoff.Budget = policyBudget
	pauses := backoff.Start()
	var refusal error // why the last write failed, if it looked like a conflict
	refusedEtag, sameEtag := "", 0
	for {
		p, err := w.client.readPolicy(b.ctx, resource)
		if err != nil {
			return err
		}
		if refusal != nil && p.etag == refusedEtag {
			// Cloud Storage answers some refusals of the content as it answers a stale etag. Nobody has written since.
			if sameEtag++; sameEtag > 2 {
				return refusal
			}
		}
		if more {
			w.join(resource, b)
		}
		etag := p.etag
		changed := make([]bool, len(b.changes))
		dirty := false
		for i, change := range b.changes {
			if change.remove {
				changed[i] = p.remove(change.grant.Role, change.grant.Member)
			} else {
				changed[i] = p.add(change.grant.Role, change.grant.Member)
			}
			dirty = dirty || changed[i]
		}
		if dirty {
			err = w.client.writePolicy(b.ctx, resource, p)
		}
		if err == nil {
			for i, change := range b.changes {
				change.done <- policyResult{changed: changed[i] || change.attempted}
			}
			return nil
		}
		e, ok := AsError(err)
		if !ok {
			return err
		}
		if e.Ambiguous {
			for i, change := range b.changes {
				change.attempted = change.attempted || changed[i]
			}
		}
		refusal = nil
		switch {
		case IsConflict(e):
			refusal, refusedEtag = err, etag
		case e.Ambiguous && transient(e):
		default:
			return err
		}
		if !pauses.Wait(b.ctx, e.retryAfter) {
			return err
		}
	}
}

// join takes the changes that wait for a resource into a batch that is not written yet.
func (w *policyWriters) join(resource string, b *batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if waiting := w.waiting[resource]; b.add(waiting) {
		w.waiting[resource] = nil
	}
}

// batch is changes that are written together. Its context lives as long as any of them is still waited for.
type batch struct {
	changes []*policyChange
	ctx     context.Context
	cancel  context.CancelFunc
	stops   []func() bool

	mu   sync.Mutex
	left int // are waited for
}

func newBatch(changes []*policyChange) *batch {
	b := &batch{left: 1} // not done before all are in it
	b.ctx, b.cancel = context.WithCancel(context.WithoutCancel(changes[0].ctx))
	b.add(changes)
	b.gone()
	return b
}

// add reports whether the changes are in the batch now: it is too late for one that nobody waits for any more.
func (b *batch) add(changes []*policyChange) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left == 0 {
		return false
	}
	b.left += len(changes)
	b.changes = append(b.changes, changes...)
	for _, change := range changes {
		b.stops = append(b.stops, context.AfterFunc(change.ctx, b.gone))
	}
	return true
}

// gone says that one change is no longer waited for.
func (b *batch) gone() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left--; b.left == 0 {
		b.cancel()
	}
}

func (b *batch) end() {
	for _, stop := range b.stops {
		stop()
	}
	b.cancel()
}
