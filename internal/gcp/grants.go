// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"context"
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
	p, err := c.readPolicy(ctx, g.Resource)
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
		if k.account == "" || !accountUnseen(&own, k.account) || !pauses.wait(ctx, 0, accountBudget) {
			return false, &own
		}
	}
}

// policyChange is one grant to add or to remove.
type policyChange struct {
	grant     Grant
	remove    bool
	attempted bool // an earlier write of this change may have taken effect

	ctx  context.Context
	done chan policyResult
}

type policyResult struct {
	changed bool
	err     error
}

// policyWriters lets one writer at a time work on each resource. Changes that arrive while it works wait, and go out together in its next
// write: ten jobs that are granted one bucket in one apply make a few writes, not ten that conflict.
type policyWriters struct {
	client *Client

	mu      sync.Mutex
	waiting map[string][]*policyChange // key present: a writer is at work
}

// submit hands over a change and waits for its result.
func (w *policyWriters) submit(ctx context.Context, change *policyChange) (bool, error) {
	change.ctx, change.done = ctx, make(chan policyResult, 1)
	resource := change.grant.Resource
	w.mu.Lock()
	if w.waiting == nil {
		w.waiting = map[string][]*policyChange{}
	}
	batch, busy := w.waiting[resource]
	w.waiting[resource] = append(batch, change)
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
		w.mu.Lock()
		batch := w.waiting[resource]
		if len(batch) == 0 {
			delete(w.waiting, resource)
			w.mu.Unlock()
			return
		}
		w.waiting[resource] = nil
		w.mu.Unlock()

		attempted, err := w.apply(resource, batch)
		if e, ok := AsError(err); ok && len(batch) > 1 && (IsInvalid(e) || e.Code == codes.FailedPrecondition) {
			// One of them was refused. Alone, the others are not.
			for i, change := range batch {
				change.attempted = change.attempted || attempted[i]
				if again, err := w.apply(resource, []*policyChange{change}); err != nil {
					change.done <- policyResult{err: mayHave(err, change.attempted || again[0])}
				}
			}
			continue
		}
		if err != nil {
			for i, change := range batch {
				change.done <- policyResult{err: mayHave(err, attempted[i])}
			}
		}
	}
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

// apply reads, merges and writes until the batch is in the policy, and tells each change its result. On an error it tells nobody, and returns
// which changes were in a write whose answer is not known.
func (w *policyWriters) apply(resource string, batch []*policyChange) (attempted []bool, err error) {
	ctx, cancel := anyOf(batch)
	defer cancel()
	backoff := w.client.backoff
	backoff.Budget = policyBudget
	pauses := backoff.Start()
	attempted = make([]bool, len(batch))
	var refusal error // why the last write failed, if it looked like a conflict
	refusedEtag, sameEtag := "", 0
	for {
		p, err := w.client.readPolicy(ctx, resource)
		if err != nil {
			return attempted, err
		}
		if refusal != nil && p.etag == refusedEtag {
			// Cloud Storage answers some refusals of the content as it answers a stale etag. Nobody has written since.
			if sameEtag++; sameEtag > 2 {
				return attempted, refusal
			}
		}
		etag := p.etag
		changed := make([]bool, len(batch))
		dirty := false
		for i, change := range batch {
			if change.remove {
				changed[i] = p.remove(change.grant.Role, change.grant.Member)
			} else {
				changed[i] = p.add(change.grant.Role, change.grant.Member)
			}
			dirty = dirty || changed[i]
		}
		if dirty {
			err = w.client.writePolicy(ctx, resource, p)
		}
		if err == nil {
			for i, change := range batch {
				change.done <- policyResult{changed: changed[i] || attempted[i] || change.attempted}
			}
			return nil, nil
		}
		e, ok := AsError(err)
		if !ok {
			return attempted, err
		}
		if e.Ambiguous {
			for i := range attempted {
				attempted[i] = attempted[i] || changed[i]
			}
		}
		refusal = nil
		switch {
		case IsConflict(e):
			refusal, refusedEtag = err, etag
		case e.Ambiguous && transient(e):
		default:
			return attempted, err
		}
		if !pauses.Wait(ctx, e.retryAfter) {
			return attempted, err
		}
	}
}

// anyOf returns a context that lives as long as any of the changes is still waited for.
func anyOf(batch []*policyChange) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(batch[0].ctx))
	var mu sync.Mutex
	left := len(batch)
	stops := make([]func() bool, 0, len(batch))
	for _, change := range batch {
		stops = append(stops, context.AfterFunc(change.ctx, func() {
			mu.Lock()
			defer mu.Unlock()
			if left--; left == 0 {
				cancel()
			}
		}))
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}
