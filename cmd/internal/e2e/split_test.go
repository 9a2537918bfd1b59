// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
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
func splitDigits(t *testing.T, board string, change func(c *driver.Config)) (*driver.Compiled, error) {
	t.Helper()
	c := digitsConfig(board)
	c.Cases, c.Layers = 2, true
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
			o, err := splitDigits(t, board, func(c *driver.Config) { c.Strict = true })
			require(t, err)
			p, m := o.Lowered.Program, o.Report.Memory
			if len(p.Parts) != 2 || len(m.ArenaParts) != 2 || !o.Placement.Fits() || m.WaitCycles < m.WaitCyclesBound ||
				m.WaitCyclesBound == 0 || p.Parts[0].Bytes > 5<<10 || p.Parts[1].Bytes > 14<<10 {
				t.Fatalf("parts %+v, %+v", p.Parts, m)
			}
			v := mustVerify(t, o)
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
func brokenGuards(t *testing.T, o *driver.Compiled) {
	for _, write := range []string{"a->fast[DIGITS_ARENA_FAST_BYTES] = 1;", "a->slow[-1] = 1;"} {
		dir := folder(t, o.Files)
		path := filepath.Join(dir, "digits.c")
		src, err := os.ReadFile(path)
		require(t, err)
		const trace = "    DIGITS_TRACE(-1);\n"
		require(t, os.WriteFile(path, bytes.Replace(src, []byte(trace), []byte(trace+"    "+write+"\n"), 1), 0o666))
		im := mustBuild(t, o.Board, dir, run.BuildOptions{Opt: "speed"})
		_, err = run.Run(context.Background(), o.Board, im, []run.Case{{Inputs: [][]byte{make([]byte, 784)}}})
		if err == nil || !strings.Contains(err.Error(), "memory that does not belong to the model was written") {
			t.Errorf("%s: %v", write, err)
		}
	}
}

// TestNotSplit: what stands against parts is said beside the bytes that are missing.
func TestNotSplit(t *testing.T) {
	small := twoRAMs(t, "cortex-m4", "origin: 0x20000000, size: 5K", "origin: 0x20002000, size: 8K")
	o, err := splitDigits(t, small, nil)
	require(t, err)
	said := strings.Join(o.Report.Warnings, "\n")
	if len(o.Lowered.Program.Parts) > 0 || !strings.Contains(said, "in one piece, and no region has more than") ||
		!strings.Contains(said, "are missing") {
		t.Errorf("%+v\n%s", o.Lowered.Program.Parts, said)
	}
}

// keeper is a network with state that is as large as some of its values.
//
//go:embed testdata/keeper.ir
var keeper string

// TestSplitWithAll: an arena in parts beside state, copies of constants in what room the
// memories leave, and constants that are bound: every layer is right, the guards around the
// parts hold, and the dump says which part a value lies in.
func TestSplitWithAll(t *testing.T) {
	model := modelFile(t, keeper)
	for i, core := range testenv.Boards("cortex-m4", "cortex-m55") {
		for k, bound := range []bool{false, true} {
			if i != k && !testenv.Long() {
				continue
			}
			t.Run(fmt.Sprintf("%s bound %v", core, bound), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "all.yaml")
				slow := map[string]string{"cortex-m4": "0x20002000", "cortex-m55": "0x21000000"}[core]
				require(t, os.WriteFile(path, []byte("doc: all\ninherits: ["+core+"]\nstack: 4K\nmemory:\n"+
					"  rom: {origin: 0x08000000, size: 1M, holds: [vectors, code, rodata, weights], "+
					"wait: {states: 60, line: 8, source: made up}}\n"+
					"  fast: {origin: 0x20000000, size: 5K, holds: [arena]}\n"+
					"  slow: {origin: "+slow+", size: 13K, holds: [stack, data, arena], "+
					"wait: {states: 4, line: 8, source: made up}}\n"), 0o666))
				c := config(model, path)
				c.States, c.StageWeights, c.WeightsFile, c.Cases, c.Layers = []string{"n=h"}, true, bound, 3, true
				c.DumpIR = filepath.Join(t.TempDir(), "dump")
				c.Strict = false
				o := mustCompile(t, c)
				p, m := o.Lowered.Program, o.Report.Memory
				if len(p.Parts) != 2 || p.StateBytes == 0 || m.Copies == nil || m.Copies.StagedBytes == 0 ||
					m.Copies.FetchedBytes != 0 || !o.Placement.Fits() || (o.Info.WeightsFile != "") != bound {
					t.Fatalf("parts %+v, copies %+v\n%s\n%+v", p.Parts, m.Copies,
						strings.Join(o.Report.Notes, "\n"), o.Placement)
				}
				text, err := os.ReadFile(filepath.Join(c.DumpIR, "program.txt"))
				require(t, err)
				for _, want := range []string{"\n  in \"fast\", ", "\n  in \"slow\", ", " # in \"fast\" at ",
					" # in \"slow\" at ", ", staged "} {
					if !strings.Contains(string(text), want) {
						t.Errorf("no %q in\n%.2000s", want, text)
					}
				}
				v := mustVerify(t, o)
				if v.Differs() || strings.Join(v.Guards, " ") != "fast slow" {
					t.Errorf("%+v", v)
				}
			})
		}
	}
}

