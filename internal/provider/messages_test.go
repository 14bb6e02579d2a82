// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/runner"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/messages"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider"
)

// Every message that the provider has of its own, with the configuration that
// causes it. The files are read by people: in a review, and as the guide
// Troubleshooting. Written anew, they keep the configurations and take over what
// the provider says now:
//
//	go test ./internal/provider -run TestMessages -update
const messagesFolder = "testdata/messages"

func readMessages(t testing.TB) []messages.Group {
	t.Helper()
	groups, err := messages.Read(messagesFolder)
	if err != nil || len(groups) == 0 {
		t.Fatalf("%d groups, %v", len(groups), err)
	}
	return groups
}

func TestMessages(t *testing.T) {
	t.Parallel()
	shared := messagesEmulator(t)
	for _, g := range readMessages(t) {
		t.Run(strings.TrimSuffix(g.File, ".txt"), func(t *testing.T) {
			t.Parallel()
			titles := map[string]bool{}
			for i, c := range g.Cases {
				if titles[c.Title] {
					t.Errorf("two cases are called %q", c.Title)
				}
				titles[c.Title] = true
				on := func() *emulator.Emulator {
					if c.Before == "" {
						return shared
					}
					return messagesEmulator(t)
				}
				got := said(t, on(), c, c.Wrong)
				if *update {
					c.Before, c.Wrong, c.Right = formatted(c.Before), formatted(c.Wrong), formatted(c.Right)
					c.Messages = got
					g.Cases[i] = c
				} else if !reflect.DeepEqual(got, c.Messages) {
					t.Errorf("%s: says\n%s\nwant\n%s", c.Title, told(got), told(c.Messages))
				}
				if len(got) != 1 {
					t.Errorf("%s: %d messages for one mistake:%s", c.Title, len(got), told(got))
				}
				for _, m := range got {
					readable(t, c, m)
				}
				for _, config := range []string{c.Before, c.Wrong, c.Right} {
					if config != formatted(config) {
						t.Errorf("%s: not as terraform fmt writes it:\n%s", c.Title, config)
					}
				}
				if c.Right != "" {
					if got := said(t, on(), c, c.Right); len(got) > 0 {
						t.Errorf("%s: what is right is not accepted: %s", c.Title, told(got))
					}
				}
			}
			if *update {
				if err := os.WriteFile(filepath.Join(messagesFolder, g.File), []byte(g.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// messagesEmulator has two buckets, and tasks that go on for ever, but for those
// that have the variable ENDS.
func messagesEmulator(t testing.TB) *emulator.Emulator {
	t.Helper()
	tasks := runner.NewScripted()
	tasks.OnLaunch(func(a *runner.ScriptedAttempt) {
		if slices.Contains(a.Task.Env, "ENDS=yes") {
			a.Exit(0)
		}
	})
	e := acctest.Emulator(t, func(o *emulator.Options) { o.Launcher = tasks })
	seedBucket(t, e.Addr(), "checkpoints-here", "us-central1")
	seedBucket(t, e.Addr(), "checkpoints-in-europe", "europe-west4")
	return e
}

// said returns what the provider says to a configuration, from validation to
// plan, beside that it speaks to the emulator.
func said(t testing.TB, e *emulator.Emulator, c messages.Case, config string) []messages.Message {
	t.Helper()
	var lives map[string]life
	onEmulator := env("RESILIENTJOB_EMULATOR_HOST", e.Addr(), "GOOGLE_PROJECT", "my-project", "GOOGLE_REGION", acctest.EmulatorRegion)
	if c.Before != "" {
		h := &hands{Protocol: acctest.NewProtocol(t, onEmulator), t: t}
		w := parseConfig(t, c.Before)
		h.configure(w)
		h.apply(w)
		if h.stopped() {
			t.Fatalf("%s: what was before: %s", c.Title, told(messagesSaid(h.said)))
		}
		lives = h.lives
	}
	w := parseConfig(t, config)
	if w.outputs > 0 {
		return messagesSaid(w.said) // functions need no provider that is configured
	}
	opts := onEmulator
	switch {
	case len(c.Environment) > 0:
		var kv []string
		for _, v := range c.Environment {
			name, text, _ := strings.Cut(v, "=")
			kv = append(kv, name, text)
		}
		opts = env(kv...)
	case len(w.resources)+len(w.data)+len(w.imports) == 0 && c.Do == "":
		opts = env() // the provider block alone
	}
	h := &hands{Protocol: acctest.NewProtocol(t, opts), t: t, lives: lives}
	h.configure(w)
	if h.stopped() || h.take(w) {
		return messagesSaid(h.said)
	}
	switch c.Do {
	case "refresh":
		h.refresh(w)
	case "destroy":
		for _, r := range w.resources {
			h.plan(r, true)
		}
	case "":
		h.refresh(w)
		for _, r := range w.resources {
			h.plan(r, false)
		}
		h.read(w)
	default:
		t.Fatalf("%s: do what? %s", c.Title, c.Do)
	}
	return messagesSaid(h.said)
}

// chance is what differs from run to run: the names of executions, ids and times.
var chance = map[string]*regexp.Regexp{
	"train-x7k2p":                          regexp.MustCompile(`\btrain-[a-z0-9]{5}\b`),
	"00e30000-0000-4000-8000-000000000000": regexp.MustCompile(`\b00e30000-[0-9a-f-]{27}\b`),
	"2027-01-01T12:00:00Z":                 regexp.MustCompile(`\b20\d\d-\d\d-\d\dT[0-9:]{8}Z`),
}

func settled(s string) string {
	for by, what := range chance {
		s = what.ReplaceAllString(s, by)
	}
	return s
}

func messagesSaid(diags []*tfprotov6.Diagnostic) []messages.Message {
	var out []messages.Message
	for _, d := range diags {
		if d.Summary == provider.EmulatorWarning && !strings.Contains(d.Detail, "have no meaning there") {
			continue
		}
		severity := "error"
		if d.Severity == tfprotov6.DiagnosticSeverityWarning {
			severity = "warning"
		}
		out = append(out, messages.Message{Severity: severity, Path: pathOf(d.Attribute), Summary: d.Summary, Detail: settled(d.Detail)})
	}
	return out
}

// formatted is a configuration as terraform fmt writes it.
func formatted(config string) string { return string(hclwrite.Format([]byte(config))) }

// readable holds a message to what can be told without reading it.
func readable(t testing.TB, c messages.Case, m messages.Message) {
	t.Helper()
	for what, bad := range map[string]bool{
		"the summary is a sentence, or long":       strings.HasSuffix(m.Summary, ".") || len(m.Summary) > 60,
		"the detail is no sentence":                !strings.HasSuffix(m.Detail, ".") && !strings.HasSuffix(m.Detail, "?"),
		"the detail does not begin with a capital": !regexp.MustCompile(`^[\p{Lu}\p{N}"]|^[a-z0-9_-]+[.\[:= ]`).MatchString(m.Detail),
		"the detail repeats the summary":           strings.HasPrefix(m.Detail, m.Summary),
		"something of the program shows":           regexp.MustCompile(`%!|<nil>|\bnil\b|tftypes|basetypes|AttributeName|Attribute \w+ value`).MatchString(m.Detail + m.Summary),
		"two full stops":                           strings.Contains(strings.ReplaceAll(m.Detail, `"..`, ""), "..") && !strings.Contains(c.Wrong, ".."),
		"a framework's text":                       regexp.MustCompile(`Invalid Attribute|must be one of|value must`).MatchString(m.Summary + m.Detail),
		"nothing says what to do":                  !advice.MatchString(m.Detail),
		"it shouts":                                strings.Contains(m.Detail, "!") && !strings.Contains(c.Wrong, "!"),
		"neither attribute nor value is named":     !names(c, m),
		"no path, although an attribute is wrong":  m.Path == "" && c.Do == "" && len(c.Environment) == 0 && !strings.Contains(c.Wrong, "import {") && m.Severity == "error",
	} {
		if bad {
			t.Errorf("%s: %s: %s", c.Title, what, told([]messages.Message{m}))
		}
	}
}

// advice are the words with which a message says what to write or to do.
var advice = regexp.MustCompile(`(?i)\b(write|leave|remove|set|unset|use|keep|give|choose|change|add|put|take|name|say|run|apply|import|plan|cancel|wrap|decode|expect|nothing needs|check|save more|did you mean|make|wait|ask|end|must be host:port)\b`)

var keys = regexp.MustCompile(`\[[^\]]*\]`)

var quotedText = regexp.MustCompile(`"([^"]+)"`)

// names reports whether a detail names the attribute, or a value of the case.
func names(c messages.Case, m messages.Message) bool {
	if m.Path == "" {
		return true
	}
	// Terraform shows the line of an attribute, and for one inside of another only
	// that of the resource.
	if bare := keys.ReplaceAllString(m.Path, ""); m.Severity == "error" && strings.Contains(bare, ".") {
		return strings.Contains(m.Detail, lastName(bare))
	}
	if strings.Contains(strings.ToLower(strings.ReplaceAll(m.Detail, " ", "_")), strings.ToLower(lastName(m.Path))) {
		return true
	}
	_, inside, _ := strings.Cut(c.Wrong, "{")
	for _, found := range quotedText.FindAllStringSubmatch(inside, -1) {
		if strings.Contains(m.Detail, found[1]) {
			return true
		}
	}
	return false
}

// lastName is the last attribute or key of a path.
func lastName(path string) string {
	path = strings.TrimSuffix(path, "]")
	i := strings.LastIndexAny(path, ".[")
	return strings.Trim(path[i+1:], `"`)
}

// told writes messages for a test that failed.
func told(all []messages.Message) string {
	var b strings.Builder
	for _, m := range all {
		b.WriteString("\n  " + m.Severity + " " + m.Path + ": " + m.Summary + ": " + m.Detail)
	}
	return b.String()
}
