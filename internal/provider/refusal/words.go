// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package refusal

import (
	"fmt"
	"strconv"
	"strings"
)

// who explains the placeholder MEMBER in commands.
const who = "MEMBER is the account that Terraform runs as: user:YOU@example.com, or serviceAccount:EMAIL."

// command puts a command line on a line of its own.
func command(format string, args ...any) string { return commands(fmt.Sprintf(format, args...)) }

func commands(lines ...string) string { return "\n\n  " + strings.Join(lines, "\n  ") }

// place is the project and the region in words.
func (s *Subject) place() string { return s.region() + " of " + s.project() }

func (s *Subject) project() string {
	if s.Project == "" {
		return "the project"
	}
	return "project " + s.Project
}

func (s *Subject) region() string {
	if s.Location == "" {
		return "the region"
	}
	return "region " + s.Location
}

// projectID and locationID are for commands.
func (s *Subject) projectID() string { return or(s.Project, "PROJECT") }

func (s *Subject) locationID() string { return or(s.Location, "REGION") }

// agent is the service agent of Cloud Run, by its number where a text has it.
func (s *Subject) agent(text string) string {
	if found := agentAddress.FindString(text); found != "" {
		return found
	}
	return "service-PROJECT_NUMBER@serverless-robot-prod.iam.gserviceaccount.com"
}

// agentNumber says where the number of the agent comes from, when it is not
// known.
func (s *Subject) agentNumber(agent string) string {
	if !strings.Contains(agent, "PROJECT_NUMBER") {
		return ""
	}
	return "PROJECT_NUMBER is that of " + s.project() + ": gcloud projects describe " + s.projectID() + " --format='value(projectNumber)'"
}

// join makes one paragraph of sentences, and leaves empty ones out.
func join(sentences ...string) string { return glue(" ", sentences) }

// paragraphs makes a text of paragraphs, and leaves empty ones out.
func paragraphs(parts ...string) string { return glue("\n\n", parts) }

func glue(between string, parts []string) string {
	var out []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, between)
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// trimDot takes the full stop or comma of a sentence off a captured word.
func trimDot(s string) string { return strings.TrimRight(s, ".,;:") }

// decimal writes n / unit with at most three digits and without trailing zeros.
func decimal(n, unit float64) string {
	s := strconv.FormatFloat(n/unit, 'f', 3, 64)
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

const gib = 1 << 30

func vCPU(milli int64) string   { return decimal(float64(milli), 1000) + " vCPU" }
func gibi(bytes int64) string   { return decimal(float64(bytes), gib) + " GiB" }
func gpus(n, unit int64) string { return plural(decimal(float64(n), float64(unit)), "GPU") }

// decimalText shortens a number such as "1.0".
func decimalText(s string) string {
	if n, err := strconv.ParseFloat(s, 64); err == nil {
		return decimal(n, 1)
	}
	return s
}

func plural(n, noun string) string {
	if n == "1" {
		return n + " " + noun
	}
	return n + " " + noun + "s"
}
