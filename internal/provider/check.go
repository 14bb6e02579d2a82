// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/lazyregexp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/providerdata"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// summaries are the first lines of messages about one attribute.
var summaries = map[string]string{
	"project":                     "Invalid project",
	"region":                      "Invalid region",
	"credentials":                 "Invalid credentials",
	"access_token":                "Invalid access token",
	"impersonate_service_account": "Invalid service account",
	"billing_project":             "Invalid project",
	"user_project_override":       "Invalid user_project_override",
	"request_timeout":             "Invalid duration",
	"plan_validation":             "Invalid plan_validation",
}

// check finds the mistakes in what the block itself says, without looking at
// anything outside. Values that are null or unknown are never a mistake.
func check(b block) []problem {
	var found []problem
	attribute := func(name string, s setting, rule func(string) error) {
		if !s.set {
			return
		}
		err := rule(s.value)
		if s.value == "" {
			err = errors.New("the text is empty: leave the attribute out, or set it to null, to use the environment or the default")
		}
		if err != nil {
			found = append(found, problem{path.Root(name), summaries[name], name + ": " + err.Error() + "."})
		}
	}
	anything := func(string) error { return nil }
	attribute("project", b.project, checkProject)
	attribute("region", b.region, checkRegion)
	attribute("credentials", b.credentials, anything)
	attribute("access_token", b.accessToken, checkToken)
	attribute("impersonate_service_account", b.impersonate, checkImpersonate)
	attribute("billing_project", b.billingProject, checkProject)
	attribute("request_timeout", b.requestTimeout, checkRequestTimeout)
	attribute("plan_validation", b.planValidation, checkPlanValidation)
	if b.credentials.set && b.accessToken.set {
		found = append(found, problem{path.Root("access_token"), "Conflicting credentials",
			"credentials and access_token are both set, and only one of them can be used. Remove one of them."})
	}
	var all gcp.Endpoints
	wrong, late := len(found), b.endpointsUnknown
	for _, api := range endpointNames {
		s := b.endpoints[api]
		late = late || s.unknown
		if !s.set {
			continue
		}
		*endpointField(&all, api) = s.value
		err := gcp.CheckEndpoint(api, s.value)
		if s.value == "" {
			err = fmt.Errorf("the %s endpoint is empty: leave endpoints.%[1]s out to use Google's own", api)
		}
		if err != nil {
			found = append(found, problem{path.Root("endpoints").AtName(api), "Invalid endpoint", strings.ToUpper(err.Error()[:1]) + err.Error()[1:] + "."})
		}
	}
	if len(found) == wrong && !late {
		// These go with the others, or not; each is looked at without the other.
		for _, api := range []string{"secretmanager", "logging"} {
			one := gcp.Endpoints{Run: all.Run, IAM: all.IAM, Storage: all.Storage}
			*endpointField(&one, api) = *endpointField(&all, api)
			if err := opinion(gcp.Options{Endpoints: one, AccessToken: "none"}); err != nil {
				found = append(found, problem{path.Root("endpoints").AtName(api), "Invalid endpoint", strings.ToUpper(err.Error()[:1]) + err.Error()[1:] + "."})
			}
		}
	}
	return append(found, checkLabels(b.labels)...)
}

func checkProject(s string) error { return resourcename.CheckProject(s) }

func checkRegion(s string) error { return resourcename.CheckLocation(s) }

func canonicalRegion(s string) string { return value.CanonicalLocation(s) }

func checkImpersonate(s string) error { return resourcename.CheckServiceAccount(s) }

func checkBool(s string) error {
	if _, err := strconv.ParseBool(s); err != nil {
		return fmt.Errorf("%q is neither true nor false: write one of the two", s)
	}
	return nil
}

// checkToken refuses what cannot travel in a header. The token is a secret and
// stands in no message.
func checkToken(s string) error {
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("the token contains a space, a line end or another character that no token has (its value is not shown here); wrap the source in trimspace()")
	}
	return nil
}

func checkRequestTimeout(s string) error {
	d, err := value.ParseDuration(s)
	if err == nil && d <= 0 {
		return fmt.Errorf("%q leaves no time for a request: write a duration such as \"30s\"", s)
	}
	return err
}

func checkPlanValidation(s string) error {
	if s != providerdata.PlanValidationLocal && s != providerdata.PlanValidationWarn {
		return fmt.Errorf("%q is not known: write \"local\" to refuse what cannot work, or \"warn\" to be warned only where a limit of the platform is concerned", s)
	}
	return nil
}

// endpointNames are the attributes of endpoints, in the order of messages.
var endpointNames = []string{"run", "iam", "storage", "secretmanager", "logging"}

