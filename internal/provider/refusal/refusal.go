// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package refusal

import (
	"errors"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"google.golang.org/grpc/codes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/diags"
)

// Kind is the kind of a refusal.
type Kind string

// The kinds. The empty kind is that of a text that is not known.
const (
	Unknown    Kind = ""
	Quota      Kind = "quota"
	RateLimit  Kind = "rate limit"
	Permission Kind = "permission"
	Account    Kind = "account"
	Image      Kind = "image"
	Secret     Kind = "secret"
	Key        Kind = "encryption key"
	Network    Kind = "network"
	Size       Kind = "size"
	Stage      Kind = "launch stage"
	Value      Kind = "value"
	Conflict   Kind = "conflict"
	Missing    Kind = "missing"
	API        Kind = "API"
	Billing    Kind = "billing"
	Policy     Kind = "organization policy"
	Policies   Kind = "IAM policy"
	Platform   Kind = "platform"
)

// Subject is what was asked for: what Google's texts leave out. Any field may
// be empty.
type Subject struct {
	Project, Location string
	// Account is the e-mail of the account that the job runs as.
	Account string
	// Owned says that Terraform makes and deletes that account.
	Owned bool
	Image string
	// GPUType is as configured; "none" or empty is no GPU.
	GPUType         string
	ZonalRedundancy bool
	// CPU is in thousandths of a vCPU, Memory in bytes; both of one task.
	CPU, Memory int64
	// Tasks is the number of tasks, Parallelism how many may run at the same
	// time; 0 when it is not set.
	Tasks, Parallelism int64
	// Secrets are the uses of secrets in the configuration.
	Secrets []SecretUse
	// Bucket is the name of a bucket that the call is about.
	Bucket string
	// Now is said at the end of an explanation of why something that was stored
	// is not ready. Empty: the next apply sends it again.
	Now string
}

// SecretUse is one use of a secret in the configuration.
type SecretUse struct {
	// At is the attribute that names the secret.
	At path.Path
	// Name is the secret as written: its short name or its full one.
	Name string
	// Versions are those that are read, as written, such as "latest".
	Versions []string
	// Volume says that the secret is mounted; otherwise it is a variable.
	Volume bool
}

// Explanation is what a refusal means.
type Explanation struct {
	Kind Kind
	// Title says in a few words what is wrong, to stand behind the summary.
	Title string
	// At is the attribute to blame; path.Empty() for none.
	At path.Path
	// What says what happened and why, Next what to do about it. Both are whole
	// sentences; Next may hold commands on lines of their own.
	What, Next string
}

// answer is what Google said.
type answer struct {
	text, reason string
	code         codes.Code
	// stored says that the API accepted the request and failed at it later.
	stored  bool
	limited bool
}

// said returns what Google said in an error; false when it said nothing.
func said(err error) (answer, bool) {
	var quoting diags.Quoting
	if errors.As(err, &quoting) {
		q := quoting.Quote()
		return answer{text: q.Text, reason: q.Reason, stored: true}, true
	}
	e, ok := gcp.AsError(err)
	if !ok || e.HTTP == 0 {
		return answer{}, false
	}
	return answer{
		text: e.Message, reason: e.Reason, code: e.Code, limited: gcp.IsRateLimited(err),
		stored: e.Operation,
	}, true
}

// Explain says what an error means; false when it is no refusal, or when its
// text is not known.
func Explain(err error, about *Subject) (Explanation, bool) {
	a, ok := said(err)
	if !ok {
		return Explanation{}, false
	}
	x, ok := about.explain(a)
	if ok && a.stored {
		if strings.Contains(x.What, "\n") {
			x.What = paragraphs(x.What, about.stored())
		} else {
			x.What = join(x.What, about.stored())
		}
	}
	return x, ok
}

func (s *Subject) explain(a answer) (Explanation, bool) {
	if x, ok := s.secrets(a.text); ok {
		return x, true
	}
	for _, r := range rules {
		if found := r.text.FindStringSubmatch(a.text); found != nil {
			return r.done(s, a.text, found), true
		}
	}
	if a.limited {
		return rateLimit.done(s, a.text, nil), true
	}
	if r, ok := reasons[a.reason]; ok {
		return r.done(s, a.text, nil), true
	}
	return Explanation{}, false
}

// stored says what becomes of a job that the API took and could not make ready.
func (s *Subject) stored() string {
	if s.Now != "" {
		return s.Now
	}
	return "Cloud Run has stored the job, but it is not ready; the next apply sends it again."
}

// Error adds one error for err, as [diags.Error] does, and says what the
// refusal means where its text is known. The attribute p, when it is not empty,
// is the one to blame; otherwise the text decides. The hint is the caller's own
// next step and comes last.
func Error(d *diag.Diagnostics, p path.Path, summary string, err error, hint string, about *Subject) {
	x, ok := Explain(err, about)
	if !ok {
		if p.Equal(path.Empty()) {
			if a, refused := said(err); refused {
				p = blamed(a.text)
			}
		}
		if hint == "" {
			hint = neutral(err)
		}
		diags.Error(d, p, summary, err, hint)
		return
	}
	if p.Equal(path.Empty()) {
		p = x.At
	}
	diags.Explained(d, p, summary+": "+x.Title, err, x.paragraphs(hint)...)
}

// Warning adds a warning for a state of things that a refusal made: with what
// it means where its text is known, and else with what becomes of it.
func Warning(d *diag.Diagnostics, p path.Path, summary string, err error, about *Subject) {
	if x, ok := Explain(err, about); ok {
		diags.ExplainedWarning(d, p, summary, err, x.paragraphs("")...)
		return
	}
	diags.Warning(d, p, summary, err, about.stored())
}

// At returns the attribute that Google's text blames, or the other one where it
// blames none.
func At(err error, about *Subject, otherwise path.Path) path.Path {
	if x, ok := Explain(err, about); ok && !x.At.Equal(path.Empty()) {
		return x.At
	}
	return otherwise
}

func (x Explanation) paragraphs(hint string) []string {
	var out []string
	for _, s := range []string{x.What, x.Next, hint} {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

// neutral is the next step where only the status is known: for a refusal of the
// content, to read. Other statuses have theirs in diags.
func neutral(err error) string {
	e, ok := gcp.AsError(err)
	if !ok || e.HTTP == 0 || gcp.IsAmbiguous(err) {
		var quoting diags.Quoting
		if errors.As(err, &quoting) {
			return readIt
		}
		return ""
	}
	switch e.Code {
	case codes.InvalidArgument, codes.FailedPrecondition, codes.OutOfRange, codes.NotFound, codes.Unknown, codes.Aborted:
		return readIt
	}
	return ""
}

const readIt = "This provider does not know this text. Read what Google says above, correct what it names, and apply again."
