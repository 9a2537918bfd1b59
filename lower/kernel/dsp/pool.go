// SPDX-License-Identifier: Apache-2.0

package dsp

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/param"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// poolParams are the fields of nncc_dsp_pool_params.
func poolParams(n *kernel.Node, g *op.PoolGeom) []call.Field {
	lo, hi, _ := op.PoolQuantClamp(n.Node)
	w := param.PoolWindow(g)
	return append(param.Fields(&param.DspPool{Batches: g.N, Channels: g.C}, &w),
		clampOf(&op.MACParams{ActMin: lo, ActMax: hi}).bounds()...)
}

func pool(name, was, doc string, first, last kernel.Conditions, ops ...*ir.OpDef) *kernel.Kernel {
	return &kernel.Kernel{
		Name: name, Library: Library, Doc: doc, Ops: ops, Layout: kernel.SpatialLayout,
		Was: was, Rules: kernel.All(first, quantised.PoolRules(), last),
		Lower: func(n *kernel.Node) *call.Lowered {
			g := kernel.Pool.Must(n)
			w := param.PoolWindow(g)
			k := param.Walk{Images: g.N, From: g.C, To: g.C, Rows: 1, Reads: param.Mixed, Last: g.C}
			if !small(g) {
				k.Pixels = 1
			}
			return own(&call.Lowered{Overlap: k.Overlap(&w)}, call.Call{Func: name, Args: []call.Arg{
				&call.Struct{Type: "nncc_dsp_pool_params", Fields: poolParams(n, g)},
				i8In(0), i8Out(0)}})
		},
	}
}

// small says that a window has at most two by two elements.
func small(g *op.PoolGeom) bool {
	w := param.PoolWindow(g)
	return w.Kernel.H <= 2 && w.Kernel.W <= 2
}

// smallWindows keeps a pooling to windows of up to two by two elements, which are four each.
var smallWindows = kernel.Pool.Rule("SMALL-WINDOW", "a window of up to two by two elements",
	func(_ *kernel.Node, g *op.PoolGeom) string {
		k := param.PoolWindow(g).Kernel
		return cond.If(!small(g), "a window has %d by %d elements", k.H, k.W)
	})

// stripBytes is what the columns of a strip of outputs take in scratch, unless
// those of one output take more.
const stripBytes = 2048

// strip is how many outputs of a row are computed together, and their scratch,
// size bytes a value.
func strip(g *op.PoolGeom, size int) (outputs, bytes int) {
	w := param.PoolWindow(g)
	column := size * g.C
	outputs = min(w.Out.W, max(1, (stripBytes/column-w.Kernel.W)/w.Stride.W+1))
	columns := min(w.In.W, (outputs-1)*w.Stride.W+w.Kernel.W)
	return outputs, (columns*column + 3*size + 3) &^ 3
}

// sliding is a pooling of windows that have columns in common, or lie beside
// each other; most is how many elements they may have, 0 where it does not
// matter, size that of what columns give.
func sliding(name, was, doc string, size, most int, ops ...*ir.OpDef) *kernel.Kernel {
	return &kernel.Kernel{
		Name: name, Library: Library, Doc: doc, Ops: ops, Layout: kernel.SpatialLayout,
		Was: was, Rules: kernel.All(cond.NoHelium, quantised.PoolRules(), kernel.Pool.Rule("WINDOWS",
			"several windows in a row, no columns between them, more than two by two elements",
			func(_ *kernel.Node, g *op.PoolGeom) string {
				w := param.PoolWindow(g)
				switch {
				case small(g):
					return "a window of up to two by two elements is four elements"
				case w.Out.W == 1:
					return "a row has one window"
				case w.Stride.W > w.Kernel.W:
					return fmt.Sprintf("the stride is %d, the window's width %d", w.Stride.W, w.Kernel.W)
				case w.Stride.W > 1 && g.C < 4:
					return fmt.Sprintf("%d channels with stride %d, want 4 or stride 1", g.C, w.Stride.W)
				case most > 0 && g.Taps() > most:
					return fmt.Sprintf("a window has %d elements, want at most %d", g.Taps(), most)
				}
				return ""
			})),
		Lower: func(n *kernel.Node) *call.Lowered {
			g := kernel.Pool.Must(n)
			outputs, bytes := strip(g, size)
			l := &call.Lowered{Scratch: bytes}
			if w := param.PoolWindow(g); outputs == w.Out.W {
				l.Overlap = param.Walk{Images: g.N, From: g.C, To: g.C, Rows: 1}.Overlap(&w)
			}
			return own(l, call.Call{Func: name, Args: []call.Arg{
				&call.Struct{Type: "nncc_dsp_sliding_pool_params", Fields: append([]call.Field{
					call.F("pool", call.Nested{Fields: poolParams(n, g)})},
					fields("strip", outputs)...)}, i8In(0), i8Out(0), scratch32(0)}})
		},
	}
}

var (
	avgPoolSliding = sliding("nncc_dsp_avg_pool_sliding_s8", "DSP-AVGS", "int8 average pooling of rows of windows",
		2, 127, op.AveragePool)
	maxPoolSliding = sliding("nncc_dsp_max_pool_sliding_s8", "DSP-MAXS", "int8 max pooling of rows of windows", 1, 0,
		op.MaxPool)
	avgPoolFours = pool("nncc_dsp_avg_pool_fours_s8", "DSP-AVGF", "int8 average pooling of small windows",
		cond.NoHelium, smallWindows, op.AveragePool, op.GlobalAveragePool)
	maxPoolFours = pool("nncc_dsp_max_pool_fours_s8", "DSP-MAXF", "int8 max pooling of small windows",
		cond.NoHelium, smallWindows, op.MaxPool, op.GlobalMaxPool)
	avgPool = pool("nncc_dsp_avg_pool_s8", "DSP-AVG", "int8 average pooling", cond.DSP, kernel.Rules{}, op.AveragePool,
		op.GlobalAveragePool)
	maxPool = pool("nncc_dsp_max_pool_s8", "DSP-MAXP", "int8 max pooling", cond.DSP, kernel.Rules{}, op.MaxPool,
		op.GlobalMaxPool)
)
