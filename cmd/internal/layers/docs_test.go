// SPDX-License-Identifier: Apache-2.0

package layers_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"github.com/nncc/nncc/ir/irtest/sources"
)

// codeSpan finds `path/like/this` in Markdown; a name counts as a path of the
// repository when it has a slash and begins with a top-level folder, or is a
// relative path next to the document.
var codeSpan = regexp.MustCompile("`([A-Za-z0-9_.][A-Za-z0-9_./-]*)`")

// pathTables are the headings of table columns whose entries are files and
// folders beside the document, or from the root.
var pathTables = regexp.MustCompile(`^\|\s*(folder|files?|package|script|file or folder)\s*\|`)

// tablePaths are the paths in the first column of such tables of a document:
// every code span of a row, a_*.go being a pattern.
func tablePaths(doc string) []string {
	var out []string
	in := false
	for _, line := range strings.Split(doc, "\n") {
		switch {
		case !strings.HasPrefix(line, "|"):
			in = false
		case pathTables.MatchString(line):
			in = true
		case in:
			first, _, _ := strings.Cut(line[1:], "|")
			for _, m := range tableSpan.FindAllStringSubmatch(first, -1) {
				out = append(out, m[1])
			}
		}
	}
	return out
}

var tableSpan = regexp.MustCompile("`([^`]+)`")

// namesFile says whether path exists. A file name in capitals (FUNCTION.c,
// NAME.txtar) stands for any file of its folder with that extension.
func namesFile(path string) bool {
	if _, err := os.Stat(path); err == nil {
		return true
	}
	ext := filepath.Ext(path)
	stem := strings.TrimSuffix(filepath.Base(path), ext)
	if ext == "" || stem != strings.ToUpper(stem) {
		return false
	}
	like, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"+ext))
	return err == nil && len(like) > 0
}

// missingTablePaths are those that exist neither beside the document nor from
// the root.
func missingTablePaths(root, folder, doc string) []string {
	var out []string
	for _, name := range tablePaths(doc) {
		found := false
		for _, base := range []string{folder, root} {
			m, err := filepath.Glob(filepath.Join(base, filepath.FromSlash(strings.TrimSuffix(name, "/"))))
			found = found || err == nil && len(m) > 0
		}
		if !found {
			out = append(out, name)
		}
	}
	return out
}

// TestTablePaths: the check itself finds a row about what is not there.
func TestTablePaths(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []string{"here", "a_1.go"} {
		testenv.OK(t, os.WriteFile(filepath.Join(dir, n), nil, 0o666))
	}
	doc := "| folder | what |\n| --- | --- |\n| `here/`, `gone/` | `not looked at` |\n| `a_*.go` | |\n\n| name |\n| " +
		"--- |\n| `other` |\n"
	if got := missingTablePaths(t.TempDir(), dir, doc); len(got) != 1 || got[0] != "gone/" {
		t.Errorf("missing: %q, want gone/", got)
	}
}

// TestDocsNamePathsThatExist keeps documentation true: a path named in any
// README exists, and so does everything that a table of files or folders lists.
func TestDocsNamePathsThatExist(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	docs := 0
	err := sources.Walk(root, func(p string) error {
		if !strings.HasSuffix(p, ".md") || strings.Contains(p, "/testdata/") {
			return nil
		}
		docs++
		b, err := os.ReadFile(filepath.Join(root, p))
		if err != nil {
			return err
		}
		for _, name := range missingTablePaths(root, filepath.Join(root, filepath.Dir(p)), string(b)) {
			t.Errorf("%s has a table row for `%s`, which does not exist", p, name)
		}
		for _, m := range codeSpan.FindAllStringSubmatch(string(b), -1) {
			name := strings.TrimSuffix(m[1], "/")
			first, _, deep := strings.Cut(name, "/")
			if !deep || !slices.Contains(sources.Folders, first) || strings.Contains(name, "...") {
				continue
			}
			if !namesFile(filepath.Join(root, filepath.FromSlash(name))) {
				t.Errorf("%s names `%s`, which does not exist", p, name)
			}
		}
		return nil
	})
	testenv.OK(t, err)
	if docs < 5 {
		t.Errorf("found only %d documents", docs)
	}
}

// TestEveryFolderHasREADME: the folders fixed by the project explain
// themselves.
func TestEveryFolderHasREADME(t *testing.T) {
	for _, d := range append([]string{"."}, sources.Folders...) {
		if _, err := os.Stat(filepath.Join("..", "..", "..", d, "README.md")); err != nil {
			t.Errorf("%s has no README.md", d)
		}
	}
}
