// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// Pad extends input 0 by input 1's numbers of elements at the begins, then at
// the ends, of the axes in input 3 (all when absent); negative numbers crop.
// Mode constant fills with input 2 (zero when absent), reflect mirrors without
// the border element, edge repeats it, wrap continues from the other side.
//
// On quantised values the fill stands for a real: a fill that carries the
// data's own quantisation is used as it is, a float one is quantised as
// QuantizeLinear does, and an absent one is the zero point. See PadFill.
var Pad = def(ir.OpDef{
	Name: "Pad", Doc: "extends or crops a tensor",
	Attrs: ir.Declare[struct {
		Mode string `default:"constant"`
	}](), MinIn: 2, MaxIn: 4,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		g := fail.Must(PadGeometry(n))
		x := n.In[0].Type
		if f := n.Input(2); f != nil {
			refuse(n, f.Type.Elems() != 1, "shape", "the fill value %s has shape %v, want one element", f, f.Type.Shape)
			refuse(n, x.Quant == nil && f.Type.DType != x.DType, "dtype",
				"the fill value %s is of type %s, the data of type %s", f, f.Type.DType, x.DType)
		}
		return one(ir.T(x.DType, g.Shape...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		g := fail.Must(PadGeometry(n))
		x := in[0]
		if tensor.Count(g.Shape) == 0 {
			return outs(tensor.New(x.DType, g.Shape))
		}
		if g.Mode != "constant" {
			return outs(x.Pick(g.Shape, g.sources(x.Shape)))
		}
		fill := fail.Must(PadFill(n, opt(in, 2)))
		return outs(g.place(x, fill))
	},
	Pattern: ir.Injective, Quant: ir.QMove, Fill: 2,
})

// place is the part of x that stays, within a tensor full of fill; the result
// is not empty.
func (g *PadGeom) place(x, fill *tensor.Dense) *tensor.Dense {
	y := tensor.New(x.DType, g.Shape)
	y.Fill(0, y.Len(), fill)
	if len(x.Shape) == 0 {
		return x
	}
	g.part(x.Shape)(func(from, at, count int) { y.Copy(at, x, from, count) })
	return y
}

// part calls a function for every run of elements of a tensor of the given shape that stay:
// where it is in the tensor and in the result, and how long it is.
func (g *PadGeom) part(shape []int) func(f func(from, to, count int)) {
	r := len(shape)
	from, size := make([]int, r), make([]int, r)
	for d := range from {
		from[d] = max(-g.Begin[d], 0)
		size[d] = min(shape[d], g.Shape[d]-g.Begin[d]) - from[d]
		if size[d] <= 0 {
			return func(func(from, to, count int)) {}
		}
	}
	xs, ys := tensor.Strides(shape), tensor.Strides(g.Shape)
	row := size[r-1]
	return func(f func(from, to, count int)) {
		pos := newIndex(append(append([]int(nil), size[:r-1]...), 1))
		for more := true; more; more = pos.next() {
			px, py := from[r-1], from[r-1]+g.Begin[r-1]
			for d := 0; d < r-1; d++ {
				px += (pos.at[d] + from[d]) * xs[d]
				py += (pos.at[d] + from[d] + g.Begin[d]) * ys[d]
			}
			f(px, py, row)
		}
	}
}

// CenterCropPad crops or pads the centre of the axes (all by default) to the
// sizes in input 1; padding stands for zero.
var CenterCropPad = def(ir.OpDef{
	Name: "CenterCropPad", Doc: "crops or zero-pads to a size around the centre",
	Attrs: ir.Declare[struct{ Axes []int }](), MinIn: 2,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		g := centre(n)
		return one(ir.T(n.In[0].Type.DType, g.Shape...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		g := centre(n)
		if tensor.Count(g.Shape) == 0 {
			return outs(tensor.New(in[0].DType, g.Shape))
		}
		return outs(g.place(in[0], zeroOf(n, in[0])))
	},
	Pattern: ir.Injective, Quant: ir.QMove,
})

func centre(n *ir.Node) *PadGeom {
	x := n.In[0].Type.Shape
	want := fail.Must(ConstInts(n, 1, "the target shape"))
	axes := ir.AttrsOf[AxesAttr](n).Axes
	if axes == nil {
		axes = ir.Identity(len(x))
	}
	refuse(n, len(want) != len(axes), "shape", "the target shape %v has %d sizes for %d axes", want, len(want),
		len(axes))
	g := &PadGeom{Mode: "constant", Begin: make([]int, len(x)), Shape: append([]int(nil), x...)}
	for i, a := range axes {
		a := fail.Must(Axis(n, a, len(x)))
		refuse(n, want[i] < 0 || want[i] > maxExtent, "shape", "the target shape %v is out of range", want)
		g.Shape[a] = want[i]
		if want[i] >= x[a] {
			g.Begin[a] = (want[i] - x[a]) / 2
		} else {
			g.Begin[a] = -((x[a] - want[i]) / 2)
		}
	}
	return g
}

// PadGeom is the geometry of a Pad node: elements added (or, when negative,
// removed) at the begin of every dimension, and the result's shape.
type PadGeom struct {
	Mode              string
	Begin, End, Shape []int
}

// PadGeometry resolves and checks the inputs of a Pad node.
func PadGeometry(n *ir.Node) (_ *PadGeom, err error) {
	defer fail.Catch(&err)
	x := n.In[0].Type.Shape
	g := &PadGeom{Mode: ir.AttrsOf[ModeAttr](n).Mode, Begin: make([]int, len(x)), End: make([]int, len(x)),
		Shape: append([]int(nil), x...)}
	wantWord(n, "mode", g.Mode, "constant", "reflect", "edge", "wrap")
	pads := fail.Must(ConstInts(n, 1, "the pads"))
	axes := fail.Must(ConstInts(n, 3, "the axes"))
	if n.Input(3) == nil {
		axes = ir.Identity(len(x))
	}
	refuse(n, len(pads) != 2*len(axes), "pads",
		"the pads are %v, want %d values: the begins, then the ends, of %d dimensions", pads, 2*len(axes), len(axes))
	for i, a := range distinctAxes(n, axes, len(x)) {
		b, e := pads[i], pads[len(axes)+i]
		refuse(n, max(b, e) > maxExtent || min(b, e) < -maxExtent, "pads", "the pads %v are too large: at most %d",
			pads, maxExtent)
		g.Begin[a], g.End[a] = b, e
		g.Shape[a] += b + e
		refuse(n, g.Shape[a] < 0 || min(b, e) < -x[a], "pads",
			"the pads %v crop more than dimension %d of the input %v has", pads, a, x)
		refuse(n, g.Mode != "constant" && max(b, e) > 0 && x[a] == 0, "pads",
			"mode %s cannot extend dimension %d of the input %v, which is empty", g.Mode, a, x)
	}
	return g, nil
}

// sources are the input offsets of every output element of the modes that
// copy input elements.
func (g *PadGeom) sources(x []int) []int {
	st := tensor.Strides(x)
	per := make([][]int, len(x))
	for d, size := range x {
		per[d] = make([]int, g.Shape[d])
		for o := range per[d] {
			per[d][o] = g.Source(o-g.Begin[d], size) * st[d]
		}
	}
	out := make([]int, tensor.Count(g.Shape))
	pos := newIndex(g.Shape)
	for i := range out {
		for d, v := range pos.at {
			out[i] += per[d][v]
		}
		pos.next()
	}
	return out
}

// Source is the index, of a dimension of the given size, of the element that
// modes other than constant put at index i, which may lie outside.
func (g *PadGeom) Source(i, size int) int {
	switch g.Mode {
	case "edge":
		return min(max(i, 0), size-1)
	case "wrap":
		return ((i % size) + size) % size
	}
	if size == 1 {
		return 0
	}
	period := 2 * (size - 1) // reflect: 0 1 2 3 2 1 0 1 ...
	if i = (i%period + period) % period; i >= size {
		i = period - i
	}
	return i
}

// PadFill is the element, in the type of the data, with which a Pad node of
// mode constant fills; given is the evaluated input 2, nil where absent.
func PadFill(n *ir.Node, given *tensor.Dense) (_ *tensor.Dense, err error) {
	defer fail.Catch(&err)
	t := n.In[0].Type
	q := t.Quant
	if q == nil || given != nil && given.DType.IsFloat() && t.DType.IsFloat() {
		if given == nil {
			return tensor.New(t.DType, []int{1}), nil
		}
		return given.Reshaped([]int{1}), nil
	}
	refuse(n, q.PerAxis(), "quant", "the padded value %s is quantised per channel, want per tensor", n.In[0])
	scalar := ir.Type{DType: t.DType, Shape: []int{1}, Quant: q}
	if given == nil {
		d := tensor.New(t.DType, []int{1})
		d.SetInt(0, int64(q.ZeroAt(0)))
		return d, nil
	}
	given = given.Reshaped([]int{1})
	switch fq := n.In[2].Type.Quant; {
	case fq == nil && given.DType.IsFloat():
		return ir.QuantiseEven(given, scalar), nil
	case fq == nil && given.DType == t.DType, fq.Equal(q):
		return given, nil
	case fq != nil:
		return ir.QuantiseEven(ir.Dequantise(given, fq), scalar), nil
	}
	return nil, ir.Errf(n, "dtype", "the fill value %s is of type %s, want a float or %s", n.In[2], given.DType,
		t.DType)
}
