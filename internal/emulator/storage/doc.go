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
// # What is backed by what
//
// "Recorded" is an answer of the real service that somebody published,
// "documented" is Google's documentation, discovery document or client, and
// "guess" is neither: the last column is the test with a real project that
// would settle it.
//
//	behaviour                                     backed by    cloud test
//	computed fields of a new bucket               recorded     -
//	error envelope, texts of 404, 409, 412        recorded     -
//	PATCH: merge, null, labels, empty body        recorded     -
//	soft delete: 0 off, null default, 7-90 days   recorded     -
//	lifecycle: normal form, refusals              recorded     -
//	hierarchical namespace: refusals, PATCH       recorded     -
//	policy: etag, stale 412, normal form, texts   recorded     -
//	testIamPermissions: limits and texts          recorded     -
//	folders, managed folders, rename operation    recorded     -
//	storageLayout                                 recorded     -
//	repeats with an idempotency token             recorded     -
//	resumable: 308, offset gap, cancel 499        recorded     -
//	restore makes a new generation, keeps the old recorded     -
//	roles and their permissions                   documented   -
//	download headers, ranges, gzip transcoding    documented   -
//	list: delimiter, offsets, globs, versions     documented   -
//	unknown field in a body is 400, and its text  guess        PATCH a bucket with {"colour":"red"}
//	value of another type is 400, and its text    guess        PATCH versioning.enabled = "yes"
//	404 of a folder: "The specified folder does
//	  not exist." (also published: "The folder
//	  does not exist.")                           guess        GET and DELETE a missing folder
//	403 text of a denied call                     guess        call as an account without grants
//	name with a dot: 403 domain                   guess        create a bucket "a.b"
//	location: any that follows the naming scheme  guess        create in "us-central9"
//	PUT keeps access, soft delete, placement      guess        GET, PUT without them, GET
//	empty folders keep a bucket from deletion,
//	  managed folders too                         guess        delete a bucket that holds only those
//	deleted member and live twin on a bucket: 400 guess        write both for one address
//	deleting an account changes no etag           guess        read policy, delete account, read again
//	role roles/storage.X that does not exist:
//	  "not supported"                             guess        grant roles/storage.nothing
//	an upload's conditions hold again at its end  guess        resumable with ifGenerationMatch=0, overtaken
//	rename of a folder keeps generations of the
//	  objects in it                               guess        rename, compare generations
//	object "a/" in a hierarchical bucket is an
//	  object, no folder                           recorded     -
//	composed object: no md5Hash, componentCount   documented   -
//	rewrite is done in its first answer           guess        rewrite 5 GiB between locations
//	default compute account counts as editor      documented   (older organisations only)
//	listing of soft-deleted without policy: text  guess        list with softDeleted=true
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
