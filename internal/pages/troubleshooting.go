// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/messages"
)

// The files in which the messages are written down, and which tests hold the
// provider to.
const (
	messagesFolder = "internal/provider/testdata/messages"
	refusalsFile   = "internal/provider/refusal/testdata/messages.json"
)

// groupOrder is the order of the page: what is met first stands first.
var groupOrder = []string{"gpu.txt", "time.txt", "checkpoint.txt", "volumes.txt", "secrets.txt", "network.txt", "job.txt", "bucket.txt", "execution.txt", "checkpoints.txt", "interruptions.txt", "functions.txt", "provider.txt"}

// dated is the paragraph that every refusal of a dated table ends with.
const dated = "\n\nThis limit is as of "

// refusal is one text of Google's with what the provider makes of it.
type refusal struct {
	Kind       string `json:"kind"`
	GoogleText string `json:"google_text"`
	Summary    string `json:"summary"`
	Path       string `json:"path"`
	Detail     string `json:"detail"`
}

// coreCases are mistakes of people who know the google provider or gcloud, which
// Terraform finds without the provider.
var coreCases = []struct{ summary, detail, meaning, wrong, right string }{
	{
		"Unsupported block type", `Blocks of type "checkpoint" are not expected here. Did you mean to define argument "checkpoint"? If so, use the equals sign to assign it a value.`,
		"Everything here is an attribute, also `timeouts`, `network` and `env`: it has an equals sign. There is no `template` either: what it holds in `google_cloud_run_v2_job` stands in the resource itself " +
			"(see [Coming from the google provider](coming-from-the-google-provider.md)).",
		"checkpoint {\n  bucket = \"my-checkpoints\"\n}", "checkpoint = {\n  bucket = \"my-checkpoints\"\n}",
	},
	{
		"Unsupported argument", `An argument named "gpu" is not expected here. Did you mean "cpu"?`,
		"The attribute has another name, or does not exist here. Each task has one GPU, and its type is chosen; the protection against a destroy is `cancel_running_executions = false` and `force_destroy = false`, which are the defaults.",
		"gpu = 1", "gpu_type = \"nvidia-l4\"",
	},
	{
		"Incorrect attribute value type", `Inappropriate value for attribute "env": map of string required.`,
		"`env`, `secret_env` and `volumes` are maps: what is called `name` elsewhere is the key. `network` and each element of `secret_env` are objects. `job` of an execution is a text, such as `resilientjob_gpu_job.train.id`.",
		"env        = [{ name = \"EPOCHS\", value = \"10\" }]\nsecret_env = { TOKEN = \"token\" }\nnetwork    = \"default\"",
		"env        = { EPOCHS = \"10\" }\nsecret_env = { TOKEN = { secret = \"token\" } }\nnetwork    = { network = \"default\" }",
	},
}

// topic is everything that is said under one summary.
type topic struct {
	summary, severity string
	dated             bool
	paths             []string
	cases             []messages.Case
}

