// SPDX-License-Identifier: Apache-2.0

package op

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// compareOp defines a comparison, c in C and inFloat a function of nncc_element_f32.h. NaN compares as unequal to
// everything. Quantised operands are compared as the reals that they stand for.
func compareOp(name, doc, c, inFloat string, s typeSet, f func(c int, nan bool) bool) *ir.OpDef {
	form := "a " + c + " b ? 1 : 0"
	infer := inferBinary(s)
	return def(ir.OpDef{
		Name: name, Doc: doc, MinIn: 2, Pattern: ir.Broadcast, Finite: true,
		Pair: ir.CForm{F64: form, F32: "nncc_el_" + inFloat, I64: form, U64: form}.Fixed(),
		Infer: func(n *ir.Node) ([]ir.Type, error) {
			t := fail.Must(infer(n))
			return one(ir.T(tensor.Bool, t[0].Shape...))
		},
		Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
			a, b := in[0], in[1]
			out := fail.Must(Broadcast(n, a.Shape, b.Shape))
			var y []bool
			switch {
			case a.DType.IsFloat() || b.DType.IsFloat():
				y = pairs(out, a.Shape, b.Shape, floatsOf(a), floatsOf(b), comparing[float64](f))
			case a.DType == tensor.U64:
				y = pairs(out, a.Shape, b.Shape, a.Data.([]uint64), b.Data.([]uint64), comparing[uint64](f))
			default:
				y = pairs(out, a.Shape, b.Shape, a.Int64s(), b.Int64s(), comparing[int64](f))
			}
			return outs(tensor.Of(out, y))
		},
	})
}

func comparing[T cmp.Ordered](f func(c int, nan bool) bool) func(a, b T) bool {
	return func(a, b T) bool { return f(cmp.Compare(a, b), a != a || b != b) }
}

// ordered is a comparison of numbers: nothing is less or greater than NaN.
func ordered(name, doc, c, inFloat string, holds func(c int) bool) *ir.OpDef {
	return compareOp(name, doc, c, inFloat, numTypes, func(c int, nan bool) bool { return holds(c) && !nan })
}

// The comparisons.
var (
	Equal = compareOp("Equal", "a = b", "==", "equal_f32(a, b)", anyTypes,
		func(c int, nan bool) bool { return c == 0 && !nan })
	Less        = slopes(ordered("Less", "a < b", "<", "less_f32(a, b)", func(c int) bool { return c < 0 }), -1, 1)
	LessOrEqual = slopes(ordered("LessOrEqual", "a <= b", "<=", "less_or_equal_f32(a, b)",
		func(c int) bool { return c <= 0 }), -1, 1)
	Greater = slopes(ordered("Greater", "a > b", ">", "less_f32(b, a)",
		func(c int) bool { return c > 0 }), 1, -1)
	GreaterOrEqual = slopes(ordered("GreaterOrEqual", "a >= b", ">=", "less_or_equal_f32(b, a)",
		func(c int) bool { return c >= 0 }), 1, -1)
)

