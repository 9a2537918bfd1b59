// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// ResizeAttrs are the attributes of Resize.
type ResizeAttrs struct {
	Antialias                    int `default:"0"`
	Axes                         []int
	CoordinateTransformationMode string  `default:"half_pixel"`
	CubicCoeffA                  float32 `default:"-0.75"`
	ExcludeOutside               int     `default:"0"`
	ExtrapolationValue           float32 `default:"0"`
	KeepAspectRatioPolicy        string  `default:"stretch"`
	Mode                         string  `default:"nearest"`
	NearestMode                  string  `default:"round_prefer_floor"`
}

// Resize resamples input 0 by the factors in input 2 or to the sizes in input
// 3, of all dimensions or of those in axes. Input 1 is the region that
// tf_crop_and_resize reads. Every dimension is resampled by its own table of
// source indices and weights (ResizeGeometry), the innermost first.
//
// On quantised values, mode nearest moves the integers where input and output
// share their quantisation; see ResizeS8 for the others.
var Resize = def(ir.OpDef{
	Name: "Resize", Doc: "resamples by nearest, linear or cubic interpolation",
	Attrs: ir.Declare[ResizeAttrs](),
	MinIn: 1, MaxIn: 4,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		wantType(n, 0, numTypes)
		shape, _ := fail.Must2(resizeScales(n))
		wantElems(n, "the output: ", shape) // before tables of that size are made
		g := fail.Must(ResizeGeometry(n))
		return one(ir.T(n.In[0].Type.DType, g.Shape...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		g := fail.Must(ResizeGeometry(n))
		x := in[0]
		if g.Nearest && !g.Crop {
			return outs(g.pick(x))
		}
		if !x.DType.IsFloat() {
			y := resample(n, g)([]*tensor.Dense{x.Cast(tensor.F64)})
			return outs(y[0].Cast(x.DType))
		}
		return inFloat(in[:1], resample(n, g)), nil
	},
	EvalQ:   evalResizeQ,
	Pattern: ir.Opaque, Quant: ir.QInt,
	Work: func(n *ir.Node) int64 {
		g := fail.Must(ResizeGeometry(n))
		taps := 1
		for _, a := range g.Axes {
			taps += a.Taps
		}
		return work(max(n.In[0].Type.Elems(), n.Out[0].Type.Elems()), taps)
	},
})

// ResizeGeom is the sampling of a Resize node, one table a dimension.
type ResizeGeom struct {
	Shape   []int
	Axes    []ResizeAxis
	Nearest bool // one tap each, weight 1
	Crop    bool // some elements may take the extrapolation value
}

// ResizeAxis samples one dimension: output element o is the sum over t of
// Weight[o*Taps+t] times input element Index[o*Taps+t]. A first index of -1
// marks an output element outside the region: it is the extrapolation value.
// Same marks a dimension that is copied.
type ResizeAxis struct {
	Taps   int
	Index  []int
	Weight []float64
	Same   bool
}

// resizeScales gives the output's shape and, for every dimension, the scale:
// output size over input size as the interpolation uses it.
func resizeScales(n *ir.Node) (shape []int, scale []float64, err error) {
	x := n.In[0].Type.Shape
	axes := resizeAxes(n)
	shape, scale = append([]int(nil), x...), make([]float64, len(x))
	for i := range scale {
		scale[i] = 1
	}
	given := func(i int) bool { return n.Input(i) != nil && n.In[i].Type.Elems() > 0 }
	refuse(n, given(2) == given(3), "arity", "want either scales (input 2) or sizes (input 3)")
	which, what := 2, "the scales"
	if given(3) {
		which, what = 3, "the sizes"
	}
	d := n.In[which].Const
	if d == nil {
		return nil, nil, ir.Dynamicf(n, n.In[which],
			"%s (input %d, %s) must be known at compile time, but are computed at run time", what, which, n.In[which])
	}
	refuse(n, d.Len() != len(axes), "shape", "%s have %d values, want %d", what, d.Len(), len(axes))
	for i, a := range axes {
		v := d.Float(i)
		refuse(n, !(v > 0 && v <= maxExtent) || x[a] < 1, "shape",
			"%s hold %v for dimension %d of the input %v, want a positive value", what, v, a, x)
		if which == 3 {
			shape[a] = int(v)
			scale[a] = v / float64(x[a])
			continue
		}
		// In float32, the scale's type, as others compute it: 5 times 2.6 is 13,
		// though the float32 next to 2.6 lies below it.
		size := math.Floor(float64(float32(x[a]) * float32(v)))
		refuse(n, size < 1 || size > maxExtent, "shape", "scale %v makes %v elements of the %d in dimension %d", v,
			size, x[a], a)
		shape[a], scale[a] = int(size), v
	}
	policy := ir.AttrsOf[ResizeAttrs](n).KeepAspectRatioPolicy
	if policy == "stretch" || which == 2 || len(axes) == 0 {
		return shape, scale, nil
	}
	s := scale[axes[0]]
	for _, a := range axes {
		switch policy {
		case "not_larger":
			s = min(s, scale[a])
		case "not_smaller":
			s = max(s, scale[a])
		default:
			return nil, nil, ir.Errf(n, "policy", "keep_aspect_ratio_policy is %q, want stretch, not_larger or "+
				"not_smaller", policy)
		}
	}
	for _, a := range axes {
		scale[a] = s
		shape[a] = int(math.Floor(s*float64(x[a]) + 0.5))
		refuse(n, shape[a] < 1, "shape", "scale %v leaves nothing of the %d elements in dimension %d", s, x[a], a)
	}
	return shape, scale, nil
}

func resizeAxes(n *ir.Node) []int {
	r := n.In[0].Type.Rank()
	given := ir.AttrsOf[AxesAttr](n).Axes
	if given == nil {
		return ir.Identity(r)
	}
	return distinctAxes(n, given, r)
}

// ResizeGeometry checks a Resize node and computes its tables.
func ResizeGeometry(n *ir.Node) (_ *ResizeGeom, err error) {
	defer fail.Catch(&err)
	attrs := ir.AttrsOf[ResizeAttrs](n)
	shape, scale := fail.Must2(resizeScales(n))
	x := n.In[0].Type.Shape
	s := sampler{mode: ir.AttrsOf[ModeAttr](n).Mode, nearest: attrs.NearestMode,
		coord: ir.AttrsOf[CoordinateTransformationModeAttr](n).CoordinateTransformationMode,
		a:     float64(attrs.CubicCoeffA), exclude: attrs.ExcludeOutside != 0, antialias: attrs.Antialias != 0}
	wantWord(n, "mode", s.mode, "nearest", "linear", "cubic")
	refuse(n, !oneOf(s.coord, "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
		"tf_crop_and_resize", "tf_half_pixel_for_nn"), "mode", "coordinate_transformation_mode is %q, which is unknown",
		s.coord)
	wantWord(n, "nearest_mode", s.nearest, "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
	g := &ResizeGeom{Shape: shape, Axes: make([]ResizeAxis, len(x)), Nearest: s.mode == "nearest",
		Crop: s.coord == "tf_crop_and_resize"}
	var roi []float64
	if g.Crop {
		if n.ConstIn(1) == nil {
			return nil, ir.Dynamicf(n, n.Input(1), "tf_crop_and_resize needs a region (input 1, %s) that is known at "+
				"compile time", n.Input(1))
		}
		roi = n.ConstIn(1).Floats()
	}
	axes := resizeAxes(n)
	refuse(n, g.Crop && len(roi) != 2*len(axes), "shape",
		"the region has %d values, want %d: the starts, then the ends", len(roi), 2*len(axes))
	for i := range g.Axes {
		g.Axes[i] = ResizeAxis{Same: true}
	}
	for i, a := range axes {
		if !g.Crop && shape[a] == x[a] && scale[a] == 1 {
			continue
		}
		begin, end := 0.0, 1.0
		if g.Crop {
			begin, end = roi[i], roi[len(axes)+i]
		}
		g.Axes[a] = s.axis(x[a], shape[a], scale[a], begin, end)
	}
	return g, nil
}

func oneOf(s string, list ...string) bool { return slices.Contains(list, s) }

type sampler struct {
	mode, nearest, coord string
	a                    float64
	exclude, antialias   bool
}

// source is the position in the input, in units of elements, of output o.
func (s *sampler) source(o, in, out int, scale, begin, end float64) float64 {
	x, size, length := float64(o), float64(in), scale*float64(in)
	half := func() float64 { // (x+0.5)/scale - 0.5, as exact as sizes allow
		if scale == float64(out)/size {
			return (x+0.5)*size/float64(out) - 0.5
		}
		return (x+0.5)/scale - 0.5
	}
	switch s.coord {
	case "align_corners":
		if out == 1 {
			return 0
		}
		return x * (size - 1) / (length - 1)
	case "asymmetric":
		if scale == float64(out)/size {
			return x * size / float64(out)
		}
		return x / scale
	case "tf_crop_and_resize":
		if out == 1 {
			return begin*(size-1) + (end-begin)*(size-1)/2
		}
		return begin*(size-1) + x*(end-begin)*(size-1)/(length-1)
	case "pytorch_half_pixel":
		if out == 1 {
			return 0
		}
		return half()
	case "tf_half_pixel_for_nn": // of opset 11 only
		return half() + 0.5
	case "half_pixel_symmetric":
		return size/2*(1-float64(out)/length) + half()
	}
	return half()
}

// axis computes the table of one dimension. The taps lie around the element
// left of the position; ratio, the distance from it, is in (0, 1].
func (s *sampler) axis(in, out int, scale, begin, end float64) ResizeAxis {
	var t ResizeAxis
	for o := range out {
		pos := s.source(o, in, out, scale, begin, end)
		outside := s.coord == "tf_crop_and_resize" && (pos < 0 || pos > float64(in-1))
		base := math.Ceil(pos) - 1
		w, first := s.weights(pos-base, scale)
		t.Taps = len(w)
		sum := 0.0
		for k := range w {
			i := base + float64(first+k)
			if s.exclude && (i < 0 || i > float64(in-1)) {
				w[k] = 0
			}
			sum += w[k]
		}
		for k, v := range w {
			i := int(min(max(base+float64(first+k), 0), float64(in-1)))
			if s.exclude && sum != 0 {
				v /= sum
			}
			if outside {
				i = -1
			}
			t.Index, t.Weight = append(t.Index, i), append(t.Weight, v)
		}
	}
	return t
}

// weights are the factors of consecutive input elements for a position ratio
// behind element 0, and the number of the first of these elements.
func (s *sampler) weights(ratio, scale float64) (w []float64, first int) {
	down := 1.0
	if s.antialias {
		down = min(scale, 1)
	}
	switch s.mode {
	case "nearest":
		up := ratio == 1
		switch s.nearest {
		case "round_prefer_floor":
			up = up || ratio > 0.5
		case "round_prefer_ceil":
			up = up || ratio >= 0.5
		case "ceil":
			up = true
		}
		if up {
			first = 1
		}
		return []float64{1}, first
	case "linear":
		first = int(math.Floor(-1/down)) + 1
		for i := first; i <= 1-first; i++ {
			w = append(w, min(max(1-math.Abs((float64(i)-ratio)*down), 0), 1))
		}
	default:
		first = int(math.Floor(-2/down)) + 1
		for i := first; i <= 1-first; i++ {
			w = append(w, s.cubic((float64(i)-ratio)*down))
		}
	}
	if down < 1 {
		sum := 0.0
		for _, v := range w {
			sum += v
		}
		for i := range w {
			w[i] /= sum
		}
	}
	return w, first
}

// cubic is Keys' convolution kernel with parameter a.
func (s *sampler) cubic(x float64) float64 {
	x = math.Abs(x)
	switch {
	case x <= 1:
		return ((s.a+2)*x-(s.a+3))*x*x + 1
	case x < 2:
		return ((s.a*x-5*s.a)*x+8*s.a)*x - 4*s.a
	}
	return 0
}

// pick is the nearest-neighbour result, for any element type.
func (g *ResizeGeom) pick(x *tensor.Dense) *tensor.Dense {
	st := tensor.Strides(x.Shape)
	idx := make([]int, tensor.Count(g.Shape))
	pos := newIndex(g.Shape)
	for i := range idx {
		for d, o := range pos.at {
			if !g.Axes[d].Same {
				o = g.Axes[d].Index[o]
			}
			idx[i] += o * st[d]
		}
		pos.next()
	}
	return x.Pick(g.Shape, idx)
}

// resample applies the tables, innermost dimension first.
func resample(n *ir.Node, g *ResizeGeom) func(in []*tensor.Dense) []*tensor.Dense {
	return func(in []*tensor.Dense) []*tensor.Dense {
		x, shape := tensor.As[float64](in[0]), slices.Clone(in[0].Shape)
		for d := len(shape) - 1; d >= 0; d-- {
			a := &g.Axes[d]
			if a.Same {
				continue
			}
			size, inner := shape[d], product(shape[d+1:])
			shape[d] = g.Shape[d]
			y := make([]float64, product(shape))
			parallel(product(shape[:d]), func(o int) {
				src, dst := x[o*size*inner:][:size*inner], y[o*shape[d]*inner:][:shape[d]*inner]
				for p := 0; p < shape[d]; p++ {
					row := dst[p*inner:][:inner]
					for t := p * a.Taps; t < (p+1)*a.Taps; t++ {
						if a.Index[t] < 0 {
							break
						}
						w := a.Weight[t]
						for i, v := range src[a.Index[t]*inner:][:inner] {
							row[i] += float64(v * w) // rounded: no processor fuses them
						}
					}
				}
			})
			x = y
		}
		y := slices.Clone(x)
		if g.Crop {
			g.outside(y, float64(ir.AttrsOf[ResizeAttrs](n).ExtrapolationValue))
		}
		return []*tensor.Dense{tensor.Of(g.Shape, y)}
	}
}

// outside stores v wherever a dimension's table says so.
func (g *ResizeGeom) outside(y []float64, v float64) {
	pos := newIndex(g.Shape)
	for i := range y {
		for k, o := range pos.at {
			if a := &g.Axes[k]; !a.Same && a.Index[o*a.Taps] < 0 {
				y[i] = v
			}
		}
		pos.next()
	}
}