// troubleshooting renders the page about the messages.
func troubleshooting(root string) (string, error) {
	groups, err := messages.Read(filepath.Join(root, messagesFolder))
	if err != nil {
		return "", err
	}
	raw, err := os.ReadFile(filepath.Join(root, refusalsFile))
	if err != nil {
		return "", err
	}
	var refusals []refusal
	if err := json.Unmarshal(raw, &refusals); err != nil {
		return "", fmt.Errorf("%s: %w", refusalsFile, err)
	}
	slices.SortStableFunc(groups, func(a, b messages.Group) int {
		return slices.Index(groupOrder, a.File) - slices.Index(groupOrder, b.File)
	})

	var b strings.Builder
	b.WriteString("---\npage_title: \"Troubleshooting\"\nsubcategory: \"\"\ndescription: |-\n  What each error and warning means, and what to write instead.\n---\n\n" +
		"<!-- Generated from the messages that the tests hold the provider to, by \"make generate\". Do not edit. -->\n\n# Troubleshooting\n\n" +
		"Search this page for the line that Terraform prints after `Error:` or `Warning:`. Below it stands an example of the message and, where something else has to be written, " +
		"the change: a line with `-` is wrong, the one with `+` right. Values in a message are those of the example.\n\n" +
		"*Error, dated limit* is an error that `plan_validation = \"warn\"` in the provider block turns into a warning, for the case that Google has changed the limit meanwhile " +
		"(see [Limits and GPU types](limits-and-gpu-types.md)).\n\n")
	for _, g := range groups {
		fmt.Fprintf(&b, "- [%s](#%s)\n", g.Title, anchor(g.Title))
	}
	const google, core = "What Google refuses", "What Terraform itself refuses"
	fmt.Fprintf(&b, "- [%s](#%s)\n- [%s](#%s)\n\n", google, anchor(google), core, anchor(core))
	seen := map[string]bool{}
	for _, g := range groups {
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", g.Title, g.Intro)
		for _, t := range topics(groups, g) {
			if !seen[t.summary] {
				seen[t.summary] = true
				writeTopic(&b, t)
			}
		}
	}
	fmt.Fprintf(&b, "## %s\n\nThe line after `Error:` begins with what was tried, such as `Cannot create the Cloud Run job`, and ends with the heading here. Google's own text and status stand "+
		"at the end of each message.\n\n", google)
	writeRefusals(&b, refusals)
	fmt.Fprintf(&b, "\n## %s\n\nOf one mistake Terraform says nothing at all: a key of an object that does not exist, such as `checkpoint = { bucket = \"my-checkpoints\", mountpath = \"/x\" }`, "+
		"is dropped before the provider sees it. The plan shows what was understood.\n\nBefore the provider is asked, Terraform compares the configuration with the provider's schema. These messages are Terraform's, and do not say what to write.\n\n", core)
	for _, c := range coreCases {
		fmt.Fprintf(&b, "### %s\n\n%s%s\n\n```diff\n%s```\n\n", c.summary, quoteText(c.detail), "\n"+c.meaning, change(c.wrong, c.right))
	}
	return strings.TrimRight(b.String(), "\n") + "\n", nil
}

// anchor is how Markdown names a heading.
func anchor(heading string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(heading), ",", ""), " ", "-")
}

// topics are the messages of a group by their summary, each with the cases of
// every group that has it.
func topics(all []messages.Group, of messages.Group) []topic {
	var out []topic
	for _, c := range of.Cases {
		for _, m := range c.Messages {
			if slices.ContainsFunc(out, func(t topic) bool { return t.summary == m.Summary }) {
				continue
			}
			t := topic{summary: m.Summary, severity: m.Severity}
			for _, g := range all {
				for _, c := range g.Cases {
					for _, m := range c.Messages {
						if m.Summary != t.summary {
							continue
						}
						t.dated = t.dated || strings.Contains(m.Detail, dated)
						if p := keyless(m.Path); p != "" && !slices.Contains(t.paths, p) {
							t.paths = append(t.paths, p)
						}
						t.cases = append(t.cases, c)
					}
				}
			}
			out = append(out, t)
		}
	}
	return out
}

var key = regexp.MustCompile(`\[[^\]]*\]`)

// keyless takes the keys out of a path.
func keyless(path string) string { return key.ReplaceAllString(path, "") }

func writeTopic(b *strings.Builder, t topic) {
	fmt.Fprintf(b, "### %s\n\n", t.summary)
	kind := strings.ToUpper(t.severity[:1]) + t.severity[1:]
	if t.dated {
		kind += ", dated limit"
	}
	b.WriteString("*" + kind + "*")
	for i, p := range t.paths {
		if i == 0 {
			b.WriteString(" at ")
		} else {
			b.WriteString(", ")
		}
		b.WriteString(code(p))
	}
	first := t.cases[0]
	b.WriteString(".\n\n" + quoteText(undated(first.Messages[0].Detail)) + "\n")
	if first.Right != "" && len(first.Environment) == 0 && first.Before == "" {
		b.WriteString("```diff\n" + change(first.Wrong, first.Right) + "```\n\n")
	}
	told := []string{form(bare(first))}
	var also strings.Builder
	for _, c := range t.cases[1:] {
		s := bare(c)
		if strings.HasSuffix(s, ":") || slices.ContainsFunc(told, func(before string) bool { return strings.HasPrefix(before, form(s)) }) {
			continue
		}
		told = append(told, form(s))
		also.WriteString("- " + escaped(s) + "\n")
	}
	if also.Len() > 0 {
		b.WriteString("Also:\n\n" + also.String() + "\n")
	}
}

func undated(detail string) string {
	detail, _, _ = strings.Cut(detail, dated)
	return detail
}

// bare is the first paragraph of what is said about a case, without the
// attribute in front.
func bare(c messages.Case) string {
	s, _, _ := strings.Cut(undated(c.Messages[0].Detail), "\n")
	return strings.TrimPrefix(s, c.Messages[0].Path+": ")
}

