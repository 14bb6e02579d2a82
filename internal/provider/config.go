// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"strconv"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/providerdata"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

// Environment variables, in the order in which they count.
var (
	projectEnv     = []string{"GOOGLE_PROJECT", "GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT"}
	regionEnv      = []string{"GOOGLE_REGION", "CLOUDSDK_COMPUTE_REGION"}
	credentialsEnv = []string{"GOOGLE_CREDENTIALS", "GOOGLE_APPLICATION_CREDENTIALS"}
	tokenEnv       = []string{"GOOGLE_OAUTH_ACCESS_TOKEN"}
	impersonateEnv = []string{"GOOGLE_IMPERSONATE_SERVICE_ACCOUNT"}
	billingEnv     = []string{"GOOGLE_BILLING_PROJECT"}
	overrideEnv    = []string{"USER_PROJECT_OVERRIDE"}
)

// emulatorEnv is the variable that sends every call to the emulator.
const emulatorEnv = "RESILIENTJOB_EMULATOR_HOST"

// defaultRequestTimeout is the request_timeout of a block without one.
const defaultRequestTimeout = 2 * time.Minute

// setting is one value of the provider block: null unless set or unknown.
type setting struct {
	value        string
	set, unknown bool
}

// block is the provider block as plain values.
type block struct {
	project, region, credentials, accessToken, impersonate setting
	billingProject, userProjectOverride                    setting
	requestTimeout, planValidation                         setting
	endpoints                                              map[string]setting
	endpointsUnknown                                       bool
	labels                                                 map[string]setting
	labelsUnknown                                          bool
}

// Config is what the provider is configured to do, wherever each value came
// from.
type Config struct {
	Project, Region           string
	Credentials               []byte // JSON; nil means Application Default Credentials, or AccessToken
	AccessToken               string
	ImpersonateServiceAccount string
	BillingProject            string
	UserProjectOverride       bool
	DefaultLabels             map[string]string
	RequestTimeout            time.Duration
	PlanValidation            string
	Endpoints                 gcp.Endpoints
	EmulatorHost              string
	// Ignored names what the emulator makes meaningless.
	Ignored []string
	// Unknown names the attributes that are not known before apply.
	Unknown []string
}

// problem is one mistake of the configuration.
type problem struct {
	path            path.Path
	summary, detail string
}

// outside is what resolve takes from the world.
type outside struct {
	getenv   func(string) string
	readFile func(string) ([]byte, error)
}

// resolver collects a Config and the problems found on the way.
type resolver struct {
	outside
	config   Config
	problems []problem
}

// resolve turns a provider block into a Config: what the block says, else the
// environment, else the default. It has no other input than its arguments.
func resolve(b block, o outside) (Config, []problem) {
	r := &resolver{outside: o}
	r.problems = check(b)
	c := &r.config

	if host := o.getenv(emulatorEnv); host != "" {
		c.EmulatorHost = host
		r.report(path.Empty(), "Invalid emulator address", emulatorEnv, checkEmulatorHost(host))
	}
	c.Project = r.text("project", b.project, projectEnv, checkProject)
	c.Region = canonicalRegion(r.text("region", b.region, regionEnv, checkRegion))
	c.DefaultLabels = r.labels(b)
	c.PlanValidation = r.text("plan_validation", b.planValidation, nil, nil)
	if c.PlanValidation == "" {
		c.PlanValidation = providerdata.PlanValidationLocal
	}
	c.RequestTimeout = defaultRequestTimeout
	if s := r.text("request_timeout", b.requestTimeout, nil, nil); s != "" {
		if d, err := value.ParseDuration(s); err == nil {
			c.RequestTimeout = d
		}
	}
	if c.EmulatorHost != "" {
		c.Ignored = ignored(b)
		return r.config, r.problems
	}
	r.endpoints(b)
	r.identity(b)
	c.ImpersonateServiceAccount = r.text("impersonate_service_account", b.impersonate, impersonateEnv, checkImpersonate)
	c.BillingProject = r.text("billing_project", b.billingProject, billingEnv, checkProject)
	if s := r.text("user_project_override", b.userProjectOverride, overrideEnv, checkBool); s != "" {
		c.UserProjectOverride, _ = strconv.ParseBool(s)
	}
	return r.config, r.problems
}

