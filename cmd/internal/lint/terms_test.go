// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/runtime_c/spdx"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestTerms: every source of this repository says under which terms it is, and
// no row of unmarked is without use.
func TestTerms(t *testing.T) {
	root := sharedata.Root()
	bad, err := terms(root)
	testenv.OK(t, err)
	for file := range bad {
		t.Errorf("%s: wants the line %s%s (go run ./cmd/internal/lint -terms)", file, spdx.Tag, expression(file))
	}
	for file := range unmarked {
		if b, err := os.ReadFile(filepath.Join(root, file)); err != nil || spdx.Of(b) != "" {
			t.Errorf("%s: %v, and it has the line: the row can go", file, err)
		}
	}
}

// TestWriteTerms: files get the line where their language wants it, once.
func TestWriteTerms(t *testing.T) {
	dir := t.TempDir()
	line := spdx.Tag + spdx.Repository
	for name, c := range map[string]struct{ text, want string }{
		"cmd/a.go":            {"// Package a.\npackage a\n", "// " + line + "\n\n// Package a.\npackage a\n"},
		".ci/run":             {"#!/bin/sh\ntrue\n", "#!/bin/sh\n# " + line + "\ntrue\n"},
		"cmd/words.txt":       {"a\n", "a\n"},
		"cmd/page.html":       {"<!doctype html>\n<p>", "<!doctype html>\n<!-- " + line + " -->\n<p>"},
		"cmd/wrong.c":         {"/* " + spdx.Tag + "GPL-2.0 */\nint a;\n", "/* " + line + " */\nint a;\n"},
		"codegen/tmpl/a.tmpl": {"{{.}}\n", "{{- /* " + spdx.Tag + spdx.Emitted + " */ -}}\n{{.}}\n"},
	} {
		p := filepath.Join(dir, name)
		testenv.OK(t, os.MkdirAll(filepath.Dir(p), 0o777))
		testenv.OK(t, os.WriteFile(p, []byte(c.text), 0o666))
		told := checkTerms(dir, false, &strings.Builder{})
		if (told != nil) != (c.text != c.want) {
			t.Errorf("%s: told %v", name, told)
		}
		for range 2 {
			testenv.OK(t, checkTerms(dir, true, &strings.Builder{}))
		}
		if got, err := os.ReadFile(p); err != nil || string(got) != c.want {
			t.Errorf("%s: %q, want %q (%v)", name, got, c.want, err)
		}
	}
}
