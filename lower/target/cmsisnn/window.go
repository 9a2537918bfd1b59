package cmsisnn

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/target"
)

// window is a convolution as the int16 and int4 functions take it.
type window struct {
	in, filter, out  Dims
	stride, pad, dil Tile
	mult             int // output channels per input channel, depthwise only
	perm             []int
}

// convWindow is the window of a Conv node.
func convWindow(g *op.ConvGeom) *window {
	return &window{in: feature(g.N, g.CIn, g.In), filter: feature(g.COut, g.CIn/g.Group, g.Kernel), out: feature(g.N, g.COut, g.Out),
		stride: geom2(g.Strides, 1), pad: geom2(g.PadBegin, 0), dil: geom2(g.Dilations, 1), perm: weightPerm(len(g.In))}
}

// depthwiseWindow is the window of a depthwise Conv node.
func depthwiseWindow(g *op.ConvGeom) *window {
	w := convWindow(g)
	w.filter, w.mult = feature(1, g.COut, g.Kernel), g.COut/g.CIn
	w.perm = []int{1} // [C*m][1](H)W -> [1](H)W[C*m]
	for d := range g.In {
		w.perm = append(w.perm, 2+d)
	}
	w.perm = append(w.perm, 0)
	return w
}

// rowsWindow is a fully connected layer as a convolution of one pixel: for
// functions that have a scale an output channel there only.
func rowsWindow(f *fcShape) *window {
	return &window{in: Dims{1, f.rows, 1, f.depth}, filter: Dims{f.cols, 1, 1, f.depth}, out: Dims{1, f.rows, 1, f.cols},
		stride: Tile{1, 1}, dil: Tile{1, 1}, perm: f.perm}
}

// params are the parameters of the call; with zero points where quantised so.
func (w *window) params(p *op.MACParams) *target.Struct {
	s := &target.Struct{Type: "cmsis_nn_conv_params", Fields: []target.Field{
		target.FI("input_offset", int(p.InOff)), target.FI("output_offset", int(p.OutOff))}}
	if w.mult > 0 {
		s.Type = "cmsis_nn_dw_conv_params"
		s.Fields = append(s.Fields, target.FI("ch_mult", w.mult))
	}
	s.Fields = append(s.Fields, target.F("stride", w.stride.arg()), target.F("padding", w.pad.arg()),
		target.F("dilation", w.dil.arg()), target.F("activation", activation(p.ActMin, p.ActMax)))
	return s
}

// conv and depthwise are the windows as the references take them.
func (w *window) conv() *qref.ConvParams {
	return &qref.ConvParams{In: qref.Dims(w.in), Filter: qref.Dims(w.filter), Out: qref.Dims(w.out),
		Stride: qref.Tile(w.stride), Pad: qref.Tile(w.pad), Dilation: qref.Tile(w.dil)}
}

func (w *window) depthwise() *qref.DepthwiseParams {
	return &qref.DepthwiseParams{In: qref.Dims(w.in), Filter: qref.Dims(w.filter), Out: qref.Dims(w.out), ChMult: w.mult,
		Stride: qref.Tile(w.stride), Pad: qref.Tile(w.pad), Dilation: qref.Tile(w.dil)}
}

// call is the call of a function with the usual list of arguments.
func (w *window) call(fn string, scratch int, p *op.MACParams, ctype string, weights, bias target.Arg) target.Call {
	if len(p.Mult) < w.out.C {
		q := *p
		q.Mult, q.Shift = repeat(p.Mult, w.out.C), repeat(p.Shift, w.out.C)
		p = &q
	}
	return target.Call{Func: fn, Status: target.CMSISStatus, Args: []target.Arg{context(0, scratch), w.params(p), perChannel(p), w.in.arg(), target.In{I: 0, CType: ctype},
		w.filter.arg(), weights, Dims{1, 1, 1, w.out.C}.arg(), bias, w.out.arg(), target.Out{I: 0, CType: ctype}}}
}

func repeat(v []int32, n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = v[i%len(v)]
	}
	return out
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
func weights8(w []int8) *target.Blob {
	return &target.Blob{Hint: "weights", CType: "int8_t", Data: tensor.Of([]int{len(w)}, w).Bytes(), Align: 4, Pad: 16, NoCast: true}
}

func weights4(w []int8) *target.Blob {
	return &target.Blob{Hint: "weights", CType: "int8_t", Data: qref.PackS4(w), Align: 4, Pad: 16, NoCast: true}
}
