// SPDX-License-Identifier: Apache-2.0

package mla

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/param"
	"github.com/nncc/nncc/lower/kernel/reference"
	"github.com/nncc/nncc/lower/option"
)

// Lowering. Most operators are lowered by the rows of reference: their calls name
// portable kernels, each of which is an operation of the MLA (commands.go). The
// rows of this file are operations of its own: transposed convolution, products
// of strided matrices, and sums and products with broadcasting.

// lowerTable is the choice of rows for a segment.
var lowerTable = kernel.NewTable(lowerRows, reference.Kernels)

var lowerRows = append([]*kernel.Kernel{convTransposeRow, matMulRow, addRow, mulRow}, bf16Rows...)

var plainOptions = &kernel.Options{Kernels: option.ReferenceKernels, Executes: func(fn string) bool {
	_, ok := forms[fn]
	return ok
}}

// want is a rule of a lowering row.
func want(code, doc string, check func(n *ir.Node) string) []kernel.Rule {
	return []kernel.Rule{{Code: code, Doc: doc, Check: func(n *kernel.Node) string { return check(n.Node) }}}
}

func same(*kernel.Node) kernel.Layout { return kernel.Layout{Kind: kernel.Same} }

func fields(pairs ...any) []call.Field { return call.Ints(pairs...) }

func command(l *call.Lowered, fn string, f []call.Field, args ...call.Arg) *call.Lowered {
	l.Kernel, l.Library = fn, Kind
	l.Calls = []call.Call{{Func: fn, Args: append([]call.Arg{&call.Struct{Type: fn + "_params", Fields: f}}, args...)}}
	return l
}

func i8In(i int) call.Arg { return call.In{I: i, CType: "int8_t"} }

var i8Out = call.Out{I: 0, CType: "int8_t"}

func blob[T tensor.Elem](hint, ctype string, v []T) *call.Blob {
	return &call.Blob{Hint: hint, CType: ctype, Data: tensor.Of([]int{len(v)}, v).Bytes()}
}

// biasArg is the constant bias with one value a channel, or nothing.
func biasArg(n *ir.Node, channels int) call.Arg {
	if b := kernel.Bias(n, channels); b != nil {
		return blob("bias", "int32_t", b)
	}
	return call.Null{}
}

// convTransposeRow is a convolution over the input spread by the strides, with
// the filter turned round.
var convTransposeRow = &kernel.Kernel{
	Name: "mla_conv2d", Library: Kind, Doc: "int8 transposed convolution with groups and dilation",
	Ops:    []*ir.OpDef{op.ConvTranspose},
	Layout: kernel.SpatialLayout, Lower: lowerConvTranspose,
	Rules: want("MLA-LOWER-CONVTRANSPOSE",
		"an integer operator in one or two dimensions with constant symmetric weights", func(n *ir.Node) string {
			g := bug.Must(op.ConvGeometry(n))
			p, why := op.MAC8Params(n)
			switch {
			case why != "":
				return why
			case len(g.In) > 2:
				return fmt.Sprintf("%d spatial dimensions, want 1 or 2", len(g.In))
			case n.In[1].Const == nil || n.In[1].Type.DType != tensor.I8 || !p.Symmetric():
				return "the weights are not constant int8 with zero points 0"
			case n.Input(2) != nil && n.In[2].Const == nil:
				return "the bias is computed at run time"
			}
			return ""
		}),
}

// windowFields are sizes and dilations.
func windowFields(w param.Window) []call.Field {
	return fields("in_h", w.In.H, "in_w", w.In.W, "out_h", w.Out.H, "out_w", w.Out.W, "kernel_h", w.Kernel.H,
		"kernel_w", w.Kernel.W, "dilation_h", w.Dilation.H, "dilation_w", w.Dilation.W)
}

// convFields are the geometry of a convolution. In a transposed one output o reads
// spread position o + tap*dilation - (dilation*(kernel-1) - pad).
func convFields(g *op.ConvGeom) []call.Field {
	w := param.ConvWindow(g)
	f := append(windowFields(w), fields("batch", g.N, "in_c", g.CIn, "out_c", g.COut, "groups", g.Group)...)
	if !g.Transposed {
		return append(f, fields("stride_h", w.Stride.H, "stride_w", w.Stride.W, "pad_top", w.Pad.H, "pad_left", w.Pad.W,
			"spread_h", 1, "spread_w", 1)...)
	}
	span := w.Span()
	return append(f, fields("stride_h", 1, "stride_w", 1, "pad_top", span.H-1-w.Pad.H, "pad_left", span.W-1-w.Pad.W,
		"spread_h", w.Stride.H, "spread_w", w.Stride.W, "transposed", 1)...)
}

func lowerConvTranspose(n *kernel.Node) *call.Lowered {
	g := kernel.Conv.Must(n)
	p, _ := op.MAC8Params(n.Node) // a rule has asked
	f := append(convFields(g), fields("in_offset", int(p.InOff), "out_offset", int(p.OutOff), "act_min",
		int(p.ActMin), "act_max", int(p.ActMax))...)
	return command(&call.Lowered{Unused: []int{1, 2}}, "mla_conv2d", f, i8In(0),
		blob("weights", "int8_t", g.Turned(n.In[1].Const)), biasArg(n.Node, g.COut),
		blob("multiplier", "int32_t", p.Mult), blob("shift", "int32_t", p.Shift), i8Out)
}

