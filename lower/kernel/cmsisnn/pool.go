// SPDX-License-Identifier: Apache-2.0

package cmsisnn

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/param"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// poolOf is a pooling function for elements of a C type; data is the rule that
// the operands are of it.
func poolOf(name, was, doc, ctype string, data kernel.Rule, ops ...*ir.OpDef) *kernel.Kernel {
	return &kernel.Kernel{
		Name: name, Library: Library, Was: was, Doc: doc, Ops: ops, Layout: kernel.SpatialLayout,
		Rules: quantised.PoolRulesOf(data),
		Lower: func(n *kernel.Node) *call.Lowered {
			g := kernel.Pool.Must(n)
			w := &window{in: feature(g.N, g.C, g.In), out: feature(g.N, g.C, g.Out), filter: feature(1, 1, g.Kernel),
				stride: param.Spatial(g.Strides, 1), pad: param.Spatial(g.PadBegin, 0), dil: Tile{H: 1, W: 1}}
			r, why := route(w.query(n.Core), name)
			bug.If(why != "", "op.PoolGeometry has not refused what speaks against it: %s", why)
			lo, hi, _ := op.PoolQuantClamp(n.Node)
			params := &call.Struct{Type: "cmsis_nn_pool_params", Fields: []call.Field{
				call.F("stride", tileArg(w.stride)), call.F("padding", tileArg(w.pad)),
				call.F("activation", activation(lo, hi))}}
			return calls(&call.Lowered{Scratch: r.Scratch}, call.Call{Func: name, Status: call.CMSISStatus,
				Args: []call.Arg{
					context(0, r.Scratch), params, w.in.arg(), call.In{I: 0, CType: ctype}, w.filter.arg(), w.out.arg(),
					call.Out{I: 0, CType: ctype}}})
		},
	}
}

var (
	avgPool = poolOf("arm_avgpool_s8", "CMSIS-AVG", "int8 average pooling", "int8_t", quantised.Int8(0), op.AveragePool,
		op.GlobalAveragePool)
	maxPool = poolOf("arm_max_pool_s8", "CMSIS-MAXP", "int8 max pooling", "int8_t", quantised.Int8(0), op.MaxPool,
		op.GlobalMaxPool)
	avgPool16 = poolOf("arm_avgpool_s16", "CMSIS-AVG16", "int16 average pooling", "int16_t", quantised.Int16(0),
		op.AveragePool, op.GlobalAveragePool)
	maxPool16 = poolOf("arm_max_pool_s16", "CMSIS-MAXP16", "int16 max pooling", "int16_t", quantised.Int16(0),
		op.MaxPool, op.GlobalMaxPool)
)
