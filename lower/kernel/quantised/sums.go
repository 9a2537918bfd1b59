// SPDX-License-Identifier: Apache-2.0

package quantised

import (
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
)

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
