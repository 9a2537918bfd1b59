// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// Clip limits x to [min, max]; both bounds are optional scalar inputs. Where
// min is above max the result is max. Scalar holds for constant bounds only.
var Clip = def(ir.OpDef{
	Name: "Clip", Doc: "limits x to [min, max] (optional scalar inputs)", MinIn: 1, MaxIn: 3, Pattern: ir.Elementwise,
	Straight: true, Activation: true,
	Finite: true,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		fail.Check(wantType(n, 0, numTypes))
		for i, what := range []string{1: "min", 2: "max"} {
			if v := n.Input(i); i > 0 && v != nil && v.Type.Elems() != 1 {
				return nil, ir.Errf(n, "shape", "%s (input %d, %s) has shape %v, want a scalar", what, i, v,
					v.Type.Shape)
			}
		}
		fail.Check(wantSameTypes(n, 0, 1, 2))
		return one(like(n, 0))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		x, mn, mx := in[0], opt(in, 1), opt(in, 2)
		y := tensor.New(x.DType, x.Shape)
		if x.DType.IsInt() {
			lo, hi := x.DType.IntRange()
			if mn != nil {
				lo = mn.Int(0)
			}
			if mx != nil {
				hi = mx.Int(0)
			}
			for i, k := 0, x.Len(); i < k; i++ {
				y.SetInt(i, min(max(x.Int(i), lo), hi))
			}
			return outs(y)
		}
		lo, hi := negInf, posInf
		if mn != nil {
			lo = mn.Float(0)
		}
		if mx != nil {
			hi = mx.Float(0)
		}
		for i, k := 0, x.Len(); i < k; i++ {
			y.SetFloat(i, min(max(x.Float(i), lo), hi))
		}
		return outs(y)
	},
	Scalar: func(n *ir.Node, x float64) float64 {
		lo, _ := constReal(n, 1, negInf)
		hi, _ := constReal(n, 2, posInf)
		return min(max(x, lo), hi)
	},
})

// ClipBounds are the bounds of a Clip in the order in which a kernel may apply
// them, lo <= hi: infinite where absent, both the upper one where the node has
// them the other way round. False where one is computed at run time or NaN, of
// which the result is NaN.
func ClipBounds(n *ir.Node) (lo, hi float64, ok bool) {
	lo, known := constReal(n, 1, negInf)
	hi, ok = constReal(n, 2, posInf)
	return min(lo, hi), hi, known && ok && lo == lo && hi == hi
}
