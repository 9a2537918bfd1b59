// SPDX-License-Identifier: Apache-2.0

//go:build !packed

package runtimec

import (
	"embed"
	"os"
	"path/filepath"

	"github.com/nncc/nncc/ir/fail"
)

// sources is the tree of C; a build with the tag "packed" has an archive of what it is expanded to (packed.go).
//
//go:embed include src kernels.csv
var sources embed.FS

func open() (*Library, error) { return NewLibrary(sources) }

// Tree is the C of this folder with what the manifest says: sources made of
// bodies, prototypes in headers. Keys are paths such as src/nncc/nncc_abs_f32.c.
func Tree() (map[string][]byte, error) { return expand(sources) }

// WriteTree writes the tree into a folder: for compilers and other tools that
// read C.
func WriteTree(dir string) (err error) {
	defer fail.Catch(&err)
	tree := fail.Must(Tree())
	for p, text := range tree {
		to := filepath.Join(dir, filepath.FromSlash(p))
		fail.Check(os.MkdirAll(filepath.Dir(to), 0o777))
		fail.Check(os.WriteFile(to, text, 0o666))
	}
	return nil
}
