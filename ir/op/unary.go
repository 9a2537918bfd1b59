// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// unarySpec is an element-wise operator of one input.
type unarySpec struct {
	name, doc, domain string
	attrs             []ir.AttrSpec
	types             typeSet
	quant             ir.QuantKind
	// real makes the operator's float64 function for one node, with the
	// attributes read once. Floats of any width are computed by it and rounded.
	real func(n *ir.Node) func(float64) float64
	// check, where set, refuses attributes.
	check func(n *ir.Node) error
	// c, or cBy where attributes choose, is OpDef.C.
	c   ir.CForm
	cBy func(n *ir.Node) ir.CForm
	// straight, ... are the traits of OpDef.
	straight, finite, nonNegative, activation, homogeneous, compresses bool
	outQuant                                                           map[tensor.DType]*ir.Quant
	// integer, where set, is the exact function on plain integers.
	integer func(n *ir.Node) func(int64) int64
}

// unary defines an element-wise operator of one input.
func unary(s unarySpec) *ir.OpDef { return def(s.opDef()) }

// opDef is the definition, for operators that add something to it.
func (s unarySpec) opDef() ir.OpDef {
	if s.cBy == nil {
		s.cBy = s.c.Fixed()
	}
	d := ir.OpDef{
		Name: s.name, Domain: s.domain, Doc: s.doc, Attrs: s.attrs, MinIn: 1, Pattern: ir.Elementwise,
		Infer: func(n *ir.Node) ([]ir.Type, error) {
			if s.check != nil {
				fail.Check(s.check(n))
			}
			fail.Check(wantType(n, 0, s.types))
			return one(like(n, 0))
		},
		Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
			return outs(s.eval(n, in[0]))
		},
		C: s.cBy, Quant: s.quant,
		Straight: s.straight, Finite: s.finite, NonNegative: s.nonNegative, Activation: s.activation,
		Homogeneous: s.homogeneous, Compresses: s.compresses, OutQuant: s.outQuant,
	}
	if s.real != nil {
		d.Scalar = func(n *ir.Node, x float64) float64 { return s.real(n)(x) }
	}
	return d
}

func (s *unarySpec) eval(n *ir.Node, x *tensor.Dense) *tensor.Dense {
	y := tensor.New(x.DType, x.Shape)
	if s.integer != nil && x.DType.IsInt() {
		f := s.integer(n)
		for i, k := 0, x.Len(); i < k; i++ {
			y.SetInt(i, f(x.Int(i)))
		}
		return y
	}
	switch xs := x.Data.(type) {
	case []float32:
		ys, f := y.Data.([]float32), s.real(n)
		for i, v := range xs {
			ys[i] = float32(f(float64(v)))
		}
	case []float64:
		ys, f := y.Data.([]float64), s.real(n)
		for i, v := range xs {
			ys[i] = f(v)
		}
	default:
		f := s.real(n)
		for i, k := 0, x.Len(); i < k; i++ {
			y.SetFloat(i, f(x.Float(i)))
		}
	}
	return y
}

// fixed is the `real` of an operator without attributes.
func fixed(f func(float64) float64) func(*ir.Node) func(float64) float64 {
	return func(*ir.Node) func(float64) float64 { return f }
}

// fixedInt is the `integer` of an operator without attributes.
func fixedInt(f func(int64) int64) func(*ir.Node) func(int64) int64 {
	return func(*ir.Node) func(int64) int64 { return f }
}
