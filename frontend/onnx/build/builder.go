// SPDX-License-Identifier: Apache-2.0

// Package build adds the nodes that one node of an ONNX model becomes to a graph:
// what upgrade, expand and importer have in common. It checks attributes, folds what
// is known, keeps names apart, and takes the work from one budget.
package build

import (
	"fmt"
	"math"

	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// Builder makes a graph of the nodes of a model.
type Builder struct {
	Graph  *ir.Graph
	Limits model.Limits
	Note   func(*diag.Diag) // warnings and notes for the user
	Rooms  *Rooms           // of results whose size only the data know
	// Texts are what the integers of a value stand for, or the columns of reals: places in a list.
	Texts map[*ir.Value][]string
	// TooMany says that Limits.Nodes was exceeded and reported: nothing is added
	// any more.
	TooMany bool

	budget    budget
	made      int            // nodes of the graph, of which one of the model may become many
	sequenced int            // lengths of all sequences
	named     map[string]int // how often a name was given to a value
	selected  []string       // If nodes of which both branches are computed
}

// New makes a builder for an empty graph; dims are the sizes that --dim gives.
func New(g *ir.Graph, lim model.Limits, dims map[string]int, note func(*diag.Diag)) *Builder {
	return &Builder{Graph: g, Limits: lim, Note: note, Rooms: newRooms(dims),
		budget: budget{lim.FoldWork, lim.FoldBytes}, named: map[string]int{},
		Texts: map[*ir.Value][]string{}}
}

// Const adds a constant under a name like the given one.
func (b *Builder) Const(name string, d *tensor.Dense) *ir.Value {
	return b.Graph.AddConst(b.Unique(name), d)
}

// Unique gives repeated names a number. ir.Graph would, too, but by trying all
// numbers from the first.
func (b *Builder) Unique(name string) string {
	k := b.named[name]
	b.named[name]++
	if k == 0 {
		return name
	}
	return fmt.Sprintf("%s.%d", name, k)
}

// perNode is how many nodes of the graph one of the model makes, in the mean:
// some operators are expanded, and Loops and Scans unrolled.
const perNode = 4

// addedFor counts a node of the graph, on behalf of one of the model.
func (b *Builder) addedFor(name string) error {
	if b.TooMany {
		return ErrReported
	}
	if b.made++; b.made <= perNode*b.Limits.Nodes {
		return nil
	}
	b.TooMany = true
	return &ir.Diag{Code: "too-many-nodes", Node: "graph, in " + model.Quote(name), Hint: model.Raise("nodes"),
		Msg: fmt.Sprintf("too many nodes: more than %d, four times the limit, "+
			"after operators are written as others and loops unrolled", perNode*b.Limits.Nodes)}
}

// budget bounds what an import computes, so that a small file cannot keep it
// busy for long or fill memory with constants. Everything that does work on
// behalf of a node takes it from here before: folding, iterations that are
// unrolled, calls that are expanded.
type budget struct {
	work  int64 // in the units of ir.Work
	bytes int64 // of results
}

// spend takes work and bytes from the budget; what asks for more than is left
// gets an error that says so. node and what are for the message: what would
// be done.
func (b *Builder) spend(node, what string, work, bytes int64) error {
	left := &b.budget
	if work <= left.work && bytes <= left.bytes {
		left.work -= work
		left.bytes -= bytes
		return nil
	}
	which := "fold-work"
	if work <= left.work {
		which = "fold-bytes"
	}
	return &ir.Diag{Code: "too-large", Node: node, Hint: model.Raise(which),
		Msg: fmt.Sprintf("too large to be computed at compile time: %s takes %d bytes of memory and %d elements and "+
			"multiplications, where %d and %d are left", what, bytes, work, left.bytes, left.work)}
}

// smallFold are shapes, axes and the like: what other nodes need to know at
// compile time is folded whatever else there was.
const smallFold = 4096

// fold evaluates a node whose inputs are all constants, and Shape and Size
// of any value: shapes are static here. What would cost too much is an error.
// A DequantizeLinear stays, too: it says how its constant is quantised.
func (b *Builder) fold(n *ir.Node, names []string) (_ []*ir.Value, _ bool, err error) {
	defer fail.Catch(&err)
	if n.Op.Impure || n.Op.Eval == nil || len(n.Body) > 0 || n.Op == op.DequantizeLinear {
		return nil, false, nil
	}
	in := make([]*tensor.Dense, len(n.In))
	shapeOnly := n.Op == op.Shape || n.Op == op.Size
	for i, v := range n.In {
		switch {
		case v == nil:
		case shapeOnly:
			in[i] = &tensor.Dense{DType: v.Type.DType, Shape: v.Type.Shape}
		case v.Const != nil:
			in[i] = v.Const
		default:
			return nil, false, nil
		}
	}
	types := fail.Must(ir.InferNode(n))
	bytes := int64(0)
	for i := range n.Out { // operators may ask for the types of their outputs
		n.Out[i] = &ir.Value{Name: names[i], Type: types[i], Def: n, Index: i}
		bytes += int64(tensor.Count(types[i].Shape)) * int64(types[i].DType.Size())
	}
	work := ir.Work(n)
	if shapeOnly {
		work = bytes
	}
	if work <= smallFold {
		b.budget.work -= min(work, b.budget.work)
	} else if err := b.spend(n.String(), "all its inputs are constants, and its result", work, bytes); err != nil {
		return nil, false, err
	}
	out := fail.Must(ir.EvalNode(n, in))
	vs := make([]*ir.Value, len(n.Out))
	for i := range vs {
		if i < len(out) && out[i] != nil {
			vs[i] = b.Graph.AddConst(names[i], out[i])
		}
	}
	return vs, true, nil
}

// leastScale is the smallest normal number of float32: below it, one over the
// scale is no number, and a step has not the precision that it should have.
const leastScale = 0x1p-126

// CheckScale checks the scale in input i, of data that are dequantised with it;
// nil: something is quantised. It is a number that is finite and not negative, and no
// input of the model; scales that the model computes (dynamic quantisation) are left
// to run time. Only constants may have steps of no size: then all of them are 0, as
// weights of a channel that is off.
func (n *Node) CheckScale(i int, data *ir.Value) {
	s := n.Input(i)
	if s == nil {
		return // the arity is checked elsewhere
	}
	name := ""
	if i < len(n.InNames) {
		name = " " + model.Quote(n.InNames[i])
	}
	if s.IsInput() {
		fail.Check(n.Dynamicf("scale-dynamic", s,
			"the scale%s is an input of the model, want a constant (bind it with --set)", name))
	}
	if s.Const == nil {
		return
	}
	for k := range s.Const.Len() {
		v := s.Const.Float(k)
		n.Want(v == v && !math.IsInf(v, 0), "scale-value", "the scale%s holds %v at index %d, want a finite number",
			name, v, k)
		n.Want(v >= 0, "scale-value", "the scale%s holds %v at index %d, want a positive number", name, v, k)
		n.Want(v >= leastScale || data != nil && data.Const != nil, "scale-value",
			"the scale%s holds %v at index %d, want at least %g: data have no steps of that size", name, v, k,
			leastScale)
	}
}
