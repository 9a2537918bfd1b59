// SPDX-License-Identifier: Apache-2.0

// Package ir is the typed intermediate representation: graphs of operators
// over values in SSA form, with logical ONNX shapes, memory orders and
// quantisation in the types. See README.md for the text form and invariants.
package ir

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
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

// AddQuantConst is AddConst for data with the quantisation q, or nil.
func (g *Graph) AddQuantConst(name string, d *tensor.Dense, q *Quant) *Value {
	v := g.AddConst(name, d)
	v.Type.Quant = q
	return v
}

// Add appends a node with nout outputs, infers their types and returns it.
func (g *Graph) Add(op *OpDef, name string, attrs Attrs, nout int, in ...*Value) (*Node, error) {
	return g.InsertBefore(nil, op, name, attrs, nout, in...)
}

// InsertBefore is Add in front of node at (nil: at the end). Inputs must be
// defined before that place. The output of a one-output node is called name.
func (g *Graph) InsertBefore(at *Node, op *OpDef, name string, attrs Attrs, nout int, in ...*Value) (_ *Node,
	err error) {
	defer fail.Catch(&err)
	n := &Node{ID: g.id(), Name: name, Op: op, Attrs: attrs, In: in}
	n.dropAbsent()
	n.Out = make([]*Value, nout)
	types := fail.Must(InferNode(n))
	g.attach(n, types, nil)
	if at == nil {
		g.append(n)
		return n, nil
	}
	i := g.Index(at)
	bug.If(i < 0, "InsertBefore a node of another graph")
	n.pos = i
	g.Nodes = slices.Insert(g.Nodes, i, n)
	return n, nil
}

// Insert is InsertBefore for a node of one output, which it gives, with the origin of
// like (nil: none). An error ends the caller (ir/fail).
func (g *Graph) Insert(at, like *Node, op *OpDef, name string, attrs Attrs, in ...*Value) *Value {
	n := fail.Must(g.InsertBefore(at, op, name, attrs, 1, in...))
	if like != nil {
		n.Origin = like.Origin
	}
	return n.Out[0]
}

// Again puts a copy of n with other inputs in front of it. An error ends the caller (ir/fail).
func (g *Graph) Again(n *Node, in ...*Value) *Node {
	m := fail.Must(g.InsertBefore(n, n.Op, n.Name, n.Attrs.Clone(), len(n.Out), in...))
	m.Origin = n.Origin
	return m
}

// AddNode appends a node that the caller has filled (Op, Attrs, In, Body,
// Origin, and Out with one entry per output, whose elements are ignored): for
// nodes with subgraphs. outNames may be nil.
func (g *Graph) AddNode(n *Node, outNames []string) (err error) {
	defer fail.Catch(&err)
	n.ID = g.id()
	types := fail.Must(InferNode(n))
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

func (g *Graph) append(n *Node) {
	n.pos = len(g.Nodes)
	g.Nodes = append(g.Nodes, n)
}

// near is how far Index looks around the place that a node had before it
// numbers the whole list anew: that many nodes came or went since then.
const near = 256

// Index is the place of n in Nodes, -1 where it is not in the graph. It is
// found near its last place, so that rewriting a long list node by node stays
// cheap.
func (g *Graph) Index(n *Node) int {
	for d := 0; d <= near; d++ {
		for _, i := range [2]int{n.pos - d, n.pos + d} {
			if i >= 0 && i < len(g.Nodes) && g.Nodes[i] == n {
				n.pos = i
				return i
			}
		}
	}
	for i, m := range g.Nodes {
		m.pos = i
	}
	if n.pos < len(g.Nodes) && g.Nodes[n.pos] == n {
		return n.pos
	}
	return -1
}

// Next is the node behind n, nil at the end.
func (g *Graph) Next(n *Node) *Node {
	if i := g.Index(n); i+1 < len(g.Nodes) {
		return g.Nodes[i+1]
	}
	return nil
}

// maxOrigins is how many ONNX nodes a node names that it came from: chains of
// thousands that become one node would otherwise carry all their names along.
const maxOrigins = 256

// Inherit adds the origins of nodes that n replaces or takes in.
func (n *Node) Inherit(from ...*Node) {
	have := lists.Set(n.Origin)
	list := slices.Clip(n.Origin) // others may share it
	for _, m := range from {
		n.Chain = cmp.Or(n.Chain, m.Chain)
		for _, o := range m.Origin {
			if !have[o] && len(list) < maxOrigins {
				have[o] = true
				list = append(list, o)
			}
		}
	}
	n.Origin = list
}

// unique makes a value name that no other value of the graph has.
func (g *Graph) unique(name string) string {
	if name == "" {
		name = "v" + strconv.Itoa(g.nextID)
	}
	if !g.names[name] {
		g.names[name] = true
		return name
	}
	for k := max(g.suffix[name], 1); ; k++ {
		s := name + "." + strconv.Itoa(k)
		if !g.names[s] {
			g.names[s] = true
			if g.suffix == nil {
				g.suffix = map[string]int{}
			}
			g.suffix[name] = k + 1
			return s
		}
	}
}

// free gives a name back.
func (g *Graph) free(name string) {
	delete(g.names, name)
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return
	}
	if next, ok := g.suffix[name[:i]]; ok {
		if k, err := strconv.Atoi(name[i+1:]); err == nil && k < next {
			g.suffix[name[:i]] = k
		}
	}
}

