// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
)

// TestMakeWord: make and the shell hand a flag over as it is, whatever stands in
// it, and run nothing.
func TestMakeWord(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("make is not installed")
	}
	words := []string{"-O2", "-DX=a b", "-DY=$(shell touch pwned)", "-DZ=`touch pwned`", "-DV=$HOME$$x${HOME}",
		"-DH=#1", `-DB=\#2`, `-DB=\\#2\`, `-DQ='x'"y"`, "-DS=;touch pwned", "-DP=%c*?[a]~", "~", "-DA=a=b:c",
		"&& touch pwned", `\`, `$`, "é"}
	const signs = ` $#\'"();%=a` + "`"
	r := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		var b strings.Builder
		for range 1 + r.IntN(12) {
			b.WriteByte(signs[r.IntN(len(signs))])
		}
		if w := b.String(); strings.TrimSpace(w) != "" {
			words = append(words, w)
		}
	}
	dir := t.TempDir()
	list := lists.Map(words, makeWord)
	show := filepath.Join(dir, "show args")
	testenv.OK(t, os.WriteFile(show, []byte("#!/bin/sh\nprintf '%s\\n' \"$@\" > got\n"), 0o755))
	text := "CC = " + makeWord(show) + "\nCFLAGS ?= " + strings.Join(list, " ") +
		"\nFLAGS = $(CC) $(CFLAGS)\nLINE = '$(subst ','\\'',$(FLAGS))'\nall:\n\t$(CC) $(CFLAGS)\n\t@printf '%s\\n' " +
		"$(LINE) > line\n"
	testenv.OK(t, os.WriteFile(filepath.Join(dir, "Makefile"), []byte(text), 0o644))
	cmd := exec.Command("make", "-s")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, text)
	}
	got, err := os.ReadFile(filepath.Join(dir, "got"))
	want := strings.Join(words, "\n") + "\n"
	testenv.Check(t, err == nil && string(got) == want, "%v: got\n%s\nwant\n%s", err, got, want)
	testenv.Check(t, testenv.Err(os.Stat(filepath.Join(dir, "pwned"))) != nil, "a command in a flag was run")
}

// TestLocalNames: names are apart, whatever they are made of, and no input or output has to give way.
func TestLocalNames(t *testing.T) {
	io := newIONaming("m")
	io.names("m", []string{"at_x", "i8", "step_0_params"})
	n := &localNames{io, map[string]int{}}
	seen := map[string]bool{}
	for _, s := range []string{"X_2", "X", "X", "X", "X_2", "X_BYTES", "X_3", ""} {
		got := n.name("M_AT_" + s)
		testenv.Check(t, !seen[got] && !io.taken[got], "%s is taken", got)
		seen[got] = true
	}
	testenv.Equal(t, n.name("m_i8"), "m_i8_2", "beside an output m_i8")
}

func TestTail(t *testing.T) {
	for _, c := range [][2]string{{"/conv/Conv", "conv_Conv"}, {"", "value"}, {"größe 世界", "gr_e"},
		{"世界", "value"},
		{strings.Repeat("long_", 30) + "end", "long_long_long_long_long_long_end"},
		{strings.Repeat("x", 200), strings.Repeat("x", maxTail)}} {
		if got := tail(c[0]); got != c[1] {
			t.Errorf("tail(%q) = %q, not %q", c[0], got, c[1])
		}
	}
}
