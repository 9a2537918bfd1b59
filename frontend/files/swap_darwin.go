// SPDX-License-Identifier: Apache-2.0

package files

import "golang.org/x/sys/unix"

// exchange makes two paths change places in one step.
func exchange(a, b string) error { return unix.RenamexNp(a, b, unix.RENAME_SWAP) }
