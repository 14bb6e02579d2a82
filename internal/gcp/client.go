// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"context"
	"errors"
	"time"

	"github.com/jonboulle/clockwork"
	"golang.org/x/oauth2"
)

// Endpoints are the base addresses of the APIs; an empty one is Google's own.
type Endpoints struct{ Run, IAM, Storage, SecretManager, Logging string }

// Options configure a [Client].
type Options struct {
	CredentialsJSON           []byte
	CredentialsFile           string
	AccessToken               string
	TokenSource               oauth2.TokenSource
	ImpersonateServiceAccount string
	BillingProject            string
	UserProjectOverride       bool
	UserAgent                 string
	RequestTimeout            time.Duration
	Endpoints                 Endpoints
	EmulatorHost              string
	Clock                     clockwork.Clock
}

// Client calls Google Cloud. It is safe for concurrent use.
type Client struct{ emulator bool }

// New makes a client. It does no input or output.
func New(ctx context.Context, o Options) (*Client, error) { return nil, errors.ErrUnsupported }

// Close closes the connections.
func (c *Client) Close() error { return nil }

// Emulator reports whether the client talks to the emulator.
func (c *Client) Emulator() bool { return c.emulator }
