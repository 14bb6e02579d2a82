// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/auth/credentials"
	"cloud.google.com/go/auth/credentials/impersonate"
	"golang.org/x/oauth2"
)

const cloudPlatform = "https://www.googleapis.com/auth/cloud-platform"

// identity gives out tokens. Credentials that the configuration names are read at once, so that a mistake in them is an error of the
// configuration; Application Default Credentials are looked for at the first call, because that may ask the network.
type identity struct {
	explicit    func() (*auth.Credentials, error) // nil: Application Default Credentials
	impersonate string

	mu    sync.Mutex
	creds *auth.Credentials // what is called with
	base  *auth.Credentials // what it was made from; its quota project counts
}

func newIdentity(o Options) (*identity, error) {
	id := &identity{impersonate: o.ImpersonateServiceAccount}
	switch {
	case o.TokenSource != nil:
		id.explicit = func() (*auth.Credentials, error) {
			return auth.NewCredentials(&auth.CredentialsOptions{TokenProvider: fromSource{o.TokenSource}}), nil
		}
	case o.AccessToken != "":
		id.explicit = func() (*auth.Credentials, error) {
			return auth.NewCredentials(&auth.CredentialsOptions{TokenProvider: fixedToken(o.AccessToken)}), nil
		}
	case len(o.CredentialsJSON) > 0:
		creds, err := credentialsFromJSON(o.CredentialsJSON)
		if err != nil {
			return nil, err
		}
		id.explicit = func() (*auth.Credentials, error) { return creds, nil }
	case o.CredentialsFile != "":
		text, err := os.ReadFile(o.CredentialsFile)
		if err != nil {
			return nil, fmt.Errorf("the credentials file cannot be read: %w", err)
		}
		creds, err := credentialsFromJSON(text)
		if err != nil {
			return nil, fmt.Errorf("credentials file %s: %w", o.CredentialsFile, err)
		}
		id.explicit = func() (*auth.Credentials, error) { return creds, nil }
	}
	return id, nil
}

// credentialsFromJSON reads a credentials file. Its text is a secret and stands in no error.
func credentialsFromJSON(text []byte) (*auth.Credentials, error) {
	var file struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, errors.New("the credentials are not valid JSON: give a credentials file of Google Cloud, its path or its content")
	}
	if file.Type == "" {
		return nil, errors.New("the credentials have no \"type\": give a credentials file of Google Cloud (service_account, authorized_user, external_account)")
	}
	creds, err := credentials.NewCredentialsFromJSON(credentials.CredType(file.Type), text, &credentials.DetectOptions{Scopes: []string{cloudPlatform}})
	if err != nil {
		return nil, fmt.Errorf("the credentials of type %q cannot be used: %w", file.Type, err)
	}
	return creds, nil
}

// load returns the credentials, found or made at the first call. A failure is not kept: the user may log in meanwhile.
func (id *identity) load() (creds, base *auth.Credentials, err error) {
	id.mu.Lock()
	defer id.mu.Unlock()
	if id.creds != nil {
		return id.creds, id.base, nil
	}
	if id.explicit != nil {
		base, err = id.explicit()
	} else {
		base, err = credentials.DetectDefault(&credentials.DetectOptions{Scopes: []string{cloudPlatform}})
		if err != nil {
			err = fmt.Errorf("no Google credentials were found: set credentials or access_token in the provider's configuration, or run "+
				"gcloud auth application-default login: %w", err)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	creds = base
	if id.impersonate != "" {
		creds, err = impersonate.NewCredentials(&impersonate.CredentialsOptions{
			TargetPrincipal: id.impersonate, Scopes: []string{cloudPlatform}, Credentials: base,
		})
		if err != nil {
			return nil, nil, fmt.Errorf("the service account %s cannot be impersonated: %w", id.impersonate, err)
		}
	}
	id.creds, id.base = creds, base
	return creds, base, nil
}

func (id *identity) token(ctx context.Context) (string, error) {
	creds, _, err := id.load()
	if err != nil {
		return "", err
	}
	t, err := creds.Token(ctx)
	if err != nil {
		return "", err
	}
	return t.Value, nil
}

// quotaProject is the project that the credentials themselves name for quota and billing, "" for none.
func (id *identity) quotaProject(ctx context.Context) string {
	_, base, err := id.load()
	if err != nil {
		return ""
	}
	p, err := base.QuotaProjectID(ctx)
	if err != nil {
		return ""
	}
	return p
}

// perRPC carries the token of gRPC calls; gRPC itself refuses it on a connection without TLS.
type perRPC struct{ id *identity }

func (p perRPC) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	t, err := p.id.token(ctx)
	if err != nil {
		return nil, err
	}
	return map[string]string{"authorization": "Bearer " + t}, nil
}

func (perRPC) RequireTransportSecurity() bool { return true }

// bearer adds the token to requests for one host over TLS, and to no others: a redirect elsewhere must not take it along.
type bearer struct {
	id   *identity
	host string
	next http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" || r.URL.Host != b.host {
		return b.next.RoundTrip(r)
	}
	t, err := b.id.token(r.Context())
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+t)
	return b.next.RoundTrip(r)
}

type fixedToken string

func (t fixedToken) Token(context.Context) (*auth.Token, error) {
	return &auth.Token{Value: string(t), Type: "Bearer"}, nil
}

type fromSource struct{ source oauth2.TokenSource }

func (s fromSource) Token(context.Context) (*auth.Token, error) {
	t, err := s.source.Token()
	if err != nil {
		return nil, err
	}
	return &auth.Token{Value: t.AccessToken, Type: t.TokenType, Expiry: t.Expiry}, nil
}
