// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
)

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
		fail.Check(wantRank(n, 0, 4))
		if t.DType != tensor.I8 || min(a.Height, a.Width, t.Shape[1], t.Shape[2]) < 1 ||
			max(a.Height, a.Width, t.Shape[1], t.Shape[2]) > 1<<14 || a.AlignCorners != 0 && a.HalfPixelCenters != 0 {
			return nil, ir.Errf(n, "resize", "%s to %dx%d, align_corners %d, half_pixel_centers %d; want int8, sizes "+
				"of 1 to 16384, and one of both", t, a.Height, a.Width, a.AlignCorners, a.HalfPixelCenters)
		}
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
