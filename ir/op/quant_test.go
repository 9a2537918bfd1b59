// SPDX-License-Identifier: Apache-2.0

package op_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// operand is an input of a node under test.
type operand struct {
	d     *tensor.Dense
	q     *ir.Quant
	konst bool
}

// evalQ builds one node with quantised operands and output, checks the graph
// and evaluates the node.
func evalQ(t testing.TB, name string, attrs ir.Attrs, out ir.Type, in ...operand) *tensor.Dense {
	t.Helper()
	d, err := tryQ(name, attrs, out, in...)
	testenv.Require(t, err == nil, "%s: %v", name, err)
	return d
}

func tryQ(name string, attrs ir.Attrs, out ir.Type, in ...operand) (*tensor.Dense, error) {
	g := ir.New("test")
	var vs []*ir.Value
	var ds []*tensor.Dense
	for _, o := range in {
		var v *ir.Value
		if o.konst {
			v = g.AddConst("c", o.d)
		} else {
			v = g.AddInput("x", ir.T(o.d.DType, o.d.Shape...))
		}
		v.Type.Quant = o.q
		vs, ds = append(vs, v), append(ds, o.d)
	}
	domain := ""
	if op.Get("", name) == nil {
		domain = "nncc"
	}
	n, err := g.Add(op.Get(domain, name), "n", attrs, 1, vs...)
	if err != nil {
		return nil, err
	}
	if out.DType != tensor.Invalid {
		n.Out[0].Type = n.Out[0].Type.WithQuant(out.DType, out.Quant)
	}
	g.AddOutput("y", n.Out[0])
	if errs := g.Verify(); errs != nil {
		return nil, errs[0]
	}
	y, err := ir.EvalNode(n, ds)
	if err != nil {
		return nil, err
	}
	if y[0].DType != n.Out[0].Type.DType || !slices.Equal(y[0].Shape, n.Out[0].Type.Shape) {
		return nil, ir.Errf(n, "test", "gave %s for type %s", y[0], n.Out[0].Type)
	}
	return y[0], nil
}

func s8(q *ir.Quant) ir.Type { return ir.Type{DType: tensor.I8, Quant: q} }

// randS8 is an int8 tensor of random integers.
func randS8(r *rand.Rand, shape ...int) *tensor.Dense {
	d := tensor.New(tensor.I8, shape)
	for i := range d.Len() {
		d.SetInt(i, int64(r.IntN(256)-128))
	}
	return d
}

func randQuant(r *rand.Rand) *ir.Quant {
	return ir.PerTensor(float32(math.Exp(r.Float64()*6-5)), int32(r.IntN(256)-128))
}

// The reference below is gemmlowp's and TensorFlow Lite's arithmetic, written
// out from its definition.

func refHighMul(a, b int32) int32 {
	p := int64(a) * int64(b)
	nudge := int64(1) << 30
	if p < 0 {
		nudge = 1 - nudge
	}
	return int32((p + nudge) / (1 << 31))
}

func refDivPow2(x int32, e int) int32 {
	mask := int32(int64(1)<<e - 1)
	rest, threshold := x&mask, mask>>1
	if x < 0 {
		threshold++
	}
	y := x >> e
	if rest > threshold {
		y++
	}
	return y
}

// refScale multiplies by a real multiplier as TFLite's
// MultiplyByQuantizedMultiplier does after QuantizeMultiplier.
func refScale(x int32, exact float64) int32 {
	m, e := math.Frexp(exact)
	q := int64(math.Round(m * (1 << 31)))
	if q == 1<<31 {
		q, e = q/2, e+1
	}
	if e < -31 {
		q, e = 0, 0
	}
	return refDivPow2(refHighMul(x<<max(e, 0), int32(q)), max(-e, 0))
}

func clampS8(v int32, lo, hi int32) int64 { return int64(min(max(v, lo), hi)) }

// broadcastAt reads element i of a tensor of shape out from d.
func broadcastAt(d *tensor.Dense, out []int, i int) int64 {
	at, st := 0, tensor.Strides(d.Shape)
	for k := len(out) - 1; k >= 0; k-- {
		c := i % out[k]
		i /= out[k]
		if j := k - (len(out) - len(d.Shape)); j >= 0 && d.Shape[j] != 1 {
			at += c * st[j]
		}
	}
	return d.Int(at)
}

