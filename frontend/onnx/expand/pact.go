// SPDX-License-Identifier: Apache-2.0

package expand

import (
	"math"
	"math/bits"
	"slices"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// pact are the operators on integers that PACT's exporter writes (domain PACTOps), as Deeploy computes them: integers
// in tensors that are declared as floats. Division truncates, a shift rounds down.
var pact = map[string]build.Rule{
	"RequantShift": requantShift, "iSoftmax": iSoftmax, "iHardswish": iHardswish, "iGELU": iGELU,
	"iRMSNorm": iNorm, "iLayerNorm": iNorm, "iNoNorm": iNoNorm,
	"IntegerDiv": integerDiv, "TrueIntegerDiv": integerDiv, "IntegerMean": integerMean,
}

// requantShift: x, mul, add.
//
//	y = clip(floor((x*mul + add)/div + 1/2)), div a power of two
func requantShift(e *build.Node) []*ir.Value {
	e.Arity(3, 3)
	div := pactNumber(e, "div")
	e.Want(div > 0 && bits.OnesCount(uint(div)) == 1, "attr-value", "attribute div is %d, want a power of two", div)
	pactWeights(e, e.In[0])
	x, mul, add := e.Cast(e.In[0], tensor.F64), pactChannels(e, 1), pactChannels(e, 2)
	scaled := func(v *ir.Value) *ir.Value { return e.Do("Div", nil, v, e.Num(v, float64(div))) }
	// No sum of integers and a half is a tie, so that rounding to even rounds half up.
	y := e.Do("Add", nil, e.Do("Mul", nil, x, scaled(mul)), scaled(e.Do("Add", nil, add, e.Num(add, 0.5))))
	return pactGrid(e, e.Do("Round", nil, y))
}

// pactChannels is input i in double; one number for each channel where its shape does not broadcast to the data's.
func pactChannels(e *build.Node, i int) *ir.Value {
	v, shape := e.Cast(e.In[i], tensor.F64), e.In[0].Type.Shape
	fits := len(v.Type.Shape) <= len(shape)
	for k, d := range v.Type.Shape {
		fits = fits && (d == 1 || d == shape[len(shape)-len(v.Type.Shape)+k])
	}
	if !fits && len(shape) > 1 && v.Type.Elems() == shape[1] {
		to := slices.Repeat([]int{1}, len(shape)-1)
		to[0] = shape[1]
		return e.Reshape(v, to...)
	}
	return v
}

// pactWeights quantises the weights of the layer that makes v, and of its bias: whole numbers, by a scale of 1.
func pactWeights(e *build.Node, v *ir.Value) {
	n := v.Def
	if n == nil || len(n.In) < 2 || n.Op.WeightAxis == nil && n.Op != op.Add {
		return
	}
	if n.Op == op.Add {
		for i, x := range n.In {
			if x.Const == nil && n.In[1-i].Const != nil {
				pactWeights(e, x)
			}
		}
		return
	}
	w := n.In[1].Const
	if w == nil || !w.DType.IsFloat() {
		return
	}
	d := tensor.New(tensor.I8, w.Shape)
	for i := range w.Len() {
		q := math.Round(w.Float(i))
		if q != w.Float(i) || q < math.MinInt8 || q > math.MaxInt8 {
			return
		}
		d.SetInt(i, int64(q))
	}
	dq, err := e.Graph.InsertBefore(n, op.DequantizeLinear, n.Name+".weight", nil, 1, e.Data(d),
		e.Data(tensor.Scalar(float32(1))), e.Data(tensor.New(tensor.I8, nil)))
	fail.Check(err)
	e.Graph.SetInput(n, 1, dq.Out[0])
}

// pactNumber takes an attribute that is a number, as an integer or as a tensor.
func pactNumber(e *build.Node, name string) int {
	a, ok := e.Take(name)
	if ok && a.Kind == ir.AttrTensor {
		e.Want(a.Tensor.Len() == 1, "attr-value", "attribute %s has %d elements, want 1", name, a.Tensor.Len())
		return int(a.Tensor.Float(0))
	}
	e.Want(ok && a.Kind == ir.AttrInt, "attr", "attribute %s is missing, or no number", name)
	return int(a.Int)
}

// pactGrid clips to n_levels integers and ends the rule: signed ones unless the attribute signed says otherwise.
func pactGrid(e *build.Node, y *ir.Value) []*ir.Value {
	name, signed := "n_levels", true
	if _, ok := e.Attrs[name]; !ok {
		name = "n_levels_out"
	}
	if _, ok := e.Attrs["signed"]; ok {
		signed = pactNumber(e, "signed") != 0
	}
	n := pactNumber(e, name)
	e.Want(n >= 2 && n <= 1<<16, "attr-value", "attribute %s is %d, want 2 to 65536", name, n)
	g := grid{hi: float64(n - 1), axis: -1, scale: []float64{1}, zero: []float64{0}}
	if signed {
		g.lo, g.hi = float64(-(n / 2)), float64(n-n/2-1)
	}
	g.store(e)
	return pactResult(e, g.quantised(e, e.Cast(y, tensor.F32)))
}

// pactResult gives y the type of the first input.
func pactResult(e *build.Node, y *ir.Value) []*ir.Value {
	return e.Result("Cast", build.To(e.In[0].Type.DType), y)
}

// whole is integer arithmetic with constants.
type whole struct{ *build.Node }

func (e whole) in(i int) *ir.Value { return e.Cast(e.Need(i, -1), tensor.I64) }

func (e whole) with(name string, a *ir.Value, b int) *ir.Value {
	return e.Do(name, nil, a, e.Num(a, float64(b)))
}

func (e whole) clip(a *ir.Value, lo, hi int) *ir.Value {
	return e.with("Min", e.with("Max", a, lo), hi)
}

// shifted is a/d rounded down.
func (e whole) shifted(a *ir.Value, d int) *ir.Value {
	e.Want(d > 0, "attr-value", "a divisor is %d, want a positive number", d)
	return e.with("Div", e.Do("Sub", nil, a, e.with("Mod", a, d)), d)
}

// reduced is a sum or the like over the last axis.
func (e whole) reduced(name string, a *ir.Value) *ir.Value { return e.Do(name, nil, a, e.Ints(-1)) }

func (e whole) square(a *ir.Value) *ir.Value { return e.Do("Mul", nil, a, a) }

// iSoftmax: exp(t) is 2^-z of a parabola in the rest of t by ln 2, all in steps of the input.
func iSoftmax(n *build.Node) []*ir.Value {
	e, ln2 := whole{n}, pactNumber(n, "log2")
	n.Want(ln2 > 0, "attr-value", "attribute log2 is %d, want a positive number", ln2)
	x := e.in(0)
	t := e.Do("Sub", nil, e.reduced("ReduceMax", x), x)
	z := e.clip(e.with("Div", t, ln2), 0, 31)
	p := e.with("Add", e.Do("Sub", nil, e.with("Mul", z, ln2), t), pactNumber(n, "coeffB"))
	y := e.with("Add", e.with("Mul", e.square(p), pactNumber(n, "coeffA")), pactNumber(n, "coeffC"))
	y = e.Cast(e.Do("BitShift", ir.Attrs{"direction": ir.Str("RIGHT")}, e.Cast(y, tensor.U64), e.Cast(z, tensor.U64)),
		tensor.I64)
	levels := n.Attrs["n_levels"]
	top := pactNumber(n, "n_levels") - 1
	y = e.Do("Div", nil, e.with("Mul", y, top), e.reduced("ReduceSum", y))
	n.Attrs["n_levels"], n.Attrs["signed"] = levels, ir.Int(0)
	return pactGrid(n, y)
}

func iHardswish(n *build.Node) []*ir.Value {
	e := whole{n}
	x := e.in(0)
	gate := e.clip(e.with("Add", x, pactNumber(n, "three")), 0, pactNumber(n, "six"))
	return pactResult(n, e.Do("Mul", nil, x, e.with("Mul", gate, pactNumber(n, "one_over_six"))))
}

// iGELU: the error function is a parabola up to -b, where it ends in one.
func iGELU(n *build.Node) []*ir.Value {
	e, b, one := whole{n}, pactNumber(n, "b"), pactNumber(n, "one")
	x := e.in(0)
	d := e.with("Add", e.with("Min", e.Do("Abs", nil, x), -b), b)
	erf := e.Do("Mul", nil, e.Do("Sign", nil, x), e.with("Add", e.Do("Neg", nil, e.square(d)), one))
	return pactResult(n, e.shifted(e.Do("Mul", nil, x, e.with("Add", erf, one)), 2))
}

// iNorm: x, weight, bias. Without bias the mean is not taken off.
func iNorm(n *build.Node) []*ir.Value {
	e := whole{n}
	x, length := e.in(0), n.Need(0, -1).Type.Shape
	n.Want(len(length) > 0 && length[len(length)-1] > 0, "shape", "the input has shape %v, want an axis to norm",
		length)
	last := length[len(length)-1]
	if n.Input(2) != nil {
		x = e.Do("Sub", nil, x, e.with("Div", e.reduced("ReduceSum", x), last))
	}
	power := e.with("Add", e.with("Div", e.reduced("ReduceSum", e.square(x)), last), 1)
	deviation := e.Cast(e.Do("Sqrt", nil, e.Cast(power, tensor.F32)), tensor.I64)
	y := e.Do("Div", nil, e.Do("Mul", nil, x, e.in(1)), deviation)
	if n.Input(2) != nil {
		y = e.Do("Add", nil, y, e.in(2))
	}
	return pactGrid(n, e.shifted(y, pactNumber(n, "D")))
}

// iNoNorm: x, weight, bias.
func iNoNorm(n *build.Node) []*ir.Value {
	e := whole{n}
	y := e.Do("Add", nil, e.Do("Mul", nil, e.in(0), e.in(1)), e.in(2))
	return pactGrid(n, e.shifted(e.with("Mul", y, pactNumber(n, "mul")), pactNumber(n, "D")))
}

// integerDiv: x and a divisor: Delta times the quotient, to the nearest integer; cut off where y is the divisor.
func integerDiv(n *build.Node) []*ir.Value {
	e, eta := whole{n}, pactNumber(n, "eta")
	x := e.with("Mul", e.in(0), pactNumber(n, "Delta")*eta)
	var by *ir.Value
	if n.Input(1) != nil {
		by = e.in(1)
	} else {
		by = e.Num(x, float64(pactNumber(n, "y")))
	}
	by = e.with("Add", e.with("Mul", by, eta), pactNumber(n, "eps"))
	if n.Input(1) != nil {
		x = e.Do("Add", nil, x, e.Do("Mul", nil, e.Do("Sign", nil, x), e.shifted(by, 2)))
	}
	return pactResult(n, e.Do("Div", nil, x, by))
}

// integerMean rounds half up.
func integerMean(n *build.Node) []*ir.Value {
	e := whole{n}
	x, keep := e.in(0), n.Int("keepdims", 1)
	sum := e.Do("ReduceSum", ir.Attrs{"keepdims": ir.Int(keep)}, x, e.Data(build.Ints64(n.IntList("axes"))))
	n.Want(sum.Type.Elems() > 0, "shape", "the mean has shape %v, want elements", sum.Type.Shape)
	count := x.Type.Elems() / sum.Type.Elems()
	return pactResult(n, e.shifted(e.with("Add", e.with("Mul", sum, 2), count), 2*count))
}
