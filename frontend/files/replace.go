// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/nncc/nncc/ir/fail"
)

// Target is a file to write beside others.
type Target struct {
	Path string // relative to the folder of Replace, with slashes
	Data []byte
	// Mine tells whether a file that is there may be replaced; nil: a regular
	// file may, the user has named it.
	Mine func(old []byte) bool
}

// ReplaceFile is Replace for a file that the user named, and others beside it.
func ReplaceFile(file string, data []byte, beside []Target, keep ...string) error {
	if os.IsPathSeparator(file[len(file)-1]) {
		return fmt.Errorf("%s names a folder; want a file", file)
	}
	return Replace(filepath.Dir(file), append([]Target{{Path: filepath.Base(file), Data: data}}, beside...), keep...)
}

// Replace writes files below dir: all of them, or none where one cannot be
// written. Links that lead out of dir are not followed, and only regular files
// are replaced. Files in keep (inputs of the same command) are not written to.
func Replace(dir string, list []Target, keep ...string) (err error) {
	defer fail.Catch(&err)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return unwritable(filepath.Join(dir, filepath.FromSlash(list[0].Path)), err)
	}
	root := fail.Must(os.OpenRoot(dir))
	defer root.Close()
	for _, t := range list { // before anything is made here
		fail.Must(replaceable(root, dir, t, keep))
	}
	unlock, err := lock(dir)
	if err != nil {
		return unwritable(filepath.Join(dir, filepath.FromSlash(list[0].Path)), err)
	}
	defer unlock()
	sweepFiles(root)
	var made []string // temporary files and folders
	defer func() {
		for i := len(made) - 1; err != nil && i >= 0; i-- {
			root.Remove(made[i])
		}
	}()
	tmp := make([]string, len(list))
	for i, t := range list {
		old := fail.Must(replaceable(root, dir, t, keep))
		for _, d := range parents(path.Dir(t.Path)) {
			if err := root.Mkdir(d, 0o777); err == nil {
				made = append(made, d)
			} else if !errors.Is(err, fs.ErrExist) {
				return inside(dir, d, err)
			}
		}
		tmp[i] = fmt.Sprintf("%s%d", filePrefix, i)
		f, err := root.OpenFile(tmp[i], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			return inside(dir, t.Path, err)
		}
		made = append(made, tmp[i])
		register(filepath.Join(dir, tmp[i]))
		defer unregister(filepath.Join(dir, tmp[i]))
		_, err = f.Write(t.Data)
		if err == nil && old != nil {
			err = f.Chmod(old.Mode().Perm())
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return inside(dir, t.Path, err)
		}
	}
	for i, t := range list {
		if err := root.Rename(tmp[i], t.Path); err != nil {
			return inside(dir, t.Path, err)
		}
	}
	return nil
}

func inside(dir, name string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fmt.Errorf("%s: %w", filepath.Join(dir, filepath.FromSlash(name)), err)
}

// unwritable says of a folder or file that the user named why it could not be written, in the
// place of what the system says of a file that the user does not know.
func unwritable(name string, err error) error {
	var (
		p *fs.PathError
		l *os.LinkError
	)
	switch {
	case errors.As(err, &p):
		err = p.Err
	case errors.As(err, &l):
		err = l.Err
	default:
		return err
	}
	return fmt.Errorf("%s cannot be written: %w", name, err)
}

func parents(dir string) []string {
	if dir == "." {
		return nil
	}
	return append(parents(path.Dir(dir)), dir)
}

// filePrefix begins the names of temporary files. Who holds the folder's lock
// owns them all.
const filePrefix = ".nncc-part-"

// sweepFiles removes temporary files of processes that were killed.
func sweepFiles(root *os.Root) {
	for i := 0; root.Remove(fmt.Sprintf("%s%d", filePrefix, i)) == nil; i++ {
	}
}

// replaceable refuses what is not a regular file that may be replaced.
func replaceable(root *os.Root, dir string, t Target, keep []string) (_ fs.FileInfo, err error) {
	defer fail.Catch(&err)
	full := filepath.Join(dir, filepath.FromSlash(t.Path))
	fail.If(!filepath.IsLocal(filepath.FromSlash(t.Path)), "%s leads out of the folder %s", t.Path, dir)
	st, err := root.Lstat(t.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, inside(dir, t.Path, err)
	}
	fail.If(st.IsDir(), "%s is a folder; want a file", full)
	fail.If(!st.Mode().IsRegular(),
		"%s is %s, which is not replaced: name a regular file, or one that does not exist yet", full, Kind(st.Mode()))
	for _, k := range keep {
		if in, err := os.Stat(k); err == nil && os.SameFile(in, st) {
			return nil, fmt.Errorf("%s is read by this command (%s) and is not written over: choose another name", full,
				k)
		}
	}
	// A file that may not be written is not replaced either.
	f, err := root.OpenFile(t.Path, os.O_RDWR|noWait, 0)
	if err != nil {
		return nil, inside(dir, t.Path, err)
	}
	defer f.Close()
	if t.Mine == nil {
		return st, nil
	}
	old, err := Read(full, 1<<32)
	if err == nil && t.Mine(old) {
		return st, nil
	}
	return nil, fmt.Errorf("%s exists and was not written by nncc: move it away, or choose another name", full)
}