var broadcastShapes = [][3][]int{
	{{2, 3, 4}, {2, 3, 4}, {2, 3, 4}},
	{{1, 5, 4, 3}, {1, 5, 1, 1}, {1, 5, 4, 3}},
	{{1, 5, 4, 3}, {3}, {1, 5, 4, 3}},
	{{}, {7, 2}, {7, 2}},
	{{2, 1, 4}, {3, 1}, {2, 3, 4}},
	{{1}, {1, 1}, {1, 1}},
	{{0, 3}, {3}, {0, 3}},
}

func TestAddMulS8(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		sh := broadcastShapes[round%len(broadcastShapes)]
		qa, qb, qo := randQuant(r), randQuant(r), randQuant(r)
		a, b := randS8(r, sh[0]...), randS8(r, sh[1]...)
		attrs := ir.Attrs{}
		lo, hi := int32(-128), int32(127)
		if round%3 == 1 {
			attrs["act_min"] = ir.Float(0)
			lo = qo.Zero[0]
		}
		if round%3 == 2 {
			attrs["act_min"], attrs["act_max"] = ir.Float(-1), ir.Float(6)
			lo = max(lo, qo.Zero[0]+int32(math.Round(float64(-1/qo.Scale[0]))))
			hi = min(hi, qo.Zero[0]+int32(math.Round(float64(6/qo.Scale[0]))))
		}
		if lo > hi {
			continue
		}
		in := []operand{{a, qa, false}, {b, qb, round%2 == 0}}
		sum, prod := evalQ(t, "Add", attrs, s8(qo), in...), evalQ(t, "Mul", attrs, s8(qo), in...)
		sa, sb, so := float64(qa.Scale[0]), float64(qb.Scale[0]), float64(qo.Scale[0])
		twice := 2 * max(sa, sb)
		for i := range sum.Len() {
			x := int32(broadcastAt(a, sh[2], i)) - qa.Zero[0]
			y := int32(broadcastAt(b, sh[2], i)) - qb.Zero[0]
			s := refScale(x<<20, sa/twice) + refScale(y<<20, sb/twice)
			want := clampS8(refScale(s, twice/((1<<20)*so))+qo.Zero[0], lo, hi)
			testenv.Require(t, sum.Int(i) == want, "Add round %d element %d: %d, want %d", round, i, sum.Int(i), want)
			if want := clampS8(refScale(x*y, sa*sb/so)+qo.Zero[0], lo, hi); prod.Int(i) != want {
				t.Fatalf("Mul round %d element %d: %d, want %d", round, i, prod.Int(i), want)
			}
		}
	}
}

func TestMinMaxS8(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	q, other := ir.PerTensor(0.1, 3), ir.PerTensor(0.07, -20)
	a, b, c := randS8(r, 2, 5, 3), randS8(r, 5, 1), randS8(r, 3)
	out := []int{2, 5, 3}
	mn := evalQ(t, "Min", nil, s8(q), operand{a, q, false}, operand{b, q, true}, operand{c, q, false})
	mx := evalQ(t, "Max", nil, s8(q), operand{a, q, false}, operand{b, q, true}, operand{c, q, false})
	mixed := evalQ(t, "Max", nil, s8(other), operand{a, q, false}, operand{b, other, true})
	for i := range a.Len() {
		x, y, z := broadcastAt(a, out, i), broadcastAt(b, out, i), broadcastAt(c, out, i)
		testenv.Require(t, mn.Int(i) == min(x, y, z) && mx.Int(i) == max(x, y, z),
			"element %d: Min %d, Max %d of %d %d %d", i, mn.Int(i), mx.Int(i), x, y, z)
		exact := max(float64(x-3)*float64(float32(0.1)), float64(y+20)*float64(float32(0.07)))
		want := min(max(math.Round(exact/float64(float32(0.07)))-20, -128), 127)
		testenv.Require(t, float64(mixed.Int(i)) == want, "element %d: Max of two quantisations %d, want %v", i,
			mixed.Int(i), want)
	}
}

