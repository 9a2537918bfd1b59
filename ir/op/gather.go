// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// Gather reads slices of input 0 along axis at the places that input 1 lists;
// negative ones count from the end. The indices may be computed at run time.
var Gather = def(ir.OpDef{
	Name: "Gather", Doc: "slices along an axis by index", View: ir.Partial,
	Attrs: ir.Declare[struct {
		Axis int `default:"0"`
	}](), MinIn: 2, Limits: alongAxis,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		x := n.In[0].Type
		axis := fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(x.Shape)))
		indexInput(n, 1)
		shape := append([]int(nil), x.Shape[:axis]...)
		shape = append(shape, n.In[1].Type.Shape...)
		return one(ir.T(x.DType, append(shape, x.Shape[axis+1:]...)...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		x := in[0]
		axis := fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(x.Shape)))
		dim := x.Shape[axis]
		idx := wrapIndices(in[1], dim)
		shape := append([]int(nil), x.Shape[:axis]...)
		shape = append(append(shape, in[1].Shape...), x.Shape[axis+1:]...)
		y := tensor.New(x.DType, shape)
		outer, inner := product(x.Shape[:axis]), product(x.Shape[axis+1:])
		for o := 0; o < outer; o++ {
			for k, i := range idx {
				y.Copy((o*len(idx)+k)*inner, x, (o*dim+i)*inner, inner)
			}
		}
		return outs(y)
	},
	Pattern: ir.Injective, Quant: ir.QMove,
})

// GatherElements reads, for every position of the indices (input 1), the
// element of input 0 at that position with the index put in for axis.
var GatherElements = def(ir.OpDef{
	Name: "GatherElements", Doc: "elements along an axis by index",
	Attrs: ir.Declare[struct {
		Axis int `default:"0"`
	}](), MinIn: 2, Limits: alongAxis,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		x, i := n.In[0].Type, n.In[1].Type
		axis := fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(x.Shape)))
		elementIndices(n, x.Shape, i.Shape, axis)
		return one(ir.T(x.DType, i.Shape...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		axis := fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(in[0].Shape)))
		return outs(in[0].Pick(in[1].Shape, elementOffsets(in[0].Shape, in[1], axis)))
	},
	Pattern: ir.Injective, Quant: ir.QMove,
})

// GatherNDAttrs are the attributes of GatherND.
type GatherNDAttrs struct {
	BatchDims int `default:"0"`
}

