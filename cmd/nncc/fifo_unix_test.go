// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"syscall"
	"testing"
)

func mkfifo(t *testing.T, p string) { must(t, syscall.Mkfifo(p, 0o666)) }
