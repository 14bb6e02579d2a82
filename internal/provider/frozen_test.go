// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
)

var update = flag.Bool("update", false, "write testdata anew")

// The schema, as every released configuration and state relies on it, changes
// by decision and not by accident. An attribute that is new and optional may be
// added; one that goes, is renamed, becomes required or changes its type breaks
// what users have, and needs a major version or an upgrade of the state.
func TestAccFrozenSchema(t *testing.T) {
	t.Parallel()
	tf := acctest.CLI(t, nil)
	tf.Write("")
	var all struct {
		Schemas map[string]map[string]any `json:"provider_schemas"`
	}
	printed := tf.Run("providers", "schema", "-json").Succeeds()
	if err := json.Unmarshal([]byte(printed.Stdout), &all); err != nil || len(all.Schemas) != 1 {
		t.Fatalf("%v: %d providers", err, len(all.Schemas))
	}
	for _, ours := range all.Schemas {
		frozen(t, filepath.Join("testdata", "schema.json"), ours)
	}
}

func frozen(t *testing.T, file string, schema map[string]any) {
	t.Helper()
	// Only newer versions of Terraform print these.
	for _, key := range []string{"resource_identity_schemas", "list_resource_schemas", "action_schemas", "state_store_schemas"} {
		delete(schema, key)
	}
	_, functions := schema["functions"] // from Terraform 1.8
	withoutText(schema)
	if *update {
		var out bytes.Buffer
		enc := json.NewEncoder(&out)
		enc.SetIndent("", "  ")
		if err := enc.Encode(schema); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var kept map[string]any
	if err := json.Unmarshal(raw, &kept); err != nil {
		t.Fatal(err)
	}
	if !functions {
		delete(kept, "functions")
	}
	was, is := map[string]string{}, map[string]string{}
	leaves("", kept, was)
	leaves("", schema, is)
	var changes []string
	for path, old := range was {
		switch now, there := is[path]; {
		case !there:
			changes = append(changes, fmt.Sprintf("%s: gone, was %s", path, old))
		case now != old:
			changes = append(changes, fmt.Sprintf("%s: %s, was %s", path, now, old))
		}
	}
	for path, now := range is {
		if _, there := was[path]; !there {
			changes = append(changes, fmt.Sprintf("%s: new, %s", path, now))
		}
	}
	if len(changes) > 0 {
		slices.Sort(changes)
		t.Errorf("the schema is not the one of %s:\n  %s\nWhen that is meant, write the file anew: go test ./internal/provider -run TestAccFrozenSchema -update", file, strings.Join(changes, "\n  "))
	}
}

// withoutText takes the descriptions out: another wording breaks nothing.
func withoutText(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range []string{"description", "description_kind", "summary"} {
			if _, isText := v[key].(string); isText {
				delete(v, key)
			}
		}
		for _, child := range v {
			withoutText(child)
		}
	case []any:
		for _, child := range v {
			withoutText(child)
		}
	}
}

// leaves lists every value below v by its path.
func leaves(path string, v any, out map[string]string) {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			out[path] = "{}"
		}
		for key, child := range v {
			leaves(path+"/"+key, child, out)
		}
	default:
		text, err := json.Marshal(v)
		if err != nil {
			text = []byte(err.Error())
		}
		out[path] = string(text)
	}
}
