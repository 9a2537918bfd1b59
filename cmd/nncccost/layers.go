// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"os"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/cost"
	"github.com/nncc/nncc/lower/option"
)

// relu puts an activation behind a layer, which becomes part of it.
func relu(add func(*ir.Graph, string, cost.Geometry, uint64) (*ir.Node, error)) func(*ir.Graph, string, cost.Geometry,
	uint64) (*ir.Node, error) {
	return func(g *ir.Graph, name string, s cost.Geometry, seed uint64) (*ir.Node, error) {
		n, err := add(g, name, s, seed)
		if err != nil {
			return nil, err
		}
		_, err = g.Add(op.Relu, name+".relu", nil, 1, n.Out[0])
		return n, err
	}
}

func addConv(g *ir.Graph, name string, s cost.Geometry, seed uint64) (*ir.Node, error) {
	x := g.AddInput("x"+name, ir.T(tensor.F32, s.N, s.C, s.IH, s.IW))
	w := g.AddConst("w"+name, ir.Rand(seed, tensor.F32, []int{s.OC, s.C / s.Groups, s.KH, s.KW}))
	b := g.AddConst("b"+name, ir.Rand(seed+1, tensor.F32, []int{s.OC}))
	return g.Add(op.Conv, name, ir.Attrs{"group": ir.Int(s.Groups), "strides": ir.Ints(s.SH, s.SW),
		"dilations": ir.Ints(s.DH, s.DW), "pads": ir.Ints(s.PH, s.PW, s.PH, s.PW)}, 1, x, w, b)
}

func addGemm(g *ir.Graph, name string, s cost.Geometry, seed uint64) (*ir.Node, error) {
	x := g.AddInput("x"+name, ir.T(tensor.F32, s.N, s.C))
	w := g.AddConst("w"+name, ir.Rand(seed, tensor.F32, []int{s.OC, s.C}))
	b := g.AddConst("b"+name, ir.Rand(seed+1, tensor.F32, []int{s.OC}))
	return g.Add(op.Gemm, name, ir.Attrs{"transB": ir.Int(1)}, 1, x, w, b)
}

func addPool(d *ir.OpDef) func(g *ir.Graph, name string, s cost.Geometry, seed uint64) (*ir.Node, error) {
	return func(g *ir.Graph, name string, s cost.Geometry, _ uint64) (*ir.Node, error) {
		x := g.AddInput("x"+name, ir.T(tensor.F32, s.N, s.C, s.IH, s.IW))
		return g.Add(d, name, ir.Attrs{"kernel_shape": ir.Ints(s.KH, s.KW), "strides": ir.Ints(s.SH, s.SW),
			"pads": ir.Ints(s.PH, s.PW, s.PH, s.PW)}, 1, x)
	}
}

func addAdd(g *ir.Graph, name string, s cost.Geometry, _ uint64) (*ir.Node, error) {
	x := g.AddInput("x"+name, ir.T(tensor.F32, 1, s.C))
	y := g.AddInput("y"+name, ir.T(tensor.F32, 1, s.C))
	return g.Add(op.Add, name, nil, 1, x, y)
}

// addScaled adds a tensor and the multiple of another one, which has another scale then: most of these sums have no
// linear form.
func addScaled(g *ir.Graph, name string, s cost.Geometry, seed uint64) (*ir.Node, error) {
	x := g.AddInput("x"+name, ir.T(tensor.F32, 1, s.C))
	y := g.AddInput("y"+name, ir.T(tensor.F32, 1, s.C))
	factor := float32(0.1 + 0.8*rand.New(rand.NewPCG(seed, 6)).Float64())
	n, err := g.Add(op.Mul, name+".scaled", nil, 1, y, g.AddConst("f"+name, tensor.Scalar(factor)))
	if err != nil {
		return nil, err
	}
	return g.Add(op.Add, name, nil, 1, x, n.Out[0])
}

func writeModel(path string, ks []kind, n int) (_ map[string]bool, err error) {
	defer fail.Catch(&err)
	g, names := ir.New("layers"), map[string]bool{}
	for i := range ks {
		ks[i].layers(g, fmt.Sprintf("K%dL", i), n, names)
	}
	m := fail.Must(onnx.Export(g, onnx.ExportOptions{Producer: "nncccost"}))
	b := fail.Must(onnx.Marshal(m))
	return names, os.WriteFile(path, b, 0o644)
}

// layers adds n layers of the kind: the first ones are the same however many there are.
func (k *kind) layers(g *ir.Graph, prefix string, n int, names map[string]bool) {
	r := rand.New(rand.NewPCG(uint64(len(k.name)), 77))
	for i := 0; i < n; {
		s := k.draw(r)
		if s.OH < 1 || s.OW < 1 || s.OH*s.OW*s.OC*s.KH*s.KW*s.C/s.Groups > 400_000 {
			continue
		}
		name := fmt.Sprint(prefix, i)
		node := fail.Must(k.add(g, name, s, uint64(i)*7+3))
		node.Origin = []string{name}
		out := node.Out[0]
		if u := out.Uses(); len(u) > 0 {
			out = u[0].Node.Out[0]
		}
		g.AddOutput("out"+name, out)
		names[name] = true
		i++
	}
}

