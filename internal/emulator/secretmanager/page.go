// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package secretmanager

import (
	"cmp"
	"encoding/base64"
	"slices"

	"google.golang.org/protobuf/types/known/timestamppb"
)

const maxPage = 25000 // of the proto's comment; also without a page size

type listed interface {
	GetName() string
	GetCreateTime() *timestamppb.Timestamp
}

type listRequest interface {
	GetPageSize() int32
	GetPageToken() string
	GetFilter() string
}

// list returns a page of what the filter lets through, newest first, and the size
// of the whole, which is 0 with a filter. The token is the name that ended the
// page before, so that what is made meanwhile shifts nothing.
func list[T listed](all []T, req listRequest) (page []T, next string, total int32, err error) {
	slices.SortFunc(all, func(a, b T) int {
		return cmp.Or(b.GetCreateTime().AsTime().Compare(a.GetCreateTime().AsTime()), cmp.Compare(b.GetName(), a.GetName()))
	})
	size := int(req.GetPageSize())
	switch {
	case size < 0:
		return nil, "", 0, invalid("page_size", "The page size cannot be negative.")
	case size == 0 || size > maxPage:
		size = maxPage
	}
	total = int32(len(all)) //nolint:gosec // a list of a local store
	if req.GetFilter() != "" {
		total = 0
		if all, err = filter(all, req.GetFilter()); err != nil {
			return nil, "", 0, err
		}
	}
	from := 0
	if token := req.GetPageToken(); token != "" {
		last, err := base64.RawURLEncoding.DecodeString(token)
		from = 1 + slices.IndexFunc(all, func(v T) bool { return v.GetName() == string(last) })
		if err != nil || from == 0 {
			return nil, "", 0, invalid("page_token", "The page token is not valid.")
		}
	}
	page = all[from:min(from+size, len(all))]
	if from+size < len(all) {
		next = base64.RawURLEncoding.EncodeToString([]byte(page[size-1].GetName()))
	}
	return page, next, total, nil
}
