// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package run

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"
)

// Page sizes: 100 when the request names none, 1000 at most. Both are guesses.
const (
	defaultPage = 100
	maxPage     = 1000
)

// created is a resource that lists are ordered by.
type created interface {
	GetName() string
	GetCreateTime() *timestamppb.Timestamp
}

// place is where a resource stands in a list.
type place struct {
	micros int64
	index  int64
	name   string
}

// newestFirst orders by creation time, newest first, and cuts one page. A page
// token is the place of the last item, so that what comes and goes between two
// pages neither repeats nor hides another item.
func newestFirst[M created](all []M, size int32, token string) ([]M, string, error) {
	return paged(all, size, token, func(m M) place {
		return place{micros: -m.GetCreateTime().AsTime().UnixMicro(), name: m.GetName()}
	})
}

func paged[M any](all []M, size int32, token string, at func(M) place) ([]M, string, error) {
	if size < 0 {
		return nil, "", invalid("page_size", "Must not be negative.")
	}
	if size == 0 {
		size = defaultPage
	}
	size = min(size, maxPage)
	slices.SortFunc(all, func(a, b M) int { return comparePlaces(at(a), at(b)) })
	if token != "" {
		after, ok := parsePageToken(token)
		if !ok {
			return nil, "", invalid("page_token", "Invalid page token.")
		}
		all = slices.DeleteFunc(all, func(m M) bool { return comparePlaces(at(m), after) <= 0 })
	}
	if len(all) <= int(size) {
		return all, "", nil
	}
	all = all[:size]
	return all, pageToken(at(all[size-1])), nil
}

func comparePlaces(a, b place) int {
	return cmp.Or(cmp.Compare(a.micros, b.micros), cmp.Compare(a.index, b.index), cmp.Compare(a.name, b.name))
}

func pageToken(p place) string {
	return base64.RawURLEncoding.EncodeToString(
		[]byte(strconv.FormatInt(p.micros, 10) + " " + strconv.FormatInt(p.index, 10) + " " + p.name))
}

func parsePageToken(token string) (place, bool) {
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return place{}, false
	}
	parts := strings.SplitN(string(b), " ", 3)
	if len(parts) != 3 {
		return place{}, false
	}
	micros, err1 := strconv.ParseInt(parts[0], 10, 64)
	index, err2 := strconv.ParseInt(parts[1], 10, 64)
	return place{micros, index, parts[2]}, err1 == nil && err2 == nil
}
