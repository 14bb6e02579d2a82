// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider"
)

func TestMain(m *testing.M) { acctest.Main(m) }

// env returns an environment of these variables alone.
func env(kv ...string) provider.Option {
	vars := map[string]string{}
	for i := 0; i < len(kv); i += 2 {
		vars[kv[i]] = kv[i+1]
	}
	return provider.WithEnvironment(func(name string) string { return vars[name] })
}

func str(s string) tftypes.Value { return tftypes.NewValue(tftypes.String, s) }

var unknownString = tftypes.NewValue(tftypes.String, tftypes.UnknownValue)

// The documentation is made from the schema: every attribute must say what it
// is, and secrets must be marked.
func TestSchema(t *testing.T) {
	t.Parallel()
	p := acctest.NewProtocol(t, env())
	var walk func(at string, attributes []*tfprotov6.SchemaAttribute)
	walk = func(at string, attributes []*tfprotov6.SchemaAttribute) {
		for _, a := range attributes {
			if name := at + a.Name; !strings.HasSuffix(strings.TrimSpace(a.Description), ".") && !strings.Contains(name, ".timeouts") {
				t.Errorf("%s is described as %q: that is no sentence", name, a.Description)
			}
			if a.NestedType != nil {
				walk(at+a.Name+".", a.NestedType.Attributes)
			}
		}
	}
	walk("provider.", p.Schema.Provider.Block.Attributes)
	for name, s := range p.Schema.ResourceSchemas {
		walk(name+".", s.Block.Attributes)
	}
	for name, s := range p.Schema.DataSourceSchemas {
		walk("data."+name+".", s.Block.Attributes)
	}
	for _, a := range p.Schema.Provider.Block.Attributes {
		if want := a.Name == "credentials" || a.Name == "access_token"; a.Sensitive != want {
			t.Errorf("provider.%s: sensitive is %t; want %t", a.Name, a.Sensitive, want)
		}
		if !a.Optional || a.Required || a.Computed {
			t.Errorf("provider.%s is not simply optional", a.Name)
		}
	}
	if got := slices.Sorted(maps.Keys(p.Schema.Functions)); !slices.Equal(got, []string{"checkpoint_interval", "exposure", "required_retries"}) {
		t.Errorf("functions: %v", got)
	}
}

func TestConfigureDiagnostics(t *testing.T) {
	t.Parallel()
	labels := func(m map[string]string) tftypes.Value {
		all := map[string]tftypes.Value{}
		for k, v := range m {
			all[k] = str(v)
		}
		return tftypes.NewValue(tftypes.Map{ElementType: tftypes.String}, all)
	}
	endpointTypes := map[string]tftypes.Type{}
	for _, name := range []string{"run", "iam", "storage", "secretmanager", "logging"} {
		endpointTypes[name] = tftypes.String
	}
	endpoints := func(address string, names ...string) tftypes.Value {
		all := map[string]tftypes.Value{}
		for name := range endpointTypes {
			all[name] = tftypes.NewValue(tftypes.String, nil)
		}
		for _, name := range names {
			all[name] = str(address)
		}
		return tftypes.NewValue(tftypes.Object{AttributeTypes: endpointTypes}, all)
	}
	for _, test := range []struct {
		name   string
		config map[string]tftypes.Value
		env    provider.Option
		want   []string // SEVERITY path: summary, one for each diagnostic
	}{
		{"empty block", nil, env(), nil},
		{"everything", map[string]tftypes.Value{
			"project": str("my-project"), "region": str("us-central1"), "access_token": str("token"), "billing_project": str("billing"),
			"user_project_override": tftypes.NewValue(tftypes.Bool, true), "default_labels": labels(map[string]string{"team": "ml"}),
			"request_timeout": str("30s"), "plan_validation": str("warn"), "endpoints": endpoints("https://private.example.com", "run", "iam"),
			"impersonate_service_account": str("deployer@my-project.iam.gserviceaccount.com"),
		}, env(), nil},
		{"several mistakes are told at once", map[string]tftypes.Value{
			"project": str("My Project"), "region": str("us-central1-a"), "plan_validation": str("off"), "default_labels": labels(map[string]string{"A": "b"}),
		}, env(), []string{
			`ERROR AttributeName("project"): Invalid project`, `ERROR AttributeName("region"): Invalid region`,
			`ERROR AttributeName("plan_validation"): Invalid plan_validation`, `ERROR AttributeName("default_labels").ElementKeyString("A"): Invalid label`,
		}},
		{"a mistake that only the environment has", nil, env("GOOGLE_CREDENTIALS", "/no/such/file"), []string{`ERROR AttributeName("credentials"): Invalid credentials`}},
		{"unknown values", map[string]tftypes.Value{
			"project": unknownString, "region": unknownString, "credentials": unknownString, "access_token": unknownString, "request_timeout": unknownString,
			"endpoints":      tftypes.NewValue(tftypes.Object{AttributeTypes: endpointTypes}, tftypes.UnknownValue),
			"default_labels": tftypes.NewValue(tftypes.Map{ElementType: tftypes.String}, tftypes.UnknownValue),
		}, env(), nil},
		{"emulator", nil, env("RESILIENTJOB_EMULATOR_HOST", "127.0.0.1:8085"), []string{"WARNING : " + provider.EmulatorWarning}},
		{"emulator by endpoints", map[string]tftypes.Value{"endpoints": endpoints("http://127.0.0.1:8085", "run", "iam", "storage")}, env(),
			[]string{"WARNING : " + provider.EmulatorWarning}},
		{"emulator that is no address", nil, env("RESILIENTJOB_EMULATOR_HOST", "8085"), []string{"ERROR : Invalid emulator address"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, d := range acctest.NewProtocol(t, test.env).Configure(test.config) {
				at := ""
				if d.Attribute != nil {
					at = d.Attribute.String()
				}
				got = append(got, fmt.Sprintf("%s %s: %s", d.Severity, at, d.Summary))
			}
			if strings.Join(got, "\n") != strings.Join(test.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}
