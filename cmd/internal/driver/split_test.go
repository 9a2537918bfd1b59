// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards/run"
)

// twoRAMs is a board whose memories for the arena are a small fast one and a larger slow one.
func twoRAMs(t *testing.T, parent, fast, slow string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "two.yaml")
	require(t, os.WriteFile(path, []byte("doc: two memories\ninherits: ["+parent+"]\nstack: 4K\nmemory:\n"+
		"  rom: {origin: 0x08000000, size: 1M, holds: [vectors, code, rodata, weights]}\n"+
		"  fast: {"+fast+", holds: [arena]}\n"+
		"  slow: {"+slow+", holds: [stack, data, arena], wait: {states: 4, line: 8, source: made up}}\n"), 0o666))
	return path
}

// splitDigits compiles the shipped model for a board.
func splitDigits(t *testing.T, board string, change func(c *Config)) (*Compiled, error) {
	t.Helper()
	digits := filepath.Join("..", "..", "nncc", "examples", "digits")
	c := config(filepath.Join(digits, "digits.onnx"), board)
	c.Calib, c.Cases, c.Layers = []string{filepath.Join(digits, "digits_calib.npz")}, 2, true
	if change != nil {
		change(c)
	}
	return c.Compile()
}

// TestSplitArena: an arena that fits none of a board's memories but two of them is divided,
// verified in those of the machine, and what writes beyond a part is found.
func TestSplitArena(t *testing.T) {
	for _, k := range []struct{ name, parent, fast, slow string }{
		{"two memories", "cortex-m55", "origin: 0x20000000, size: 5K", "origin: 0x21000000, size: 18K"},
		{"halves of one", "cortex-m4", "origin: 0x20000000, size: 5K", "origin: 0x20002000, size: 18K"},
	} {
		t.Run(k.name, func(t *testing.T) {
			board := twoRAMs(t, k.parent, k.fast, k.slow)
			o, err := splitDigits(t, board, func(c *Config) { c.Strict = true })
			require(t, err)
			p, m := o.Lowered.Program, o.Report.Memory
			if len(p.Parts) != 2 || len(m.ArenaParts) != 2 || !o.Placement.Fits() || m.WaitCycles < m.WaitCyclesBound ||
				m.WaitCyclesBound == 0 || p.Parts[0].Bytes > 5<<10 || p.Parts[1].Bytes > 14<<10 {
				t.Fatalf("parts %+v, %+v", p.Parts, m)
			}
			v, err := o.Verify(context.Background())
			require(t, err)
			if v.Differs() || strings.Join(v.Guards, " ") != "fast slow" || v.Instructions == 0 {
				t.Errorf("%+v", v)
			}
			if k.parent == "cortex-m55" {
				brokenGuards(t, o)
			}
		})
	}
}

// brokenGuards runs programs that write a byte before or behind a part.
func brokenGuards(t *testing.T, o *Compiled) {
	for _, write := range []string{"a->fast[DIGITS_ARENA_FAST_BYTES] = 1;", "a->slow[-1] = 1;"} {
		dir := t.TempDir()
		require(t, writeFiles(dir, o.Files))
		path := filepath.Join(dir, "digits.c")
		src, err := os.ReadFile(path)
		require(t, err)
		const trace = "    DIGITS_TRACE(-1);\n"
		require(t, os.WriteFile(path, bytes.Replace(src, []byte(trace), []byte(trace+"    "+write+"\n"), 1), 0o666))
		im, err := run.Build(context.Background(), o.Board, dir, run.BuildOptions{Opt: o.Config.buildOpt()})
		require(t, err)
		t.Cleanup(func() { im.Close() })
		_, err = run.Run(context.Background(), o.Board, im, []run.Case{{Inputs: [][]byte{make([]byte, 784)}}})
		if err == nil || !strings.Contains(err.Error(), "memory that does not belong to the model was written") {
			t.Errorf("%s: %v", write, err)
		}
	}
}

// TestNotSplit: what stands against parts is said beside the bytes that are missing.
func TestNotSplit(t *testing.T) {
	board := twoRAMs(t, "cortex-m4", "origin: 0x20000000, size: 5K", "origin: 0x20002000, size: 18K")
	small := twoRAMs(t, "cortex-m4", "origin: 0x20000000, size: 5K", "origin: 0x20002000, size: 8K")
	for _, k := range []struct {
		board, want string
		change      func(c *Config)
	}{
		{small, "in one piece, and no region has more than", nil},
		{board, "the crate of --project rust has one arena", func(c *Config) { c.Project = "rust" }},
	} {
		o, err := splitDigits(t, k.board, k.change)
		require(t, err)
		said := strings.Join(o.Report.Warnings, "\n")
		if len(o.Lowered.Program.Parts) > 0 || !strings.Contains(said, k.want) ||
			!strings.Contains(said, "are missing") {
			t.Errorf("%s: %+v\n%s", k.want, o.Lowered.Program.Parts, said)
		}
	}
}

// TestSplitNotStaged: an arena in parts leaves no room to choose for copies of constants.
func TestSplitNotStaged(t *testing.T) {
	board := twoRAMs(t, "cortex-m4", "origin: 0x20000000, size: 5K", "origin: 0x20002000, size: 18K")
	o, err := splitDigits(t, board, func(c *Config) { c.StageWeights = true })
	require(t, err)
	if said := strings.Join(o.Report.Notes, "\n"); len(o.Lowered.Program.Parts) != 2 ||
		!strings.Contains(said, "nothing is staged: the arena is in parts") {
		t.Errorf("%+v\n%s", o.Lowered.Program.Parts, said)
	}
}
