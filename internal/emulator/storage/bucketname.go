// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import (
	"net/netip"
	"regexp"
	"strings"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

var (
	bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*[a-z0-9]$`)
	// bucketRegion takes every region by the rule that their names follow, so
	// that a new one is no surprise and a typing error is one.
	bucketRegion = regexp.MustCompile(`^(US|EUROPE|ASIA|AUSTRALIA|NORTHAMERICA|SOUTHAMERICA|ME|AFRICA)-(NORTH|SOUTH|CENTRAL)?(EAST|WEST)?[0-9]{1,2}$`)
	numberAlone  = regexp.MustCompile(`-[0-9]`)
	multiRegions = map[string]string{
		"US": "multi-region", "EU": "multi-region", "ASIA": "multi-region",
		"NAM4": "dual-region", "EUR4": "dual-region", "EUR5": "dual-region", "EUR7": "dual-region", "EUR8": "dual-region", "ASIA1": "dual-region",
	}
)

// bucketNameProblem holds a name to the naming rules. Names with dots pass:
// whether somebody may have one is another question.
func bucketNameProblem(name string) error {
	bad := invalid("Invalid bucket name: '%s'", name)
	if len(name) < 3 || len(name) > 222 || !bucketName.MatchString(name) {
		return bad
	}
	if !strings.Contains(name, ".") && len(name) > 63 {
		return bad
	}
	for part := range strings.SplitSeq(name, ".") {
		if part == "" || len(part) > 63 || strings.HasPrefix(part, "-") || strings.HasSuffix(part, "-") {
			return bad
		}
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return bad
	}
	if strings.HasPrefix(name, "goog") || strings.Contains(name, "google") || strings.Contains(name, "g00gle") {
		return bad
	}
	return nil
}

// locationType returns the kind of a location in upper case, empty when there
// is no such location.
func locationType(location string, placement map[string]any) string {
	zones := asList(placement["dataLocations"])
	switch {
	case len(zones) == 2 && multiRegions[location] == "multi-region":
		return "dual-region"
	case len(zones) == 1 && bucketRegion.MatchString(location):
		return "zone"
	case len(zones) > 0:
		return ""
	case multiRegions[location] != "":
		return multiRegions[location]
	case bucketRegion.MatchString(location) && !numberAlone.MatchString(location):
		return "region"
	}
	return ""
}

func projectNumber(project string) string {
	if project != "" && strings.Trim(project, "0123456789") == "" {
		return project
	}
	return store.ProjectNumber(project)
}
