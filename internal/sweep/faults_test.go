// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package sweep_test

import (
	"context"
	"strings"
	"time"
	"unicode"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
)

// kind is one way in which a call goes wrong.
type kind struct {
	// letter heads its column.
	letter string
	name   string
	fault  func(*world, point) faults.Fault
	// stays means for the whole apply, not once.
	stays bool
	// only operations of jobs can go wrong so.
	operation bool
	// quick means that the configuration's time limits are short.
	quick bool
	// sparse means that reads of a kind are all alike to it.
	sparse bool
	// killed means that the provider dies.
	killed bool
}

func refuses(code codes.Code, text string) func(*world, point) faults.Fault {
	return func(*world, point) faults.Fault { return faults.Fault{Status: status.New(code, text)} }
}

// conflicts is 409: a name that is taken, or a change by somebody else.
func conflicts(_ *world, p point) faults.Fault {
	if strings.HasSuffix(p.method, "insert") || strings.Contains(p.method, "/Create") {
		return faults.Fault{Status: status.New(codes.AlreadyExists, "The requested entity already exists.")}
	}
	return faults.Fault{Status: status.New(codes.Aborted, "Conflict for resource: somebody else has changed it.")}
}

func operation(o faults.OperationFault) func(*world, point) faults.Fault {
	return func(*world, point) faults.Fault { return faults.Fault{Operation: &o} }
}

// denies is 403 as Google words it.
func denies(_ *world, p point) faults.Fault {
	service, method, _ := strings.Cut(p.method, "/")
	if id, ok := strings.CutPrefix(p.method, "storage."); ok {
		right := "storage." + strings.NewReplacer("insert", "create", "patch", "update", "testIamPermissions", "get").Replace(id)
		return faults.Fault{Status: status.Newf(codes.PermissionDenied,
			"me@example.com does not have %s access to the Google Cloud Storage bucket. Permission '%[1]s' denied on resource (or it may not exist).", right)}
	}
	verb := method[:strings.IndexFunc(method[1:], unicode.IsUpper)+1]
	noun := strings.TrimPrefix(method, verb)
	plural := strings.ToLower(noun[:1]) + strings.TrimSuffix(noun[1:], "s") + "s"
	right := strings.Split(service, ".")[1] + "." + plural + "." + strings.ToLower(verb)
	switch {
	case strings.HasPrefix(service, "google.cloud.run"):
		right = "run." + plural + "." + strings.ToLower(verb)
	case noun == "IamPolicy":
		right = "secretmanager.secrets." + strings.ToLower(verb) + noun
	case strings.HasPrefix(service, "google.iam"):
		right = "iam." + plural + "." + strings.ToLower(verb)
	}
	return faults.Fault{Status: status.Newf(codes.PermissionDenied, "Permission '%s' denied on resource '%s' (or it may not exist).", right, p.resource)}
}

var kinds = []kind{
	{letter: "400", sparse: true, name: "refused with 400", fault: refuses(codes.InvalidArgument, "The request has an invalid value.")},
	{letter: "403", name: "refused with 403", fault: denies},
	{letter: "404", name: "refused with 404", fault: refuses(codes.NotFound, "Requested entity was not found.")},
	{letter: "409", sparse: true, name: "refused with 409", fault: conflicts},
	{letter: "412", sparse: true, name: "refused with 412", fault: refuses(codes.FailedPrecondition, "At least one of the pre-conditions you specified did not hold.")},
	{letter: "429", sparse: true, name: "refused with 429, once", fault: refuses(codes.ResourceExhausted, "Quota exceeded for quota metric 'Write requests' and limit 'Write requests per minute'.")},
	{letter: "500", sparse: true, name: "500, and nothing done", fault: refuses(codes.Internal, "Internal error encountered.")},
	{letter: "503", sparse: true, name: "503, and nothing done", fault: refuses(codes.Unavailable, "The service is currently unavailable.")},
	{letter: "late", sparse: true, name: "answered after 45 seconds", fault: func(w *world, _ point) faults.Fault {
		return faults.Fault{Wait: func(context.Context) { w.clock.Advance(45 * time.Second) }}
	}},
	{letter: "cut", sparse: true, name: "connection cut before the call", fault: func(*world, point) faults.Fault { return faults.Fault{Cut: true} }},
	{letter: "lost", name: "done, and the answer lost", fault: func(*world, point) faults.Fault { return faults.Fault{Lose: true} }},
	{letter: "kill", name: "done, and the provider killed", killed: true, fault: func(w *world, _ point) faults.Fault {
		return faults.Fault{Lose: true, Do: func(c faults.Call) {
			w.ends.Store(false)
			w.core.Kill(c)
		}}
	}},
	{letter: "^C", name: "Ctrl-C while the call is on its way", fault: func(w *world, _ point) faults.Fault {
		return faults.Fault{Do: func(faults.Call) {
			w.ends.Store(false)
			w.core.Interrupt()
		}}
	}},
	{letter: "403s", sparse: true, name: "refused with 403 for the whole apply", stays: true, fault: denies},
	{letter: "503s", sparse: true, name: "503 for the whole apply", stays: true, fault: refuses(codes.Unavailable, "The service is currently unavailable.")},
	{letter: "op!", name: "the operation ends with an error", operation: true, fault: operation(faults.OperationFault{Status: status.New(codes.Internal, "An internal error has occurred.")})},
	{letter: "op0", name: "the operation ends with neither error nor response", operation: true, fault: operation(faults.OperationFault{NoResponse: true})},
	{letter: "op~", name: "the operation never ends", operation: true, quick: true, fault: operation(faults.OperationFault{Never: true})},
}

// reads reports whether a call changes nothing.
func (p point) reads() bool {
	name := strings.ToLower(p.method[strings.LastIndexAny(p.method, "./")+1:])
	return strings.HasPrefix(name, "get") || strings.HasPrefix(name, "list") || strings.HasPrefix(name, "test")
}

// operates reports whether a call has an operation.
func (p point) operates() bool {
	for _, name := range []string{"/CreateJob", "/UpdateJob", "/DeleteJob", "/RunJob"} {
		if strings.HasSuffix(p.method, name) {
			return true
		}
	}
	return false
}
