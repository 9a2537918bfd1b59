// SPDX-License-Identifier: Apache-2.0

package op

import (
	"cmp"
	"math/bits"
	"sort"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// ArgOpAttrs are the attributes of ArgOp.
type ArgOpAttrs struct {
	Axis            int `default:"0"`
	Keepdims        int `default:"1"`
	SelectLastIndex int `default:"0"`
}

// argOp defines ArgMax (sign 1) or ArgMin (sign -1). Quantised inputs are
// compared as integers, which order as the reals do.
func argOp(name, doc string, sign int) *ir.OpDef {
	eval := func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		x := in[0]
		axis := fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(x.Shape)))
		l := lanesOf(x.Shape, axis)
		y := make([]int64, l.outer*l.step)
		last := ir.AttrsOf[ArgOpAttrs](n).SelectLastIndex != 0
		switch s := x.Data.(type) {
		case []float32:
			argLanes(l, s, y, sign, last)
		case []int8:
			argLanes(l, s, y, sign, last)
		case []uint64:
			argLanes(l, s, y, sign, last)
		default:
			if x.DType.IsFloat() {
				argLanes(l, floatsOf(x), y, sign, last)
			} else {
				argLanes(l, x.Int64s(), y, sign, last)
			}
		}
		return outs(tensor.Of(reducedShape(x.Shape, []int{axis}, ir.AttrsOf[KeepdimsAttr](n).Keepdims != 0), y))
	}
	return def(ir.OpDef{
		Name: name, Doc: doc, MinIn: 1, Pattern: ir.Opaque, Quant: ir.QInt, Finite: true, Eval: eval, EvalQ: eval,
		Attrs: ir.Declare[ArgOpAttrs](),
		Infer: func(n *ir.Node) ([]ir.Type, error) {
			wantType(n, 0, numTypes)
			t := n.In[0].Type
			axis := fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, t.Rank()))
			refuse(n, t.Shape[axis] == 0, "shape", "dimension %d of %v is empty: it has no extremum", axis, t.Shape)
			refuse(n, t.Quant.PerAxis(), "quant", "input 0 (%s) is quantised per axis, want one scale", n.In[0])
			return one(ir.T(tensor.I64, reducedShape(t.Shape, []int{axis},
				ir.AttrsOf[KeepdimsAttr](n).Keepdims != 0)...))
		},
	})
}

// argLanes compares as TFLite does: nothing is better than what is no number, nor that than anything.
func argLanes[T cmp.Ordered](l lanes, x []T, y []int64, sign int, last bool) {
	k := 0
	l.each(func(at int) {
		best := 0
		for i := 1; i < l.n; i++ {
			v, w := x[at+i*l.step], x[at+best*l.step]
			if sign < 0 {
				v, w = w, v
			}
			if v > w || last && v == w {
				best = i
			}
		}
		y[k] = int64(best)
		k++
	})
}

// ArgMax and ArgMin are the positions of extrema along one axis.
var (
	ArgMax = argOp("ArgMax", "position of the first (or last) maximum along axis", 1)
	ArgMin = argOp("ArgMin", "position of the first (or last) minimum along axis", -1)
)

// ScanOpAttrs are the attributes of ScanOp.
type ScanOpAttrs struct {
	Exclusive int `default:"0"`
	Reverse   int `default:"0"`
}

// scanOp defines CumSum and CumProd: running totals along the axis that the
// second input names. Floats accumulate in float64; integers wrap.
func scanOp(name, doc string, unit int64, float func(a, b float64) float64, whole func(a, b int64) int64) *ir.OpDef {
	return def(ir.OpDef{
		Name: name, Doc: doc, Attrs: ir.Declare[ScanOpAttrs](), MinIn: 2, Pattern: ir.Opaque,
		Infer: func(n *ir.Node) ([]ir.Type, error) {
			wantType(n, 0, numTypes)
			axis := fail.Must(ConstInts(n, 1, "the axis"))
			refuse(n, len(axis) != 1, "shape", "the axis (input 1, %s) has %d elements, want one", n.In[1], len(axis))
			fail.Must(Axis(n, axis[0], n.In[0].Type.Rank()))
			return one(like(n))
		},
		Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
			x := in[0]
			axis := fail.Must(Axis(n, int(in[1].Int(0)), len(x.Shape)))
			l := lanesOf(x.Shape, axis)
			exclusive, reverse := ir.AttrsOf[ScanOpAttrs](n).Exclusive != 0, ir.AttrsOf[ScanOpAttrs](n).Reverse != 0
			if x.DType.IsFloat() {
				y := x.Floats()
				scan(l, y, float64(unit), exclusive, reverse, float)
				return outs(fromFloats(x.DType, x.Shape, y))
			}
			y := x.Int64s()
			scan(l, y, unit, exclusive, reverse, whole)
			return outs(tensor.Of(x.Shape, y).Cast(x.DType))
		},
	})
}

