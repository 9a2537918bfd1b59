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

// layer is one that is drawn: its name, shape and seed, and the graph that it is added to.
type layer struct {
	*ir.Graph
	name string
	cost.Geometry
	seed uint64
}

// input, random and number are operands called after the layer, the numbers of random by its seed and what is added.
func (l *layer) input(what string, shape ...int) *ir.Value {
	return l.AddInput(what+l.name, ir.T(tensor.F32, shape...))
}

func (l *layer) random(what string, more uint64, shape ...int) *ir.Value {
	return l.AddConst(what+l.name, ir.Rand(l.seed+more, tensor.F32, shape))
}

func (l *layer) number(what string, d *tensor.Dense) *ir.Value { return l.AddConst(what+l.name, d) }

// node adds an operator with one result; part is what it is called after the layer's name.
func (l *layer) node(d *ir.OpDef, part string, attrs ir.Attrs, in ...*ir.Value) *ir.Node {
	return fail.Must(l.Add(d, l.name+part, attrs, 1, in...))
}

// relu puts an activation behind a layer, which becomes part of it.
func relu(add func(l *layer) *ir.Node) func(l *layer) *ir.Node {
	return func(l *layer) *ir.Node {
		n := add(l)
		l.node(op.Relu, ".relu", nil, n.Out[0])
		return n
	}
}

func addConv(l *layer) *ir.Node {
	return l.node(op.Conv, "", ir.Attrs{"group": ir.Int(l.Groups), "strides": ir.Ints(l.SH, l.SW),
		"dilations": ir.Ints(l.DH, l.DW), "pads": ir.Ints(l.PH, l.PW, l.PH, l.PW)}, l.input("x", l.N, l.C, l.IH, l.IW),
		l.random("w", 0, l.OC, l.C/l.Groups, l.KH, l.KW), l.random("b", 1, l.OC))
}

func addGemm(l *layer) *ir.Node {
	return l.node(op.Gemm, "", ir.Attrs{"transB": ir.Int(1)}, l.input("x", l.N, l.C), l.random("w", 0, l.OC, l.C),
		l.random("b", 1, l.OC))
}

func addPool(d *ir.OpDef) func(l *layer) *ir.Node {
	return func(l *layer) *ir.Node {
		return l.node(d, "", ir.Attrs{"kernel_shape": ir.Ints(l.KH, l.KW), "strides": ir.Ints(l.SH, l.SW),
			"pads": ir.Ints(l.PH, l.PW, l.PH, l.PW)}, l.input("x", l.N, l.C, l.IH, l.IW))
	}
}

func addAdd(l *layer) *ir.Node {
	return l.node(op.Add, "", nil, l.input("x", 1, l.C), l.input("y", 1, l.C))
}

// addScaled adds a tensor and the multiple of another one, which has another scale then: most of these sums have no
// linear form.
func addScaled(l *layer) *ir.Node {
	x, y := l.input("x", 1, l.C), l.input("y", 1, l.C)
	factor := float32(0.1 + 0.8*rand.New(rand.NewPCG(l.seed, 6)).Float64())
	n := l.node(op.Mul, ".scaled", nil, y, l.number("f", tensor.Scalar(factor)))
	return l.node(op.Add, "", nil, x, n.Out[0])
}

