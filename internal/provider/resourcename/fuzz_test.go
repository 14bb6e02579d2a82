// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package resourcename_test

import (
	"testing"
	"unicode/utf8"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
)

// Whatever a user imports: no panic, an error that can be printed, and a name
// that is read back as itself.

func FuzzParseJob(f *testing.F) {
	for _, s := range []string{"train", "us-central1/train", "p/us-central1/train", "projects/p/locations/us-central1/jobs/train", "a/b/c/d", "", "/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		j, err := resourcename.ParseJob(s, resourcename.Defaults{Project: "dp", Location: "dl1"})
		if refused(t, err) {
			return
		}
		if back, err := resourcename.ParseJob(j.String(), resourcename.Defaults{}); err != nil || back != j {
			t.Errorf("%q is %+v, and %q is %+v, %v", s, j, j.String(), back, err)
		}
	})
}

func FuzzParseExecution(f *testing.F) {
	for _, s := range []string{"train/train-x7k2p", "projects/p/locations/us-central1/jobs/train/executions/train-x7k2p", "a/b/c/d/e", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e, err := resourcename.ParseExecution(s, resourcename.Defaults{Project: "dp", Location: "dl1"})
		if refused(t, err) {
			return
		}
		if back, err := resourcename.ParseExecution(e.String(), resourcename.Defaults{}); err != nil || back != e {
			t.Errorf("%q is %+v, and %q is %+v, %v", s, e, e.String(), back, err)
		}
	})
}

func FuzzParseBucket(f *testing.F) {
	for _, s := range []string{"ckpt", "gs://ckpt", "p/ckpt", "projects/_/buckets/ckpt", "gs://", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b, err := resourcename.ParseBucket(s)
		if refused(t, err) {
			return
		}
		for _, form := range []string{b.String(), b.URL()} {
			if back, err := resourcename.ParseBucket(form); err != nil || back.Name != b.Name {
				t.Errorf("%q is %+v, and %q is %+v, %v", s, b, form, back, err)
			}
		}
	})
}

func FuzzParseServiceAccount(f *testing.F) {
	for _, s := range []string{"a@p.iam.gserviceaccount.com", "projects/p/serviceAccounts/a@p.iam.gserviceaccount.com", "serviceAccount:a@p.iam.gserviceaccount.com", "@", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := resourcename.ParseServiceAccount(s)
		if refused(t, err) {
			return
		}
		if back, err := resourcename.ParseServiceAccount(a.String()); err != nil || back != a {
			t.Errorf("%q is %+v, and %q is %+v, %v", s, a, a.String(), back, err)
		}
	})
}

func refused(t *testing.T, err error) bool {
	t.Helper()
	if err != nil && (err.Error() == "" || !utf8.ValidString(err.Error()) || len(err.Error()) > 1000) {
		t.Errorf("the error cannot be shown: %q", err)
	}
	return err != nil
}
