// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package resourcename_test

import (
	"strings"
	"testing"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/provider/resourcename"
	"pgregory.net/rapid"
)

var (
	defaults = resourcename.Defaults{Project: "dp", Location: "dl1"}
	none     = resourcename.Defaults{}
)

func TestParseJob(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in       string
		defaults resourcename.Defaults
		want     string // the full name, or "!" and a part of the error
	}{
		{"projects/p/locations/us-central1/jobs/train", none, "projects/p/locations/us-central1/jobs/train"},
		{"p/us-central1/train", none, "projects/p/locations/us-central1/jobs/train"},
		{"us-central1/train", defaults, "projects/dp/locations/us-central1/jobs/train"},
		{"train", defaults, "projects/dp/locations/dl1/jobs/train"},
		{"p/US-CENTRAL1/train", none, "projects/p/locations/us-central1/jobs/train"},
		{"example.com:web/us-central1/train", none, "projects/example.com:web/locations/us-central1/jobs/train"},
		{"123456789012/us-central1/train", none, "projects/123456789012/locations/us-central1/jobs/train"},
		{"train", none, `!"train" names no project, and the provider has none: set project in the provider block or the environment variable GOOGLE_PROJECT, or write projects/`},
		{"train", resourcename.Defaults{Project: "p"}, "!names no location, and the provider has no region: set region"},
		{"us-central1/train", none, "!names no project"},
		{"p/us-central1-a/train", none, `!"us-central1-a" is a zone: write its region, "us-central1"`},
		{"p/us-central1/Train", none, `!"Train" cannot be a job's name`},
		{"", defaults, "!\"\" cannot be a job's name"},
		{"a/b/c/d", defaults, "!write projects/PROJECT/locations/LOCATION/jobs/NAME, PROJECT/LOCATION/NAME, LOCATION/NAME or NAME"},
		{"projects/p/jobs", defaults, "!is not the name of a Cloud Run job"},
		{"projects/p/locations/l/services/s", defaults, "!is not the name of a Cloud Run job"},
		{"projects//locations/us-central1/jobs/train", defaults, "!names no project"},
		{"/train", defaults, "!names no location"},
		{"p/us-central1/train/", none, "!is not the name of a Cloud Run job"},
		{" train", defaults, "!cannot be a job's name"},
	} {
		got, err := resourcename.ParseJob(test.in, test.defaults)
		check(t, "ParseJob", test.in, got.String(), err, test.want)
	}
	if got := (resourcename.Job{Project: "p", Location: "l", Name: "n"}).Parent(); got != "projects/p/locations/l" {
		t.Errorf("Parent is %q", got)
	}
}

func TestParseExecution(t *testing.T) {
	t.Parallel()
	const full = "projects/p/locations/us-central1/jobs/train/executions/train-x7k2p"
	for _, test := range []struct {
		in       string
		defaults resourcename.Defaults
		want     string
	}{
		{full, none, full},
		{"p/us-central1/train/train-x7k2p", none, full},
		{"us-central1/train/train-x7k2p", resourcename.Defaults{Project: "p"}, full},
		{"train/train-x7k2p", resourcename.Defaults{Project: "p", Location: "US-central1"}, full},
		{"train/train-x7k2p", none, "!names no project"},
		{"train-x7k2p", defaults, "!write projects/PROJECT/locations/LOCATION/jobs/JOB/executions/NAME"},
		{"train/Train", defaults, `!"Train" cannot be one`},
		{"projects/p/locations/us-central1/jobs/train", defaults, "!is not the name of an execution"},
	} {
		got, err := resourcename.ParseExecution(test.in, test.defaults)
		check(t, "ParseExecution", test.in, got.String(), err, test.want)
	}
}

func TestParseBucket(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ in, project, want string }{
		{"ckpt", "", "projects/_/buckets/ckpt"},
		{"gs://ckpt", "", "projects/_/buckets/ckpt"},
		{"gs://ckpt/", "", "projects/_/buckets/ckpt"},
		{"p/ckpt", "p", "projects/_/buckets/ckpt"},
		{"example.com:web/ckpt", "example.com:web", "projects/_/buckets/ckpt"},
		{"projects/p/buckets/ckpt", "p", "projects/_/buckets/ckpt"},
		{"projects/_/buckets/ckpt", "", "projects/_/buckets/ckpt"},
		{"google-owned.example.com", "", "projects/_/buckets/google-owned.example.com"},
		{"", "", "!is not the name of a bucket: write NAME, PROJECT/NAME or gs://NAME"},
		{"gs://ckpt/run1", "", "!is not the name of a bucket"},
		{"a/b/c", "", "!is not the name of a bucket"},
		{"projects/p", "", "!is not the name of a bucket"},
		{"-ckpt", "", "!is not the name of a bucket"},
		{"P/ckpt", "", "!is not the name of a bucket"},
	} {
		got, err := resourcename.ParseBucket(test.in)
		check(t, "ParseBucket", test.in, got.String(), err, test.want)
		if got.Project != test.project {
			t.Errorf("ParseBucket(%q): project %q; want %q", test.in, got.Project, test.project)
		}
		if err == nil && !strings.HasPrefix(got.URL(), "gs://") {
			t.Errorf("URL is %q", got.URL())
		}
	}
}

