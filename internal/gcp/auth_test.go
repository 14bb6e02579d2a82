// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"cloud.google.com/go/iam/admin/apiv1/adminpb"
	"cloud.google.com/go/logging/apiv2/loggingpb"
	"cloud.google.com/go/run/apiv2/runpb"
	"cloud.google.com/go/secretmanager/apiv1/secretmanagerpb"
	"golang.org/x/oauth2"
	"google.golang.org/api/storage/v1"
	"google.golang.org/grpc/codes"
	grpccredentials "google.golang.org/grpc/credentials"
)

func TestEndpoints(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options  Options
		err      string
		emulator bool
	}{
		"google":                   {Options{}, "", false},
		"own host":                 {Options{Endpoints: Endpoints{Run: "https://run.example.com", Storage: "https://storage.example.com:8443/storage/v1/"}}, "", false},
		"versions are let through": {Options{Endpoints: Endpoints{Run: "https://run.googleapis.com/v2/", IAM: "https://iam.googleapis.com/v1/"}}, "", false},
		"loopback":                 {Options{Endpoints: Endpoints{Run: "http://127.0.0.1:8085"}}, "", false},
		"all on loopback":          {Options{Endpoints: Endpoints{Run: "http://localhost:1", IAM: "http://[::1]:1", Storage: "http://127.9.9.9:1/storage/v1"}}, "", true},
		"secrets there, too":       {Options{Endpoints: Endpoints{Run: "http://localhost:1", IAM: "http://localhost:1", Storage: "http://localhost:1", SecretManager: "http://localhost:2"}}, "", true},
		"only secrets elsewhere":   {Options{Endpoints: Endpoints{Run: "http://localhost:1", IAM: "http://localhost:1", Storage: "http://localhost:1", SecretManager: "https://secretmanager.googleapis.com"}}, "is not an emulator's, but those of run, iam and storage are", false},
		"only secrets on loopback": {Options{Endpoints: Endpoints{SecretManager: "http://localhost:1"}}, "is an emulator's, but those of run, iam and storage are not all", false},
		"only logs elsewhere":      {Options{Endpoints: Endpoints{Run: "http://localhost:1", IAM: "http://localhost:1", Storage: "http://localhost:1", Logging: "https://logging.googleapis.com"}}, "the logging endpoint \"https://logging.googleapis.com\" is not an emulator's", false},
		"only logs on loopback":    {Options{Endpoints: Endpoints{Logging: "http://localhost:1"}}, "the logging endpoint \"http://localhost:1\" is an emulator's", false},
		"emulator":                 {Options{EmulatorHost: "127.0.0.1:8085"}, "", true},
		"emulator elsewhere":       {Options{EmulatorHost: "emulator:8085"}, "", true},
		"no URL":                   {Options{Endpoints: Endpoints{Run: "run.googleapis.com"}}, "the run endpoint \"run.googleapis.com\" is not a URL: write it with its scheme", false},
		"host and port":            {Options{Endpoints: Endpoints{IAM: "localhost:8085"}}, "the iam endpoint", false},
		"plain http":               {Options{Endpoints: Endpoints{Storage: "http://storage.example.com"}}, "the storage endpoint \"http://storage.example.com\" is plain http on another machine, so an access token would travel unprotected", false},
		"plain http by name":       {Options{Endpoints: Endpoints{Storage: "http://localhost.example.com"}}, "plain http on another machine", false},
		"other scheme":             {Options{Endpoints: Endpoints{Logging: "grpc://x"}}, "the logging endpoint \"grpc://x\" has the scheme \"grpc\"", false},
		"path for gRPC":            {Options{Endpoints: Endpoints{SecretManager: "https://x.example.com/proxy/"}}, "has a path, but this API is called over gRPC", false},
		"user":                     {Options{Endpoints: Endpoints{Run: "https://me:hunter2@x.example.com"}}, "no user, query or fragment", false},
		"emulator with scheme":     {Options{EmulatorHost: "http://127.0.0.1:8085"}, "must be host:port", false},
		"emulator without port":    {Options{EmulatorHost: "127.0.0.1"}, "must be host:port", false},
		"two mistakes":             {Options{Endpoints: Endpoints{Run: "x", IAM: "y"}}, "the iam endpoint", false},
	} {
		c.options.AccessToken = "t"
		client, err := New(t.Context(), c.options)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: got %v, want %q", name, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if client.Emulator() != c.emulator {
			t.Errorf("%s: Emulator() = %v", name, client.Emulator())
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Towards plain http of this machine no token goes out, by gRPC or by JSON, although there is one.
func TestNoTokenOverPlainHTTP(t *testing.T) {
	t.Parallel()
	f := newFakeCloud(t, func(o *Options) { o.UserProjectOverride, o.BillingProject = true, "billing" })
	f.on("GetJob", answer{message: &runpb.Job{Name: testJob}})
	if _, err := f.GetJob(t.Context(), testJob); err != nil {
		t.Fatal(err)
	}
	md := f.header("GetJob")
	if len(md.Get("authorization")) != 0 || len(md.Get("x-goog-user-project")) != 0 {
		t.Errorf("sent %v", md)
	}
	if got := strings.Join(md.Get("user-agent"), " "); !strings.Contains(got, "test-agent") {
		t.Errorf("user agent %q", got)
	}
	if got := strings.Join(md.Get("x-goog-request-params"), " "); !strings.Contains(got, "location=us-central1") {
		t.Errorf("routing %q", got)
	}
	client, _ := newStorageClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := r.Header.Get("Authorization"); h != "" {
			t.Errorf("sent %q", h)
		}
		fmt.Fprint(w, "{}")
	}))
	if _, err := client.GetBucket(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
}

