// SPDX-License-Identifier: Apache-2.0

package quantised

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/pack"
)

// Pair is an operator on two int8 values as a function of two rows in C.
type Pair struct {
	Func string
	Form call.Arg // its first argument
	// Swapped: the function's first row is the second operand.
	Swapped bool
	tables  bool // of 2 KiB
	// one is the function whose second row is a single value, of a Pair in which
	// operands may change places.
	one string
}

// tableElems is the size of a result from which tables of 2 KiB are worth their flash.
const tableElems = 512

// PairOps are operators on two int8 tensors that may have a Pair.
var PairOps = slices.Concat(op.Linear(), []*ir.OpDef{op.Mul, op.Div}, []*ir.OpDef{op.Min, op.Max})

// Pairs is the Pair of a node, which gives what the interpreter computes for all
// pairs of values.
var Pairs = kernel.NewFact(func(n *kernel.Node) (*Pair, string) {
	if why := pairTypes(n.Node, tensor.I8); why != "" {
		return nil, why
	}
	lo, hi := op.ActRange(n.Node, n.Out[0].Type)
	switch n.Op {
	case op.Mul:
		return product(n.Node)
	case op.Min, op.Max:
		if name := extremes[n.Op]; op.MinMaxKernel(n.Node) && lo == -128 && hi == 127 {
			return &Pair{Func: "nncc_pair_" + name + "_s8", Form: call.Null{}, one: "nncc_row_" + name + "_s8"}, ""
		}
	}
	p := kernel.Memo(n.Options, pairKeyOf(n.Node), func(pairKey) *Pair { return search(n.Node) })
	if p == nil {
		return nil, "no linear function, no factors and no sum of tables give the results of all pairs of values"
	}
	if e := n.Out[0].Type.Elems(); p.tables && e < tableElems {
		return nil, fmt.Sprintf("no linear function gives the results of all pairs of values, and for tables of 2 KiB "+
			"there are %d elements, want at least %d", e, tableElems)
	}
	return p, ""
})

// extremes is what functions of Min and Max are called.
var extremes = map[*ir.OpDef]string{op.Min: "min", op.Max: "max"}

// pairTypes says what a node has that pairs of values of a type have not; comparisons of int8 give bools.
func pairTypes(n *ir.Node, d tensor.DType) string {
	if len(n.In) != 2 {
		return fmt.Sprintf("%d operands, want 2", len(n.In))
	}
	for _, v := range []*ir.Value{n.In[0], n.In[1], n.Out[0]} {
		if d == tensor.I8 && v == n.Out[0] && v.Type.DType == tensor.Bool {
			continue
		}
		if s := notOf(d, v); s != "" {
			return s
		}
	}
	return ""
}

// pairKey is all that a searched Pair depends on.
type pairKey struct {
	op      *ir.OpDef
	scales  [3]float32
	zeros   [3]int32
	lo, hi  int32
	rounded int
}

func pairKeyOf(n *ir.Node) pairKey {
	k := pairKey{op: n.Op, rounded: int(op.Rounding(n))}
	for i, v := range []*ir.Value{n.In[0], n.In[1], n.Out[0]} {
		if q := v.Type.Quant; q != nil {
			k.scales[i], k.zeros[i] = q.Scale[0], q.Zero[0]
		}
	}
	k.lo, k.hi = bounds(n)
	return k
}

// bounds are those of the results, 0 and 1 of a bool.
func bounds(n *ir.Node) (lo, hi int32) {
	if n.Out[0].Type.DType == tensor.Bool {
		return 0, 1
	}
	return op.ActRange(n, n.Out[0].Type)
}

