// SPDX-License-Identifier: Apache-2.0

package ir

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// Pattern is the kind of an operator for fusion: which of its neighbours its loop can include.
type Pattern uint8

// From the most to the least fusable.
const (
	Elementwise Pattern = iota // every output element from the same element of each input
	Broadcast                  // like Elementwise with broadcast inputs
	Injective                  // every output element from one input element: data movement
	Reduce                     // commutative reduction
	OutFusable                 // convolution-like: element-wise operators join its store loop
	Opaque                     // never fused
)

// QuantKind says how an operator computes on quantised values.
type QuantKind uint8

const (
	// QFloat is clamp(round_half_away(f(dequantised input in float64)/s)+zp);
	// Eval is run in float64 when there is no EvalQ. Curved functions of one
	// int16 value are interpolated (see InterpolatedLUT).
	QFloat QuantKind = iota
	// QMove copies the integers unchanged, so that inputs that carry
	// data and outputs must share one quantisation; Eval runs on the integers.
	QMove
	// QInt operators have an EvalQ that is a kernel's exact integer arithmetic.
	QInt
	// QNone operators never compute on quantised values (shape operators, Q/DQ).
	QNone
)

// View says how the results of an operator hold bytes of its inputs: code that
// follows values through storage asks this, and has no list of operators. A
// kernel row may lower an operator without code only where it says so.
type View uint8

const (
	// NoView results are new bytes (Identity is a copy).
	NoView View = iota
	// Reshaped results are all bytes of input 0 in logical order, under another shape.
	Reshaped
	// Permuted results are the same elements, their dimensions or memory order exchanged.
	Permuted
	// Recast results are the same bytes and shape, another element type.
	Recast
	// Partial results are parts of input 0, or inputs are parts of the result.
	Partial
)

// Whole reports that output 0 may be all of the bytes of input 0.
func (v View) Whole() bool { return v == Reshaped || v == Permuted || v == Recast }

// Window says that an operator computes over windows of the dimensions behind
// batch and channels of input 0, [N, C, ...].
type Window uint8

const (
	// NoWindow says that there are none.
	NoWindow Window = iota
	// Convolved windows give sums of products with weights.
	Convolved
	// Pooled windows have the size that kernel_shape gives, and give one number each.
	Pooled
	// PooledWhole is one number for each channel.
	PooledWhole
)

// Pools reports windows that stay within their channel, one result each (op.PoolGeometry).
func (w Window) Pools() bool { return w == Pooled || w == PooledWhole }

// Spread says where the results of an operator lie that computes each of them
// from several elements, before an absorbed activation.
type Spread uint8

const (
	// AnySpread is anywhere.
	AnySpread Spread = iota
	// Selects says that a result is one of the elements from which it is computed.
	Selects
	// Averages says that a result lies between the least and the greatest of them.
	Averages
)

