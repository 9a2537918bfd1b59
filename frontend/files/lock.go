// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// lockName is the file in a folder that is locked while nncc puts results
// there. It is gone when no process writes, unless a process was killed.
const lockName = ".nncc-lock"

// errBusy: somebody else holds the lock.
var errBusy = errors.New("locked")

// patience bounds the wait for another process: what is done under the lock
// takes milliseconds, and a process that was stopped in it may never go on.
const patience = 30 * time.Second

// lock waits until no other process writes below dir. The lock ends with the
// process, however that ends.
func lock(dir string) (unlock func(), err error) {
	path := filepath.Join(dir, lockName)
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		unlock, err := tryLock(path)
		if !errors.Is(err, errBusy) {
			return unlock, err
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("another nncc has been writing below %s for %v (it holds %s): try again when it "+
				"is done", dir,
				patience, path)
		}
	}
}

// hold opens a file for a lock; a link in its place is not followed.
func hold(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|noWait|noFollow, 0)
	if errors.Is(err, os.ErrNotExist) {
		f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|noWait|noFollow, 0o666)
	} else if errors.Is(err, os.ErrPermission) { // another user's
		f, err = os.OpenFile(path, os.O_RDONLY|noWait|noFollow, 0)
	}
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = &KindError{path, st.Mode(), regular}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
