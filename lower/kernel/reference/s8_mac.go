// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
)

// The integer convolutions and matrix products of this file take weights with
// zero points, groups and dilation in any combination. Where CMSIS-NN has the
// kernel the results are the same; its rows come first.

// The integer arithmetic of convolutions.
var (
	convParams   = kernel.NewFact(func(n *kernel.Node) (*op.MACParams, string) { return op.MAC8Params(n.Node) })
	conv16Params = kernel.NewFact(func(n *kernel.Node) (*op.MACParams, string) { return op.MAC16Params(n.Node) })
)

// integerMAC: the operator's integer arithmetic applies.
func integerMAC(of *kernel.Fact[*op.MACParams]) kernel.Rule {
	return cond.New("FIXED-POINT", "scales, zero points and bias have a fixed-point form", of.Why)
}

// weights8: weights are int8 or, when constant, uint8 or int4 too.
var weights8 = cond.New("WEIGHTS-TYPE", "weights are int8 (constants also uint8 or int4)", func(n *kernel.Node) string {
	v := n.In[1]
	switch d := v.Type.DType; {
	case d == tensor.I8, v.Const != nil && (d == tensor.U8 || d == tensor.I4):
		return ""
	}
	return fmt.Sprintf("the weights are %s, want int8", cond.Short(v.Type))
})

// int8Weights turns constant weights into int8: uint8 ones less 128, which
// the zero points of op.MACParams already count on.
func int8Weights(d *tensor.Dense) *tensor.Dense {
	if d.DType == tensor.U8 {
		v := lists.Make(d.Len(), func(i int) int8 { return int8(d.Int(i) - 128) })
		return tensor.Of(d.Shape, v)
	}
	return d
}

// arrangedS8 is arranged for 8-bit weights.
func (l *lowering) arrangedS8(shape, perm []int) call.Arg {
	if c := l.n.In[1].Const; c != nil {
		return blob("weights", arrange(int8Weights(c), shape, perm))
	}
	return l.arranged(1, shape, perm)
}

// channelArgs are the weight zero points, multipliers and shifts of all output
// channels.
func channelArgs(p *op.MACParams, channels int) (zero, mult, shift call.Arg) {
	z, m, s := make([]int32, channels), make([]int32, channels), make([]int32, channels)
	for c := range channels {
		z[c] = -p.FilterOff[c%len(p.FilterOff)]
		m[c], s[c] = p.Mult[c%len(p.Mult)], p.Shift[c%len(p.Shift)]
	}
	return array("weight_zero", z), array("multiplier", m), array("shift", s)
}

func macFields(p *op.MACParams) []call.Field {
	return ints("in_offset", call.T(p.InOff), "out_offset", call.T(p.OutOff), "act_min", call.T(p.ActMin), "act_max",
		call.T(p.ActMax))
}

// int8Ends: data and result are int8 with one scale.
var int8Ends = cond.Int8(0)

func convS8Row(fn, was, doc string, depthwise bool) *kernel.Kernel {
	conds := kernel.Rules{int8Ends, cond.NotEmpty, cond.UpTo2D, weights8, integerMAC(convParams)}
	if depthwise {
		conds = append(conds, depthwiseOnly)
	}
	return row(fn, was, doc, kernel.SpatialLayout, kernel.Rules(conds), func(l *lowering, n *kernel.Node) {
		g := kernel.Conv.Must(n)
		p := convParams.Must(n)
		f := append(convFields(g), macFields(p)...)
		typ := fn + "_params"
		var w call.Arg
		if depthwise {
			f = append(f, ints("in_c", g.CIn, "mult_c", g.COut/g.CIn)...)
			w = l.arrangedS8([]int{g.COut, g.Taps()}, []int{1, 0})
		} else {
			f = append(f, ints("in_c", g.CIn, "out_c", g.COut, "groups", g.Group)...)
			w = l.arrangedS8([]int{g.COut, g.CIn / g.Group, g.Taps()}, []int{0, 2, 1})
		}
		zero, mult, shift := channelArgs(p, g.COut)
		l.channels(g, 1)
		l.call(fn, params(typ, f...), l.in(0), w, l.in(2), zero, mult, shift, l.out(0))
	}, op.Conv)
}

// maxProducts bounds the calls of one MatMul node.
const maxProducts = 64