// OpDef is everything the compiler knows about an operator's meaning. How it
// becomes C is a row in lower/kernel.
type OpDef struct {
	Name   string // as in ONNX
	Domain string // "" is ai.onnx; "nncc" is ours
	Doc    string // one line for `nncc ops`
	Attrs  []AttrSpec
	MinIn  int // inputs that must be present; later ones may be absent (nil)
	MaxIn  int // -1: variadic
	MinOut int // outputs always produced
	MaxOut int // -1: variadic (Node.Out's length decides)

	// Infer gives the output types (DType and Shape) from the input types,
	// constant inputs and attributes. It is the only shape code of the operator.
	Infer func(n *Node) ([]Type, error)
	// Eval is the reference evaluation in the ONNX meaning for the dtypes of
	// the inputs; absent inputs are nil. It must not change its inputs.
	Eval func(n *Node, in []*tensor.Dense) ([]*tensor.Dense, error)
	// EvalQ is the exact integer evaluation; types of inputs and outputs are
	// those of the node's values.
	EvalQ func(n *Node, in []*tensor.Dense) ([]*tensor.Dense, error)

	// Limits are the ranges of integer inputs that say where in a tensor something lies, or how much
	// of it there is. Types are inferred when it is asked. What it says is checked by EvalNode, of
	// constants by InferNode, and in front of kernels in emitted code: Eval need not.
	Limits func(n *Node) []Limit

	Pattern Pattern
	Quant   QuantKind
	// Exact operators are defined by their integer arithmetic: quantised models have
	// them with every operand and result quantised, or not at all.
	Exact bool
	// Coded operators read and give integers as they are; what those stand for is what the
	// reader says, a DequantizeLinear with any scale.
	Coded bool
	// View says how results may lie in the storage of inputs.
	View View
	// Planned operators stand where plans of the arena have rows or planes change places:
	// no node of a model becomes one, and none is what an accelerator lacks.
	Planned bool
	// DataIn are the inputs that carry the quantised data when QMove
	// (nil: input 0 only; AllInputs for Concat and the like).
	DataIn []int
	// Fill is the input (0: none) that a QMove operator puts beside its data
	// where there are none: one real number, which the quantisation of the data
	// need not hold.
	Fill int
	// Scalar is the float64 function of an element-wise unary operator.
	Scalar func(n *Node, x float64) float64
	// C says how C computes one element of an element-wise operator of one
	// input. Of it derive the float32 kernel, loops in other types, and the part
	// in loops of several operators.
	C func(n *Node) CForm
	// Pair says the same of operators of broadcast operands: how two elements a and
	// b become one, and with the next operand, where there are more. Without an
	// exact form, integers have none.
	Pair func(n *Node) CForm
	// Fold is the form of a reduction; nil where it needs more than one number.
	Fold *Fold
	// WeightAxis, of operators that add up products of inputs 0 and 1 (weights,
	// where it is constant) and a bias, input 2, is the dimension of input 1 that
	// counts output channels. Quantised weights may have a scale for each of them.
	WeightAxis func(n *Node) int
	Window     Window
	Spread     Spread
	// Lanes marks what computes along the dimension that the attribute axis names,
	// alike for each index of the others, and keeps the shape.
	Lanes bool
	// Neutral: with this number as the second operand, the result is the first.
	Neutral *float64
	// Commutes: the operands can change places.
	Commutes bool
	// ZerosNeutral marks reductions that zeros do not change.
	ZerosNeutral bool
	// DataSized results are as large as the data say; nncc keeps room for the most
	// there can be.
	DataSized bool
	// Monotone results grow, or fall, with each operand while the others stay: over
	// intervals, the extremes lie at the corners.
	Monotone bool
	// Homogeneous: k times input 0 gives k times the result, for every k > 0.
	Homogeneous bool
	// OutQuant are the quantisations of the result that do not depend on data, by
	// element type: those of TFLite, for the function's own range.
	OutQuant map[tensor.DType]*Quant
	// Straight marks a Scalar that is a straight line below 0 and one above it,
	// apart from limits: exact on int16 values, where other functions are
	// interpolated (see InterpolatedLUT).
	Straight bool
	// Slopes are the factors of the two operands whose weighted sum an
	// element-wise operator is, or compares with 0; nil: it is something else.
	Slopes []float64
	// Boundary operators convert between reals and the integers that hold them, or say what integers mean.
	Boundary bool
	// Converts marks identities on reals that change how these are held: the
	// element type, or the quantisation.
	Converts bool
	// Finite operators give finite results for finite operands; sums may overflow.
	Finite bool
	// NonNegative results are never below 0, whatever the attributes.
	NonNegative bool
	// Spectral results spread over more orders of magnitude than integers with one
	// scale hold: the program keeps them real until an operator Compresses them, a
	// logarithm or a root.
	Spectral, Compresses bool
	// Activation marks what follows a layer in networks: converters that
	// quantise "activations" mean these.
	Activation bool
	// QError is how far EvalQ may be from the exact results, in steps of the
	// output, beyond what rounding operands and results gives; nil: not at all.
	// Infinite: there is no bound, since errors add up within the node.
	QError func(n *Node) float64
	// MACs of one evaluation; nil counts none.
	MACs func(n *Node) int64
	// Work is what one reference evaluation takes, in multiplications or
	// comparisons, where that is neither MACs nor in proportion to its operands and
	// results. Callers check it before they evaluate: see the function Work.
	Work func(n *Node) int64
	// Impure operators (random generators) are never folded.
	Impure bool
	// Along says how parts of the result along one of its axes come from parts of inputs, where
	// that follows neither from Pattern nor from Lanes; nil: they do not. Ask Node.Along.
	Along func(n *Node, axis int) Along
}

