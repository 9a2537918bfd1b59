// SPDX-License-Identifier: Apache-2.0

// Package runtimec holds the C sources that nncc ships with every emitted model:
// the portable CMSIS-NN functions (include/cmsis_nn, src/cmsis_nn) and nncc's own
// kernels (include/nncc, src/nncc). Files picks those that a model needs.
//
// What a file defines and needs is read from its text (scan.go). A new kernel is
// a row of kernels.csv and one .c file, or a row alone where others have the same
// body; prototypes are made of the definitions (manifest.go).
package runtimec

import (
	_ "embed"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/lists"
)

// License says what may be done with what nncc writes: the LICENSE of emitted
// folders.
//
//go:embed LICENSE
var License []byte

// File is one C source or header of an emitted folder.
type File struct {
	Path string // below DIR/nncc, with forward slashes: "nncc_f32.h", "cmsis_nn/arm_softmax_s8.c"
	Data []byte
}

// always are the headers that emitted code includes whatever it calls.
var always = []string{"nncc.h", "nncc_model.h"}

// Library is a set of sources with what they define and need.
type Library struct {
	files   map[string]func() []byte // by emitted path: the text
	defines map[string]string        // symbol -> .c file
	needs   needs                    // of the files that were asked for
	memo                             // of names.go
	heads   heads                    // of declared.go
}

// Shipped is the library of the sources that nncc ships.
var Shipped = sync.OnceValue(func() *Library {
	x, err := open()
	bug.If(err != nil, "runtime_c: %w", err)
	return x
})

// Files returns the files that define the named functions, with everything that
// those include or call, sorted by path. A name may also be that of a file
// ("nncc_move.h", "cmsis_nn/arm_pad_s8.c"). An unknown name is an error. The
// data is shared: callers must not change it.
func Files(names ...string) ([]File, error) { return Shipped().Files(names...) }

// Functions lists every function and table that a source file defines, sorted.
func Functions() []string {
	x := Shipped()
	names := make([]string, 0, len(x.defines))
	for n := range x.defines {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// All returns every file, sorted by path.
func All() []File {
	x := Shipped()
	var out []File
	for p, d := range x.files {
		out = append(out, File{p, d()})
	}
	lists.Sort(out, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// Files is the function Files for this library.
func (x *Library) Files(names ...string) ([]File, error) {
	paths, err := x.Paths(names...)
	return lists.Map(paths, func(p string) File { return File{p, x.files[p]()} }), err
}

// Paths are those of Files.
func (x *Library) Paths(names ...string) ([]string, error) {
	taken := map[string]bool{}
	var queue []string
	take := func(f string) {
		if !taken[f] {
			taken[f] = true
			queue = append(queue, f)
		}
	}
	for _, h := range always {
		if _, ok := x.files[h]; ok {
			take(h)
		}
	}
	for _, n := range names {
		f, ok := x.defines[n]
		if !ok {
			f = n
		}
		if _, ok := x.files[f]; !ok {
			return nil, fmt.Errorf("no runtime source defines %q", n)
		}
		take(f)
	}
	for len(queue) > 0 {
		f := queue[0]
		queue = queue[1:]
		for _, n := range x.needed(f) {
			take(n)
		}
	}
	return slices.Sorted(maps.Keys(taken)), nil
}

// emittedPath maps include/FAMILY/x and src/FAMILY/x to the emitted folder: the
// family "nncc" is its root, others are folders below.
func emittedPath(p string) (string, bool) {
	parts := strings.SplitN(p, "/", 3)
	if len(parts) != 3 || !strings.HasSuffix(p, ".c") && !strings.HasSuffix(p, ".h") {
		return "", false
	}
	if parts[1] == "nncc" {
		return parts[2], true
	}
	return parts[1] + "/" + parts[2], true
}

// With is the library with more sources, below include/FAMILY and src/FAMILY of
// fsys: those of an accelerator.
func (x *Library) With(fsys fs.FS) (*Library, error) {
	more := newLibrary()
	maps.Copy(more.files, x.files)
	maps.Copy(more.defines, x.defines)
	maps.Copy(more.needs.headers, x.needs.headers)
	x.needs.mu.Lock()
	maps.Copy(more.needs.known, x.needs.known)
	x.needs.mu.Unlock()
	return more, more.read(fsys)
}

func newLibrary() *Library {
	return &Library{files: map[string]func() []byte{}, defines: map[string]string{},
		memo: memo{digests: map[string]digested{}}, needs: needs{headers: map[string][]string{},
			known: map[string][]string{}}}
}

// NewLibrary reads the sources below include/FAMILY and src/FAMILY of a tree:
// another version of those that nncc ships.
func NewLibrary(tree fs.FS) (*Library, error) {
	x := newLibrary()
	return x, x.read(tree)
}

// read adds the files of a tree, with what each defines and includes.
func (x *Library) read(fsys fs.FS) error {
	tree, err := expand(fsys)
	if err != nil {
		return err
	}
	includes := map[string][]string{}
	for _, p := range slices.Sorted(maps.Keys(tree)) {
		to, ok := emittedPath(p)
		if !ok {
			continue
		}
		if x.files[to] != nil {
			return fmt.Errorf("%s: two files would be emitted as %s", p, to)
		}
		x.files[to] = func() []byte { return tree[p] }
		s := scanC(string(tree[p]))
		includes[to] = s.includes
		for _, sym := range s.defines {
			// One file may define it twice, in branches of the preprocessor.
			if other, dup := x.defines[sym]; dup && other != to {
				return fmt.Errorf("%s and %s both define %s", other, to, sym)
			}
			x.defines[sym] = to
		}
	}
	for f, list := range includes {
		for _, inc := range list {
			h, ok := x.resolve(f, inc)
			if !ok {
				return fmt.Errorf("%s includes %q, which is no runtime header", f, inc)
			}
			x.needs.headers[f] = append(x.needs.headers[f], h)
		}
	}
	return nil
}

// needs says what files include and call. The latter is read when it is asked for: a model
// needs few of the files.
type needs struct {
	headers map[string][]string // file -> files it includes
	mu      sync.Mutex
	known   map[string][]string // file -> files it includes or whose symbols it uses
}

// needed are the files that a file includes or whose symbols it uses, sorted.
func (x *Library) needed(file string) []string {
	x.needs.mu.Lock()
	defer x.needs.mu.Unlock()
	if list, ok := x.needs.known[file]; ok {
		return list
	}
	set := map[string]bool{}
	for _, h := range x.needs.headers[file] {
		set[h] = true
	}
	uses(string(x.files[file]()), strings.HasSuffix(file, ".h"), func(t string) {
		if f, ok := x.defines[t]; ok {
			set[f] = true
		}
	})
	delete(set, file)
	list := slices.Sorted(maps.Keys(set))
	x.needs.known[file] = list
	return list
}

// resolve finds a quoted include: beside the including file, then at the root,
// then in the CMSIS-NN folder, as the -I options of an emitted Makefile do.
func (x *Library) resolve(from, inc string) (string, bool) {
	for _, dir := range []string{path.Dir(from), ".", "cmsis_nn"} {
		p := path.Join(dir, inc)
		if _, ok := x.files[p]; ok {
			return p, true
		}
	}
	return "", false
}