func endpointField(e *gcp.Endpoints, api string) *string {
	switch api {
	case "run":
		return &e.Run
	case "iam":
		return &e.IAM
	case "storage":
		return &e.Storage
	case "secretmanager":
		return &e.SecretManager
	default:
		return &e.Logging
	}
}

func checkEmulatorHost(host string) error { return opinion(gcp.Options{EmulatorHost: host}) }

// opinion returns what a client says against options; making one connects to
// nothing.
func opinion(o gcp.Options) error {
	c, err := gcp.New(context.Background(), o)
	if err != nil {
		return err
	}
	return c.Close()
}

// readCredentials returns the JSON of credentials that are given as a path or
// as JSON. The text may be a secret in the wrong form, so that no error
// repeats it; the content of a file is never repeated either.
func readCredentials(text string, readFile func(string) ([]byte, error)) ([]byte, error) {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		if err := checkCredentials([]byte(text)); err != nil {
			return nil, fmt.Errorf("the text %w", err)
		}
		return []byte(text), nil
	}
	content, err := readFile(expandHome(text))
	switch {
	case err == nil:
		if err := checkCredentials(content); err != nil {
			return nil, fmt.Errorf("the file %s %w", text, err)
		}
		return content, nil
	case isPath(text):
		return nil, fmt.Errorf("the file %q cannot be read (%w): write the path of a credentials file that is there, or name none, to use the credentials of \"gcloud auth application-default login\"", text, cause(err))
	case errors.Is(err, os.ErrPermission):
		return nil, errors.New("the file exists and may not be read by this user (its path is not shown here)")
	case looksEncoded(text):
		return nil, errors.New("the text looks like base64 (it is not shown here, because it may be a secret): decode it first, with base64decode()")
	}
	return nil, errors.New("the text is neither JSON nor the path of a file that can be read (it is not shown here, because it may be a secret); write the path of a credentials file, or its content with file()")
}

var pathShape = lazyregexp.New(`^[-\w./\\:~ ]{1,255}\.json$`)

// isPath reports whether a text can only be meant as a path, so that a message
// may show it.
func isPath(s string) bool { return pathShape.MatchString(s) }

// cause returns the error beneath a path error, whose text repeats the path.
func cause(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// checkCredentials says what is wrong with a credentials file. The text of
// JSON's own error quotes the input, so only the place is told.
func checkCredentials(content []byte) error {
	var file struct {
		Type string `json:"type"`
	}
	err := json.Unmarshal(content, &file)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("is not valid JSON: there is a mistake at character %d (the content is not shown here); write the file as Google Cloud gave it out", syntax.Offset)
	case err != nil:
		return errors.New("is not JSON of a credentials file; use the key of a service account, or leave credentials out and run \"gcloud auth application-default login\"")
	case file.Type == "" && bytes.Contains(content, []byte(`"installed"`)):
		return errors.New("is an OAuth client and not credentials; use the key of a service account, or leave credentials out and run \"gcloud auth application-default login\"")
	case file.Type == "":
		return errors.New("has no \"type\", so that it is not a credentials file of Google Cloud; use the key of a service account, or leave credentials out and run \"gcloud auth application-default login\"")
	}
	if _, err := gcp.New(context.Background(), gcp.Options{CredentialsJSON: content}); err != nil {
		return fmt.Errorf("is of the type %q and cannot be used: a part that this type needs is missing or damaged (the content is not shown here); write the file as Google Cloud gave it out", shortType(file.Type))
	}
	return nil
}

// shortType keeps a type that is none from carrying content into a message.
func shortType(s string) string {
	if len(s) > 40 || strings.ContainsFunc(s, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) {
		return "unknown"
	}
	return s
}

func looksEncoded(s string) bool {
	content, err := base64.StdEncoding.DecodeString(strings.TrimSpace(s))
	return err == nil && bytes.HasPrefix(bytes.TrimSpace(content), []byte("{"))
}

func expandHome(p string) string {
	if rest, ok := strings.CutPrefix(p, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return p
}

// checkLabels holds the default labels to the rules of every label.
func checkLabels(labels map[string]setting) []problem {
	var found []problem
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		s := labels[key]
		err := value.CheckLabel(key, s.value)
		if err == nil && !s.set && !s.unknown {
			err = errors.New("the value is null: write \"\" for an empty one")
		}
		if err != nil {
			found = append(found, problem{path.Root("default_labels").AtMapKey(key), "Invalid label",
				fmt.Sprintf("default_labels[%q]: %s.", key, err)})
		}
	}
	return found
}
