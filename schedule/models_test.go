// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/schedule"
	"github.com/rogpeppe/go-internal/txtar"
)

// arena checks size and bound of a program.
func arena(t testing.TB, p *program.Program) {
	t.Helper()
	if b := bound(p); b != p.LowerBound {
		t.Errorf("the buffers add up to %d live bytes, the lower bound is %d\n%s", b, p.LowerBound, p)
	}
	testenv.Check(t, p.ArenaBytes*100 <= p.LowerBound*102 || p.ArenaBytes <= program.Align,
		"arena %d, lower bound %d\n%s", p.ArenaBytes, p.LowerBound, p)
}

// TestRandom compiles random networks for cores with different scratch memory
// and replays them.
func TestRandom(t *testing.T) {
	n := uint64(80)
	if testing.Short() {
		n = 20
	}
	cores := []kernel.Core{{}, {DSP: true}, {DSP: true, MVE: true, FPU: true}, {Host: true}}
	failed := uint64(0)
	for seed := range n {
		g := irtest.Gen(seed, tensor.F32)
		o := lower.Options{Precision: []option.Precision{option.Float32, option.Int8}[seed/4%2], FloatIO: seed%5 == 0,
			NativeIO: seed%3 == 0}
		o.Target.Core = cores[seed%4]
		r, err := compile(g, o)
		if err != nil {
			t.Logf("seed %d: %v", seed, err)
			failed++
			continue
		}
		arena(t, built(t, r.Graph, r.Low).Program)
	}
	testenv.Check(t, failed*10 <= n, "%d of %d networks have a node without a kernel", failed, n)
}

// macs of a graph, to leave out what takes long in the interpreter.
func macs(g *ir.Graph) (n int64) {
	for _, x := range g.Nodes {
		if x.Op.MACs != nil {
			n += x.Op.MACs(x)
		}
	}
	return n
}

// TestSharedModels schedules real networks for a core with and one without
// vector instructions, and replays them.
func TestSharedModels(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(irtest.Shared(t, "models"), "*.onnx"))
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".onnx")
		t.Run(name, func(t *testing.T) {
			testenv.SkipIf(t, testing.Short(), "short")
			g := load(t, f)
			precision := option.Float32
			if lower.Quantised(g) {
				precision = option.Int8
			}
			slow := macs(g) > 10e6
			for _, core := range []kernel.Core{{}, {DSP: true, MVE: true, FPU: true}} {
				r, err := compile(g.Clone(), lower.Options{Precision: precision, Target: kernel.Options{Core: core}})
				testenv.Require(t, err == nil, "not lowered: %v", err)
				s := testenv.Must(schedule.Build(r.Graph, r.Low))(t)
				p := s.Program
				arena(t, p)
				t.Logf("%d steps, %d without code, arena %d, bound %d (optimal %v)", len(p.Steps), len(p.Views),
					p.ArenaBytes, p.LowerBound, p.PeakOptimal)
				if slow {
					continue
				}
				if err := replayed(r.Graph, s, 1); err != nil {
					t.Errorf("%v\n%s", err, p)
				}
			}
		})
	}
}

// TestGolden: graphs (the bodies of their text, "in.ir") and the programs that
// they become ("out.program", rewritten with -update).
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	testenv.Require(t, err == nil && len(files) != 0, "no golden files (%v)", err)
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txtar"), func(t *testing.T) {
			a := testenv.Must(txtar.ParseFile(f))(t)
			if irtest.Update() && len(a.Files) == 1 {
				a.Files = append(a.Files, txtar.File{Name: "out.program"})
			}
			testenv.Require(t, len(a.Files) == 2 && a.Files[0].Name == "in.ir" && a.Files[1].Name == "out.program",
				"want in.ir and out.program")
			g, low := lowered(t, string(a.Files[0].Data))
			got := built(t, g, low).Program.String()
			if !irtest.Update() {
				d := cmp.Diff(string(a.Files[1].Data), got)
				testenv.Check(t, d == "", "-want +got:\n%s", d)
				return
			}
			a.Files[1].Data = []byte(got)
			testenv.OK(t, os.WriteFile(f, txtar.Format(a), 0o644))
		})
	}
}
