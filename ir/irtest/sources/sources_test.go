// SPDX-License-Identifier: Apache-2.0

package sources_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/sources"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

func walked(t *testing.T, root string) []string {
	t.Helper()
	var out []string
	testenv.OK(t, sources.Walk(root, func(rel string) error { out = append(out, rel); return nil }))
	return out
}

// TestWalk: what users leave in a clone is no source.
func TestWalk(t *testing.T) {
	root := t.TempDir()
	for _, f := range []string{"README.md", "cmd/a.go", "cmd/testdata/b.md", ".ci/run",
		"out/digits/README.md", "digits-cortex-m55/README.md", "nncc", "core", "notes.md", ".cache/x.go",
		"cmd/examples/kws-host/report.json", "cmd/examples/kws-host/kws.c", "ir/ort/node_modules/p/index.js"} {
		err := os.MkdirAll(filepath.Dir(filepath.Join(root, f)), 0o777)
		testenv.OK(t, errors.Join(err, os.WriteFile(filepath.Join(root, f), nil, 0o666)))
	}
	want := []string{".ci/run", "README.md", "cmd/a.go", "cmd/testdata/b.md"}
	testenv.Same(t, walked(t, root), want, "walks")
}

// TestEverythingIsWalked: where there is a history, every file in it is a source.
func TestEverythingIsWalked(t *testing.T) {
	root := sharedata.Root()
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		t.Skip("no history beside the sources (an archive): nothing to compare with")
	}
	b, err := exec.Command("git", "-c", "safe.directory=*", "-C", root, "ls-files").Output()
	if err != nil {
		t.Skip("git does not list the files: ", err)
	}
	got := walked(t, root)
	for _, f := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		st, err := os.Lstat(filepath.Join(root, f))
		testenv.Check(t, err != nil || !st.Mode().IsRegular() || slices.Contains(got, f),
			"%s is in the repository and no source", f)
	}
}
