// SPDX-License-Identifier: Apache-2.0

package legal4d_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/frontend/npz/npztest"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/legal"
	"github.com/nncc/nncc/lower/legal4d"
)

func open(t *testing.T, name string) *ir.Graph {
	t.Helper()
	_, g, err := onnx.Open(irtest.Shared(t, "models", name+".onnx"), onnx.Limits{}, onnx.ImportOptions{})
	testenv.OK(t, err)
	return g
}

// must rewrites g and checks what holds for every result.
func must(t testing.TB, g *ir.Graph) *legal4d.Result {
	t.Helper()
	r, err := legal4d.Run(g, legal4d.Options{})
	if err != nil {
		text := brief(g)
		t.Fatalf("%v in\n%s", err, text[:min(len(text), 5000)])
	}
	irtest.Verify(t, r.Native)
	irtest.Verify(t, r.Restore)
	for _, n := range r.Restore.Nodes {
		testenv.Check(t, n.Op == op.Reshape || n.Op == op.Transpose || n.Op == op.Concat || n.Op == op.Identity,
			"the restoring graph computes: %s", n)
	}
	return r
}

// runBoth evaluates the native graph and the restoring graph behind it.
func runBoth(t testing.TB, r *legal4d.Result, in []*tensor.Dense) []*tensor.Dense {
	t.Helper()
	mid := irtest.Run(t, r.Native, in)
	rin := lists.Map(r.Restore.In, func(v *ir.Value) *tensor.Dense {
		return mid[slices.Index(r.Native.OutNames, v.Name)]
	})
	return irtest.Run(t, r.Restore, rin)
}

func brief(g *ir.Graph) string {
	var b strings.Builder
	g.WriteText(&b, true)
	var out []string
	for _, l := range strings.Split(b.String(), "\n") {
		if !strings.HasPrefix(l, "  const") {
			if i := strings.Index(l, " from "); i > 0 {
				l = l[:i]
			}
			out = append(out, l)
		}
	}
	return strings.Join(out, "\n")
}

// notFour lists float nodes of a graph with a run-time operand that is not of
// rank 4 and batch 1.
func notFour(g *ir.Graph) []string {
	var out []string
	for _, n := range g.Nodes {
		for _, v := range append(slices.Clone(n.In), n.Out...) {
			if v != nil && v.Const == nil && (v.Type.Rank() != 4 || v.Type.Shape[0] != 1) {
				out = append(out, fmt.Sprintf("%s on %s", n, v.Type))
				break
			}
		}
	}
	return out
}

func TestModels(t *testing.T) {
	for _, c := range []struct {
		name    string
		fourD   bool
		outputs [][]int
	}{
		{"ufld_tiny", true, [][]int{{1, 140, 1, 1}, {1, 100, 1, 1}, {1, 28, 1, 1}, {1, 20, 1, 1}}},
		{"ufld_full", true, nil},
		{"yolov8seg_tiny", true, [][]int{{1, 4, 12, 16}, {1, 4, 6, 8}, {1, 4, 3, 4}, {1, 8, 12, 16}, {1, 8, 6, 8},
			{1, 8, 3, 4},
			{1, 32, 12, 16}, {1, 32, 6, 8}, {1, 32, 3, 4}, {1, 32, 24, 32}}},
		{"vit_tiny_decomp", true, [][]int{{1, 10, 1, 1}}},
		{"vit_tiny_ln17", true, [][]int{{1, 10, 1, 1}}},
		{"reorg_tiny_custom", true, nil}, {"reorg_tiny_darknet", true, nil}, {"reorg_tiny_decomposed", true, nil},
		{"reorg_tiny_s2d", true, nil},
		{"oddch_tiny", true, nil}, {"micro_kws_m_static_fp32", false, nil}, {"resid_preact", false, nil},
		{"resid_diamond", false, nil},
		{"silero_vad_16k_static", false, nil}, {"mnist_lstm_f32", false, nil}, {"nnabla_lenet_b4", false, nil},
		{"nnabla_lenet", false, nil},
		{"kws_f32", false, nil}, {"ic_f32", false, nil}, {"vww_f32", false, nil}, {"mnist-8", false, nil},
		{"hello_world_f32", false, nil},
		{"cmsisrepair_reshape_locked", false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			testenv.SkipIf(t, testing.Short() && c.name == "ufld_full", "large")
			g := open(t, c.name)
			r := must(t, g)
			if os.Getenv("L4D_SHOW") != "" {
				fmt.Println(brief(r.Native))
				fmt.Println(brief(r.Restore))
			}
			nf := append(notFour(r.Native), refused(r.Native)...)
			for _, s := range nf {
				testenv.Check(t, !c.fourD, "not 4-D: %s", s)
			}
			for _, l := range r.Left {
				t.Logf("left: %+v", l)
			}
			if c.outputs != nil {
				got := lists.Map(r.Native.Out, func(v *ir.Value) []int { return v.Type.Shape })
				testenv.Check(t, fmt.Sprint(got) == fmt.Sprint(c.outputs), "native outputs %v, want %v", got,
					c.outputs)
			}
			in, want := npztest.GoldenCase(t, c.name, g)
			if in == nil {
				in = irtest.Inputs(g, 1)
			}
			ref := testenv.Must(interp.Run(g, in, nil))(t)
			got := runBoth(t, r, in)
			full := testenv.Must(r.Original())(t)
			irtest.Verify(t, full)
			whole := irtest.Run(t, full, in)
			for i := range ref {
				testenv.Check(t, tensor.Equal(whole[i], got[i]), "output %d: the joined graph gives something else",
					i)
				d := irtest.Diff(got[i], ref[i])
				t.Logf("output %s %v: %.3g from the original (%d nodes, %d restore)", g.OutNames[i], got[i].Shape, d,
					len(r.Native.Nodes), len(r.Restore.Nodes))
				testenv.Check(t, slices.Equal(got[i].Shape, ref[i].Shape) && !(d > 1e-5),
					"output %d: %.3g, shape %v want %v", i, d, got[i].Shape, ref[i].Shape)
				if want != nil {
					if d := irtest.Diff(got[i], want[i].Reshaped(got[i].Shape)); d > 1e-5 {
						t.Errorf("output %d: %.3g from the golden output (original %.3g)", i, d,
							irtest.Diff(ref[i], want[i].Reshaped(got[i].Shape)))
					}
				}
			}
			// behind the whole float pipeline it gives the same
			h := g.Clone()
			testenv.OK(t, (&pass.Manager{Passes: legal.Passes}).Run(&pass.Ctx{}, h))
			r2 := testenv.Must(legal4d.Run(h, legal4d.Options{AsIs: true}))(t)
			for i, d := range runBoth(t, r2, in) {
				if d := irtest.Diff(d, ref[i]); d > 1e-5 {
					t.Errorf("behind the float pipeline: output %d: %.3g", i, d)
				}
			}
			if c.fourD && len(notFour(r2.Native)) > 0 {
				t.Errorf("behind the float pipeline, not 4-D: %v", notFour(r2.Native))
			}
			// the native graph compiles again: rewriting it changes nothing
			if c.fourD {
				again := must(t, r.Native)
				testenv.Check(t, len(again.Native.Nodes) <= len(r.Native.Nodes),
					"rewriting the native graph makes %d nodes of %d", len(again.Native.Nodes), len(r.Native.Nodes))
			}
		})
	}
}
