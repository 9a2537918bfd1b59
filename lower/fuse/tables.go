// SPDX-License-Identifier: Apache-2.0

package fuse

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
)

// Collapse turns every part of the graph that computes one 8-bit value from
// one other element by element into a Lookup: chains, and diamonds such as
// x*sigmoid(x). Values in between may be of any type: float32 between
// DequantizeLinear and QuantizeLinear, truth values. The 256 entries are what
// the interpreter gives for the nodes that go, each with its own rounding, so
// results stay the same bit for bit. Values in between that somebody else
// reads stay as they are. Where each byte gives itself, as where a factor is the
// quotient of the scales, nothing is computed: a BitCast. bound: constants are bound at run time, and what is
// nothing after one training is something after another one, so that it is computed.
func Collapse(g *ir.Graph, bound bool) (_ []Fusion, err error) {
	defer fail.Catch(&err)
	c := newCollapser(g)
	c.end, c.lone = byteValue, true
	c.make = func(n *ir.Node, part []*ir.Node, x *ir.Value) *ir.Node {
		codes := kernel.AllBytes(x.Type.DType, 1)
		table, err := evaluate(part, x, n.Out[0], codes)
		switch lone := c.unary(part); {
		case err != nil: // a division by zero, say: the nodes report it when it happens
			return nil
		case tensor.Equal(table, codes) && !shown(g, n.Out[0]) && !(lone && n.Op == op.BitCast) && !bound:
			to := ir.Attrs{"to": ir.Int(table.DType.ONNXCode())}
			return g.Insert(n, nil, op.BitCast, n.Name, to, x).Def
		case lone:
			return nil
		}
		return g.Insert(n, nil, op.Lookup, n.Name, nil, x, g.AddConst(n.Name+".table", table)).Def
	}
	c.run()
	return c.made(func(n *ir.Node, f *Fusion) { f.Kind = "table" }), nil
}

// collapser finds the parts of a graph that are a function of one value, and
// replaces each by a node.
type collapser struct {
	g *ir.Graph
	// end reports the values at which a part may begin and end.
	end func(v *ir.Value) bool
	// lone: a part may be one node of one operand.
	lone bool
	// make puts a node before n that computes the part, which ends in n, from
	// x; nil where there is none.
	make func(n *ir.Node, part []*ir.Node, x *ir.Value) *ir.Node
	from map[*ir.Value]origin
	// parts are the names of the nodes that went into a new one.
	parts map[*ir.Node][]string
	// kept are nodes whose parts were refused.
	kept map[*ir.Node]bool
}

// origin is what is known of a value: base, the one value that it is computed from; depth, the number
// of values from which it can be computed, of which jump is one far up (see meet); level, the
// number of nodes on the longest way to it.
type origin struct {
	base, jump   *ir.Value
	depth, level int
}

func newCollapser(g *ir.Graph) *collapser {
	return &collapser{g: g, from: map[*ir.Value]origin{}, parts: map[*ir.Node][]string{}, kept: map[*ir.Node]bool{}}
}

// maxPart bounds the nodes that become one in a step; what is longer takes
// more rounds. maxNames bounds the names of parts that are known of a new node:
// where all nodes of a long graph become tables, each has all before it in it.
const maxPart, maxNames = 256, 256

func (c *collapser) run() {
	c.g.RemoveDead()                // so that what only dead nodes read counts as private
	for changed := true; changed; { // a new node can leave another one with a single reader
		changed = false
		clear(c.from)
		for _, n := range c.g.Nodes {
			if elementwise(n) {
				level := 0
				for _, v := range n.In {
					level = max(level, c.from[v].level+1)
				}
				c.computed(n.Out[0], c.source(n), level)
			}
		}
		for _, n := range slices.Backward(slices.Clone(c.g.Nodes)) { // so that a chain becomes one node at once
			changed = c.node(n) || changed
		}
	}
}

// computed notes that v is a function of x, nil where there is none.
func (c *collapser) computed(v, x *ir.Value, level int) {
	y := origin{level: level}
	if x != nil {
		f := c.from[x]
		y.base, y.depth, y.jump = x, f.depth+1, x
		if j := c.from[f.jump]; f.jump != nil && f.depth-j.depth == j.depth-c.from[j.jump].depth {
			y.jump = j.jump // jumps double where they can
		}
	}
	c.from[v] = y
}