// addPad adds channels behind those of a map.
func addPad(g *ir.Graph, name string, s cost.Geometry, _ uint64) (*ir.Node, error) {
	x := g.AddInput("x"+name, ir.T(tensor.F32, 1, s.C, 1, s.IW))
	n, err := g.Add(op.Pad, name, ir.Attrs{"mode": ir.Str("constant")}, 1, x,
		g.AddConst("pads"+name, tensor.Ints(0, 0, 0, 0, 0, s.OC-s.C, 0, 0)))
	if err != nil {
		return nil, err
	}
	// Alone it would not be quantised.
	_, err = g.Add(op.Conv, name+".after", nil, 1, n.Out[0],
		g.AddConst("w"+name, ir.Rand(1, tensor.F32, []int{1, s.OC, 1, 1})))
	return n, err
}

// addTransposed goes from the output of a window to its input.
func addTransposed(g *ir.Graph, name string, s cost.Geometry, seed uint64) (*ir.Node, error) {
	x := g.AddInput("x"+name, ir.T(tensor.F32, s.N, s.C, s.OH, s.OW))
	w := g.AddConst("w"+name, ir.Rand(seed, tensor.F32, []int{s.C, s.OC / s.Groups, s.KH, s.KW}))
	b := g.AddConst("b"+name, ir.Rand(seed+1, tensor.F32, []int{s.OC}))
	return g.Add(op.ConvTranspose, name, ir.Attrs{"group": ir.Int(s.Groups), "strides": ir.Ints(s.SH, s.SW),
		"pads": ir.Ints(s.PH, s.PW, s.PH, s.PW)}, 1, x, w, b)
}

// addProducts multiplies two activations.
func addProducts(g *ir.Graph, name string, s cost.Geometry, _ uint64) (*ir.Node, error) {
	x := g.AddInput("x"+name, ir.T(tensor.F32, s.Groups, s.N, s.C))
	y := g.AddInput("y"+name, ir.T(tensor.F32, s.Groups, s.C, s.OC))
	return g.Add(op.MatMul, name, nil, 1, x, y)
}

// addSoftmax divides the exponentials of rows by their sums.
func addSoftmax(g *ir.Graph, name string, s cost.Geometry, _ uint64) (*ir.Node, error) {
	return g.Add(op.Softmax, name, nil, 1, g.AddInput("x"+name, ir.T(tensor.F32, s.N, s.C)))
}

// addConcat puts rows of several widths behind each other.
func addConcat(g *ir.Graph, name string, s cost.Geometry, seed uint64) (*ir.Node, error) {
	r := rand.New(rand.NewPCG(seed, 6))
	x := g.AddInput("x"+name, ir.T(tensor.F32, s.N, s.C*s.Groups*4))
	var in []*ir.Value
	for at := 0; len(in) < s.Groups; {
		to := at + s.C + r.IntN(2*s.C)
		part, err := cut(g, fmt.Sprintf("%s.%d", name, len(in)), x, 1, at, to)
		if err != nil {
			return nil, err
		}
		in, at = append(in, part), to
	}
	n, err := g.Add(op.Concat, name, ir.Attrs{"axis": ir.Int(1)}, 1, in...)
	return quantised(g, name, n, err)
}

// quantised puts a function behind data movement, which alone would be that of floats.
func quantised(g *ir.Graph, name string, n *ir.Node, err error) (*ir.Node, error) {
	if err == nil {
		_, err = g.Add(op.Tanh, name+".after", nil, 1, n.Out[0])
	}
	return n, err
}

// cut is a part of a value along an axis, with its scale.
func cut(g *ir.Graph, name string, x *ir.Value, axis, from, to int) (*ir.Value, error) {
	n, err := g.Add(op.Slice, name, nil, 1, x, g.AddConst("from"+name, tensor.Ints(from)),
		g.AddConst("to"+name, tensor.Ints(to)), g.AddConst("axis"+name, tensor.Ints(axis)))
	if err != nil {
		return nil, err
	}
	return n.Out[0], nil
}

// addEqual adds two tensors of one scale.
func addEqual(g *ir.Graph, name string, s cost.Geometry, _ uint64) (_ *ir.Node, err error) {
	defer fail.Catch(&err)
	x := g.AddInput("x"+name, ir.T(tensor.F32, 2, s.C))
	a := fail.Must(cut(g, name+".a", x, 0, 0, 1))
	b := fail.Must(cut(g, name+".b", x, 0, 1, 2))
	return g.Add(op.Add, name, nil, 1, a, b)
}

// addRecurrent computes a layer with so many gates.
func addRecurrent(d *ir.OpDef, gates int) func(g *ir.Graph, name string, s cost.Geometry, seed uint64) (*ir.Node,
	error) {
	return func(g *ir.Graph, name string, s cost.Geometry, seed uint64) (*ir.Node, error) {
		x := g.AddInput("x"+name, ir.T(tensor.F32, s.N, 1, s.C))
		w := g.AddConst("w"+name, ir.Rand(seed, tensor.F32, []int{1, gates * s.OC, s.C}))
		u := g.AddConst("u"+name, ir.Rand(seed+1, tensor.F32, []int{1, gates * s.OC, s.OC}))
		b := g.AddConst("b"+name, ir.Rand(seed+2, tensor.F32, []int{1, 2 * gates * s.OC}))
		return g.Add(d, name, ir.Attrs{"hidden_size": ir.Int(s.OC)}, 1, x, w, u, b)
	}
}

// addTranspose exchanges rows and columns, for a function that is computed in int8.
func addTranspose(g *ir.Graph, name string, s cost.Geometry, _ uint64) (*ir.Node, error) {
	x := g.AddInput("x"+name, ir.T(tensor.F32, s.N, s.IW, s.C))
	n, err := g.Add(op.Transpose, name, ir.Attrs{"perm": ir.Ints(0, 2, 1)}, 1, x)
	return quantised(g, name, n, err)
}

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
