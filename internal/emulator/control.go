// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package emulator

import "net/http"

func (e *Emulator) controlHandler() http.Handler { return http.NotFoundHandler() }
