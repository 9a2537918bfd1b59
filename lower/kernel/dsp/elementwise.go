// SPDX-License-Identifier: Apache-2.0

package dsp

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/pack"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// add looks both operands up in tables of twice their scaled values.
var add = &kernel.Kernel{
	Name: "nncc_dsp_add_s8", Library: Library, Doc: "int8 addition by two tables of 256 words",
	Ops: []*ir.OpDef{op.Add}, Layout: kernel.SameLayout,
	Was: "DSP-ADD", Rules: kernel.All(cond.DSP, quantised.AddRules(),
		cond.New("TABLE-SIZE", "enough elements for two tables, exact in one multiplication",
			func(n *kernel.Node) string {
				if !op.BinaryKernelS8(n.Node) {
					return kernel.Unread
				}
				if e := n.Out[0].Type.Elems(); e < addElems {
					return fmt.Sprintf("%d elements, want at least %d for tables of 2 KiB", e, addElems)
				}
				_, why := sums.Of(n)
				return why
			})),
	Lower: func(n *kernel.Node) *call.Lowered {
		s := sums.Must(n)
		return own(quantised.Elementwise(n.Node, call.InOrder), call.Call{Func: "nncc_dsp_add_s8", Args: []call.Arg{
			&call.Struct{Type: "nncc_dsp_add_params", Fields: append(fields("count", n.Out[0].Type.Elems()),
				s.fields...)},
			quantised.Operand(n.Node, 0), quantised.Operand(n.Node, 1), table(s.a), table(s.b), i8Out(0)}})
	},
}

// addElems is the size from which two tables of 2 KiB are worth their flash.
const addElems = 1024

func table(v []int32) *call.Blob {
	return &call.Blob{Hint: "table", CType: "int32_t", Data: pack.Words(v), Align: 4, NoCast: true}
}

// sum is an addition as the kernels take it: the scaled operands for every byte,
// and the nncc_dsp_add_params but for the count.
type sum struct {
	a, b   []int32
	fields []call.Field
}

// sums is the sum of an Add. The kernel's values are twice an accumulator, so the
// operands are doubled; where an accumulator would not be a sum that OneMultiply
// covers, there is none.
var sums = kernel.NewFact(func(n *kernel.Node) (*sum, string) {
	p := op.AddParamsS8(n.Node)
	q := p.Scales
	x := &sum{a: make([]int32, 256), b: make([]int32, 256)}
	var lo, hi int64
	fill := func(t []int32, offset, mult, shift int32) {
		l, h := int64(0), int64(0)
		for i := range t {
			v := fixp.Requantize((int32(int8(i))+offset)<<uint(q.LeftShift), mult, shift)
			t[i] = 2 * v
			if i == 0 {
				l, h = int64(v), int64(v)
			}
			l, h = min(l, int64(v)), max(h, int64(v))
		}
		lo, hi = lo+l, hi+h
	}
	fill(x.a, p.Offset1, q.Mult1, q.Shift1)
	fill(x.b, p.Offset2, q.Mult2, q.Shift2)
	s, why := pack.OneMultiply(q.OutMult, q.OutShift, lo, hi, p.OutputOffset-p.ActMin)
	x.fields = append(fields("m", call.T(s.M), "c", call.T(s.C), "s", call.T(s.S)),
		clampOf(&op.MACParams{ActMin: p.ActMin, ActMax: p.ActMax}).bounds()...)
	return x, why
})
