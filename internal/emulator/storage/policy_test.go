// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	gcs "google.golang.org/api/storage/v1"
)

func newRequest(t *testing.T, path string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1"+path, nil)
	ok(t, err)
	return r
}

// grant adds members to a role as clients do: read, merge, write.
func (w *world) grant(bucket, role string, members ...string) *gcs.Policy {
	w.t.Helper()
	p, err := w.api.Buckets.GetIamPolicy(bucket).OptionsRequestedPolicyVersion(3).Do()
	ok(w.t, err)
	p.Bindings = append(p.Bindings, &gcs.PolicyBindings{Role: role, Members: members})
	p, err = w.api.Buckets.SetIamPolicy(bucket, p).Do()
	ok(w.t, err)
	return p
}

func TestFreshPolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("uniform")
	_, raw, _ := w.send("GET", "/storage/v1/b/uniform/iam", "")
	equal(t, "policy", raw, `{"bindings":[`+
		`{"members":["projectEditor:resilient-project","projectOwner:resilient-project"],"role":"roles/storage.legacyBucketOwner"},`+
		`{"members":["projectViewer:resilient-project"],"role":"roles/storage.legacyBucketReader"},`+
		`{"members":["projectEditor:resilient-project","projectOwner:resilient-project"],"role":"roles/storage.legacyObjectOwner"},`+
		`{"members":["projectViewer:resilient-project"],"role":"roles/storage.legacyObjectReader"}],`+
		`"etag":"CAE=","kind":"storage#policy","resourceId":"projects/_/buckets/uniform","version":1}`)
	_, err := w.api.Buckets.Insert(project, &gcs.Bucket{Name: "finegrained"}).Do()
	ok(t, err)
	p, err := w.api.Buckets.GetIamPolicy("finegrained").Do()
	ok(t, err)
	equal(t, "bindings without uniform access", len(p.Bindings), 2)
}

// case 76, case 80: a stale etag is refused, and any change of the bucket makes
// one stale.
func TestPolicyEtags(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("shared")
	mine, err := w.api.Buckets.GetIamPolicy("shared").OptionsRequestedPolicyVersion(3).Do()
	ok(t, err)
	theirs := w.grant("shared", "roles/storage.objectViewer", "user:them@example.com")
	equal(t, "etag after a write", theirs.Etag, "CAI=")
	b, err := w.api.Buckets.Get("shared").Do()
	ok(t, err)
	equal(t, "metageneration after a write", b.Metageneration, 2)

	_, err = w.api.Buckets.SetIamPolicy("shared", mine).Do()
	refused(t, err, 412, "conditionNotMet", "At least one of the pre-conditions you specified did not hold.")

	_, err = w.api.Buckets.Patch("shared", &gcs.Bucket{Labels: map[string]string{"a": "b"}}).Do()
	ok(t, err)
	_, err = w.api.Buckets.SetIamPolicy("shared", theirs).Do()
	refused(t, err, 412, "conditionNotMet", "pre-conditions")

	for etag, text := range map[string]string{
		"CAk=": "Invalid etag - must use etag from GetPolicy response.", // the future
		"EAE=": "Invalid etag - must use etag from GetPolicy response.", // another field
		"CAEA": "Invalid etag - must use etag from GetPolicy response.", // something behind
		"abc":  "Invalid value for ByteString: abc",
	} {
		_, err = w.api.Buckets.SetIamPolicy("shared", &gcs.Policy{Etag: etag}).Do()
		refused(t, err, 400, "invalid", text)
	}
	// Without an etag the last writer wins, and a write without bindings
	// removes them all.
	p, err := w.api.Buckets.SetIamPolicy("shared", &gcs.Policy{}).Do()
	ok(t, err)
	equal(t, "bindings", len(p.Bindings), 0)
}

