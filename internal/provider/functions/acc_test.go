// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package functions_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
)

// shown is an output of an example with its result beside it.
var shown = regexp.MustCompile(`(?ms)^output "(\w+)" \{.*?^  (?:value = .*?|\}\)) # ([^\n]*)$`)

// The examples of the functions, with the real command line and all in one
// folder, as the documentation shows them: they can be planned and applied, and
// each result is the one that stands beside it.
func TestAccExamples(t *testing.T) {
	t.Parallel()
	e := acctest.Emulator(t)
	tf := acctest.CLI(t, e)
	tf.Needs(acctest.Functions)
	tf.Write(acctest.ProviderConfig(e))
	want := map[string]any{}
	for _, name := range []string{"checkpoint_interval", "required_retries", "exposure"} {
		text, err := os.ReadFile(filepath.Join("../../../examples/functions", name, "function.tf"))
		if err != nil {
			t.Fatal(err)
		}
		tf.WriteFile(name+".tf", string(text))
		for _, found := range shown.FindAllStringSubmatch(string(text), -1) {
			want[found[1]] = literal(t, found[2])
		}
	}
	if len(want) != 6 {
		t.Errorf("%d results stand in the examples: %v", len(want), want)
	}
	tf.Apply().Succeeds()
	var got map[string]struct {
		Value any `json:"value"`
	}
	printed := tf.Run("output", "-json").Succeeds()
	if err := json.Unmarshal([]byte(printed.Stdout), &got); err != nil {
		t.Fatal(err)
	}
	for name, value := range want {
		if has, wants := asText(t, got[name].Value), asText(t, value); has != wants {
			t.Errorf("output %s is %s, and the example says %s", name, has, wants)
		}
	}
	tf.Plan().IsEmpty()

	// The precondition of the example holds a plan to its budget.
	tf.Plan("-var", "gpu_hours=200").Fails("One execution of the sweep could use 288 GPU hours; the budget is 200.")
	// A mistake is shown at the call and the parameter.
	tf.Write(acctest.ProviderConfig(e) + `
output "wrong" {
  value = provider::resilientjob::required_retries({ work_time = "48h", timeout = "12h" })
}
`)
	tf.Plan().Fails(
		"Error: Invalid function argument",
		"while calling provider::resilientjob::required_retries(task)",
		`Invalid value for "task" parameter: "timeout" is not a key of this object; write task_timeout if that is meant.`,
	)
}

// literal reads a value as a configuration writes it.
func literal(t *testing.T, text string) any {
	t.Helper()
	expr, diags := hclsyntax.ParseExpression([]byte(text), "comment", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatalf("%s: %s", text, diags)
	}
	v, diags := expr.Value(nil)
	if diags.HasErrors() {
		t.Fatalf("%s: %s", text, diags)
	}
	raw, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func asText(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
