// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package emulator_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
)

func TestGuard(t *testing.T) {
	t.Parallel()
	e := start(t)
	const job = "/v2/" + parent + "/jobs"
	const json = "application/json"
	for name, c := range map[string]struct {
		method, path, body string
		header             []string
		refused            int // 0: the request gets through
	}{
		"by address":            {"GET", job, "", nil, 0},
		"localhost":             {"GET", job, "", []string{"Host", "localhost:8085"}, 0},
		"LOCALHOST.":            {"GET", job, "", []string{"Host", "LOCALHOST."}, 0},
		"IPv6":                  {"GET", job, "", []string{"Host", "[::1]:8085"}, 0},
		"another loopback":      {"GET", job, "", []string{"Host", "127.8.9.1"}, 0},
		"a host for gcloud":     {"GET", job, "", []string{"Host", "us-central1-run.resilientjob.invalid"}, 0},
		"a name that resolves":  {"GET", job, "", []string{"Host", "attacker.example:8085"}, 403},
		"looks like loopback":   {"GET", job, "", []string{"Host", "127.0.0.1.attacker.example"}, 403},
		"looks like localhost":  {"GET", job, "", []string{"Host", "localhost.attacker.example"}, 403},
		"below localhost":       {"GET", job, "", []string{"Host", "attacker.localhost"}, 403},
		"looks like gcloud":     {"GET", job, "", []string{"Host", "xresilientjob.invalid"}, 403},
		"another machine":       {"GET", job, "", []string{"Host", "192.168.0.10:8085"}, 403},
		"all addresses":         {"GET", job, "", []string{"Host", "0.0.0.0:8085"}, 403},
		"health needs the host": {"GET", "/healthz", "", []string{"Host", "attacker.example"}, 403},
		"a page":                {"GET", job, "", []string{"Origin", "https://attacker.example"}, 403},
		"a page without origin": {"GET", job, "", []string{"Origin", "null"}, 403},
		"a page of this host":   {"GET", job, "", []string{"Origin", "http://" + e.Addr()}, 403},
		"cross-site":            {"GET", job, "", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		"same-site":             {"GET", job, "", []string{"Sec-Fetch-Site", "same-site"}, 403},
		"same-origin":           {"GET", job, "", []string{"Sec-Fetch-Site", "same-origin"}, 403},
		"typed into a browser":  {"GET", "/healthz", "", []string{"Sec-Fetch-Site", "none"}, 0},
		"preflight":             {"OPTIONS", job, "", []string{"Access-Control-Request-Method", "POST"}, 403},
		"tunnel":                {"TRACE", job, "", nil, 403},
		"a form":                {"POST", job + "?jobId=x", minimal, []string{"Content-Type", "application/x-www-form-urlencoded"}, 400},
		"a form with a file":    {"POST", job + "?jobId=x", minimal, []string{"Content-Type", "multipart/form-data; boundary=x"}, 400},
		"a script without leave": {
			"POST", job + "?jobId=x", minimal, []string{"Content-Type", "text/plain"}, 400},
		"no type":                  {"POST", job + "?jobId=x", minimal, []string{"Content-Type", ""}, 400},
		"JSON":                     {"POST", job + "?jobId=a", minimal, []string{"Content-Type", json}, 0},
		"JSON, charset":            {"POST", job + "?jobId=b", minimal, []string{"Content-Type", json + "; charset=UTF-8"}, 0},
		"no body":                  {"POST", job + "/a:run", "", nil, 0},
		"an upload":                {"POST", "/upload/storage/v1/b/none/o?uploadType=media&name=x", "data", []string{"Content-Type", "application/octet-stream"}, 404},
		"an upload of text":        {"POST", "/upload/storage/v1/b/none/o?uploadType=media&name=x", "data", []string{"Content-Type", "text/plain"}, 404},
		"an upload, gcloud's way":  {"POST", "/upload/storage/v1/b/none/o?uploadType=multipart", "--='=\r\n", []string{"Content-Type", "multipart/related; boundary='=='=="}, 0},
		"an upload by a form":      {"POST", "/upload/storage/v1/b/none/o?uploadType=media&name=x", "data", []string{"Content-Type", "application/x-www-form-urlencoded"}, 400},
		"text where there is none": {"POST", "/storage/v1/b?project=p", "{}", []string{"Content-Type", "text/plain"}, 400},
	} {
		got := rest(t, e, c.method, c.path, c.body, c.header...)
		refusal := strings.Contains(got.text, "The emulator does not")
		if c.refused == http.StatusNotFound { // got through, and nothing is there
			if refusal || got.code != c.refused {
				t.Errorf("%s: %d %s", name, got.code, got.text)
			}
			continue
		}
		if refusal != (c.refused != 0) || refusal && got.code != c.refused {
			t.Errorf("%s: %d %s; want the refusal %d", name, got.code, got.text, c.refused)
		}
		for header := range got.header {
			if strings.HasPrefix(header, "Access-Control-") {
				t.Errorf("%s: the answer has %s", name, header)
			}
		}
	}
	// What the guard refused has left no trace.
	for _, c := range e.Faults().Calls() {
		if strings.HasSuffix(c.Resource, "/jobs/x") {
			t.Errorf("a refused request was recorded: %+v", c)
		}
	}
}

// gcloud reaches the emulator as its HTTP proxy, by hosts that do not exist.
func TestAsProxy(t *testing.T) {
	t.Parallel()
	e := start(t)
	must(t, e, "POST", "/v2/"+parent+"/jobs?jobId=train", minimal)
	proxy := &url.URL{Scheme: "http", Host: e.Addr()}
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy), DisableKeepAlives: true}}
	for target, want := range map[string]int{
		"http://us-central1-run.resilientjob.invalid/v2/" + parent + "/jobs/train": http.StatusOK,
		"http://example.com/v2/" + parent + "/jobs/train":                          http.StatusForbidden,
	} {
		resp, err := client.Get(target)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", target, resp.StatusCode, want)
		}
	}
	// It is no proxy to anywhere else.
	conn, err := net.Dial("tcp", e.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	fmt.Fprint(conn, "CONNECT us-central1-run.resilientjob.invalid:443 HTTP/1.1\r\nHost: us-central1-run.resilientjob.invalid\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("CONNECT: %d", resp.StatusCode)
	}
}

func TestListensOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"0.0.0.0:0":          "loopback address only",
		":0":                 "loopback address only",
		"192.168.0.10:0":     "loopback address only",
		"example.com:0":      "loopback address only",
		"8085":               "want HOST:PORT",
		"127.0.0.1:99999999": "cannot listen on 127.0.0.1:99999999",
	} {
		e, err := emulator.Start(emulator.Options{Listen: address})
		if err == nil {
			_ = e.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
}
