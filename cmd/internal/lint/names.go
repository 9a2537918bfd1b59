// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir/irtest/sources"
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

// namesIn are the names of sources in a text.
func namesIn(text string) []string {
	list := file.FindAllString(text, -1)
	for _, w := range word.FindAllString(text, -1) {
		if named.MatchString(w) {
			list = append(list, w)
		}
	}
	return slices.DeleteFunc(list, example.MatchString)
}
