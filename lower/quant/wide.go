// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// Where a node meets int8 and int16, it computes in int16: int8 operands are
// widened, which is exact, and an int8 result is narrowed behind it.

// maxBias64 is the largest bias whose requantisation cannot overflow 64 bits,
// with as much room for the products.
const maxBias64 = 1 << 46

// curveError bounds, in steps of an int16 output, by how much an interpolated
// function misses the real one: less off the real value, the integer is at most two
// off the rounded one. Beyond it the function is computed in float.
const curveError = 2.5

// wideType is an int16 quantisation that holds every value of an int8 one.
func wideType(t ir.Type) ir.Type {
	return t.WithQuant(tensor.I16, ir.PerTensor(t.Quant.Scale[0]/128, 0))
}

// widened is the int16 form of an operand.
func (c *converter) widened(at *ir.Node, f form) form {
	if f.t.DType == tensor.I16 {
		return f
	}
	t := wideType(f.t)
	if d := f.v.Const; d != nil {
		w := tensor.New(tensor.I16, d.Shape)
		for i := range d.Len() {
			w.SetInt(i, (d.Int(i)-int64(f.t.Quant.Zero[0]))*128)
		}
		v := c.g.AddQuantConst(f.v.Name+".wide", w, t.Quant)
		return form{v, v.Type}
	}
	return form{c.requantize(at, f.v, t), t}
}

// finish replaces n by the same operator on integers with a result of type t.
func (c *converter) finish(n *ir.Node, in []*ir.Value, t ir.Type) bool {
	out, wide := t, wideOperand(in)
	if wide && t.DType == tensor.I8 {
		out = wideType(t)
	}
	if !c.inReach(n, out) {
		return false
	}
	if t.DType == tensor.I8 && !wide {
		c.replace(n, in, []ir.Type{t})
		return true
	}
	c.widenOperands(n, in)
	if !c.interpolates(n, in, out) {
		return false
	}
	c.replace(n, in, []ir.Type{out})
	if t.DType != tensor.I16 {
		c.have[n.Out[0]] = form{c.requantize(n, c.have[n.Out[0]].v, t), t}
	}
	return true
}

// widenOperands gives int8 activations among the operands their int16 form.
func (c *converter) widenOperands(n *ir.Node, in []*ir.Value) {
	for i, v := range in {
		if v == nil || v.Type.Quant == nil || v.Type.DType != tensor.I8 || v.Type.Quant.PerAxis() ||
			weightAxis(n) >= 0 && i == 1 {
			continue
		}
		in[i] = c.widened(n, form{v, v.Type}).v
	}
}

func wideOperand(in []*ir.Value) bool {
	return slices.ContainsFunc(in, func(v *ir.Value) bool {
		return v != nil && v.Type.Quant != nil && v.Type.DType == tensor.I16
	})
}

// interpolates reports that n on int16 is no interpolated function, or one that
// comes close enough to the real one.
func (c *converter) interpolates(n *ir.Node, in []*ir.Value, out ir.Type) bool {
	trial := &ir.Node{Name: n.Name, Op: n.Op, Attrs: n.Attrs, In: in,
		Out: []*ir.Value{{Name: n.Out[0].Name, Type: out}}}
	return ir.InterpolationError(trial) < curveError
}

func symmetricWeights(q *ir.Quant) bool {
	return !slices.ContainsFunc(q.Zero, func(z int32) bool { return z != 0 })
}