// gRPC itself keeps the token off connections without TLS.
func TestTokenNeedsTransportSecurity(t *testing.T) {
	t.Parallel()
	c := newTestClient(t, Options{AccessToken: "secret-token"})
	p := perRPC{c.identity}
	if !p.RequireTransportSecurity() {
		t.Error("the token may travel in the clear")
	}
	md, err := p.GetRequestMetadata(t.Context())
	if err != nil || md["authorization"] != "Bearer secret-token" {
		t.Errorf("%v, %v", md, err)
	}
}

// Over TLS the token goes to the API's host, and not along with a redirect.
func TestBearer(t *testing.T) {
	t.Parallel()
	var elsewhere, api atomic.Value
	other := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { elsewhere.Store(r.Header.Get("Authorization")) }))
	t.Cleanup(other.Close)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		api.Store(r.Header.Get("Authorization"))
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(server.Close)
	id, err := newIdentity(Options{AccessToken: "secret-token"})
	if err != nil {
		t.Fatal(err)
	}
	client := server.Client()
	client.Transport = bearer{id: id, host: strings.TrimPrefix(server.URL, "https://"), next: client.Transport}
	resp, err := client.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if api.Load() != "Bearer secret-token" || elsewhere.Load() != "" {
		t.Errorf("the API got %q, the other host %q", api.Load(), elsewhere.Load())
	}
}

