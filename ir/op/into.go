// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// Into gives a function that evaluates n, an operator with one result of float32, into
// memory that is there: y, of which it writes every element. Functions and sums are in
// float32, with errors of some millionths of the largest operand, in a defined order: for
// what Approximate is for, beside convolutions and matrix products, which are not here. It
// is nil where there is no such function.
func Into(n *ir.Node) intoFunc {
	if len(n.Out) != 1 || n.Out[0].Type.DType != tensor.F32 || n.Out[0].Type.Elems() == 0 || len(n.In) == 0 ||
		n.In[0] == nil || n.In[0].Type.DType != tensor.F32 || n.In[0].Type.Elems() == 0 {
		return nil
	}
	if form := intoForms[n.Op]; form != nil {
		return form(n)
	}
	if form := intoFunctions[n.Op]; form != nil {
		f := form(n)
		return func(in []*tensor.Dense, y []float32) { f(tensor.As[float32](in[0]), y) }
	}
	return nil
}

// intoFunc is what Into gives.
type intoFunc = func(in []*tensor.Dense, y []float32)

// intoForms make them, nil where a node is not of the usual kind.
var intoForms = map[*ir.OpDef]func(n *ir.Node) intoFunc{
	Reshape: intoCopy, Flatten: intoCopy, Squeeze: intoCopy, Unsqueeze: intoCopy, Identity: intoCopy,
	Transpose: intoTranspose, Concat: intoConcat, Pad: intoPad,
	Add: intoArith(kAdd), Sub: intoArith(kSub), Mul: intoArith(kMul),
	MaxPool: intoPool, AveragePool: intoPool, GlobalMaxPool: intoPool, GlobalAveragePool: intoPool,
	ReduceMean: intoMean, Softmax: intoSoftmax, LayerNormalization: intoLayerNorm,
	Slice: intoMoved, DepthToSpace: intoMoved, SpaceToDepth: intoMoved, Gather: intoMoved, Expand: intoMoved,
	Tile: intoMoved, Resize: intoResize,
}

func intoCopy(*ir.Node) intoFunc {
	return func(in []*tensor.Dense, y []float32) { copy(y, tensor.As[float32](in[0])) }
}

// bounded brings the elements of y to what n's absorbed activation lets through.
func bounded(n *ir.Node) func(y []float32) {
	if !HasAct(n) {
		return func([]float32) {}
	}
	l, h := ActBounds(n)
	lo, hi := float32(l), float32(h)
	return func(y []float32) {
		for i, v := range y {
			if v < lo {
				v = lo
			}
			if v > hi {
				v = hi
			}
			y[i] = v
		}
	}
}

func intoArith(k arithKind) func(n *ir.Node) intoFunc {
	return func(n *ir.Node) intoFunc {
		if n.In[1].Type.DType != tensor.F32 {
			return nil
		}
		out, bound, loop := n.Out[0].Type.Shape, bounded(n), arithLoop[float32](k)
		return func(in []*tensor.Dense, y []float32) {
			a, b := tensor.As[float32](in[0]), tensor.As[float32](in[1])
			if len(a) == len(y) && len(b) == len(y) {
				loop(y, a, b)
			} else {
				zip(out, in[0].Shape, in[1].Shape, y, a, b, loop)
			}
			bound(y)
		}
	}
}

func intoTranspose(n *ir.Node) intoFunc {
	perm, err := Perm(n)
	if err != nil {
		return nil
	}
	st, shape, strides := tensor.Strides(n.In[0].Type.Shape), n.Out[0].Type.Shape, make([]int, len(perm))
	for i, p := range perm {
		strides[i] = st[p]
	}
	return func(in []*tensor.Dense, y []float32) {
		tensor.Gather(tensor.Of(shape, y), in[0], shape, strides, 0)
	}
}

func intoConcat(n *ir.Node) intoFunc {
	axis, err := Axis(n, ir.AttrsOf[AxisAttr](n).Axis, n.In[0].Type.Rank())
	if err != nil {
		return nil
	}
	row := product(n.Out[0].Type.Shape[axis:])
	return func(in []*tensor.Dense, y []float32) {
		at := 0
		for _, d := range in {
			x, size := tensor.As[float32](d), product(d.Shape[axis:])
			for to := at; len(x) > 0; to += row {
				copy(y[to:], x[:size])
				x = x[size:]
			}
			at += size
		}
	}
}

// intoPad is a Pad, one that fills by runs.
func intoPad(n *ir.Node) intoFunc {
	g, err := PadGeometry(n)
	switch {
	case err != nil || len(g.Shape) == 0 || n.Input(2) != nil && n.ConstIn(2) == nil:
		return nil
	case g.Mode != "constant":
		return intoMoved(n)
	}
	fill, err := PadFill(n, n.ConstIn(2))
	if err != nil || fill.DType != tensor.F32 {
		return nil
	}
	value := tensor.As[float32](fill)[0]
	part := g.part(n.In[0].Type.Shape)
	return func(in []*tensor.Dense, y []float32) {
		for i := range y {
			y[i] = value
		}
		x := tensor.As[float32](in[0])
		part(func(from, to, count int) { copy(y[to:][:count], x[from:][:count]) })
	}
}

// mostPlaces bounds the elements of which intoMoved keeps places.
const mostPlaces = 1 << 18

// intoMoved is an operator that moves elements of input 0, whatever they are, by constants: where
// each of its results comes from is what the reference makes of their numbers.
func intoMoved(n *ir.Node) intoFunc {
	if max(n.In[0].Type.Elems(), n.Out[0].Type.Elems()) > mostPlaces {
		return nil
	}
	numbers := tensor.New(tensor.F32, n.In[0].Type.Shape)
	for i := range tensor.As[float32](numbers) {
		tensor.As[float32](numbers)[i] = float32(i)
	}
	in := []*tensor.Dense{numbers}
	for i, v := range n.In[1:] {
		if v != nil && v.Const == nil {
			return nil
		}
		in = append(in, n.ConstIn(i+1))
	}
	moved, err := n.Op.Eval(n, in)
	if err != nil {
		return nil
	}
	from := make([]int32, moved[0].Len())
	for i, f := range tensor.As[float32](moved[0]) {
		from[i] = int32(f)
	}
	return func(in []*tensor.Dense, y []float32) {
		x := tensor.As[float32](in[0])
		y = y[:len(from)]
		for i, k := range from {
			y[i] = x[k]
		}
	}
}

// intoResize is one that takes the nearest elements.
func intoResize(n *ir.Node) intoFunc {
	if g, err := ResizeGeometry(n); err != nil || !g.Nearest || g.Crop {
		return nil
	}
	return intoMoved(n)
}