func TestParseServiceAccount(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ in, want string }{
		{"a@p.iam.gserviceaccount.com", "projects/p/serviceAccounts/a@p.iam.gserviceaccount.com"},
		{"projects/p/serviceAccounts/a@p.iam.gserviceaccount.com", "projects/p/serviceAccounts/a@p.iam.gserviceaccount.com"},
		{"projects/-/serviceAccounts/a@p.iam.gserviceaccount.com", "projects/p/serviceAccounts/a@p.iam.gserviceaccount.com"},
		{"a@web.example.com.iam.gserviceaccount.com", "projects/example.com:web/serviceAccounts/a@web.example.com.iam.gserviceaccount.com"},
		{"123-compute@developer.gserviceaccount.com", "projects/-/serviceAccounts/123-compute@developer.gserviceaccount.com"},
		{"service-123@gcp-sa-run.iam.gserviceaccount.com", "projects/-/serviceAccounts/service-123@gcp-sa-run.iam.gserviceaccount.com"},
		{"serviceAccount:a@p.iam.gserviceaccount.com", `!is a member of a policy: write the e-mail alone, "a@p.iam.gserviceaccount.com"`},
		{"A@p.iam.gserviceaccount.com", `!write "a@p.iam.gserviceaccount.com"`},
		{"trainer", "!is not a service account: write its e-mail"},
		{"ada@example.com", "!accounts of people and groups do not serve here"},
		{"projects/P P/serviceAccounts/a@p.iam.gserviceaccount.com", "!is not a service account"},
		{"x/a@p.iam.gserviceaccount.com", `!is a full name: write the e-mail alone, "a@p.iam.gserviceaccount.com"`},
		{"", "!is not a service account"},
	} {
		got, err := resourcename.ParseServiceAccount(test.in)
		check(t, "ParseServiceAccount", test.in, got.String(), err, test.want)
	}
}

// check wants the full name, or with "!" in front an error that holds the rest.
func check(t *testing.T, f, in, got string, err error, want string) {
	t.Helper()
	if text, fails := strings.CutPrefix(want, "!"); fails {
		if err == nil {
			t.Errorf("%s(%q) = %q; want an error", f, in, got)
		} else if !strings.Contains(err.Error(), text) {
			t.Errorf("%s(%q): %v; want %q", f, in, err, text)
		}
		return
	}
	if err != nil || got != want {
		t.Errorf("%s(%q) = %q, %v; want %q", f, in, got, err, want)
	}
}

func TestServiceAccountEmail(t *testing.T) {
	t.Parallel()
	for project, want := range map[string]string{
		"my-project":      "train@my-project.iam.gserviceaccount.com",
		"example.com:web": "train@web.example.com.iam.gserviceaccount.com",
	} {
		a := resourcename.NewServiceAccount(project, "train")
		if a.Email != want || a.Project != project || a.Member() != "serviceAccount:"+want {
			t.Errorf("in %s: %+v, %s", project, a, a.Member())
		}
		if back, err := resourcename.ParseServiceAccount(a.Email); err != nil || back != a {
			t.Errorf("%s is read as %+v, %v", a.Email, back, err)
		}
	}
}

// The ids are stored in state and in Google Cloud: they may never change.
func TestServiceAccountID(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ project, location, name, want string }{
		{"my-project", "us-central1", "train", "train-482c375f"},
		{"my-project", "US-CENTRAL1", "train", "train-482c375f"},
		{"my-project", "europe-west4", "train", "train-c1459667"},
		{"my-project", "us-central1", "a-very-long-name-of-a-training-job", "a-very-long-name-of-a-ccc3d434"},
	} {
		if got := resourcename.ServiceAccountID(test.project, test.location, test.name); got != test.want {
			t.Errorf("%s/%s/%s has %q; want %q", test.project, test.location, test.name, got, test.want)
		}
	}
}