func writeModel(path string, ks []kind, n int) map[string]bool {
	g, names := ir.New("layers"), map[string]bool{}
	for i := range ks {
		ks[i].layers(g, fmt.Sprintf("K%dL", i), n, names)
	}
	m := fail.Must(onnx.Export(g, onnx.ExportOptions{Producer: "nncccost"}))
	b := fail.Must(onnx.Marshal(m))
	fail.Check(os.WriteFile(path, b, 0o644))
	return names
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
		node := k.add(&layer{g, name, s, uint64(i)*7 + 3})
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
func addPad(l *layer) *ir.Node {
	n := l.node(op.Pad, "", ir.Attrs{"mode": ir.Str("constant")}, l.input("x", 1, l.C, 1, l.IW),
		l.number("pads", tensor.Ints(0, 0, 0, 0, 0, l.OC-l.C, 0, 0)))
	// Alone it would not be quantised.
	l.node(op.Conv, ".after", nil, n.Out[0], l.number("w", ir.Rand(1, tensor.F32, []int{1, l.OC, 1, 1})))
	return n
}

// addTransposed goes from the output of a window to its input.
func addTransposed(l *layer) *ir.Node {
	return l.node(op.ConvTranspose, "", ir.Attrs{"group": ir.Int(l.Groups), "strides": ir.Ints(l.SH, l.SW),
		"pads": ir.Ints(l.PH, l.PW, l.PH, l.PW)}, l.input("x", l.N, l.C, l.OH, l.OW),
		l.random("w", 0, l.C, l.OC/l.Groups, l.KH, l.KW), l.random("b", 1, l.OC))
}

// addProducts multiplies two activations.
func addProducts(l *layer) *ir.Node {
	return l.node(op.MatMul, "", nil, l.input("x", l.Groups, l.N, l.C), l.input("y", l.Groups, l.C, l.OC))
}

// addSoftmax divides the exponentials of rows by their sums.
func addSoftmax(l *layer) *ir.Node { return l.node(op.Softmax, "", nil, l.input("x", l.N, l.C)) }

// addConcat puts rows of several widths behind each other.
func addConcat(l *layer) *ir.Node {
	r := rand.New(rand.NewPCG(l.seed, 6))
	x := l.input("x", l.N, l.C*l.Groups*4)
	var in []*ir.Value
	for at := 0; len(in) < l.Groups; {
		to := at + l.C + r.IntN(2*l.C)
		in, at = append(in, l.cut(fmt.Sprintf(".%d", len(in)), x, 1, at, to)), to
	}
	return l.quantised(l.node(op.Concat, "", ir.Attrs{"axis": ir.Int(1)}, in...))
}

// quantised puts a function behind data movement, which alone would be that of floats.
func (l *layer) quantised(n *ir.Node) *ir.Node {
	l.node(op.Tanh, ".after", nil, n.Out[0])
	return n
}

// cut is a part of a value along an axis, with its scale.
func (l *layer) cut(part string, x *ir.Value, axis, from, to int) *ir.Value {
	number := func(what string, i int) *ir.Value { return l.AddConst(what+l.name+part, tensor.Ints(i)) }
	return l.node(op.Slice, part, nil, x, number("from", from), number("to", to), number("axis", axis)).Out[0]
}

// addEqual adds two tensors of one scale.
func addEqual(l *layer) *ir.Node {
	x := l.input("x", 2, l.C)
	a, b := l.cut(".a", x, 0, 0, 1), l.cut(".b", x, 0, 1, 2)
	return l.node(op.Add, "", nil, a, b)
}

// addRecurrent computes a layer with so many gates.
func addRecurrent(d *ir.OpDef, gates int) func(l *layer) *ir.Node {
	return func(l *layer) *ir.Node {
		return l.node(d, "", ir.Attrs{"hidden_size": ir.Int(l.OC)}, l.input("x", l.N, 1, l.C),
			l.random("w", 0, 1, gates*l.OC, l.C), l.random("u", 1, 1, gates*l.OC, l.OC),
			l.random("b", 2, 1, 2*gates*l.OC))
	}
}

// addTranspose exchanges rows and columns, for a function that is computed in int8.
func addTranspose(l *layer) *ir.Node {
	x := l.input("x", l.N, l.IW, l.C)
	return l.quantised(l.node(op.Transpose, "", ir.Attrs{"perm": ir.Ints(0, 2, 1)}, x))
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
func addElements(l *layer) *ir.Node {
	r := rand.New(rand.NewPCG(l.seed, 5))
	operands, nodes := 0, 0
	next := func() string {
		operands++
		return fmt.Sprintf("%s_%d", l.name, operands)
	}
	input := func() *ir.Value { return l.AddInput("x"+next(), ir.T(tensor.F32, 1, l.Groups, l.C/l.Groups)) }
	operand := func() *ir.Value {
		if r.IntN(4) > 0 {
			return input()
		}
		return l.AddConst("c"+next(), ir.Rand(r.Uint64(), tensor.F32, []int{l.Groups, 1}))
	}
	add := func(d *ir.OpDef, args ...*ir.Value) *ir.Node {
		nodes++
		return l.node(d, fmt.Sprintf("_%d", nodes), nil, args...)
	}
	x := input()
	var n *ir.Node
	for count := 2 + r.IntN(5); count > 0; count-- {
		list := elementOps[min(r.IntN(3), 1)]
		switch d := list[r.IntN(len(list))]; {
		case d == nil: // one of two values
			n = add(op.Greater, x, input())
			n = add(op.Where, n.Out[0], x, input())
		case d.MinIn > 1 || d.MaxIn != 1:
			n = add(d, x, operand())
		default:
			n = add(d, x)
		}
		x = n.Out[0]
	}
	return n
}
