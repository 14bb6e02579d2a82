// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package emulator

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
)

// Who watches the emulator sees which account was granted what.
func TestNarratorNamesGrants(t *testing.T) {
	t.Parallel()
	body := []byte(`{"bindings":[
		{"role":"roles/storage.legacyBucketOwner","members":["projectOwner:p"]},
		{"role":"roles/storage.objectUser","members":["serviceAccount:a@p.iam.gserviceaccount.com"]}]}`)
	for name, test := range map[string]struct {
		call faults.Call
		want string
	}{
		"grant":   {faults.Call{Method: "storage.buckets.setIamPolicy", Resource: "b", Body: body}, "policy of bucket b written; roles/storage.objectUser for serviceAccount:a@p.iam.gserviceaccount.com"},
		"refused": {faults.Call{Method: "storage.buckets.setIamPolicy", Resource: "b", Body: body, Code: codes.FailedPrecondition}, "refused, FAILED_PRECONDITION: policy of bucket b written"},
		"full":    {faults.Call{Method: "storage.buckets.delete", Resource: "b", Code: codes.AlreadyExists}, "bucket b is not empty and was not deleted"},
		"no body": {faults.Call{Method: "storage.buckets.setIamPolicy", Resource: "b"}, "policy of bucket b written"},
		"other":   {faults.Call{Method: "storage.buckets.insert", Resource: "b", Body: body}, "bucket b created"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			n := &narrator{logger: slog.New(slog.NewTextHandler(&out, nil)), attempts: map[attemptOf]string{}}
			n.call(test.call)
			if !strings.Contains(out.String(), test.want) || (test.want == "bucket b created" && strings.Contains(out.String(), "roles/")) {
				t.Errorf("said %q, want %q", out.String(), test.want)
			}
		})
	}
}
