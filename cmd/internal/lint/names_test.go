// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nncc/nncc/ir/irtest/sharedata"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestNames: what README.md files call by name is there.
func TestNames(t *testing.T) {
	gone, err := goneNames(sharedata.Root())
	testenv.OK(t, err)
	for _, s := range gone {
		t.Error(s)
	}
}

// TestGoneNames: names of functions and files that are not there are found, place holders are not.
func TestGoneNames(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"cmd/a/code.go": "package a\nfunc renderOne() { TestThis() }\n",
		"cmd/a/README.md": "" +
			"`renderOne`, `renderAll` and `Run`; renderNone\n`code.go`, `b/gone.go`, `a.b.TestThat(x)`\n" +
			"`nncc_NAME_s8`, `nncc_a_s8`, `nncc_lut_r0123abcd`, `DIR/NAME.go`, `_quant.go`, `main.c`\n",
	} {
		p := filepath.Join(dir, name)
		testenv.OK(t, os.MkdirAll(filepath.Dir(p), 0o777))
		testenv.OK(t, os.WriteFile(p, []byte(text), 0o666))
	}
	got, err := goneNames(dir)
	want := []string{"cmd/a/README.md:1: no source has renderAll", "cmd/a/README.md:2: no source has TestThat",
		"cmd/a/README.md:2: no source has b/gone.go", "cmd/a/README.md:3: no source has nncc_a_s8"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}
