// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

//go:build unix && !linux

package runner

import (
	"errors"
	"syscall"
)

// namespace exists on Linux only.
type namespace struct{}

func (n *namespace) attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

var errNoNamespaces = errors.New("this operating system has no namespaces: they are Linux's")

func probeNamespace() (*namespace, error) { return nil, errNoNamespaces }

func enterNamespace([]Mount) error { return errNoNamespaces }

func checkNamespace([]Mount) error { return errNoNamespaces }
