// SPDX-License-Identifier: Apache-2.0

package op

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
)

// ResizeMoves reports a quantised Resize that only moves integers: nearest,
// one quantisation for input and output, nothing extrapolated.
func ResizeMoves(n *ir.Node) bool {
	return ir.AttrsOf[ModeAttr](n).Mode == "nearest" &&
		ir.AttrsOf[CoordinateTransformationModeAttr](n).CoordinateTransformationMode != "tf_crop_and_resize" &&
		n.In[0].Type.DType == n.Out[0].Type.DType && n.In[0].Type.Quant.Equal(n.Out[0].Type.Quant)
}

// ResizeS8 are the arguments of nncc_resize_s8, in the terms of int8 and of
// channels-last data, for a quantised Resize of the spatial dimensions of
// [N, C, W] or [N, C, H, W]. Weights become integers over a common
// denominator, exact for the usual scales; the sum is exact and rounded once,
// ties away from zero. A reason that is not empty says why this definition
// does not apply; the general rule of ir.EvalDequantised then does.
func ResizeS8(n *ir.Node) (p *qref.ResizeParams, h, w *qref.ResizeAxis, why string) {
	g, err := ResizeGeometry(n)
	if err != nil {
		return nil, nil, nil, err.Error()
	}
	x, y := n.In[0], n.Out[0]
	if why := endsWhy(n, eightBit); why != "" {
		return nil, nil, nil, why
	}
	s := x.Type.Shape
	if r := len(s); r < 3 || r > 4 || !g.Axes[0].Same || !g.Axes[1].Same {
		return nil, nil, nil, fmt.Sprintf("the input has shape %v, want [N, C, W] or [N, C, H, W] with N and C kept", s)
	}
	w, err = g.Axes[len(s)-1].integers(s[len(s)-1])
	if err != nil {
		return nil, nil, nil, err.Error()
	}
	inH := 1
	h, err = (&ResizeAxis{Same: true}).integers(1)
	if len(s) == 4 {
		inH = s[2]
		h, err = g.Axes[2].integers(inH)
	}
	if err != nil {
		return nil, nil, nil, err.Error()
	}
	p = &qref.ResizeParams{Batch: int32(s[0]), InH: int32(inH), InW: int32(s[len(s)-1]), Channels: int32(s[1])}
	qp := func(t ir.Type) qref.QP { return qref.QP{Scale: t.Quant.Scale[0], Zero: t.Quant.Zero[0] - bias8(t)} }
	p.SetAxes(h, w, qp(x.Type), qp(y.Type), float64(ir.AttrsOf[ResizeAttrs](n).ExtrapolationValue))
	return p, h, w, ""
}

// integers is the table with integer weights, of a dimension of the given size.
func (a *ResizeAxis) integers(size int) (*qref.ResizeAxis, error) {
	if a.Same {
		index, weight := make([]int32, size), make([]float64, size)
		for i := range index {
			index[i], weight[i] = int32(i), 1
		}
		return qref.NewResizeAxis(1, index, weight)
	}
	index := lists.Each(a.Index, func(v int) int32 { return int32(v) })
	return qref.NewResizeAxis(a.Taps, index, a.Weight)
}

func evalResizeQ(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	if ResizeMoves(n) {
		return n.Op.Eval(n, in)
	}
	p, h, w, why := ResizeS8(n)
	if why != "" {
		// the other inputs are constants that the geometry has read
		return ir.EvalDequantised(n, append([]*tensor.Dense{in[0]}, make([]*tensor.Dense, len(in)-1)...))
	}
	y := make([]int8, p.Batch*p.OutH*p.OutW*p.Channels)
	x := swapInner(int(p.Batch), int(p.Channels), int(p.InH*p.InW), s8(in[0]))
	qref.Resize(p, x, h, w, y)
	return outs(eightBitOf(n.Out[0].Type, n.Out[0].Type.Shape, swapInner(int(p.Batch), int(p.OutH*p.OutW),
		int(p.Channels), y)))
}

// ResizeFixedAttrs are the result's height and width, and where its pixels lie.
type ResizeFixedAttrs struct {
	Height           int `attr:",required"`
	Width            int `attr:",required"`
	AlignCorners     int `default:"0"`
	HalfPixelCenters int `default:"0"`
}

// ResizeFixed is TensorFlow Lite's bilinear resize of int8 [N, H, W, C]: positions and
// weights in steps of 1/1024, the integers' sum rounded once, ties away from zero.
// Source: ResizeBilinearInteger.
var ResizeFixed = def(ir.OpDef{
	Name: "ResizeFixed", Domain: "nncc", Doc: "TensorFlow Lite's bilinear resize of int8",
	Attrs: ir.Declare[ResizeFixedAttrs](), MinIn: 1, Pattern: ir.Opaque, Quant: ir.QNone,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		a, t := ir.AttrsOf[ResizeFixedAttrs](n), n.In[0].Type
		wantRank(n, 0, 4)
		refuse(n, t.DType != tensor.I8 || min(a.Height, a.Width, t.Shape[1], t.Shape[2]) < 1 || max(a.Height, a.Width,
			t.Shape[1], t.Shape[2]) > 1<<14 || a.AlignCorners != 0 && a.HalfPixelCenters != 0, "resize",
			"%s to %dx%d, align_corners %d, half_pixel_centers %d; want int8, sizes of 1 to 16384, and one of both", t,
			a.Height, a.Width, a.AlignCorners, a.HalfPixelCenters)
		return one(ir.T(t.DType, t.Shape[0], a.Height, a.Width, t.Shape[3]))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		p, h, w := ResizeFixedParams(n)
		y := tensor.New(tensor.I8, n.Out[0].Type.Shape)
		qref.Resize(p, in[0].Data.([]int8), h, w, y.Data.([]int8))
		return outs(y)
	},
})

// ResizeFixedParams are the arguments of nncc_resize_s8: tables of both axes over 1024.
func ResizeFixedParams(n *ir.Node) (p *qref.ResizeParams, h, w *qref.ResizeAxis) {
	a, s := ir.AttrsOf[ResizeFixedAttrs](n), n.In[0].Type.Shape
	axis := func(in, out int) *qref.ResizeAxis {
		return fixedAxis(int32(in), int32(out), a.AlignCorners != 0, a.HalfPixelCenters != 0)
	}
	h, w = axis(s[1], a.Height), axis(s[2], a.Width)
	p = &qref.ResizeParams{Batch: int32(s[0]), InH: int32(s[1]), InW: int32(s[2]), Channels: int32(s[3])}
	same := qref.QP{Scale: 1}
	p.SetAxes(h, w, same, same, 0)
	return p, h, w
}

func fixedAxis(in, out int32, align, half bool) *qref.ResizeAxis {
	const one = 1 << 10
	step := (one*in + out/2) / out
	if align && out > 1 {
		step = (one*(in-1) + (out-1)/2) / (out - 1)
	}
	a := &qref.ResizeAxis{Taps: 2, Den: one}
	for i := range out {
		at := i * step
		if half {
			at += step/2 - one/2
		}
		lo, hi := max(at/one, 0), min((at+one-1)/one, in-1)
		lo = min(lo, in-1)
		part := int16(at - one*lo)
		a.Index = append(a.Index, lo, hi)
		a.Weight = append(a.Weight, one-part, part)
	}
	return a
}
