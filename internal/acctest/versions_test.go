// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import "testing"

func TestFeatures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		says    string
		feature Feature
		want    bool
	}{
		{"Terraform v1.7.5\non linux_amd64\n", Functions, false},
		{"Terraform v1.8.0\non linux_amd64\n", Functions, true},
		{"Terraform v1.12.0-rc1\non linux_amd64\n", Identities, true},
		{"Terraform v1.17.0-dev\n", Identities, true},
		{"OpenTofu v1.7.10\non linux_amd64\n", Functions, true},
		{"OpenTofu v1.6.3\n", Functions, false},
		{"OpenTofu v1.12.6\n", Feature{"x", "1.0", ""}, false},
	} {
		p, err := parseProduct(c.says)
		if err != nil {
			t.Errorf("%q: %v", c.says, err)
		} else if got := c.feature.in(p); got != c.want {
			t.Errorf("%q has %s: %v, want %v", c.says, c.feature.Name, got, c.want)
		}
	}
	for _, says := range []string{"", "Terraform\n", "Pulumi v3.0.0\n", "Terraform latest\n"} {
		if p, err := parseProduct(says); err == nil {
			t.Errorf("%q is taken for %v", says, p)
		}
	}
}