// search looks for a form of the results that the interpreter gives.
func search(n *ir.Node) *Pair {
	want, err := pairResults(n)
	if err != nil {
		return nil
	}
	if name := extremes[n.Op]; name != "" {
		a, b, ok := want.Extremes(n.Op == op.Max)
		if !ok {
			return nil
		}
		return &Pair{Func: "nncc_pair_" + name + "_tables_s8", Form: &call.Struct{Type: "nncc_pair_extremes_s8_params",
			Fields: []call.Field{call.F("a", table(&a)), call.F("b", table(&b))}}}
	}
	lo, hi := bounds(n)
	clamp := call.Ints("act_min", call.T(lo), "act_max", call.T(hi))
	a := n.In[0].Type.Quant
	if n.Op == op.Div {
		out := n.Out[0].Type.Quant
		m, ok := want.Ratio(int64(a.Zero[0]), int64(out.Zero[0]), int8(lo), int8(hi))
		if !ok {
			return nil
		}
		var factor [256]int32
		for i := range factor { // by bit pattern
			factor[i] = m[(i+128)&255]
		}
		f := append(call.Ints("a_zero", call.T(a.Zero[0]), "out_zero", call.T(out.Zero[0])), clamp...)
		return &Pair{Func: "nncc_pair_ratio_s8", Form: &call.Struct{Type: "nncc_pair_ratio_s8_params",
			Fields: append(f, call.F("factor", table(&factor)))}}
	}
	ra, rb := slopes(n)
	l, ok := want.Linear(ra, rb, int8(lo), int8(hi))
	if !ok {
		t := SumTables(n, lo, hi, want)
		if t == nil {
			return nil
		}
		f := append(call.Ints("shift", call.T(t.Shift)), clamp...)
		return &Pair{Func: "nncc_pair_tables_s8", tables: true, Form: &call.Struct{Type: "nncc_pair_tables_s8_params",
			Fields: append(f, call.F("a", table(&t.A)), call.F("b", table(&t.B)))}}
	}
	return &Pair{Func: "nncc_pair_linear_s8", Form: &call.Struct{Type: "nncc_pair_linear_s8_params",
		Fields: append([]call.Field{call.FT("a", l.A), call.FT("b", l.B), call.FT("c", l.C), call.FT("shift", l.Shift)},
			clamp...)}}
}

// slopes are what a step of either operand is in steps of the result. The steps
// of a comparison are as small as those of the operands.
func slopes(n *ir.Node) (ra, rb float64) {
	a, b := float64(n.In[0].Type.Quant.Scale[0]), float64(n.In[1].Type.Quant.Scale[0])
	step := min(a, b)
	if q := n.Out[0].Type.Quant; q != nil {
		step = float64(q.Scale[0])
	}
	return n.Op.Slopes[0] * a / step, n.Op.Slopes[1] * b / step
}

// table is an initialiser.
func table(t *[256]int32) call.Nested {
	v := make([]int, len(t))
	for i, x := range t {
		v[i] = int(x)
	}
	return call.IntArray(v)
}

// SumTables are tables whose sum gives the results of a linear operator, or nil.
func SumTables(n *ir.Node, lo, hi int32, want *pack.Pairs) *qref.SumTables {
	if n.Op.Slopes == nil {
		return nil
	}
	ra, rb := slopes(n)
	za, zb, zero := float64(n.In[0].Type.Quant.Zero[0]), float64(n.In[1].Type.Quant.Zero[0]), 0.0
	if q := n.Out[0].Type.Quant; q != nil {
		zero = float64(q.Zero[0])
	} else if want[int(za)+128][int(zb)+128] == 1 {
		zero = 1 // equal values are a step above those that are not in the relation
	}
	t, ok := qref.BuildSum(func(q int32) float64 { return ra*(float64(q)-za) + zero },
		func(q int32) float64 { return rb * (float64(q) - zb) }, lo, hi,
		func(x, y int32) int32 { return int32(want[x+128][y+128]) })
	if !ok {
		return nil
	}
	return t
}

// pairResults evaluates the node on all pairs of values.
func pairResults(n *ir.Node) (*pack.Pairs, error) {
	y, err := kernel.Pairs(n)
	if err != nil {
		return nil, err
	}
	p := new(pack.Pairs)
	for i, v := range y.Bytes() {
		p[i>>8^128][i&255^128] = int8(v)
	}
	return p, nil
}

// maxPairShift leaves room for the zero point above the fractions of a product.
const maxPairShift = 22

