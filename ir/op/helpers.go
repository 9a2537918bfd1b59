// SPDX-License-Identifier: Apache-2.0

// Package op defines the operators: one ir.OpDef each, grouped in files by
// family. A definition is semantics only (types, reference evaluation, fusion
// and quantisation kind); how an operator becomes C is in lower/kernel.
package op

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/tensor"
)

// Act are the bounds of an activation absorbed into an operator, in real
// units and for float and quantised nodes alike: the result is clamped to
// [ActMin, ActMax] (either may be absent). Quantised kernels derive their integer
// clamp with ActRange. They have no counterpart in ONNX; export writes a Clip
// behind the node.
type Act struct {
	ActMin *float32
	ActMax *float32
}

// ActBounds are the absorbed activation's bounds, infinite where absent.
func ActBounds(n *ir.Node) (lo, hi float64) {
	lo, hi = negInf, posInf
	a := ir.AttrsOf[Act](n)
	if a.ActMin != nil {
		lo = float64(*a.ActMin)
	}
	if a.ActMax != nil {
		hi = float64(*a.ActMax)
	}
	return lo, hi
}

// HasAct reports an absorbed activation.
func HasAct(n *ir.Node) bool {
	a := ir.AttrsOf[Act](n)
	return a.ActMin != nil || a.ActMax != nil
}

// ClampAct applies the absorbed activation to a float tensor in place.
func ClampAct(n *ir.Node, d *tensor.Dense) *tensor.Dense {
	if !HasAct(n) {
		return d
	}
	lo, hi := ActBounds(n)
	switch s := d.Data.(type) {
	case []float32:
		l, h := float32(lo), float32(hi)
		for i, v := range s {
			s[i] = min(max(v, l), h)
		}
	default:
		for i, k := 0, d.Len(); i < k; i++ {
			d.SetFloat(i, min(max(d.Float(i), lo), hi))
		}
	}
	return d
}

// AxisOf is the attribute axis of n, of an operand of that rank, counted from the front.
func AxisOf(n *ir.Node, rank int) int {
	axis := ir.AttrsOf[AxisAttr](n).Axis
	if axis < 0 {
		axis += rank
	}
	return axis
}

// Axis normalises a possibly negative axis of a value of the given rank.
func Axis(n *ir.Node, axis, rank int) (_ int, err error) {
	defer fail.Catch(&err)
	refuse(n, axis < -rank || axis >= rank, "axis", "axis %d is out of range for rank %d", axis, rank)
	if axis < 0 {
		axis += rank
	}
	return axis, nil
}

// Broadcast is the NumPy broadcast of shapes.
func Broadcast(n *ir.Node, shapes ...[]int) ([]int, error) {
	rank := 0
	for _, s := range shapes {
		rank = max(rank, len(s))
	}
	out := slices.Repeat([]int{1}, rank)
	for _, s := range shapes {
		for i, d := range s {
			o := rank - len(s) + i
			switch {
			case out[o] == d || d == 1:
			case out[o] == 1:
				out[o] = d
			default:
				return nil, ir.Errf(n, "broadcast", "shapes %v do not broadcast: dimension %d is %d and %d", shapes, o,
					out[o], d)
			}
		}
	}
	return out, nil
}

// ConstInts is input i as integers when it is constant; what names it in the
// error for one that is only known at run time.
func ConstInts(n *ir.Node, i int, what string) ([]int, error) {
	v := n.Input(i)
	if v == nil {
		return nil, nil
	}
	if v.Const == nil {
		return nil, ir.Dynamicf(n, v, "%s (input %d, %s) must be known at compile time, but is computed at run "+
			"time", what, i, v)
	}
	x := v.Const.Int64s()
	out := make([]int, len(x))
	for k, e := range x {
		if e > 1<<40 {
			e = 1 << 40 // "to the end" markers such as MaxInt64
		} else if e < -1<<40 {
			e = -1 << 40
		}
		out[k] = int(e)
	}
	return out, nil
}

// refuse ends the inference or the evaluation of n where bad holds.
func refuse(n *ir.Node, bad bool, code, format string, args ...any) {
	if bad {
		fail.Check(ir.Errf(n, code, format, args...))
	}
}

