// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nncc/nncc/runtime_c/spdx"
)

// unmarked are files whose language has comments and which have no SPDX line,
// with the reason.
var unmarked = map[string]string{
	"frontend/tflite/fb/fb.go": "written by flatc from schema.fbs, which has the line",
}

// emitted are the folders of what becomes part of the folders that users get.
var emitted = []string{"runtime_c/src/", "runtime_c/include/", "runtime_c/port/", "codegen/tmpl/",
	"cmd/internal/report/page/"}

// expression is the licence of a source of this repository.
func expression(file string) string {
	in := func(dir string) bool { return strings.HasPrefix(file, dir) }
	if slices.ContainsFunc(emitted, in) && path.Ext(file) != ".go" && path.Ext(file) != ".md" {
		return spdx.Emitted
	}
	return spdx.Repository
}

// isSource reports a file that has to have the line: all whose language has
// comments, but for documents, and scripts without an extension.
func isSource(file string, text []byte) bool {
	return spdx.Takes(file) && path.Ext(file) != ".md" && path.Base(file) != "LICENSE" ||
		path.Ext(file) == "" && bytes.HasPrefix(text, []byte("#!"))
}

// checkTerms tells of sources below root without their line, or writes it.
func checkTerms(root string, write bool, out io.Writer) error {
	bad, err := terms(root)
	if err != nil {
		return err
	}
	for _, file := range slices.Sorted(maps.Keys(bad)) {
		if !write {
			fmt.Fprintf(out, "%s: wants the line %s%s\n", file, spdx.Tag, expression(file))
		} else if err := os.WriteFile(filepath.Join(root, file), bad[file], 0o666); err != nil {
			return err
		}
	}
	if len(bad) > 0 && !write {
		return fmt.Errorf("%d sources do not say their terms; go run ./cmd/internal/lint -terms writes the lines",
			len(bad))
	}
	return nil
}

// terms are the sources below root whose SPDX line is missing or another, with
// the text that they should have.
func terms(root string) (map[string][]byte, error) {
	out := map[string][]byte{}
	err := walk(root, func(rel string, text []byte) error {
		if unmarked[rel] != "" || !isSource(rel, text) {
			return nil
		}
		if want := expression(rel); spdx.Of(text) != want {
			name := rel
			if !spdx.Takes(rel) {
				name += ".sh" // a script by its first line
			}
			out[rel] = spdx.Stamp(name, spdx.Strip(text), want)
		}
		return nil
	})
	return out, err
}
