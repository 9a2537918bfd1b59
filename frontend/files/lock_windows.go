// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"os"
	"syscall"
)

const noFollow = 0

const (
	deleteOnClose    = 0x04000000 // FILE_FLAG_DELETE_ON_CLOSE
	sharingViolation = syscall.Errno(32)
)

// tryLock takes the lock at path: a file that no other process can open meanwhile,
// and that the system removes when it is closed.
func tryLock(path string) (unlock func(), err error) {
	defer fail.Catch(&err)
	name := fail.Must(syscall.UTF16PtrFromString(path))
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS,
		syscall.FILE_ATTRIBUTE_NORMAL|deleteOnClose, 0)
	// A file that is about to go gives "access denied".
	if errors.Is(err, sharingViolation) || errors.Is(err, syscall.ERROR_ACCESS_DENIED) {
		return nil, errBusy
	}
	if err != nil {
		return nil, &os.PathError{Op: "lock", Path: path, Err: err}
	}
	return func() { syscall.CloseHandle(h) }, nil
}
