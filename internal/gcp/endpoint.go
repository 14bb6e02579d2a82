// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"fmt"
	"net"
	"net/url"
	"strings"
)

// Endpoints are the base addresses of the APIs, each an https:// URL, or an http:// URL of this machine. An empty one is Google's own.
type Endpoints struct {
	Run           string
	IAM           string
	Storage       string
	SecretManager string
	Logging       string
}

// endpoint is where one API is reached.
type endpoint struct {
	base  *url.URL
	plain bool // http without TLS: no token is ever sent there
}

// target is the host and port for gRPC.
func (e endpoint) target() string {
	if e.base.Port() != "" {
		return e.base.Host
	}
	if e.plain {
		return net.JoinHostPort(e.base.Hostname(), "80")
	}
	return net.JoinHostPort(e.base.Hostname(), "443")
}

// parseEndpoint reads the address of one API. An http:// address of another machine is refused: a token would travel there in the clear.
func parseEndpoint(api, raw, google string) (endpoint, error) {
	if raw == "" {
		raw = google
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Opaque != "" {
		return endpoint{}, fmt.Errorf("the %s endpoint %q is not a URL: write it with its scheme, as https://host or http://127.0.0.1:8085", api, raw)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return endpoint{}, fmt.Errorf("the %s endpoint %q must be a plain address: no user, query or fragment", api, u.Redacted())
	}
	switch u.Scheme {
	case "https":
		return endpoint{base: u}, nil
	case "http":
		if !loopback(u.Hostname()) {
			return endpoint{}, fmt.Errorf("the %s endpoint %q is plain http on another machine, so an access token would travel unprotected: use https://, or an address of this machine (localhost, 127.0.0.1)", api, raw)
		}
		return endpoint{base: u, plain: true}, nil
	default:
		return endpoint{}, fmt.Errorf("the %s endpoint %q has the scheme %q: use https://, or http:// for an address of this machine", api, raw, u.Scheme)
	}
}

// emulatorEndpoint is the one port on which the emulator serves every API. No credentials go there, so it may be another machine.
func emulatorEndpoint(host string) (endpoint, error) {
	h, port, err := net.SplitHostPort(host)
	if err != nil || h == "" || port == "" || strings.ContainsAny(host, "/@ ") {
		return endpoint{}, fmt.Errorf("the emulator host %q must be host:port, as 127.0.0.1:8085", host)
	}
	return endpoint{base: &url.URL{Scheme: "http", Host: host}, plain: true}, nil
}

// grpcEndpoint refuses a path: gRPC has none. The version that REST endpoints end in is let through.
func grpcEndpoint(api, raw, google string) (endpoint, error) {
	e, err := parseEndpoint(api, raw, google)
	if err != nil {
		return endpoint{}, err
	}
	switch strings.Trim(e.base.Path, "/") {
	case "", "v1", "v2":
		return e, nil
	}
	return endpoint{}, fmt.Errorf("the %s endpoint %q has a path, but this API is called over gRPC, which has none: write the host only", api, raw)
}

func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
