// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package refusal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"google.golang.org/grpc/codes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/diags"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/refusal"
)

var update = flag.Bool("update", false, "write testdata anew")

// notReady is a job whose Ready condition failed.
type notReady struct{ text, reason string }

func (e notReady) Error() string { return e.text }

func (e notReady) Quote() diags.Quote {
	status := "Ready condition failed"
	if e.reason != "" {
		status += ", " + e.reason
	}
	return diags.Quote{Attempt: "Cloud Run has " + job + ", and could not set it up", Text: e.text, Status: status, Reason: e.reason}
}

const job = "projects/my-project/locations/us-central1/jobs/train"

func (s *sample) err() error {
	if s.ready {
		return notReady{s.text, s.reason}
	}
	return &gcp.Error{Op: "create Cloud Run job", Resource: job, Code: s.code, HTTP: statuses[s.code], Message: s.text, Reason: s.reason, Operation: s.operation}
}

var statuses = map[codes.Code]int{
	codes.InvalidArgument: 400, codes.FailedPrecondition: 400, codes.PermissionDenied: 403, codes.NotFound: 404, codes.Aborted: 409,
	codes.ResourceExhausted: 429, codes.Internal: 500, codes.Unavailable: 503,
}

// message is what a user sees.
type message struct {
	Title      string `json:"title"`
	Kind       string `json:"kind"`
	GoogleText string `json:"google_text"`
	Status     string `json:"status"`
	Summary    string `json:"summary"`
	Path       string `json:"path"`
	Detail     string `json:"detail"`
}

// show makes the diagnostic of a sample.
func (s *sample) show(t *testing.T) message {
	t.Helper()
	about := example()
	if s.about != nil {
		s.about(about)
	}
	var d diag.Diagnostics
	refusal.Error(&d, path.Empty(), "Cannot create the Cloud Run job", s.err(), "", about)
	if len(d) != 1 {
		t.Fatalf("%d diagnostics", len(d))
	}
	m := message{Title: s.title, Kind: string(s.kind), GoogleText: s.text, Summary: d[0].Summary(), Detail: d[0].Detail()}
	if p, ok := d[0].(diag.DiagnosticWithPath); ok {
		m.Path = p.Path().String()
	}
	_, m.Status, _ = strings.Cut(m.Detail, "\nStatus: ")
	m.Status, _, _ = strings.Cut(m.Status, "\n")
	return m
}

// indexPath is a path of the API's, which is none of the user's.
var indexPath = regexp.MustCompile(`\w+\[\d+\]`)

func TestTexts(t *testing.T) {
	t.Parallel()
	titles := map[string]bool{}
	for _, s := range samples {
		if titles[s.title] {
			t.Errorf("two samples are called %q", s.title)
		}
		titles[s.title] = true
		t.Run(s.title, func(t *testing.T) {
			t.Parallel()
			about := example()
			if s.about != nil {
				s.about(about)
			}
			x, known := refusal.Explain(s.err(), about)
			if x.Kind != s.kind || known != (s.kind != refusal.Unknown) {
				t.Errorf("kind %q (known: %t), want %q", x.Kind, known, s.kind)
			}
			m := s.show(t)
			if m.Path != s.at {
				t.Errorf("at %q, want %q", m.Path, s.at)
			}
			quote := "Google answered: " + s.text + "\nStatus: "
			at := strings.Index(m.Detail, quote)
			if at < 0 {
				t.Fatalf("Google's text is not in\n%s", m.Detail)
			}
			ours := strings.Replace(m.Detail, s.text, "", 1)
			lower := strings.ToLower(ours)
			for _, w := range s.says {
				if !strings.Contains(lower, strings.ToLower(w)) && !strings.Contains(m.Summary, w) {
					t.Errorf("%q is not in\n%s", w, m.Detail)
				}
			}
			for _, w := range s.not {
				if strings.Contains(lower, strings.ToLower(w)) {
					t.Errorf("%q is in\n%s", w, ours)
				}
			}
			if p := indexPath.FindString(ours); p != "" {
				t.Errorf("%q is no path of the user's:\n%s", p, ours)
			}
			wellFormed(t, m, ours)
			if known && (x.Title == "" || x.What == "" || x.Next == "" || !strings.HasPrefix(m.Summary, "Cannot create the Cloud Run job: ")) {
				t.Errorf("something is missing: %+v, %q", x, m.Summary)
			}
		})
	}
}

