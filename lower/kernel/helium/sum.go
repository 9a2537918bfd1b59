// SPDX-License-Identifier: Apache-2.0

package helium

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/pack"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// linear is nncc_helium_add_linear_params: v = a*x + b*y + c over 2^shift, rounded down by
// fn nncc_helium_add_linear_s8; with ties away from zero, and zero added, by
// nncc_helium_add_linear_away_s8; with multipliers by nncc_helium_add_linear_q31_s8.
type linear struct {
	fn                   string
	a, b, c, shift, zero int64
	bMult, mult          int64
	swapped              bool // x is the second operand, y the first
	lo, hi               int8
}

const (
	sumDown = "nncc_helium_add_linear_s8"
	sumAway = "nncc_helium_add_linear_away_s8"
	sumFine = "nncc_helium_add_linear_q31_s8"
)

// fields are those of nncc_helium_add_linear_params.
func (l *linear) fields() []call.Field {
	return []call.Field{call.FT("a", l.a), call.FT("b", l.b), call.FT("c", l.c), call.FT("shift", l.shift),
		call.FT("zero", l.zero), call.FT("b_mult", l.bMult), call.FT("mult", l.mult),
		call.FT("act_min", int64(l.lo)), call.FT("act_max", int64(l.hi))}
}

type results = pack.Pairs

// linearSum finds a linear form that gives the results for all pairs, given
// about what a step of x and of y is in steps of the output. Results at lo and
// hi are clamped ones.
func linearSum(ra, rb float64, offX, offY, zero int64, lo, hi int8, want *results) (l linear, ok bool) {
	ok = pack.Factors(ra, rb, func(a, b, shift int64) bool {
		l = linear{fn: sumDown, a: a, b: b, shift: shift, lo: lo, hi: hi}
		if d, ok := want.With(a, b, shift, lo, hi); ok {
			l.c = d.C
			return true
		}
		l.fn, l.c, l.zero = sumAway, a*offX+b*offY, zero
		return l.gives(want)
	})
	return l, ok
}

// fineSum finds the form with multipliers for TensorFlow Lite's addition of x
// and y, the former with the larger scale, which counts half exactly.
func fineSum(p *fixp.AddScales, multX, shiftX, multY, shiftY int32, lo, hi int8, want *results) (linear, bool) {
	down, out := int64(p.LeftShift)+int64(shiftY), -int64(p.OutShift)
	if multX != 1<<30 || shiftX != 0 || down < 0 || down > 22 || out < 0 || out > 24 || p.OutMult == 0 {
		return linear{}, false
	}
	l := linear{fn: sumFine, a: 1 << uint(p.LeftShift-1), b: 1 << uint(down), bMult: int64(multY),
		mult: int64(p.OutMult), shift: out, lo: lo, hi: hi}
	var xs, shares [256]int64
	for y := range shares {
		xs[y] = l.a * int64(y-128)
		shares[y] = int64(fixp.DoublingHighMult(int32(l.b)*int32(y-128), multY))
	}
	// the least v whose product, rounded, is w << shift
	least := func(w int64) int64 {
		k := w<<uint(out+31) - 1<<30
		return (k + l.mult - 1 - mod(k+l.mult-1, l.mult)) / l.mult
	}
	var ok bool
	l.c, ok = want.Center(&xs, &shares, lo, hi, least)
	return l, ok && 128*l.a+max(shares[255], -shares[0])+max(l.c, -l.c) < 1<<31
}

// mod is the remainder towards minus infinity.
func mod(a, b int64) int64 { return ((a % b) + b) % b }

// gives compares the form with ties away from zero.
func (l *linear) gives(want *results) bool {
	for i := range int64(256) {
		x := pack.Scattered(i)
		for y := range int64(256) {
			v := int32(l.a*(x-128) + l.b*(y-128) + l.c)
			r := int64(fixp.DivideByPowerOfTwo(v, int32(l.shift))) + l.zero
			if int8(min(max(r, int64(l.lo)), int64(l.hi))) != want[x][y] {
				return false
			}
		}
	}
	return (&pack.Linear{A: l.a, B: l.b, C: l.c}).Fits()
}

// sumKey is all that the linear form of an addition depends on.
type sumKey struct {
	qref.AddParams
	ratios [2]float64 // scales of the operands in steps of the result
	first  int        // the operand that is x
}

// sumForm is a linear form, if there is one.
type sumForm struct {
	linear
	ok bool
}

// addition is the linear form of an int8 Add, unless another training might have another one. Its x is operand `first`.
func addition(n *kernel.Node, first int) (linear, bool) {
	if n.Options.Bound {
		return linear{}, false
	}
	k := sumKey{AddParams: *op.AddParamsS8(n.Node), first: first}
	for i := range k.ratios {
		k.ratios[i] = float64(n.In[i].Type.Quant.Scale[0]) / float64(n.Out[0].Type.Quant.Scale[0])
	}
	f := kernel.Memo(n.Options, k, func(k sumKey) sumForm {
		l, ok := k.find()
		return sumForm{l, ok}
	})
	return f.linear, f.ok
}

