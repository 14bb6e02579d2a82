// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"cloud.google.com/go/iam/admin/apiv1/adminpb"
	"github.com/jonboulle/clockwork"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/faults"
	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

// Accounts is what a policy write asks about its members: the view of the
// service accounts that policies have, which may lag behind their creation.
// An Accounts that has a method Lookup, as the emulator's iam.Service, also
// lets a policy show the grants of a deleted account as `deleted:`.
type Accounts interface {
	// MemberExists is asked for members of the form serviceAccount:EMAIL.
	MemberExists(member string) bool
}

// directory is the optional part of Accounts.
type directory interface {
	Lookup(email string) (*adminpb.ServiceAccount, bool)
}

// Service is Cloud Storage: an http.Handler for the JSON API and for reads by
// the XML API's GET /BUCKET/OBJECT. It is safe for concurrent use.
type Service struct {
	store    *store.Store
	clock    clockwork.Clock
	script   *faults.Script
	accounts Accounts

	rootPath string
	root     *os.Root

	// namesFold is set where the file system holds "A" and "a" for one file.
	namesFold bool

	mu      sync.RWMutex
	buckets map[string]*bucket
	foreign map[string]bool
	denied  map[denial]bool

	ticks   ticks
	uploads uploads
	repeats repeats
}

type denial struct{ bucket, permission string }

// New returns the service with every bucket that the store knows. A nil clock
// is the real one, a nil script has no faults and keeps no record, with nil
// accounts every service account exists.
func New(s *store.Store, clock clockwork.Clock, script *faults.Script, accounts Accounts) (*Service, error) {
	if clock == nil {
		clock = clockwork.NewRealClock()
	}
	if script == nil {
		script = faults.NewScript(clock)
	}
	svc := &Service{
		store: s, clock: clock, script: script, accounts: accounts,
		rootPath: filepath.Join(s.Root(), "storage"),
		buckets:  map[string]*bucket{},
		foreign:  map[string]bool{},
		denied:   map[denial]bool{},
	}
	if err := os.MkdirAll(filepath.Join(svc.rootPath, bucketsFolder), 0o700); err != nil {
		return nil, fmt.Errorf("folder of the objects: %w", err)
	}
	root, err := os.OpenRoot(svc.rootPath)
	if err != nil {
		return nil, fmt.Errorf("folder of the objects: %w", err)
	}
	svc.root = root
	svc.uploads.init()
	svc.repeats.init()
	if svc.namesFold, err = probeFolding(root); err != nil {
		return nil, errors.Join(fmt.Errorf("folder of the objects: %w", err), root.Close())
	}
	if err := svc.load(); err != nil {
		return nil, errors.Join(err, svc.Close())
	}
	return svc, nil
}

// Close lets go of the folders. Calls after it fail.
func (s *Service) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, b := range s.buckets {
		errs = append(errs, b.dir.Close())
	}
	return errors.Join(append(errs, s.root.Close())...)
}

// Owns reports whether a request is one for Cloud Storage. The whole handler
// needs the path as it was sent: a mux that cleans paths in front of it would
// redirect objects whose names hold "//" or "..".
func Owns(r *http.Request) bool {
	path := r.URL.EscapedPath()
	for _, p := range apiPrefixes {
		if path == p || strings.HasPrefix(path, p+"/") {
			return true
		}
	}
	_, _, ok := xmlPath(r)
	return ok
}

// Exists reports whether there is a bucket of the name.
func (s *Service) Exists(bucket string) bool { return s.bucket(bucket) != nil }

// Dir returns the folder of the host that holds a bucket's live objects as
// files. What is written there is an object of the API at once.
func (s *Service) Dir(bucket string) (string, bool) {
	if s.bucket(bucket) == nil {
		return "", false
	}
	return filepath.Join(s.rootPath, bucketsFolder, bucket, liveFolder), true
}

// AddForeign makes the name one of somebody else's: it cannot be created, and
// every call on it is refused as one without permission.
func (s *Service) AddForeign(bucket string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.foreign[bucket] = true
}

// Deny takes a permission from the callers of the API, on one bucket or, with
// an empty name, on all: testPermissions leaves it out and the calls that need
// it are refused.
func (s *Service) Deny(bucket, permission string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied[denial{bucket, permission}] = true
}

// Allow gives back what Deny took, named in the same way.
func (s *Service) Allow(bucket, permission string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.denied, denial{bucket, permission})
}

func (s *Service) isDenied(bucket, permission string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.denied[denial{bucket, permission}] || s.denied[denial{"", permission}]
}

func (s *Service) bucket(name string) *bucket {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.buckets[name]
}
