// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package googlestate

import (
	"fmt"
	"strings"
)

// The source types that can be read.
const (
	JobType    = "google_cloud_run_v2_job"
	BucketType = "google_storage_bucket"
)

// newest are the newest schema versions that are known.
var newest = map[string]int64{JobType: 0, BucketType: 4}

// instead is what can be done with a resource that cannot be moved.
const instead = "Import it instead: take the old resource out of the state with a removed block that has lifecycle { destroy = false }, and write an import block for the new one."

// Problem is something that keeps a state from being read. Text is for users, a sentence without a capital at its begin and without a full stop.
type Problem struct {
	// Attribute is the path in the source, as HCL writes it; empty for the state as a whole.
	Attribute string
	Text      string
}

// String is the problem as a sentence.
func (p Problem) String() string {
	if p.Attribute == "" {
		return strings.ToUpper(p.Text[:1]) + p.Text[1:] + "."
	}
	return p.Attribute + " " + p.Text + "."
}

// CheckSource tells whether a resource is one that can be read: of the wanted type, of Google's provider (its beta too, from any registry),
// with a schema version that is known. The error is for users.
func CheckSource(wanted, typeName, providerAddress string, version int64) error {
	switch {
	case typeName != wanted:
		return fmt.Errorf("only a %s can be moved to this type, and this is a %s. %s", wanted, typeName, instead)
	case !ofGoogle(providerAddress):
		return fmt.Errorf("only a %s of hashicorp/google or hashicorp/google-beta can be moved, and this one belongs to the provider %s. %s", wanted, providerAddress, instead)
	case version > newest[wanted]:
		return fmt.Errorf("the state of the %s has schema version %d, and this version of the provider knows those up to %d. Use a newer version of the provider. Or else: %s",
			wanted, version, newest[wanted], instead)
	case version < 0:
		return fmt.Errorf("the state of the %s has schema version %d, which is none. %s", wanted, version, instead)
	}
	return nil
}

// ofGoogle tells whether an address HOST/NAMESPACE/TYPE is that of Google's provider. OpenTofu before 1.11.12 and 1.12.4 gives no address
// but what the type's name begins with: the type is all there is to go by then.
func ofGoogle(address string) bool {
	if address == "google" {
		return true
	}
	p := strings.Split(address, "/")
	if len(p) < 2 {
		return false
	}
	namespace, name := p[len(p)-2], p[len(p)-1]
	return namespace == "hashicorp" && (name == "google" || name == "google-beta")
}
