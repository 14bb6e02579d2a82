// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package store

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
)

// Store maps keys to bytes. Keys are paths of segments parted by "/", by
// custom "<room>/<resource name>". It is safe for concurrent use; the bytes
// that it returns and takes are copies.
type Store struct {
	mu      sync.RWMutex
	records map[string][]byte
	keys    []string // of the records, sorted
	dir     *folder  // nil: memory only

	tempOnce sync.Once
	temp     string // what Root answers for a store in memory
}

// Memory returns a store that forgets everything when it is closed.
func Memory() *Store {
	return &Store{records: map[string][]byte{}}
}

// Folder returns a store that is kept in the folder, which is made when it is
// missing. Everything that an earlier store left there is present again. A
// folder that another running emulator uses is an error.
func Folder(path string) (*Store, error) {
	dir, err := openFolder(path)
	if err != nil {
		return nil, err
	}
	records, err := dir.load()
	if err != nil {
		return nil, errors.Join(err, dir.close())
	}
	return &Store{records: records, keys: slices.Sorted(maps.Keys(records)), dir: dir}, nil
}

// Persistent reports whether the store survives Close.
func (s *Store) Persistent() bool { return s.dir != nil }

// Get returns the value of the key, and whether there is one.
func (s *Store) Get(key string) ([]byte, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	value, ok := s.records[key]
	return slices.Clone(value), ok
}

// Put sets the value of the key. When it returns without error a folder holds
// the value too.
func (s *Store) Put(key string, value []byte) error {
	if err := checkKey(key); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir != nil {
		if err := s.dir.write(key, value); err != nil {
			return fmt.Errorf("keeping %s: %w", key, err)
		}
	}
	if at, there := slices.BinarySearch(s.keys, key); !there {
		s.keys = slices.Insert(s.keys, at, key)
	}
	s.records[key] = append([]byte{}, value...)
	return nil
}

// Delete forgets the key. A missing key is no error.
func (s *Store) Delete(key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.records[key]; !ok {
		return nil
	}
	if s.dir != nil {
		if err := s.dir.remove(key); err != nil {
			return fmt.Errorf("forgetting %s: %w", key, err)
		}
	}
	if at, there := slices.BinarySearch(s.keys, key); there {
		s.keys = slices.Delete(s.keys, at, at+1)
	}
	delete(s.records, key)
	return nil
}

// Keys returns every key that begins with the prefix, sorted.
func (s *Store) Keys(prefix string) []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	from, _ := slices.BinarySearch(s.keys, prefix)
	to := from
	for to < len(s.keys) && strings.HasPrefix(s.keys[to], prefix) {
		to++
	}
	return slices.Clone(s.keys[from:to])
}

// Empty reports whether there is no record.
func (s *Store) Empty() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.records) == 0
}

// Clear forgets everything, what the rooms put below Root included. They must not
// use it any more.
func (s *Store) Clear() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir != nil {
		if err := s.dir.clear(); err != nil {
			return fmt.Errorf("emptying the data folder: %w", err)
		}
	} else if s.temp != "" {
		if err := errors.Join(os.RemoveAll(s.temp), os.Mkdir(s.temp, 0o700)); err != nil {
			return fmt.Errorf("emptying the folder of the objects: %w", err)
		}
	}
	clear(s.records)
	s.keys = nil
	return nil
}

// Root returns a folder of the host for what is too large for a record, such
// as the objects of buckets. It exists. For a store in memory it is a temporary
// folder that Close removes. Each room keeps to a subfolder of its own name.
func (s *Store) Root() string {
	if s.dir != nil {
		return s.dir.data
	}
	s.tempOnce.Do(func() {
		temp, err := os.MkdirTemp("", "resilientjob-emulator-")
		if err != nil {
			// The caller's own write then fails, with this path in its error.
			temp = filepath.Join(os.TempDir(), "resilientjob-emulator-"+uuid.NewString())
		}
		s.temp = temp
	})
	return s.temp
}

// Close lets go of the folder, or removes what a store in memory put on disk.
func (s *Store) Close() error {
	if s.dir != nil {
		return s.dir.close()
	}
	s.tempOnce.Do(func() {}) // no temporary folder from here on
	if s.temp == "" {
		return nil
	}
	return os.RemoveAll(s.temp)
}

// GetProto reads the key into m and reports whether there was one.
func GetProto(s *Store, key string, m proto.Message) (bool, error) {
	value, ok := s.Get(key)
	if !ok {
		return false, nil
	}
	if err := proto.Unmarshal(value, m); err != nil {
		return false, fmt.Errorf("record %s: %w", key, err)
	}
	return true, nil
}

// PutProto sets the key to m.
func PutProto(s *Store, key string, m proto.Message) error {
	value, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return fmt.Errorf("record %s: %w", key, err)
	}
	return s.Put(key, value)
}

func checkKey(key string) error {
	if key == "" || strings.HasPrefix(key, "/") || strings.HasSuffix(key, "/") || strings.Contains(key, "//") {
		return fmt.Errorf("store key %q: want segments parted by single slashes", key)
	}
	return nil
}
