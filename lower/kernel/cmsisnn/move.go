// SPDX-License-Identifier: Apache-2.0

package cmsisnn

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref/cmsis"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// Data movement. Dimensions are counted in memory order here, and neighbours
// that move together are joined, since the library's kernels take four.

// maxAxis is the largest dimension that fits the library's uint16_t arguments.
const maxAxis = 1<<16 - 1

// oneQuant is the rule that the data operands and the result are int8 of one
// quantisation, so that bytes may be copied.
var oneQuant = cond.New("ONE-QUANTISATION", "int8 with one quantisation for operands and result",
	func(n *kernel.Node) string {
		out := n.Out[0].Type
		if s := quantised.NotInt8(n.Out[0]); s != "" {
			return s
		}
		for _, i := range n.Op.DataInputs(n.Node) {
			v := n.Input(i)
			if v == nil {
				continue
			}
			if s := quantised.NotInt8(v); s != "" && v.Type.Elems() > 0 {
				return s
			}
			if !v.Type.Quant.Equal(out.Quant) {
				return fmt.Sprintf("%s is %s, the result %s: want one scale and zero point", v, v.Type, out)
			}
		}
		return ""
	})

// concat is arm_concatenation_s8_x, _y, _z or _w, by the position of the axis in
// memory: innermost to outermost. Inputs may also live inside the output.
var concat = &kernel.Kernel{
	Name: "arm_concatenation_s8", Library: Library, Was: "CMSIS-CONCAT", Doc: "int8 concatenation along any axis",
	Ops: []*ir.OpDef{op.Concat}, Layout: kernel.SameLayout,
	Rules: kernel.Rules{oneQuant, cond.New("COUNTED", "dimensions of at most 65535, the library counts them in 16 bits",
		func(n *kernel.Node) string {
			t := n.Out[0].Type
			axis, why := kernel.Axis.Of(n)
			if why != "" {
				return why
			}
			rest := 1
			for d, size := range t.Shape {
				if d != axis {
					rest *= size
				}
				if size > maxAxis {
					return fmt.Sprintf("dimension %d of the result is %d, want at most %d", d, size, maxAxis)
				}
			}
			return cond.If(t.Rank() > 4 && rest > maxAxis,
				"the %d dimensions beside the axis have %d elements together, want at most %d", t.Rank()-1, rest,
				maxAxis)
		})},
	Lower: lowerConcat,
}

func lowerConcat(n *kernel.Node) *call.Lowered {
	t := n.Out[0].Type
	axis := kernel.Axis.Must(n)
	order := t.OrderOrIdentity()
	k := slices.Index(order, axis)
	phys := t.Phys()
	before, behind := tensor.Squeezed(phys[:k]), tensor.Squeezed(phys[k+1:])
	outer, inner := tensor.Count(before), tensor.Count(behind)
	if len(before)+len(behind) > 3 {
		before, behind = tensor.Squeezed([]int{outer}), tensor.Squeezed([]int{inner})
	}
	l := &call.Lowered{}
	fn, last := "arm_concatenation_s8_w", true
	if len(before) > 0 {
		fn, last = "arm_concatenation_s8_"+[]string{"x", "y", "z"}[len(behind)], false
	}
	at := 0
	var list []call.Call
	for i, v := range n.In {
		size := v.Type.Shape[axis]
		if size == 0 {
			continue
		}
		dims := append(append(slices.Clone(before), size), behind...)
		for len(dims) < 4 { // in front: more turns of the outermost loop
			dims = append([]int{1}, dims...)
		}
		if last { // behind the axis only: the axis is w
			dims = append([]int{size}, behind...)
			for len(dims) < 4 {
				dims = append(dims, 1)
			}
		}
		args := []call.Arg{operand(n.Node, i, order), call.I32(dims[3]), call.I32(dims[2]), call.I32(dims[1]),
			call.I32(dims[0]), i8Out(0)}
		if !last {
			args = append(args, call.I32(t.Shape[axis]))
		}
		list = append(list, call.Call{Func: fn, Args: append(args, call.I32(at))})
		part := call.Part{Input: true, I: i, Off: at * inner}
		if outer > 1 {
			part.Row, part.Pitch = size*inner, t.Shape[axis]*inner
		}
		l.Parts = append(l.Parts, part)
		at += size
	}
	return calls(l, list...)
}