// TestFloatRule checks operators without an integer kernel against
// clamp(round_half_away(f(reals)/s) + zp), each f written out here.
func TestFloatRule(t *testing.T) {
	unary := map[string]func(x float64) float64{
		"Relu":       func(x float64) float64 { return math.Max(x, 0) },
		"LeakyRelu":  func(x float64) float64 { return math.Max(x, 0) + float64(float32(0.01))*math.Min(x, 0) },
		"Sigmoid":    func(x float64) float64 { return 0.5 * (1 + math.Tanh(x/2)) },
		"Tanh":       func(x float64) float64 { return (1 - math.Exp(-2*x)) / (1 + math.Exp(-2*x)) },
		"Exp":        func(x float64) float64 { return math.Exp(x) },
		"HardSwish":  func(x float64) float64 { return x * math.Max(0, math.Min(6, x+3)) / 6 },
		"Abs":        math.Abs,
		"Elu":        func(x float64) float64 { return math.Max(x, 0) + math.Exp(math.Min(x, 0)) - 1 },
		"Softsign":   func(x float64) float64 { return x / (1 + math.Abs(x)) },
		"Neg":        func(x float64) float64 { return -x },
		"Requantize": func(x float64) float64 { return x },
		"Gelu":       func(x float64) float64 { return x * (1 + math.Erf(x/math.Sqrt2)) / 2 },
	}
	binary := map[string]func(a, b float64) float64{
		"Sub":   func(a, b float64) float64 { return a - b },
		"Div":   func(a, b float64) float64 { return a / b },
		"PRelu": func(a, b float64) float64 { return math.Max(a, 0) + b*math.Min(a, 0) },
	}
	r := rand.New(rand.NewPCG(5, 6))
	every := tensor.New(tensor.I8, []int{2, 128})
	for i := range 256 {
		every.SetInt(i, int64(i-128))
	}
	long := tensor.New(tensor.I8, []int{3, 256})
	for i := range long.Len() {
		long.SetInt(i, int64(i%256-128))
	}
	check := func(name string, i int, got int64, wanted float64, q *ir.Quant) {
		t.Helper()
		exact := wanted / float64(q.Scale[0])
		if math.Abs(math.Abs(exact-math.Trunc(exact))-0.5) < 1e-9 {
			return // the two formulas may round differently here
		}
		if want := ir.ClampInt(math.Round(exact)+float64(q.Zero[0]), -128, 127); got != want {
			t.Errorf("%s: element %d is %d, want %d (real %v, quantisation %v)", name, i, got, want, wanted, q)
		}
	}
	for round := range 4 {
		qx, qy, qo := randQuant(r), randQuant(r), randQuant(r)
		x := every
		if round%2 == 1 {
			x = long // beyond 256 elements a table is used
		}
		for name, f := range unary {
			y := evalQ(t, name, nil, s8(qo), operand{x, qx, false})
			for i := range y.Len() {
				check(name, i, y.Int(i), f(float64(x.Int(i)-int64(qx.Zero[0]))*float64(qx.Scale[0])), qo)
			}
		}
		for name, f := range binary {
			b := randS8(r, x.Shape[1])
			y := evalQ(t, name, nil, s8(qo), operand{x, qx, false}, operand{b, qy, round%2 == 0})
			for i := range y.Len() {
				check(name, i, y.Int(i), f(float64(x.Int(i)-int64(qx.Zero[0]))*float64(qx.Scale[0]),
					float64(b.Int(i%x.Shape[1])-int64(qy.Zero[0]))*float64(qy.Scale[0])), qo)
			}
		}
	}
}

func TestReduceMeanS8(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	qx, qo := ir.PerTensor(0.05, -7), ir.PerTensor(0.02, 11)
	x := randS8(r, 2, 3, 4, 5)
	y := evalQ(t, "ReduceMean", ir.Attrs{"keepdims": ir.Int(0)}, s8(qo), operand{x, qx, false},
		operand{tensor.Ints(2, -1), nil, true})
	for o := range 6 {
		sum := int64(0)
		for k := range 20 {
			sum += x.Int(o*20+k) + 7
		}
		exact := float64(sum) * float64(float32(0.05)) / 20 / float64(float32(0.02))
		testenv.Equal(t, y.Int(o), ir.ClampInt(math.Round(exact)+11, -128, 127), "element %d", o)
	}
}

