// SPDX-License-Identifier: Apache-2.0

package ir

import (
	"cmp"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/syntax"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/ir/types"
)

// Use is one reader of a value: input Index of Node.
type Use struct {
	Node  *Node
	Index int
}

// Value is defined once: by a node, as a graph input, or as a constant.
type Value struct {
	ID    int
	Name  string // the ONNX name, or a unique generated one
	Type  Type
	Def   *Node         // nil for graph inputs and constants
	Index int           // which output of Def
	Const *tensor.Dense // non-nil: known at compile time, in logical order
	// Holds names the quantised tensors of the model whose integers the value
	// holds, whatever passes have made of the nodes around it.
	Holds []string
	uses  []Use
}

// Uses are the readers of the value, in no particular order; graph outputs
// are not among them. The slice must not be changed.
func (v *Value) Uses() []Use { return v.uses }

// IsInput reports a graph input.
func (v *Value) IsInput() bool { return v.Def == nil && v.Const == nil }

// Storage is the value whose bytes v is a view of; v itself where it is no whole view.
func (v *Value) Storage() *Value {
	for v.Def != nil && v.Def.Op.View.Whole() {
		v = v.Def.In[0]
	}
	return v
}

func (v *Value) String() string {
	if v == nil {
		return "-"
	}
	return "%" + v.Name
}

// Node is one operator application.
type Node struct {
	ID     int
	Name   string
	Op     *OpDef
	Attrs  Attrs
	In     []*Value // nil where an optional input is absent
	Out    []*Value
	Body   []*Graph // subgraphs of If, Loop, Scan; closed: captured values are extra inputs
	Origin []string // names of the ONNX nodes it came from
	// Series: nodes of one series are one computation, made several times (the
	// steps of a recurrence): their results are quantised alike, so that
	// parameters and tables are stored once. "" for none.
	Series string
	// Chain names the layers with which it runs a few rows at a time, "" for none.
	Chain string

	decoded atomic.Pointer[decoded] // attributes as structs; see AttrsOf
	removed bool
	pos     int // where the graph's list last had it; see Graph.Index
}

// Removed reports whether the node was taken out of its graph.
func (n *Node) Removed() bool { return n.removed }

func (n *Node) String() string {
	if n == nil {
		return "graph"
	}
	return n.Op.Name + " " + strconv.Quote(n.Label())
}

// Label is the name of the ONNX node it came from, or its own.
func (n *Node) Label() string {
	if len(n.Origin) > 0 {
		return cmp.Or(n.Origin[0], n.Name)
	}
	return n.Name
}

// Input is input i, or nil when it is absent.
func (n *Node) Input(i int) *Value {
	if i < len(n.In) {
		return n.In[i]
	}
	return nil
}

// dropAbsent shortens the inputs by the absent ones at their end.
func (n *Node) dropAbsent() {
	for len(n.In) > 0 && n.In[len(n.In)-1] == nil {
		n.In = n.In[:len(n.In)-1]
	}
}

// ConstIn is the constant data of input i, or nil.
func (n *Node) ConstIn(i int) *tensor.Dense {
	if v := n.Input(i); v != nil {
		return v.Const
	}
	return nil
}

// Quantised reports whether the node computes on quantised values.
func (n *Node) Quantised() bool {
	for _, v := range n.Out {
		if v.Type.Quant != nil {
			return true
		}
	}
	return slices.ContainsFunc(n.In, func(v *Value) bool { return v != nil && v.Type.Quant != nil })
}

// Hold adds names to those of the tensors that v holds.
func (v *Value) Hold(names ...string) { v.Holds = append(v.Holds, names...) }

// Type is the type of a value.
type Type = types.Type

// Quant is how the integers of a value stand for reals.
type Quant = types.Quant

// T is a type in logical order without quantisation.
func T(d tensor.DType, shape ...int) Type { return types.T(d, shape...) }

// PerTensor is a Quant with one scale and zero point.
func PerTensor(scale float32, zero int32) *Quant { return types.PerTensor(scale, zero) }

// Identity is 0, 1, ..., n-1.
func Identity(n int) []int { return types.Identity(n) }

// NHWC is the channels-last memory order of a rank-n [N, C, spatial...] value.
func NHWC(rank int) []int { return types.NHWC(rank) }

// Rand is a seeded tensor for tests, the "rand SEED" of the text form.
func Rand(seed uint64, d tensor.DType, shape []int) *tensor.Dense { return syntax.Rand(seed, d, shape) }

// SetInput replaces input i of n (growing the list), keeping the use lists.
func (g *Graph) SetInput(n *Node, i int, v *Value) {
	for len(n.In) <= i {
		n.In = append(n.In, nil)
	}
	if old := n.In[i]; old != nil {
		old.dropUse(n, i)
	}
	n.In[i] = v
	if v != nil {
		v.uses = append(v.uses, Use{n, i})
	}
	n.dropAbsent()
}

func (v *Value) dropUse(n *Node, i int) {
	use := Use{n, i}
	for k, l := 0, len(v.uses)-1; k <= l; k, l = k+1, l-1 { // rewrites go through uses from either end
		if v.uses[k] == use {
			v.uses = append(v.uses[:k], v.uses[k+1:]...)
			return
		}
		if v.uses[l] == use {
			v.uses = append(v.uses[:l], v.uses[l+1:]...)
			return
		}
	}
	panic(bug.Errorf("use list of %s lacks %s", v, n))
}

// ReplaceUses makes every reader of old (graph outputs too) read v instead, which
// from then on holds the tensors that old held (Value.Holds).
func (g *Graph) ReplaceUses(old, v *Value) {
	if old == v {
		return
	}
	for _, u := range old.uses {
		u.Node.In[u.Index] = v
	}
	v.uses = append(v.uses, old.uses...)
	old.uses = nil
	v.Hold(old.Holds...)
	old.Holds = nil
	g.ReplaceOutput(old, v)
}

// SoleUse is the only reader of v, or nil when there are others or v is a
// graph output.
func (g *Graph) SoleUse(v *Value) *Node {
	if len(v.uses) != 1 || g.IsOutput(v) {
		return nil
	}
	return v.uses[0].Node
}

// AddOutput makes v a graph output under the given name.
func (g *Graph) AddOutput(name string, v *Value) {
	g.noteOutput(len(g.Out), v)
	g.Out = append(g.Out, v)
	g.OutNames = append(g.OutNames, name)
}

func (g *Graph) noteOutput(i int, v *Value) {
	if g.outs == nil {
		g.outs = map[*Value][]int{}
	}
	g.outs[v] = append(g.outs[v], i)
}

// SetOutput puts v in the place of output i, which keeps its name.
func (g *Graph) SetOutput(i int, v *Value) {
	old := g.Out[i]
	if at := g.outs[old]; len(at) > 1 {
		g.outs[old] = slices.DeleteFunc(at, func(k int) bool { return k == i })
	} else {
		delete(g.outs, old)
	}
	g.Out[i] = v
	g.noteOutput(i, v)
}

// ReplaceOutput puts v in the place of every output that is old.
func (g *Graph) ReplaceOutput(old, v *Value) {
	if old == v {
		return
	}
	at := g.outs[old]
	delete(g.outs, old)
	for _, i := range at {
		g.Out[i] = v
		g.noteOutput(i, v)
	}
}

// ClearOutputs takes all outputs away.
func (g *Graph) ClearOutputs() { g.Out, g.OutNames, g.outs = nil, nil, nil }

// IsOutput reports whether v is a graph output.
func (g *Graph) IsOutput(v *Value) bool { return len(g.outs[v]) > 0 }
