// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

type number interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~float32 | ~float64 | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// arithKind names the loops below.
type arithKind uint8

const (
	kAdd arithKind = iota
	kSub
	kMul
	kDiv
	kMin
	kMax
)

// arithC are the same operations in C.
var arithC = map[arithKind]ir.CForm{
	kAdd: {F64: "a + b", I64: "(int64_t)((uint64_t)a + (uint64_t)b)", U64: "a + b"},
	kSub: {F64: "a - b", I64: "(int64_t)((uint64_t)a - (uint64_t)b)", U64: "a - b"},
	kMul: {F64: "a * b", I64: "(int64_t)((uint64_t)a * (uint64_t)b)", U64: "a * b"},
	kDiv: {F64: "a / b", I64: "nncc_div_i64(a, b)", U64: "a / b"},
	kMin: {F64: "nncc_min_f64(a, b)", I64: "a < b ? a : b", U64: "a < b ? a : b"},
	kMax: {F64: "nncc_max_f64(a, b)", I64: "a > b ? a : b", U64: "a > b ? a : b"},
}

// arithLoop is the loop of one operation for one element type: integers wrap,
// integer division truncates, minimum and maximum propagate NaN.
func arithLoop[T number](k arithKind) func(y, a, b []T) {
	return func(y, a, b []T) {
		a, b = a[:len(y)], b[:len(y)]
		switch k {
		case kAdd:
			for i, v := range a {
				y[i] = v + b[i]
			}
		case kSub:
			for i, v := range a {
				y[i] = v - b[i]
			}
		case kMul:
			for i, v := range a {
				y[i] = v * b[i]
			}
		case kDiv:
			for i, v := range a {
				y[i] = v / b[i]
			}
		case kMin:
			for i, v := range a {
				y[i] = min(v, b[i])
			}
		case kMax:
			for i, v := range a {
				y[i] = max(v, b[i])
			}
		}
	}
}

// sameData makes two operands of one Go type: F16 and BF16 become float64,
// and mixed float widths (which quantised evaluation may cause) as well.
func sameData(a, b *tensor.Dense) (*tensor.Dense, *tensor.Dense) {
	if a.DType != b.DType || a.DType == tensor.F16 || a.DType == tensor.BF16 {
		return a.Cast(tensor.F64), b.Cast(tensor.F64)
	}
	return a, b
}

// Divides are the operators that fail when an integer b is 0.
func Divides(n *ir.Node) bool { return (n.Op == Div || n.Op == Mod) && n.In[1].Type.DType.IsInt() }

// arith computes one binary operation under broadcasting, in the type of a.
func arith(n *ir.Node, k arithKind, a, b *tensor.Dense) (*tensor.Dense, error) {
	out := fail.Must(Broadcast(n, a.Shape, b.Shape))
	dt := a.DType
	a, b = sameData(a, b)
	if k == kDiv && b.DType.IsInt() && tensor.Count(out) > 0 {
		for i, c := 0, b.Len(); i < c; i++ {
			if b.Int(i) == 0 {
				return nil, ir.Errf(n, "divide-by-zero", "integer division by zero (element %d of the divisor)", i)
			}
		}
	}
	y := tensor.New(a.DType, out)
	loop, ok := arithLoops[a.DType]
	if !ok {
		panic(bug.Errorf("arithmetic on %s", a))
	}
	loop(k, y, a, b)
	if dt != y.DType && dt.IsFloat() {
		return y.Cast(dt), nil
	}
	return y, nil
}

// arithLoops are the loops over broadcast operands by element type.
var arithLoops = map[tensor.DType]func(k arithKind, y, a, b *tensor.Dense){
	tensor.F32: arithOn[float32], tensor.F64: arithOn[float64], tensor.I8: arithOn[int8], tensor.I4: arithOn[int8],
	tensor.I16: arithOn[int16], tensor.I32: arithOn[int32], tensor.I64: arithOn[int64], tensor.U8: arithOn[uint8],
	tensor.U4: arithOn[uint8], tensor.U16: arithOn[uint16], tensor.U32: arithOn[uint32], tensor.U64: arithOn[uint64],
}

func arithOn[T number](k arithKind, y, a, b *tensor.Dense) {
	zip(y.Shape, a.Shape, b.Shape, y.Data.([]T), a.Data.([]T), b.Data.([]T), arithLoop[T](k))
}

