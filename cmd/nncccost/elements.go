// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/cost"
	"github.com/nncc/nncc/lower/option"
)

// elementLayers are element-wise operators in a row.
type elementLayers struct {
	precision option.Precision
	loops     bool // computed in one loop, whether that pays or not
}

// elements is a kind of layers of two to six element-wise operators.
func elements(name string, p option.Precision, loops bool) kind {
	return kind{name: name, elements: &elementLayers{p, loops}, draw: func(r *rand.Rand) cost.Geometry {
		c := channels(r)
		s := elementwise(c * (4 + r.IntN(60)))
		s.Groups = c
		return s
	}, add: addElements}
}

// elementOps are operators of one and of two operands. Those that call the C
// library in float32 are left out there (cost.Parts.Library).
var elementOps = [2][]*ir.OpDef{{op.Relu, op.LeakyRelu, op.Neg, op.HardSwish, op.Sigmoid, op.Tanh, nil},
	{op.Add, op.Mul, op.Sub, op.Max, op.Min, op.Div}}

// addElements adds operators in a row, each on the result of the one before and,
// where it has two operands, an input of its own or a constant per channel.
func addElements(g *ir.Graph, name string, s cost.Geometry, seed uint64) (*ir.Node, error) {
	r := rand.New(rand.NewPCG(seed, 5))
	inputs := 0
	input := func() *ir.Value {
		inputs++
		return g.AddInput(fmt.Sprintf("x%s_%d", name, inputs), ir.T(tensor.F32, 1, s.Groups, s.C/s.Groups))
	}
	operand := func() *ir.Value {
		if r.IntN(4) > 0 {
			return input()
		}
		inputs++
		return g.AddConst(fmt.Sprintf("c%s_%d", name, inputs), ir.Rand(r.Uint64(), tensor.F32, []int{s.Groups, 1}))
	}
	nodes := 0
	add := func(d *ir.OpDef, args ...*ir.Value) (*ir.Node, error) {
		nodes++
		return g.Add(d, fmt.Sprintf("%s_%d", name, nodes), nil, 1, args...)
	}
	x := input()
	var n *ir.Node
	var err error
	for count := 2 + r.IntN(5); count > 0; count-- {
		list := elementOps[min(r.IntN(3), 1)]
		switch d := list[r.IntN(len(list))]; {
		case d == nil: // one of two values
			if n, err = add(op.Greater, x, input()); err == nil {
				n, err = add(op.Where, n.Out[0], x, input())
			}
		case d.MinIn > 1 || d.MaxIn != 1:
			n, err = add(d, x, operand())
		default:
			n, err = add(d, x)
		}
		if err != nil {
			return nil, err
		}
		x = n.Out[0]
	}
	return n, nil
}
