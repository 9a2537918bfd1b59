//go:build unix

package files

import "syscall"

const noWait = syscall.O_NONBLOCK
