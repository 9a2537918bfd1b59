// SPDX-License-Identifier: Apache-2.0

package files

import "golang.org/x/sys/unix"

// exchange makes two paths change places in one step.
func exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}
