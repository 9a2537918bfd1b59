// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/param"
)

// spatialResize: batch and channels stay, one or two dimensions of space.
var spatialResize = cond.New("RESIZE-SPATIAL", "batch and channels are kept, one or two dimensions are resampled",
	func(n *kernel.Node) string {
		if why := cond.UpTo2D.Check(n); why != "" {
			return why
		}
		g, err := op.ResizeGeometry(n.Node)
		switch {
		case err != nil:
			return err.Error()
		case !g.Axes[0].Same || !g.Axes[1].Same:
			return fmt.Sprintf("from %v to %v resamples batch or channels, want space only", n.In[0].Type.Shape,
				g.Shape)
		}
		return ""
	})

// sampled is the table of one axis: taps, indices and weights of every output.
type sampled struct {
	taps   int
	index  []int
	weight []float32
}

// sampledAxis is the table of dimension d, the identity for one that is kept.
func sampledAxis(g *op.ResizeGeom, d int) sampled {
	if d < 0 || g.Axes[d].Same {
		n := 1
		if d >= 0 {
			n = g.Shape[d]
		}
		s := sampled{1, ir.Identity(n), make([]float32, n)}
		for i := range s.weight {
			s.weight[i] = 1
		}
		return s
	}
	a := g.Axes[d]
	s := sampled{a.Taps, a.Index, make([]float32, len(a.Weight))}
	for i, w := range a.Weight {
		s.weight[i] = float32(w)
	}
	return s
}

// resizeSpace are the tables of rows and columns, and the sizes.
func resizeSpace(n *ir.Node, g *op.ResizeGeom) (h, w sampled, sizes []call.Field) {
	s := n.In[0].Type.Shape
	r := len(s)
	hd := -1
	if r == 4 {
		hd = 2
	}
	in, out := param.Spatial(s[2:], 1), param.Spatial(g.Shape[2:], 1)
	return sampledAxis(g, hd), sampledAxis(g, r-1), ints("batch", s[0], "in_h", in.H, "in_w", in.W, "out_h", out.H,
		"out_w", out.W)
}

func resizeKernels() []*kernel.Kernel {
	return []*kernel.Kernel{
		row("nncc_resize_nearest", "NNCC-RESIZE-NEAREST",
			"nearest-neighbour resize of 1-D and 2-D maps, any element type", kernel.SpatialLayout,
			kernel.Rules{cond.NotEmpty, spatialResize,
				cond.New("RESIZE-NEAREST", "mode is nearest on one element type and quantisation",
					func(n *kernel.Node) string {
						x, y := n.In[0].Type, n.Out[0].Type
						switch {
						case ir.AttrsOf[op.ModeAttr](n).Mode != "nearest":
							return "mode is " + ir.AttrsOf[op.ModeAttr](n).Mode + ", want nearest"
						case x.DType != y.DType || !x.Quant.Equal(y.Quant):
							return fmt.Sprintf("the input is %s, the output %s, want the same", cond.Full(x),
								cond.Full(y))
						case x.Quant != nil && !op.ResizeMoves(n.Node):
							return "coordinate_transformation_mode is tf_crop_and_resize on quantised values"
						}
						return ""
					})}, resizeNearest, op.Resize),
		row("nncc_resize_f32", "NNCC-RESIZE-F32", "linear and cubic resize of 1-D and 2-D maps, with antialiasing",
			kernel.SpatialLayout, kernel.Rules{cond.Float32(0), cond.NotEmpty, spatialResize}, resizeF32, op.Resize),
	}
}

func resizeNearest(l *lowering, n *kernel.Node) {
	g := kernel.Known(op.ResizeGeometry(n.Node))
	l.low.Unused = unusedTail(n.Node)
	x := n.In[0].Type
	h, w, f := resizeSpace(n.Node, g)
	var outside call.Arg = call.Null{}
	if g.Crop {
		pixel := make([]float64, x.Shape[1])
		for i := range pixel {
			pixel[i] = float64(ir.AttrsOf[op.ResizeAttrs](n).ExtrapolationValue)
		}
		outside = blob("outside", tensor.FromFloats(x.DType, []int{len(pixel)}, pixel))
	}
	pixel := x.Shape[1] * x.DType.Size()
	f = append(f, call.FI("pixel", pixel), call.F("x_pitch", l.pitch(false, 0, pixel)),
		call.F("y_pitch", l.pitch(true, 0, pixel)))
	l.call("nncc_resize_nearest", params("nncc_resize_nearest_params", f...), bytesOf(l.in(0)),
		indexArray("index", h.index), indexArray("index", w.index), outside, bytesOf(l.out(0)))
}

func resizeF32(l *lowering, n *kernel.Node) {
	g := kernel.Known(op.ResizeGeometry(n.Node))
	l.low.Unused = unusedTail(n.Node)
	h, w, f := resizeSpace(n.Node, g)
	f = append(f, ints("channels", n.In[0].Type.Shape[1], "taps_h", h.taps, "taps_w", w.taps)...)
	f = append(f, call.F("outside", f32(ir.AttrsOf[op.ResizeAttrs](n).ExtrapolationValue)))
	l.call("nncc_resize_f32", params("nncc_resize_params", f...), l.in(0), indexArray("index", h.index),
		array("weights", h.weight),
		indexArray("index", w.index), array("weights", w.weight), l.out(0))
}
