// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator"
)

// callEmulator makes one call by REST that must succeed.
func callEmulator(t testing.TB, e *emulator.Emulator, method, path, body string) string {
	t.Helper()
	code, text := tryEmulator(t, e, method, path, body)
	if code >= http.StatusBadRequest {
		t.Fatalf("%s %s: %d %s", method, path, code, text)
	}
	return text
}

// tryEmulator makes one call by REST.
func tryEmulator(t testing.TB, e *emulator.Emulator, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+e.Addr()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}
