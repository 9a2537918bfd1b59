// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"math"

	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/ir/tensor"
)

// resized checks a resize of height and width, which the result's shape states.
func (n *node) resized() {
	x, y := n.in(0), n.out()
	n.refuse(len(x.Shape) != 4 || len(y.Shape) != 4 || x.Shape[0] != y.Shape[0] || x.Shape[3] != y.Shape[3] ||
		x.Elems() == 0 || y.Elems() == 0,
		"from %v to %v, want another height and width of [batch, height, width, channels]", x.Shape,
		y.Shape)
	n.room(y.Shape[1] + y.Shape[2])
}

// resizeNearest takes the pixels that lie where TensorFlow Lite finds them in float32.
func resizeNearest(n *node) {
	var o fb.ResizeNearestNeighborOptions
	n.options("ResizeNearestNeighborOptions", o.Init)
	n.resized()
	x, y := n.in(0), n.out()
	var at [2][]int
	whole := true // each pixel as often as the others
	for i := range at {
		in, out := x.Shape[1+i], y.Shape[1+i]
		at[i] = nearest(in, out, o.AlignCorners(), o.HalfPixelCenters())
		for k, v := range at[i] {
			whole = whole && out%in == 0 && v == k/(out/in)
		}
	}
	if !whole {
		rows := n.step("Gather", vals{n.raw(0), n.list(at[0]...)}, intAttr("axis", 1))
		n.give("Gather", vals{rows, n.list(at[1]...)}, intAttr("axis", 2))
		return
	}
	n.resample(textAttr("mode", "nearest"), textAttr("nearest_mode", "floor"),
		textAttr("coordinate_transformation_mode", "asymmetric"))
}

// nearest are the pixels that results are, in float32.
func nearest(in, out int, align, half bool) []int {
	scale, offset := float32(in)/float32(out), float32(0)
	if align && out > 1 {
		scale = float32(in-1) / float32(out-1)
	}
	if half {
		offset = 0.5
	}
	v := make([]int, out)
	for i := range v {
		f := float64((float32(i) + offset) * scale)
		if align {
			f = math.Round(f)
		}
		v[i] = max(min(int(math.Floor(f)), in-1), 0)
	}
	return v
}

// resample is ONNX's Resize between channels-first tensors.
func (n *node) resample(attrs ...attr) {
	y := n.out()
	sizes := n.list(y.Shape[0], y.Shape[3], y.Shape[1], y.Shape[2])
	n.window(actNone, "Resize", vals{n.channelsFirst(n.in(0)), nil, nil, sizes}, attrs...)
}

// resizeBilinear interpolates: of int8 in TensorFlow Lite's fixed point.
func resizeBilinear(n *node) {
	var o fb.ResizeBilinearOptions
	n.options("ResizeBilinearOptions", o.Init)
	n.resized()
	x, y := n.in(0), n.out()
	if x.DType == tensor.I8 {
		n.give("nncc.ResizeFixed", vals{n.raw(0)}, intAttr("height", y.Shape[1]), intAttr("width", y.Shape[2]),
			flag("align_corners", o.AlignCorners()), flag("half_pixel_centers", o.HalfPixelCenters()))
		return
	}
	where := "asymmetric"
	switch {
	case o.AlignCorners():
		where = "align_corners"
	case o.HalfPixelCenters():
		where = "half_pixel"
	}
	n.resample(textAttr("mode", "linear"), textAttr("coordinate_transformation_mode", where))
}
