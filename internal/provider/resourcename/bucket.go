// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package resourcename

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/lazyregexp"
)

// Bucket is the name of a Cloud Storage bucket. The names of buckets are
// unique in the world, so that Project is empty where nobody named one.
type Bucket struct{ Project, Name string }

// String returns the full name that policies use, projects/_/buckets/NAME.
func (b Bucket) String() string { return "projects/_/buckets/" + b.Name }

// URL returns gs://NAME.
func (b Bucket) URL() string { return "gs://" + b.Name }

const bucketForms = "write NAME, PROJECT/NAME or gs://NAME"

// ParseBucket reads NAME, PROJECT/NAME, gs://NAME or projects/PROJECT/buckets/NAME.
// The error is for users.
func ParseBucket(s string) (Bucket, error) {
	b := Bucket{}
	if rest, ok := strings.CutPrefix(s, "gs://"); ok {
		b.Name = strings.TrimSuffix(rest, "/")
	} else {
		p := strings.Split(s, "/")
		switch {
		case len(p) == 4 && p[0] == "projects" && p[2] == "buckets" && p[1] == "_":
			b.Name = p[3]
		case len(p) == 4 && p[0] == "projects" && p[2] == "buckets":
			b = Bucket{p[1], p[3]}
		case len(p) == 2 && p[0] != "projects":
			b = Bucket{p[0], p[1]}
		case len(p) == 1:
			b.Name = p[0]
		}
	}
	if !bucketShape.MatchString(b.Name) || (b.Project != "" && !projectShape.MatchString(b.Project)) {
		return Bucket{}, fmt.Errorf("%q is not the name of a bucket: %s", Shorten(s), bucketForms)
	}
	return b, nil
}

var (
	bucketShape = lazyregexp.New(`^[a-z0-9][-_.a-z0-9]*[a-z0-9]$`)
	lookAlike   = lazyregexp.New(`g[o0]{2}g[l1i][e3]`)
)

// CheckBucket holds the naming rules for a new bucket (Cloud Storage, "Bucket
// naming guidelines"). The error is for users.
func CheckBucket(s string) error {
	err := bucketRule(s)
	if err == nil {
		return nil
	}
	if rest, ok := strings.CutPrefix(s, "gs://"); ok {
		name, folder, _ := strings.Cut(rest, "/")
		if folder != "" {
			return fmt.Errorf("%q is the address of a folder: write the name of the bucket alone, %q", Shorten(s), name)
		}
		return fmt.Errorf("%q is not the name of a bucket: write it without gs://, %q", Shorten(s), name)
	}
	if strings.Contains(s, "/") {
		return fmt.Errorf("%q is not the name of a bucket: write the bare name, without project or folder", Shorten(s))
	}
	return fmt.Errorf("%q cannot be the name of a bucket: %w", Shorten(s), err)
}

func bucketRule(s string) error {
	switch {
	case len(s) < 3:
		return fmt.Errorf("it has %d characters; write 3 to 63", len(s))
	case len(s) > 63 && !strings.Contains(s, "."):
		return fmt.Errorf("it has %d characters, and 63 is the most; write a shorter one", len(s))
	case len(s) > 222:
		return fmt.Errorf("it has %d characters, and 222 is the most; write a shorter one", len(s))
	case s != strings.ToLower(s):
		return fmt.Errorf("it must be in lower case; write %q", Shorten(strings.ToLower(s)))
	case !bucketShape.MatchString(s):
		return errors.New("use lower-case letters, digits, \"-\", \"_\" and \".\", with a letter or digit at both ends")
	case net.ParseIP(s) != nil:
		return errors.New("it looks like an IP address; choose another")
	case strings.HasPrefix(s, "goog"):
		return errors.New("names that begin with \"goog\" belong to Google; choose another")
	case lookAlike.MatchString(s):
		return errors.New("names with \"google\" in them, or what looks like it, belong to Google; choose another")
	}
	for _, part := range strings.Split(s, ".") {
		if part == "" {
			return errors.New("two dots stand side by side; write one")
		}
		if len(part) > 63 {
			return fmt.Errorf("the part %q has %d characters, and 63 is the most; write a shorter one", Shorten(part), len(part))
		}
	}
	return nil
}