// tightBoard is a board with two memories of which neither holds an arena of so many bytes.
func tightBoard(t *testing.T, core string, arena int) *boards.Spec {
	t.Helper()
	slow := map[string]string{"cortex-m4": "0x20100000", "cortex-m55": "0x21000000"}[core]
	path := filepath.Join(t.TempDir(), "tight.yaml")
	require(t, os.WriteFile(path, fmt.Appendf(nil, "doc: tight\ninherits: [%s]\nstack: 4K\nmemory:\n"+
		"  rom: {origin: 0x08000000, size: 1M, holds: [vectors, code, rodata, weights], "+
		"wait: {states: 60, line: 8, source: made up}}\n"+
		"  fast: {origin: 0x20000000, size: %d, holds: [arena]}\n"+
		"  slow: {origin: %s, size: %d, holds: [stack, data, arena], "+
		"wait: {states: 4, line: 8, source: made up}}\n", core, arena*7/10/16*16, slow, 4096+arena*8/10/16*16), 0o666))
	spec := mustLoad(t, path)
	return spec
}

// TestSplitDrawn: drawn networks in parts, with constants that are bound or linked, with and
// without copies: every layer of every one is right on two cores, the guards hold.
func TestSplitDrawn(t *testing.T) {
	from, count := testenv.Range(t, 6)
	if testenv.Long() {
		count = max(count, 60)
	}
	split, staged := 0, 0
	for seed := from; seed < from+count; seed++ {
		core := []string{"cortex-m4", "cortex-m55"}[seed%2]
		set := func(c *driver.Config) {
			c.WeightsFile, c.StageWeights, c.Layers, c.Cases = seed/2%2 == 0, seed/4%2 == 0, true, 2
		}
		spec := mustLoad(t, core)
		net := irtest.Gen(uint64(seed), tensor.F32)
		whole := compileFor(t, net, "net", spec, set)
		if whole == nil || whole.Lowered.Program.ArenaBytes < 1024 {
			continue
		}
		o := compileFor(t, net, "net", tightBoard(t, core, whole.Lowered.Program.ArenaBytes), set)
		if o == nil || len(o.Lowered.Program.Parts) == 0 {
			continue
		}
		split++
		if o.Lowered.Program.StagedBytes > 0 {
			staged++
		}
		v := mustVerify(t, o)
		if v.Differs() || len(v.Guards) != len(o.Lowered.Program.Parts) {
			t.Errorf("network %d on %s: %+v", seed, core, v)
		}
	}
	if t.Logf("%d of %d in parts, %d with copies", split, count, staged); split == 0 {
		t.Error("no arena is in parts")
	}
}
