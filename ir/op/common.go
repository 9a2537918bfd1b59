// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// typeSet is a set of element types with the words that an error uses.
type typeSet struct {
	want string
	has  func(tensor.DType) bool
}

var (
	floatTypes  = typeSet{"a floating-point type", tensor.DType.IsFloat}
	intTypes    = typeSet{"an integer type", tensor.DType.IsInt}
	numTypes    = typeSet{"a numeric type", func(d tensor.DType) bool { return d.IsFloat() || d.IsInt() }}
	signedTypes = typeSet{"a signed numeric type", func(d tensor.DType) bool { return d.IsFloat() || d.IsSigned() }}
	boolTypes   = typeSet{"bool", func(d tensor.DType) bool { return d == tensor.Bool }}
	anyTypes    = typeSet{"any type", func(d tensor.DType) bool { return d != tensor.Invalid }}
)

// wantType checks the element type of input i; integers that stand for reals
// count as a real type.
func wantType(n *ir.Node, i int, s typeSet) error {
	t := n.In[i].Type
	if t.Quant != nil || s.has(t.DType) {
		return nil
	}
	return ir.Errf(n, "dtype", "input %d (%s) is of type %s, want %s", i, n.In[i], t.DType, s.want)
}

// quantIn reports whether any input is quantised: then inputs may differ in
// element type, since all of them stand for reals.
func quantIn(n *ir.Node) bool {
	for _, v := range n.In {
		if v != nil && v.Type.Quant != nil {
			return true
		}
	}
	return false
}

// wantSameTypes checks that all given inputs that are present have one type.
func wantSameTypes(n *ir.Node, idx ...int) error {
	if quantIn(n) {
		return nil
	}
	first := -1
	for _, i := range idx {
		if n.Input(i) == nil {
			continue
		}
		if first < 0 {
			first = i
		} else if a, b := n.In[first].Type.DType, n.In[i].Type.DType; a != b {
			return ir.Errf(n, "dtype", "input %d (%s) is of type %s, input %d (%s) of type %s; want the same type",
				first, n.In[first], a, i, n.In[i], b)
		}
	}
	return nil
}

// like is the type of input i without memory order and quantisation: the
// inferred type of operators that keep shape and element type.
func like(n *ir.Node, i int) ir.Type { return ir.T(n.In[i].Type.DType, n.In[i].Type.Shape...) }

// expand broadcasts d to shape, into new memory unless nothing changes.
func expand(d *tensor.Dense, shape []int) *tensor.Dense {
	if sameShape(d.Shape, shape) {
		return d
	}
	out := tensor.New(d.DType, shape)
	tensor.Gather(out, d, shape, broadcastStrides(d.Shape, shape), 0)
	return out
}

// broadcastStrides are the strides with which a tensor of shape s is read as
// one of shape out: 0 along broadcast dimensions.
func broadcastStrides(s, out []int) []int {
	st := tensor.Strides(s)
	r := make([]int, len(out))
	for i := range s {
		if s[i] != 1 {
			r[len(out)-len(s)+i] = st[i]
		}
	}
	return r
}

// constReal is the real that the one-element constant input i stands for, or
// def where the input is absent. ok is false for a value known only at run time.
func constReal(n *ir.Node, i int, def float64) (x float64, ok bool) {
	v := n.Input(i)
	switch {
	case v == nil:
		return def, true
	case v.Const == nil || v.Const.Len() != 1:
		return def, false
	case v.Type.Quant != nil:
		return ir.Dequantise(v.Const, v.Type.Quant).Float(0), true
	}
	return v.Const.Float(0), true
}

// floatsOf is the data as float64, without a copy where it is float64.
// The result must not be changed.
func floatsOf(d *tensor.Dense) []float64 {
	if s, ok := d.Data.([]float64); ok {
		return s
	}
	return d.Floats()
}

// fromFloats stores float64 results as type dt, without a copy for F64.
func fromFloats(dt tensor.DType, shape []int, v []float64) *tensor.Dense {
	if dt == tensor.F64 {
		return tensor.Of(shape, v)
	}
	return tensor.FromFloats(dt, shape, v)
}
