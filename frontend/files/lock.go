// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
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
			return nil, fmt.Errorf("another nncc has been writing below %s for %v (it holds %s): try again when it is "+
				"done", dir, patience, path)
		}
	}
}

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

var scratch struct {
	sync.Mutex
	paths map[string]bool
}

// TempDir is os.MkdirTemp for a folder that RemoveTemp removes.
func TempDir(parent, pattern string) (string, error) {
	dir, err := os.MkdirTemp(parent, pattern)
	if err == nil {
		register(dir)
	}
	return dir, err
}

func register(path string) {
	scratch.Lock()
	defer scratch.Unlock()
	if scratch.paths == nil {
		scratch.paths = map[string]bool{}
	}
	scratch.paths[path] = true
}

func unregister(path string) {
	scratch.Lock()
	defer scratch.Unlock()
	delete(scratch.paths, path)
}

// RemoveTemp removes a folder of TempDir.
func RemoveTemp(dir string) error {
	defer unregister(dir)
	return os.RemoveAll(dir)
}

// RemoveAllTemp removes all temporary folders and files: for a process that is
// told to end, which makes no new ones from then on.
func RemoveAllTemp() {
	scratch.Lock() // for good: the process ends
	for dir := range scratch.paths {
		// Somebody else in this process may still write there.
		for try := 0; os.RemoveAll(dir) != nil && try < 5; try++ {
			time.Sleep(10 * time.Millisecond)
		}
	}
}