// wantWord refuses the value of an attribute that is none of the words.
func wantWord(n *ir.Node, name, value string, words ...string) {
	last := len(words) - 1
	refuse(n, !oneOf(value, words...), "mode", "%s is %q, want %s or %s", name, value,
		strings.Join(words[:last], ", "), words[last])
}

// wantElems refuses a shape with too many elements; what goes before the words.
func wantElems(n *ir.Node, what string, shape []int) {
	_, err := tensor.Elems(shape)
	refuse(n, err != nil, "shape", "%s%v", what, err)
}

// wantVectors checks that the inputs behind the first are vectors of that size, which "of" names.
func wantVectors(n *ir.Node, size int, of string, names ...string) {
	for i, what := range names {
		v := n.In[i+1]
		refuse(n, !sameShape(v.Type.Shape, []int{size}), "shape", "%s (input %d, %s) has shape %v, want [%d], %s of %v",
			what, i+1, v, v.Type.Shape, size, of, n.In[0].Type.Shape)
	}
}

func one(t ir.Type) ([]ir.Type, error) { return []ir.Type{t}, nil }

func outs(d ...*tensor.Dense) ([]*tensor.Dense, error) { return d, nil }

func wantRank(n *ir.Node, i, rank int) {
	r := n.In[i].Type.Rank()
	refuse(n, r != rank, "rank", "input %d (%s) has shape %v, want rank %d", i, n.In[i], n.In[i].Type.Shape, rank)
}

func sameShape(a, b []int) bool { return slices.Equal(a, b) }

var negInf, posInf = math.Inf(-1), math.Inf(1)

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
func wantType(n *ir.Node, i int, s typeSet) {
	t := n.In[i].Type
	refuse(n, t.Quant == nil && !s.has(t.DType), "dtype", "input %d (%s) is of type %s, want %s", i, n.In[i], t.DType,
		s.want)
}

// quantIn reports whether any input is quantised: then inputs may differ in
// element type, since all of them stand for reals.
func quantIn(n *ir.Node) bool {
	return slices.ContainsFunc(n.In, func(v *ir.Value) bool { return v != nil && v.Type.Quant != nil })
}

// wantSameTypes checks that all given inputs that are present have one type.
func wantSameTypes(n *ir.Node, idx ...int) {
	if quantIn(n) {
		return
	}
	first := -1
	for _, i := range idx {
		if n.Input(i) == nil {
			continue
		}
		if first < 0 {
			first = i
		}
		a, b := n.In[first].Type.DType, n.In[i].Type.DType
		refuse(n, a != b, "dtype", "input %d (%s) is of type %s, input %d (%s) of type %s; want the same type", first,
			n.In[first], a, i, n.In[i], b)
	}
}

// like is the type of input 0 without memory order and quantisation: the
// inferred type of operators that keep shape and element type.
func like(n *ir.Node) ir.Type { return ir.T(n.In[0].Type.DType, n.In[0].Type.Shape...) }

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

type key struct{ domain, name string }

var set = map[key]*ir.OpDef{}

// def registers an operator while package variables are initialised. A
// definition's functions must not name their own variable (Go reports an
// initialisation cycle): use Get inside this package.
func def(d ir.OpDef) *ir.OpDef {
	k := key{d.Domain, d.Name}
	bug.If(set[k] != nil, "operator %s is defined twice", d.Name)
	if d.MaxIn == 0 && d.MinIn > 0 {
		d.MaxIn = d.MinIn
	}
	if d.MinOut == 0 {
		d.MinOut = 1
	}
	if d.MaxOut == 0 {
		d.MaxOut = d.MinOut
	}
	d.Infer, d.Eval, d.EvalQ = infers(d.Infer), evaluates(d.Eval), evaluates(d.EvalQ)
	d.MACs, d.Work, d.QError, d.Limits = orNone(d.MACs), orNone(d.Work), orNone(d.QError), orNone(d.Limits)
	p := &d
	set[k] = p
	return p
}

// infers and evaluates return what ends a definition's functions by way of fail as their error.
func infers(f func(*ir.Node) ([]ir.Type, error)) func(*ir.Node) ([]ir.Type, error) {
	if f == nil {
		return nil
	}
	return func(n *ir.Node) (_ []ir.Type, err error) {
		defer fail.Catch(&err)
		return f(n)
	}
}

