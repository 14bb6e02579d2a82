// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
)

// How long one call goes on trying, by what it waits for.
const (
	// An outage.
	transientBudget = 60 * time.Second
	// Too many calls: the limits are per minute, so that the next minute must be reached, and one more for those who wait as well.
	rateBudget = 2 * time.Minute
	// A port of this machine on which nobody listens is not an outage: the emulator is not running, and the user should hear it soon.
	localBudget = 3 * time.Second
	// A resource of ours that reads do not see yet.
	freshBudget = 60 * time.Second
	// An account of ours that another service does not see yet: usually below a minute, documented as up to several.
	accountBudget = 3 * time.Minute
	// A name that this client itself has just given back.
	recreateBudget = 60 * time.Second
	// A pause that the server asked for by name is waited out beyond the signal's own budget, up to this.
	wishBudget = 5 * time.Minute
)

// retryRule is one row of the retry policy.
type retryRule struct {
	signal string
	found  func(*call, *Error) bool
	budget time.Duration
}

// retryTable is the one retry policy: after which failures a call is sent again, and for how long; the first row that fits decides. What
// fits none ends at once: what was refused for its content, for want of quota or of permission is the user's to mend.
//
// The rows follow from two questions. Is it proven that nothing was accepted (the call never reached a server, or was rate limited)? Then any
// call may be sent again. Can the answer change by itself? It can for an outage, and then only a call that may be repeated goes on, and for
// a resource made a moment ago, if the caller says that it was (see [Fresh] and [FreshAccount]).
//
// The pauses are those of [Backoff]: they double, and a random part is cut off each. A server's wish (Retry-After, RetryInfo) is the least
// pause. No pause begins that would outlast the caller's context, which carries the resource's timeout.
//
// What needs a look before the next attempt is not in the table, but with those who can look:
//
//	a policy's etag is stale (409, 412)   read, merge and write again, for two minutes      grants.go
//	the answer to a policy's write is lost  read: what is there already is not written again  grants.go
//	a poll of an operation fails            as any read, then further polls for five minutes  operation.go
//	an operation ended in an error          nothing here: the job exists, and the caller knows what it asked for
//	a job or a bucket was changed (409, 412), the answer to a create, an update or a run is lost: the resource reads, and decides
var retryTable = []retryRule{
	{"no server was reached", func(k *call, e *Error) bool { return e.unsent && transient(e) && !k.to.plain }, transientBudget},
	{"nobody listens on this machine", func(k *call, e *Error) bool { return e.unsent && transient(e) && k.to.plain }, localBudget},
	{"too many calls", func(_ *call, e *Error) bool { return rateLimited(e) }, rateBudget},
	{"a fresh account is not seen", func(k *call, e *Error) bool { return k.account != "" && accountUnseen(e, k.account) }, accountBudget},
	{"a fresh resource is not seen", func(k *call, e *Error) bool { return k.fresh && unseen(e) }, freshBudget},
	{"a name just given back is taken", func(k *call, e *Error) bool { return k.recreated && e.Code == codes.AlreadyExists }, recreateBudget},
	{"an outage, and the call may be repeated", func(k *call, e *Error) bool { return k.kind != once && transient(e) }, transientBudget},
}

// retryFor says how long a call that failed with e may go on trying, 0 for not at all.
func (k *call) retryFor(e *Error) time.Duration {
	for _, rule := range retryTable {
		switch {
		case !rule.found(k, e):
		case e.retryAfter > 0:
			return max(rule.budget, wishBudget)
		default:
			return rule.budget
		}
	}
	return 0
}

// transient reports whether the same call may succeed a moment later.
func transient(e *Error) bool {
	switch e.Code {
	case codes.Unavailable, codes.Internal, codes.DeadlineExceeded, codes.Unknown:
		return !e.permanent
	}
	return rateLimited(e)
}