// product is a multiplication as TensorFlow Lite rounds it.
func product(n *ir.Node) (*Pair, string) {
	p := op.MulParams(n)
	shift := -p.Shift
	if shift < 1 || shift > maxPairShift {
		return nil, fmt.Sprintf("the product is requantised by a shift of %d to the right, want 1 to %d", shift,
			maxPairShift)
	}
	// Beyond 16 bits of the first product, the result is clamped anyway, or there is nothing.
	far := func(offset int32) int64 { return int64(max(offset+127, 128-offset)) }
	peak := far(p.Offset1) * far(p.Offset2) * int64(p.Mult) >> 31
	narrow := peak < 1<<15-1 || shift <= 15 &&
		1<<15>>uint(shift)+p.OutputOffset > p.ActMax && p.OutputOffset-1<<15>>uint(shift) < p.ActMin
	return &Pair{Func: "nncc_pair_mul_s8", Form: &call.Struct{Type: "nncc_pair_mul_s8_params",
		Fields: []call.Field{call.FT("a_offset", p.Offset1), call.FT("b_offset", p.Offset2), call.FT("mult", p.Mult),
			call.FT("shift", shift), call.FT("out_zero", p.OutputOffset), call.FT("act_min", p.ActMin),
			call.FT("act_max", p.ActMax), call.FT("narrow", Flag(narrow))}}}, ""
}

// Flag is a bool in C.
func Flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// PairRules are the conditions on a node that a Pair computes.
func PairRules() kernel.Rules {
	return kernel.Rules{pairRule,
		cond.Trained("PROVEN-PAIR", "a function of two rows gives the results of all pairs of values", Pairs.Why),
	}
}

// pairRule is the rule that operands are those of a Pair.
var pairRule = pairRuleOf("INT8-PAIR", "two int8 operands with one scale each, at most 8 dimensions", tensor.I8)

func pairRuleOf(code, doc string, d tensor.DType) kernel.Rule {
	return cond.New(code, doc, func(n *kernel.Node) string {
		if why := pairTypes(n.Node, d); why != "" {
			return why
		}
		return pairDims(n)
	})
}

// LowerPair calls the node's Pair, directly where both operands lie like the
// result.
func LowerPair(n *kernel.Node, p *Pair) *call.Lowered { return lowerPairs("nncc_pairs_s8", n, p) }

// lowerPairs is LowerPair with the function that broadcasts.
func lowerPairs(fn string, n *kernel.Node, p *Pair) *call.Lowered {
	out := n.Out[0].Type
	a, b := kernel.Broadcast(n.Node, 0, out), kernel.Broadcast(n.Node, 1, out)
	low := &call.Lowered{Kernel: p.Func, Unused: Constants(n.Node), Overlap: kernel.MayOverwrite(n.Node, a, b)}
	if p.Swapped {
		a, b = b, a
	}
	y := call.Out{CType: call.CType(out.DType)}
	if out.DType == tensor.Bool {
		y.CType = "int8_t"
	}
	whole := func(o kernel.Operand) bool {
		blob, ok := o.Arg.(*call.Blob)
		return o.Whole || ok && len(blob.Data) == out.Elems()*n.In[0].Type.DType.Size()
	}
	if whole(a) && whole(b) {
		low.Calls = []call.Call{{Func: p.Func, Args: []call.Arg{p.Form, a.Arg, b.Arg, y, call.I32(out.Elems())}}}
		return low
	}
	sameAlone := func() { // rows may go from their ends on
		for i := range low.Overlap {
			low.Overlap[i].Exact = true
		}
	}
	if low.Calls = p.fewRows(n, y, a, b); low.Calls != nil {
		if low.Kernel = low.Calls[0].Func; low.Kernel == p.one {
			sameAlone()
		}
		return low
	}
	row := p.Func
	if p.one != "" {
		if len(singles(out, b, a)) > 0 {
			a, b = b, a
		}
		if dims := singles(out, a, b); len(dims) > 0 {
			fn, row, low.Kernel = "nncc_rows_s8", p.one, p.one
			sameAlone()
			if len(dims) == 1 {
				low.Calls = []call.Call{{Func: row, Args: []call.Arg{p.Form, a.Arg, b.Arg, y, call.I32(dims[0])}}}
				return low
			}
		}
	}
	space := &call.Struct{Type: "nncc_bcast_params", Fields: kernel.BroadcastFields(out, a, b).Fields}
	low.Calls = []call.Call{{Func: fn, Args: []call.Arg{space, p.Form, call.Func(row), a.Arg, b.Arg, y}}}
	low.Route = fn
	return low
}

// fewRowsMost is up to how many rows a call for each takes less than one that broadcasts, and not more code.
const fewRowsMost = 4

