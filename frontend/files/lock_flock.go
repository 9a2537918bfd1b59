// SPDX-License-Identifier: Apache-2.0

//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package files

import (
	"errors"
	"os"
	"syscall"

	"github.com/nncc/nncc/ir/fail"
)

const noFollow = syscall.O_NOFOLLOW

// tryLock takes the lock at path. The file is removed with the lock, so that a
// lock on a file that has gone is worth nothing and is not given.
func tryLock(path string) (unlock func(), err error) {
	defer fail.Catch(&err)
	f := fail.Must(hold(path))
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EINTR {
			break
		}
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		f.Close()
		return nil, errBusy
	}
	if err != nil {
		f.Close()
		return nil, &os.PathError{Op: "lock", Path: path, Err: err}
	}
	mine, err := f.Stat()
	if err == nil {
		var there os.FileInfo
		if there, err = os.Lstat(path); err == nil && os.SameFile(mine, there) {
			return func() {
				os.Remove(path)
				f.Close()
			}, nil
		}
	}
	f.Close()
	return nil, errBusy
}
