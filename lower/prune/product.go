// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// product is what Conv, Gemm and MatMul with constant weights are here: sums
// over input channels and kernel positions.
type product struct {
	n        *ir.Node
	p        *op.MACParams
	in, out  int // channels
	group    int
	taps     int
	inMajor  bool // weights are [in][out] (MatMul, Gemm without transB)
	w        *tensor.Dense
	bias     []int64
	wide     bool     // int16 data: sums and biases of 64 bits
	masks    [][]bool // which taps lie inside the input, every combination that occurs
	padded   bool     // some output misses a tap
	weightsQ *ir.Quant
}

// productOf gives the product form of a node, nil when it has none: other
// operators, weights or biases that are not constant, arithmetic that is not
// that of the integer kernels.
func productOf(n *ir.Node) *product {
	w := n.ConstIn(1)
	if w == nil || n.Input(2) != nil && n.ConstIn(2) == nil || !n.Quantised() {
		return nil
	}
	f := &product{n: n, w: w, group: 1, taps: 1, weightsQ: n.In[1].Type.Quant, wide: op.Sixteen(n)}
	params := op.MAC8Params
	if f.wide {
		params = op.MAC16Params
	}
	why := ""
	switch n.Op {
	case op.Conv:
		g := bug.Must(op.ConvGeometry(n))
		f.p, why = params(n)
		f.in, f.out, f.group, f.taps = g.CIn, g.COut, g.Group, g.Taps()
		f.masks = tapMasks(g)
	case op.Gemm, op.MatMul:
		if n.In[0].Type.Rank() != 2 || n.In[1].Type.Rank() != 2 {
			return nil
		}
		if n.Op == op.MatMul && f.wide { // has no bias that could take constants
			return nil
		}
		f.p, why = params(n)
		f.inMajor = n.Op == op.MatMul || ir.AttrsOf[op.GemmAttrs](n).TransB == 0
		f.in, f.out = n.In[0].Type.Shape[1], n.Out[0].Type.Shape[1]
		f.masks = [][]bool{{true}}
	default:
		return nil
	}
	if why != "" || f.masks == nil {
		return nil
	}
	for _, m := range f.masks {
		f.padded = f.padded || slices.Contains(m, false)
	}
	f.bias = make([]int64, f.out)
	if b := n.ConstIn(2); b != nil {
		if b.DType != f.biasType() {
			return nil
		}
		for i := range f.bias {
			f.bias[i] = b.Int(i % b.Len())
			if f.bias[i] <= -maxBias || f.bias[i] >= maxBias {
				return nil
			}
		}
	}
	return f
}

// maxBias bounds biases of 64 bits: sums do not overflow.
const maxBias = 1 << 60

// biasType is that of sums.
func (f *product) biasType() tensor.DType {
	if f.wide {
		return tensor.I64
	}
	return tensor.I32
}

// depthwise reports that every output channel reads one input channel, in
// order, so that input and output lose their channels together.
func (f *product) depthwise() bool { return f.group > 1 && f.group == f.in && f.out%f.in == 0 }

// weight is the weight of output channel o for input channel i of its group
// at a tap, less its zero point.
func (f *product) weight(o, i, tap int) int64 {
	k := (o*(f.in/f.group)+i)*f.taps + tap
	if f.inMajor {
		k = i*f.out + o
	}
	v := f.w.Int(k)
	if f.w.DType == tensor.U8 {
		v -= 128 // FilterOffset is in the terms of int8
	}
	return v + int64(f.p.FilterOffset(o))
}

// maxMasks bounds the borders that are told apart; beyond it a layer counts
// as one that can yield anything.
const maxMasks = 1 << 14