// GatherND reads slices of input 0 whose leading coordinates, behind
// batch_dims common dimensions, are the last dimension of input 1.
var GatherND = def(ir.OpDef{
	Name: "GatherND", Doc: "slices by coordinates",
	Attrs: ir.Declare[GatherNDAttrs](), MinIn: 2,
	Limits: func(n *ir.Node) []ir.Limit { return tuples(n, ir.AttrsOf[GatherNDAttrs](n).BatchDims) },
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		x, idx := n.In[0].Type.Shape, n.In[1].Type.Shape
		indexInput(n, 1)
		b := ir.AttrsOf[GatherNDAttrs](n).BatchDims
		refuse(n, len(x) < 1 || len(idx) < 1 || b < 0 || b >= len(idx) || b >= len(x) || !sameShape(x[:b], idx[:b]),
			"shape-mismatch", "data %v and indices %v do not share %d batch dimensions", x, idx, b)
		k := idx[len(idx)-1]
		refuse(n, k < 1 || b+k > len(x), "shape-mismatch",
			"indices %v hold coordinates of length %d, the data %v behind %d batch dimensions has %d", idx, k, x, b,
			len(x)-b)
		return one(ir.T(n.In[0].Type.DType, append(append([]int(nil), idx[:len(idx)-1]...), x[b+k:]...)...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		x, idx, b := in[0], in[1], ir.AttrsOf[GatherNDAttrs](n).BatchDims
		k := idx.Shape[len(idx.Shape)-1]
		inner := product(x.Shape[b+k:])
		rows := product(idx.Shape[:len(idx.Shape)-1])
		perBatch := max(rows/max(product(idx.Shape[:b]), 1), 1)
		y := tensor.New(x.DType, append(append([]int(nil), idx.Shape[:len(idx.Shape)-1]...), x.Shape[b+k:]...))
		for r := 0; r < rows; r++ {
			at := coordinates(idx, r*k, x.Shape[b:b+k]) + r/perBatch*product(x.Shape[b:b+k])
			y.Copy(r*inner, x, at*inner, inner)
		}
		return outs(y)
	},
	Pattern: ir.Injective, Quant: ir.QMove,
})

// indexInput checks that input i has an integer type.
func indexInput(n *ir.Node, i int) {
	t := n.In[i].Type
	refuse(n, t.Quant != nil || t.DType != tensor.I32 && t.DType != tensor.I64, "dtype",
		"the indices %s are of type %s, want int32 or int64", n.In[i], t.DType)
}

// tuples are the limits of input 1 as coordinates, in its last dimension, of input 0 behind batch
// dimensions.
func tuples(n *ir.Node, batch int) []ir.Limit {
	x, idx := n.In[0].Type.Shape, n.In[1].Type.Shape
	return []ir.Limit{ir.Indices(1, x[batch:batch+idx[len(idx)-1]]...)}
}

// alongAxis are the limits of input 1 as indices along the attribute axis.
func alongAxis(n *ir.Node) []ir.Limit {
	x := n.In[0].Type.Shape
	axis := fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(x)))
	return []ir.Limit{ir.Indices(1, x[axis])}
}

// wrapIndices are the elements of d as indices into a dimension of size dim.
func wrapIndices(d *tensor.Dense, dim int) []int {
	idx := make([]int, d.Len())
	for i := range idx {
		if idx[i] = int(d.Int(i)); idx[i] < 0 {
			idx[i] += dim
		}
	}
	return idx
}

// elementIndices checks the shape of a GatherElements or ScatterElements index.
func elementIndices(n *ir.Node, x, idx []int, axis int) {
	indexInput(n, 1)
	ok := len(x) == len(idx)
	for d := range idx {
		ok = ok && (d == axis || idx[d] <= x[d])
	}
	refuse(n, !ok, "shape-mismatch", "indices of shape %v do not fit data of shape %v outside dimension %d", idx, x,
		axis)
}

// elementOffsets are the offsets in a tensor of shape x that an index tensor
// names: its own position, with its value in place of dimension axis.
func elementOffsets(x []int, idx *tensor.Dense, axis int) []int {
	v := wrapIndices(idx, x[axis])
	st := tensor.Strides(x)
	step := st[axis]
	st[axis] = 0
	pos := newIndex(idx.Shape)
	for i := range v {
		v[i] = pos.dot(st) + v[i]*step
		pos.next()
	}
	return v
}

// coordinates is the row-major offset within shape of the coordinates that
// idx holds from element at on.
func coordinates(idx *tensor.Dense, at int, shape []int) int {
	p := 0
	for d, size := range shape {
		v := int(idx.Int(at + d))
		if v < 0 {
			v += size
		}
		p = p*size + v
	}
	return p
}

// ScatterElements is input 0 with the elements that the indices (input 1)
// name along axis replaced by, or combined with, those of input 2.
var ScatterElements = def(ir.OpDef{
	Name: "ScatterElements", Doc: "replaces elements along an axis by index",
	Attrs: ir.Declare[struct {
		Axis      int    `default:"0"`
		Reduction string `default:"none"`
	}](), MinIn: 3, Limits: alongAxis,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		x, i, u := n.In[0].Type, n.In[1].Type, n.In[2].Type
		axis := fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(x.Shape)))
		elementIndices(n, x.Shape, i.Shape, axis)
		refuse(n, !sameShape(i.Shape, u.Shape), "shape-mismatch",
			"indices of shape %v with updates of shape %v, want the same", i.Shape, u.Shape)
		return scatterType(n)
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		axis := fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(in[0].Shape)))
		return outs(scatter(n, in[0], in[2], elementOffsets(in[0].Shape, in[1], axis)))
	},
	EvalQ: evalScatterQ, Pattern: ir.Opaque, Quant: ir.QInt, DataIn: []int{0, 2},
})

