// SPDX-License-Identifier: Apache-2.0

// Package ir is the typed intermediate representation: graphs of operators
// over values in SSA form, with logical ONNX shapes, memory orders and
// quantisation in the types. See README.md for the text form and invariants.
package ir

import (
	"slices"
	"strconv"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/tensor"
)

// Graph is a list of nodes in topological order with inputs and outputs. Outputs
// change by AddOutput, SetOutput and their like only.
type Graph struct {
	Name     string
	In       []*Value
	Out      []*Value
	OutNames []string // names of the outputs, kept whatever value is put there
	Nodes    []*Node
	nextID   int
	names    map[string]bool
	suffix   map[string]int   // names up to NAME.k-1 are in use
	outs     map[*Value][]int // the indices of a value in Out; see SetOutput
}

// New is an empty graph.
func New(name string) *Graph { return &Graph{Name: name, names: map[string]bool{}} }

func (g *Graph) id() int { g.nextID++; return g.nextID - 1 }

func (g *Graph) newValue(name string, t Type) *Value {
	name = g.unique(name)
	return &Value{ID: g.id(), Name: name, Type: t}
}

// AddInput appends a graph input.
func (g *Graph) AddInput(name string, t Type) *Value {
	v := g.newValue(name, t)
	g.In = append(g.In, v)
	return v
}

// AddConst makes a constant value; it lives as long as something uses it.
func (g *Graph) AddConst(name string, d *tensor.Dense) *Value {
	v := g.newValue(name, Type{DType: d.DType, Shape: d.Shape})
	v.Const = d
	return v
}

// Add appends a node with nout outputs, infers their types and returns it.
func (g *Graph) Add(op *OpDef, name string, attrs Attrs, nout int, in ...*Value) (*Node, error) {
	return g.InsertBefore(nil, op, name, attrs, nout, in...)
}

// InsertBefore is Add in front of node at (nil: at the end). Inputs must be
// defined before that place. The output of a one-output node is called name.
func (g *Graph) InsertBefore(at *Node, op *OpDef, name string, attrs Attrs, nout int, in ...*Value) (*Node, error) {
	n := &Node{ID: g.id(), Name: name, Op: op, Attrs: attrs, In: in}
	n.dropAbsent()
	n.Out = make([]*Value, nout)
	types, err := InferNode(n)
	if err != nil {
		return nil, err
	}
	g.attach(n, types, nil)
	if at == nil {
		g.append(n)
		return n, nil
	}
	i := g.Index(at)
	if i < 0 {
		panic(bug.Errorf("InsertBefore a node of another graph"))
	}
	n.pos = i
	g.Nodes = slices.Insert(g.Nodes, i, n)
	return n, nil
}

// AddNode appends a node that the caller has filled (Op, Attrs, In, Body,
// Origin, and Out with one entry per output, whose elements are ignored): for
// nodes with subgraphs. outNames may be nil.
func (g *Graph) AddNode(n *Node, outNames []string) error {
	n.ID = g.id()
	types, err := InferNode(n)
	if err != nil {
		return err
	}
	g.attach(n, types, outNames)
	g.append(n)
	return nil
}

// attach makes the outputs of n, called names (nil: after the node), and enters n
// in the use lists of its inputs.
func (g *Graph) attach(n *Node, types []Type, names []string) {
	for i := range n.Out {
		name := n.Name
		if names != nil {
			name = names[i]
		} else if i > 0 {
			name += "." + strconv.Itoa(i)
		}
		v := g.newValue(name, types[i])
		v.Def, v.Index = n, i
		n.Out[i] = v
	}
	for i, v := range n.In {
		if v != nil {
			v.uses = append(v.uses, Use{n, i})
		}
	}
}