var (
	textInQuotes = regexp.MustCompile(`"[^"]*"`)
	number       = regexp.MustCompile(`\d+`)
	attribute    = regexp.MustCompile(`^[a-z_.]+\[[^\]]*\]`)
)

// form is a text without its values: two cases of one form need not both be told.
func form(s string) string {
	s = attribute.ReplaceAllString(s, "")
	return number.ReplaceAllString(textInQuotes.ReplaceAllString(s, `""`), "0")
}

// quoteText quotes a message: paragraphs as they are, commands as code.
func quoteText(text string) string {
	var b strings.Builder
	inCode := false
	fence := func(want bool) {
		if inCode != want {
			b.WriteString("> ```\n")
			inCode = want
		}
	}
	for _, line := range strings.Split(text, "\n") {
		isCode := strings.HasPrefix(line, "  ")
		fence(isCode)
		switch {
		case isCode:
			b.WriteString("> " + strings.TrimPrefix(line, "  ") + "\n")
		case line == "":
			b.WriteString(">\n")
		default:
			b.WriteString("> " + escaped(line) + "\n")
		}
	}
	fence(false)
	return b.String()
}

var underscore = regexp.MustCompile(`(^|\W)_|_(\W|$)`)

// escaped keeps Markdown from taking a part of a text for its own.
func escaped(s string) string {
	s = strings.NewReplacer(`\`, `\\`, "*", `\*`, "<", `\<`, "`", "\\`").Replace(s)
	return underscore.ReplaceAllStringFunc(s, func(m string) string { return strings.ReplaceAll(m, "_", `\_`) })
}

// change is the difference between two configurations. The block around both is
// left out where it is the same.
func change(wrong, right string) string {
	w, r := strings.Split(wrong, "\n"), strings.Split(right, "\n")
	if w[0] == r[0] && strings.HasSuffix(w[0], "{") && len(w) > 2 && len(r) > 2 {
		w, r = inner(w), inner(r)
	}
	// The longest common part, line by line, from the end.
	common := make([][]int, len(w)+1)
	for i := range common {
		common[i] = make([]int, len(r)+1)
	}
	for i := len(w) - 1; i >= 0; i-- {
		for j := len(r) - 1; j >= 0; j-- {
			if w[i] == r[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var b strings.Builder
	i, j := 0, 0
	for i < len(w) || j < len(r) {
		switch {
		case i < len(w) && j < len(r) && w[i] == r[j]:
			b.WriteString("  " + w[i] + "\n")
			i, j = i+1, j+1
		case i < len(w) && (j == len(r) || common[i+1][j] >= common[i][j+1]):
			b.WriteString("- " + w[i] + "\n")
			i++
		default:
			b.WriteString("+ " + r[j] + "\n")
			j++
		}
	}
	return b.String()
}

// inner are the lines of a block, without its own indentation.
func inner(lines []string) []string {
	var out []string
	for _, l := range lines[1 : len(lines)-1] {
		out = append(out, strings.TrimPrefix(l, "  "))
	}
	return out
}

// writeRefusals writes Google's refusals, by what they come to.
func writeRefusals(b *strings.Builder, all []refusal) {
	title := func(r refusal) string {
		_, t, _ := strings.Cut(r.Summary, ": ")
		return t
	}
	done := map[string]bool{"": true}
	for _, r := range all {
		t := title(r)
		if done[t] {
			continue
		}
		done[t] = true
		heading := strings.ToUpper(t[:1]) + t[1:]
		if strings.HasPrefix(t, "cpu ") {
			heading = t // an attribute
		}
		fmt.Fprintf(b, "### %s\n\n", heading)
		// What was tried is another thing each time, and Google's text comes below.
		_, meaning, _ := strings.Cut(r.Detail, "\n\n")
		meaning, _, _ = strings.Cut(meaning, "\n\nGoogle answered: ")
		b.WriteString(quoteText(meaning) + "\n")
		var texts []string
		for _, other := range all {
			if title(other) != t {
				continue
			}
			if s := strings.Join(strings.Fields(other.GoogleText), " "); !slices.Contains(texts, s) {
				texts = append(texts, s)
			}
		}
		b.WriteString("Google answers:\n\n")
		for _, s := range texts {
			b.WriteString("- " + escaped(s) + "\n")
		}
		b.WriteString("\n")
	}
	b.WriteString("### Another text of Google's\n\nA message that shows Google's text and says no more is about something that this provider does not know. " +
		"Read what Google says, correct what it names, and apply again.\n")
}