// wellFormed checks what every message must be.
func wellFormed(t *testing.T, m message, ours string) {
	t.Helper()
	for _, bad := range []string{"  \n", "\n\n\n", "..", " .", "%!", "()", "( ", " ,", "serviceAccount:,", "<nil>", ":.", ". ."} {
		if strings.Contains(strings.ReplaceAll(ours, "\n\n  ", "\n\n"), bad) && !strings.Contains(m.GoogleText, bad) {
			t.Errorf("%q is in\n%s", bad, ours)
		}
	}
	for _, paragraph := range strings.Split(ours, "\n\n") {
		last := paragraph[len(paragraph)-1:]
		if !strings.HasPrefix(paragraph, "  ") && !strings.Contains(paragraph, "\nStatus: ") && !strings.Contains(paragraph, "\n  ") &&
			!strings.Contains(".:)", last) && !strings.Contains(paragraph[strings.LastIndex(paragraph, " ")+1:], "://") && !strings.Contains(paragraph, "gcloud ") {
			t.Errorf("a paragraph ends in %q: %s", last, paragraph)
		}
	}
}

// The messages as users read them, for reviewers and for the page on
// troubleshooting.
func TestMessages(t *testing.T) {
	t.Parallel()
	all := make([]message, 0, len(samples))
	for _, s := range samples {
		all = append(all, s.show(t))
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(all); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", "messages.json")
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), want) {
		t.Error("the messages are not those of testdata/messages.json; run the test with -update and read the difference")
	}
}

// What is no refusal is not explained, and is still one diagnostic.
func TestNoRefusal(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"another error": errors.New("Image 'x' not found."),
		"no answer":     &gcp.Error{Op: "create Cloud Run job", Code: codes.Unavailable, Message: "Too Many Requests", Err: errors.New("reset"), Ambiguous: true},
		"time limit":    &gcp.Error{Op: "create Cloud Run job", Code: codes.DeadlineExceeded, Err: errors.New("x")},
	} {
		if x, ok := refusal.Explain(err, example()); ok {
			t.Errorf("%s: %+v", name, x)
		}
		var d diag.Diagnostics
		refusal.Error(&d, path.Root("name"), "Cannot", err, "Do this.", example())
		if len(d) != 1 || d[0].Summary() != "Cannot" || !strings.Contains(d[0].Detail(), "Do this.") {
			t.Errorf("%s: %v", name, d)
		}
	}
}

// The caller's attribute wins, and its hint comes after the explanation and
// before Google's text.
func TestCallersWords(t *testing.T) {
	t.Parallel()
	var d diag.Diagnostics
	err := &gcp.Error{Op: "change the IAM policy of bucket", Resource: "b", Code: codes.InvalidArgument, HTTP: 400, Message: "Role roles/x is not supported for this resource."}
	refusal.Error(&d, path.Root("checkpoint").AtName("role"), "Cannot grant a role", err, "It stays in the state.", &refusal.Subject{})
	p, ok := d[0].(diag.DiagnosticWithPath)
	if !ok || p.Path().String() != "checkpoint.role" || d[0].Summary() != "Cannot grant a role: the role cannot be granted here" {
		t.Errorf("%v", d[0])
	}
	next, hint, quote := strings.Index(d[0].Detail(), "roles/storage.objectUser"), strings.Index(d[0].Detail(), "It stays"), strings.Index(d[0].Detail(), "Google answered")
	if next < 0 || hint < next || quote < hint {
		t.Errorf("%s", d[0].Detail())
	}
}

// Nobody knows every text: an explanation of an empty subject must read well,
// too, and no text makes it panic or lose what Google said.
func FuzzAnyText(f *testing.F) {
	for _, s := range samples {
		f.Add(s.text, s.reason, uint32(s.code), int64(8000), int64(4))
	}
	f.Add("Quota violated: X requested: 99999999999999999999 allowed: 1", "", uint32(3), int64(-1), int64(-5))
	f.Add("Secret  was not found\nSecret / was not found", "CONTAINER_MISSING", uint32(9), int64(0), int64(0))
	f.Fuzz(func(t *testing.T, text, reason string, code uint32, cpu, parallelism int64) {
		full := example()
		full.CPU, full.Parallelism = cpu, parallelism
		for _, about := range []*refusal.Subject{full, {}, {Secrets: []refusal.SecretUse{{}}}} {
			for _, err := range []error{&gcp.Error{Op: "create", Code: codes.Code(code), HTTP: 400, Message: text, Reason: reason}, notReady{text, reason}} {
				begin := time.Now()
				var d diag.Diagnostics
				refusal.Error(&d, path.Empty(), "Cannot", err, "", about)
				if len(d) != 1 || !strings.Contains(d[0].Detail(), strings.TrimSpace(text)) && strings.TrimSpace(text) != "" && code != uint32(codes.Canceled) {
					t.Errorf("Google's text is lost: %v", d)
				}
				if strings.Contains(d[0].Detail(), "%!") && !strings.Contains(text, "%!") {
					t.Errorf("%s", d[0].Detail())
				}
				if took := time.Since(begin); took > time.Second {
					t.Errorf("took %s", took)
				}
			}
		}
	})
}
