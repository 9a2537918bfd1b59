// SPDX-License-Identifier: Apache-2.0

package quantised

import (
	"fmt"
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/param"
)

// Element-wise operators and pools on int16 data, by kernels that every core has
// a body of.

// i16In and i16Out are operands of the kernels.
func i16In(i int) call.In { return call.In{I: i, CType: "int16_t"} }
func i16Out() call.Out    { return call.Out{CType: "int16_t"} }

// WidePairs is the Pair of a node on int16 data.
var WidePairs = kernel.NewFact(func(n *kernel.Node) (*Pair, string) {
	if why := pairTypes(n.Node, tensor.I16); why != "" {
		return nil, why
	}
	switch n.Op {
	case op.Mul:
		return wideProduct(n.Node)
	case op.Add, op.Sub:
		return wideSum(n.Node)
	}
	f := map[*ir.OpDef]string{op.Min: "nncc_pair_min_s16", op.Max: "nncc_pair_max_s16"}[n.Op]
	if f == "" {
		return nil, n.Op.Name + " has no function of two rows of int16"
	}
	if lo, hi := op.ActRange(n.Node, n.Out[0].Type); !op.MinMaxKernel(n.Node) || lo != math.MinInt16 ||
		hi != math.MaxInt16 {
		return nil, "operands and result differ in scale, or the result is clamped"
	}
	return &Pair{Func: f, Form: call.Null{}}, ""
})

// downBy says why a shift is not one of 1 to 31 bits to the right.
func downBy(what string, shift int32) string {
	return cond.If(shift > -1 || shift < -31, "%s is requantised by a shift of %d, want -1 to -31", what, shift)
}

// wideSum is the sum of the operand with the larger scale, of which half is
// exact, and of the other one.
func wideSum(n *ir.Node) (*Pair, string) {
	p := op.AddParams16(n)
	s := p.Scales
	larger, sign := int32(1), int32(1)
	if n.Op == op.Sub {
		sign = -1
	}
	swapped := s.Mult1 != 1<<30 || s.Shift1 != 0
	if swapped {
		larger, sign, s.Mult1, s.Shift1, s.Mult2, s.Shift2 = sign, 1, s.Mult2, s.Shift2, s.Mult1, s.Shift1
	}
	if s.Mult1 != 1<<30 || s.Shift1 != 0 {
		return nil, "neither operand is the half of its scale"
	}
	if s.Mult2 != 1<<30 || s.Shift2 != 0 {
		if why := downBy("an operand", s.Shift2); why != "" {
			return nil, why
		}
	}
	if why := downBy("the sum", s.OutShift); why != "" {
		return nil, why
	}
	return &Pair{Func: "nncc_pair_sum_s16", Swapped: swapped, Form: &call.Struct{Type: "nncc_pair_sum_s16_params",
		Fields: []call.Field{call.FT("unit", int(larger)<<14), call.FT("sign", sign), call.FT("mult", s.Mult2),
			call.FT("shift", -s.Shift2), call.FT("out_mult", s.OutMult), call.FT("out_shift", -s.OutShift),
			call.FT("act_min", p.ActMin), call.FT("act_max", p.ActMax)}}}, ""
}

// wideProduct is a product; that of two values of -32768 is one more than its
// double, in 32 bits, can be.
func wideProduct(n *ir.Node) (*Pair, string) {
	p := op.MulParams(n)
	if why := downBy("the product", p.Shift); why != "" {
		return nil, why
	}
	exact := fixp.Requantize(1<<30, p.Mult, p.Shift)
	near := fixp.DivideByPowerOfTwo(int32((int64(math.MaxInt32)*int64(p.Mult)+1<<31)>>32), -p.Shift)
	if fixp.Clamp(exact, p.ActMin, p.ActMax) != fixp.Clamp(near, p.ActMin, p.ActMax) {
		return nil, "the square of -32768 is rounded to another result than its neighbour"
	}
	return &Pair{Func: "nncc_pair_mul_s16", Form: &call.Struct{Type: "nncc_pair_mul_s16_params",
		Fields: []call.Field{call.FT("mult", p.Mult), call.FT("shift", -p.Shift), call.FT("act_min", p.ActMin),
			call.FT("act_max", p.ActMax)}}}, ""
}