// made lists the new nodes, with what describe adds.
func (c *collapser) made(describe func(n *ir.Node, f *Fusion)) []Fusion {
	var done []Fusion
	for _, n := range c.g.Nodes {
		if p := c.parts[n]; p != nil {
			f := Fusion{Anchor: n.Name, Nodes: p}
			describe(n, &f)
			done = append(done, f)
		}
	}
	return done
}

// node replaces n when it, with what only it reads, is a function of one value
// that takes more than one node today.
func (c *collapser) node(n *ir.Node) bool {
	y := n.Out[0]
	if c.kept[n] || !elementwise(n) || !c.end(y) || len(y.Uses()) == 0 && !c.g.IsOutput(y) || c.from[y].base == nil {
		return false
	}
	from, whole := c.longest(n)
	if from == nil || !c.lone && c.unary(whole) {
		return false
	}
	m := c.make(n, whole, from)
	if m == nil {
		c.kept[n] = true
		return false
	}
	m.Inherit(whole...)
	for _, k := range whole {
		names := c.parts[k]
		if names == nil {
			names = []string{k.Name}
		}
		c.parts[m] = append(c.parts[m], names[:min(len(names), maxNames-len(c.parts[m]))]...)
	}
	m.Out[0].Type = y.Type
	c.g.ReplaceUses(y, m.Out[0])
	c.computed(m.Out[0], from, c.from[y].level)
	for _, k := range slices.Backward(whole) { // what only the old nodes read counts as private from now on
		if len(k.Out[0].Uses()) == 0 && !c.g.IsOutput(k.Out[0]) {
			c.g.Remove(k)
		}
	}
	return true
}

// shown reports a value whose bytes an output of the graph has: these are a value's own.
func shown(g *ir.Graph, v *ir.Value) bool {
	return slices.ContainsFunc(g.Out, func(o *ir.Value) bool { return o.Storage() == v.Storage() })
}

// unary reports a part that is one node of one operand.
func (c *collapser) unary(part []*ir.Node) bool { return len(part) == 1 && c.distinct(part[0]) == 1 }

// longest is the longest part that ends in n, and the value at which it begins; nil: none.
func (c *collapser) longest(n *ir.Node) (from *ir.Value, whole []*ir.Node) {
	x := c.from[n.Out[0]].base
	if c.from[n.Out[0]].level-c.from[x].level > maxPart {
		return nil, nil
	}
	part, in := c.between(x, n), map[*ir.Node]bool{n: true}
	more := part[:len(part)-1]
	for first := true; len(part) <= maxPart; first = false {
		for _, m := range more {
			in[m] = true
		}
		inner := c.private(more, in)
		if c.end(x) && (first || inner) {
			from, whole = x, part
		}
		if !inner || !readWithin(c.g, x, in) || c.from[x].base == nil {
			break
		}
		more = c.between(c.from[x].base, x.Def)
		x, part = c.from[x].base, append(more, part...)
	}
	return from, whole
}

// elementwise reports nodes that compute each element of one result from the
// same element of their operands, other operands being one constant for all
// elements.
func elementwise(n *ir.Node) bool {
	if len(n.Out) != 1 || n.Op.Pattern > ir.Broadcast || n.Op.Impure || len(n.Body) > 0 || !oneScale(n.Out[0]) {
		return false
	}
	run := 0
	for i, v := range n.In {
		switch {
		case v == nil:
		case n.Op == op.Lookup && i == 1 || n.Op == op.InterpolatedLUT && i == 1:
		case v.Const != nil:
			if _, ok := v.Const.Uniform(); !ok {
				return false
			}
		default:
			if !oneScale(v) || !slices.Equal(v.Type.Shape, n.Out[0].Type.Shape) {
				return false
			}
			run++
		}
	}
	return run > 0
}

// oneScale: every element stands for a number in the same way.
func oneScale(v *ir.Value) bool { return !v.Type.Quant.PerAxis() && v.Type.Elems() > 0 }

func byteValue(v *ir.Value) bool {
	t := v.Type
	return (t.DType == tensor.I8 || t.DType == tensor.U8) && t.Quantised() && !t.Quant.PerAxis() && t.Elems() > 0
}

