// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package emulator_test

import (
	"strings"
	"testing"
)

// What the three browsers send with every request, and with its kinds, from a
// page of another origin to an address of this machine.
const (
	chrome  = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"
	firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0"
	safari  = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15"
	page    = "https://attacker.example"
)

type browserRequest struct {
	name, method, body string
	header             []string
}

// fetchMetadata is what Chrome and Firefox say of where a request comes from.
func fetchMetadata(mode, dest string) []string {
	return []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", mode, "Sec-Fetch-Dest", dest}
}

// browserRequests are the ways in which a page can send one. Safari sends no
// metadata to an address without TLS, and no Origin with a plain GET; the
// Referer is what a page can switch off.
func browserRequests(agent string) []browserRequest {
	accept := map[string][]string{
		chrome:  {"User-Agent", chrome, "Accept-Language", "en-US,en;q=0.9", "Accept-Encoding", "gzip, deflate, br, zstd", "sec-ch-ua", `"Chromium";v="142", "Not_A Brand";v="99"`, "sec-ch-ua-mobile", "?0", "sec-ch-ua-platform", `"Linux"`},
		firefox: {"User-Agent", firefox, "Accept-Language", "en-US,en;q=0.5", "Accept-Encoding", "gzip, deflate, br, zstd", "DNT", "1", "Sec-GPC", "1", "Priority", "u=4"},
		safari:  {"User-Agent", safari, "Accept-Language", "en-GB,en;q=0.9", "Accept-Encoding", "gzip, deflate"},
	}[agent]
	with := func(more ...[]string) []string {
		all := append([]string{}, accept...)
		for _, m := range more {
			all = append(all, m...)
		}
		return all
	}
	metadata := func(mode, dest string) []string {
		if agent == safari {
			return nil
		}
		return fetchMetadata(mode, dest)
	}
	origin, referer := []string{"Origin", page}, []string{"Referer", page + "/"}
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	return []browserRequest{
		{"fetch GET", "GET", "", with(origin, referer, metadata("cors", "empty"))},
		{"fetch GET, no-cors", "GET", "", with(metadata("no-cors", "empty"))},
		{"fetch POST of JSON after its preflight", "POST", minimal, with(origin, metadata("cors", "empty"), []string{"Content-Type", "application/json"})},
		{"fetch POST, no-cors", "POST", minimal, with(origin, metadata("no-cors", "empty"), []string{"Content-Type", "text/plain;charset=UTF-8"})},
		{"fetch POST, no-cors, no body", "POST", "", with(origin, metadata("no-cors", "empty"))},
		{"fetch POST of a sandboxed frame", "POST", minimal, with([]string{"Origin", "null"}, metadata("no-cors", "empty"), []string{"Content-Type", "text/plain;charset=UTF-8"})},
		{"beacon", "POST", minimal, with(origin, metadata("no-cors", "empty"), []string{"Content-Type", "text/plain;charset=UTF-8"})},
		{"form", "POST", "jobId=x", with(origin, metadata("navigate", "document"), form)},
		{"form that hides where it comes from", "POST", "jobId=x", with([]string{"Origin", "null"}, metadata("navigate", "document"), form)},
		{"form with a file", "POST", minimal, with(origin, metadata("navigate", "document"), []string{"Content-Type", "multipart/form-data; boundary=----x"})},
		{"image", "GET", "", with(referer, metadata("no-cors", "image"))},
		{"image without a referrer", "GET", "", with(metadata("no-cors", "image"))},
		{"script", "GET", "", with(metadata("no-cors", "script"))},
		{"link", "GET", "", with(metadata("navigate", "document"), []string{"Upgrade-Insecure-Requests", "1"})},
		{"frame", "GET", "", with(metadata("navigate", "iframe"), []string{"Upgrade-Insecure-Requests", "1"})},
		{"preflight", "OPTIONS", "", with(origin, metadata("cors", "empty"), []string{"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type", "Access-Control-Request-Private-Network", "true"})},
		{"WebSocket", "GET", "", with(origin, metadata("websocket", "empty"), []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="})},
		// The page's own name resolves to this machine: to the browser it is one origin.
		{"rebound name, GET", "GET", "", with([]string{"Host", "attacker.example:8085", "Sec-Fetch-Site", "same-origin"})},
		{"rebound name, GET without metadata", "GET", "", with([]string{"Host", "attacker.example:8085"})},
		{"rebound name, POST", "POST", minimal, with([]string{"Host", "attacker.example:8085", "Origin", "http://attacker.example:8085", "Content-Type", "application/json"})},
	}
}

// A page that a browser on this machine shows gets nothing, and does nothing.
func TestBrowsersAreRefused(t *testing.T) {
	t.Parallel()
	e := start(t)
	must(t, e, "POST", "/v2/"+parent+"/jobs?jobId=train", minimal)
	before := len(e.Faults().Calls())
	for _, agent := range []string{chrome, firefox, safari} {
		for _, r := range browserRequests(agent) {
			for _, path := range []string{"/v2/" + parent + "/jobs?jobId=x", "/v2/" + parent + "/jobs/train:run", "/storage/v1/b?project=p", "/upload/storage/v1/b/b/o?uploadType=media&name=x"} {
				got := rest(t, e, r.method, path, r.body, r.header...)
				if got.code != 403 && got.code != 400 || !strings.Contains(got.text, "The emulator does not") {
					t.Errorf("%s of %.60s to %s: %d %s", r.name, agent, path, got.code, got.text)
				}
				for name := range got.header {
					if strings.HasPrefix(name, "Access-Control-") {
						t.Errorf("%s: the answer has %s", r.name, name)
					}
				}
			}
		}
	}
	if after := e.Faults().Calls(); len(after) != before {
		t.Errorf("refused requests had an effect: %v", after[before:])
	}
}

// The programs that the emulator is for get through.
func TestToolsGetThrough(t *testing.T) {
	t.Parallel()
	e := start(t)
	for name, header := range map[string][]string{
		"curl":                {"User-Agent", "curl/8.17.0", "Accept", "*/*"},
		"Terraform":           {"User-Agent", "Terraform/1.11.4 (+https://www.terraform.io) terraform-provider-resilientjob/1.0.0", "X-Goog-Api-Client", "gl-go/1.26.0 gccl/1.0", "Accept-Encoding", "gzip"},
		"gcloud":              {"User-Agent", "google-cloud-sdk gcloud/548.0.0 command/gcloud.run.jobs.list invocation-id/1 environment/None (Linux 6.6)", "X-Goog-Api-Client", "cred-type/u", "Accept", "application/json", "Accept-Encoding", "gzip, deflate", "Connection", "keep-alive"},
		"gcloud as its proxy": {"User-Agent", "google-cloud-sdk gcloud/548.0.0", "Host", "us-central1-run.resilientjob.invalid"},
		"node, gaxios":        {"User-Agent", "google-api-nodejs-client/10.2.0", "X-Goog-Api-Client", "gl-node/22.20.0", "Accept", "application/json"},
		"node, fetch":         {"User-Agent", "node", "Accept", "*/*", "Accept-Language", "*", "Sec-Fetch-Mode", "cors", "Accept-Encoding", "gzip, deflate"},
		"python":              {"User-Agent", "python-requests/2.32.5", "Accept-Encoding", "gzip, deflate", "Accept", "*/*", "Connection", "keep-alive"},
		"PowerShell":          {"User-Agent", "Mozilla/5.0 (Windows NT 10.0; Microsoft Windows 10.0.26100; en-US) PowerShell/7.5.4"},
		"no name":             {"User-Agent", ""},
		"typed in Chrome":     {"User-Agent", chrome, "Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-User", "?1", "Sec-Fetch-Dest", "document"},
	} {
		if got := rest(t, e, "GET", "/v2/"+parent+"/jobs", "", header...); got.code != 200 {
			t.Errorf("%s: %d %s", name, got.code, got.text)
		}
		if name == "typed in Chrome" {
			continue
		}
		id := strings.NewReplacer(" ", "-", ",", "").Replace(strings.ToLower(name))
		if got := rest(t, e, "POST", "/v2/"+parent+"/jobs?jobId="+id, minimal, append(header, "Content-Type", "application/json")...); got.code != 200 {
			t.Errorf("%s creates: %d %s", name, got.code, got.text)
		}
	}
}
