// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package googlestate

import (
	"strings"
	"testing"
)

func TestCheckSource(t *testing.T) {
	t.Parallel()
	const google = "registry.terraform.io/hashicorp/google"
	for _, c := range []struct {
		wanted, typeName, address string
		version                   int64
		says                      string
	}{
		{JobType, JobType, google, 0, ""},
		{JobType, JobType, google + "-beta", 0, ""},
		{JobType, JobType, "registry.opentofu.org/hashicorp/google", 0, ""},
		{JobType, JobType, "mirror.example.com/hashicorp/google-beta", 0, ""},
		{BucketType, BucketType, google, 0, ""},
		{BucketType, BucketType, google, 4, ""},
		{JobType, JobType, google, 1, "has schema version 1, and this version of the provider knows those up to 0. Use a newer version"},
		{BucketType, BucketType, google, 5, "has schema version 5, and this version of the provider knows those up to 4. Use a newer version"},
		{BucketType, BucketType, google, -1, "has schema version -1, which is none"},
		{JobType, BucketType, google, 4, "only a google_cloud_run_v2_job can be moved to this type, and this is a google_storage_bucket. Import it instead"},
		{JobType, JobType, "registry.terraform.io/example/google", 0, "belongs to the provider registry.terraform.io/example/google. Import it instead"},
		{JobType, JobType, "registry.terraform.io/hashicorp/aws", 0, "belongs to the provider"},
		{JobType, JobType, "google", 0, ""}, // OpenTofu 1.10
		{BucketType, BucketType, "google", 4, ""},
		{JobType, BucketType, "google", 4, "only a google_cloud_run_v2_job"},
		{JobType, JobType, "aws", 0, "belongs to the provider aws. Import it instead"},
		{JobType, JobType, "example/google", 0, "belongs to the provider example/google"},
		{JobType, JobType, "", 0, "belongs to the provider"},
	} {
		err := CheckSource(c.wanted, c.typeName, c.address, c.version)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s of %s, version %d, for a %s: %v, want %q", c.typeName, c.address, c.version, c.wanted, err, c.says)
		}
	}
}

// No JSON makes a panic. What is read without a problem names its thing.
func FuzzReadJob(f *testing.F) {
	f.Add(state(f, "job.json"))
	f.Add(state(f, "job_2022.json"))
	f.Add([]byte(`{` + minimal + `}`))
	f.Add([]byte(`{"id":"projects/p/locations/l/jobs/j","template":[null],"labels":{"a":null},"timeouts":[],"uid":1e999}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		j, problems := ReadJob(raw)
		if len(problems) == 0 && (j.Name.Name == "" || j.Live.GetTemplate().GetTemplate() == nil) {
			t.Errorf("read %+v", j)
		}
		for _, p := range problems {
			if p.Text == "" || p.String() == "" {
				t.Errorf("an empty problem at %q", p.Attribute)
			}
		}
	})
}

func FuzzReadBucket(f *testing.F) {
	f.Add(state(f, "bucket_0.json"), int64(0))
	f.Add(state(f, "bucket_4.json"), int64(4))
	f.Add([]byte(`{"name":"b-1","lifecycle_rule":[{"condition":[{"age":0,"is_live":false}]},null]}`), int64(1))
	f.Fuzz(func(t *testing.T, raw []byte, version int64) {
		b, problems := ReadBucket(raw, version)
		if len(problems) == 0 && b.Live.Name == "" {
			t.Errorf("read %+v", b)
		}
		for _, p := range problems {
			if p.Text == "" || p.String() == "" {
				t.Errorf("an empty problem at %q", p.Attribute)
			}
		}
	})
}
