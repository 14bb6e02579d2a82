// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package refusal

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/lazyregexp"
)

// trouble is what is wrong with a secret.
type trouble int

const (
	secretMissing trouble = iota
	secretDenied
	secretsOff
)

// secretLine is one line of a text about secrets: Cloud Run writes one for each
// variable and each file.
type secretLine struct {
	trouble trouble
	// project is the project's number or id as the text has it, secret the short
	// name; both are empty for secretsOff.
	project, secret, version string
	account                  string
	volume                   bool
}

var (
	notFound   = lazyregexp.New(`Secret (\S+?) was not found`)
	denied     = lazyregexp.New(`Permission denied on secret: (\S+) for Revision service account (\S+)`)
	secretsAPI = lazyregexp.New(`Secret Manager API has not been used in project (\S+) before or it is disabled`)
)

func readSecrets(text string) []secretLine {
	var out []secretLine
	for line := range strings.Lines(text) {
		var l secretLine
		switch {
		case notFound.MatchString(line):
			l.name(notFound.FindStringSubmatch(line)[1])
		case denied.MatchString(line):
			found := denied.FindStringSubmatch(line)
			l.trouble, l.account = secretDenied, trimDot(found[2])
			l.name(found[1])
		case secretsAPI.MatchString(line):
			l.trouble, l.project = secretsOff, secretsAPI.FindStringSubmatch(line)[1]
		default:
			continue
		}
		l.volume = strings.Contains(line, ".volumes[")
		if !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	return out
}

// name reads projects/P/secrets/S/versions/V, and shorter forms of it.
func (l *secretLine) name(s string) {
	s, l.version, _ = strings.Cut(trimDot(s), "/versions/")
	if rest, ok := strings.CutPrefix(s, "projects/"); ok {
		l.project, s, _ = strings.Cut(rest, "/secrets/")
	}
	l.secret = s
}

// uses are the attributes that a line is about: those of the secret's name, and
// among these those of the version and of the kind, when there are any. The
// index in the text is that of the request and says nothing to a user.
func (s *Subject) uses(l secretLine) []SecretUse {
	var found []SecretUse
	for _, u := range s.Secrets {
		if u.Name[strings.LastIndex(u.Name, "/")+1:] == l.secret {
			found = append(found, u)
		}
	}
	found = narrow(found, func(u SecretUse) bool { return slices.Contains(u.Versions, l.version) })
	return narrow(found, func(u SecretUse) bool { return u.Volume == l.volume })
}

// narrow returns the uses that fit, or all when none does.
func narrow(uses []SecretUse, fits func(SecretUse) bool) []SecretUse {
	var out []SecretUse
	for _, u := range uses {
		if fits(u) {
			out = append(out, u)
		}
	}
	if len(out) == 0 {
		return uses
	}
	return out
}

// secrets explains a text that has lines about secrets: each is named with the
// attribute that uses it.
func (s *Subject) secrets(text string) (Explanation, bool) {
	all := readSecrets(text)
	if len(all) == 0 {
		return Explanation{}, false
	}
	var at []path.Path
	var what, next []string
	for _, l := range all {
		uses := s.uses(l)
		names := make([]string, 0, len(uses))
		for _, u := range uses {
			at = append(at, u.At)
			names = append(names, u.At.String())
		}
		what = append(what, "\n  "+s.sentence(l, strings.Join(names, ", ")))
		if step := s.mend(l, uses); !slices.Contains(next, step) {
			next = append(next, step)
		}
	}
	x := Explanation{Kind: Secret, Title: "a secret cannot be used", At: common(at)}
	if all[0].trouble == secretsOff && len(all) == 1 {
		x.Kind, x.Title = API, "the Secret Manager API is off"
	}
	x.What = "The tasks could not get " + these(len(all), "a secret", "secrets") + " that the job uses:" + strings.Join(what, "")
	x.Next = strings.Join(next, "\n\n")
	return x, true
}

func these(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// sentence says what is wrong with one secret and where it is used.
func (s *Subject) sentence(l secretLine, at string) string {
	if at != "" {
		at = " (" + at + ")"
	}
	switch l.trouble {
	case secretDenied:
		return fmt.Sprintf("secret %s%s: the account %s may not read it", l.secret, at, l.account)
	case secretsOff:
		return fmt.Sprintf("the Secret Manager API is not enabled in project %s", l.project)
	}
	version := ""
	if l.version != "" {
		version = ", version " + l.version
	}
	return fmt.Sprintf("secret %s%s%s: there is no such secret or version in project %s", l.secret, version, at, s.secretProject(l))
}

// secretProject is the project to name: a text has the number of the job's own.
func (s *Subject) secretProject(l secretLine) string { return or(l.project, s.projectID()) }

// mend says what to do about one secret.
func (s *Subject) mend(l secretLine, uses []SecretUse) string {
	switch l.trouble {
	case secretDenied:
		return fmt.Sprintf("Give %s the role roles/secretmanager.secretAccessor on the secret %s: set grant = true where the secret is used, or grant it otherwise:", l.account, l.secret) +
			command("gcloud secrets add-iam-policy-binding %s --project=%s --member=serviceAccount:%s --role=roles/secretmanager.secretAccessor", l.secret, s.secretProject(l), l.account) +
			"\n\nIf it was granted a moment ago, wait a minute and apply again."
	case secretsOff:
		return "Enable the API, wait a minute, and apply again:" + command("gcloud services enable secretmanager.googleapis.com --project=%s", l.project)
	}
	where := "in the configuration"
	if len(uses) == 1 {
		where = "at " + uses[0].At.ParentPath().String()
	}
	return fmt.Sprintf("Look at what there is, and correct the name or the version %s, or add a version:", where) +
		commands(fmt.Sprintf("gcloud secrets versions list %s --project=%s", l.secret, s.secretProject(l)),
			fmt.Sprintf("gcloud secrets versions add %s --project=%s --data-file=FILE", l.secret, s.secretProject(l)))
}

// common is the longest path that all have in common.
func common(all []path.Path) path.Path {
	if len(all) == 0 {
		return path.Empty()
	}
	at := all[0]
	for _, p := range all[1:] {
		for len(at.Steps()) > 0 && !begins(p, at) {
			at = at.ParentPath()
		}
	}
	if len(at.Steps()) == 0 {
		return path.Empty()
	}
	return at
}

// begins tells whether a path begins with all steps of another.
func begins(p, with path.Path) bool {
	n := len(with.Steps())
	return len(p.Steps()) >= n && p.Steps()[:n].Equal(with.Steps())
}
