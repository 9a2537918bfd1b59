// Package ir is the typed intermediate representation: graphs of operators
// over values in SSA form, with logical ONNX shapes, memory orders and
// quantisation in the types. See README.md for the text form and invariants.
package ir

import (
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/tensor"
)

// Use is one place where a value is read: input Index of Node.
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

// Storage is the value in whose bytes a whole view lies; v itself where it is
// none.
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
	suffix   map[string]int   // names up to NAME.k-1 are taken
	outs     map[*Value][]int // where in Out a value stands; see SetOutput
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

// Add appends a node with nout outputs, infers their types and returns it.
func (g *Graph) Add(op *OpDef, name string, attrs Attrs, nout int, in ...*Value) (*Node, error) {
	return g.InsertBefore(nil, op, name, attrs, nout, in...)
}

// InsertBefore is Add in front of node at (nil: at the end). Inputs must be
// defined before that place. The output of a one-output node is called name.
func (g *Graph) InsertBefore(at *Node, op *OpDef, name string, attrs Attrs, nout int, in ...*Value) (*Node, error) {
	n := &Node{ID: g.id(), Name: name, Op: op, Attrs: attrs, In: in}
	for len(n.In) > 0 && n.In[len(n.In)-1] == nil {
		n.In = n.In[:len(n.In)-1]
	}
	n.Out = make([]*Value, nout)
	types, err := InferNode(n)
	if err != nil {
		return nil, err
	}
	g.attach(n, types)
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
	g.attachNamed(n, types, outNames)
	g.append(n)
	return nil
}

func (g *Graph) attach(n *Node, types []Type) { g.attachNamed(n, types, nil) }

func (g *Graph) attachNamed(n *Node, types []Type, names []string) {
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

// InferNode runs the operator's checks of arity and attributes and its Infer.
func InferNode(n *Node) ([]Type, error) {
	op := n.Op
	if len(n.In) < op.MinIn || op.MaxIn >= 0 && len(n.In) > op.MaxIn {
		want := fmt.Sprintf("%d to %d", op.MinIn, op.MaxIn)
		if op.MaxIn < 0 {
			want = fmt.Sprintf("at least %d", op.MinIn)
		}
		return nil, Errf(n, "arity", "has %d inputs, want %s", len(n.In), want)
	}
	for i := 0; i < op.MinIn; i++ {
		if n.In[i] == nil {
			return nil, Errf(n, "arity", "input %d is missing", i)
		}
	}
	for _, s := range op.Attrs {
		if a, ok := n.Attrs[s.Name]; ok && a.Kind != s.Kind {
			return nil, Errf(n, "attr-kind", "attribute %s has the wrong type", s.Name)
		} else if !ok && s.Required {
			return nil, Errf(n, "attr-missing", "attribute %s is required", s.Name)
		}
	}
	types, err := op.Infer(n)
	if err != nil {
		return nil, err
	}
	if len(types) < len(n.Out) {
		return nil, Errf(n, "arity", "gives %d outputs, %d are used", len(types), len(n.Out))
	}
	for i := range n.Out {
		if _, err := tensor.Elems(types[i].Shape); err != nil {
			return nil, Errf(n, "shape", "output %d: %v", i, err)
		}
	}
	return types, nil
}

// Reinfer recomputes the types of a node's outputs after its inputs or
// attributes changed; memory order and quantisation of the outputs are kept
// where the shape is unchanged.
func (g *Graph) Reinfer(n *Node) error {
	types, err := InferNode(n)
	if err != nil {
		return err
	}
	for i, v := range n.Out {
		old := v.Type
		t := types[i]
		if old.Quant != nil {
			t.DType, t.Quant = old.DType, old.Quant
		}
		if len(old.Shape) == len(t.Shape) {
			t.Order = old.Order
		}
		v.Type = t
	}
	return nil
}

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
	for len(n.In) > 0 && n.In[len(n.In)-1] == nil {
		n.In = n.In[:len(n.In)-1]
	}
}

// Hold adds names to those of the tensors that v holds.
func (v *Value) Hold(names ...string) { v.Holds = append(v.Holds, names...) }

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

