// SPDX-License-Identifier: Apache-2.0

package fuse_test

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// dag builds random graphs of element-wise operators: several inputs, values
// that are read more than once, diamonds, broadcast operands, constants.
type dag struct {
	r      *rand.Rand
	g      *ir.Graph
	values []*ir.Value
	// inexact allows functions that the C library and the interpreter round
	// differently.
	inexact bool
}

// kinds are the element types that a graph is made of: quantised ones, and
// plain ones with conversions between them.
var kinds = []tensor.DType{tensor.F32, tensor.F32, tensor.I8, tensor.I16, tensor.F32, tensor.I8, tensor.I32, tensor.F16,
	tensor.F64, tensor.Bool}

func (d *dag) quantise(v *ir.Value, t tensor.DType) *ir.Value {
	zero := int32(0)
	if t == tensor.I8 {
		zero = int32(d.r.IntN(100) - 50)
	}
	v.Type = v.Type.WithQuant(t, ir.PerTensor(float32(d.r.Float64()*0.05+0.001), zero))
	return v
}

// must gives the one result of a node.
func must(n *ir.Node, err error) *ir.Value { return bug.Must(n, err).Out[0] }

// pick is a value of the type, mostly a late one.
func (d *dag) pick(t tensor.DType) *ir.Value {
	of := lists.Filter(d.values, func(v *ir.Value) bool { return v.Type.DType == t })
	return of[max(0, len(of)-1-d.r.IntN(4))]
}

// other is a second operand: a value, or a constant that may be broadcast.
func (d *dag) other(t tensor.DType, name string, shape []int) *ir.Value {
	if d.r.IntN(3) > 0 {
		return d.pick(t)
	}
	s := slices.Clone(shape[d.r.IntN(len(shape)):])
	for i := range s {
		if d.r.IntN(2) == 0 {
			s[i] = 1
		}
	}
	c := ir.Rand(d.r.Uint64(), t, s)
	if t == tensor.I32 {
		for i := range c.Len() {
			c.SetInt(i, c.Int(i)%1000)
		}
	}
	v := d.g.AddConst(name+".c", c)
	if t == tensor.I8 || t == tensor.I16 {
		d.quantise(v, t)
	}
	return v
}

func (d *dag) add(o *ir.OpDef, name string, in ...*ir.Value) *ir.Value {
	return must(d.g.Add(o, name, nil, 1, in...))
}

func pickOp(r *rand.Rand, ops ...*ir.OpDef) *ir.OpDef { return ops[r.IntN(len(ops))] }

// grow adds a node that computes a value of type t.
func (d *dag) grow(t tensor.DType, name string, shape []int) {
	r, x := d.r, d.pick(t)
	var y *ir.Value
	switch t {
	case tensor.I8, tensor.I16:
		switch k := r.IntN(8); {
		case k < 2:
			y = d.add(pickOp(r, op.Sigmoid, op.Tanh, op.HardSwish, op.Relu, op.Requantize), name, x)
		case k < 7:
			y = d.add(pickOp(r, op.Add, op.Mul, op.Mul, op.Add, op.Sub), name, x, d.other(t, name, shape))
		default:
			y = d.add(op.Max, name, x, x)
			y.Type = x.Type
			d.values = append(d.values, y)
			return
		}
		d.values = append(d.values, d.quantise(y, t))
		return
	case tensor.Bool:
		if r.IntN(2) == 0 {
			y = d.add(pickOp(r, op.Less, op.GreaterOrEqual, op.Equal), name, d.pick(tensor.F32),
				d.other(tensor.F32, name, shape))
		} else {
			y = d.add(pickOp(r, op.And, op.Or, op.Xor), name, x, d.pick(t))
		}
	case tensor.I32:
		y = d.add(pickOp(r, op.Add, op.Sub, op.Min, op.Max, op.Mul), name, x, d.other(t, name, shape))
	default:
		exact := []*ir.OpDef{op.Neg, op.Abs, op.Relu, op.Floor, op.Sign, op.LeakyRelu, op.Round}
		if d.inexact && t == tensor.F32 {
			exact = []*ir.OpDef{op.Sigmoid, op.Tanh, op.Gelu, op.HardSwish, op.Elu, op.Swish, op.Erf, op.Softplus,
				op.HardSigmoid, op.Mish, op.Softsign}
		}
		switch k := r.IntN(9); {
		case k < 2:
			y = d.add(pickOp(r, exact...), name, x)
		case k == 2 && t == tensor.F32:
			y = d.add(op.Where, name, d.pick(tensor.Bool), x, d.other(t, name, shape))
		case k == 3 && t == tensor.F32:
			lo, hi := d.g.AddConst(name+".lo", tensor.Of(nil, []float32{-0.5})),
				d.g.AddConst(name+".hi", tensor.Of(nil, []float32{0.75}))
			y = d.add(op.Clip, name, x, lo, hi)
		case k == 4 && t == tensor.F32:
			y = d.add(op.Sqrt, name, d.add(op.Abs, name+".abs", x))
		case k == 5 && t == tensor.F32:
			y = d.add(op.PRelu, name, x, d.g.AddConst(name+".c", tensor.Of([]int{1}, []float32{0.3})))
		case k == 6:
			other := kinds[r.IntN(len(kinds))]
			if other == tensor.I8 || other == tensor.I16 {
				other = tensor.F32
			}
			y = must(d.g.Add(op.Cast, name, ir.Attrs{"to": ir.Int(t.ONNXCode())}, 1, d.pick(other)))
		default:
			y = d.add(pickOp(r, op.Add, op.Sub, op.Mul, op.Min, op.Max), name, x, d.other(t, name, shape))
		}
	}
	d.values = append(d.values, y)
}

// inputs declares operands of every type: whole ones and smaller ones.
func (d *dag) inputs(shape []int) {
	for i, t := range []tensor.DType{tensor.F32, tensor.I8, tensor.I16, tensor.I32, tensor.F16, tensor.F64,
		tensor.Bool} {
		for k := range 2 {
			s := slices.Clone(shape)
			if k == 1 && d.r.IntN(2) == 0 {
				for j := range s {
					if d.r.IntN(2) == 0 {
						s[j] = 1
					}
				}
			}
			v := d.g.AddInput(fmt.Sprintf("x%d_%d", i, k), ir.T(t, s...))
			if t == tensor.I8 || t == tensor.I16 {
				d.quantise(v, t)
			}
			d.values = append(d.values, v)
		}
	}
}

// outputs marks the last values of every type that were computed, and some in
// between.
func (d *dag) outputs() {
	seen := map[tensor.DType]bool{}
	for _, v := range slices.Backward(d.values) {
		if v.Def != nil && (!seen[v.Type.DType] || d.r.IntN(8) == 0) {
			seen[v.Type.DType] = true
			d.g.AddOutput("y"+v.Def.Name, v)
		}
	}
}

// randomDAG is a graph of the given number of nodes on a few element types.
func randomDAG(seed uint64, nodes int) *ir.Graph {
	r := rand.New(rand.NewPCG(seed, 77))
	d := &dag{r: r, g: ir.New("g")}
	shape := [][]int{{2, 3, 4, 5}, {7}, {3, 6}, {1, 4, 3, 3}, {2, 3, 8}}[r.IntN(5)]
	d.inputs(shape)
	types := []tensor.DType{kinds[r.IntN(len(kinds))], kinds[r.IntN(len(kinds))], tensor.F32, tensor.I8}
	for i := range nodes {
		d.grow(types[r.IntN(len(types))], fmt.Sprintf("n%d", i), shape)
	}
	d.outputs()
	d.g.RemoveDead()
	return d.g
}
