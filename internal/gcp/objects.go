// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"google.golang.org/api/storage/v1"
	"google.golang.org/grpc/codes"
)

const (
	deleteWorkers = 16
	objectPage    = 1000 // the API's own maximum
)

// CountObjects counts the objects of a bucket, every version, up to limit; more says that there are more than that.
func (c *Client) CountObjects(ctx context.Context, bucket string, limit int) (n int, more bool, err error) {
	token := ""
	for {
		page, err := c.listObjects(ctx, bucket, token, min(objectPage, limit-n+1))
		if err != nil {
			return n, false, err
		}
		n += len(page.Items)
		token = page.NextPageToken
		if n > limit {
			return limit, true, nil
		}
		if token == "" {
			return n, false, nil
		}
	}
}

// EmptyBucket deletes everything in a bucket: objects with all their versions, then managed folders and folders. It works page by page, so
// that its memory does not grow with the bucket: the next page is fetched when the one before is done. It returns how many objects it deleted.
// A failure of one step does not keep the next from being tried, and an object that cannot be deleted does not keep its page; after several
// such failures it gives up. The first few errors are returned, joined. Whenever it ends early, the next call goes on where it ended.
func (c *Client) EmptyBucket(ctx context.Context, bucket string) (deleted int, err error) {
	live, err := c.GetBucket(ctx, bucket)
	if err != nil {
		return 0, err
	}
	deleted, objects := c.deleteObjects(ctx, bucket)
	if ctx.Err() != nil {
		return deleted, objects
	}
	// Folders go also where objects are left: they are refused while they hold any.
	// A caller who may not list managed folders may still be able to delete a bucket that has none.
	managed := c.deleteManagedFolders(ctx, bucket)
	var folders error
	if live.HierarchicalNamespace != nil && live.HierarchicalNamespace.Enabled {
		folders = c.deleteFolders(ctx, bucket)
	}
	if objects != nil {
		managed, folders = unlessNotEmpty(managed), unlessNotEmpty(folders) // of course
	}
	return deleted, errors.Join(objects, managed, folders)
}

// unlessNotEmpty leaves out of joined errors those of folders that still hold something.
func unlessNotEmpty(err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	return errors.Join(slices.DeleteFunc(slices.Clone(joined.Unwrap()), func(err error) bool { return hasCode(err, codes.FailedPrecondition) })...)
}

func (c *Client) listObjects(ctx context.Context, bucket, token string, size int) (*storage.Objects, error) {
	var page *storage.Objects
	k := &call{op: "list the objects of bucket", resource: bucket, kind: read}
	err := c.storageDo(ctx, k, func(ctx context.Context, api *storage.Service) (err error) {
		page, err = api.Objects.List(bucket).Versions(true).MaxResults(int64(size)).PageToken(token).
			Fields("items(name,generation)", "nextPageToken").Context(ctx).Do()
		return err
	})
	return page, err
}

func (c *Client) deleteObjects(ctx context.Context, bucket string) (int, error) {
	var failures firstErrors
	deleted, token := 0, ""
	for {
		page, err := c.listObjects(ctx, bucket, token, objectPage)
		if err != nil {
			return deleted, errors.Join(failures.join(), err)
		}
		deleted += deleteAll(ctx, page.Items, &failures, func(o *storage.Object) error { return c.deleteObject(ctx, bucket, o) })
		token = page.NextPageToken
		if token == "" || failures.full() || ctx.Err() != nil {
			return deleted, failures.join()
		}
	}
}

// deleteAll deletes some things of one page, several at a time, and returns how many it has. What somebody else deleted meanwhile is no
// failure, and does not count. When ctx has ended or too much has failed, the rest is left.
func deleteAll[T any](ctx context.Context, things []T, failures *firstErrors, remove func(T) error) int {
	var deleted atomic.Int64
	var group errgroup.Group
	group.SetLimit(deleteWorkers)
	for _, thing := range things {
		if failures.full() || ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			switch err := remove(thing); {
			case err == nil:
				deleted.Add(1)
			case !IsNotFound(err):
				failures.add(err)
			}
			return nil
		})
	}
	_ = group.Wait() // none returns an error
	if err := ctx.Err(); err != nil {
		failures.only(err)
	}
	return int(deleted.Load())
}

func (c *Client) deleteObject(ctx context.Context, bucket string, o *storage.Object) error {
	k := &call{op: "delete object", resource: "gs://" + bucket + "/" + o.Name, kind: repeatable, conflict: codes.FailedPrecondition}
	return c.storageDo(ctx, k, func(ctx context.Context, api *storage.Service) error {
		return api.Objects.Delete(bucket, o.Name).Generation(o.Generation).Context(ctx).Do()
	})
}

// folderKind is what folders and managed folders have in common.
type folderKind struct {
	list   func(ctx context.Context, token string) (names []string, next string, err error)
	delete func(ctx context.Context, name string) error
}

