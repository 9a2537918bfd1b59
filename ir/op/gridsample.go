// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// GridSampleAttrs are the attributes of GridSample.
type GridSampleAttrs struct {
	AlignCorners int    `default:"0"`
	Mode         string `default:"linear"`
	PaddingMode  string `default:"zeros"`
}

// GridSample reads [N, C, spatial...] at the positions in input 1, [N,
// out..., r]: for each of the r spatial dimensions, the innermost first, a
// coordinate from -1 to 1. padding_mode says what lies outside. The modes are
// also known by their two-dimensional names of opset 16.
var GridSample = def(ir.OpDef{
	Name: "GridSample", Doc: "samples at given positions",
	Attrs: ir.Declare[GridSampleAttrs](), MinIn: 2,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		x, g := n.In[0].Type, n.In[1].Type
		r := len(x.Shape) - 2
		refuse(n, r < 1 || len(g.Shape) != r+2 || g.Shape[r+1] != r || g.Shape[0] != x.Shape[0], "shape-mismatch",
			"the input %v with positions %v, want [N, C, spatial...] and [N, out..., %d]", x.Shape, g.Shape, r)
		wantType(n, 0, numTypes)
		wantType(n, 1, floatTypes)
		m := ir.AttrsOf[ModeAttr](n).Mode
		refuse(n, !oneOf(m, "linear", "nearest", "cubic", "bilinear", "bicubic"), "mode",
			"mode is %q, want linear, nearest or cubic", m)
		wantWord(n, "padding_mode", ir.AttrsOf[GridSampleAttrs](n).PaddingMode, "zeros", "border", "reflection")
		return one(ir.T(x.DType, append([]int{x.Shape[0], x.Shape[1]}, g.Shape[1:r+1]...)...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		x, grid := in[0], in[1]
		s := gridSampler{size: x.Shape[2:], mode: ir.AttrsOf[ModeAttr](n).Mode,
			padding: ir.AttrsOf[GridSampleAttrs](n).PaddingMode,
			corners: ir.AttrsOf[GridSampleAttrs](n).AlignCorners != 0, cubic: sampler{a: -0.75}}
		r := len(s.size)
		shape := append([]int{x.Shape[0], x.Shape[1]}, grid.Shape[1:r+1]...)
		C, plane, points := x.Shape[1], product(s.size), product(shape[2:])
		data, pos := floatsOf(x), floatsOf(grid)
		y := make([]float64, tensor.Count(shape))
		parallel(shape[0]*points, func(job int) {
			img, p := job/max(points, 1), job%max(points, 1)
			taps := []gridTap{{0, 1}}
			for d := range r {
				var next []gridTap
				line := s.taps(d, pos[job*r+r-1-d])
				for _, t := range taps {
					for _, l := range line {
						next = append(next, gridTap{t.at*s.size[d] + l.at, t.weight * l.weight})
					}
				}
				taps = next
			}
			for c := range C {
				sum := lists.Sum(taps, func(t gridTap) float64 { return t.weight * data[(img*C+c)*plane+t.at] })
				y[(img*C+c)*points+p] = sum
			}
		})
		return outs(fromFloats(x.DType, shape, y))
	},
	Pattern: ir.Opaque,
	Work: func(n *ir.Node) int64 { // 2 or 4 taps in each spatial dimension
		bits := 1
		if m := ir.AttrsOf[ModeAttr](n).Mode; m == "cubic" || m == "bicubic" {
			bits = 2
		}
		taps := 1 << min(bits*(n.In[0].Type.Rank()-2), 40)
		return work(n.Out[0].Type.Elems()+n.In[1].Type.Elems(), taps, 2)
	},
})

// gridTap is an element of a line, or of the spatial plane, with its weight.
type gridTap struct {
	at     int
	weight float64
}

type gridSampler struct {
	size          []int
	mode, padding string
	corners       bool
	cubic         sampler
}

// taps are the elements of dimension d that coordinate v reads; those outside
// with zero padding are left out.
func (s *gridSampler) taps(d int, v float64) []gridTap {
	size := float64(s.size[d])
	lo, hi := -0.5, size-0.5
	x := ((v+1)*size - 1) / 2
	if s.corners {
		lo, hi = 0, size-1
		x = (v + 1) / 2 * (size - 1)
	}
	if s.mode == "nearest" {
		x = math.RoundToEven(x)
	}
	if x < lo || x > hi {
		switch s.padding {
		case "border":
			least, most := GridBorder(s.mode, s.size[d])
			x = min(max(x, least), most)
		case "reflection":
			x = reflect(x, lo, hi)
		}
	}
	if !(math.Abs(x) < 1<<40) { // NaN and infinities read nothing
		return nil
	}
	base := math.Floor(x)
	weights, first := []float64{1}, 0
	switch s.mode {
	case "linear", "bilinear":
		weights = []float64{base + 1 - x, x - base}
	case "cubic", "bicubic":
		first, weights = -1, nil
		for k := -1; k <= 2; k++ {
			weights = append(weights, s.cubic.cubic(x-base-float64(k)))
		}
	}
	var out []gridTap
	for k, w := range weights {
		i := base + float64(first+k)
		switch s.padding {
		case "zeros":
			if i < 0 || i > size-1 {
				continue
			}
		case "border":
			i = min(max(i, 0), size-1)
		default:
			i = min(max(math.Trunc(reflect(i, lo, hi)), 0), size-1)
		}
		out = append(out, gridTap{int(i), w})
	}
	return out
}

// GridBorder is where positions outside are moved to with padding_mode border: to
// the edges. Of mode cubic each of the four elements is, as in PyTorch: behind two
// more, all of them are the one at the edge.
func GridBorder(mode string, size int) (least, most float64) {
	if mode == "cubic" || mode == "bicubic" {
		return -2, float64(size + 1)
	}
	return 0, float64(size - 1)
}

// reflect mirrors x at lo and hi until it lies between them.
func reflect(x, lo, hi float64) float64 {
	span := hi - lo
	if x >= lo && x <= hi {
		return x
	}
	if span <= 0 {
		return lo
	}
	d := math.Mod(math.Abs(x-lo), 2*span)
	if d > span {
		d = 2*span - d
	}
	return lo + d
}
