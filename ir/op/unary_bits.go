// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// Not is logical negation.
var Not = unary(unarySpec{
	name: "Not", doc: "logical not", types: boolTypes, quant: ir.QNone, finite: true,
	c: ir.CForm{I64: "x == 0 ? 1 : 0"},
	real: fixed(func(x float64) float64 {
		if x == 0 {
			return 1
		}
		return 0
	}),
})

// BitwiseNot inverts every bit of an integer.
var BitwiseNot = def(ir.OpDef{
	Name: "BitwiseNot", Doc: "inverts every bit", MinIn: 1, Pattern: ir.Elementwise, Quant: ir.QNone,
	C: ir.CForm{I64: "~x", U64: "~x"}.Fixed(),
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		fail.Check(wantType(n, 0, intTypes))
		return one(like(n, 0))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		y := tensor.New(in[0].DType, in[0].Shape)
		for i, k := 0, y.Len(); i < k; i++ {
			y.SetInt(i, ^in[0].Int(i))
		}
		return outs(y)
	},
})

// predicate defines an operator from reals to bool.
func predicate(name, doc string, attrs []ir.AttrSpec, mk func(n *ir.Node) func(float64) bool,
	c func(n *ir.Node) ir.CForm) *ir.OpDef {
	return def(ir.OpDef{
		Name: name, Doc: doc, Attrs: attrs, MinIn: 1, Pattern: ir.Elementwise, C: c,
		Infer: func(n *ir.Node) ([]ir.Type, error) {
			fail.Check(wantType(n, 0, floatTypes))
			return one(ir.T(tensor.Bool, n.In[0].Type.Shape...))
		},
		Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
			y := make([]bool, in[0].Len())
			f := mk(n)
			for i := range y {
				y[i] = f(in[0].Float(i))
			}
			return outs(tensor.Of(in[0].Shape, y))
		},
	})
}

// IsNaN tells which elements are NaN.
var IsNaN = predicate("IsNaN", "whether x is NaN", nil, func(*ir.Node) func(float64) bool { return math.IsNaN },
	ir.CForm{F64: "isnan(x) ? 1 : 0"}.Fixed())

// IsInfAttrs are the attributes of IsInf.
type IsInfAttrs struct {
	DetectNegative int `default:"1"`
	DetectPositive int `default:"1"`
}

// IsInf tells which elements are infinite.
var IsInf = predicate("IsInf", "whether x is infinite, of the signs asked for",
	ir.Declare[IsInfAttrs](),
	func(n *ir.Node) func(float64) bool {
		neg, pos := ir.AttrsOf[IsInfAttrs](n).DetectNegative != 0, ir.AttrsOf[IsInfAttrs](n).DetectPositive != 0
		return func(x float64) bool { return neg && x == negInf || pos && x == posInf }
	}, func(n *ir.Node) ir.CForm {
		c := "0"
		switch neg, pos := ir.AttrsOf[IsInfAttrs](n).DetectNegative != 0,
			ir.AttrsOf[IsInfAttrs](n).DetectPositive != 0; {
		case neg && pos:
			c = "(isinf(x) && (x < 0.0 || x > 0.0)) ? 1 : 0"
		case neg:
			c = "(isinf(x) && (x < 0.0)) ? 1 : 0"
		case pos:
			c = "(isinf(x) && (x > 0.0)) ? 1 : 0"
		}
		return ir.CForm{F64: c}
	})