func TestArgMaxS8(t *testing.T) {
	x := tensor.Of([]int{2, 4}, []int8{3, 9, 9, -1, -5, -5, -9, -7})
	for last, want := range [][]int64{{1, 0}, {2, 1}} {
		y := evalQ(t, "ArgMax", ir.Attrs{"axis": ir.Int(1), "keepdims": ir.Int(0), "select_last_index": ir.Int(last)},
			ir.Type{}, operand{x, ir.PerTensor(0.1, 5), false})
		testenv.Same(t, y.Int64s(), want, "select_last_index %d", last)
	}
}

// TestSoftmaxS8 checks every axis against the last one, and the values
// against the real softmax.
func TestSoftmaxS8(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	qo := ir.PerTensor(1.0/256, -128)
	for _, scale := range []float32{0.01, 0.1, 0.7} {
		qx := ir.PerTensor(scale, 4)
		x := randS8(r, 3, 10, 4)
		for axis, perm := range [][]int{{2, 1, 0}, {0, 2, 1}, {0, 1, 2}} {
			y := evalQ(t, "Softmax", ir.Attrs{"axis": ir.Int(axis)}, s8(qo), operand{x, qx, false})
			xt, yt := x.Transpose(perm), y.Transpose(perm)
			last := evalQ(t, "Softmax", nil, s8(qo), operand{xt, qx, false})
			testenv.Require(t, tensor.Equal(last, yt), "axis %d differs from the same data on the last axis", axis)
			n := xt.Shape[2]
			for row := 0; row < xt.Len(); row += n {
				sum := 0.0
				for i := range n {
					sum += math.Exp(float64(scale) * float64(xt.Int(row+i)))
				}
				for i := range n {
					exact := math.Exp(float64(scale)*float64(xt.Int(row+i)))/sum*256 - 128
					if d := math.Abs(float64(yt.Int(row+i)) - min(exact, 127)); d > 1 {
						t.Fatalf("scale %v axis %d: %d for %v", scale, axis, yt.Int(row+i), exact)
					}
				}
			}
		}
		// Any other output quantisation is the kernel's result, requantised.
		other := ir.PerTensor(1.0/128, -128)
		y := evalQ(t, "Softmax", nil, s8(other), operand{x, qx, false})
		k := evalQ(t, "Softmax", nil, s8(qo), operand{x, qx, false})
		if want := ir.QuantiseAway(ir.Dequantise(k, qo), ir.Type{DType: tensor.I8, Shape: x.Shape,
			Quant: other}); !tensor.Equal(y, want) {
			t.Fatalf("softmax to scale 1/128 is not the requantised kernel result")
		}
	}
}

func TestActRange(t *testing.T) {
	act := func(lo, hi float32) ir.Attrs {
		a := ir.Attrs{}
		if lo == lo {
			a["act_min"] = ir.Float(lo)
		}
		if hi == hi {
			a["act_max"] = ir.Float(hi)
		}
		return a
	}
	nan := float32(math.NaN())
	for _, c := range []struct {
		dt     tensor.DType
		scale  float32
		zero   int32
		attrs  ir.Attrs
		lo, hi int32
	}{
		{tensor.I8, 0.1, -10, nil, -128, 127},
		{tensor.I8, 0.1, -10, act(0, nan), -10, 127},
		{tensor.I8, 0.1, -128, act(0, 6), -128, -68},
		{tensor.I8, 0.02, 0, act(-1, 1), -50, 50},
		{tensor.I8, 0.001, 0, act(0, 6), 0, 127},
		{tensor.I8, 4, 0, act(-2, 2), -1, 1}, // ties leave zero
		{tensor.U8, 0.1, 5, act(0, 6), 5, 65},
		{tensor.I16, 0.001, 0, act(0, 6), 0, 6000},
		{tensor.I8, 1e-30, 3, act(0, 6), 3, 127},
		{tensor.I8, 0.1, 0, act(float32(math.Inf(-1)), 1), -128, 10},
	} {
		n := &ir.Node{Op: op.Add, Attrs: c.attrs}
		lo, hi := op.ActRange(n, ir.Type{DType: c.dt, Quant: ir.PerTensor(c.scale, c.zero)})
		testenv.Check(t, lo == c.lo && hi == c.hi, "%+v: got [%d, %d]", c, lo, hi)
	}
}
