// SPDX-License-Identifier: Apache-2.0

package files

import (
	"os"
	"sync"
	"time"
)

// scratch are the temporary folders and files of this process.
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
