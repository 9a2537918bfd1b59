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
	"regexp"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir/irtest/sources"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/runtime_c/spdx"
)

var (
	// quoted is what stands between backquotes in a line.
	quoted = regexp.MustCompile("`[^`\n]+`")
	word   = regexp.MustCompile(`\w+`)
	// named are words that name something of the sources: aName, AName, nncc_name, arm_name.
	named = regexp.MustCompile(`^(_?[A-Za-z][A-Za-z0-9]*[a-z0-9][A-Z][A-Za-z0-9]*|(nncc|arm)_\w*[a-z0-9])$`)
	// file is the name of a Go source, with or without folders. Others may be users'.
	file = regexp.MustCompile(`[\w./-]*\w\.go\b`)
	// example is a word with a place holder (NAME, NameAttrs), the end of one (_test.go), or a
	// symbol with its revision.
	example = regexp.MustCompile(`[A-Z]{3,}|^Name[A-Z]|(^|/)_|_r[0-9a-f]{8}$`)
)

// checkNames tells of names in README.md files below root that the sources do not have:
// of functions, types, tests and files.
func checkNames(root string, out io.Writer) error {
	gone, err := goneNames(root)
	for _, s := range gone {
		fmt.Fprintln(out, s)
	}
	if err == nil && len(gone) > 0 {
		err = fmt.Errorf("%d names in README.md files that no source has", len(gone))
	}
	return err
}

// goneNames are those names, with their places.
func goneNames(root string) ([]string, error) {
	l := library{words: map[string]bool{}, files: map[string]bool{}, readmes: map[string]string{}}
	if err := l.read(root); err != nil {
		return nil, err
	}
	var gone []string
	for name, text := range l.readmes {
		for i, line := range strings.Split(text, "\n") {
			for _, w := range namesIn(strings.Join(quoted.FindAllString(line, -1), " ")) {
				if !l.words[w] && !l.files[path.Base(w)] {
					gone = append(gone, fmt.Sprintf("%s:%d: no source has %s", name, i+1, w))
				}
			}
		}
	}
	slices.Sort(gone)
	return gone, nil
}

// library is what the files below a folder have: names, names of the files, texts of README.md.
type library struct {
	words, files map[string]bool
	readmes      map[string]string
}

func (l *library) read(root string) error {
	return walk(root, func(file string, text []byte) error {
		l.add(file, text)
		return nil
	})
}

// walk calls f with the path below root and the text of every file of the repository.
func walk(root string, f func(file string, text []byte) error) error {
	return sources.Walk(root, func(rel string) error {
		text, err := os.ReadFile(filepath.Join(root, rel))
		if err != nil {
			return err
		}
		return f(rel, text)
	})
}

func (l *library) add(name string, text []byte) {
	l.files[path.Base(name)] = true
	if path.Base(name) == "README.md" {
		l.readmes[name] = string(text)
		return
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return // no text
	}
	for _, w := range word.FindAll(text, -1) {
		if named.Match(w) {
			l.words[string(w)] = true
		}
	}
}

func namesIn(text string) []string {
	list := file.FindAllString(text, -1)
	list = append(list, lists.Filter(word.FindAllString(text, -1), named.MatchString)...)
	return slices.DeleteFunc(list, example.MatchString)
}

// unmarked are files whose language has comments and which have no SPDX line,
// with the reason.
var unmarked = map[string]string{
	"frontend/tflite/fb/fb.go": "written by flatc from schema.fbs, which has the line",
}

// emitted are the folders of what becomes part of the folders that users get.
var emitted = []string{"runtime_c/src/", "runtime_c/include/", "runtime_c/port/", "codegen/tmpl/", "boards/run/tmpl/",
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
