// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Command schemajson reads the output of `terraform providers schema -json` and
// writes the part of it that every supported Terraform prints alike, so that
// files made from it do not depend on the version that is installed.
//
// It imports the standard library only. Its main rule: what is taken out is named
// here, and what is missing is an error, not a page less.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
)

// versionDependent are the keys that only newer versions of Terraform print.
var versionDependent = []string{"resource_identity_schemas", "list_resource_schemas", "action_schemas", "state_store_schemas"}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "schemajson:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	var doc struct {
		FormatVersion string                    `json:"format_version"`
		Schemas       map[string]map[string]any `json:"provider_schemas"`
	}
	if err := json.NewDecoder(in).Decode(&doc); err != nil {
		return fmt.Errorf("read the output of terraform providers schema: %w", err)
	}
	if len(doc.Schemas) == 0 {
		return fmt.Errorf("no provider in the output of terraform providers schema")
	}
	for source, schema := range doc.Schemas {
		if schema["functions"] == nil {
			return fmt.Errorf("no functions in the output of terraform providers schema: their pages need Terraform 1.8 or newer")
		}
		for _, key := range versionDependent {
			delete(schema, key)
		}
		// The docs generator looks for the provider's short name.
		delete(doc.Schemas, source)
		doc.Schemas[path.Base(source)] = schema
	}
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(doc)
}