// binaryArith defines Add, Sub, Mul, Div.
func binaryArith(name, doc string, k arithKind, quant ir.QuantKind,
	evalQ func(*ir.Node, []*tensor.Dense) ([]*tensor.Dense, error)) *ir.OpDef {
	neutral := map[arithKind]float64{kMul: 1, kDiv: 1}[k]
	return def(ir.OpDef{
		Name: name, Doc: doc, Attrs: ir.Declare[Act](), MinIn: 2, Pattern: ir.Broadcast, Quant: quant,
		Neutral: &neutral, Commutes: k == kAdd || k == kMul, Monotone: k != kDiv,
		Pair:  arithC[k].Fixed(),
		Infer: inferBinary(numTypes), EvalQ: evalQ,
		Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
			y := fail.Must(arith(n, k, in[0], in[1]))
			return outs(ClampAct(n, y))
		},
	})
}

// The four operations. Quantised Add and Mul are CMSIS-NN's kernels, and so is
// Sub of int16, but for the sign; Sub of int8 and Div follow the float64 rule.
var (
	Add = slopes(binaryArith("Add", "a + b with broadcasting", kAdd, ir.QInt, evalPairQ), 1, 1)
	Mul = binaryArith("Mul", "a * b with broadcasting", kMul, ir.QInt, evalPairQ)
	Sub = slopes(binaryArith("Sub", "a - b with broadcasting", kSub, ir.QFloat, evalPairQ), 1, -1)
	Div = binaryArith("Div", "a / b with broadcasting; integers truncate", kDiv, ir.QFloat, evalActQ)
)

// foldArith defines Min, Max and Sum: any number of broadcast inputs.
func foldArith(name, doc string, k arithKind, s typeSet, quant ir.QuantKind,
	evalQ func(*ir.Node, []*tensor.Dense) ([]*tensor.Dense, error)) *ir.OpDef {
	spread := ir.Selects
	if k == kAdd {
		spread = ir.AnySpread
	}
	return def(ir.OpDef{
		Name: name, Doc: doc, MinIn: 1, MaxIn: -1, Pattern: ir.Broadcast, Quant: quant, EvalQ: evalQ,
		Infer: inferBinary(s), Commutes: true, Monotone: true, Spread: spread, Pair: arithC[k].Fixed(),
		Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
			return outs(foldInputs(n, k, in))
		},
	})
}

func foldInputs(n *ir.Node, k arithKind, in []*tensor.Dense) *tensor.Dense {
	y := in[0]
	for _, d := range in[1:] {
		y = fail.Must(arith(n, k, y, d))
	}
	return y
}

// The variadic operations. Quantised Min and Max with one quantisation all
// round are CMSIS-NN's kernels.
var (
	Min = foldArith("Min", "least of any number of broadcast inputs", kMin, numTypes, ir.QInt, evalMinMaxQ)
	Max = foldArith("Max", "greatest of any number of broadcast inputs", kMax, numTypes, ir.QInt, evalMinMaxQ)
	Sum = slopes(foldArith("Sum", "sum of any number of broadcast inputs", kAdd, floatTypes, ir.QFloat, nil), 1, 1)
)

// Mean is the average of any number of broadcast inputs.
var Mean = def(ir.OpDef{
	Name: "Mean", Doc: "mean of any number of broadcast inputs", MinIn: 1, MaxIn: -1, Pattern: ir.Broadcast,
	Infer: inferBinary(floatTypes), Commutes: true, Monotone: true, Spread: ir.Averages, Finite: true,
	Pair:   ir.CForm{F64: "a + b"}.Fixed(), // divided by their number at the end
	Slopes: []float64{0.5, 0.5},            // of two inputs
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		y := foldInputs(n, kAdd, in)
		return outs(fail.Must(arith(n, kDiv, y, tensor.FromFloats(y.DType, nil, []float64{float64(len(in))}))))
	},
})