func TestServiceAccountIDIsValid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z]([-a-z0-9]{0,61}[a-z0-9])?`).Draw(t, "name")
		if err := resourcename.CheckJob(name); err != nil {
			t.Fatal(err)
		}
		id := resourcename.ServiceAccountID("my-project", "us-central1", name)
		if err := resourcename.CheckServiceAccountID(id); err != nil {
			t.Fatal(err)
		}
		if id == resourcename.ServiceAccountID("my-project", "us-east4", name) {
			t.Fatal("the same job name in two regions shares an account")
		}
	})
}

func TestRules(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		check func(string) error
		in    string
		want  string // "" accepts
	}{
		{"job", resourcename.CheckJob, "train", ""},
		{"job of one letter", resourcename.CheckJob, "t", ""},
		{"job of 63", resourcename.CheckJob, strings.Repeat("a", 63), ""},
		{"job of 64", resourcename.CheckJob, strings.Repeat("a", 64), "it has 64 characters, and 63 is the most"},
		{"job in capitals", resourcename.CheckJob, "Train", `write "train"`},
		{"job with digit first", resourcename.CheckJob, "1train", "with a letter first"},
		{"job with hyphen last", resourcename.CheckJob, "train-", "no \"-\" last"},
		{"job with underscore", resourcename.CheckJob, "my_train", `write "my-train"`},
		{"job empty", resourcename.CheckJob, "", "it is empty"},
		{"job full", resourcename.CheckJob, "projects/p/locations/l/jobs/train", "write the bare name, \"train\""},
		{"bucket", resourcename.CheckBucket, "my-checkpoints_1", ""},
		{"bucket with dots", resourcename.CheckBucket, "ckpt.example.com", ""},
		{"bucket short", resourcename.CheckBucket, "ab", "it has 2 characters; write 3 to 63"},
		{"bucket of 64", resourcename.CheckBucket, strings.Repeat("a", 64), "63 is the most"},
		{"bucket of 70 with dot", resourcename.CheckBucket, strings.Repeat("a", 35) + "." + strings.Repeat("b", 34), ""},
		{"bucket part of 64", resourcename.CheckBucket, strings.Repeat("a", 64) + ".b", "63 is the most"},
		{"bucket of 223", resourcename.CheckBucket, strings.Repeat("a.", 111) + "b", "222 is the most"},
		{"bucket in capitals", resourcename.CheckBucket, "My-bucket", "lower case"},
		{"bucket url", resourcename.CheckBucket, "gs://ckpt", "write it without gs://, \"ckpt\""},
		{"bucket folder", resourcename.CheckBucket, "ckpt/run1", "write the bare name"},
		{"bucket address", resourcename.CheckBucket, "192.168.5.4", "looks like an IP address"},
		{"bucket goog", resourcename.CheckBucket, "goog-ckpt", "begin with \"goog\""},
		{"bucket google", resourcename.CheckBucket, "my-google-ckpt", "with \"google\""},
		{"bucket g00gle", resourcename.CheckBucket, "my-g00gle-ckpt", "with \"google\""},
		{"bucket two dots", resourcename.CheckBucket, "a..b", "two dots"},
		{"bucket hyphen", resourcename.CheckBucket, "-ckpt", "a letter or digit at both ends"},
		{"account", resourcename.CheckServiceAccountID, "trainer", ""},
		{"account short", resourcename.CheckServiceAccountID, "train", "it has 5 characters; write 6 to 30"},
		{"account long", resourcename.CheckServiceAccountID, strings.Repeat("a", 31), "it has 31 characters; write 6 to 30"},
		{"account e-mail", resourcename.CheckServiceAccountID, "trainer@p.iam.gserviceaccount.com", "write the id alone, \"trainer\""},
		{"account capitals", resourcename.CheckServiceAccountID, "Trainer", "use lower-case letters"},
		{"project", resourcename.CheckProject, "my-project", ""},
		{"project number", resourcename.CheckProject, "123456789012", ""},
		{"project in a domain", resourcename.CheckProject, "example.com:web", ""},
		{"project full", resourcename.CheckProject, "projects/my-project", "write the id alone, \"my-project\""},
		{"project name", resourcename.CheckProject, "My Project", "not its display name"},
		{"location", resourcename.CheckLocation, "us-central1", ""},
		{"location in capitals", resourcename.CheckLocation, "US-CENTRAL1", ""},
		{"location multi", resourcename.CheckLocation, "nam4", ""},
		{"location zone", resourcename.CheckLocation, "us-central1-a", "write its region, \"us-central1\""},
		{"location words", resourcename.CheckLocation, "us central", "is not a location"},
		{"location empty", resourcename.CheckLocation, "", "is not a location"},
	} {
		err := test.check(test.in)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v; want %q", test.name, err, test.want)
		}
	}
}

// What Google answers may have a project's number for its id; what users write
// means what it says.
func TestSameNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b            string
		strict, lenient bool
	}{
		{"token", "token", true, true}, {"token", "projects/p/secrets/token", true, true}, {"token", "projects/q/secrets/token", false, false},
		{"token", "projects/12/secrets/token", false, true}, {"projects/12/secrets/token", "projects/34/secrets/token", false, false},
		{"token", "other", false, false}, {"a b", "a b", true, true},
	} {
		if strict, lenient := resourcename.SameSecret(c.a, c.b, "p", false), resourcename.SameSecret(c.b, c.a, "p", true); strict != c.strict || lenient != c.lenient {
			t.Errorf("%s and %s: %t, leniently %t", c.a, c.b, strict, lenient)
		}
	}
	for _, c := range []struct {
		a, b            string
		strict, lenient bool
	}{
		{"projects/p/global/networks/n", "projects/p/global/networks/n", true, true}, {"projects/p/global/networks/n", "projects/12/global/networks/n", false, true},
		{"projects/p/regions/r/subnetworks/n", "projects/p/regions/s/subnetworks/n", false, false}, {"n", "projects/p/global/networks/n", false, false}, {"n", "n", true, true},
	} {
		if strict, lenient := resourcename.SameName(c.a, c.b, false), resourcename.SameName(c.b, c.a, true); strict != c.strict || lenient != c.lenient {
			t.Errorf("%s and %s: %t, leniently %t", c.a, c.b, strict, lenient)
		}
	}
}