func evaluates(f evalFunc) evalFunc {
	if f == nil {
		return nil
	}
	return func(n *ir.Node, in []*tensor.Dense) (_ []*tensor.Dense, err error) {
		defer fail.Catch(&err)
		return f(n, in)
	}
}

// orNone is f, and zero for a node that it ends for.
func orNone[T any](f func(*ir.Node) T) func(*ir.Node) T {
	if f == nil {
		return nil
	}
	return func(n *ir.Node) (v T) {
		defer fail.Catch(new(error))
		return f(n)
	}
}

type evalFunc = func(*ir.Node, []*tensor.Dense) ([]*tensor.Dense, error)

// Get is the operator of a domain ("" is ai.onnx), or nil.
func Get(domain, name string) *ir.OpDef {
	if domain == "ai.onnx" {
		domain = ""
	}
	return set[key{domain, name}]
}

// All lists every operator by domain and name.
func All() []*ir.OpDef {
	return slices.SortedFunc(maps.Values(set), func(a, b *ir.OpDef) int {
		return cmp.Or(cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.Name, b.Name))
	})
}

// Attributes that several operators have, each with a default of its own, for
// who reads one of them on any of these operators (ir.AttrsOf).
type (
	// AlphaAttr is the attribute alpha.
	AlphaAttr struct{ Alpha float32 }
	// AutoPadAttr is the attribute auto_pad.
	AutoPadAttr struct{ AutoPad string }
	// AxesAttr is the attribute axes.
	AxesAttr struct{ Axes []int }
	// AxisAttr is the attribute axis.
	AxisAttr struct{ Axis int }
	// BetaAttr is the attribute beta.
	BetaAttr struct{ Beta float32 }
	// BiasAttr is the attribute bias.
	BiasAttr struct{ Bias float32 }
	// BlocksizeAttr is the attribute blocksize.
	BlocksizeAttr struct{ Blocksize int }
	// CoordinateTransformationModeAttr is the attribute coordinate_transformation_mode.
	CoordinateTransformationModeAttr struct{ CoordinateTransformationMode string }
	// DilationsAttr is the attribute dilations.
	DilationsAttr struct{ Dilations []int }
	// DirectionAttr is the attribute direction.
	DirectionAttr struct{ Direction string }
	// EpsilonAttr is the attribute epsilon.
	EpsilonAttr struct{ Epsilon float32 }
	// GroupAttr is the attribute group.
	GroupAttr struct{ Group int }
	// KeepdimsAttr is the attribute keepdims.
	KeepdimsAttr struct{ Keepdims int }
	// KernelShapeAttr is the attribute kernel_shape.
	KernelShapeAttr struct{ KernelShape []int }
	// ModeAttr is the attribute mode.
	ModeAttr struct{ Mode string }
	// PAttr is the attribute p.
	PAttr struct{ P int }
	// PadsAttr is the attribute pads.
	PadsAttr struct{ Pads []int }
	// ReductionAttr is the attribute reduction.
	ReductionAttr struct{ Reduction string }
	// SortedAttr is the attribute sorted.
	SortedAttr struct{ Sorted int }
	// StashTypeAttr is the attribute stash_type.
	StashTypeAttr struct{ StashType int }
	// StridesAttr is the attribute strides.
	StridesAttr struct{ Strides []int }
	// ToAttr is the attribute to.
	ToAttr struct{ To int }
	// ValueAttr is the attribute value.
	ValueAttr struct{ Value *tensor.Dense }
)

// roundingAttr marks nodes whose kernel requantises with one rounding.
const roundingAttr = "single_rounding"

// Rounding is how the kernel that computes an int8 node requantises: as
// TensorFlow Lite does, unless SetRounding says that it is a kernel of a
// CMSIS-NN that was built with CMSIS_NN_USE_SINGLE_ROUNDING.
func Rounding(n *ir.Node) fixp.Rounding {
	if _, single := n.Attrs[roundingAttr]; single {
		return fixp.SingleRounding
	}
	return fixp.DoubleRounding
}

// SetRounding makes the reference evaluation of a node round as its kernel
// does. It has no counterpart in ONNX.
func SetRounding(n *ir.Node, r fixp.Rounding) {
	if r == fixp.SingleRounding {
		n.SetAttr(roundingAttr, ir.Int(1))
	} else {
		n.DropAttr(roundingAttr)
	}
}