// fewRows are the calls of a result of few rows, each of which has a row of both operands, or of one and a value of the
// other; nil: it is another one.
func (p *Pair) fewRows(n *kernel.Node, y call.Out, a, b kernel.Operand) []call.Call {
	out := n.Out[0].Type
	dims, st := kernel.MergeDims(out.Phys(), a.Strides, b.Strides)
	x, isIn := a.Arg.(call.In)
	z, areIn := b.Arg.(call.In)
	if !isIn || !areIn || len(dims) != 2 || dims[0] > fewRowsMost {
		return nil
	}
	fn := p.Func
	switch inner := [2]int{st[0][1], st[1][1]}; {
	case inner == [2]int{1, 1}:
	case inner == [2]int{1, 0} && p.one != "":
		fn = p.one
	case inner == [2]int{0, 1} && p.one != "":
		fn, x, z = p.one, z, x
		st[0], st[1] = st[1], st[0]
	default:
		return nil
	}
	var calls []call.Call
	bytes := n.In[0].Type.DType.Size()
	for range dims[0] {
		calls = append(calls, call.Call{Func: fn, Args: []call.Arg{p.Form, x, z, y, call.I32(dims[1])}})
		x.Off, z.Off, y.Off = x.Off+bytes*st[0][0], z.Off+bytes*st[1][0], y.Off+out.DType.Size()*dims[1]
	}
	return calls
}

// shortRow is the length from which rows with one value each are worth a call each.
const shortRow = 9

// singles are the merged dimensions of a result where rows of a lie side by side and
// b has one value for each, or nil where that is not so, or rows are short.
func singles(out ir.Type, a, b kernel.Operand) []int {
	dims, st := kernel.MergeDims(out.Phys(), a.Strides, b.Strides)
	last := len(dims) - 1
	if st[0][last] != 1 || st[1][last] != 0 || last > 0 && dims[last] < shortRow {
		return nil
	}
	return dims
}

// summand is an operand of an addition: times unit, plus offset, then by mult over
// 2^shift.
type summand struct{ unit, offset, mult, shift int64 }

// summands are the operands of TensorFlow Lite's addition. The one with the larger
// scale counts half exactly, which is no shift to the right: it gets one, and twice
// the unit.
func summands(p *fixp.AddScales, x, y int32) (a, b summand, ok bool) {
	of := func(offset, mult, shift int32) summand {
		o := summand{1 << uint(p.LeftShift), 0, int64(mult), -int64(shift)}
		switch {
		case mult == 0:
			o.shift = 1
		case shift == 0 && mult == 1<<30:
			o.unit, o.shift = 2*o.unit, 1
		}
		o.offset = o.unit * int64(offset)
		return o
	}
	a, b = of(x, p.Mult1, p.Shift1), of(y, p.Mult2, p.Shift2)
	in := func(s int64) bool { return s >= 1 && s <= 31 }
	return a, b, in(a.shift) && in(b.shift) && in(-int64(p.OutShift))
}

// Sums is an int8 Add as a Pair with the three roundings of its definition, which
// needs neither a linear function nor tables.
var Sums = kernel.NewFact(func(n *kernel.Node) (*Pair, string) {
	p := op.AddParamsS8(n.Node)
	a, b, ok := summands(&p.Scales, p.Offset1, p.Offset2)
	if !ok {
		return nil, "an operand or the sum is requantised by a shift that is not 1 to 31 to the right"
	}
	return &Pair{Func: "nncc_pair_add_s8", Form: &call.Struct{Type: "nncc_pair_add_s8_params", Fields: []call.Field{
		call.FT("a_unit", a.unit), call.FT("a_offset", a.offset), call.FT("a_mult", a.mult),
		call.FT("a_shift", a.shift), call.FT("b_unit", b.unit), call.FT("b_offset", b.offset),
		call.FT("b_mult", b.mult), call.FT("b_shift", b.shift), call.FT("mult", p.Scales.OutMult),
		call.FT("shift", -p.Scales.OutShift), call.FT("out_zero", p.OutputOffset), call.FT("act_min", p.ActMin),
		call.FT("act_max", p.ActMax)}}}, ""
})

// sumRules are the conditions on an Add that Sums computes.
func sumRules() kernel.Rules {
	return kernel.Rules{pairRule,
		cond.New("RIGHT-SHIFT", "requantisation shifts to the right", func(n *kernel.Node) string {
			if !op.BinaryKernelS8(n.Node) {
				return kernel.Unread
			}
			return Sums.Why(n)
		})}
}