func TestPolicyIsKeptInNormalForm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("normal")
	p, err := w.api.Buckets.SetIamPolicy("normal", &gcs.Policy{Bindings: []*gcs.PolicyBindings{
		{Role: "roles/storage.objectUser", Members: []string{"user:Ann@Example.com", "user:ann@example.com"}},
		{Role: "roles/storage.objectViewer", Members: []string{"group:g@example.com"}},
		{Role: "roles/storage.objectUser", Members: []string{"domain:Example.com", "user:ann@example.com"}},
		{Role: "roles/storage.objectCreator"},
		{Role: "projects/p/roles/custom", Members: []string{"projectViewer:p", "principalSet://iam.googleapis.com/x"}},
	}}).Do()
	ok(t, err)
	var got []string
	for _, b := range p.Bindings {
		got = append(got, b.Role+"="+strings.Join(b.Members, ","))
	}
	equal(t, "bindings", strings.Join(got, " "),
		"roles/storage.objectUser=user:ann@example.com,domain:example.com roles/storage.objectViewer=group:g@example.com projects/p/roles/custom=projectViewer:p,principalSet://iam.googleapis.com/x")
}

func TestRefusedPolicies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("closed", func(b *gcs.Bucket) { b.IamConfiguration.PublicAccessPrevention = "enforced" })
	_, err := w.api.Buckets.Insert(project, &gcs.Bucket{Name: "finegrained"}).Do()
	ok(t, err)
	w.accounts.set("real@p.iam.gserviceaccount.com", "999000000000000000001")
	condition := &gcs.Expr{Title: "t", Expression: `request.time < timestamp("2027-01-01T00:00:00Z")`}
	const viewer = "roles/storage.objectViewer"
	for _, tt := range []struct {
		name, bucket string
		policy       *gcs.Policy
		code         int
		text         string
	}{
		{"another service's role", "closed", bind("roles/pubsub.viewer", "user:a@b.c"), 400, "Role roles/pubsub.viewer is not supported for this resource."},
		{"basic role", "closed", bind("roles/editor", "user:a@b.c"), 400, "Role roles/editor is not supported"},
		{"no such role", "closed", bind("roles/storage.boss", "user:a@b.c"), 400, "is not supported for this resource"},
		{"role of a version 1 read", "closed", bind(viewer+"_withcond_4e0bd94b67e008e72efb", "user:a@b.c"), 400, "is not supported for this resource"},
		{"no role name", "closed", bind("storage.objectViewer", "user:a@b.c"), 400, "The role name must be in the form"},
		{"no prefix", "closed", bind(viewer, "a@b.c"), 400, "The member a@b.c is of an unknown type. Please set a valid type prefix for the member."},
		{"other prefix", "closed", bind(viewer, "robot:a@b.c"), 400, "is of an unknown type"},
		{"empty address", "closed", bind(viewer, "user:"), 400, "The email address of a user in the IAM policy is empty."},
		{"project number", "closed", bind(viewer, "projectViewer:123"), 400, "Project 123 does not exist."},
		// case 65
		{"missing account", "closed", bind(viewer, "serviceAccount:gone@p.iam.gserviceaccount.com"), 400, "Service account gone@p.iam.gserviceaccount.com does not exist."},
		{"public", "closed", bind(viewer, "allUsers"), 412, "public access prevention is enforced"},
		{"public signed in", "closed", bind(viewer, "allAuthenticatedUsers"), 412, "public access prevention is enforced"},
		{"deleted without uid", "closed", bind(viewer, "deleted:serviceAccount:a@p.iam.gserviceaccount.com"), 400, "is of an unknown type"},
		// case 73
		{"twins", "closed", bind(viewer, "deleted:serviceAccount:real@p.iam.gserviceaccount.com?uid=7", "serviceAccount:real@p.iam.gserviceaccount.com"), 400, "Inconsistent representation of deleted member: 'deleted:serviceAccount:real@p.iam.gserviceaccount.com?uid=7' and 'serviceAccount:real@p.iam.gserviceaccount.com'"},
		{"condition without version 3", "closed", &gcs.Policy{Version: 1, Bindings: []*gcs.PolicyBindings{{Role: viewer, Members: []string{"user:a@b.c"}, Condition: condition}}}, 400, "Specified policy version (1) must be at least 3"},
		{"condition without uniform access", "finegrained", &gcs.Policy{Version: 3, Bindings: []*gcs.PolicyBindings{{Role: viewer, Members: []string{"user:a@b.c"}, Condition: condition}}}, 412, "enable uniform bucket-level access"},
	} {
		_, err := w.api.Buckets.SetIamPolicy(tt.bucket, tt.policy).Do()
		t.Log(tt.name)
		refused(t, err, tt.code, map[int]string{400: "invalid", 412: "conditionNotMet"}[tt.code], tt.text)
	}
	b, err := w.api.Buckets.Get("closed").Do()
	ok(t, err)
	equal(t, "metageneration", b.Metageneration, 1)
	w.grant("closed", viewer, "serviceAccount:real@p.iam.gserviceaccount.com", "serviceAccount:service-1@gcp-sa-x.iam.gserviceaccount.com")
}

