// SPDX-License-Identifier: Apache-2.0

package quant_test

import (
	"math"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/quant"
)

// TestEvaluator: every value of a graph, float or quantised, is that of the interpreter but
// for the rounding of sums, on one sample after another in the same memory; values that an
// observer keeps stay as they were.
func TestEvaluator(t *testing.T) {
	for seed := range uint64(12) {
		g := randomNet(t, seed)
		samples := quant.SyntheticSamples(g.In, 6, seed)
		q := g.Clone()
		testenv.OK(t, testenv.Err(quant.Insert(q, quant.Options{Samples: samples})))
		for _, g := range []*ir.Graph{g, q} {
			for _, kept := range []bool{false, true} {
				run := quant.EvaluatorForTest(g, func(*ir.Value) bool { return kept })
				for _, in := range samples {
					sameValues(t, g, in, run, kept)
				}
			}
		}
	}
}

// TestEvaluatorOfSomeNodes: where one value is wanted, it has what it has in a whole run, one sample
// after another, and what it does not depend on is not evaluated.
func TestEvaluatorOfSomeNodes(t *testing.T) {
	fewer := 0
	for seed := range uint64(12) {
		g := randomNet(t, seed)
		all := quant.EvaluatorForTest(g, func(*ir.Value) bool { return true })
		samples := quant.SyntheticSamples(g.In, 3, seed)
		for _, n := range g.Nodes {
			some := quant.EvaluatorOfForTest(g, n.Out[0])
			for _, in := range samples {
				var want, got *tensor.Dense
				count := 0
				testenv.OK(t, all(in, func(v *ir.Value, d *tensor.Dense) {
					if count++; v == n.Out[0] {
						want = d
					}
				}))
				testenv.OK(t, some(in, func(v *ir.Value, d *tensor.Dense) {
					if count--; v == n.Out[0] {
						got = d.Clone()
					}
				}))
				testenv.Require(t, want != nil && got != nil && tensor.Equal(want, got),
					"seed %d: %s alone: %v, want %v", seed, n, got, want)
				fewer += count
			}
		}
	}
	testenv.Check(t, fewer != 0, "everything is evaluated whatever is wanted")
}

// TestEvaluatorOfLargeWeights: weights that few positions read, and what they are dequantised from, are not kept, with
// the same values; nor are those of a reader that has no kernel. A product of many positions keeps its own.
func TestEvaluatorOfLargeWeights(t *testing.T) {
	g := testenv.Must(ir.Parse(`graph "large" {
in %x : f32[1,512]
in %many : f32[32,512]
const %w : f32[512,600] = rand 1
const %v : f32[600,512] = rand 2
const %t : f32[600,512] = rand 3
%a = MatMul(%x, %w)
%b = Relu(%a)
%c = Gemm(%b, %v)
%d = Gemm(%c, %t) {transB=1}
%e = MatMul(%many, %w)
%f = Add(%d, %e)
out "f" = %f
}
`, op.Get))(t)
	samples := quant.SyntheticSamples(g.In, 2, 5)
	q := g.Clone()
	testenv.OK(t, testenv.Err(quant.Insert(q, quant.Options{Samples: samples})))
	for _, g := range []*ir.Graph{g, q} {
		run := quant.EvaluatorForTest(g, func(*ir.Value) bool { return false })
		for _, in := range samples {
			sameValues(t, g, in, run, false)
		}
	}
}

// sameValues compares a run with the interpreter's: the values as they are seen, or in the
// end where they are kept.
func sameValues(t *testing.T, g *ir.Graph, in quant.Sample, run func(quant.Sample, interp.Observer) error, kept bool) {
	t.Helper()
	want := map[*ir.Value]*tensor.Dense{}
	testenv.OK(t, testenv.Err(interp.Run(g, in, func(v *ir.Value, d *tensor.Dense) { want[v] = d })))
	got := map[*ir.Value]*tensor.Dense{}
	testenv.OK(t, run(in, func(v *ir.Value, d *tensor.Dense) {
		if d.Data != nil {
			if got[v] = d; !kept {
				got[v] = d.Clone()
			}
		}
	}))
	for _, v := range g.Out {
		testenv.Require(t, got[v] != nil, "%s was not seen", v)
	}
	for v, w := range want {
		if d := got[v]; d != nil && d.DType == tensor.F32 {
			db := ratio(w.Floats(), d.Floats())
			testenv.Require(t, !(db < 60) || math.IsNaN(db), "%s: %.1f dB from the interpreter's", v, db)
		}
	}
}
