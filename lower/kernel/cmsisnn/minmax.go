// SPDX-License-Identifier: Apache-2.0

package cmsisnn

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref/cmsis"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

var (
	minimum = minMax("arm_minimum_s8", "CMSIS-MIN", "int8 minimum, with broadcasting", op.Min)
	maximum = minMax("arm_maximum_s8", "CMSIS-MAX", "int8 maximum, with broadcasting", op.Max)
)

// minMax is a row for arm_minimum_s8 or arm_maximum_s8, which broadcast.
func minMax(name, was, doc string, o *ir.OpDef) *kernel.Kernel {
	return &kernel.Kernel{
		Name: name, Library: Library, Was: was, Doc: doc, Ops: []*ir.OpDef{o}, Layout: kernel.SameLayout,
		Rules: kernel.Rules{
			cond.New("TWO-OPERANDS", "two operands", func(n *kernel.Node) string {
				return cond.If(len(n.In) != 2, "%d operands, want 2", len(n.In))
			}), cond.New("ONE-QUANTISATION", "int8 with one quantisation for operands and result",
				func(n *kernel.Node) string {
					if s := quantised.NotInt8(n.Out[0]); s != "" {
						return s
					}
					return cond.If(!op.MinMaxKernel(n.Node), "operands and result differ in scale or zero point")
				}),
			cond.New("BROADCAST-RANK", "at most four dimensions where an operand is broadcast",
				func(n *kernel.Node) string {
					out := n.Out[0].Type
					for _, v := range n.In {
						if k := len(tensor.Squeezed(out.Shape)); v.Type.Elems() != out.Elems() && k > 4 {
							return fmt.Sprintf("%s is broadcast to the %d dimensions of %v, want at most 4", v, k,
								out.Shape)
						}
					}
					return ""
				}),
		},
		Lower: func(n *kernel.Node) *call.Lowered { return lowerMinMax(n.Node, name) },
	}
}

// span is a dimension of the result in memory order, and which operands have it.
type span struct {
	size int
	has  [2]bool
}

// spanDims are the dimensions of operand i, or, of 2, of the result.
func spanDims(s []span, i int) Dims {
	d := []int{1, 1, 1, 1}
	for k, x := range s {
		if i > 1 || x.has[i] {
			d[4-len(s)+k] = x.size
		}
	}
	return Dims{d[0], d[1], d[2], d[3]}
}

// overwritable are the operands whose storage the result may take: what is
// broadcast is read again after results are written.
func overwritable(n *ir.Node, spans []span) []call.Overlap {
	whole := [2]bool{true, true}
	for _, s := range spans {
		for i := range whole {
			whole[i] = whole[i] && s.has[i]
		}
	}
	var out []int
	for i, v := range n.In {
		if other := n.In[1-i]; v.Const == nil && whole[i] && (whole[1-i] || other.Const != nil) {
			out = append(out, i)
		}
	}
	return call.InPlace(out...)
}

func lowerMinMax(n *ir.Node, name string) *call.Lowered {
	spans := pairSpans(n)
	l := &call.Lowered{Unused: quantised.Constants(n), Overlap: overwritable(n, spans)}
	order := n.Out[0].Type.OrderOrIdentity()
	one := func(s []span, at [3]int) call.Call {
		var d [3]Dims
		for i := range d {
			d[i] = spanDims(s, i)
		}
		if misstepped(name, d[0], d[1]) {
			for i := range d { // rows as batches: with height 1 the kernel steps rightly
				d[i].N, d[i].H = d[i].H, 1
			}
		}
		out := i8Out(0)
		out.Off = at[2]
		return call.Call{Func: name, Status: call.CMSISStatus, Args: []call.Arg{context(0, 0),
			pairOperand(n, 0, order, at[0]), d[0].arg(), pairOperand(n, 1, order, at[1]), d[1].arg(), out, d[2].arg()}}
	}
	if len(spans) < 4 || !misstepped(name, spanDims(spans, 0), spanDims(spans, 1)) {
		return calls(l, one(spans, [3]int{}))
	}
	// All four dimensions are in use: a call for each of the outermost one.
	rest := spans[1:]
	step := [3]int{}
	for i := range step {
		if d := spanDims(rest, i); i > 1 || spans[0].has[i] {
			step[i] = d.N * d.H * d.W * d.C
		}
	}
	var list []call.Call
	for k := range spans[0].size {
		list = append(list, one(rest, [3]int{k * step[0], k * step[1], k * step[2]}))
	}
	return calls(l, list...)
}

// misstepped reports operands that the kernel steps through at the wrong rate.
func misstepped(name string, a, b Dims) bool {
	return len(cmsis.Defects(name, &cmsis.Query{Build: PlainC, In: cmsis.Dims(a), Filter: cmsis.Dims(b)})) > 0
}

// pairSpans are the dimensions of the result with neighbours joined over which
// both operands do the same.
func pairSpans(n *ir.Node) []span {
	out := n.Out[0].Type
	var spans []span
	for _, d := range out.OrderOrIdentity() {
		s := span{size: out.Shape[d]}
		if s.size == 1 {
			continue
		}
		for i := range s.has {
			shape := n.In[i].Type.Shape
			k := d - (out.Rank() - len(shape))
			s.has[i] = k >= 0 && shape[k] != 1
		}
		if k := len(spans) - 1; k >= 0 && spans[k].has == s.has {
			spans[k].size *= s.size
			continue
		}
		spans = append(spans, s)
	}
	return spans
}

// pairOperand is operand i from an offset on; constants are brought to the
// memory order of the result.
func pairOperand(n *ir.Node, i int, order []int, off int) call.Arg {
	v := n.In[i]
	if v.Const == nil {
		return call.In{I: i, Off: off, CType: "int8_t"}
	}
	d := v.Const.Reshaped(append(slices.Repeat([]int{1}, len(order)-len(v.Const.Shape)), v.Const.Shape...))
	if len(order) > 0 {
		d = tensorInOrder(d, order)
	}
	return &call.Blob{Hint: "operand", CType: "int8_t", Data: d.Bytes()[off:], Align: 4, NoCast: true}
}

func tensorInOrder(d *tensor.Dense, order []int) *tensor.Dense {
	if slices.Equal(order, ir.Identity(len(order))) {
		return d
	}
	return d.Transpose(order)
}
