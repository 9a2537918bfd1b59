// SPDX-License-Identifier: Apache-2.0

package op

import (
	"fmt"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

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
}](),
	func(n *ir.Node) ir.CForm {
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