// find looks for the form.
func (p *sumKey) find() (linear, bool) {
	s := p.Scales
	type side struct {
		offset, mult, shift int32
		terms               [256]int32
		ratio               float64
	}
	x := &side{offset: p.Offset1, mult: s.Mult1, shift: s.Shift1, ratio: p.ratios[0]}
	y := &side{offset: p.Offset2, mult: s.Mult2, shift: s.Shift2, ratio: p.ratios[1]}
	for _, o := range []*side{x, y} {
		for i := range o.terms {
			o.terms[i] = fixp.Requantize((int32(i)-128+o.offset)<<uint(s.LeftShift), o.mult, o.shift)
		}
	}
	if p.first == 1 {
		x, y = y, x
	}
	var want results
	for i := range x.terms {
		for k := range y.terms {
			v := fixp.Requantize(x.terms[i]+y.terms[k], s.OutMult, s.OutShift) + p.OutputOffset
			want[i][k] = int8(fixp.Clamp(v, p.ActMin, p.ActMax))
		}
	}
	lo, hi := int8(p.ActMin), int8(p.ActMax)
	if l, ok := linearSum(x.ratio, y.ratio, int64(x.offset), int64(y.offset), int64(p.OutputOffset), lo, hi,
		&want); ok {
		return l, true
	}
	if l, ok := fineSum(&s, x.mult, x.shift, y.mult, y.shift, lo, hi, &want); ok {
		return l, true
	}
	for i := range want {
		for k := range i {
			want[i][k], want[k][i] = want[k][i], want[i][k]
		}
	}
	l, ok := fineSum(&s, y.mult, y.shift, x.mult, x.shift, lo, hi, &want)
	l.swapped = true
	return l, ok
}

// add is an addition.
var add = &kernel.Kernel{
	Name: "nncc_helium_add_linear_s8", Library: Library, Doc: "int8 addition: a linear function where that gives the " +
		"results of all pairs of values, else three roundings",
	Ops:    []*ir.OpDef{op.Add},
	Layout: kernel.SameLayout, Lower: lowerAdd,
	Was: "HELIUM-ADD", Rules: kernel.All(cond.Helium, quantised.AddRules(),
		cond.New("RIGHT-SHIFT", "requantisation shifts to the right", func(n *kernel.Node) string {
			if !op.BinaryKernelS8(n.Node) {
				return kernel.Unread
			}
			return quantised.Sums.Why(n)
		})),
}

func lowerAdd(n *kernel.Node) *call.Lowered {
	low := quantised.Elementwise(n.Node, call.InOrder)
	x, y := quantised.Operand(n.Node, 0), quantised.Operand(n.Node, 1)
	if l, ok := addition(n, 0); ok {
		if l.swapped {
			x, y = y, x
		}
		sumRows(low, n.Node, &l)
		return own(low,
			call.Call{Func: l.fn, Args: []call.Arg{&call.Struct{Type: "nncc_helium_add_linear_params",
				Fields: l.fields()}, x, y, i8Out(0),
				call.I32(n.Out[0].Type.Elems())}})
	}
	p := quantised.Sums.Must(n)
	low.Library, low.Kernel = Library, p.Func // a portable kernel: no header of this family
	low.Calls = []call.Call{{Func: p.Func, Args: []call.Arg{p.Form, x, y, i8Out(0), call.I32(n.Out[0].Type.Elems())}}}
	return low
}

// sumRows is a sum row by row for operands whose channels lie apart.
func sumRows(low *call.Lowered, n *ir.Node, l *linear) {
	t := n.Out[0].Type
	if t.Rank() < 2 {
		return
	}
	row := t.Phys()[t.Rank()-1]
	for _, v := range n.In {
		if v.Const != nil || v.Type.Rank() != t.Rank() || v.Type.Phys()[t.Rank()-1] != row ||
			v.Type.Elems() != t.Elems() {
			return
		}
	}
	x, y := 0, 1
	if l.swapped {
		x, y = y, x
	}
	rowCall := call.Call{Func: "nncc_helium_add_linear_strided_s8",
		Args: []call.Arg{&call.Struct{Type: "nncc_helium_add_linear_strided_params", Fields: []call.Field{
			call.F("sum", call.Nested{Fields: l.fields()}), call.FI("n", row), call.FI("rows", t.Elems()/row),
			call.F("x_pitch", call.Pitch{I: x, Row: row}),
			call.F("y_pitch", call.Pitch{I: y, Row: row}), call.F("out_pitch", call.Pitch{Output: true, Row: row})}},
			call.Func(l.fn), i8In(x), i8In(y), i8Out(0)}}
	low.RowCalls = []call.Call{rowCall}
	low.Rows = []call.Rows{{Bytes: row}, {I: 1, Bytes: row}, {Output: true, Bytes: row}}
}