// rateLimited tells "too many calls just now", which passes, from "your quota is used up", which does not. Both are 429.
func rateLimited(e *Error) bool {
	switch e.Reason {
	case "RATE_LIMIT_EXCEEDED", "rateLimitExceeded", "userRateLimitExceeded":
		return true
	case "", "tooManyRequests":
		return e.Code == codes.ResourceExhausted && !usedUp(strings.ToLower(e.Message))
	}
	return false
}

// usedUp reports whether the text speaks of an amount that is used up, not of a number of calls a minute.
func usedUp(text string) bool {
	aMinute := strings.Contains(text, "per minute") || strings.Contains(text, "per second") || strings.Contains(text, "seconds")
	return strings.Contains(text, "quota") && !aMinute || strings.Contains(text, "maximum number")
}

// accountUnseen recognises what services answer while they do not see an account that was just made.
func accountUnseen(e *Error, email string) bool {
	text := strings.ToLower(e.Message)
	switch e.Code {
	case codes.InvalidArgument, codes.FailedPrecondition, codes.NotFound:
		// "Service account E does not exist."
		return strings.Contains(text, strings.ToLower(email)) && strings.Contains(text, "does not exist")
	case codes.PermissionDenied:
		// "Permission 'iam.serviceaccounts.actAs' denied on service account E (or it may not exist)." Some say "on resource" instead.
		named := !strings.Contains(text, "@") || strings.Contains(text, strings.ToLower(email))
		return named && strings.Contains(text, "(or it may not exist)") && strings.Contains(text, "iam.serviceaccounts.")
	}
	return false
}

// unseen recognises what a read answers for a resource that was just made.
func unseen(e *Error) bool {
	return e.Code == codes.NotFound || e.Code == codes.PermissionDenied && strings.Contains(e.Message, "(or it may not exist)")
}

// refused reports whether the answer proves that the call had no effect.
func refused(e *Error) bool {
	if e.unsent || rateLimited(e) {
		return true
	}
	switch e.Code {
	case codes.Unknown, codes.Canceled, codes.DeadlineExceeded, codes.Internal, codes.Unavailable, codes.DataLoss:
		return false
	}
	return true
}

// httpStatus is the HTTP status that belongs to a canonical code.
func httpStatus(c codes.Code) int {
	switch c {
	case codes.InvalidArgument, codes.FailedPrecondition, codes.OutOfRange:
		return http.StatusBadRequest
	case codes.Unauthenticated:
		return http.StatusUnauthorized
	case codes.PermissionDenied:
		return http.StatusForbidden
	case codes.NotFound:
		return http.StatusNotFound
	case codes.AlreadyExists, codes.Aborted:
		return http.StatusConflict
	case codes.ResourceExhausted:
		return http.StatusTooManyRequests
	case codes.Canceled:
		return 499
	case codes.Unimplemented:
		return http.StatusNotImplemented
	case codes.Unavailable:
		return http.StatusServiceUnavailable
	case codes.DeadlineExceeded:
		return http.StatusGatewayTimeout
	}
	return http.StatusInternalServerError
}

// codeOf is the canonical code of an HTTP status; conflict is what 409 means for the call, which only the call knows.
func codeOf(status int, conflict codes.Code) codes.Code {
	switch status {
	case http.StatusBadRequest:
		return codes.InvalidArgument
	case http.StatusUnauthorized:
		return codes.Unauthenticated
	case http.StatusForbidden:
		return codes.PermissionDenied
	case http.StatusNotFound:
		return codes.NotFound
	case http.StatusConflict:
		if conflict != codes.OK {
			return conflict
		}
		return codes.Aborted
	case http.StatusPreconditionFailed:
		return codes.FailedPrecondition
	case http.StatusTooManyRequests:
		return codes.ResourceExhausted
	case http.StatusRequestTimeout, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return codes.Unavailable
	case 499:
		return codes.Canceled
	case http.StatusNotImplemented:
		return codes.Unimplemented
	}
	switch {
	case status >= 500:
		return codes.Internal
	case status >= 400:
		return codes.FailedPrecondition
	}
	return codes.Unknown
}
