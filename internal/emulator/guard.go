// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package emulator

import (
	"mime"
	"net"
	"net/http"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// inventedDomain ends the hosts under which gcloud may reach the emulator as its
// proxy, such as us-central1-run.resilientjob.invalid: its job commands put the
// region in front of the endpoint's host. Nobody can own a name below .invalid,
// so that no web page is served from one.
const inventedDomain = ".resilientjob.invalid"

// guard refuses what a web page in a browser on this machine could send: the
// emulator starts processes for its callers. There is no CORS: an answer never
// allows another origin to read it.
func guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if st := inspect(r); st != nil {
			writeError(w, st)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func inspect(r *http.Request) *status.Status {
	if !localHost(r.Host) {
		return status.Newf(codes.PermissionDenied, "The emulator does not answer to the host %q: address it by a loopback address such as 127.0.0.1 or localhost.", r.Host)
	}
	if _, sent := r.Header["Origin"]; sent {
		return status.New(codes.PermissionDenied, "The emulator does not answer to web pages: the request has an Origin header.")
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "none" {
		return status.Newf(codes.PermissionDenied, "The emulator does not answer to web pages: the request has the header Sec-Fetch-Site: %s.", site)
	}
	if r.Header.Get("Referer") != "" {
		return status.New(codes.PermissionDenied, "The emulator does not answer to web pages: the request has a Referer header.")
	}
	// Some browsers send no Sec-Fetch-Site to an address like this one, and no Origin with a GET.
	if r.Header.Get("Sec-Fetch-Site") == "" && browser(r.UserAgent()) {
		return status.New(codes.PermissionDenied, "The emulator does not answer to web pages: the request comes from a browser.")
	}
	if r.Method == http.MethodOptions || r.Method == http.MethodConnect || r.Method == http.MethodTrace {
		return status.Newf(codes.PermissionDenied, "The emulator does not answer to the HTTP method %s.", r.Method)
	}
	if r.ContentLength != 0 && !allowedBody(r) {
		return status.Newf(codes.InvalidArgument, "The emulator does not take a body of the content type %q here: send application/json, or a gRPC call.", r.Header.Get("Content-Type"))
	}
	return nil
}

// browser reports whether a program names itself as browsers do. PowerShell does,
// too, and is none.
func browser(agent string) bool {
	return strings.HasPrefix(agent, "Mozilla/") && !strings.Contains(agent, "PowerShell")
}

// localHost reports whether the Host header, or the host of an absolute URL,
// names this machine. A name that an attacker owns may resolve to a loopback
// address; the header then still holds that name.
func localHost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if host == "localhost" || strings.HasSuffix(host, inventedDomain) {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// allowedBody reports whether the body is JSON, gRPC, or an upload on a path of
// uploads. What a form or a script without leave can send (urlencoded,
// multipart/form-data, text/plain, no type) is none of these.
func allowedBody(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil && strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/related") {
		kind = "multipart/related" // gcloud quotes the boundary in a way of its own
	}
	switch {
	case kind == "application/json", isGRPC(r):
		return true
	case kind == "application/x-www-form-urlencoded", kind == "multipart/form-data":
		return false
	case strings.HasPrefix(r.URL.Path, "/batch"):
		return kind == "multipart/mixed"
	}
	for _, prefix := range []string{"/upload/", "/resumable/upload/"} {
		if strings.HasPrefix(r.URL.Path, prefix) {
			return true
		}
	}
	return false
}

// isGRPC reports whether the request is a native gRPC call.
func isGRPC(r *http.Request) bool {
	kind := r.Header.Get("Content-Type")
	return kind == "application/grpc" || strings.HasPrefix(kind, "application/grpc+") || strings.HasPrefix(kind, "application/grpc;")
}
