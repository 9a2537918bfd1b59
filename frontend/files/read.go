// SPDX-License-Identifier: Apache-2.0

// Package files reads the files that users name and writes those that they ask
// for. Nothing here waits for a pipe, follows a link out of an output folder,
// or leaves half of a result behind.
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Kind says what is at a path, for messages.
func Kind(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "a file"
	case m.IsDir():
		return "a folder"
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}

// KindError says that a path is of another kind than wanted.
type KindError struct {
	Path string
	Mode fs.FileMode
	Want string
}

func (e *KindError) Error() string { return e.Path + ": " + e.reason().Error() }

func (e *KindError) reason() error { return fmt.Errorf("not %s: it is %s", e.Want, Kind(e.Mode)) }

const regular = "a regular file"

// Open opens a regular file for reading; links to one are followed. Folders,
// devices, sockets and pipes, which may never end, are refused without a wait.
func Open(path string) (*os.File, fs.FileInfo, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, nil, pathFirst(path, err)
	}
	if !st.Mode().IsRegular() {
		return nil, nil, &KindError{path, st.Mode(), regular}
	}
	// Another file may be there by now: a pipe is opened without waiting for
	// its writer.
	f, err := os.OpenFile(path, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, nil, pathFirst(path, err)
	}
	if st, err = f.Stat(); err == nil && !st.Mode().IsRegular() {
		err = &KindError{path, st.Mode(), regular}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, st, nil
}

// pathFirst is an error about a file without the system call that failed.
func pathFirst(path string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return &pathError{path, err}
}

// pathError is an error about a file.
type pathError struct {
	path string
	err  error
}

func (e *pathError) Error() string { return e.path + ": " + e.err.Error() }
func (e *pathError) Unwrap() error { return e.err }
func (e *pathError) reason() error { return e.err }

// Reason is an error of Open or Read without the path, for callers that name it.
func Reason(err error) error {
	if e, ok := errors.AsType[interface {
		error
		reason() error
	}](err); ok {
		return e.reason()
	}
	return err
}

// SizeError says that a file is larger than what is read of its kind.
type SizeError struct {
	Path       string
	Size, Most int64
}

func (e *SizeError) Error() string { return e.Path + ": " + e.reason().Error() }

func (e *SizeError) reason() error {
	return fmt.Errorf("%d bytes, at most %d are read", e.Size, e.Most)
}

// Read reads a regular file of at most so many bytes.
func Read(path string, most int64) ([]byte, error) {
	f, st, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st.Size() > most {
		return nil, &SizeError{path, st.Size(), most}
	}
	// One byte more than there should be shows a file that grows.
	b := make([]byte, st.Size()+1)
	n, err := io.ReadFull(f, b)
	switch {
	case err == nil:
		return nil, &pathError{path, errors.New("it grew while it was read")}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return b[:n], nil
	}
	return nil, &pathError{path, err}
}
