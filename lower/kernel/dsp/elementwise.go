package dsp

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/pack"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// add looks both operands up in tables of twice their scaled values.
var add = &kernel.Kernel{
	Name: "nncc_dsp_add_s8", Library: Library, Doc: "int8 addition by two tables of 256 words", Ops: []*ir.OpDef{op.Add},
	Layout: func(*ir.Node) kernel.Layout { return kernel.Layout{Kind: kernel.Same} },
	Rules: join(onDSP("DSP-ADD-00"), quantised.AddRules("DSP-ADD"),
		kernel.Rule{Code: "DSP-ADD-03", Doc: "enough elements for two tables, exact in one multiplication", Check: func(n *ir.Node, _ *kernel.Options) string {
			if !op.BinaryKernelS8(n) {
				return kernel.Unread
			}
			if e := n.Out[0].Type.Elems(); e < addElems {
				return fmt.Sprintf("%d elements, want at least %d for tables of 2 KiB", e, addElems)
			}
			_, _, _, why := addTables(n)
			return why
		}}),
	Lower: func(n *ir.Node, _ *kernel.Options) (*call.Lowered, error) {
		a, b, f, why := addForm(n)
		if why != "" {
			return nil, ir.Errf(n, "kernel", "%s", why)
		}
		f = append(fields("count", n.Out[0].Type.Elems()), f...)
		l := &call.Lowered{}
		for i, v := range n.In {
			if v.Const == nil {
				l.InPlace = append(l.InPlace, i)
			} else {
				l.Unused = append(l.Unused, i)
			}
		}
		return own(l, call.Call{Func: "nncc_dsp_add_s8", Args: []call.Arg{&call.Struct{Type: "nncc_dsp_add_params", Fields: f},
			quantised.Operand(n, 0), quantised.Operand(n, 1), table(a), table(b), i8Out(0)}}), nil
	},
}

// addElems is the size from which two tables of 2 KiB are worth their flash.
const addElems = 1024

func table(v []int32) *call.Blob {
	return &call.Blob{Hint: "table", CType: "int32_t", Data: pack.Words(v), Align: 4, NoCast: true}
}

// addTables are the scaled operands for every byte and the scale of the sum.
// The kernel's values are twice an accumulator, so they are doubled; where an
// accumulator would not be a sum that OneMultiply covers, the reason is given.
func addTables(n *ir.Node) (a, b []int32, s pack.Scale, why string) {
	p := op.AddParamsS8(n)
	q := p.Scales
	a, b = make([]int32, 256), make([]int32, 256)
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
	fill(a, p.Offset1, q.Mult1, q.Shift1)
	fill(b, p.Offset2, q.Mult2, q.Shift2)
	s, why = pack.OneMultiply(q.OutMult, q.OutShift, lo, hi, p.OutputOffset-p.ActMin)
	return a, b, s, why
}

// addForm are the tables of both operands and the nncc_dsp_add_params but for
// the count.
func addForm(n *ir.Node) (a, b []int32, f []call.Field, why string) {
	a, b, s, why := addTables(n)
	p := op.AddParamsS8(n)
	f = append(fields("m", int(s.M), "c", int(s.C), "s", int(s.S)), clampOf(&op.MACParams{ActMin: p.ActMin, ActMax: p.ActMax}).bounds()...)
	return a, b, f, why
}

// relayout exchanges two blocks of dimensions.
var relayout = &kernel.Kernel{
	Name: "nncc_dsp_transpose_s8", Library: Library, Doc: "8-bit conversion between memory orders that exchanges two neighbours", Ops: []*ir.OpDef{op.Relayout},
	Layout: func(*ir.Node) kernel.Layout { return kernel.Layout{Kind: kernel.AnyToAny} },
	Rules:  join(onDSP("DSP-TRANS-00"), quantised.ExchangeRules("DSP-TRANS")),
	Lower: func(n *ir.Node, _ *kernel.Options) (*call.Lowered, error) {
		if n.In[0].Type.SameMemory(n.Out[0].Type.Order) {
			return &call.Lowered{Kernel: "view", Library: "view", View: true}, nil
		}
		batches, rows, cols, ok := quantised.Exchange(n)
		if !ok {
			return nil, ir.Errf(n, "kernel", "no exchange of two runs of dimensions")
		}
		return own(&call.Lowered{}, call.Call{Func: "nncc_dsp_transpose_s8", Args: []call.Arg{
			&call.Struct{Type: "nncc_dsp_transpose_params", Fields: fields("batches", batches, "rows", rows, "cols", cols)}, i8In(0), i8Out(0)}}), nil
	},
}