// LowerWidePair is LowerPair on int16 data.
func LowerWidePair(n *kernel.Node, p *Pair) *call.Lowered { return lowerPairs("nncc_pairs_s16", n, p) }

// widePairRules are the conditions on a node on int16 data that a Pair computes.
func widePairRules() kernel.Rules {
	return kernel.Rules{
		pairRuleOf("INT16-PAIR", "two int16 operands with one scale each and zero point 0, at most 8 dimensions",
			tensor.I16),
		cond.New("PAIR-SCALES", "scales that shift to the right, one quantisation for Min and Max",
			func(n *kernel.Node) string {
				if pairTypes(n.Node, tensor.I16) != "" {
					return kernel.Unread
				}
				return WidePairs.Why(n)
			}),
	}
}

// straight is a function of two lines in 32 bits, nncc_lines_s16_params.
type straight struct {
	shift              int
	pos, neg           int64 // multipliers
	over, under        int32
	split, first, last int32
	clamp              bool // no more than two bounds
}

// WideLines are the lines of a straight function from int16 to int16, in 32 bits.
var WideLines = kernel.FactFrom(kernel.StraightLines, func(_ *kernel.Node, p *qref.PiecewiseLinear) (
	*straight, string) {
	if l, ok := narrowLines(p); ok {
		return l, ""
	}
	return nil, "no lines of 32 bits give the defined results for all inputs"
})

// narrowLines finds lines of 32 bits with the results of those of 64.
func narrowLines(p *qref.PiecewiseLinear) (*straight, bool) {
	l := &straight{split: p.Split, first: p.ActMin, last: p.ActMax, clamp: true}
	for q := int32(math.MinInt16); q <= math.MaxInt16 && l.clamp; q++ {
		l.clamp = p.Apply(q) == min(max(q, p.ActMin), p.ActMax)
	}
	if l.clamp {
		return l, true
	}
	l.shift = 15
	for _, d := range []struct {
		mult  int64
		shift int32
	}{{p.PosMult, p.PosShift}, {p.NegMult, p.NegShift}} {
		if d.mult != 0 {
			l.shift = min(l.shift, int(d.shift)-lowBits)
		}
	}
	if l.shift < 0 {
		return nil, false
	}
	pos, over, ok := l.side(p, p.PosMult, p.PosBias, p.PosShift, max(l.split, math.MinInt16), math.MaxInt16)
	neg, under, okay := l.side(p, p.NegMult, p.NegBias, p.NegShift, math.MinInt16, min(l.split-1, math.MaxInt16))
	l.pos, l.neg, l.over, l.under = pos, neg, over, under
	return l, ok && okay
}

// lowBits are the bits of a multiplier of which the products' upper halves count.
const lowBits = 31

// side finds a multiplier and a constant for the values lo to hi: those of 64
// bits, rounded, or neighbours of them.
func (l *straight) side(p *qref.PiecewiseLinear, mult, bias int64, shift, lo, hi int32) (int64, int32, bool) {
	less := int(shift) - lowBits - l.shift
	scaled := func(v int64, less int) int64 { return int64(math.Round(math.Ldexp(float64(v), -less))) }
	m, b := scaled(mult, less), scaled(bias, less+lowBits)
	for _, d := range []int64{0, 1, -1, 2, -2} {
		for _, e := range []int64{0, -1, 1} {
			if l.gives(p, m+d, b+e, lo, hi) {
				return m + d, int32(b + e), true
			}
		}
	}
	return 0, 0, false
}

// gives compares a line with the function for the values lo to hi.
func (l *straight) gives(p *qref.PiecewiseLinear, mult, bias int64, lo, hi int32) bool {
	high, low := mult>>lowBits, mult&(1<<lowBits-1)
	for q := int64(lo); q <= int64(hi); q++ {
		v := q*high + (2*q*low)>>32 + bias
		if v != int64(int32(v)) || min(max(int32(v>>uint(l.shift)), l.first), l.last) != p.Apply(int32(q)) {
			return false
		}
	}
	return bias == int64(int32(bias)) && high == int64(int32(high))
}