// Over TLS both protocols carry the token, the project that pays, and the user agent.
func TestTokenOverTLS(t *testing.T) {
	t.Parallel()
	var storageHeader atomic.Value
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		storageHeader.Store(r.Header.Clone())
		fmt.Fprint(w, "{}")
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	f := newFakeCloudWith(t, grpccredentials.NewTLS(&tls.Config{Certificates: server.TLS.Certificates, MinVersion: tls.VersionTLS12}), func(o *Options) {
		o.Endpoints.Storage, o.UserProjectOverride, o.BillingProject = server.URL, true, "billing"
		o.Endpoints.SecretManager, o.Endpoints.Logging = o.Endpoints.Run, o.Endpoints.Run
	})
	f.tls.RootCAs = roots
	f.tls.ServerName = "example.com"
	f.on("GetJob", answer{message: &runpb.Job{Name: testJob}})
	f.on("GetServiceAccount", answer{message: &adminpb.ServiceAccount{Email: "e"}})
	f.on("GetSecret", answer{message: &secretmanagerpb.Secret{Name: testSecret}})
	f.on("ListLogEntries", answer{message: &loggingpb.ListLogEntriesResponse{}})
	if _, err := f.GetJob(t.Context(), testJob); err != nil {
		t.Fatal(err)
	}
	if _, err := f.GetServiceAccount(t.Context(), "p", "e"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.GetSecret(t.Context(), testSecret); err != nil {
		t.Fatal(err)
	}
	for _, err := range f.LogEntries(t.Context(), "p", "") {
		t.Fatal(err)
	}
	if _, err := f.GetBucket(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	stored, ok := storageHeader.Load().(http.Header)
	if !ok {
		t.Fatal("no request came")
	}
	for what, get := range map[string]func(string) []string{"run": f.header("GetJob").Get, "iam": f.header("GetServiceAccount").Get, "secretmanager": f.header("GetSecret").Get, "logging": f.header("ListLogEntries").Get, "storage": stored.Values} {
		for name, want := range map[string]string{"authorization": "Bearer secret-token", "x-goog-user-project": "billing"} {
			if got := get(name); len(got) != 1 || got[0] != want {
				t.Errorf("%s: %s is %q, want %q once", what, name, got, want)
			}
		}
		if got := strings.Join(get("user-agent"), " "); !strings.Contains(got, "test-agent") {
			t.Errorf("%s: user agent %q", what, got)
		}
	}
}

// A certificate that is not to be trusted gets neither a token nor a minute of attempts.
func TestUntrustedCertificate(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request came") }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(server.Close)
	clock := newInstantClock()
	c := newTestClient(t, Options{Endpoints: Endpoints{Storage: server.URL}, AccessToken: "secret-token", Clock: clock})
	_, err := c.CreateBucket(t.Context(), "p", &storage.Bucket{Name: "b"})
	if e := wantError(t, err); e.Ambiguous || IsUnavailable(err) || len(clock.pauses()) != 0 || !strings.Contains(e.Error(), "certificate") {
		t.Errorf("got %+v after %v", e, clock.pauses())
	}
}

func TestQuotaProject(t *testing.T) {
	t.Parallel()
	user := []byte(`{"type":"authorized_user","client_id":"i","client_secret":"s","refresh_token":"r","quota_project_id":"from-credentials"}`)
	for name, c := range map[string]struct {
		options  Options
		resource string
		want     string
	}{
		"credentials without one":       {Options{AccessToken: "t"}, "p", ""},
		"credentials with one":          {Options{CredentialsJSON: user}, "p", "from-credentials"},
		"a billing project alone":       {Options{CredentialsJSON: user, BillingProject: "b"}, "p", "from-credentials"},
		"override":                      {Options{CredentialsJSON: user, BillingProject: "b", UserProjectOverride: true}, "p", "b"},
		"override without billing":      {Options{CredentialsJSON: user, UserProjectOverride: true}, "p", "p"},
		"override, project not known":   {Options{CredentialsJSON: user, UserProjectOverride: true, Project: "d"}, "", "d"},
		"no credentials, none is named": {Options{AccessToken: "t", UserProjectOverride: true}, "", ""},
	} {
		client := newTestClient(t, c.options)
		if got := client.quotaProject(t.Context(), c.resource); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	for name, want := range map[string]string{"projects/p/locations/l": "p", "projects/_/buckets/b": "", "projects/-/serviceAccounts/e": "", "b": ""} {
		if got := projectOf(name); got != want {
			t.Errorf("projectOf(%q) = %q", name, got)
		}
	}
}

// A service account's key is used against its own token server; a broken file is an error of the configuration that does not show it.
func TestCredentials(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	var refuse atomic.Int32
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if code := refuse.Load(); code != 0 {
			w.WriteHeader(int(code))
			fmt.Fprint(w, `{"error":"invalid_grant","error_description":"Invalid JWT Signature."}`)
			return
		}
		fmt.Fprint(w, `{"access_token":"made-token","token_type":"Bearer","expires_in":3600}`)
	}))
	t.Cleanup(tokens.Close)
	account, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "deployer@p.iam.gserviceaccount.com", "private_key_id": "k", "token_uri": tokens.URL,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key.json")
	if err := os.WriteFile(file, account, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]Options{
		"JSON": {CredentialsJSON: account}, "file": {CredentialsFile: file},
		"a token before a file": {CredentialsFile: file, AccessToken: "made-token"},
		"a source before all":   {CredentialsFile: "missing", AccessToken: "x", TokenSource: oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "made-token"})},
	} {
		id, err := newIdentity(o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := id.token(t.Context()); got != "made-token" || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for name, c := range map[string]struct {
		options Options
		want    string
	}{
		"no JSON":      {Options{CredentialsJSON: []byte("hunter2")}, "not valid JSON"},
		"no type":      {Options{CredentialsJSON: []byte(`{"password":"hunter2"}`)}, "have no \"type\""},
		"other type":   {Options{CredentialsJSON: []byte(`{"type":"passport","password":"hunter2"}`)}, "of type \"passport\" cannot be used"},
		"missing file": {Options{CredentialsFile: file + "x"}, "no such file"},
	} {
		_, err := New(t.Context(), c.options)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}

	// Without a token nothing is sent, and the error says why; an outage of the token server is waited out.
	for code, want := range map[int32]codes.Code{400: codes.Unauthenticated, 503: codes.Unavailable} {
		refuse.Store(code)
		client := newTestClient(t, Options{CredentialsJSON: account, Endpoints: Endpoints{Run: "https://run.invalid"}})
		_, err := client.RunJob(t.Context(), &runpb.RunJobRequest{Name: testJob})
		e := wantError(t, err)
		if e.Code != want || e.Ambiguous || e.HTTP != 0 || !strings.Contains(e.Message, "no access token could be had") {
			t.Errorf("%d: got %+v", code, e)
		}
		if IsUnavailable(err) != (want == codes.Unavailable) {
			t.Errorf("%d: IsUnavailable(%v)", code, err)
		}
	}
}

// Impersonation is asked for with the base credentials; a mistake in it is named.
func TestImpersonation(t *testing.T) {
	t.Parallel()
	id, err := newIdentity(Options{AccessToken: "t", ImpersonateServiceAccount: "deployer@p.iam.gserviceaccount.com"})
	if err != nil {
		t.Fatal(err)
	}
	creds, base, err := id.load()
	if err != nil || creds == base {
		t.Errorf("%v: the base credentials are used", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := id.token(ctx); err == nil {
		t.Error("a token was made of nothing")
	}
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]*Error{
		"read bucket b: The specified bucket does not exist. (HTTP 404, NOT_FOUND)": {Op: "read bucket", Resource: "b", Code: codes.NotFound, HTTP: 404, Message: "The specified bucket does not exist."},
		"read bucket b: teapot (HTTP 418)":                                          {Op: "read bucket", Resource: "b", Code: codes.Code(99), HTTP: 418, Message: "teapot"},
		"create bucket b: connection reset":                                         {Op: "create bucket", Resource: "b", Code: codes.Unavailable, Err: errors.New("connection reset")},
		"create Cloud Run job j: Image not found. (NOT_FOUND)":                      {Op: "create Cloud Run job", Resource: "j", Code: codes.NotFound, HTTP: 404, Operation: true, Message: "Image not found."},
		"create Cloud Run job j: no text given (HTTP 500, INTERNAL)":                {Op: "create Cloud Run job", Resource: "j", Code: codes.Internal, HTTP: 500},
	} {
		if got := e.Error(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	wrapped := fmt.Errorf("around: %w", &Error{Code: codes.NotFound})
	if !IsNotFound(wrapped) || IsNotFound(errors.New("x")) || IsNotFound(nil) || IsAmbiguous(nil) || IsConflict(wrapped) {
		t.Error("the kind of an error is not told")
	}
	if !IsConflict(&Error{Code: codes.FailedPrecondition, HTTP: 412}) || !IsConflict(&Error{Code: codes.Aborted}) || IsConflict(&Error{Code: codes.FailedPrecondition, HTTP: 400}) {
		t.Error("a conflict is not told")
	}
}

func TestEmulatorUID(t *testing.T) {
	t.Parallel()
	for uid, want := range map[string]bool{
		"00e30000-1234-4abc-8def-123456789012": true, "999012345678901234567": true, "999123456789": true,
		"7f1c2f3a-1111-4222-8333-444455556666": false, "112345678901234567890": false, "123456789012": false, "": false, "999": false,
	} {
		if got := EmulatorUID(uid); got != want {
			t.Errorf("EmulatorUID(%q) = %v", uid, got)
		}
	}
}
