// SPDX-License-Identifier: Apache-2.0

package op

import (
	"fmt"
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
)

// Lookup is a function of one 8-bit value written out: entry i of the constant
// input 1 is the result for the bit pattern i. Element-wise operators on
// quantised values that follow one another become one Lookup.
var Lookup = def(ir.OpDef{
	Name: "Lookup", Domain: "nncc", Doc: "a function of one 8-bit value as 256 results", MinIn: 2,
	Pattern: ir.Elementwise, Quant: ir.QInt, Coded: true,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		x, t := n.In[0].Type, n.In[1]
		refuse(n, x.DType.Size() != 1 || x.DType.Bits() != 8, "dtype", "the input %s is %s, want 8 bits an element",
			n.In[0], x.DType)
		refuse(n, t.Const == nil || t.Type.Elems() != 256 || t.Type.DType.Size() != 1, "table",
			"the table %s is %s, want 256 constants of one byte", t, t.Type)
		return []ir.Type{ir.T(t.Type.DType, x.Shape...)}, nil
	},
	Eval: evalLookup, EvalQ: evalLookup,
})

func evalLookup(_ *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	table, x := in[1].Bytes(), in[0].Bytes()
	y := make([]byte, len(x))
	for i, v := range x {
		y[i] = table[v]
	}
	d, err := tensor.FromBytes(in[1].DType, in[0].Shape, y)
	return []*tensor.Dense{d}, err
}

// InterpolatedLUT is a function of one int16 value as straight lines between the 513
// points of the constant input 1 (fixp.InterpolatedLUT16). Element-wise operators on
// int16 values that follow one another become one InterpolatedLUT.
var InterpolatedLUT = def(ir.OpDef{
	Name: "InterpolatedLUT", Domain: "nncc", Doc: "a function of one int16 value, interpolated between 513 points",
	MinIn:   2,
	Pattern: ir.Elementwise, Quant: ir.QInt, Coded: true,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		x, p := n.In[0].Type, n.In[1]
		refuse(n, x.DType != tensor.I16, "dtype", "the input %s is %s, want int16", n.In[0], x.DType)
		refuse(n, p.Const == nil || p.Type.Elems() != fixp.LUT16Len || p.Type.DType != tensor.I16, "points",
			"the points %s are %s, want %d int16 constants", p, p.Type, fixp.LUT16Len)
		return []ir.Type{ir.T(tensor.I16, x.Shape...)}, nil
	},
	Eval: evalPoints, EvalQ: evalPoints,
})

func evalPoints(_ *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	c := fixp.InterpolatedLUT16(in[1].Data.([]int16))
	y := tensor.New(tensor.I16, in[0].Shape)
	ys := y.Data.([]int16)
	for i, v := range in[0].Data.([]int16) {
		ys[i] = c.At(v)
	}
	return []*tensor.Dense{y}, nil
}

// SVDFAttrs are the attributes of SVDF.
type SVDFAttrs struct {
	Rank int `attr:",required"`
}

// SVDF is TensorFlow Lite's layer of that name, in its integer arithmetic: each of
// units*rank filters multiplies the input with a row of input 1, keeps the last results,
// and multiplies these with a row of input 2; a unit is the sum of its filters.
//
// Inputs: X int8 [batch, inputs]; features int8 [filters, inputs]; time int8 or int16
// [filters, memory]; B int32 [units], in the scale of the state times that of time; state as
// time [batch, filters, memory]. Outputs: Y int8 [batch, units]; the next state, of the same
// type. Features and time are symmetric, all have one scale.
var SVDF = def(ir.OpDef{
	Name: "SVDF", Domain: "nncc", Doc: "TensorFlow Lite's SVDF with its integer arithmetic",
	Attrs: ir.Declare[SVDFAttrs](), MinIn: 5, MaxIn: 5, MinOut: 2, MaxOut: 2,
	QError:  func(*ir.Node) float64 { return math.Inf(1) }, // every step reads the rounded result of the one before
	Pattern: ir.Opaque, Quant: ir.QInt, Exact: true,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		g := fail.Must(svdfGeometry(n))
		state := n.In[4].Type
		return []ir.Type{ir.T(n.In[0].Type.DType, g.Batch, g.Units), ir.T(state.DType, state.Shape...)}, nil
	},
	Eval: evalSVDF, EvalQ: evalSVDFInt,
	MACs: func(n *ir.Node) int64 {
		g := fail.Must(svdfGeometry(n))
		return work(g.Batch, g.Units*g.Rank, g.Inputs+g.Memory)
	},
})

// svdfGeometry is the sizes of a layer.
func svdfGeometry(n *ir.Node) (_ *qref.SVDFParams, err error) {
	defer fail.Catch(&err)
	for i, r := range []int{2, 2, 2, 1, 3} {
		wantRank(n, i, r)
	}
	x, f, t := n.In[0].Type.Shape, n.In[1].Type.Shape, n.In[2].Type.Shape
	g := &qref.SVDFParams{Batch: x[0], Inputs: x[1], Rank: ir.AttrsOf[SVDFAttrs](n).Rank, Memory: t[1]}
	refuse(n, g.Rank < 1 || f[0]%g.Rank != 0 || min(g.Batch, g.Inputs, f[0], g.Memory) < 1, "shape",
		"%d filters of rank %d for an input %v, want a multiple, and nothing empty", f[0], g.Rank, x)
	g.Units = f[0] / g.Rank
	for i, want := range [][]int{x, {f[0], x[1]}, {f[0], t[1]}, {g.Units}, {x[0], f[0], t[1]}} {
		have := n.In[i].Type.Shape
		refuse(n, !sameShape(have, want), "shape-mismatch", "input %d (%s) has shape %v, want %v", i, n.In[i], have,
			want)
	}
	return g, nil
}

