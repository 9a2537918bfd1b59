package fuse

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// Collapse turns every part of the graph that computes one 8-bit value from
// one other element by element into a Lookup: chains, and diamonds such as
// x*sigmoid(x). The 256 entries are what the interpreter gives for the nodes
// that go, each with its own rounding, so results stay the same bit for bit.
// Values in between that somebody else reads stay as they are.
func Collapse(g *ir.Graph) ([]Fusion, error) {
	c := &collapser{g: g, base: map[*ir.Value]*ir.Value{}, parts: map[*ir.Node][]string{}}
	for changed := true; changed; { // a table can leave another one with a single reader
		changed = false
		clear(c.base)
		for _, n := range g.Nodes {
			if tabular(n) {
				if x := c.source(n); x != nil {
					c.base[n.Out[0]] = x
				}
			}
		}
		for _, n := range slices.Backward(slices.Clone(g.Nodes)) { // so that a chain becomes a table once
			made, err := c.node(n)
			if err != nil {
				return nil, err
			}
			changed = changed || made
		}
	}
	var done []Fusion
	for _, n := range g.Nodes {
		if p := c.parts[n]; p != nil {
			done = append(done, Fusion{Kind: "table", Anchor: n.Name, Nodes: p})
		}
	}
	return done, nil
}

type collapser struct {
	g *ir.Graph
	// base is the one value that a tabular node's result is computed from.
	base map[*ir.Value]*ir.Value
	// parts are the names of the nodes that went into a table.
	parts map[*ir.Node][]string
}

// node replaces n when it, with what only it reads, is a function of one value
// that takes more than one node today.
func (c *collapser) node(n *ir.Node) (bool, error) {
	if !tabular(n) || len(n.Out[0].Uses()) == 0 && !c.g.IsOutput(n.Out[0]) {
		return false, nil
	}
	y := n.Out[0]
	x := c.base[y]
	if x == nil {
		return false, nil
	}
	two := c.distinct(n) > 1
	part := c.between(x, n)
	in := map[*ir.Node]bool{}
	for _, m := range part {
		in[m] = true
	}
	for inner := c.private(part[:len(part)-1], in); inner && c.read(x, in) && c.base[x] != nil; {
		more := c.between(c.base[x], x.Def)
		for _, m := range more {
			in[m] = true
		}
		if !c.private(more, in) {
			break
		}
		x = c.base[x]
		part = append(more, part...)
	}
	if len(part) == 1 && !two {
		return false, nil
	}
	table, err := evaluate(part, x, y)
	if err != nil {
		return false, fmt.Errorf("BUG: the table of %s: %w", n, err)
	}
	m, err := c.g.InsertBefore(n, op.Lookup, n.Name, nil, 1, x, c.g.AddConst(n.Name+".table", table))
	if err != nil {
		return false, err
	}
	seen := map[string]bool{}
	for _, k := range part {
		if inner := c.parts[k]; inner != nil {
			c.parts[m] = append(c.parts[m], inner...)
		} else {
			c.parts[m] = append(c.parts[m], k.Name)
		}
		for _, o := range k.Origin {
			if !seen[o] {
				seen[o] = true
				m.Origin = append(m.Origin, o)
			}
		}
	}
	m.Out[0].Type = y.Type
	c.g.ReplaceUses(y, m.Out[0])
	c.base[m.Out[0]] = x
	c.g.RemoveDead() // so that what only the old nodes read counts as private
	return true, nil
}

// tabular reports element-wise nodes on 8-bit values with one scale each,
// whose other operands are one constant for all elements.
func tabular(n *ir.Node) bool {
	if len(n.Out) != 1 || n.Op.Pattern > ir.Broadcast || n.Op.Impure || len(n.Body) > 0 || !byteValue(n.Out[0]) {
		return false
	}
	run := 0
	for i, v := range n.In {
		switch {
		case v == nil:
		case n.Op == op.Lookup && i == 1:
		case v.Const != nil:
			if _, ok := v.Const.Uniform(); !ok {
				return false
			}
		default:
			if !byteValue(v) || !slices.Equal(v.Type.Shape, n.Out[0].Type.Shape) {
				return false
			}
			run++
		}
	}
	return run > 0
}

func byteValue(v *ir.Value) bool {
	t := v.Type
	return (t.DType == tensor.I8 || t.DType == tensor.U8) && t.Quantised() && !t.Quant.PerAxis() && t.Elems() > 0
}

// chain is v and what it can be computed from, nearest first.
func (c *collapser) chain(v *ir.Value) []*ir.Value {
	var l []*ir.Value
	for ; v != nil; v = c.base[v] {
		l = append(l, v)
	}
	return l
}

// source is the nearest value from which all operands of n can be computed.
func (c *collapser) source(n *ir.Node) *ir.Value {
	if c.distinct(n) == 1 {
		return n.In[slices.IndexFunc(n.In, func(v *ir.Value) bool { return v != nil && v.Const == nil })]
	}
	var common []*ir.Value
	first := true
	for _, v := range n.In {
		if v == nil || v.Const != nil {
			continue
		}
		l := c.chain(v)
		if first {
			common, first = l, false
			continue
		}
		common = slices.DeleteFunc(common, func(x *ir.Value) bool { return !slices.Contains(l, x) })
	}
	if len(common) == 0 {
		return nil
	}
	return common[0]
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
	for _, m := range nodes {
		if !c.read(m.Out[0], in) {
			return false
		}
	}
	return true
}

// read reports that only nodes of the set read v.
func (c *collapser) read(v *ir.Value, in map[*ir.Node]bool) bool {
	return !c.g.IsOutput(v) && !slices.ContainsFunc(v.Uses(), func(u ir.Use) bool { return !in[u.Node] })
}

// between are the nodes from x to n, in graph order.
func (c *collapser) between(x *ir.Value, n *ir.Node) []*ir.Node {
	var part []*ir.Node
	seen := map[*ir.Node]bool{}
	var visit func(m *ir.Node)
	visit = func(m *ir.Node) {
		if seen[m] {
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

// evaluate runs the nodes on all 256 bit patterns of x.
func evaluate(part []*ir.Node, x, y *ir.Value) (*tensor.Dense, error) {
	shape := []int{256, 1} // one channel, as parameters per channel are one number
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
				d := v.Const
				if n.Op != op.Lookup {
					d, _ = d.Uniform()
				}
				in[i] = g.AddConst(v.Name, d)
				in[i].Type.Quant = v.Type.Quant
			}
		}
		m, err := g.Add(n.Op, n.Name, n.Attrs, 1, in...)
		if err != nil {
			return nil, err
		}
		m.Out[0].Type = n.Out[0].Type.WithShape(shape)
		env[n.Out[0]] = m.Out[0]
	}
	g.AddOutput("y", env[y])
	codes := make([]byte, 256)
	for i := range codes {
		codes[i] = byte(i)
	}
	in, err := tensor.FromBytes(x.Type.DType, shape, codes)
	if err != nil {
		return nil, err
	}
	out, err := interp.Run(g, []*tensor.Dense{in}, nil)
	if err != nil {
		return nil, err
	}
	return out[0].Reshaped([]int{256}), nil
}
