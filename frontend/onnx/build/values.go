// SPDX-License-Identifier: Apache-2.0

package build

import (
	"slices"
	"strconv"

	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// Input is input i, or nil where it is absent.
func (n *Node) Input(i int) *ir.Value {
	if i < len(n.In) {
		return n.In[i]
	}
	return nil
}

// Need is input i, which must be there and of the given rank (-1: any).
func (n *Node) Need(i, rank int) *ir.Value {
	v := n.Input(i)
	n.Want(v != nil, "arity", "input %d is missing", i)
	n.Want(rank < 0 || v.Type.Rank() == rank, "rank", "input %d (%s) has shape %v, want rank %d", i, v, v.Type.Shape,
		rank)
	return v
}

// Arity checks the number of inputs, pads the list to most, and requires the
// inputs below need except those that optional lists.
func (n *Node) Arity(need, most int, optional ...int) {
	n.Want(len(n.In) >= need && len(n.In) <= most, "arity", "has %d inputs, want %d to %d", len(n.In), need, most)
	for i, v := range n.In[:need] {
		n.Want(v != nil || slices.Contains(optional, i), "arity", "input %d is missing", i)
	}
	for len(n.In) < most {
		n.In = append(n.In, nil)
	}
}

// Known is input i as integers; it must be known at compile time.
func (n *Node) Known(i int, what string) []int {
	v := n.Need(i, -1)
	n.WantKnown(v.Const != nil, "dynamic", v,
		"%s (input %d, %s) must be known at compile time, but is computed at run time", what, i, v)
	n.Want(v.Type.DType.IsInt() && v.Const.Len() <= 64, "dtype", "%s (input %d, %s) is of type %s, want a few integers",
		what, i, v, v.Type)
	var out []int
	for _, x := range v.Const.Int64s() {
		n.Want(x >= -1<<40 && x <= 1<<40, "shape", "%s (input %d, %s) holds %d, which is out of range", what, i, v, x)
		out = append(out, int(x))
	}
	return out
}

// Shaped fails unless a value has the shape.
func (n *Node) Shaped(v *ir.Value, what string, shape ...int) {
	n.Want(slices.Equal(shape, v.Type.Shape), "shape", "%s (%s) has shape %v, want %v", what, v, v.Type.Shape, shape)
}

// Data is a constant.
func (n *Node) Data(d *tensor.Dense) *ir.Value {
	n.count++
	return n.Constant(".const"+strconv.Itoa(n.count), d)
}

// Ints is a list of integers.
func (n *Node) Ints(v ...int) *ir.Value { return n.Data(tensor.Ints(v...)) }

// Count is the integers 0, 1, ... as a tensor of a shape.
func Count[T int32 | int64](shape ...int) *tensor.Dense {
	v := lists.Make(tensor.Count(shape), func(i int) T { return T(i) })
	return tensor.Of(shape, v)
}

// Num is a scalar of the element type of a value.
func (n *Node) Num(like *ir.Value, x float64) *ir.Value { return n.Data(FloatLike(like, x)) }

// Vector is a list of floats.
func (n *Node) Vector(v []float32) *ir.Value {
	return n.Data(tensor.Of([]int{len(v)}, slices.Clone(v)))
}

// FloatLike is a scalar constant of the element type of a value.
func FloatLike(v *ir.Value, x float64) *tensor.Dense {
	return tensor.FromFloats(v.Type.DType, nil, []float64{x})
}

// Ints64 is a list of integers as a tensor.
func Ints64(v []int64) *tensor.Dense { return tensor.Of([]int{len(v)}, append([]int64{}, v...)) }

// Reshape gives a value another shape of as many elements.
func (n *Node) Reshape(v *ir.Value, shape ...int) *ir.Value {
	n.Want(tensor.Count(shape) == v.Type.Elems(), "shape", "%s has shape %v, want as many elements as %v has", v,
		v.Type.Shape, shape)
	return n.Do("Reshape", ir.Attrs{"allowzero": ir.Int(1)}, v, n.Ints(shape...))
}

// Transpose permutes the dimensions.
func (n *Node) Transpose(v *ir.Value, perm ...int) *ir.Value {
	return n.Do("Transpose", ir.Attrs{"perm": ir.Ints(perm...)}, v)
}

// Cut is every step-th of the part [from, to) of one dimension.
func (n *Node) Cut(v *ir.Value, axis, from, to, step int) *ir.Value {
	return n.Do("Slice", nil, v, n.Ints(from), n.Ints(to), n.Ints(axis), n.Ints(step))
}

// Concat joins values along a dimension.
func (n *Node) Concat(axis int, v ...*ir.Value) *ir.Value {
	return n.Do("Concat", ir.Attrs{"axis": ir.Int(axis)}, v...)
}

// Stack joins values of one shape along a new first dimension.
func (n *Node) Stack(vs []*ir.Value) *ir.Value {
	parts := lists.Map(vs, func(v *ir.Value) *ir.Value { return n.Reshape(v, append([]int{1}, v.Type.Shape...)...) })
	return n.Concat(0, parts...)
}

// Cast converts the element type.
func (n *Node) Cast(v *ir.Value, d tensor.DType) *ir.Value {
	if v.Type.DType == d {
		return v
	}
	return n.Do("Cast", To(d), v)
}

// To are the attributes of Cast.
func To(d tensor.DType) ir.Attrs { return ir.Attrs{"to": ir.Int(d.ONNXCode())} }

// MaxSequences bounds the lengths of all sequences of a model together: every
// operator on one makes another.
const MaxSequences = 1 << 20

// Give makes a sequence the node's first output.
func (n *Node) Give(s Sequence) []*ir.Value {
	n.sequenced += len(s)
	n.Want(n.sequenced <= MaxSequences, "sequence", "the sequences of the model hold more than %d tensors together",
		MaxSequences)
	n.OutSeq = &s
	return nil
}

// Take removes an attribute that a rule has dealt with.
func (n *Node) Take(name string) (ir.Attr, bool) {
	a, ok := n.Attrs[name]
	delete(n.Attrs, name)
	return a, ok
}

// taken is Take of an attribute that must be of a kind, if it is there.
func (n *Node) taken(name string, k ir.AttrKind, want string) (ir.Attr, bool) {
	a, ok := n.Take(name)
	n.Want(!ok || a.Kind == k, "attr-kind", "attribute %s has the wrong type, want %s", model.Quote(name), want)
	return a, ok
}

// Int takes an integer.
func (n *Node) Int(name string, def int) int {
	a, ok := n.taken(name, ir.AttrInt, "an integer")
	if !ok {
		return def
	}
	n.Want(a.Int >= -1<<31 && a.Int < 1<<31, "attr-value", "attribute %s is %d, which is out of range", name, a.Int)
	return int(a.Int)
}

// Bool takes an integer that is 0 or not.
func (n *Node) Bool(name string, def bool) bool {
	if a, ok := n.taken(name, ir.AttrInt, "an integer"); ok {
		return a.Int != 0
	}
	return def
}

// Float takes a number.
func (n *Node) Float(name string, def float32) float64 {
	if a, ok := n.taken(name, ir.AttrFloat, "a float"); ok {
		def = a.Float
	}
	return float64(def)
}

// Str takes a text, one of allowed where there are such.
func (n *Node) Str(name, def string, allowed ...string) string {
	v := def
	if a, ok := n.taken(name, ir.AttrString, "a string"); ok {
		v = a.String
	}
	for _, a := range allowed {
		if v == a {
			return v
		}
	}
	n.Want(len(allowed) == 0, "attr-value", "attribute %s is %q, want one of %q", name, v, allowed)
	return v
}

// IntList takes a list of integers; nil where it is absent.
func (n *Node) IntList(name string) []int64 {
	a, ok := n.taken(name, ir.AttrInts, "a list of integers")
	if !ok {
		return nil
	}
	return append([]int64{}, a.Ints...)
}

// FloatList takes a list of floats; nil where it is absent.
func (n *Node) FloatList(name string) []float32 {
	a, ok := n.taken(name, ir.AttrFloats, "a list of floats")
	if !ok {
		return nil
	}
	return append([]float32{}, a.Floats...)
}

// Names takes a list of texts; nil where it is absent.
func (n *Node) Names(name string) []string {
	a, _ := n.taken(name, ir.AttrStrings, "a list of texts")
	return a.Strings
}

// DType takes the number of an element type; absent or 0 it is def.
func (n *Node) DType(name string, def tensor.DType) tensor.DType {
	code := n.Int(name, 0)
	if code == 0 {
		return def
	}
	d, ok := tensor.FromONNX(code)
	n.Want(ok, "dtype", "attribute %s is %d, which is not a supported type", name, code)
	return d
}