// text returns the value of one attribute. Only values from the environment
// are checked here; the block was checked by check.
func (r *resolver) text(attribute string, s setting, env []string, rule func(string) error) string {
	switch {
	case s.unknown:
		r.config.Unknown = append(r.config.Unknown, attribute)
		return ""
	case s.set:
		return s.value
	}
	name, v := r.fromEnv(env)
	if v != "" && rule != nil {
		if err := rule(v); err != nil {
			r.report(path.Root(attribute), summaries[attribute], "environment variable "+name, err)
		}
	}
	return v
}

// fromEnv returns the first variable that is set and not empty.
func (r *resolver) fromEnv(names []string) (name, v string) {
	for _, name := range names {
		if v := r.getenv(name); v != "" {
			return name, v
		}
	}
	return "", ""
}

// identity chooses the credentials. What the block names counts before every
// variable, also before a variable of the other kind: an access token left in
// a shell must not replace the credentials that were written down.
func (r *resolver) identity(b block) {
	if b.credentials.unknown || b.accessToken.unknown {
		r.text("credentials", b.credentials, nil, nil)
		r.text("access_token", b.accessToken, nil, nil)
		return
	}
	switch {
	case b.accessToken.set:
		r.config.AccessToken = b.accessToken.value
		return
	case b.credentials.set:
		r.credentials("credentials", b.credentials.value)
		return
	}
	if _, token := r.fromEnv(tokenEnv); token != "" {
		r.config.AccessToken = token
	} else if name, v := r.fromEnv(credentialsEnv); v != "" {
		r.credentials("environment variable "+name, v)
	}
}

// credentials accepts a path or JSON. The text may be a secret: no message
// repeats it.
func (r *resolver) credentials(source, text string) {
	content, err := readCredentials(text, r.readFile)
	if err != nil {
		r.report(path.Root("credentials"), summaries["credentials"], source, err)
		return
	}
	r.config.Credentials = content
}

func (r *resolver) endpoints(b block) {
	if b.endpointsUnknown {
		r.config.Unknown = append(r.config.Unknown, "endpoints")
	}
	for _, api := range endpointNames {
		s := b.endpoints[api]
		if s.unknown {
			r.config.Unknown = append(r.config.Unknown, "endpoints."+api)
		}
		*endpointField(&r.config.Endpoints, api) = s.value
	}
}

func (r *resolver) labels(b block) map[string]string {
	unknown := b.labelsUnknown
	var labels map[string]string
	for k, v := range b.labels {
		unknown = unknown || v.unknown
		if v.set {
			if labels == nil {
				labels = map[string]string{}
			}
			labels[k] = v.value
		}
	}
	if unknown {
		r.config.Unknown = append(r.config.Unknown, "default_labels")
		return nil
	}
	return labels
}

func (r *resolver) report(p path.Path, summary, source string, err error) {
	if err != nil {
		r.problems = append(r.problems, problem{p, summary, source + ": " + err.Error() + "."})
	}
}

// ignored names the settings of the block that have no meaning towards the
// emulator.
func ignored(b block) []string {
	var names []string
	add := func(name string, given bool) {
		if given {
			names = append(names, name)
		}
	}
	given := func(s setting) bool { return s.set || s.unknown }
	add("credentials", given(b.credentials))
	add("access_token", given(b.accessToken))
	add("impersonate_service_account", given(b.impersonate))
	add("billing_project", given(b.billingProject))
	add("user_project_override", given(b.userProjectOverride))
	add("endpoints", b.endpointsUnknown || len(b.endpoints) > 0)
	return names
}