// ScatterND is input 0 with the slices at the coordinates in the last
// dimension of input 1 replaced by, or combined with, those of input 2.
var ScatterND = def(ir.OpDef{
	Name: "ScatterND", Doc: "replaces slices by coordinates",
	Attrs: ir.Declare[struct {
		Reduction string `default:"none"`
	}](), MinIn: 3, Limits: func(n *ir.Node) []ir.Limit { return tuples(n, 0) },
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		x, i, u := n.In[0].Type.Shape, n.In[1].Type.Shape, n.In[2].Type.Shape
		indexInput(n, 1)
		refuse(n, len(x) < 1 || len(i) < 1 || i[len(i)-1] > len(x), "shape-mismatch", "data %v with coordinates %v",
			x, i)
		want := append(append([]int(nil), i[:len(i)-1]...), x[i[len(i)-1]:]...)
		refuse(n, !sameShape(u, want), "shape-mismatch",
			"the updates have shape %v, want %v from the data %v and the coordinates %v", u, want, x, i)
		return scatterType(n)
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		x, idx := in[0], in[1]
		k := idx.Shape[len(idx.Shape)-1]
		rows, inner := product(idx.Shape[:len(idx.Shape)-1]), product(x.Shape[k:])
		at := make([]int, 0, rows*inner)
		for r := 0; r < rows; r++ {
			p := coordinates(idx, r*k, x.Shape[:k])
			for i := range inner {
				at = append(at, p*inner+i)
			}
		}
		return outs(scatter(n, x, in[2], at))
	},
	EvalQ: evalScatterQ, Pattern: ir.Opaque, Quant: ir.QInt, DataIn: []int{0, 2},
})

func scatterType(n *ir.Node) ([]ir.Type, error) {
	x, u := n.In[0].Type, n.In[2].Type
	refuse(n, x.DType != u.DType, "dtype", "the data are of type %s, the updates of type %s: they must agree",
		x.DType, u.DType)
	switch r := ir.AttrsOf[ReductionAttr](n).Reduction; r {
	case "none":
	case "add", "mul", "max", "min":
		wantType(n, 0, numTypes)
	default:
		return nil, ir.Errf(n, "reduction", "reduction is %q, want none, add, mul, max or min", r)
	}
	return one(ir.T(x.DType, x.Shape...))
}

// scatter stores element i of u in place at[i] of a copy of x, in order.
func scatter(n *ir.Node, x, u *tensor.Dense, at []int) *tensor.Dense {
	y := x.Clone()
	how := ir.AttrsOf[ReductionAttr](n).Reduction
	switch {
	case how == "none":
		y.Put(at, u)
	case x.DType.IsFloat():
		for i, p := range at {
			y.SetFloat(p, combine(how, y.Float(p), u.Float(i)))
		}
	default:
		for i, p := range at {
			y.SetInt(p, combine(how, y.Int(p), u.Int(i)))
		}
	}
	return y
}

func combine[T float64 | int64](how string, a, b T) T {
	switch how {
	case "add":
		return a + b
	case "mul":
		return a * b
	case "max":
		return max(a, b)
	}
	return min(a, b)
}

// evalScatterQ moves integers where data, updates and result share one
// quantisation and nothing is computed; otherwise the general rule applies.
func evalScatterQ(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	q := n.Out[0].Type.Quant
	if ir.AttrsOf[ReductionAttr](n).Reduction == "none" && q.Equal(n.In[0].Type.Quant) && q.Equal(n.In[2].Type.Quant) {
		return n.Op.Eval(n, in)
	}
	return ir.EvalDequantised(n, in)
}
