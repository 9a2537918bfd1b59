package driver_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// codeSpan finds `path/like/this` in Markdown; a name counts as a path of the
// repository when it has a slash and begins with a top-level folder, or is a
// relative path next to the document.
var codeSpan = regexp.MustCompile("`([A-Za-z0-9_.][A-Za-z0-9_./-]*)`")

// TestDocsNamePathsThatExist keeps documentation true: a path named in any
// README exists.
func TestDocsNamePathsThatExist(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	top := map[string]bool{}
	es, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range es {
		top[e.Name()] = true
	}
	docs := 0
	err = filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if n := e.Name(); p != root && (n == ".git" || n == "out" || n == "testdata" || n == "node_modules") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".md") {
			return nil
		}
		docs++
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		for _, m := range codeSpan.FindAllStringSubmatch(string(b), -1) {
			name := strings.TrimSuffix(m[1], "/")
			first, _, deep := strings.Cut(name, "/")
			if !deep || !top[first] || strings.Contains(name, "...") {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(name))); err != nil {
				t.Errorf("%s names `%s`, which does not exist", strings.TrimPrefix(p, root+"/"), name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if docs < 5 {
		t.Errorf("found only %d documents", docs)
	}
}

// TestEveryFolderHasREADME: the folders fixed by the project explain
// themselves.
func TestEveryFolderHasREADME(t *testing.T) {
	for _, d := range []string{".", "frontend", "ir", "lower", "schedule", "codegen", "runtime_c", "boards", "cmd"} {
		if _, err := os.Stat(filepath.Join("..", "..", "..", d, "README.md")); err != nil {
			t.Errorf("%s has no README.md", d)
		}
	}
}
