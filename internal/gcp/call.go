// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"cloud.google.com/go/auth"
	"github.com/googleapis/gax-go/v2"
	"github.com/googleapis/gax-go/v2/callctx"
	"google.golang.org/api/googleapi"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// kind says how harmful it is to send a call twice.
type kind int

const (
	read       kind = iota
	repeatable      // a write that changes nothing more when it is sent again
	once            // a write that is sent again only when nothing was accepted
)

// call describes one call to its runner.
type call struct {
	op       string // "create Cloud Run job"
	resource string // full name
	project  string // the resource's project, for quota; "" when the call does not know it
	to       *endpoint
	kind     kind
	conflict codes.Code // what HTTP 409 means; 0: ABORTED

	fresh          bool
	inBulk         bool
	beforeCreate   bool
	unrepeated     bool // the caller has another way
	account        string
	recreated      bool
	metageneration int64
	private        []private // what was sent and stands in no error
}

// Option changes one call.
type Option func(*call)

// FreshAccount says that the account was created a moment ago: what the API answers while it does not see it yet ("Service account … does
// not exist", a denied actAs that adds "or it may not exist") is waited out, up to three minutes.
func FreshAccount(email string) Option { return func(k *call) { k.account = email } }

// Fresh says that the resource itself was created a moment ago: "not found" is waited out, up to one minute.
func Fresh() Option { return func(k *call) { k.fresh = true } }

// InBulk says that the read is one of many, as in a refresh: those that are asked for at the same time and place are answered by one list,
// which is sent after all of them were asked. It adds nothing to what the caller must be allowed to do: where lists are not to be had, and
// for what a list does not hold, each is read by itself. With other options it is of no effect.
func InBulk() Option { return func(k *call) { k.inBulk = true } }

// BeforeCreate says that the read is a look whether a name is free. It is [InBulk], and a list that was read to its end and does not hold
// the thing is enough to call it missing: the create that follows is refused where it exists all the same.
func BeforeCreate() Option { return func(k *call) { k.inBulk, k.beforeCreate = true, true } }

// IfMetageneration lets a bucket's change happen only while the bucket has this metageneration; otherwise the error is a conflict.
func IfMetageneration(n int64) Option { return func(k *call) { k.metageneration = n } }

func (k *call) apply(opts []Option) *call {
	for _, o := range opts {
		o(k)
	}
	return k
}

// gathers reports whether a read may be answered together with others.
func (k *call) gathers() bool { return k.inBulk && !k.fresh && k.account == "" }

// absent is the error for what a whole list does not hold; nil where that proves nothing.
func (k *call) absent() func() error {
	if !k.beforeCreate {
		return nil
	}
	return func() error {
		return &Error{Op: k.op, Resource: k.resource, Code: codes.NotFound, Message: "The list of what is there does not hold it."}
	}
}

// attempt is one sending of a call. It sees whether the call got as far as a connection, which is the proof that decides whether a failed
// write can have had an effect.
type attempt struct {
	peer peer.Peer   // gRPC fills it when the call was put on a connection
	conn atomic.Bool // net/http had a connection
}

// grpc returns the options that every gRPC call must carry.
func (a *attempt) grpc() gax.CallOption { return gax.WithGRPCOptions(grpc.Peer(&a.peer)) }

func (a *attempt) sent() bool { return a.peer.Addr != nil || a.conn.Load() }

// do sends a call, again where the retry policy allows it, and returns nil or an *Error.
func (c *Client) do(ctx context.Context, k *call, send func(context.Context, *attempt) error) error {
	pauses := c.backoff.Start()
	ambiguous := false
	for {
		e := c.try(ctx, k, send)
		if e == nil {
			return nil
		}
		// A later refusal does not undo what an earlier attempt may have done.
		ambiguous = ambiguous || e.Ambiguous
		e.Ambiguous = ambiguous
		budget := k.retryFor(e)
		if budget == 0 || k.unrepeated {
			return e
		}
		if !pauses.wait(ctx, e.retryAfter, budget) {
			if ctx.Err() != nil {
				e.Err = errors.Join(e.Err, ctx.Err())
			}
			return e
		}
	}
}