// operand is int8 operand i; a constant is brought to the memory order.
func operand(n *ir.Node, i int, order []int) call.Arg {
	v := n.In[i]
	if v.Const == nil {
		return i8In(i)
	}
	return &call.Blob{Hint: "const", CType: "int8_t", Data: weights8(arranged(v, order)).Data, Align: 4, NoCast: true}
}

// PadFunction is the function of padding.
const PadFunction = "arm_pad_s8"

// padding is arm_pad_s8.
var padding = &kernel.Kernel{
	Name: PadFunction, Library: Library, Was: "CMSIS-PAD", Doc: "int8 padding with a constant",
	Ops:    []*ir.OpDef{op.Pad},
	Layout: kernel.SameLayout,
	Rules: kernel.Rules{oneQuant,
		cond.New("PADS", "constant pads that are not negative", func(n *kernel.Node) string {
			for _, i := range []int{1, 3} {
				if v := n.Input(i); v != nil && v.Const == nil {
					return fmt.Sprintf("%s is computed at run time, want a constant", v)
				}
			}
			g, why := kernel.Pad.Of(n)
			if why != "" {
				return why
			}
			for d := range g.Begin {
				if g.Begin[d] < 0 || g.End[d] < 0 {
					return fmt.Sprintf("dimension %d is cropped (%d, %d)", d, g.Begin[d], g.End[d])
				}
			}
			return ""
		}),
		cond.New("FILL-VALUE", "mode constant with a constant fill value", func(n *kernel.Node) string {
			if m := ir.AttrsOf[op.ModeAttr](n).Mode; m != "constant" {
				return fmt.Sprintf("mode is %q, want constant", m)
			}
			if f := n.Input(2); f != nil && f.Const == nil {
				return fmt.Sprintf("the fill value %s is computed at run time, want a constant", f)
			}
			if quantised.NotInt8(n.In[0]) == "" {
				_, why := kernel.PadFill.Of(n)
				return why
			}
			return ""
		}), cond.New("RUNS", "at most four dimensions, once those that are not padded are joined",
			func(n *kernel.Node) string {
				g, why := kernel.Pad.Of(n)
				if why != "" {
					return why
				}
				padded, plain := 0, 0
				for d, size := range n.In[0].Type.Shape {
					switch {
					case g.Begin[d] != 0 || g.End[d] != 0:
						padded++
					case size != 1:
						plain++
					}
				}
				// in the worst memory order plain dimensions lie between all padded ones
				k := padded + min(plain, padded+1)
				return cond.If(k > 4, "%d dimensions, %d of them padded: that takes up to %d, want at most 4",
					n.In[0].Type.Rank(), padded, k)
			})},
	Lower: lowerPad,
}

func lowerPad(n *kernel.Node) *call.Lowered {
	g, fill := kernel.Pad.Must(n), kernel.PadFill.Must(n)
	order := n.Out[0].Type.OrderOrIdentity()
	var size, pre, post []int
	for _, d := range order {
		s, b, e := n.In[0].Type.Shape[d], g.Begin[d], g.End[d]
		plain := b == 0 && e == 0
		if plain && s == 1 {
			continue
		}
		if k := len(size) - 1; plain && k >= 0 && pre[k] == 0 && post[k] == 0 {
			size[k] *= s
			continue
		}
		size, pre, post = append(size, s), append(pre, b), append(post, e)
	}
	if k := len(size); k > 1 && pre[k-1] == 0 && post[k-1] == 0 { // whole blocks
		s := size[k-1]
		size, pre, post = size[:k-1], pre[:k-1], post[:k-1]
		size[k-2], pre[k-2], post[k-2] = size[k-2]*s, pre[k-2]*s, post[k-2]*s
	}
	return calls(&call.Lowered{Unused: tail(n.Node)}, call.Call{Func: PadFunction, Status: call.CMSISStatus,
		Args: []call.Arg{operand(n.Node, 0, order), i8Out(0), call.T8(int8(fill.Int(0))), dims4(size, 1).arg(),
			dims4(pre, 0).arg(), dims4(post, 0).arg()}})
}