func bind(role string, members ...string) *gcs.Policy {
	return &gcs.Policy{Bindings: []*gcs.PolicyBindings{{Role: role, Members: members}}}
}

// case 77: conditions are set at once, and need version 3.
func TestConditions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("conditional")
	_, err := w.api.Buckets.SetIamPolicy("conditional", &gcs.Policy{Version: 3, Bindings: []*gcs.PolicyBindings{
		{Role: "roles/storage.objectViewer", Members: []string{"user:a@example.com"}},
		{Role: "roles/storage.objectViewer", Members: []string{"user:b@example.com"}, Condition: &gcs.Expr{Title: "soon over", Expression: `request.time < timestamp("2027-01-01T00:00:00Z")`}},
	}}).Do()
	ok(t, err)
	p, err := w.api.Buckets.GetIamPolicy("conditional").OptionsRequestedPolicyVersion(3).Do()
	ok(t, err)
	if p.Version != 3 || len(p.Bindings) != 2 || p.Bindings[1].Condition.Title != "soon over" {
		t.Errorf("version %d, bindings %v", p.Version, p.Bindings)
	}
	p, err = w.api.Buckets.GetIamPolicy("conditional").Do()
	ok(t, err)
	if p.Version != 1 || p.Bindings[1].Condition != nil || !strings.HasPrefix(p.Bindings[1].Role, "roles/storage.objectViewer_withcond_") {
		t.Errorf("version %d, bindings %v", p.Version, p.Bindings)
	}
	equal(t, "before", w.service.Allowed("conditional", "user:b@example.com", "storage.objects.get"), true)
	w.clock.Advance(365 * 24 * time.Hour)
	equal(t, "after", w.service.Allowed("conditional", "user:b@example.com", "storage.objects.get"), false)
	equal(t, "without condition", w.service.Allowed("conditional", "user:a@example.com", "storage.objects.get"), true)
}

// case 71: a grant belongs to the account that had it, not to its address.
func TestGrantsOfADeletedAccount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const email = "job@p.iam.gserviceaccount.com"
	w.bucket("ckpt")
	w.accounts.set(email, "999000000000000000001")
	w.grant("ckpt", "roles/storage.objectUser", "serviceAccount:"+email)
	equal(t, "allowed", w.service.Allowed("ckpt", "serviceAccount:"+email, "storage.objects.create"), true)

	w.accounts.set(email, "")
	members := func() []string {
		p, err := w.api.Buckets.GetIamPolicy("ckpt").OptionsRequestedPolicyVersion(3).Do()
		ok(t, err)
		return p.Bindings[len(p.Bindings)-1].Members
	}
	const gone = "deleted:serviceAccount:" + email + "?uid=999000000000000000001"
	equal(t, "after delete", strings.Join(members(), " "), gone)

	w.accounts.set(email, "999000000000000000002") // made again: another account
	equal(t, "after another", strings.Join(members(), " "), gone)
	equal(t, "allowed to the other", w.service.Allowed("ckpt", "serviceAccount:"+email, "storage.objects.create"), false)

	p, err := w.api.Buckets.GetIamPolicy("ckpt").OptionsRequestedPolicyVersion(3).Do()
	ok(t, err)
	last := p.Bindings[len(p.Bindings)-1]
	last.Members = append(last.Members, "serviceAccount:"+email)
	_, err = w.api.Buckets.SetIamPolicy("ckpt", p).Do()
	refused(t, err, 400, "invalid", "Inconsistent representation of deleted member")
	last.Members = []string{"serviceAccount:" + email}
	_, err = w.api.Buckets.SetIamPolicy("ckpt", p).Do()
	ok(t, err)
	equal(t, "allowed again", w.service.Allowed("ckpt", "serviceAccount:"+email, "storage.objects.create"), true)

	w.accounts.set(email, "")
	w.accounts.set(email, "999000000000000000002") // undeleted
	equal(t, "after undelete", strings.Join(members(), " "), "serviceAccount:"+email)
}

func TestAllowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.bucket("roles")
	number, err := json.Marshal(b.ProjectNumber)
	ok(t, err)
	for role, want := range map[string][4]bool{ // get, create, delete, setIamPolicy of the bucket
		"objectViewer":       {true, false, false, false},
		"objectCreator":      {false, true, false, false},
		"objectUser":         {true, true, true, false},
		"objectAdmin":        {true, true, true, false},
		"admin":              {true, true, true, true},
		"legacyObjectReader": {true, false, false, false},
		"legacyBucketReader": {false, false, false, false},
		"legacyBucketWriter": {false, true, true, false},
		"legacyBucketOwner":  {false, true, true, true},
	} {
		member := "user:" + strings.ToLower(role) + "@example.com"
		w.grant("roles", "roles/storage."+role, member)
		for i, p := range []string{"storage.objects.get", "storage.objects.create", "storage.objects.delete", "storage.buckets.setIamPolicy"} {
			equal(t, role+" "+p, w.service.Allowed("roles", strings.ToUpper(member[:1])+member[1:], p), false)
			equal(t, role+" "+p, w.service.Allowed("roles", member, p), want[i])
		}
	}
	equal(t, "nobody", w.service.Allowed("roles", "user:x@example.com", "storage.objects.get"), false)
	equal(t, "no bucket", w.service.Allowed("none", "projectOwner:"+project, "storage.objects.get"), false)
	equal(t, "editor", w.service.Allowed("roles", "projectEditor:"+project, "storage.objects.create"), true)
	equal(t, "viewer", w.service.Allowed("roles", "projectViewer:"+project, "storage.objects.create"), false)
	equal(t, "default account", w.service.Allowed("roles", "serviceAccount:"+strings.Trim(string(number), `"`)+"-compute@developer.gserviceaccount.com", "storage.objects.create"), true)
	w.grant("roles", "roles/storage.objectViewer", "allUsers")
	equal(t, "public", w.service.Allowed("roles", "user:x@example.com", "storage.objects.get"), true)
	_, err = w.api.Buckets.Patch("roles", &gcs.Bucket{IamConfiguration: &gcs.BucketIamConfiguration{PublicAccessPrevention: "enforced"}}).Do()
	ok(t, err)
	equal(t, "no longer public", w.service.Allowed("roles", "user:x@example.com", "storage.objects.get"), false)
}

func TestPermissionsThatCanBeAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bucket("asked")
	all := []string{"storage.objects.create", "storage.buckets.getIamPolicy", "storage.buckets.setIamPolicy"}
	answer, err := w.api.Buckets.TestIamPermissions("asked", all).Do()
	ok(t, err)
	if !slices.Equal(answer.Permissions, all) {
		t.Errorf("held %v", answer.Permissions)
	}
	for p, text := range map[string]string{
		"storage.buckets.list": "Invalid argument.", "storage.objects.*": "storage.objects.* is not a valid Google Cloud Storage permission.",
		"run.jobs.run": "run.jobs.run is not a valid Google Cloud Storage permission.",
	} {
		_, err = w.api.Buckets.TestIamPermissions("asked", []string{p}).Do()
		refused(t, err, 400, "invalid", text)
	}
	_, err = w.api.Buckets.TestIamPermissions("asked", []string{all[0], all[0]}).Do()
	refused(t, err, 400, "invalid", "Duplicate permissions must not be specified.")
	_, err = w.api.Buckets.TestIamPermissions("none", all).Do()
	refused(t, err, 404, "notFound", "The specified bucket does not exist.")
}