// source is the nearest value from which all operands of n can be computed.
func (c *collapser) source(n *ir.Node) *ir.Value {
	if c.distinct(n) == 1 {
		return n.In[slices.IndexFunc(n.In, func(v *ir.Value) bool { return v != nil && v.Const == nil })]
	}
	var common *ir.Value
	for _, v := range n.In {
		switch {
		case v == nil || v.Const != nil:
		case common == nil:
			common = v
		default:
			if common = c.meet(common, v); common == nil {
				return nil
			}
		}
	}
	return common
}

// meet is the nearest value from which both can be computed, nil if there is
// none. Both go up as far as jumps do not pass it: what is far apart in a long
// chain meets after few of them.
func (c *collapser) meet(v, w *ir.Value) *ir.Value {
	if c.from[v].depth < c.from[w].depth {
		v, w = w, v
	}
	for c.from[v].depth > c.from[w].depth {
		if j := c.from[v].jump; c.from[j].depth >= c.from[w].depth {
			v = j
		} else {
			v = c.from[v].base
		}
	}
	for v != w { // at one depth, where jumps are of one length
		if j, k := c.from[v].jump, c.from[w].jump; j != k {
			v, w = j, k
		} else {
			v, w = c.from[v].base, c.from[w].base
		}
	}
	return v
}

func (c *collapser) distinct(n *ir.Node) int {
	var seen []*ir.Value
	for _, v := range n.In {
		if v != nil && v.Const == nil && !slices.Contains(seen, v) {
			seen = append(seen, v)
		}
	}
	return len(seen)
}

// private reports that the results of nodes are read by nodes of the set only.
func (c *collapser) private(nodes []*ir.Node, in map[*ir.Node]bool) bool {
	return !slices.ContainsFunc(nodes, func(m *ir.Node) bool { return !readWithin(c.g, m.Out[0], in) })
}

// readWithin reports that only nodes of the set read v.
func readWithin(g *ir.Graph, v *ir.Value, in map[*ir.Node]bool) bool {
	return !g.IsOutput(v) && !slices.ContainsFunc(v.Uses(), func(u ir.Use) bool { return !in[u.Node] })
}

// between are the nodes from x to n, in graph order; more than maxPart where there are.
func (c *collapser) between(x *ir.Value, n *ir.Node) []*ir.Node {
	var part []*ir.Node
	seen := map[*ir.Node]bool{}
	var visit func(m *ir.Node)
	visit = func(m *ir.Node) {
		if seen[m] || len(seen) > maxPart {
			return
		}
		seen[m] = true
		for _, v := range m.In {
			if v != nil && v != x && v.Def != nil {
				visit(v.Def)
			}
		}
		part = append(part, m)
	}
	visit(n)
	return part
}

// evaluate runs the nodes on all of codes, as elements of x.
func evaluate(part []*ir.Node, x, y *ir.Value, codes *tensor.Dense) (_ *tensor.Dense, err error) {
	defer fail.Catch(&err)
	shape := []int{codes.Len(), 1} // one channel, as parameters per channel are one number
	g := ir.New("table")
	env := map[*ir.Value]*ir.Value{x: g.AddInput("x", x.Type.WithShape(shape))}
	for _, n := range part {
		in := make([]*ir.Value, len(n.In))
		for i, v := range n.In {
			switch {
			case v == nil:
			case v.Const == nil:
				in[i] = env[v]
			default:
				in[i] = g.AddQuantConst(v.Name, scalarConst(n, v), v.Type.Quant)
			}
		}
		m := fail.Must(g.Add(n.Op, n.Name, n.Attrs, 1, in...))
		m.Out[0].Type = n.Out[0].Type.WithShape(shape)
		env[n.Out[0]] = m.Out[0]
	}
	g.AddOutput("y", env[y])
	out := fail.Must(interp.Run(g, []*tensor.Dense{codes.Reshaped(shape)}, nil))
	return out[0].Reshaped([]int{codes.Len()}), nil
}

// scalarConst is the one value of a constant operand; tables stay whole.
func scalarConst(n *ir.Node, v *ir.Value) *tensor.Dense {
	if n.Op == op.Lookup || n.Op == op.InterpolatedLUT {
		return v.Const
	}
	d, _ := v.Const.Uniform()
	return d
}
