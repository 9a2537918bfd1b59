// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// UniqueAttrs are the attributes of Unique.
type UniqueAttrs struct {
	Axis   *int
	Sorted int `default:"1"`
}

// Unique lists the different slices along axis (all elements when absent),
// sorted or in the order in which they come first, with where they are first,
// which one every slice is, and how often each occurs. How many there are
// depends on the data: the results have room for all slices; behind the
// different ones stand zeros, indices of -1 and counts of 0.
var Unique = def(ir.OpDef{
	Name: "Unique", Doc: "different slices with indices and counts; count 0 behind them, up to the capacity",
	Attrs: ir.Declare[UniqueAttrs](), MinIn: 1, MaxOut: 4, Quant: ir.QNone, Pattern: ir.Opaque,
	DataSized: true,
	MACs: func(n *ir.Node) int64 { // every slice is compared with every other one
		_, dim, _, err := UniqueSlices(n)
		if err != nil || dim > 1<<30 {
			return 1 << 60
		}
		return int64(dim) * int64(n.In[0].Type.Elems())
	},
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		fail.Check(wantType(n, 0, anyTypes))
		outer, dim, inner := fail.Must3(UniqueSlices(n))
		shape := n.In[0].Type.Shape
		if ir.AttrsOf[UniqueAttrs](n).Axis == nil {
			shape = []int{outer * dim * inner}
		}
		list := ir.T(tensor.I64, dim)
		return []ir.Type{ir.T(n.In[0].Type.DType, shape...), list, list, list}, nil
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		outer, dim, inner := fail.Must3(UniqueSlices(n))
		u := uniqueOf(in[0], outer, dim, inner, ir.AttrsOf[SortedAttr](n).Sorted != 0)
		shape := in[0].Shape
		if ir.AttrsOf[UniqueAttrs](n).Axis == nil {
			shape = []int{dim}
		}
		return outs(u.expanded(in[0], shape, outer, dim, inner, dim)...)
	},
})

// UniqueSlices are the slices that Unique compares: dim of them, of outer
// runs of inner elements.
func UniqueSlices(n *ir.Node) (outer, dim, inner int, err error) {
	x := n.In[0].Type.Shape
	if ir.AttrsOf[UniqueAttrs](n).Axis == nil {
		return 1, product(x), 1, nil
	}
	axis, err := Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(x))
	if err != nil {
		return 0, 0, 0, err
	}
	return product(x[:axis]), x[axis], product(x[axis+1:]), nil
}

// UniqueOf is Unique with results of the size that the data ask for.
func UniqueOf(n *ir.Node, x *tensor.Dense) (_ []*tensor.Dense, err error) {
	defer fail.Catch(&err)
	outer, dim, inner := fail.Must3(UniqueSlices(n))
	u := uniqueOf(x, outer, dim, inner, ir.AttrsOf[SortedAttr](n).Sorted != 0)
	shape := append([]int(nil), x.Shape...)
	if ir.AttrsOf[UniqueAttrs](n).Axis != nil {
		axis := fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(shape)))
		shape[axis] = len(u.first)
	} else {
		shape = []int{len(u.first)}
	}
	return u.expanded(x, shape, outer, dim, inner, len(u.first)), nil
}

// uniques are different slices: where each is first, how often it occurs, and
// which one every slice is.
type uniques struct {
	first, counts, of []int
}

func uniqueOf(x *tensor.Dense, outer, dim, inner int, sorted bool) *uniques {
	greater := greaterOf(x)
	// compare is the order of slices a and b, from the first difference.
	compare := func(a, b int) int {
		for o := range outer {
			for i := range inner {
				p, q := (o*dim+a)*inner+i, (o*dim+b)*inner+i
				if greater(p, q) {
					return 1
				}
				if greater(q, p) {
					return -1
				}
			}
		}
		return 0
	}
	u := &uniques{of: make([]int, dim)}
	for i := range dim {
		k := 0
		for k < len(u.first) && compare(u.first[k], i) != 0 {
			k++
		}
		if k == len(u.first) {
			u.first, u.counts = append(u.first, i), append(u.counts, 0)
		}
		u.counts[k]++
		u.of[i] = k
	}
	if !sorted {
		return u
	}
	s := &uniques{make([]int, len(u.first)), make([]int, len(u.first)), make([]int, dim)}
	place := make([]int, len(u.first))
	for k := range u.first {
		for j := range u.first {
			if compare(u.first[j], u.first[k]) < 0 {
				place[k]++
			}
		}
		s.first[place[k]], s.counts[place[k]] = u.first[k], u.counts[k]
	}
	for i, k := range u.of {
		s.of[i] = place[k]
	}
	return s
}

// expanded are the four results with room for size slices.
func (u *uniques) expanded(x *tensor.Dense, shape []int, outer, dim, inner, size int) []*tensor.Dense {
	y := tensor.New(x.DType, shape)
	for o := range outer {
		for k, f := range u.first {
			y.Copy((o*size+k)*inner, x, (o*dim+f)*inner, inner)
		}
	}
	list := func(v []int, fill int64, n int) *tensor.Dense {
		out := make([]int64, n)
		for i := range out {
			out[i] = fill
			if i < len(v) {
				out[i] = int64(v[i])
			}
		}
		return tensor.Of([]int{n}, out)
	}
	return []*tensor.Dense{y, list(u.first, -1, size), list(u.of, 0, dim), list(u.counts, 0, size)}
}