// matMulRow takes operands in any memory order: the operation steps over them.
var matMulRow = &kernel.Kernel{
	Name: "mla_matmul", Library: Kind, Doc: "int8 matrix products in any memory order", Ops: []*ir.OpDef{op.MatMul},
	Layout: same, Lower: lowerMatMul,
	Rules: want("MLA-LOWER-MATMUL", "an integer product of matrices of rank 2 to 4 with one zero point each",
		func(n *ir.Node) string {
			for i, v := range n.In {
				t := v.Type
				if r := t.Rank(); r < 2 || r > 4 {
					return fmt.Sprintf("operand %d has rank %d, want 2 to 4", i, r)
				}
				if t.DType != tensor.I8 {
					return fmt.Sprintf("operand %d is %s, want int8", i, t.DType)
				}
			}
			p, why := op.MAC8Params(n)
			if why == "" && len(p.FilterOff) > 1 {
				why = "the right side has a zero point a column"
			}
			if n.Out[0].Type.DType != tensor.I8 {
				why = "the output is no int8"
			}
			return why
		}),
}

func lowerMatMul(n *kernel.Node) *call.Lowered {
	g := kernel.MatMul.Must(n)
	p, _ := op.MAC8Params(n.Node) // a rule has asked
	batch := kernel.PadLeft(g.Batch, 2)
	var st [3][]int
	var args [2]call.Arg
	for i, v := range n.In {
		t := v.Type
		if v.Const != nil {
			t.Order = nil
			args[i] = &call.Blob{Hint: "weights", CType: "int8_t", Data: v.Const.Bytes()}
		} else {
			args[i] = i8In(i)
		}
		st[i] = wideStrides(t)
		for d := range 2 { // a batch of one matrix serves all
			if kernel.PadLeft(t.Shape, 4)[d] == 1 {
				st[i][d] = 0
			}
		}
	}
	st[2] = wideStrides(n.Out[0].Type)
	perColumn := 0
	if len(p.Mult) > 1 {
		perColumn = 1
	}
	f := fields("batch0", batch[0], "batch1", batch[1], "m", g.M, "k", g.K, "n", g.N, "a_batch0", st[0][0], "a_batch1",
		st[0][1], "a_m", st[0][2], "a_k", st[0][3], "b_batch0", st[1][0], "b_batch1", st[1][1], "b_k", st[1][2], "b_n",
		st[1][3], "y_batch0", st[2][0], "y_batch1", st[2][1], "y_m", st[2][2], "y_n", st[2][3], "per_column", perColumn,
		"a_offset", int(p.InOff), "b_offset", int(p.FilterOff[0]), "out_offset", int(p.OutOff), "act_min",
		int(p.ActMin), "act_max", int(p.ActMax))
	return command(&call.Lowered{Unused: constants(n.Node)}, "mla_matmul", f, args[0], args[1], call.Null{},
		blob("multiplier", "int32_t", p.Mult), blob("shift", "int32_t", p.Shift), i8Out)
}

// constants are the inputs whose content is in blobs.
func constants(n *ir.Node) []int {
	return lists.Where(len(n.In), func(i int) bool { return n.ConstIn(i) != nil })
}

var (
	addRow = pairRow("mla_add", op.Add)
	mulRow = pairRow("mla_mul", op.Mul)
)

// pairRow is CMSIS-NN's arithmetic with broadcasting.
func pairRow(fn string, d *ir.OpDef) *kernel.Kernel {
	return &kernel.Kernel{
		Name: fn, Library: Kind, Doc: "int8 " + d.Doc + ", with broadcasting", Ops: []*ir.OpDef{d}, Layout: same,
		Rules: want("MLA-LOWER-"+d.Name, "int8 with one scale for operands and result, up to 8 dimensions",
			func(n *ir.Node) string {
				if !op.BinaryKernelS8(n) {
					return "operands and result are not all int8 with one scale"
				}
				if r := n.Out[0].Type.Rank(); r > 8 || n.Out[0].Type.Elems() == 0 {
					return fmt.Sprintf("the result has shape %v", n.Out[0].Type.Shape)
				}
				return ""
			}),
		Lower: func(n *kernel.Node) *call.Lowered {
			l, f, args := pairOperands(n.Node)
			if d == op.Add {
				p := op.AddParamsS8(n.Node)
				s := p.Scales
				f = append(f, fields("offset1", int(p.Offset1), "mult1", int(s.Mult1), "shift1", int(s.Shift1),
					"offset2", int(p.Offset2), "mult2", int(s.Mult2), "shift2", int(s.Shift2), "left_shift",
					int(s.LeftShift), "out_offset", int(p.OutputOffset), "out_mult", int(s.OutMult), "out_shift",
					int(s.OutShift), "act_min", int(p.ActMin), "act_max", int(p.ActMax))...)
			} else {
				p := op.MulParams(n.Node)
				f = append(f, fields("offset1", int(p.Offset1), "offset2", int(p.Offset2),
					"out_offset", int(p.OutputOffset), "mult", int(p.Mult), "shift", int(p.Shift),
					"act_min", int(p.ActMin), "act_max", int(p.ActMax))...)
			}
			return command(l, fn, f, args[0], args[1], i8Out)
		},
	}
}

// pairOperands are the iteration space of two operands with broadcasting, and the operands.
func pairOperands(n *ir.Node) (*call.Lowered, []call.Field, [2]call.Arg) {
	l, out := &call.Lowered{Unused: constants(n)}, n.Out[0].Type
	a, b := kernel.Broadcast(n, 0, out), kernel.Broadcast(n, 1, out)
	for i, o := range []kernel.Operand{a, b} {
		if o.Whole {
			l.Overlap = append(l.Overlap, call.InPlace(i)...)
		}
	}
	return l, kernel.BroadcastFields(out, a, b).Fields, [2]call.Arg{a.Arg, b.Arg}
}

// wideStrides are strides for four dimensions, 0 for those in front.
func wideStrides(t ir.Type) []int {
	return append(make([]int, 4-t.Rank()), kernel.Strides(t)...)
}