// Where takes elements from X where the condition holds and from Y elsewhere.
// Quantised X, Y and output share one quantisation.
var Where = def(ir.OpDef{
	Name: "Where", Doc: "X where the condition holds, Y elsewhere, with broadcasting", MinIn: 3, Pattern: ir.Broadcast,
	Quant: ir.QMove, DataIn: []int{1, 2}, Finite: true,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		wantType(n, 0, boolTypes)
		wantSameTypes(n, 1, 2)
		shape := fail.Must(Broadcast(n, n.In[0].Type.Shape, n.In[1].Type.Shape, n.In[2].Type.Shape))
		return one(ir.T(n.In[1].Type.DType, shape...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		shape := fail.Must(Broadcast(n, in[0].Shape, in[1].Shape, in[2].Shape))
		c := expand(in[0], shape).Data.([]bool)
		x, y := expand(in[1], shape), expand(in[2], shape)
		out := y.Clone()
		for i, t := range c {
			if t {
				out.Copy(i, x, i, 1)
			}
		}
		return outs(out)
	},
})

// intBinary defines a broadcast operator on bool or plain integers by its
// function of two int64; results are wrapped to the element type.
func intBinary(name, doc string, s typeSet, attrs []ir.AttrSpec, c func(*ir.Node) ir.CForm,
	mk func(n *ir.Node) (func(a, b int64) int64, error)) *ir.OpDef {
	return def(intPair(name, doc, s, attrs, c, mk))
}

// fixedBinary is intBinary of nncc's domain.
func fixedBinary(name, doc string, s typeSet, attrs []ir.AttrSpec, c func(*ir.Node) ir.CForm,
	mk func(n *ir.Node) (func(a, b int64) int64, error)) *ir.OpDef {
	d := intPair(name, doc, s, attrs, c, mk)
	d.Domain = "nncc"
	return def(d)
}

func intPair(name, doc string, s typeSet, attrs []ir.AttrSpec, c func(*ir.Node) ir.CForm,
	mk func(n *ir.Node) (func(a, b int64) int64, error)) ir.OpDef {
	return ir.OpDef{
		Name: name, Doc: doc, Attrs: attrs, MinIn: 2, Pattern: ir.Broadcast, Quant: ir.QNone, Finite: true, Pair: c,
		Infer: func(n *ir.Node) ([]ir.Type, error) {
			fail.Must(mk(n))
			return inferBinary(s)(n)
		},
		Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
			f := fail.Must(mk(n))
			out := fail.Must(Broadcast(n, in[0].Shape, in[1].Shape))
			return outs(wholePairs(out, in[0], in[1], f))
		},
	}
}

// fixed2 is the `mk` of intBinary for operators without attributes.
func fixed2(f func(a, b int64) int64) func(*ir.Node) (func(a, b int64) int64, error) {
	return func(*ir.Node) (func(a, b int64) int64, error) { return f, nil }
}

func bitAnd(a, b int64) int64 { return a & b }
func bitOr(a, b int64) int64  { return a | b }
func bitXor(a, b int64) int64 { return a ^ b }

// bitForm is the form of an operator of C on bits.
func bitForm(c string) func(*ir.Node) ir.CForm {
	return ir.CForm{I64: "a " + c + " b", U64: "a " + c + " b"}.Fixed()
}

// Operations on truth values and on bits.
var (
	And        = intBinary("And", "logical and", boolTypes, nil, bitForm("&"), fixed2(bitAnd))
	Or         = intBinary("Or", "logical or", boolTypes, nil, bitForm("|"), fixed2(bitOr))
	Xor        = intBinary("Xor", "logical exclusive or", boolTypes, nil, bitForm("^"), fixed2(bitXor))
	BitwiseAnd = intBinary("BitwiseAnd", "and of the bits of integers", intTypes, nil, bitForm("&"), fixed2(bitAnd))
	BitwiseOr  = intBinary("BitwiseOr", "or of the bits of integers", intTypes, nil, bitForm("|"), fixed2(bitOr))
	BitwiseXor = intBinary("BitwiseXor", "exclusive or of the bits of integers", intTypes, nil, bitForm("^"),
		fixed2(bitXor))
)

var unsignedTypes = typeSet{"an unsigned integer type", func(d tensor.DType) bool { return d.IsInt() && !d.IsSigned() }}

// BitShift shifts unsigned integers left or right, filling with zeros.
var BitShift = intBinary("BitShift", "shift of unsigned integers", unsignedTypes, ir.Declare[struct {
	Direction string `attr:",required"`
}](), func(n *ir.Node) ir.CForm {
	shift := "(uint64_t)b < 64u ? (%s)((uint64_t)a << (uint64_t)b) : 0"
	if ir.AttrsOf[DirectionAttr](n).Direction == "RIGHT" {
		shift = strings.Replace(shift, "<<", ">>", 1)
	}
	return ir.CForm{I64: fmt.Sprintf(shift, "int64_t"), U64: fmt.Sprintf(shift, "uint64_t")}
},
	func(n *ir.Node) (func(a, b int64) int64, error) {
		switch d := ir.AttrsOf[DirectionAttr](n).Direction; d {
		case "LEFT":
			return func(a, b int64) int64 { return int64(uint64(a) << min(uint64(b), 64)) }, nil
		case "RIGHT":
			return func(a, b int64) int64 { return int64(uint64(a) >> min(uint64(b), 64)) }, nil
		default:
			return nil, ir.Errf(n, "attr-value", "direction is %q, want LEFT or RIGHT", d)
		}
	})
