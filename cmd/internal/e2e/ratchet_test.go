// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sort"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"

	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/verify"
)

// figures are what a program costs; smaller is better.
type figures struct {
	Arena        int    `json:"arena_bytes"`
	Flash        uint64 `json:"flash_bytes,omitempty"` // code, constants, weights
	Instructions uint64 `json:"instructions,omitempty"`
}

// TestRatchet holds arena, flash and instructions of the shipped model (and of
// the reference models where they are) at what was reached before: a figure may
// only fall, and -update writes the smaller one down. Compilers differ between
// Debian releases, so flash and instructions have 2 % of room. Where
// a kernel buys instructions with flash on purpose, the figure is raised by hand
// and the commit says so.
func TestRatchet(t *testing.T) {
	path := filepath.Join("testdata", "ratchet.json")
	want := map[string]figures{}
	if b, err := os.ReadFile(path); err == nil {
		require(t, json.Unmarshal(b, &want))
	}
	got := map[string]figures{}
	for _, board := range []string{"cortex-m0plus", "cortex-m4", "cortex-m55"} {
		c := digitsConfig(board)
		measure(t, got, "digits@"+board, c, true)
		c.Weights = option.Int4Weights
		measure(t, got, "digits int4@"+board, c, true)
		c.Weights, c.Precision = option.Int8Weights, option.Int16x8
		measure(t, got, "digits int16x8@"+board, c, true)
	}
	for _, name := range []string{"kws_int8", "ic_int8", "vww_int8", "hello_world_int8"} {
		if m := sharedata.Find("models", name+".onnx"); m != "" {
			measure(t, got, name+"@cortex-m55", config(m, "cortex-m55"), name != "vww_int8")
			measure(t, got, name+"@cortex-m0plus", config(m, "cortex-m0plus"), false)
		}
	}
	var names []string
	for n := range got {
		names = append(names, n)
	}
	sort.Strings(names)
	tighter := false
	for _, n := range names {
		g, w := got[n], want[n]
		if w == (figures{}) {
			if !irtest.Update() {
				t.Errorf("%s is not in the ratchet: run with -update", n)
			}
			want[n], tighter = g, true
			continue
		}
		if g.Arena > w.Arena {
			t.Errorf("%s: arena %d bytes, was %d", n, g.Arena, w.Arena)
		}
		if w.Flash > 0 && g.Flash > w.Flash+w.Flash/50 {
			t.Errorf("%s: flash %d bytes, was %d", n, g.Flash, w.Flash)
		}
		if g.Instructions > w.Instructions+w.Instructions/50 {
			t.Errorf("%s: %d instructions, were %d", n, g.Instructions, w.Instructions)
		}
		m := figures{min(g.Arena, w.Arena), w.Flash, w.Instructions}
		if g.Flash > 0 && (w.Flash == 0 || g.Flash < w.Flash) {
			m.Flash = g.Flash
		}
		if g.Instructions > 0 {
			m.Instructions = min(g.Instructions, w.Instructions)
		}
		if m != w {
			want[n], tighter = m, true
		}
	}
	if irtest.Update() && tighter && !t.Failed() {
		require(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require(t, os.WriteFile(path, report.JSON(want), 0o666))
	}
}

func measure(t testing.TB, got map[string]figures, key string, c *driver.Config, execute bool) {
	t.Helper()
	o, err := c.Compile()
	if err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	f := figures{Arena: o.Lowered.Program.ArenaBytes}
	if execute {
		im := buildSize(t, o)
		f.Flash = im.Sizes.Flash()
		c.Cases = 1
		cases := mustCases(t, c, o)
		res, err := run.Run(context.Background(), o.Board, im,
			[]run.Case{{Inputs: verify.Memory(cases[0].Inputs, o.Lowered.Graph.In)}})
		require(t, err)
		f.Instructions = res.Cases[0].Instructions
	}
	got[key] = f
}

// buildSize builds for size, as code bytes are compared.
func buildSize(t testing.TB, o *driver.Compiled) *run.Image {
	t.Helper()
	dir := folder(t, o.Files)
	im := mustBuild(t, o.Board, dir, run.BuildOptions{Opt: "size"})
	return im
}