// Along says of an axis of a result that it falls into equal parts, each of which comes
// from a part of some inputs: Parts of them, or any number that divides it; 0: it does not. In are the
// axes of the inputs that fall into as many; Whole: every part needs all of it.
type Along struct {
	Parts int
	In    []int
}

// Whole is no axis: all of an input is read.
const Whole = -1

// Along asks how n can be computed part by part along an axis of its only result.
func (n *Node) Along(axis int) Along {
	d, shape := n.Op, n.Out[0].Type.Shape
	switch {
	case len(n.Out) != 1 || len(n.Body) > 0 || d.Impure || slices.ContainsFunc(n.In, perAxis):
		return Along{}
	case d.Along != nil:
		return d.Along(n, axis)
	case d.View == Reshaped:
		return n.reshaped(axis)
	case d.Lanes:
		if lane := AttrsOf[struct{ Axis int }](n).Axis; lane == axis || lane+len(shape) == axis {
			return Along{}
		}
	case d.Pattern > Broadcast || d.Declares("axis") && slices.ContainsFunc(n.In[1:], several):
		return Along{}
	}
	return n.Aligned(axis)
}

// Aligned is Along of what broadcasts its operands.
func (n *Node) Aligned(axis int) Along {
	shape := n.Out[0].Type.Shape
	a := Along{Parts: shape[axis]}
	for _, v := range n.In {
		at := AxisOf(v, len(shape), axis)
		if at >= 0 && v.Type.Shape[at] != shape[axis] {
			return Along{}
		}
		a.In = append(a.In, at)
	}
	return a
}

// reshaped is Along of a result that has the elements of input 0 in their order.
func (n *Node) reshaped(axis int) Along {
	x, y := n.In[0].Type.Shape, n.Out[0].Type.Shape
	a, outside := Along{In: slices.Repeat([]int{Whole}, len(n.In))}, tensor.Count(y[:axis])
	for i, size := range x {
		if y[axis] > 1 && size > 1 && tensor.Count(x[:i]) == outside {
			a.In[0], a.Parts = i, lists.GCD(size, y[axis])
		}
	}
	return a
}

// AxisOf is the axis of an operand that meets an axis of a result of some rank when it is broadcast; Whole: none does.
func AxisOf(v *Value, rank, axis int) int {
	if v == nil || axis < rank-v.Type.Rank() || v.Type.Shape[axis-rank+v.Type.Rank()] == 1 {
		return Whole
	}
	return axis - rank + v.Type.Rank()
}

func several(v *Value) bool { return v != nil && v.Type.Elems() != 1 }

// perAxis reports data of the run time that has several scales.
func perAxis(v *Value) bool { return v != nil && v.Const == nil && v.Type.Quant.PerAxis() }

// AllInputs in DataIn marks every input as carrying data.
var AllInputs = []int{-1}

// Copies reports an operator whose output 0 is input 0, element by element.
func (d *OpDef) Copies() bool { return d.Pattern == Elementwise && d.Quant == QMove }

// Declares reports that an attribute is declared.
func (d *OpDef) Declares(attr string) bool {
	return slices.ContainsFunc(d.Attrs, func(a AttrSpec) bool { return a.Name == attr })
}

// DataInputs are the indices of the inputs that carry quantised data.
func (d *OpDef) DataInputs(n *Node) []int {
	if d.DataIn == nil {
		return []int{0}
	}
	if len(d.DataIn) == 1 && d.DataIn[0] == -1 {
		return Identity(len(n.In))
	}
	return d.DataIn
}

// Diag is an error about a model that a user can act on.
type Diag = diag.Diag