// matrixS8 is a Gemm or MatMul as products of [m, k] and [n, k] matrices.
type matrixS8 struct {
	m, k, n int
	a, b    []int // matrices of both operands that the products read
	p       *op.MACParams
}

var matricesS8 = kernel.NewFact(func(n *kernel.Node) (*matrixS8, string) {
	if n.Op == op.Gemm {
		g, why := kernel.Gemm.Of(n)
		if why != "" {
			return nil, why
		}
		p, why := op.MAC8Params(n.Node)
		if c := n.Input(2); why == "" && c != nil && c.Const == nil && c.Type.Elems() != g.N {
			why = fmt.Sprintf("the bias computed at run time has shape %v, want one value a column", c.Type.Shape)
		}
		return &matrixS8{g.M, g.K, g.N, []int{0}, []int{0}, p}, why
	}
	g, why := kernel.MatMul.Of(n)
	if why != "" {
		return nil, why
	}
	p, why := op.MAC8Params(n.Node)
	if g.Flat() {
		return &matrixS8{len(g.A) * g.M, g.K, g.N, []int{0}, []int{0}, p}, why
	}
	if len(g.A) > maxProducts && why == "" {
		why = fmt.Sprintf("%d products, want at most %d", len(g.A), maxProducts)
	}
	return &matrixS8{g.M, g.K, g.N, g.A, g.B, p}, why
})

// matrixS8Row computes Gemm and MatMul, a call for every right matrix.
var matrixS8Row = row("nncc_fully_connected_wzp_s8", "NNCC-FC-S8", "int8 matrix products, weights with zero points",
	natural, kernel.Rules{int8Ends, cond.NotEmpty, weights8,
		cond.New("INTEGER-PRODUCT", "an integer matrix product", matricesS8.Why)}, func(l *lowering, n *kernel.Node) {
		g := matricesS8.Must(n)
		const fn = "nncc_fully_connected_wzp_s8"
		l.low.Kernel = fn
		count := n.In[1].Type.Elems() / (g.k * g.n)
		perm := []int{0, 2, 1}
		shape := []int{count, g.k, g.n}
		if n.Op == op.Gemm && ir.AttrsOf[op.GemmAttrs](n).TransB != 0 {
			perm, shape = []int{0, 1, 2}, []int{count, g.n, g.k}
		}
		w := l.arrangedS8(shape, perm)
		zero, mult, shift := channelArgs(g.p, g.n)
		p := params(fn+"_params", append(ints("batch", g.m, "in_n", g.k, "out_n", g.n), macFields(g.p)...)...)
		for i := range g.a {
			l.call(fn, p, l.inAt(0, g.a[i]*g.m*g.k), offset(w, g.b[i]*g.k*g.n, g.k*g.n), l.int32Bias(g.n), zero, mult,
				shift, l.outAt(0, i*g.m*g.n))
		}
	}, op.Gemm, op.MatMul)

// offset is a pointer to size bytes behind the first off of an operand.
func offset(a call.Arg, off, size int) call.Arg {
	switch a := a.(type) {
	case *call.Blob:
		b := *a
		b.Data = slices.Clone(a.Data[off : off+size])
		return &b
	case call.In:
		a.Off += off
		return a
	case call.Scratch:
		a.Off += off
		return a
	}
	panic(bug.Errorf("offset of an operand that has no address"))
}

// int32Bias is the bias with one value for every column.
func (l *lowering) int32Bias(cols int) call.Arg {
	if l.n.Op != op.Gemm {
		return call.Null{}
	}
	v := l.n.Input(2)
	if v == nil || v.Const == nil {
		return l.in(2)
	}
	d := v.Const
	if d.Len() == 1 && cols > 1 {
		d = tensor.Of([]int{cols}, slices.Repeat(tensor.As[int32](d), cols))
	}
	return blob("bias", d)
}

func macS8Kernels() []*kernel.Kernel {
	return []*kernel.Kernel{
		convS8Row("nncc_depthwise_conv2d_wzp_s8", "NNCC-DWCONV-S8",
			"int8 depthwise convolution, weights with zero points", true),
		convS8Row("nncc_conv2d_wzp_s8", "NNCC-CONV-S8",
			"int8 convolution with groups and dilation, weights with zero points", false),
		matrixS8Row,
	}
}
