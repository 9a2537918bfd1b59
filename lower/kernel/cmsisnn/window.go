// SPDX-License-Identifier: Apache-2.0

package cmsisnn

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/qref/cmsis"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/param"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// window is a convolution or pooling in two dimensions.
type window struct {
	in, filter, out  Dims
	stride, pad, dil Tile
	mult             int // output channels per input channel, depthwise only
	perm             []int
}

// convWindow is the window of a Conv node.
func convWindow(g *op.ConvGeom) *window {
	return &window{in: feature(g.N, g.CIn, g.In), filter: feature(g.COut, g.CIn/g.Group, g.Kernel),
		out:    feature(g.N, g.COut, g.Out),
		stride: param.Spatial(g.Strides, 1), pad: param.Spatial(g.PadBegin, 0),
		dil: param.Spatial(g.Dilations, 1), perm: quantised.WeightPerm(len(g.In))}
}

// depthwiseWindow is the window of a depthwise Conv node.
func depthwiseWindow(g *op.ConvGeom) *window {
	w := convWindow(g)
	w.filter.N, w.filter.C, w.mult = 1, g.COut, g.COut/g.CIn
	w.perm = []int{1} // [C*m][1](H)W -> [1](H)W[C*m]
	for d := range g.In {
		w.perm = append(w.perm, 2+d)
	}
	w.perm = append(w.perm, 0)
	return w
}

// query is what the knowledge base is asked about the window. Biases are
// always given (see biasArg).
func (w *window) query(core kernel.Core) *cmsis.Query {
	return &cmsis.Query{Build: CoreISA(core), In: cmsis.Dims(w.in), Filter: cmsis.Dims(w.filter),
		Out:    cmsis.Dims(w.out),
		Stride: w.stride, Pad: w.pad, Dilation: w.dil, ChMult: w.mult,
		HasBias: true}
}

// rowsWindow is a fully connected layer as a convolution of one pixel: for
// functions that have a scale an output channel there only.
func rowsWindow(f *quantised.Product) *window {
	return &window{in: Dims{1, f.Rows, 1, f.Depth}, filter: Dims{f.Cols, 1, 1, f.Depth},
		out:    Dims{1, f.Rows, 1, f.Cols},
		stride: Tile{H: 1, W: 1}, dil: Tile{H: 1, W: 1}, perm: f.Perm}
}

// params are the parameters of the call; with zero points where quantised so.
func (w *window) params(p *op.MACParams) *call.Struct {
	s := &call.Struct{Type: "cmsis_nn_conv_params", Fields: call.Ints("input_offset", call.T(p.InOff),
		"output_offset", call.T(p.OutOff))}
	if w.mult > 0 {
		s.Type = "cmsis_nn_dw_conv_params"
		s.Fields = append(s.Fields, call.FI("ch_mult", w.mult))
	}
	s.Fields = append(s.Fields, call.Ints("stride", tileArg(w.stride), "padding", tileArg(w.pad), "dilation",
		tileArg(w.dil), "activation", activation(p.ActMin, p.ActMax))...)
	return s
}

// limit16 is why arm_convolve_wrapper_s16 must not compute the window with these weights.
func (w *window) limit16(weights []int8, mve bool) string {
	q := &cmsis.Query{Build: cmsis.DSP, In: cmsis.Dims(w.in), Filter: cmsis.Dims(w.filter), Out: cmsis.Dims(w.out),
		Stride: w.stride, Pad: w.pad, Dilation: w.dil, ChMult: 1, HasBias: true}
	if mve {
		q.Build = cmsis.MVE
	}
	return cmsis.Conv16Limit(q, weights)
}

// call is the call of a function with the usual list of arguments.
func (w *window) call(fn string, scratch int, p *op.MACParams, ctype string, weights, bias call.Arg) call.Call {
	if len(p.Mult) < w.out.C {
		q := *p
		q.Mult, q.Shift = repeat(p.Mult, w.out.C), repeat(p.Shift, w.out.C)
		p = &q
	}
	args := []call.Arg{context(0, scratch), w.params(p), perChannel(p), w.in.arg(), call.In{I: 0, CType: ctype},
		w.filter.arg(), weights, Dims{1, 1, 1, w.out.C}.arg(), bias}
	if fn == "arm_convolve_s8" {
		args = append(args, call.Null{}) // no upscaling
	}
	return call.Call{Func: fn, Status: call.CMSISStatus, Args: append(args, w.out.arg(), call.Out{I: 0, CType: ctype})}
}

func repeat(v []int32, n int) []int32 {
	return lists.Make(n, func(i int) int32 { return v[i%len(v)] })
}

// arranged are the int8 or int4 weights in the order of perm.
func arranged(v *ir.Value, perm []int) []int8 {
	d := v.Const
	if perm != nil {
		d = d.Transpose(perm)
	}
	return d.Data.([]int8)
}

// weights8 and weights4 are arrays of weights, a byte and half a byte each.
func weights8(w []int8) *call.Blob {
	return &call.Blob{Hint: "weights", CType: "int8_t", Data: tensor.Of([]int{len(w)}, w).Bytes(), Align: 4, Pad: 16,
		NoCast: true}
}

func weights4(w []int8) *call.Blob {
	return &call.Blob{Hint: "weights", CType: "int8_t", Data: qref.PackS4(w), Align: 4, Pad: 16, NoCast: true}
}

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
