// SPDX-License-Identifier: Apache-2.0

package legal_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/frontend/npz/npztest"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/lower/legal"
)

// slow bounds the multiplications of models that are run before and after
// every pass; larger ones are run at the end only.
const slow = 12e6

// ortTol bounds the difference of the legalised float graph from ONNX Runtime.
const ortTol = 1e-5

// TestSharedModels legalises the models of the shared test data, quantised
// ones as well, and compares float ones with ONNX Runtime's outputs.
func TestSharedModels(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(irtest.Shared(t, "models"), "*.onnx"))
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".onnx")
		t.Run(name, func(t *testing.T) {
			m := testenv.Must(onnx.Load(f, onnx.Limits{}))(t)
			g, err := onnx.Import(m, onnx.ImportOptions{})
			testenv.Require(t, err == nil, "not imported: %v", err)
			irtest.Verify(t, g)
			var macs int64
			for _, n := range g.Nodes {
				if n.Op.MACs != nil {
					macs += n.Op.MACs(n)
				}
			}
			bns := irtest.Count(g, "BatchNormalization")
			before := g.Clone()
			mgr := pass.Manager{Passes: legal.Passes}
			if macs < slow && !testing.Short() {
				// noise inputs; the comparison with ONNX Runtime below is the strict one
				mgr.Check = irtest.CheckWithin(irtest.Tol{F32: 1e-4}, 1)
			}
			c := &pass.Ctx{}
			testenv.OK(t, mgr.Run(c, g))
			k := irtest.Count(g, "BatchNormalization")
			testenv.Check(t, k <= 0, "%d of %d BatchNormalization left", k, bns)
			t.Logf("%d nodes became %d, %d rewrites", len(before.Nodes), len(g.Nodes), len(c.Rewrites))
			compareGolden(t, name, before, g)
		})
	}
}

func compareGolden(t *testing.T, name string, before, g *ir.Graph) {
	in, want := npztest.GoldenCase(t, name, before)
	if in == nil {
		return
	}
	for i, v := range before.In {
		if in[i].Len() != v.Type.Elems() {
			t.Logf("golden input %d is %s, the graph wants %s", i, in[i], v.Type)
			return
		}
		in[i] = in[i].Reshaped(v.Type.Shape).Cast(v.Type.DType)
	}
	ref := testenv.Must(interp.Run(before, in, nil))(t)
	got, err := interp.Run(g, in, nil)
	testenv.OK(t, err)
	for i := range want {
		if want[i].Len() != got[i].Len() {
			t.Errorf("output %d: golden is %s, got %s", i, want[i], got[i])
			continue
		}
		w := want[i].Reshaped(got[i].Shape)
		d, d0 := irtest.Diff(got[i], w), irtest.Diff(ref[i], w)
		t.Logf("output %s: %.3g from ONNX Runtime, before legalisation %.3g", before.OutNames[i], d, d0)
		// What quantised models differ by is the interpreter's matter: the passes
		// add nothing to it.
		if d > max(ortTol, d0) {
			t.Errorf("output %s: %.3g from ONNX Runtime (before legalisation %.3g)", before.OutNames[i], d, d0)
		}
	}
}