// ReplaceUses makes every reader of old (graph outputs too) read v instead,
// which stands for what old stood for from now on.
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

// IsOutput reports whether v is a graph output.
func (g *Graph) IsOutput(v *Value) bool { return len(g.outs[v]) > 0 }

// SoleUse is the only reader of v, or nil when there are others or v is a
// graph output.
func (g *Graph) SoleUse(v *Value) *Node {
	if len(v.uses) != 1 || g.IsOutput(v) {
		return nil
	}
	return v.uses[0].Node
}

// Remove deletes a node whose outputs nobody reads.
func (g *Graph) Remove(n *Node) {
	for _, v := range n.Out {
		if len(v.uses) > 0 || g.IsOutput(v) {
			panic(bug.Errorf("removing %s while %s is in use", n, v))
		}
	}
	g.detach(n)
	i := g.Index(n)
	if i < 0 {
		panic(bug.Errorf("removing a node of another graph"))
	}
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
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		n := g.Nodes[i]
		live := false
		for _, v := range n.Out {
			live = live || len(v.uses) > 0 || g.IsOutput(v)
		}
		if live {
			kept = append(kept, n)
		} else {
			g.detach(n)
			removed++
		}
	}
	for i, j := 0, len(kept)-1; i < j; i, j = i+1, j-1 {
		kept[i], kept[j] = kept[j], kept[i]
	}
	g.Nodes = kept
	return removed
}

// RemoveUnread is RemoveDead for the nodes that make the given values and for
// what then is read by nobody. It gives the nodes that went, in the order of the
// graph.
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

// Sort restores topological order, keeping the present order where it is
// free; false when there is a cycle.
func (g *Graph) Sort() bool {
	pos := make(map[*Node]int, len(g.Nodes))
	missing := make(map[*Node]int, len(g.Nodes))
	for i, n := range g.Nodes {
		pos[n] = i
	}
	var ready nodeHeap
	for i, n := range g.Nodes {
		for _, v := range n.In {
			if v != nil && v.Def != nil {
				missing[n]++
			}
		}
		if missing[n] == 0 {
			ready.push(i)
		}
	}
	out := make([]*Node, 0, len(g.Nodes))
	for len(ready) > 0 {
		n := g.Nodes[ready.pop()]
		out = append(out, n)
		for _, v := range n.Out {
			for _, u := range v.uses {
				if missing[u.Node]--; missing[u.Node] == 0 {
					ready.push(pos[u.Node])
				}
			}
		}
	}
	if len(out) != len(g.Nodes) {
		return false
	}
	g.Nodes = out
	return true
}

// nodeHeap is a minimal binary heap of positions.
type nodeHeap []int

func (h *nodeHeap) push(x int) {
	*h = append(*h, x)
	s := *h
	for i := len(s) - 1; i > 0; {
		p := (i - 1) / 2
		if s[p] <= s[i] {
			break
		}
		s[p], s[i] = s[i], s[p]
		i = p
	}
}

func (h *nodeHeap) pop() int {
	s := *h
	top, last := s[0], len(s)-1
	s[0] = s[last]
	s = s[:last]
	for i := 0; ; {
		c := 2*i + 1
		if c >= last {
			break
		}
		if c+1 < last && s[c+1] < s[c] {
			c++
		}
		if s[i] <= s[c] {
			break
		}
		s[i], s[c] = s[c], s[i]
		i = c
	}
	*h = s
	return top
}

// Clone is a deep copy of the graph; constants are shared.
func (g *Graph) Clone() *Graph {
	c := New(g.Name)
	c.nextID = g.nextID
	m := map[*Value]*Value{}
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
	for _, v := range g.In {
		c.In = append(c.In, val(v))
	}
	for _, n := range g.Nodes {
		k := &Node{ID: n.ID, Name: n.Name, Op: n.Op, Attrs: n.Attrs.Clone(), Origin: n.Origin}
		for _, b := range n.Body {
			k.Body = append(k.Body, b.Clone())
		}
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
