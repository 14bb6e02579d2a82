// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

// Package storage is the emulator's Cloud Storage: the JSON API for buckets,
// objects, folders and IAM policies as an http.Handler, with live objects as
// plain files that a task can mount.
//
// It may import the emulator's store and faults, Google's published types of
// the API (google.golang.org/api/storage/v1) and of IAM, and nothing else of
// this module. Its main rule: an object's name never leads out of the folder of
// its bucket, whatever the name is and whatever links a task left there
// (os.Root); a name that cannot be a file safely has its content among the
// bucket's blobs, outside of what a task mounts.
//
// On disk, below the store's Root:
//
//	storage/buckets/BUCKET/live/…    the files of live objects: Dir
//	storage/buckets/BUCKET/blobs/…   everything else: noncurrent and deleted
//	                                 generations, odd names, uploads under way
//
// Records of buckets, objects and folders are in the store. Before a call
// answers, the names it is about are compared with the files: a file that was
// written is a new generation, one that was removed is deleted. There is no
// watching, so what happens between two calls is seen as one change.
//
// Callers of the API are nobody in particular and may do everything that Deny
// did not take from them. Every call is recorded under its id in the discovery
// document; the requests of a resumable upload after the first one are
// storage.objects.insert.resume.
//
// README.md of the emulator says what backs each behaviour, and for a guess the
// cloud test that would settle it.
//
// # What it does not do
//
// Lifecycle rules, retention periods and access lists are kept as data and
// never act; holds do. Deleted buckets are not kept for their soft delete time.
// Sessions of resumable uploads end with the process. Customer-supplied keys,
// notifications, HMAC keys, caches, batches and bulk restore are not there.
// Custom roles and managed folders grant nothing in Allowed, and a condition
// that is no comparison with the time is taken to hold.
//
// The mount is a folder of the host, not gcsfuse: a file is an object while it
// is still written, not only when it is closed; nothing is cached, so other
// clients' writes show at once; locks, owners and modes work as the host's do;
// directories that only lead to objects are visible, as with implicit-dirs; the
// directory of a deleted folder or placeholder stays, empty and without meaning,
// since a task may have it mounted.
package storage
