// SPDX-License-Identifier: Apache-2.0

package ir

import (
	"strconv"
	"sync/atomic"

	"github.com/nncc/nncc/ir/tensor"
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
	name := n.Name
	if len(n.Origin) > 0 && n.Origin[0] != "" {
		name = n.Origin[0]
	}
	return n.Op.Name + " " + strconv.Quote(name)
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
	for _, v := range n.In {
		if v != nil && v.Type.Quant != nil {
			return true
		}
	}
	return false
}

// Hold adds names to those of the tensors that v holds.
func (v *Value) Hold(names ...string) { v.Holds = append(v.Holds, names...) }