// Names of values.
func Names(vs []*Value) []string {
	return lists.Map(vs, func(v *Value) string { return v.Name })
}

// Clone is a deep copy of the graph; constants are shared.
func (g *Graph) Clone() *Graph {
	c := New(g.Name)
	c.nextID = g.nextID
	m := make(map[*Value]*Value, len(g.names))
	val := func(v *Value) *Value {
		if v == nil {
			return nil
		}
		w := m[v]
		if w == nil {
			w = &Value{ID: v.ID, Name: v.Name, Type: v.Type, Index: v.Index, Const: v.Const,
				Holds: slices.Clip(v.Holds)}
			c.names[v.Name] = true
			m[v] = w
		}
		return w
	}
	c.In = append(c.In, lists.Map(g.In, val)...)
	for _, n := range g.Nodes {
		k := &Node{ID: n.ID, Name: n.Name, Op: n.Op, Attrs: n.Attrs.Clone(), Origin: n.Origin, Series: n.Series,
			Chain: n.Chain}
		k.Body = append(k.Body, lists.Map(n.Body, (*Graph).Clone)...)
		for i, v := range n.In {
			w := val(v)
			k.In = append(k.In, w)
			if w != nil {
				w.uses = append(w.uses, Use{k, i})
			}
		}
		for i, v := range n.Out {
			w := val(v)
			w.Def, w.Index = k, i
			k.Out = append(k.Out, w)
		}
		c.Nodes = append(c.Nodes, k)
	}
	for i, v := range g.Out {
		c.AddOutput(g.OutNames[i], val(v))
	}
	return c
}

// Remove deletes a node; its outputs must have no readers.
func (g *Graph) Remove(n *Node) {
	for _, v := range n.Out {
		bug.If(len(v.uses) > 0 || g.IsOutput(v), "removing %s while %s is in use", n, v)
	}
	g.detach(n)
	i := g.Index(n)
	bug.If(i < 0, "removing a node of another graph")
	g.Nodes = append(g.Nodes[:i], g.Nodes[i+1:]...)
}

func (g *Graph) detach(n *Node) {
	n.removed = true
	for i, v := range n.In {
		if v != nil {
			v.dropUse(n, i)
		}
	}
	for _, v := range n.Out {
		g.free(v.Name)
	}
}

// RemoveDead deletes every node from which no graph output is reached and
// reports how many went.
func (g *Graph) RemoveDead() int {
	kept := make([]*Node, 0, len(g.Nodes))
	removed := 0
	for _, n := range slices.Backward(g.Nodes) {
		if slices.ContainsFunc(n.Out, func(v *Value) bool { return len(v.uses) > 0 || g.IsOutput(v) }) {
			kept = append(kept, n)
		} else {
			g.detach(n)
			removed++
		}
	}
	slices.Reverse(kept)
	g.Nodes = kept
	return removed
}

// RemoveUnread removes the nodes that make the given values, if they have no readers,
// and then all nodes before them that lost their last reader. It gives the removed
// nodes, in the order of the graph.
func (g *Graph) RemoveUnread(vs ...*Value) []*Node {
	var gone []*Node
	readers := map[*Value]int{} // that stay
	going := map[*Node]bool{}
	left := func(v *Value) int {
		if _, ok := readers[v]; !ok {
			readers[v] = len(v.uses)
		}
		return readers[v]
	}
	look := func(v *Value) {
		if v == nil || v.Def == nil || v.Def.removed || going[v.Def] {
			return
		}
		if !slices.ContainsFunc(v.Def.Out, func(o *Value) bool { return left(o) > 0 || g.IsOutput(o) }) {
			going[v.Def] = true
			gone = append(gone, v.Def)
		}
	}
	for _, v := range vs {
		look(v)
	}
	for k := 0; k < len(gone); k++ {
		for _, v := range gone[k].In {
			if v != nil {
				readers[v] = left(v) - 1
				look(v)
			}
		}
	}
	slices.SortFunc(gone, func(a, b *Node) int { return g.Index(a) - g.Index(b) })
	for _, n := range slices.Backward(gone) {
		g.Remove(n)
	}
	return gone
}
