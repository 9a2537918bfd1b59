// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
)

// poolFields are the fields of nncc_pool2d_params.
func poolFields(g *op.PoolGeom) []call.Field {
	f := append(windowFields(g.N, g.In, g.Kernel, g.Strides, g.Dilations, g.PadBegin), outFields(g.Out)...)
	pb, pr := pair(g.PadEnd, 0)
	count := 0
	if g.CountPad {
		count = 1
	}
	return append(f, ints("in_c", g.C, "pad_bottom", pb, "pad_right", pr, "count_include_pad", count)...)
}

func poolRow(fn, was, doc string, build func(l *lowering, g *op.PoolGeom) *call.Struct, conds kernel.Rules,
	ops ...*ir.OpDef) *kernel.Kernel {
	return row(fn, was, doc, kernel.SpatialLayout, kernel.All(cond.Float32(), cond.NotEmpty, cond.FirstOutput, conds),
		func(l *lowering, n *kernel.Node) {
			g := kernel.Pool.Must(n)
			l.call(fn, build(l, g), l.in(0), l.out(0))
			if hasAct(n.Node) {
				l.clampF32()
			}
		}, ops...)
}

func poolKernels() []*kernel.Kernel {
	window := func(_ *lowering, g *op.PoolGeom) *call.Struct {
		return params("nncc_pool2d_params", poolFields(g)...)
	}
	norm := func(l *lowering, g *op.PoolGeom) *call.Struct {
		return params("nncc_lp_pool2d_params", call.F("pool", call.Nested{Fields: poolFields(g)}),
			call.FI("power", ir.AttrsOf[op.PAttr](l.n).P))
	}
	// Global pooling reduces all of space at once, in any number of dimensions.
	global := func(_ *lowering, g *op.PoolGeom) *call.Struct { return axisParams(g.N, product(g.In), g.C) }
	globalNorm := func(l *lowering, g *op.PoolGeom) *call.Struct {
		return norm(l, flatSpace(g))
	}
	flat := kernel.Rules{cond.UpTo2D}
	return []*kernel.Kernel{
		poolRow("nncc_max_pool2d_f32", "NNCC-MAXPOOL-F32", "maximum pooling, 1-D and 2-D", window, flat, op.MaxPool),
		poolRow("nncc_avg_pool2d_f32", "NNCC-AVGPOOL-F32", "average pooling, 1-D and 2-D", window, flat,
			op.AveragePool),
		poolRow("nncc_lp_pool2d_f32", "NNCC-LPPOOL-F32", "p-norm pooling, 1-D and 2-D", norm, flat, op.LpPool),
		poolRow("nncc_reduce_mean_f32", "NNCC-GLOBALAVGPOOL-F32", "mean over space", global, nil, op.GlobalAveragePool),
		poolRow("nncc_reduce_max_f32", "NNCC-GLOBALMAXPOOL-F32", "maximum over space", global, nil, op.GlobalMaxPool),
		poolRow("nncc_lp_pool2d_f32", "NNCC-GLOBALLPPOOL-F32", "p-norm over space", globalNorm, nil, op.GlobalLpPool),
	}
}