func (c *Client) try(ctx context.Context, k *call, send func(context.Context, *attempt) error) *Error {
	a := &attempt{}
	if ctx.Err() != nil {
		return k.failure(ctx, a, ctx.Err())
	}
	timed, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	hidden := k.private
	if !k.to.plain {
		token, err := c.identity.token(timed)
		if err != nil {
			return k.unauthenticated(ctx, err)
		}
		hidden = append([]private{{token, "(the access token)"}}, hidden...)
		if p := c.quotaProject(timed, k.project); p != "" {
			timed = callctx.SetHeaders(timed, "x-goog-user-project", p)
		}
	}
	timed = httptrace.WithClientTrace(timed, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { a.conn.Store(true) }})
	err := c.sent(func() error { return send(timed, a) })
	if err == nil {
		return nil
	}
	e := k.failure(ctx, a, err)
	e.clean(hidden)
	if e.Code == codes.DeadlineExceeded {
		switch {
		case expired(ctx):
			e.Message, e.HTTP = contextText(context.DeadlineExceeded), 0
		case expired(timed):
			e.Message, e.HTTP = fmt.Sprintf("no answer within %s (request_timeout)", c.timeout), 0
		}
	}
	return e
}

// expired reports whether the deadline of ctx is reached. A gRPC server knows the deadline, too, and may be a moment ahead.
func expired(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) < 100*time.Millisecond
}

// unauthenticated is the error of a call for which no token could be had. Nothing was sent.
func (k *call) unauthenticated(ctx context.Context, err error) *Error {
	e := &Error{Op: k.op, Resource: k.resource, Code: codes.Unauthenticated, Message: err.Error(), Err: err, unsent: true}
	var ae *auth.Error
	if errors.As(err, &ae) {
		e.Message = "no access token could be had: " + err.Error()
		if ae.Temporary() {
			e.Code = codes.Unavailable
		}
	}
	if ctx.Err() != nil {
		e.Code = contextCode(ctx.Err())
	}
	return e
}

// failure makes an *Error of what the libraries return.
func (k *call) failure(ctx context.Context, a *attempt, err error) *Error {
	e := &Error{Op: k.op, Resource: k.resource, Err: err, unsent: !a.sent()}
	var answer *googleapi.Error
	st, isStatus := status.FromError(err)
	var bad *tls.CertificateVerificationError
	switch {
	case errors.As(err, &answer):
		e.fromHTTP(answer, k.conflict)
	case isStatus && refused(&Error{Code: st.Code()}):
		e.fromStatus(st) // an answer, also when ctx ended meanwhile
	case ctx.Err() != nil:
		e.Code, e.Message = contextCode(ctx.Err()), contextText(ctx.Err())
	case errors.Is(err, context.DeadlineExceeded):
		e.Code = codes.DeadlineExceeded
	case isStatus:
		e.fromStatus(st)
	case errors.As(err, &bad):
		e.Code, e.permanent = codes.Unavailable, true
	default:
		// net/http failed to send, or to read the answer.
		e.Code = codes.Unavailable
	}
	if e.unsent {
		e.HTTP = 0
	}
	e.Ambiguous = k.kind != read && !refused(e)
	return e
}

func (e *Error) fromHTTP(answer *googleapi.Error, conflict codes.Code) {
	e.unsent = false
	e.HTTP = answer.Code
	e.Message = answer.Message
	e.Code = codeOf(answer.Code, conflict)
	if len(answer.Errors) > 0 {
		e.Reason = answer.Errors[0].Reason
		if e.Message == "" {
			e.Message = answer.Errors[0].Message
		}
	}
	// Newer answers say the canonical code and a reason themselves.
	var body struct {
		Error struct {
			Status  string
			Details []struct{ Reason string }
		}
	}
	if json.Unmarshal([]byte(answer.Body), &body) == nil {
		for code, name := range statusNames {
			if name == body.Error.Status {
				e.Code = code
			}
		}
		for _, d := range body.Error.Details {
			if d.Reason != "" {
				e.Reason = d.Reason
			}
		}
	}
	if e.Message == "" {
		e.Message = http.StatusText(answer.Code) // a proxy's page says nothing to a user
	}
	e.retryAfter = retryAfter(answer.Header)
}

func (e *Error) fromStatus(st *status.Status) {
	e.Code = st.Code()
	e.HTTP = httpStatus(st.Code())
	e.Message = st.Message()
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			e.Reason = d.GetReason()
		case *errdetails.RetryInfo:
			e.retryAfter = d.GetRetryDelay().AsDuration()
		}
	}
}

// retryAfter reads the header of that name: seconds, or a date. A date is compared with the answer's own, because this machine's clock may
// be wrong.
func retryAfter(answer http.Header) time.Duration {
	wish := strings.TrimSpace(answer.Get("Retry-After"))
	if n, err := strconv.Atoi(wish); err == nil {
		return time.Duration(min(max(0, n), 1e6)) * time.Second
	}
	at, err := http.ParseTime(wish)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(answer.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return max(0, at.Sub(now))
}

func contextCode(err error) codes.Code {
	if errors.Is(err, context.DeadlineExceeded) {
		return codes.DeadlineExceeded
	}
	return codes.Canceled
}

func contextText(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "the time allowed for it ran out"
	}
	return "it was interrupted"
}