// Dynamicf is a Diag about node n, whose input v would have to be known at compile
// time.
func Dynamicf(n *Node, v *Value, format string, args ...any) *Diag {
	d := Errf(n, "dynamic", format, args...)
	d.Tensor = v.Name
	return d
}

// Errf is a Diag about node n.
func Errf(n *Node, code, format string, args ...any) *Diag {
	return &Diag{Code: code, Node: n.String(), Msg: fmt.Sprintf(format, args...)}
}

// CForm is an element-wise function as C expressions, one for each class of
// arithmetic: of x, or of the operands a and b. An attribute of the node is in braces:
// "x < 0.0 ? {alpha} * x : x". Functions of <math.h>, and those of the runtime
// that end in _f64, may be called.
type CForm struct {
	// F64 computes in double: elements of every type but float32, and integers
	// where no exact form follows.
	F64 string
	// F32 computes in float; "": F64 with the literals and functions of float, which
	// must not overflow in between where F64 does not.
	F32 string
	// I64 and U64 are exact on int64_t and uint64_t.
	I64, U64 string
}

// Fold is a reduction in C: what it starts with, how the element b joins what there
// is so far, a, and what becomes of a at the end. Starts without bounds are the
// extremes of the element type; averages are divided by the number of elements.
type Fold struct {
	Start        float64
	Step, Finish CForm
}

// Fixed is an OpDef.C that does not depend on the node.
func (c CForm) Fixed() func(*Node) CForm { return func(*Node) CForm { return c } }

// Limit is the range of an integer input whose elements say where in a tensor something lies,
// or how much of it there is: indices, coordinates, lengths, counts.
type Limit struct {
	Input int
	What  string // what an element is, in the singular: "index", "sequence length"
	// Least and Most are the ends, both within: one pair for all elements, or one for each index of
	// the last dimension.
	Least, Most []int
}

// Indices are the limits of input i as indices into dimensions of these sizes, where negative ones
// count from the end: one size for all elements, or one for each index of the last dimension.
func Indices(i int, sizes ...int) Limit {
	l := Limit{Input: i, What: "index", Least: make([]int, len(sizes)), Most: make([]int, len(sizes))}
	for k, n := range sizes {
		l.Least[k], l.Most[k] = -n, n-1
	}
	return l
}

// Counts are the limits of input i as indices, lengths or counts from 0 to most.
func Counts(i int, what string, most int) Limit {
	return Limit{Input: i, What: what, Least: []int{0}, Most: []int{most}}
}

// LimitsOf are the limits of a node's inputs that are there, nil where it has no elements to compute.
func LimitsOf(n *Node) []Limit {
	if n.Op.Limits == nil {
		return nil
	}
	elems := 0
	for _, v := range n.Out {
		if v != nil {
			elems += v.Type.Elems()
		}
	}
	if elems == 0 {
		return nil
	}
	return lists.Filter(n.Op.Limits(n), func(l Limit) bool { return n.Input(l.Input) != nil })
}

// check is an error about the first element of d, input l.Input of n, that lies outside.
func (l Limit) check(n *Node, d *tensor.Dense) error {
	for i, count := 0, d.Len(); i < count; i++ {
		k := i % len(l.Least)
		if v := d.Int(i); v < int64(l.Least[k]) || v > int64(l.Most[k]) {
			e := Errf(n, "index", "%s %d is out of range: element %v of input %d (%s)", l.What, v,
				unravel(i, d.Shape), l.Input, n.In[l.Input])
			e.Want, e.Tensor = fmt.Sprintf("%d to %d", l.Least[k], l.Most[k]), n.In[l.Input].Name
			return e
		}
	}
	return nil
}

// unravel is element i of a tensor as coordinates.
func unravel(i int, shape []int) []int {
	at := make([]int, len(shape))
	for k, s := range tensor.Strides(shape) {
		at[k] = i / s % shape[k]
	}
	return at
}

// checkLimits holds the inputs of a node that are there, constants or given, against their limits.
func checkLimits(n *Node, limits []Limit, in func(i int) *tensor.Dense) error {
	for _, l := range limits {
		if d := in(l.Input); d != nil {
			if err := l.check(n, d); err != nil {
				return err
			}
		}
	}
	return nil
}