// tail are the indices of all inputs but the first.
func tail(n *ir.Node) []int { return ir.Identity(len(n.In))[1:] }

// dims4 are dimensions in memory order, with v in front up to four.
func dims4(s []int, v int) Dims {
	d := [4]int{v, v, v, v}
	copy(d[4-len(s):], s)
	return Dims{d[0], d[1], d[2], d[3]}
}

// relayout is arm_transpose_s8 where a value changes its memory order; where
// both orders are the same memory there is no code. A Transpose of the model
// never gets here: it is a view, and the layout pass inserts a Relayout only
// where a kernel wants another order.
var relayout = &kernel.Kernel{
	Name: "arm_transpose_s8", Library: Library, Was: "CMSIS-TRANS", Doc: "int8 conversion between memory orders",
	Ops:    []*ir.OpDef{op.Relayout},
	Layout: kernel.AnyLayout,
	Rules: kernel.Rules{
		quantised.Bytes, cond.New("RUNS", "at most four dimensions, once those that stay together are joined",
			func(n *kernel.Node) string {
				_, perm := kernel.Permutation(n.Node)
				return cond.If(len(perm) > 4, "%d dimensions move apart from each other, want at most 4", len(perm))
			}),
	},
	Lower: func(n *kernel.Node) *call.Lowered {
		if n.In[0].Type.SameMemory(n.Out[0].Type.Order) {
			return call.ViewOf()
		}
		size, perm := kernel.Permutation(n.Node)
		move := transpose(CoreISA(n.Core), i8In(0), i8Out(0), size, perm)
		return calls(&call.Lowered{}, move)
	},
}

// Limits of the library's quick exchange of two axes: it counts rows and
// columns in 16 bits, and the MVE form gathers bytes of eight rows with 16-bit
// offsets.
const (
	quickAxis    = maxAxis
	quickColumns = maxAxis / 7
)

// transpose is a call of arm_transpose_s8 for up to four dimensions that all
// move. The form (number of dimensions) is the one with the best loop: the
// exchange of the last two axes has one of its own, with two dimensions on
// every core and with four in the MVE build, where neither is larger than it
// can count.
func transpose(isa ISA, x, y call.Arg, size, perm []int) call.Call {
	quick := func(rows, cols int) bool {
		return rows <= quickAxis && cols <= quickAxis && (isa != MVE || cols <= quickColumns)
	}
	switch {
	case slices.Equal(perm, []int{1, 0}) && !quick(size[0], size[1]):
		size, perm = []int{size[0], size[1], 1}, []int{1, 0, 2}
	case slices.Equal(perm, []int{0, 2, 1}) && isa == MVE && quick(size[1], size[2]):
		size, perm = []int{1, size[0], size[1], size[2]}, []int{0, 1, 3, 2}
	case slices.Equal(perm, []int{0, 1, 3, 2}) && isa == MVE && !quick(size[2], size[3]):
		size, perm = []int{size[0] * size[1], size[2], size[3]}, []int{0, 2, 1}
	}
	identity := slices.Equal(perm, ir.Identity(len(perm)))
	if bad := cmsis.Defects("arm_transpose_s8", &cmsis.Query{Build: isa, Rank: len(perm), Identity: identity}); len(
		bad) > 0 {
		panic(bug.Errorf("%s", bad[0].Says))
	}
	in, out := Dims{1, 1, 1, 1}, Dims{1, 1, 1, 1}
	set := func(d *Dims, i, v int) { *[]*int{&d.N, &d.H, &d.W, &d.C}[i] = v }
	order := make([]uint32, len(perm))
	for i, p := range perm {
		set(&in, i, size[i])
		set(&out, i, size[p])
		order[i] = uint32(p)
	}
	params := &call.Struct{Type: "cmsis_nn_transpose_params", Fields: []call.Field{
		call.FI("num_dims", len(perm)),
		call.F("permutations", &call.Blob{Hint: "perm", CType: "uint32_t", Data: tensor.Of([]int{len(order)},
			order).Bytes(), Align: 4, NoCast: true})}}
	return call.Call{Func: "arm_transpose_s8", Status: call.CMSISStatus, Args: []call.Arg{x, y, in.arg(), out.arg(),
		params}}
}