// evalSVDF is the layer in float.
func evalSVDF(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	g := fail.Must(svdfGeometry(n))
	y, next := tensor.New(in[0].DType, []int{g.Batch, g.Units}), tensor.New(in[4].DType, in[4].Shape)
	filters := g.Units * g.Rank
	for b := range g.Batch {
		for f := range filters {
			at := (b*filters + f) * g.Memory
			sum := 0.0
			for i := range g.Inputs {
				sum += in[0].Float(b*g.Inputs+i) * in[1].Float(f*g.Inputs+i)
			}
			for j := range g.Memory {
				v := sum
				if j+1 < g.Memory {
					v = in[4].Float(at + j + 1)
				}
				next.SetFloat(at+j, v)
			}
		}
		for u := range g.Units {
			sum := in[3].Float(u)
			for k := range g.Rank * g.Memory {
				sum += next.Float((b*filters+u*g.Rank)*g.Memory+k) * in[2].Float(u*g.Rank*g.Memory+k)
			}
			y.SetFloat(b*g.Units+u, sum)
		}
	}
	return outs(y, next)
}

func evalSVDFInt(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	p, why := svdfParams(n, in[1], in[2], in[3])
	refuse(n, why != "", "quant", "%s", why)
	if time, wide := in[2].Data.([]int16); wide {
		return svdfStep(p, time, in)
	}
	return svdfStep(p, in[2].Data.([]int8), in)
}

func svdfStep[T int8 | int16](p *qref.SVDFParams, time []T, in []*tensor.Dense) ([]*tensor.Dense, error) {
	y, next := qref.SVDF(p, time, in[0].Data.([]int8), in[4].Data.([]T))
	return outs(tensor.Of([]int{p.Batch, p.Units}, y), tensor.Of(in[4].Shape, next))
}

// SVDFParams are the arguments of the integer kernel; a reason that is not empty says why
// the types do not fit, or that weights are computed at run time.
func SVDFParams(n *ir.Node) (*qref.SVDFParams, string) {
	for i := 1; i <= 3; i++ {
		if n.ConstIn(i) == nil {
			return nil, fmt.Sprintf("input %d is computed at run time, want constants", i)
		}
	}
	return svdfParams(n, n.ConstIn(1), n.ConstIn(2), n.ConstIn(3))
}

func svdfParams(n *ir.Node, features, time, bias *tensor.Dense) (*qref.SVDFParams, string) {
	p, err := svdfGeometry(n)
	if err != nil {
		return nil, err.Error()
	}
	x, y := n.In[0].Type, n.Out[0].Type
	scales := [5]float32{}
	state := tensor.I8
	if n.In[2].Type.DType == tensor.I16 {
		state = tensor.I16
	}
	for i, want := range []tensor.DType{tensor.I8, tensor.I8, state, tensor.I32, state} {
		t := n.In[i].Type
		if t.DType != want || t.Quant == nil && i != 3 || t.Quant != nil && t.Quant.PerAxis() && i != 3 {
			return nil, fmt.Sprintf("input %d is %s, want %s with one scale", i, t, want)
		}
		if i != 3 {
			scales[i] = t.Quant.Scale[0]
		}
		if (i == 1 || i == 2) && t.Quant.Zero[0] != 0 {
			return nil, fmt.Sprintf("input %d has zero point %d, want 0", i, t.Quant.Zero[0])
		}
	}
	if !perTensorS8(y) || !n.Out[1].Type.Quant.Equal(n.In[4].Type.Quant) {
		return nil, fmt.Sprintf("the results are %s and %s, want int8 with one scale and the state's type", y,
			n.Out[1].Type)
	}
	p.Features, p.Bias = features.Data.([]int8), slices.Clone(bias.Data.([]int32))
	ratio := func(a, b, c float32) float64 { return float64(a * b / c) } // in float32, as TensorFlow Lite
	p.FeatureMult, p.FeatureShift = fixp.QuantizeMultiplier(ratio(scales[0], scales[1], scales[4]))
	p.OutputMult, p.OutputShift = fixp.QuantizeMultiplier(ratio(scales[4], scales[2], y.Quant.Scale[0]))
	p.StateZero, p.OutputZero = n.In[4].Type.Quant.Zero[0], y.Quant.Zero[0]
	for i, each := 0, p.Rank*p.Memory; i < time.Len(); i++ {
		p.Bias[i/each] -= p.StateZero * int32(time.Int(i))
	}
	p.FeatureBias = make([]int32, p.Units*p.Rank)
	for f := range p.FeatureBias {
		p.FeatureBias[f] = -x.Quant.Zero[0] * rowSum(p.Features, f, p.Inputs)
	}
	return p, ""
}
