// SPDX-License-Identifier: Apache-2.0

package run

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/ir/fail"
)

// objectStore keeps objects under the digest of all that they depend on: the
// compiler, its flags, the source and every header that it may include.
type objectStore struct {
	dir      string
	compiler string // path, size and time of the compiler
	flags    []string
	include  []string
}

// newObjectStore is nil where nothing can be kept: without a folder, or with
// flags that name files.
func newObjectStore(dir, cc string, flags, include []string) *objectStore {
	if dir == "" {
		return nil
	}
	for _, f := range flags {
		for _, p := range []string{"-I", "-i", "@", "-B", "--sysroot", "-specs", "--specs", "-fplugin", "-fprofile"} {
			if strings.HasPrefix(f, p) {
				return nil
			}
		}
	}
	info, err := os.Stat(cc)
	if err != nil || os.MkdirAll(dir, 0o777) != nil {
		return nil
	}
	return &objectStore{dir: dir, compiler: fmt.Sprintf("%s %d %d", cc, info.Size(), info.ModTime().UnixNano()),
		flags: flags, include: include}
}

// keep is where the object of a source belongs, "" for sources whose objects
// depend on more than files that can be listed.
func (s *objectStore) keep(src *source) string {
	if s == nil {
		return ""
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%q\n%s\n", s.compiler, s.flags, src.file)
	for _, name := range []string{"CPATH", "C_INCLUDE_PATH", "GCC_EXEC_PREFIX", "COMPILER_PATH"} {
		fmt.Fprintf(h, "%q\n", os.Getenv(name))
	}
	if !s.read(h, filepath.Join(src.dir, filepath.FromSlash(src.file)), map[string]bool{}) {
		return ""
	}
	return filepath.Join(s.dir, fmt.Sprintf("%x.o", h.Sum(nil)))
}

// read adds a file and those that it includes, also where a condition would
// leave them out; false: they cannot be listed. Headers that are in no folder
// of the build are the compiler's.
func (s *objectStore) read(h hash.Hash, path string, seen map[string]bool) bool {
	if seen[path] {
		return true
	}
	seen[path] = true
	text, err := os.ReadFile(path)
	if err != nil || unlistable.Match(text) {
		return false
	}
	fmt.Fprintf(h, "%d\n%s\n", len(text), text)
	for _, m := range includeRE.FindAllSubmatch(text, -1) {
		name := string(m[1])
		if name == "" || name[0] != '"' && name[0] != '<' {
			return false
		}
		end := strings.IndexAny(name[1:], `">`)
		if end < 0 {
			return false
		}
		dirs := s.include
		if name[0] == '"' {
			dirs = append([]string{filepath.Dir(path)}, dirs...)
		}
		for _, d := range dirs {
			p := filepath.Join(d, filepath.FromSlash(name[1:1+end]))
			if _, err := os.Stat(p); err == nil {
				fmt.Fprintf(h, "%q\n", name)
				if !s.read(h, p, seen) {
					return false
				}
				break
			}
		}
	}
	return true
}

// fetch puts a kept object at a path and reports whether there was one.
func fetch(kept, object string) bool {
	if kept == "" {
		return false
	}
	if os.Link(kept, object) == nil {
		return true
	}
	return copyFile(kept, object) == nil
}

// store keeps an object for later builds. A failure costs no more than a
// compilation.
func store(object, kept string) {
	if kept == "" {
		return
	}
	tmp, err := files.TempDir(filepath.Dir(kept), "new-")
	if err != nil {
		return
	}
	defer files.RemoveTemp(tmp)
	whole := filepath.Join(tmp, "o")
	if copyFile(object, whole) == nil {
		_ = os.Rename(whole, kept)
	}
}

func copyFile(from, to string) (err error) {
	defer fail.Catch(&err)
	r := fail.Must(os.Open(from))
	defer r.Close()
	w := fail.Must(os.Create(to))
	_, err = io.Copy(w, r)
	if e := w.Close(); err == nil {
		err = e
	}
	return err
}
