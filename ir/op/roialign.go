// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// RoiAlignAttrs are the attributes of RoiAlign.
type RoiAlignAttrs struct {
	CoordinateTransformationMode string  `default:"half_pixel"`
	Mode                         string  `default:"avg"`
	OutputHeight                 int     `default:"1"`
	OutputWidth                  int     `default:"1"`
	SamplingRatio                int     `default:"0"`
	SpatialScale                 float32 `default:"1"`
}

// RoiAlign pools regions of input 0 ([N, C, H, W]) to a fixed size: input 1
// holds their corners [x1, y1, x2, y2], input 2 the sample of each.
var RoiAlign = def(ir.OpDef{
	Name: "RoiAlign", Doc: "regions of an image pooled to a fixed size",
	Limits: func(n *ir.Node) []ir.Limit { return []ir.Limit{ir.Indices(2, n.In[0].Type.Shape[0])} },
	Attrs:  ir.Declare[RoiAlignAttrs](),
	MinIn:  3, Pattern: ir.Opaque,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		x, rois, idx := n.In[0].Type, n.In[1].Type, n.In[2].Type
		refuse(n, x.Rank() != 4 || rois.Rank() != 2 || rois.Shape[1] != 4 || idx.Rank() != 1 ||
			idx.Shape[0] != rois.Shape[0], "shape-mismatch",
			"image %v, regions %v, samples %v: want [N, C, H, W], [regions, 4], [regions]", x.Shape, rois.Shape,
			idx.Shape)
		floatInputs(n, 0, 1)
		indexInput(n, 2)
		h, w, s := ir.AttrsOf[RoiAlignAttrs](n).OutputHeight, ir.AttrsOf[RoiAlignAttrs](n).OutputWidth,
			ir.AttrsOf[RoiAlignAttrs](n).SamplingRatio
		refuse(n, h < 1 || w < 1 || s < 0 || h > 1<<15 || w > 1<<15 || s > 1<<10 || x.Shape[2] < 1 || x.Shape[3] < 1,
			"attr-value", "output %d by %d, sampling_ratio %d, image %v: out of range", h, w, s, x.Shape)
		wantWord(n, "mode", ir.AttrsOf[ModeAttr](n).Mode, "avg", "max")
		wantWord(n, "coordinate_transformation_mode",
			ir.AttrsOf[CoordinateTransformationModeAttr](n).CoordinateTransformationMode, "half_pixel",
			"output_half_pixel")
		return one(ir.T(x.DType, rois.Shape[0], x.Shape[1], h, w))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		x, rois := floatsOf(in[0]), floatsOf(in[1])
		C, H, W := in[0].Shape[1], in[0].Shape[2], in[0].Shape[3]
		oh, ow, scale := ir.AttrsOf[RoiAlignAttrs](n).OutputHeight, ir.AttrsOf[RoiAlignAttrs](n).OutputWidth,
			float64(ir.AttrsOf[RoiAlignAttrs](n).SpatialScale)
		half := ir.AttrsOf[CoordinateTransformationModeAttr](n).CoordinateTransformationMode == "half_pixel"
		idx := wrapIndices(in[2], in[0].Shape[0])
		peak := ir.AttrsOf[ModeAttr](n).Mode == "max"
		shape := []int{len(idx), C, oh, ow}
		y := make([]float64, tensor.Count(shape))
		shift := 0.0
		if half {
			shift = 0.5
		}
		for r, b := range idx {
			x1, y1 := rois[r*4]*scale-shift, rois[r*4+1]*scale-shift
			rw, rh := rois[r*4+2]*scale-shift-x1, rois[r*4+3]*scale-shift-y1
			if !half {
				rw, rh = max(rw, 1), max(rh, 1)
			}
			bw, bh := rw/float64(ow), rh/float64(oh)
			gh, gw := RoiSamples(n, bh), RoiSamples(n, bw)
			for p := range oh * ow {
				rows := roiRange(y1+float64(p/ow)*bh, bh, gh, H)
				cols := roiRange(x1+float64(p%ow)*bw, bw, gw, W)
				for c := range C {
					plane := x[(b*C+c)*H*W:]
					acc, first := 0.0, len(rows) == gh && len(cols) == gw // outside of the map all is zero
					for _, py := range rows {
						for _, px := range cols {
							if !peak {
								acc += roiRead(plane, H, W, py, px)
							} else if v := roiPeak(plane, H, W, py, px); first || v > acc {
								acc, first = v, false
							}
						}
					}
					if !peak && gh*gw > 0 {
						acc /= float64(gh * gw)
					}
					y[(r*C+c)*oh*ow+p] = acc
				}
			}
		}
		return outs(fromFloats(in[0].DType, shape, y))
	},
	MACs: func(n *ir.Node) int64 {
		s := ir.AttrsOf[RoiAlignAttrs](n).SamplingRatio
		if s == 0 {
			s = 8
		}
		return int64(n.In[1].Type.Shape[0]) * int64(n.In[0].Type.Shape[1]) * int64(
			ir.AttrsOf[RoiAlignAttrs](n).OutputHeight) * int64(ir.AttrsOf[RoiAlignAttrs](n).OutputWidth) * int64(
			s) * int64(s) * 4
	},
})

// maxRoiSamples bounds the samples along one side of a bin, which else follow
// from the region's size.
const maxRoiSamples = 1 << 10

// RoiSamples is the number of samples along a side of a bin.
func RoiSamples(n *ir.Node, side float64) int {
	if s := ir.AttrsOf[RoiAlignAttrs](n).SamplingRatio; s > 0 {
		return s
	}
	return int(min(max(math.Ceil(side), 0), maxRoiSamples))
}

// roiRange is where the samples of a bin lie that are inside a map of a size, along one
// axis: a region far larger than the map has many, and few of them inside.
func roiRange(start, side float64, samples, size int) []float64 {
	var list []float64
	for i := range samples {
		if at := start + (float64(i)+0.5)*side/float64(samples); at >= -1 && at <= float64(size) {
			list = append(list, at)
		}
	}
	return list
}

// roiCorners are the four elements around a position inside the map and their weights.
func roiCorners(h, w int, py, px float64) (at [4]int, wt [4]float64) {
	py, px = max(py, 0), max(px, 0)
	y0, x0 := min(int(py), h-1), min(int(px), w-1)
	y1, x1 := min(y0+1, h-1), min(x0+1, w-1)
	if y0 == h-1 {
		py = float64(y0)
	}
	if x0 == w-1 {
		px = float64(x0)
	}
	ly, lx := py-float64(y0), px-float64(x0)
	return [4]int{y0*w + x0, y0*w + x1, y1*w + x0, y1*w + x1}, [4]float64{(1 - ly) * (1 - lx), (1 - ly) * lx,
		ly * (1 - lx), ly * lx}
}

func roiRead(x []float64, h, w int, py, px float64) float64 {
	at, wt := roiCorners(h, w, py, px)
	sum := 0.0
	for k := range at {
		sum += wt[k] * x[at[k]]
	}
	return sum
}

// roiPeak is the largest of the weighted corners, as ONNX defines mode max.
func roiPeak(x []float64, h, w int, py, px float64) float64 {
	at, wt := roiCorners(h, w, py, px)
	top := wt[0] * x[at[0]]
	for k := range at {
		top = max(top, wt[k]*x[at[k]])
	}
	return top
}