// tapMasks lists the sets of kernel positions inside the input that occur
// over all outputs; nil when there are too many.
func tapMasks(g *op.ConvGeom) [][]bool {
	masks := [][]bool{{true}}
	for d := range g.Kernel {
		var rows [][]bool
		for o := range g.Out[d] {
			row := make([]bool, g.Kernel[d])
			for k := range row {
				at := o*g.Strides[d] - g.PadBegin[d] + k*g.Dilations[d]
				row[k] = at >= 0 && at < g.In[d]
			}
			if !slices.ContainsFunc(rows, func(r []bool) bool { return slices.Equal(r, row) }) {
				rows = append(rows, row)
			}
		}
		if len(masks)*len(rows) > maxMasks {
			return nil
		}
		var next [][]bool
		for _, m := range masks {
			for _, row := range rows {
				c := make([]bool, 0, len(m)*len(row))
				for _, outer := range m {
					for _, inner := range row {
						c = append(c, outer && inner)
					}
				}
				next = append(next, c)
			}
		}
		masks = next
	}
	return masks
}

// outputs is the interval of codes of every output channel for inputs within
// the intervals given. It is exact: both ends occur if the inputs are free.
func (f *product) outputs(in []Range) []Range {
	y := make([]Range, f.out)
	x := f.n.In[0].Type
	zero := int64(x.Quant.Zero[0])
	perIn, perOut := f.in/f.group, f.out/f.group
	low, high := make([]int64, f.taps), make([]int64, f.taps)
	for o := range y {
		clear(low)
		clear(high)
		for i := range perIn {
			r := in[o/perOut*perIn+i]
			lo, hi := int64(r.Lo)-zero, int64(r.Hi)-zero
			for t := range low {
				w := f.weight(o, i, t)
				if w >= 0 {
					low[t] += w * lo
					high[t] += w * hi
				} else {
					low[t] += w * hi
					high[t] += w * lo
				}
			}
		}
		for k, m := range f.masks {
			a, b := f.bias[o], f.bias[o]
			for t, inside := range m {
				if inside {
					a, b = a+low[t], b+high[t]
				}
			}
			r := f.requantised(a, b, o)
			if k > 0 {
				r = r.union(y[o])
			}
			y[o] = r
		}
	}
	return y
}

// requantised is the interval of codes for accumulators from a to b. Where
// the 32-bit arithmetic could wrap it is everything that the clamp lets pass.
func (f *product) requantised(a, b int64, o int) Range {
	if f.wide {
		return f.requantised16(a, b, o)
	}
	shift := f.p.Shift[0]
	if len(f.p.Shift) > 1 {
		shift = f.p.Shift[o]
	}
	left := max(shift, 0)
	off := Range{f.p.ActMin, f.p.ActMax}
	if a<<left >= math.MinInt32 && b<<left <= math.MaxInt32 && a >= math.MinInt32 && b <= math.MaxInt32 {
		off = Range{int32(f.p.Requantise(int32(a), o)), int32(f.p.Requantise(int32(b), o))}
	}
	if f.n.Out[0].Type.DType == tensor.U8 { // Requantise is in the terms of int8
		off.Lo, off.Hi = off.Lo+128, off.Hi+128
	}
	return off
}

// requantised16 is requantised for int16 data, whose results are cut to 32 bits
// before the clamp.
func (f *product) requantised16(a, b int64, o int) Range {
	c := o % len(f.p.Mult)
	mult, shift := fixp.ReduceMultiplier(f.p.Mult[c]), f.p.Shift[c]
	const most = 1 << 47 // products with 15 bits stay in 64
	if a <= -most || b >= most {
		return Range{f.p.ActMin, f.p.ActMax}
	}
	for _, v := range []int64{a, b} {
		if r := v * int64(mult) >> uint(14-shift); r < math.MinInt32 || r >= math.MaxInt32 {
			return Range{f.p.ActMin, f.p.ActMax}
		}
	}
	return Range{fixp.Clamp(fixp.RequantizeS64(a, mult, shift), f.p.ActMin, f.p.ActMax),
		fixp.Clamp(fixp.RequantizeS64(b, mult, shift), f.p.ActMin, f.p.ActMax)}
}
