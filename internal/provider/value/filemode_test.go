// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package value_test

import (
	"strings"
	"testing"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/value"
)

func TestParseFileMode(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]int32{"0440": 0o440, "440": 0o440, "0o440": 0o440, "0777": 0o777, "0400": 0o400, "00444": 0o444} {
		if got, err := value.ParseFileMode(s); err != nil || got != want {
			t.Errorf("%s: %o, %v", s, got, err)
		}
	}
	for s, want := range map[string]string{
		"": "is empty", "0": "nobody", "000": "nobody", "0888": "in octal", "rw": "in octal", "-1": "in octal", "1777": "above", "99999999999999999999": "in octal",
		"256": `256, which other interfaces take, is "0400" here`, "0040": "owner", // what decimal numbers of other interfaces look like
	} {
		if _, err := value.ParseFileMode(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", s, err)
		}
	}
	if got := value.FileModeOf(0o40).ValueString(); got != "0040" {
		t.Error(got)
	}
}