// LowerWideLines computes the lines.
func LowerWideLines(n *kernel.Node, l *straight) *call.Lowered {
	fn := "nncc_lines_s16"
	f := call.Ints("count", n.Out[0].Type.Elems())
	if l.clamp {
		fn = "nncc_clamp_s16"
	} else {
		f = append(f, call.FT("split", l.split), call.FT("shift", l.shift), call.FT("pos_mult", l.pos>>lowBits),
			call.FT("pos_low", l.pos&(1<<lowBits-1)), call.FT("pos_bias", l.over), call.FT("neg_mult", l.neg>>lowBits),
			call.FT("neg_low", l.neg&(1<<lowBits-1)), call.FT("neg_bias", l.under))
	}
	f = append(f, call.Ints("act_min", call.T(l.first), "act_max", call.T(l.last))...)
	return &call.Lowered{Kernel: fn, Overlap: call.InOrder(0), Unused: ir.Identity(len(n.In))[1:],
		Calls: []call.Call{{Func: fn, Args: []call.Arg{&call.Struct{Type: fn + "_params", Fields: f}, i16In(0),
			i16Out()}}}}
}

// wideLineRules are the conditions on a straight function.
func wideLineRules() kernel.Rules {
	return kernel.Rules{Int16(0), cond.Proof("PROVEN-LINES",
		"constant parameters; lines of 32 bits give the results of all values", func(n *kernel.Node) string {
			if NotInt16(n.In[0]) != "" || NotInt16(n.Out[0]) != "" {
				return kernel.Unread
			}
			return WideLines.Why(n)
		})}
}

// lowerWidePool calls a pool's kernel.
func lowerWidePool(fn string) func(n *kernel.Node) *call.Lowered {
	return func(n *kernel.Node) *call.Lowered {
		g := kernel.Pool.Must(n)
		lo, hi, _ := op.PoolQuantClamp(n.Node)
		w := param.PoolWindow(g)
		p := &param.PoolS16{Batch: g.N, Channels: g.C, ActMin: call.T(lo), ActMax: call.T(hi)}
		k := param.Walk{Images: g.N, From: 2 * g.C, To: 2 * g.C, Rows: 1, Pixels: 1, Reads: param.Mixed,
			Last: 2 * min(param.Channelwise(g.C, 4), param.Channelwise(g.C, 8))}
		return &call.Lowered{Kernel: fn, Overlap: k.Overlap(&w), Calls: []call.Call{{Func: fn, Args: []call.Arg{
			param.Struct(p, &w), i16In(0), i16Out()}}}}
	}
}

// Wide are the rows on int16 data.
func (s Shared) Wide() []*kernel.Kernel {
	pool := func(fn, was, doc string, ops ...*ir.OpDef) *kernel.Kernel {
		return s.row(was, kernel.Kernel{Name: fn, Ops: ops, Doc: doc, Layout: kernel.SpatialLayout},
			PoolRulesOf(Int16(0)), lowerWidePool(fn))
	}
	return []*kernel.Kernel{
		s.row("PAIR16", kernel.Kernel{Name: "nncc_pairs_s16", Ops: PairOps,
			Doc: "two int16 tensors with broadcasting, by functions of two rows"}, widePairRules(),
			func(n *kernel.Node) *call.Lowered { return LowerWidePair(n, WidePairs.Must(n)) }),
		s.row("LINE16", kernel.Kernel{Name: "nncc_lines_s16",
			Ops: kernel.Where(func(d *ir.OpDef) bool { return d.Straight }),
			Doc: "straight functions of int16 values, in 32 bits"}, wideLineRules(),
			func(n *kernel.Node) *call.Lowered { return LowerWideLines(n, WideLines.Must(n)) }),
		pool("nncc_avg_pool_s16", "AVG16", "int16 average pooling", op.AveragePool, op.GlobalAveragePool),
		pool("nncc_max_pool_s16", "MAXP16", "int16 max pooling", op.MaxPool, op.GlobalMaxPool),
	}
}

// pairDims says why a node has no operand that is computed at run time, or too
// many dimensions.
func pairDims(n *kernel.Node) string {
	if r := n.Out[0].Type.Rank(); r > 8 {
		return fmt.Sprintf("%d dimensions, want at most 8", r)
	}
	if slices.ContainsFunc(n.In, func(v *ir.Value) bool { return v.Const == nil }) {
		return ""
	}
	return "both operands are constant"
}
