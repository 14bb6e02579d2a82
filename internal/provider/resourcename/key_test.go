// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package resourcename

import (
	"strings"
	"testing"
)

func TestCheckKey(t *testing.T) {
	t.Parallel()
	const key = "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k"
	for s, says := range map[string]string{
		key: "",
		"projects/example.com:web/locations/global/keyRings/R_1/cryptoKeys/K-2": "",
		key + "/cryptoKeyVersions/1":             `write the key, "` + key + `"`,
		"//cloudkms.googleapis.com/" + key:       `write "` + key + `"`,
		"https://cloudkms.example.com/v1/" + key: `write "` + key + `"`,
		strings.Replace(key, "us-c", "US-C", 1):  `write "` + key + `"`,
		" " + key:                                `write "` + key + `"`,
		"k":                                      "write projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY",
		"":                                       "write projects/PROJECT/",
		"projects/p/locations/us/keyRings/r":     "write projects/PROJECT/",
		strings.Repeat("x", 5000):                "is not the full name",
	} {
		err := CheckKey(s)
		if (err == nil) != (says == "") || err != nil && (!strings.Contains(err.Error(), says) || len(err.Error()) > 500) {
			t.Errorf("%.100q: %v, want %q", s, err, says)
		}
	}
	if got := KeyLocation(key); got != "us-central1" {
		t.Errorf("location %q", got)
	}
	if got := KeyLocation("k"); got != "" {
		t.Errorf("location %q", got)
	}
}
