// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"maps"
	"testing"
)

func TestQuietLogs(t *testing.T) {
	t.Parallel()
	quiet := map[string]string{"TF_LOG_SDK": "ERROR", "TF_LOG_SDK_PROTO": "ERROR", "TF_LOG_SDK_FRAMEWORK": "ERROR"}
	for _, test := range []struct {
		name    string
		environ []string
		want    map[string]string
	}{
		{"nobody reads", []string{"HOME=/root", "TF_INPUT=0"}, quiet},
		{"switched off", []string{"TF_LOG="}, quiet},
		{"all of it", []string{"TF_LOG=trace"}, nil},
		{"Terraform's level for providers", []string{"TF_LOG_PROVIDER=INFO"}, nil},
		{"one library", []string{"TF_LOG_SDK_PROTO=TRACE"}, nil},
		{"bodies in a folder", []string{"TF_LOG_SDK_PROTO_DATA_DIR=/tmp/x"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := map[string]string{}
			if err := quietLogs(test.environ, func(key, value string) error { got[key] = value; return nil }); err != nil {
				t.Fatal(err)
			}
			if !maps.Equal(got, test.want) {
				t.Errorf("it set %v; want %v", got, test.want)
			}
		})
	}
}