// Pow is x to the power e, in the type of x: integer powers of integers wrap
// and those with negative exponents truncate.
var Pow = def(ir.OpDef{
	Name: "Pow", Doc: "x to the power e with broadcasting, in the type of x", MinIn: 2, Pattern: ir.Broadcast,
	Neutral: new(1.0), Pair: ir.CForm{F64: "pow(a, b)"}.Fixed(),
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		for i := range 2 {
			wantType(n, i, numTypes)
		}
		shape := fail.Must(Broadcast(n, n.In[0].Type.Shape, n.In[1].Type.Shape))
		return one(ir.T(n.In[0].Type.DType, shape...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		x, e := in[0], in[1]
		out := fail.Must(Broadcast(n, x.Shape, e.Shape))
		if x.DType.IsInt() && e.DType.IsInt() {
			return outs(wholePairs(out, x, e, powInt))
		}
		return outs(realPairs(out, x, e, math.Pow))
	},
})

// realPairs computes f of broadcast operands in float64, rounded to the type of a.
func realPairs(out []int, a, b *tensor.Dense, f func(a, b float64) float64) *tensor.Dense {
	return fromFloats(a.DType, out, pairs(out, a.Shape, b.Shape, floatsOf(a), floatsOf(b), f))
}

// wholePairs computes f of broadcast integers, wrapped to the type of a.
func wholePairs(out []int, a, b *tensor.Dense, f func(a, b int64) int64) *tensor.Dense {
	return tensor.Of(out, pairs(out, a.Shape, b.Shape, a.Int64s(), b.Int64s(), f)).Cast(a.DType)
}

func pairs[T, R any](out, sa, sb []int, a, b []T, f func(a, b T) R) []R {
	y := make([]R, tensor.Count(out))
	zip(out, sa, sb, y, a, b, func(y []R, a, b []T) {
		for i := range y {
			y[i] = f(a[i], b[i])
		}
	})
	return y
}

// powInt is a to the power b modulo 2^64; a negative power truncates to 0
// unless a is 1 or -1.
func powInt(a, b int64) int64 {
	if b < 0 {
		switch {
		case a == 1 || a == -1 && b%2 == 0:
			return 1
		case a == -1:
			return -1
		}
		return 0
	}
	r := int64(1)
	for ; b > 0; b >>= 1 {
		if b&1 == 1 {
			r *= a
		}
		a *= a
	}
	return r
}

// ModAttrs are the attributes of Mod.
type ModAttrs struct {
	Fmod int `default:"0"`
}

// Mod is the remainder: with the sign of the divisor for integers (fmod 0),
// with the sign of the dividend as C's fmod (fmod 1, the only one for floats).
var Mod = def(ir.OpDef{
	Name: "Mod", Doc: "remainder: sign of the divisor (fmod 0, integers) or of the dividend (fmod 1)",
	Attrs: ir.Declare[ModAttrs](), MinIn: 2, Pattern: ir.Broadcast,
	Pair: func(n *ir.Node) ir.CForm {
		c := ir.CForm{F64: "fmod(a, b)", I64: "nncc_mod_i64(a, b, 0)", U64: "a % b"}
		if ir.AttrsOf[ModAttrs](n).Fmod == 0 {
			c.I64 = "nncc_mod_i64(a, b, 1)"
		}
		return c
	},
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		t, err := inferBinary(numTypes)(n)
		if err == nil && ir.AttrsOf[ModAttrs](n).Fmod == 0 && n.In[0].Type.DType.IsFloat() {
			return nil, ir.Errf(n, "attr-value", "fmod is 0 on inputs of type %s; floats want fmod 1",
				n.In[0].Type.DType)
		}
		return t, err
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		a, b := in[0], in[1]
		out := fail.Must(Broadcast(n, a.Shape, b.Shape))
		if a.DType.IsFloat() {
			return outs(realPairs(out, a, b, math.Mod))
		}
		for i, v := range b.Int64s() {
			refuse(n, v == 0 && tensor.Count(out) > 0, "divide-by-zero",
				"remainder of a division by zero (element %d of the divisor)", i)
		}
		floorMod := ir.AttrsOf[ModAttrs](n).Fmod == 0
		return outs(wholePairs(out, a, b, func(x, y int64) int64 {
			if a.DType == tensor.U64 {
				return int64(uint64(x) % uint64(y))
			}
			r := x % y
			if floorMod && r != 0 && (r < 0) != (y < 0) {
				r += y
			}
			return r
		}))
	},
})

// PRelu is x, or slope*x where x is negative; slope broadcasts to x.
var PRelu = def(ir.OpDef{
	Name: "PRelu", Doc: "x where x >= 0, slope*x elsewhere; slope broadcasts to x", Activation: true, MinIn: 2,
	Pattern: ir.Broadcast,
	Pair: ir.CForm{F64: "a < 0.0 ? a * b : a", F32: "nncc_el_prelu_f32(a, b)",
		I64: "a < 0 ? (int64_t)((uint64_t)a * (uint64_t)b) : a", U64: "a"}.Fixed(),
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		t, err := inferBinary(signedTypes)(n)
		if err == nil && !sameShape(t[0].Shape, n.In[0].Type.Shape) {
			return nil, ir.Errf(n, "broadcast", "slope of shape %v does not broadcast to x of shape %v",
				n.In[1].Type.Shape, n.In[0].Type.Shape)
		}
		return t, err
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		out := in[0].Shape
		if in[0].DType.IsFloat() {
			return outs(realPairs(out, in[0], in[1], prelu[float64]))
		}
		return outs(wholePairs(out, in[0], in[1], prelu[int64]))
	},
})