func scan[T any](l lanes, y []T, unit T, exclusive, reverse bool, f func(a, b T) T) {
	if len(y) == 0 {
		return
	}
	l.each(func(at int) {
		step := l.step
		if reverse {
			at, step = at+(l.n-1)*step, -step
		}
		acc := unit
		for range l.n {
			next := f(acc, y[at])
			if exclusive {
				y[at] = acc
			} else {
				y[at] = next
			}
			acc = next
			at += step
		}
	})
}

// CumSum and CumProd are running totals along one axis.
var (
	CumSum = scanOp("CumSum", "running sum along an axis", 0,
		func(a, b float64) float64 { return a + b }, func(a, b int64) int64 { return a + b })
	CumProd = scanOp("CumProd", "running product along an axis", 1,
		func(a, b float64) float64 { return a * b }, func(a, b int64) int64 { return a * b })
)

// TopKAttrs are the attributes of TopK.
type TopKAttrs struct {
	Axis    int `default:"-1"`
	Largest int `default:"1"`
	Sorted  int `default:"1"`
}

// TopK gives the k (input 1) largest, or smallest, elements along axis and
// their indices. Equal elements keep the order of their indices. The results
// are always sorted, which sorted = 0 permits.
var TopK = def(ir.OpDef{
	Name: "TopK", Doc: "largest or smallest elements with their indices",
	Attrs: ir.Declare[TopKAttrs](), MinIn: 2, MinOut: 1, MaxOut: 2,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		wantType(n, 0, numTypes)
		axis, k := topK(n)
		shape := append([]int(nil), n.In[0].Type.Shape...)
		shape[axis] = k
		return []ir.Type{ir.T(n.In[0].Type.DType, shape...), ir.T(tensor.I64, shape...)}, nil
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		axis, k := topK(n)
		x := in[0]
		shape := append([]int(nil), x.Shape...)
		shape[axis] = k
		dim, inner := x.Shape[axis], product(x.Shape[axis+1:])
		pick, idx := make([]int, tensor.Count(shape)), tensor.New(tensor.I64, shape)
		ids := idx.Data.([]int64)
		greater := greaterOf(x)
		largest := ir.AttrsOf[TopKAttrs](n).Largest != 0
		order := make([]int, dim)
		for o := 0; o < product(x.Shape[:axis]); o++ {
			for i := 0; i < inner; i++ {
				base := o*dim*inner + i
				for d := range order {
					order[d] = d
				}
				sort.SliceStable(order, func(a, b int) bool {
					p, q := base+order[a]*inner, base+order[b]*inner
					if largest {
						return greater(p, q)
					}
					return greater(q, p)
				})
				for d := 0; d < k; d++ {
					at := (o*k+d)*inner + i
					pick[at], ids[at] = base+order[d]*inner, int64(order[d])
				}
			}
		}
		return outs(x.Pick(shape, pick), idx)
	},
	Pattern: ir.Opaque, Quant: ir.QMove,
	Work: func(n *ir.Node) int64 { return sortWork(n.In[0].Type.Elems()) },
})

// sortWork is the comparisons of sorting n elements, each a call.
func sortWork(n int) int64 { return work(n, 4*bits.Len(uint(n))) }

func topK(n *ir.Node) (axis, k int) {
	x := n.In[0].Type.Shape
	axis = fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(x)))
	v := fail.Must(ConstInts(n, 1, "k"))
	refuse(n, len(v) != 1 || v[0] < 0 || v[0] > x[axis], "k",
		"k is %v, want one value from 0 to %d, the size of dimension %d", v, x[axis], axis)
	return axis, v[0]
}

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
		wantType(n, 0, anyTypes)
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
	defer fail.Catch(&err)
	x := n.In[0].Type.Shape
	if ir.AttrsOf[UniqueAttrs](n).Axis == nil {
		return 1, product(x), 1, nil
	}
	axis := fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(x)))
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
