// SPDX-License-Identifier: Apache-2.0

package expand

import (
	"math"
	mathbits "math/bits"
	"slices"
	"strings"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// qonnxDomains are those under which exporters write the operators of QONNX
// (Brevitas, HAWQ, QKeras; documentation of the qonnx package).
var qonnxDomains = []string{"qonnx.custom_op.general", "finn.custom_op.general", "onnx.brevitas"}

// qonnx are operators that quantise and dequantise in one, on any number of bits. They
// become QuantizeLinear, Clip to the bits' range, and DequantizeLinear.
var qonnx = map[string]build.Rule{"Quant": qonnxQuant, "IntQuant": qonnxQuant, "BipolarQuant": bipolarQuant,
	"MultiThreshold": multiThreshold}

// lastDomain has operators of the standard's names on images whose channels come last.
const lastDomain = "qonnx.custom_op.channels_last"

// onLast is the standard's operator on them: operand 0 is an image, and constant weights are like one.
func onLast(e *build.Node) []*ir.Value {
	x := e.Need(0, -1)
	rank := x.Type.Rank()
	e.Want(rank >= 3, "rank", "input 0 (%s) has shape %v, want an image with its channels last", x, x.Type.Shape)
	in := slices.Clone(e.In)
	in[0] = channelsFirst(e, x)
	if op.Get("", e.Op).WeightAxis != nil {
		in[1] = channelsFirst(e, e.Need(1, rank))
	}
	return []*ir.Value{channelsLast(e, e.Do(e.Op, e.Attrs, in...))}
}

// grid are the values that a quantisation has: from lo to hi times a scale, as seen
// from a zero point, scale and zero point along one axis or the same for all.
type grid struct {
	lo, hi  float64
	axis    int // of more than one scale
	scale   []float64
	zero    []float64
	storage tensor.DType
}

// qonnxQuant: x, scale, zero point, bits.
//
//	y = (clip(round(x/scale + zero), lo, hi) - zero) * scale
func qonnxQuant(e *build.Node) []*ir.Value {
	e.Arity(4, 4)
	signed, narrow := e.Bool("signed", true), e.Bool("narrow", false)
	mode := e.Str("rounding_mode", "ROUND", "ROUND", "HALF_EVEN", "CEIL", "FLOOR", "UP", "DOWN", "ROUND_TO_ZERO",
		"HALF_UP", "HALF_DOWN")
	bits := qonnxNumbers(e, 3, "number of bits")
	e.Want(len(bits) == 1 && bits[0] == math.Trunc(bits[0]) && bits[0] >= 1 && bits[0] <= 32, "qonnx-bits",
		"input 3 says %v bits, want one whole number from 1 to 32", bits)
	g := grid{axis: -1, scale: qonnxNumbers(e, 1, "scale"), zero: qonnxNumbers(e, 2, "zero point")}
	g.lo, g.hi = qonnxRange(bits[0], signed, narrow)
	if x := e.In[0]; x.Const != nil && x.Const.DType.IsFloat() {
		return qonnxConstant(e, &g, mode)
	}
	e.CheckScale(1, nil)
	g.axis = qonnxAxis(e, 1, g.axis)
	g.axis = qonnxAxis(e, 2, g.axis)
	g.store(e)
	odd := slices.ContainsFunc(g.zero, func(z float64) bool { return math.Mod(z, 2) != 0 })
	if (mode == "ROUND" || mode == "HALF_EVEN") && !odd {
		return e.Result("Identity", nil, g.quantised(e, e.In[0]))
	}
	// QuantizeLinear rounds to even before it adds the zero point. Another rounding is
	// computed on reals; what it gives lies on the grid, and is quantised without another
	// change.
	s, z := e.In[1], e.Cast(e.In[2], e.In[1].Type.DType)
	q := e.Do("Add", nil, e.Do("Div", nil, e.In[0], s), z)
	q = e.Do("Clip", nil, q, e.Num(q, g.lo), e.Num(q, g.hi))
	q = e.Do("Mul", nil, e.Do("Sub", nil, rounded(e, mode, q), z), s)
	return e.Result("Identity", nil, g.quantised(e, q))
}

func qonnxRange(bits float64, signed, narrow bool) (lo, hi float64) {
	if signed {
		lo, hi = -math.Exp2(bits-1), math.Exp2(bits-1)-1
		if narrow {
			lo++
		}
		return lo, hi
	}
	hi = math.Exp2(bits) - 1
	if narrow {
		hi--
	}
	return 0, hi
}

func qonnxNumbers(e *build.Node, i int, what string) []float64 {
	v := e.In[i]
	e.WantKnown(v.Const != nil, "scale-dynamic", v, "the %s (input %d) must be constant (known at compile time)", what,
		i)
	return v.Const.Floats()
}

// qonnxAxis is the one axis of x along which input i has more than one element, or
// axis where it has one element.
func qonnxAxis(e *build.Node, i, axis int) int {
	shape, rank := e.In[i].Type.Shape, e.In[0].Type.Rank()
	for k, d := range shape {
		if d == 1 {
			continue
		}
		at := k + rank - len(shape)
		e.Want(at >= 0 && d == e.In[0].Type.Shape[at] && (axis < 0 || axis == at), "qonnx-axis",
			"input %d has shape %v for data of shape %v, want one number, or one for each place along one axis", i,
			shape, e.In[0].Type.Shape)
		axis = at
	}
	return axis
}

// store chooses the type of the integers. Where it has no room for the zero
// point, the reason says so.
func (g *grid) store(e *build.Node) {
	for _, z := range g.zero {
		e.Want(z == math.Trunc(z), "qonnx-zero", "the zero point %v is no integer, which QuantizeLinear wants", z)
	}
	for _, d := range []tensor.DType{tensor.I8, tensor.U8, tensor.I16, tensor.U16} {
		lo, hi := d.IntRange()
		fits := float64(lo) <= g.lo && g.hi <= float64(hi)
		for _, z := range g.zero {
			fits = fits && float64(lo) <= z && z <= float64(hi)
		}
		if fits {
			g.storage = d
			return
		}
	}
	e.Want(false, "qonnx-bits", "the integers go from %v to %v with zero points %v, want at most 16 bits for values "+
		"that are computed at run time", g.lo, g.hi, g.zero)
}

func (g *grid) params(e *build.Node) (s, z *ir.Value, attrs ir.Attrs) {
	n := max(len(g.scale), len(g.zero))
	shape := []int{n}
	if n == 1 {
		shape = nil
	} else {
		attrs = ir.Attrs{"axis": ir.Int(g.axis)}
	}
	zero, scale := tensor.New(g.storage, shape), make([]float32, n)
	for i := range n {
		scale[i] = float32(g.scale[i%len(g.scale)])
		zero.SetInt(i, int64(g.zero[i%len(g.zero)]))
	}
	return e.Data(tensor.Of(shape, scale)), e.Data(zero), attrs
}

func (g *grid) quantised(e *build.Node, x *ir.Value) *ir.Value {
	s, z, attrs := g.params(e)
	q := e.Do("QuantizeLinear", attrs.Clone(), x, s, z)
	lo, hi := g.storage.IntRange()
	if float64(lo) < g.lo || g.hi < float64(hi) {
		a, b := tensor.New(g.storage, nil), tensor.New(g.storage, nil)
		a.SetInt(0, int64(g.lo))
		b.SetInt(0, int64(g.hi))
		q = e.Do("Clip", nil, q, e.Data(a), e.Data(b))
	}
	return e.Do("DequantizeLinear", attrs, q, s, z)
}

func rounded(e *build.Node, mode string, x *ir.Value) *ir.Value {
	half := func(f string, shift float64) *ir.Value { return e.Do(f, nil, e.Do("Add", nil, x, e.Num(x, shift))) }
	switch mode {
	case "ROUND", "HALF_EVEN":
		return e.Do("Round", nil, x)
	case "CEIL":
		return e.Do("Ceil", nil, x)
	case "FLOOR":
		return e.Do("Floor", nil, x)
	case "HALF_UP": // to plus infinity
		return half("Floor", 0.5)
	case "HALF_DOWN":
		return half("Ceil", -0.5)
	}
	f := "Floor" // DOWN, ROUND_TO_ZERO
	if mode == "UP" {
		f = "Ceil"
	}
	return e.Do("Mul", nil, e.Do("Sign", nil, x), e.Do(f, nil, e.Do("Abs", nil, x)))
}

func round(mode string, x float64) float64 {
	switch mode {
	case "CEIL":
		return math.Ceil(x)
	case "FLOOR":
		return math.Floor(x)
	case "HALF_UP":
		return math.Floor(x + 0.5)
	case "HALF_DOWN":
		return math.Ceil(x - 0.5)
	case "UP":
		return math.Copysign(math.Ceil(math.Abs(x)), x)
	case "DOWN", "ROUND_TO_ZERO":
		return math.Trunc(x)
	}
	return math.RoundToEven(x)
}

// qonnxConstant quantises weights: their integers behind DequantizeLinear; reals
// where these have more than 16 bits (biases) or the scales no one axis.
func qonnxConstant(e *build.Node, g *grid, mode string) []*ir.Value {
	x := e.In[0].Const
	e.CheckScale(1, e.In[0])
	g.axis = qonnxAxis(e, 1, g.axis)
	g.axis = qonnxAxis(e, 2, g.axis)
	inner := 1
	if g.axis >= 0 {
		inner = tensor.Count(x.Shape[g.axis+1:])
	}
	place := func(i, n int) int {
		if n == 1 {
			return 0
		}
		return i / inner % n
	}
	q, reals := make([]float64, x.Len()), make([]float64, x.Len())
	for i := range q {
		s, z := float64(float32(g.scale[place(i, len(g.scale))])), g.zero[place(i, len(g.zero))]
		q[i] = z
		if s != 0 {
			q[i] = round(mode, min(max(float64(float32(x.Float(i)/s+z)), g.lo), g.hi))
		}
		reals[i] = (q[i] - z) * s
	}
	if g.hi-g.lo >= 1<<16 {
		return e.Result("Identity", nil, e.Data(tensor.FromFloats(x.DType, x.Shape, reals)))
	}
	g.store(e)
	d := tensor.New(g.storage, x.Shape)
	for i, v := range q {
		d.SetInt(i, int64(v))
	}
	s, z, attrs := g.params(e)
	return e.Result("DequantizeLinear", attrs, e.Data(d), s, z)
}

// bipolarQuant: x, scale. Plus or minus the scale, plus for 0.
func bipolarQuant(e *build.Node) []*ir.Value {
	e.Arity(2, 2)
	s := qonnxNumbers(e, 1, "scale")
	g := &grid{lo: -1, hi: 1, axis: qonnxAxis(e, 1, -1), scale: s, zero: []float64{0}}
	g.store(e)
	x := e.In[0]
	e.CheckScale(1, x)
	sign := e.Do("Where", nil, e.Do("GreaterOrEqual", nil, x, e.Num(x, 0)), e.Num(x, 1), e.Num(x, -1))
	if sign.Const != nil {
		d := tensor.New(tensor.I8, sign.Const.Shape)
		for i := range d.Len() {
			d.SetInt(i, int64(sign.Const.Float(i)))
		}
		scale, zero, attrs := g.params(e)
		return e.Result("DequantizeLinear", attrs, e.Data(d), scale, zero)
	}
	return e.Result("Identity", nil, g.quantised(e, e.Do("Mul", nil, sign, e.In[1])))
}

// multiThreshold: x, thresholds of every channel or of all.
//
//	y = (how many thresholds are not above x) * out_scale + out_bias
//
// They are sorted, and halved for every element until its place is found.
func multiThreshold(e *build.Node) []*ir.Value {
	e.Arity(2, 2)
	e.Take("out_dtype")
	x, layout := e.Cast(e.Need(0, -1), tensor.F32), e.Str("data_layout", "NCHW")
	e.Need(1, 2)
	list, shape, rank := qonnxNumbers(e, 1, "list of thresholds"), e.In[1].Type.Shape, x.Type.Rank()
	axis := min(1, rank-1)
	if strings.HasSuffix(layout, "C") {
		axis = rank - 1
	}
	e.Want(rank > 0 && (shape[0] == 1 || shape[0] == x.Type.Shape[axis]), "shape",
		"the thresholds have shape %v for data of shape %v (%s), want a row for each channel, or one", shape,
		x.Type.Shape, layout)
	bits := mathbits.Len(uint(shape[1]))
	row := 1 << bits // one more than places: the last is never looked at
	table := make([]float64, shape[0]*row)
	for i := range table {
		if table[i] = math.Inf(1); i%row < shape[1] && !math.IsNaN(list[i/row*shape[1]+i%row]) {
			table[i] = list[i/row*shape[1]+i%row]
		}
	}
	first, like := build.Count[int64](shape[0]), make([]int, rank-axis)
	for k := range shape[0] {
		slices.Sort(table[k*row:][:row])
		first.SetInt(k, int64(k*row))
	}
	for i := range like {
		like[i] = 1
	}
	like[0] = shape[0]
	base := e.Reshape(e.Data(first), like...)
	thresholds := e.Data(tensor.FromFloats(tensor.F32, []int{len(table)}, table))
	place := e.Do("Expand", nil, base, e.Ints(x.Type.Shape...))
	for k := bits - 1; k >= 0; k-- {
		at := e.Do("Add", nil, place, e.Data(tensor.Scalar(int64(1)<<k-1)))
		reached := e.Do("GreaterOrEqual", nil, x, e.Do("Gather", nil, thresholds, at))
		more := e.Do("Where", nil, reached, e.Data(tensor.Scalar(int64(1)<<k)), e.Data(tensor.Scalar(int64(0))))
		place = e.Do("Add", nil, place, more)
	}
	y := e.Cast(e.Do("Sub", nil, place, base), tensor.F32)
	scale, bias := e.Float("out_scale", 1), e.Float("out_bias", 0)
	y = e.Do("Add", nil, e.Do("Mul", nil, y, e.Num(y, scale)), e.Num(y, bias))
	zero := -bias / scale
	if hi := float64(shape[1]) - zero; scale > 0 && zero == math.Trunc(zero) && math.Abs(zero) < 1<<15 && hi < 1<<15 {
		g := grid{lo: -zero, hi: hi, axis: -1, scale: []float64{scale}, zero: []float64{0}}
		g.store(e)
		y = g.quantised(e, y)
	}
	return e.Result("Identity", nil, y)
}
