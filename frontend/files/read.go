// SPDX-License-Identifier: Apache-2.0

// Package files reads the files that users name and writes those that they ask
// for. Nothing here waits for a pipe, follows a link out of an output folder,
// or leaves half of a result behind.
package files

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
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
	if errors.Is(err, fs.ErrNotExist) {
		beside, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
		err = fmt.Errorf("%w%s", err, text.Meant(filepath.Base(path), lists.Map(beside, filepath.Base)))
	}
	return &pathError{path, err}
}

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
func Read(path string, most int64) (_ []byte, err error) {
	defer fail.Catch(&err)
	f, st := fail.Must2(Open(path))
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

// Limits of a YAML file that a user writes. Whatever is larger or deeper is a mistake or an attack, and would keep
// what reads it busy for long.
const (
	maxYAMLValues = 20000
	maxYAMLDepth  = 64
)

// YAMLError is what is wrong with a YAML file.
type YAMLError struct {
	Line int // 0: not known
	Msg  string
}

func (e *YAMLError) Error() string {
	if e.Line == 0 {
		return e.Msg
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Msg)
}

// YAML reads the one document of a file: nil where it is empty or null. Anchors, aliases and merge keys, by which
// small files become large ones, are refused; instead says what to write in their place.
func YAML(data []byte, instead string) (*yaml.Node, error) {
	// The parser recurses over flow collections before anything here can look at depth.
	if n := bytes.Count(data, []byte("[")) + bytes.Count(data, []byte("{")); n > maxYAMLValues/4 {
		return nil, &YAMLError{0, fmt.Sprintf("%d opening brackets; at most %d are read", n, maxYAMLValues/4)}
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := decodeNode(dec, &doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, yamlError(err)
	}
	if err := decodeNode(dec, &more); err == nil {
		return nil, &YAMLError{more.Line, "a second YAML document; want one"}
	} else if !errors.Is(err, io.EOF) {
		return nil, yamlError(err)
	}
	if len(doc.Content) != 1 {
		return nil, nil
	}
	left := maxYAMLValues
	if err := plainYAML(doc.Content[0], 0, &left, instead); err != nil {
		return nil, err
	}
	if n := doc.Content[0]; n.ShortTag() != "!!null" {
		return n, nil
	}
	return nil, nil
}

// decodeNode shields callers from panics of the YAML library on hostile text.
func decodeNode(dec *yaml.Decoder, n *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: unreadable: %v", r)
		}
	}()
	return dec.Decode(n)
}

func yamlError(err error) error {
	e := &YAMLError{Msg: strings.TrimPrefix(err.Error(), "yaml: ")}
	if n, _ := fmt.Sscanf(e.Msg, "line %d:", &e.Line); n == 1 {
		e.Msg = strings.TrimSpace(e.Msg[strings.Index(e.Msg, ":")+1:])
	}
	return e
}

// plainYAML holds a value and those in it against the limits, of which so many values are left.
func plainYAML(n *yaml.Node, depth int, left *int, instead string) error {
	fail := func(format string, args ...any) error { return &YAMLError{n.Line, fmt.Sprintf(format, args...)} }
	*left--
	switch {
	case *left < 0:
		return fail("more than %d values; no more are read", maxYAMLValues)
	case depth > maxYAMLDepth:
		return fail("nested deeper than %d levels", maxYAMLDepth)
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return fail("anchors and aliases are not accepted; %s", instead)
	case n.ShortTag() == "!!merge":
		return fail("merge keys (<<) are not accepted; %s", instead)
	}
	for _, c := range n.Content {
		if err := plainYAML(c, depth+1, left, instead); err != nil {
			return err
		}
	}
	return nil
}

// mostOfName bounds the names that Portable gives, in bytes: endings and numbers are
// added to them.
const mostOfName = 120

// Portable is a name of a file that every system takes for text that may be anything:
// letters, digits, points, dashes and underscores stay, others become underscores. What
// is too long is cut and ends in a number for the whole; different texts may become one.
func Portable(s string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, s)
	if name = strings.TrimLeft(name, "."); name == "" {
		name = "_"
	}
	if device, _, _ := strings.Cut(strings.ToLower(name), "."); devices[device] {
		name = "_" + name
	}
	if len(name) <= mostOfName {
		return name
	}
	h := fnv.New32a()
	h.Write([]byte(s))
	return fmt.Sprintf("%s~%08x", name[:mostOfName], h.Sum32())
}

// devices are names that Windows keeps for itself, whatever follows behind a point.
var devices = func() map[string]bool {
	m := map[string]bool{"con": true, "prn": true, "aux": true, "nul": true}
	for i := range 10 {
		m[fmt.Sprintf("com%d", i)], m[fmt.Sprintf("lpt%d", i)] = true, true
	}
	return m
}()
