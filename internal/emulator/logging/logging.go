// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package logging

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"cloud.google.com/go/logging/apiv2/loggingpb"
	"github.com/google/uuid"
	"github.com/jonboulle/clockwork"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/resilientjob/terraform-provider-resilientjob/internal/emulator/store"
)

// keep is how many entries stay; older ones go, as they do after the retention
// time of a real log.
const keep = 100_000

// Service implements loggingpb.LoggingServiceV2Server. It is safe for concurrent
// use.
type Service struct {
	loggingpb.UnimplementedLoggingServiceV2Server

	clock clockwork.Clock

	mu      sync.Mutex
	file    *file // nil: memory only
	records []*record
	known   map[identity]bool
	seq     int
}

// record is an entry with its place: entries of one time stay in the order in
// which they came. They are never changed once they are here.
type record struct {
	entry *loggingpb.LogEntry
	seq   int
	view  func() map[string]any // the entry as JSON values, made when first asked
}

// identity is what makes two entries one and the same to the real service.
type identity struct {
	log, insertID string
	nanos         int64
}

// New returns a service with the entries that the store's folder keeps; a nil
// clock is the real one.
func New(s *store.Store, clock clockwork.Clock) (*Service, error) {
	if clock == nil {
		clock = clockwork.NewRealClock()
	}
	l := &Service{clock: clock, known: map[identity]bool{}}
	if !s.Persistent() {
		return l, nil
	}
	f, entries, err := openFile(s.Root())
	if err != nil {
		return nil, fmt.Errorf("log entries: %w", err)
	}
	for _, e := range entries {
		l.insert(e)
	}
	l.file = f
	if len(entries) > keep {
		if err := l.rewrite(); err != nil {
			return nil, fmt.Errorf("log entries: %w", err)
		}
	}
	return l, nil
}

// Close lets go of the file.
func (s *Service) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	return s.file.close()
}

// Append adds entries. One without a time or an insert id gets them; one that is
// there already, by log, time and insert id, is dropped. Entries that the folder
// does not take are still held in memory.
func (s *Service) Append(entries ...*loggingpb.LogEntry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.add(entries)
}

// add copies the entries in; s.mu is held.
func (s *Service) add(entries []*loggingpb.LogEntry) error {
	now := timestamppb.New(s.clock.Now())
	fresh := make([]*loggingpb.LogEntry, 0, len(entries))
	for _, e := range entries {
		e, ok := proto.Clone(e).(*loggingpb.LogEntry)
		if !ok {
			continue
		}
		if e.GetTimestamp() == nil {
			e.Timestamp = now
		}
		if e.GetInsertId() == "" {
			e.InsertId = strings.ReplaceAll(uuid.NewString(), "-", "")[:17]
		}
		e.ReceiveTimestamp = now
		if s.insert(e) {
			fresh = append(fresh, e)
		}
	}
	if s.file == nil {
		return nil
	}
	return s.file.append(fresh)
}

func (s *Service) insert(e *loggingpb.LogEntry) bool {
	id := identify(e)
	if s.known[id] {
		return false
	}
	s.known[id] = true
	s.seq++
	r := &record{entry: e, seq: s.seq, view: sync.OnceValue(func() map[string]any { return asJSON(e) })}
	at, _ := slices.BinarySearchFunc(s.records, r, byTime)
	s.records = slices.Insert(s.records, at, r)
	for len(s.records) > keep {
		delete(s.known, identify(s.records[0].entry))
		s.records[0] = nil
		s.records = s.records[1:]
	}
	return true
}

func (s *Service) rewrite() error {
	if s.file == nil {
		return nil
	}
	entries := make([]*loggingpb.LogEntry, len(s.records))
	for i, r := range s.records {
		entries[i] = r.entry
	}
	return s.file.rewrite(entries)
}

func identify(e *loggingpb.LogEntry) identity {
	return identity{e.GetLogName(), e.GetInsertId(), e.GetTimestamp().AsTime().UnixNano()}
}

func byTime(a, b *record) int {
	if c := a.entry.GetTimestamp().AsTime().Compare(b.entry.GetTimestamp().AsTime()); c != 0 {
		return c
	}
	return cmp.Compare(a.seq, b.seq)
}
