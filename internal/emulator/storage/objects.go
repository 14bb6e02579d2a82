// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package storage

import "os"

type objects struct{}

type folderRecord struct{}

type managedRecord struct{}

type renameOperation struct{}

type ticks struct{}

type uploads struct{}

func (u *uploads) init() {}

type repeats struct{}

func (r *repeats) init() {}

func (r *repeats) serve(c *call, handle func(*call) error) error { return handle(c) }

func (b *bucket) loadObjects() error { return nil }

func (b *bucket) loadFolders() error { return nil }

func (b *bucket) empty() (bool, error) { return true, nil }

func (b *bucket) expire() error { return nil }

func probeFolding(*os.Root) (bool, error) { return false, nil }

var xmlRead = route{prefixXML, "GET", "", "storage.objects.get", "storage.objects.get", func(*call) error { return unimplemented("x") }, false}