func prelu[T float64 | int64](x, slope T) T {
	if x < 0 {
		return x * slope
	}
	return x
}

// slopes marks an operator as linear in two operands: their weighted sum, or
// whether it is above or below 0.
func slopes(d *ir.OpDef, a, b float64) *ir.OpDef {
	d.Slopes = []float64{a, b}
	return d
}

// Linear are the operators with slopes, in the order of their names.
func Linear() []*ir.OpDef {
	return lists.Filter(All(), func(d *ir.OpDef) bool { return d.Slopes != nil })
}

// runs is the loop nest of a binary operator under broadcasting: along each
// run of n result elements an operand advances by one or stays.
type runs struct {
	n        int   // elements of one run
	sa, sb   int   // 0 or 1: step of each operand within a run
	dims     []int // outer dimensions
	da, db   []int // strides of the operands along them
	nonEmpty bool
}

// newRuns plans the broadcast of shapes a and b to out, merging dimensions
// that both operands walk through alike.
func newRuns(out, a, b []int) runs {
	ta, tb := broadcastStrides(a, out), broadcastStrides(b, out)
	var dims, da, db []int
	r := runs{nonEmpty: tensor.Count(out) > 0}
	for i, d := range out {
		if d == 1 {
			continue
		}
		if k := len(dims) - 1; k >= 0 && da[k] == ta[i]*d && db[k] == tb[i]*d {
			dims[k], da[k], db[k] = dims[k]*d, ta[i], tb[i]
			continue
		}
		dims, da, db = append(dims, d), append(da, ta[i]), append(db, tb[i])
	}
	if len(dims) == 0 {
		r.n = 1
		return r
	}
	k := len(dims) - 1
	r.n, r.sa, r.sb = dims[k], da[k], db[k]
	r.dims, r.da, r.db = dims[:k], da[:k], db[:k]
	return r
}

// each calls f with the offsets of every run in the result and the operands.
func (r *runs) each(f func(y, a, b int)) {
	if !r.nonEmpty {
		return
	}
	idx := make([]int, len(r.dims))
	for y, a, b := 0, 0, 0; ; y += r.n {
		f(y, a, b)
		d := len(idx) - 1
		for ; d >= 0; d-- {
			idx[d]++
			a, b = a+r.da[d], b+r.db[d]
			if idx[d] < r.dims[d] {
				break
			}
			a, b = a-idx[d]*r.da[d], b-idx[d]*r.db[d]
			idx[d] = 0
		}
		if d < 0 {
			return
		}
	}
}

// runSlice is an operand of a run: a piece of s, or its one element repeated.
type runSlice[T any] struct {
	s   []T
	buf []T
	at  int
}

func newRunSlice[T any](s []T, step, n int) *runSlice[T] {
	r := &runSlice[T]{s: s, at: -1}
	if step == 0 {
		r.buf = make([]T, n)
	}
	return r
}

func (r *runSlice[T]) piece(at, n int) []T {
	if r.buf == nil {
		return r.s[at : at+n]
	}
	if r.at != at {
		r.at = at
		v := r.s[at]
		for i := range r.buf {
			r.buf[i] = v
		}
	}
	return r.buf
}

// zip applies a loop over equally long slices to every run of the broadcast.
func zip[T, R any](out, sa, sb []int, y []R, a, b []T, loop func(y []R, a, b []T)) {
	r := newRuns(out, sa, sb)
	pa, pb := newRunSlice(a, r.sa, r.n), newRunSlice(b, r.sb, r.n)
	r.each(func(iy, ia, ib int) { loop(y[iy:iy+r.n], pa.piece(ia, r.n), pb.piece(ib, r.n)) })
}

// inferBinary is the inference of a broadcast operator whose result has the
// type of its operands.
func inferBinary(s typeSet) func(n *ir.Node) ([]ir.Type, error) {
	return func(n *ir.Node) ([]ir.Type, error) {
		shapes := make([][]int, len(n.In))
		idx := make([]int, len(n.In))
		for i, v := range n.In {
			refuse(n, v == nil, "arity", "input %d is missing", i)
			wantType(n, i, s)
			shapes[i], idx[i] = v.Type.Shape, i
		}
		wantSameTypes(n, idx...)
		shape := fail.Must(Broadcast(n, shapes...))
		return one(ir.T(n.In[0].Type.DType, shape...))
	}
}
