// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package gcp

import (
	"context"
	"errors"
	"sort"
	"strings"

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
// that its memory does not grow with the bucket, and returns how many objects it deleted. A failure of one step does not keep the next
// from being tried, and an object that cannot be deleted does not keep its page; after several such failures it gives up. The first few
// errors are returned, joined.
func (c *Client) EmptyBucket(ctx context.Context, bucket string) (deleted int, err error) {
	live, err := c.GetBucket(ctx, bucket)
	if err != nil {
		return 0, err
	}
	deleted, objects := c.deleteObjects(ctx, bucket)
	if ctx.Err() != nil {
		return deleted, objects
	}
	// A caller who may not list managed folders may still be able to delete a bucket that has none.
	managed := c.deleteManagedFolders(ctx, bucket)
	var folders error
	if live.HierarchicalNamespace != nil && live.HierarchicalNamespace.Enabled {
		folders = c.deleteFolders(ctx, bucket)
	}
	return deleted, errors.Join(objects, managed, folders)
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
		results := make([]error, len(page.Items))
		var group errgroup.Group
		group.SetLimit(deleteWorkers)
		for i, o := range page.Items {
			group.Go(func() error {
				results[i] = c.deleteObject(ctx, bucket, o)
				return nil
			})
		}
		_ = group.Wait() // the results are in their slice
		for _, err := range results {
			switch {
			case err == nil:
				deleted++
			case !IsNotFound(err): // somebody else deleted it
				failures.add(err)
			}
		}
		token = page.NextPageToken
		if token == "" || failures.full() {
			return deleted, failures.join()
		}
	}
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

// emptyFolders deletes folders, the deepest of a page first. Lists name a parent before its children, and a parent whose children are on a
// later page is refused; so the whole list is gone through again for as long as that deletes anything. Memory is one page.
func emptyFolders(ctx context.Context, kind folderKind) error {
	for {
		var failures firstErrors
		progress, token := false, ""
		for {
			names, next, err := kind.list(ctx, token)
			if err != nil {
				return errors.Join(failures.join(), err)
			}
			sort.SliceStable(names, func(i, j int) bool { return depth(names[i]) > depth(names[j]) })
			for _, name := range names {
				switch err := kind.delete(ctx, name); {
				case err == nil:
					progress = true
				case !IsNotFound(err):
					failures.add(err)
				}
			}
			if token = next; token == "" {
				break
			}
		}
		if !progress || len(failures.errs) == 0 {
			return failures.join()
		}
	}
}

func depth(folder string) int { return strings.Count(strings.TrimSuffix(folder, "/"), "/") }

// firstErrors keeps the first few errors of many.
type firstErrors struct{ errs []error }

func (f *firstErrors) add(err error) {
	if !f.full() {
		f.errs = append(f.errs, err)
	}
}

func (f *firstErrors) full() bool  { return len(f.errs) >= 5 }
func (f *firstErrors) join() error { return errors.Join(f.errs...) }