func (c *Client) deleteFolders(ctx context.Context, bucket string) error {
	return emptyFolders(ctx, folderKind{
		list: func(ctx context.Context, token string) (names []string, next string, err error) {
			k := &call{op: "list the folders of bucket", resource: bucket, kind: read}
			err = c.storageDo(ctx, k, func(ctx context.Context, api *storage.Service) error {
				names = nil
				page, err := api.Folders.List(bucket).PageSize(objectPage).PageToken(token).Context(ctx).Do()
				if err != nil {
					return err
				}
				for _, f := range page.Items {
					names = append(names, f.Name)
				}
				next = page.NextPageToken
				return nil
			})
			return names, next, err
		},
		delete: func(ctx context.Context, name string) error {
			k := &call{op: "delete folder", resource: "gs://" + bucket + "/" + name, kind: repeatable, conflict: codes.FailedPrecondition}
			return c.storageDo(ctx, k, func(ctx context.Context, api *storage.Service) error {
				return api.Folders.Delete(bucket, name).Context(ctx).Do()
			})
		},
	})
}

func (c *Client) deleteManagedFolders(ctx context.Context, bucket string) error {
	return emptyFolders(ctx, folderKind{
		list: func(ctx context.Context, token string) (names []string, next string, err error) {
			k := &call{op: "list the managed folders of bucket", resource: bucket, kind: read}
			err = c.storageDo(ctx, k, func(ctx context.Context, api *storage.Service) error {
				names = nil
				page, err := api.ManagedFolders.List(bucket).PageSize(objectPage).PageToken(token).Context(ctx).Do()
				if err != nil {
					return err
				}
				for _, f := range page.Items {
					names = append(names, f.Name)
				}
				next = page.NextPageToken
				return nil
			})
			return names, next, err
		},
		delete: func(ctx context.Context, name string) error {
			k := &call{op: "delete managed folder", resource: "gs://" + bucket + "/" + name, kind: repeatable, conflict: codes.FailedPrecondition}
			return c.storageDo(ctx, k, func(ctx context.Context, api *storage.Service) error {
				return api.ManagedFolders.Delete(bucket, name).Context(ctx).Do()
			})
		},
	})
}

// emptyFolders deletes folders, the deepest first. Lists are in the order of the names, so that all that is in a folder follows it directly:
// those that the next page may go on in wait for it, and nothing is asked to go before what is in it. Memory is one page, and one folder of
// each depth. When somebody makes folders meanwhile, or objects, those that hold them are refused; the whole list, of what is left, is gone
// through again for as long as that deletes anything.
func emptyFolders(ctx context.Context, kind folderKind) error {
	for {
		failures := firstErrors{ofFolders: true}
		var waiting []string
		progress, token := false, ""
		for {
			names, next, err := kind.list(ctx, token)
			if err != nil {
				return errors.Join(failures.join(), err)
			}
			var now []string
			now, waiting = apartFromLast(append(waiting, names...), next != "")
			for _, level := range levels(now) {
				progress = deleteAll(ctx, level, &failures, func(name string) error { return kind.delete(ctx, name) }) > 0 || progress
			}
			if token = next; token == "" || failures.full() || ctx.Err() != nil {
				break
			}
		}
		if !progress || !failures.onlyNotEmpty() || ctx.Err() != nil {
			return failures.join()
		}
	}
}

// apartFromLast divides the folders of a list so far into those whose content it has in full, and those in which the last one is, which may
// go on if there is more.
func apartFromLast(names []string, more bool) (whole, open []string) {
	if !more || len(names) == 0 {
		return names, nil
	}
	last := names[len(names)-1]
	for _, name := range names {
		if strings.HasPrefix(last, name) {
			open = append(open, name)
		} else {
			whole = append(whole, name)
		}
	}
	return whole, open
}

// levels are the folders of one depth each, the deepest first.
func levels(names []string) [][]string {
	byDepth := map[int][]string{}
	for _, name := range names {
		d := strings.Count(strings.TrimSuffix(name, "/"), "/")
		byDepth[d] = append(byDepth[d], name)
	}
	var out [][]string
	for _, d := range slices.Backward(slices.Sorted(maps.Keys(byDepth))) {
		out = append(out, byDepth[d])
	}
	return out
}

// maxErrors is how many errors are told, and after how many something is given up.
const maxErrors = 5

// firstErrors keeps the first few errors of many.
type firstErrors struct {
	ofFolders bool

	mu    sync.Mutex
	errs  []error
	grave int // how many, but those of folders that are not empty
}

func (f *firstErrors) add(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.ofFolders || !hasCode(err, codes.FailedPrecondition) {
		f.grave++
	}
	if len(f.errs) < maxErrors {
		f.errs = append(f.errs, err)
	}
}

// only keeps one error of those that the end of a context has caused.
func (f *firstErrors) only(cause error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := false
	f.errs = slices.DeleteFunc(f.errs, func(err error) bool {
		if e, ok := AsError(err); !ok || e.Code != contextCode(cause) {
			return false
		}
		again := found
		found = true
		return again
	})
	if !found {
		f.errs = append(f.errs, &Error{Op: "delete objects", Code: contextCode(cause), Message: contextText(cause), Err: cause})
	}
}

// full reports whether too much has failed to go on. That a folder is not empty does not count: one object that is left keeps all folders
// above it, and the others can go.
func (f *firstErrors) full() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.grave >= maxErrors
}

// onlyNotEmpty reports whether there were failures, and all were that a folder is not empty.
func (f *firstErrors) onlyNotEmpty() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.errs) > 0 && f.grave == 0
}

func (f *firstErrors) join() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.errs...)
}
