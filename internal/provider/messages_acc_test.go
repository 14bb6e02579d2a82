// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/acctest"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/messages"
)

var resourceHead = regexp.MustCompile(`(?m)^resource "(resilientjob_\w+)" "\w+" \{$`)

// named gives the only resource of a case a name of its own, and the required
// attributes that the case leaves out.
func named(c messages.Case, name string) (config, address string) {
	head := resourceHead.FindStringSubmatch(c.Wrong)
	if len(resourceHead.FindAllString(c.Wrong, -1)) != 1 || strings.Contains(c.Wrong, "terraform_data") || strings.Contains(c.Wrong, "provider \"") || len(c.Environment) > 0 || c.Before != "" || c.Do != "" {
		return "", ""
	}
	lines := fmt.Sprintf("resource %q %q {", head[1], name)
	for attribute, v := range fill[head[1]] {
		if !regexp.MustCompile(`(?m)^  ` + attribute + ` *=`).MatchString(c.Wrong) {
			lines += fmt.Sprintf("\n  %s = %q", attribute, v.AsString())
		}
	}
	return strings.Replace(c.Wrong, head[0], lines, 1), head[1] + "." + name
}

// What a person sees on the command line is what the files have: each mistake of
// the configuration, all of them in one folder, has its message and no other.
func TestAccMessages_validate(t *testing.T) {
	t.Parallel()
	type want struct {
		title string
		messages.Message
	}
	wanted := map[string]want{}
	var config strings.Builder
	for _, g := range readMessages(t) {
		for i, c := range g.Cases {
			one, address := named(c, fmt.Sprintf("%s_%d", strings.TrimSuffix(g.File, ".txt"), i))
			if address == "" || len(c.Messages) != 1 {
				continue
			}
			config.WriteString(one + "\n\n")
			wanted[address] = want{g.File + ": " + c.Title, c.Messages[0]}
		}
	}
	tf := acctest.CLI(t, nil)
	tf.Write(config.String())
	var got struct {
		Diagnostics []struct {
			Severity, Summary, Detail, Address string
		}
	}
	if err := json.Unmarshal([]byte(tf.Run("validate", "-json").Stdout), &got); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, d := range got.Diagnostics {
		w, ok := wanted[d.Address]
		if d.Address == "" && d.Severity == "warning" {
			continue // Terraform's own, about the provider under development
		}
		if !ok {
			t.Errorf("%s: %s: %s", d.Address, d.Summary, d.Detail)
			continue
		}
		seen[d.Address]++
		if w.Severity != d.Severity || w.Summary != d.Summary || w.Detail != d.Detail {
			t.Errorf("%s:\n  %s: %s: %s\nwant\n  %s: %s: %s", w.title, d.Severity, d.Summary, d.Detail, w.Severity, w.Summary, w.Detail)
		}
	}
	if len(seen) < 200 {
		t.Errorf("only %d mistakes were seen", len(seen))
	}
	for address, w := range wanted {
		switch n := seen[address]; {
		case n > 1:
			t.Errorf("%s has %d messages", w.title, n)
		case n == 1, w.Severity == "warning", planned[w.Summary]:
		default:
			t.Errorf("%s has no message", w.title)
		}
	}
}

// planned are refusals of the plan, which knows more than the configuration.
var planned = map[string]bool{"Versioning with a hierarchical namespace": true, "Key in another location": true}
