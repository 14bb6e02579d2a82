// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package resourcename

import (
	"fmt"
	"strings"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/lazyregexp"
)

// A key of Cloud KMS is projects/P/locations/L/keyRings/R/cryptoKeys/K.
var (
	keyShape    = lazyregexp.New(`^projects/[^/\s]+/locations/([a-z0-9-]+)/keyRings/[A-Za-z0-9_-]{1,63}/cryptoKeys/[A-Za-z0-9_-]{1,63}$`)
	keyInText   = lazyregexp.New(`projects/[^/\s]+/locations/[A-Za-z0-9-]+/keyRings/[A-Za-z0-9_-]{1,63}/cryptoKeys/[A-Za-z0-9_-]{1,63}`)
	keyLocation = lazyregexp.New(`/locations/[^/]+/`)
)

// CheckKey says whether s is the full name of a Cloud KMS key. The error is for users.
func CheckKey(s string) error {
	if keyShape.MatchString(s) {
		return nil
	}
	const form = "projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY"
	inner := keyLocation.ReplaceAllStringFunc(keyInText.FindString(s), strings.ToLower)
	switch {
	case inner == "":
		return fmt.Errorf("%.80q is not the full name of a Cloud KMS key: write %s", s, form)
	case strings.Contains(s, inner+"/cryptoKeyVersions/"):
		return fmt.Errorf("%.200q names a version of a key, and the newest one is always used: write the key, %q", s, inner)
	}
	return fmt.Errorf("%.200q is not how a Cloud KMS key is named here: write %q", s, inner)
}

// KeyLocation returns the location of a key, in lower case, or nothing when s is no key.
func KeyLocation(s string) string {
	if m := keyShape.FindStringSubmatch(s); m != nil {
		return m[1]
	}
	return ""
}
