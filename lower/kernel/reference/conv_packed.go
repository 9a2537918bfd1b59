package reference

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/option"
)

// lanes are the output channels that a vector of float32 holds, block those of
// a large record.
const (
	lanes = 4
	block = 16
)

// packedRow is a float32 convolution with output channels in the lanes of
// vectors. Its portable body is no faster than the scalar kernel, so only
// cores with vectors take it.
func packedRow(fn, code, doc string, o []*ir.OpDef, conds []cond,
	params func(l *lowering, g *op.ConvGeom) *call.Struct) *kernel.Kernel {
	vectors := kernel.Rule{Code: code + "-00", Doc: "a core with Helium for floats",
		Check: func(n *kernel.Node) string {
			if !n.Core.MVE || !n.Core.FPU {
				return "the core has no float vectors"
			}
			return ""
		}}
	own := kernel.Rule{Code: code + "-10", Doc: "own kernels are wanted", Check: func(n *kernel.Node) string {
		if n.Kernels == option.ReferenceKernels {
			return "--kernels reference wants scalar kernels"
		}
		return ""
	}}
	return &kernel.Kernel{
		Name: fn, Library: "nncc", Doc: doc, Ops: o, Layout: kernel.SpatialLayout,
		Rules: append([]kernel.Rule{vectors, own},
			rules(code, append([]cond{float32s(), nonEmpty, upTo2D, constant(1, 2)}, conds...)...)...),
		Lower: func(n *kernel.Node) *call.Lowered {
			g := kernel.Conv.Must(n)
			l := start(n.Node, fn)
			l.low.Unused = unusedTail(n.Node)
			l.call(fn, params(l, g), l.in(0), packLanes(n.Node, g), l.out(0))
			return l.low
		},
	}
}

// packLanes is the records of 16, then of 4 output channels of every group:
// their biases, then their weights tap by tap and input by input. Zeros fill up.
func packLanes(n *ir.Node, g *op.ConvGeom) *call.Blob {
	depthwise := g.Group == g.CIn && g.COut == g.CIn
	groups, per, cin, taps := g.Group, g.COut/g.Group, g.CIn/g.Group, g.Taps()
	if depthwise { // channels of different groups share a record
		groups, per = 1, g.COut
	}
	w, b := n.In[1].Const, n.ConstIn(2)
	var v []float32
	for k := range groups {
		for c, size := 0, 0; c < per; c += size {
			if size = block; per-c < block {
				size = lanes
			}
			each := func(f func(o int) float32) {
				for i := range size {
					x := float32(0)
					if c+i < per {
						x = f(k*per + c + i)
					}
					v = append(v, x)
				}
			}
			each(func(o int) float32 {
				if b == nil {
					return 0
				}
				return float32(b.Float(o % b.Len()))
			})
			for t := range taps {
				for i := range cin {
					each(func(o int) float32 { return float32(w.Float((o*cin+i)*taps + t)) })
				}
			}
		}
	}
	x := blob("packed", tensor.Of([]int{len(v)}, v))
	x.Align = 16
	return x
}

// oneEach: every channel is a group of its own.
var oneEach = cond{"one output channel for every input channel", func(n *kernel.Node) string {
	g, err := op.ConvGeometry(n.Node)
	if err != nil {
		return err.Error()
	}
	if g.Group != g.CIn || g.COut != g.CIn || g.CIn == 1 {
		return fmt.Sprintf("%d groups from %d to %d channels, want one channel a group", g.Group, g.CIn, g.COut)
	}
	return ""
}}

// notOneEach: packLanes packs the other convolutions for another kernel.
var notOneEach = cond{"channels that are added up, or several outputs of each", func(n *kernel.Node) string {
	if oneEach.check(n) == "" {
		return "every channel is a group of its own, which another kernel computes"
	}
	return ""
}}

// lanesKernels come before the scalar rows.
func lanesKernels() []*kernel.Kernel {
	return []*kernel.Kernel{
		packedRow("nncc_depthwise_conv2d_packed_f32", "NNCC-DWCONV-LANES", "depthwise convolution, channels in vectors",
			[]*ir.OpDef{op.Conv}, []cond{oneEach},
			func(l *lowering, g *op.ConvGeom) *call.Struct {
				f := append(convFields(g), ints("in_c", g.CIn, "mult", 1)...)
				return params("nncc_depthwise_conv2d_params", append(f, actFields(l.n)...)...)
			}),
		packedRow("nncc_conv2d_packed_f32", "NNCC-CONV-LANES", "convolution, output channels in vectors",
			[]*ir.OpDef{op.Conv}, []cond{notOneEach},
			func(l *lowering, g *op.ConvGeom) *call.Struct {
				f := append(convFields(g), ints("in_c", g.CIn, "out_c", g.COut, "groups", g.Group)...)
				return params("nncc_conv2d_params", append(f, actFields(l.n)...)...)
			}),
	}
}
