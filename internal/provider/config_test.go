// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"encoding/base64"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/gcp"
)

// Credentials that can be read and are worth nothing.
const (
	userJSON  = `{"type": "authorized_user", "client_id": "id", "client_secret": "hunter2", "refresh_token": "hunter2"}`
	otherJSON = `{"type": "authorized_user", "client_id": "other", "client_secret": "hunter2", "refresh_token": "hunter2"}`
)

func is(s string) setting { return setting{value: s, set: true} }

var unknown = setting{unknown: true}

// world is an environment and some files.
func world(env map[string]string, files map[string]string) outside {
	return outside{
		getenv: func(name string) string { return env[name] },
		readFile: func(name string) ([]byte, error) {
			if content, ok := files[name]; ok {
				return []byte(content), nil
			}
			return nil, &os.PathError{Op: "open", Path: name, Err: os.ErrNotExist}
		},
	}
}

// base is the Config of an empty block in an empty environment, with a change.
func base(change func(*Config)) Config {
	c := Config{PlanValidation: "local", RequestTimeout: 2 * time.Minute}
	if change != nil {
		change(&c)
	}
	return c
}

func TestResolve(t *testing.T) {
	t.Parallel()
	files := map[string]string{"key.json": userJSON, "other.json": otherJSON}
	everything := map[string]string{
		"GOOGLE_PROJECT": "env-project", "GOOGLE_CLOUD_PROJECT": "env-cloud-project", "CLOUDSDK_CORE_PROJECT": "env-sdk-project",
		"GOOGLE_REGION": "europe-west1", "CLOUDSDK_COMPUTE_REGION": "europe-west4",
		"GOOGLE_CREDENTIALS": userJSON, "GOOGLE_APPLICATION_CREDENTIALS": "other.json", "GOOGLE_OAUTH_ACCESS_TOKEN": "env-token",
		"GOOGLE_IMPERSONATE_SERVICE_ACCOUNT": "env@env-project.iam.gserviceaccount.com",
		"GOOGLE_BILLING_PROJECT":             "env-billing", "USER_PROJECT_OVERRIDE": "true",
	}
	only := func(kv ...string) map[string]string {
		env := map[string]string{}
		for i := 0; i < len(kv); i += 2 {
			env[kv[i]] = kv[i+1]
		}
		return env
	}
	for _, test := range []struct {
		name  string
		block block
		env   map[string]string
		want  Config
	}{
		{"nothing at all", block{}, nil, base(nil)},
		{"everything from the environment", block{}, everything, base(func(c *Config) {
			c.Project, c.Region, c.AccessToken = "env-project", "europe-west1", "env-token"
			c.ImpersonateServiceAccount = "env@env-project.iam.gserviceaccount.com"
			c.BillingProject, c.UserProjectOverride = "env-billing", true
		})},
		{"the block before the environment", block{
			project: is("hcl-project"), region: is("us-central1"), accessToken: is("hcl-token"),
			impersonate: is("hcl@hcl-project.iam.gserviceaccount.com"), billingProject: is("hcl-billing"), userProjectOverride: is("false"),
		}, everything, base(func(c *Config) {
			c.Project, c.Region, c.AccessToken = "hcl-project", "us-central1", "hcl-token"
			c.ImpersonateServiceAccount, c.BillingProject = "hcl@hcl-project.iam.gserviceaccount.com", "hcl-billing"
		})},
		{"project, second variable", block{}, only("GOOGLE_CLOUD_PROJECT", "two", "CLOUDSDK_CORE_PROJECT", "three"), base(func(c *Config) { c.Project = "two" })},
		{"project, third variable", block{}, only("CLOUDSDK_CORE_PROJECT", "three"), base(func(c *Config) { c.Project = "three" })},
		{"project, first variable empty", block{}, only("GOOGLE_PROJECT", "", "CLOUDSDK_CORE_PROJECT", "three"), base(func(c *Config) { c.Project = "three" })},
		{"region, second variable", block{}, only("CLOUDSDK_COMPUTE_REGION", "europe-west4"), base(func(c *Config) { c.Region = "europe-west4" })},
		{"region in capitals", block{region: is("US-CENTRAL1")}, nil, base(func(c *Config) { c.Region = "us-central1" })},
		{"credentials as content", block{credentials: is(" \n" + userJSON)}, nil, base(func(c *Config) { c.Credentials = []byte(" \n" + userJSON) })},
		{"credentials as a path", block{credentials: is("key.json")}, nil, base(func(c *Config) { c.Credentials = []byte(userJSON) })},
		{"credentials of the block before a token of the environment", block{credentials: is("key.json")}, only("GOOGLE_OAUTH_ACCESS_TOKEN", "env-token"),
			base(func(c *Config) { c.Credentials = []byte(userJSON) })},
		{"token of the block before credentials of the environment", block{accessToken: is("hcl-token")}, only("GOOGLE_CREDENTIALS", userJSON),
			base(func(c *Config) { c.AccessToken = "hcl-token" })},
		{"token before credentials in the environment", block{}, only("GOOGLE_OAUTH_ACCESS_TOKEN", "env-token", "GOOGLE_CREDENTIALS", userJSON),
			base(func(c *Config) { c.AccessToken = "env-token" })},
		{"GOOGLE_CREDENTIALS before GOOGLE_APPLICATION_CREDENTIALS", block{}, only("GOOGLE_CREDENTIALS", "key.json", "GOOGLE_APPLICATION_CREDENTIALS", "other.json"),
			base(func(c *Config) { c.Credentials = []byte(userJSON) })},
		{"GOOGLE_APPLICATION_CREDENTIALS", block{}, only("GOOGLE_APPLICATION_CREDENTIALS", "other.json"), base(func(c *Config) { c.Credentials = []byte(otherJSON) })},
		{"override from the environment as a digit", block{}, only("USER_PROJECT_OVERRIDE", "1"), base(func(c *Config) { c.UserProjectOverride = true })},
		{"the rest", block{
			requestTimeout: is("90s"), planValidation: is("warn"),
			labels:    map[string]setting{"team": is("ml"), "empty": is("")},
			endpoints: map[string]setting{"run": is("https://run.example.com"), "logging": is("https://logging.example.com"), "iam": {}, "storage": {}, "secretmanager": {}},
		}, nil, base(func(c *Config) {
			c.RequestTimeout, c.PlanValidation = 90*time.Second, "warn"
			c.DefaultLabels = map[string]string{"team": "ml", "empty": ""}
			c.Endpoints = gcp.Endpoints{Run: "https://run.example.com", Logging: "https://logging.example.com"}
		})},
		{"the emulator makes credentials meaningless", block{
			credentials: is("no such file"), endpoints: map[string]setting{"run": is("https://run.example.com")}, billingProject: unknown,
		}, only("GOOGLE_PROJECT", "env-project", "GOOGLE_REGION", "europe-west1", "GOOGLE_OAUTH_ACCESS_TOKEN", "env-token", emulatorEnv, "127.0.0.1:8085"), base(func(c *Config) {
			c.EmulatorHost, c.Project, c.Region = "127.0.0.1:8085", "env-project", "europe-west1"
			c.Ignored = []string{"credentials", "billing_project", "endpoints"}
		})},
		{"unknown values are neither taken from the environment nor an error", block{
			project: unknown, region: unknown, credentials: unknown, impersonate: unknown, billingProject: unknown, userProjectOverride: unknown,
			requestTimeout: unknown, planValidation: unknown, endpointsUnknown: true, labels: map[string]setting{"a": is("b"), "c": unknown},
		}, everything, base(func(c *Config) {
			c.Unknown = []string{"project", "region", "default_labels", "plan_validation", "request_timeout", "endpoints", "credentials",
				"impersonate_service_account", "billing_project", "user_project_override"}
		})},
		{"an unknown token", block{accessToken: unknown}, everything, base(func(c *Config) {
			c.Project, c.Region = "env-project", "europe-west1"
			c.ImpersonateServiceAccount = "env@env-project.iam.gserviceaccount.com"
			c.BillingProject, c.UserProjectOverride = "env-billing", true
			c.Unknown = []string{"access_token"}
		})},
		{"one unknown endpoint", block{endpoints: map[string]setting{"run": unknown}}, nil, base(func(c *Config) { c.Unknown = []string{"endpoints.run"} })},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, problems := resolve(test.block, world(test.env, files))
			if len(problems) > 0 {
				t.Errorf("problems: %v", problems)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestResolveRefuses(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-very-secret"
	encoded := base64.StdEncoding.EncodeToString([]byte(`{"private_key": "` + secret + `"}`))
	files := map[string]string{
		"notes.txt": secret, "client.json": `{"installed": {"client_secret": "` + secret + `"}}`, "empty.json": "{}",
		"broken.json": `{"type": "service_account", "private_key": "` + secret + `"}`, "odd.json": `{"type": "` + secret + `"}`,
	}
	for _, test := range []struct {
		name  string
		block block
		env   map[string]string
		at    path.Path
		want  string // summary|detail, from its beginning
	}{
		{"display name as project", block{project: is("My Project")}, nil, path.Root("project"),
			`Invalid project|project: "My Project" is not a project: write its id, such as "my-project"`},
		{"empty project", block{project: is("")}, map[string]string{"GOOGLE_PROJECT": "p"}, path.Root("project"),
			"Invalid project|project: the text is empty: leave the attribute out, or set it to null, to use the environment or the default."},
		{"project of the environment", block{}, map[string]string{"GOOGLE_CLOUD_PROJECT": "projects/p"}, path.Root("project"),
			`Invalid project|environment variable GOOGLE_CLOUD_PROJECT: "projects/p" is a full name: write the id alone, "p".`},
		{"zone as region", block{region: is("us-central1-a")}, nil, path.Root("region"),
			`Invalid region|region: "us-central1-a" is a zone: write its region, "us-central1".`},
		{"credentials that are nothing", block{credentials: is(secret)}, nil, path.Root("credentials"),
			"Invalid credentials|credentials: the text is neither JSON nor the path of a file that can be read (it is not shown here, because it may be a secret)"},
		{"credentials in a file that is not there", block{credentials: is("~keys/prod.json")}, nil, path.Root("credentials"),
			"Invalid credentials|credentials: the file \"~keys/prod.json\" cannot be read (file does not exist): write the path of a credentials file that is there, or name none, to use the credentials of \"gcloud auth application-default login\"."},
		{"credentials in base64", block{credentials: is(encoded)}, nil, path.Root("credentials"),
			"Invalid credentials|credentials: the text looks like base64 (it is not shown here, because it may be a secret): decode it first, with base64decode()."},
		{"credentials that are broken JSON", block{credentials: is(`{"private_key": "` + secret + `",}`)}, nil, path.Root("credentials"),
			"Invalid credentials|credentials: the text is not valid JSON: there is a mistake at character 39 (the content is not shown here); write the file as Google Cloud gave it out."},
		{"credentials without type", block{credentials: is("empty.json")}, nil, path.Root("credentials"),
			"Invalid credentials|credentials: the file empty.json has no \"type\", so that it is not a credentials file of Google Cloud; use the key of a service account, or leave credentials out and run \"gcloud auth application-default login\"."},
		{"credentials in a text file", block{credentials: is("notes.txt")}, nil, path.Root("credentials"),
			"Invalid credentials|credentials: the file notes.txt is not valid JSON: there is a mistake at character 1 (the content is not shown here); write the file as Google Cloud gave it out."},
		{"an OAuth client", block{credentials: is("client.json")}, nil, path.Root("credentials"),
			"Invalid credentials|credentials: the file client.json is an OAuth client and not credentials"},
		{"a key that is damaged", block{credentials: is("broken.json")}, nil, path.Root("credentials"),
			`Invalid credentials|credentials: the file broken.json is of the type "service_account" and cannot be used`},
		{"an odd type", block{credentials: is("odd.json")}, nil, path.Root("credentials"),
			`Invalid credentials|credentials: the file odd.json is of the type "unknown" and cannot be used`},
		{"credentials of the environment", block{}, map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": secret}, path.Root("credentials"),
			"Invalid credentials|environment variable GOOGLE_APPLICATION_CREDENTIALS: the text is neither JSON nor the path of a file"},
		{"token with a line end", block{accessToken: is(secret + "\n")}, nil, path.Root("access_token"),
			"Invalid access token|access_token: the token contains a space, a line end or another character that no token has"},
		{"token and credentials", block{accessToken: is("x"), credentials: is(userJSON)}, nil, path.Root("access_token"),
			"Conflicting credentials|credentials and access_token are both set, and only one of them can be used. Remove one of them."},
		{"impersonated member", block{impersonate: is("serviceAccount:a@p.iam.gserviceaccount.com")}, nil, path.Root("impersonate_service_account"),
			`Invalid service account|impersonate_service_account: "serviceAccount:a@p.iam.gserviceaccount.com" is a member of a policy: write the e-mail alone`},
		{"override that is no bool", block{}, map[string]string{"USER_PROJECT_OVERRIDE": "yes"}, path.Root("user_project_override"),
			`Invalid user_project_override|environment variable USER_PROJECT_OVERRIDE: "yes" is neither true nor false: write one of the two.`},
		{"timeout without unit", block{requestTimeout: is("30")}, nil, path.Root("request_timeout"),
			`Invalid duration|request_timeout: "30" is not a duration: write "30s".`},
		{"timeout of nothing", block{requestTimeout: is("0s")}, nil, path.Root("request_timeout"),
			`Invalid duration|request_timeout: "0s" leaves no time for a request: write a duration such as "30s".`},
		{"unknown plan_validation", block{planValidation: is("off")}, nil, path.Root("plan_validation"),
			`Invalid plan_validation|plan_validation: "off" is not known: write "local" to refuse what cannot work`},
		{"bare host", block{endpoints: map[string]setting{"run": is("run.example.com")}}, nil, path.Root("endpoints").AtName("run"),
			`Invalid endpoint|The run endpoint "run.example.com" is not a URL: write it with its scheme`},
		{"empty address", block{endpoints: map[string]setting{"iam": is("")}}, nil, path.Root("endpoints").AtName("iam"),
			"Invalid endpoint|The iam endpoint is empty: leave endpoints.iam out to use Google's own."},
		{"plain http", block{endpoints: map[string]setting{"storage": is("http://proxy.example.com")}}, nil, path.Root("endpoints").AtName("storage"),
			`Invalid endpoint|The storage endpoint "http://proxy.example.com" is plain http on another machine, so an access token would travel unprotected`},
		{"emulator as a URL", block{}, map[string]string{emulatorEnv: "http://127.0.0.1:8085"}, path.Empty(),
			`Invalid emulator address|RESILIENTJOB_EMULATOR_HOST: the emulator host "http://127.0.0.1:8085" must be host:port, as 127.0.0.1:8085.`},
		{"label", block{labels: map[string]setting{"Team": is("ml")}}, nil, path.Root("default_labels").AtMapKey("Team"),
			`Invalid label|default_labels["Team"]: the key "Team" is not in lower case, as keys of labels are: write "team".`},
		{"null label", block{labels: map[string]setting{"team": {}}}, nil, path.Root("default_labels").AtMapKey("team"),
			`Invalid label|default_labels["team"]: the value is null`},
		{"system label", block{labels: map[string]setting{"run.googleapis.com/x": is("")}}, nil, path.Root("default_labels").AtMapKey("run.googleapis.com/x"),
			`Invalid label|default_labels["run.googleapis.com/x"]: keys in run.googleapis.com belong to Google: choose another key.`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, problems := resolve(test.block, world(test.env, files))
			if len(problems) != 1 {
				t.Fatalf("%d problems, want one: %v", len(problems), problems)
			}
			p := problems[0]
			if !p.path.Equal(test.at) {
				t.Errorf("at %s; want %s", p.path, test.at)
			}
			got := p.summary + "|" + p.detail
			if !strings.HasPrefix(got, test.want) {
				t.Errorf("says\n%s\nwant\n%s", got, test.want)
			}
			if strings.Contains(got, secret) || strings.Contains(got, encoded) {
				t.Errorf("shows a secret: %s", got)
			}
		})
	}
}

func TestUserAgent(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ commit, terraform, more, want string }{
		{"", "1.11.4", "", "Terraform/1.11.4 (+https://www.terraform.io) terraform-provider-resilientjob/0.1.0"},
		{"", "", "", "terraform-provider-resilientjob/0.1.0"},
		{"0123456789ab", "", "", "terraform-provider-resilientjob/0.1.0 (commit 0123456789ab)"},
		{"0123456789ab", "1.11.4", " my-module/2 ", "Terraform/1.11.4 (+https://www.terraform.io) terraform-provider-resilientjob/0.1.0 (commit 0123456789ab) my-module/2"},
	} {
		if got := userAgent("0.1.0", test.commit, test.terraform, test.more); got != test.want {
			t.Errorf("%q; want %q", got, test.want)
		}
	}
}
