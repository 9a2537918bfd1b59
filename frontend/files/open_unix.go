// SPDX-License-Identifier: Apache-2.0

//go:build unix

package files

import "syscall"

const noWait = syscall.O_NONBLOCK
