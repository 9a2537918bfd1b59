// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// foldConstants replaces values that are the same for every input, and what
// is computed from nothing else.
func foldConstants(g *ir.Graph, r map[*ir.Value][]Range) (cuts []Cut) {
	folded := map[*ir.Value]bool{}
	for _, n := range slices.Clone(g.Nodes) {
		if len(n.Out) != 1 {
			continue
		}
		v := n.Out[0]
		d := constant(n, r[v], slices.ContainsFunc(n.In, func(x *ir.Value) bool { return folded[x] }))
		if d == nil {
			continue
		}
		if n.Op.View != ir.Reshaped {
			cuts = append(cuts, newCut(n, channels(v.Type), 0, channels(v.Type)))
		}
		c := g.AddConst(v.Name, d)
		c.Type = v.Type
		folded[c] = true
		g.ReplaceUses(v, c)
	}
	g.RemoveDead()
	return cuts
}

// constant is the one value that the node's output can have, nil when there
// are more. Nodes on plain numbers were folded before the graph was quantised,
// but for those below a value that has only now turned out constant.
func constant(n *ir.Node, r []Range, below bool) *tensor.Dense {
	t := n.Out[0].Type
	if r != nil && t.Elems() <= maxElems && !slices.ContainsFunc(r, func(x Range) bool { return !x.constant() }) {
		return filled(t, r, false)
	}
	if !n.Quantised() && !below || n.Op.Impure || len(dataInputs(n)) > 0 || t.Elems() > maxElems {
		return nil
	}
	return evaluate(n, nil)
}

// cutter rewrites nodes for the channels that stay.
type cutter struct {
	g    *ir.Graph
	r    map[*ir.Value][]Range
	keep map[*ir.Value][]int // absent: all channels
}

// cut removes the channels that are not needed. Nodes are rewritten in order,
// so that shapes can be inferred from what stands above.
func cut(g *ir.Graph, r map[*ir.Value][]Range, m needs) ([]Cut, error) {
	c := &cutter{g: g, r: r, keep: map[*ir.Value][]int{}}
	forms := map[*ir.Node]*product{}
	var cuts []Cut
	for _, n := range g.Nodes {
		forms[n] = productOf(n)
		for _, v := range n.Out {
			k := kept(m[v])
			if k == nil {
				continue
			}
			c.keep[v] = k
			if forms[n] != nil {
				dead := len(lists.Filter(r[v], Range.constant))
				cuts = append(cuts, newCut(n, channels(v.Type), len(k), dead))
			}
		}
	}
	for _, n := range g.Nodes {
		if !c.touched(n) {
			continue
		}
		if f := forms[n]; f != nil {
			c.product(f)
		} else {
			c.other(n)
		}
		if err := g.Reinfer(n); err != nil {
			return nil, err
		}
	}
	return cuts, nil
}

// kept lists the channels that stay; nil when all do.
func kept(need []bool) []int {
	k := lists.Where(len(need), func(c int) bool { return need[c] })
	if len(k) == len(need) {
		return nil
	}
	return k
}

func (c *cutter) touched(n *ir.Node) bool {
	has := func(v *ir.Value) bool { return c.keep[v] != nil }
	return slices.ContainsFunc(n.In, has) || slices.ContainsFunc(n.Out, has)
}

// of is the list of channels of v that stay, all of them where nothing is cut.
func (c *cutter) of(v *ir.Value, count int) []int {
	if k := c.keep[v]; k != nil {
		return k
	}
	return ir.Identity(count)
}

// product rewrites weights and bias. Input channels that go and are read add
// their constant to the bias; sums wrap like the kernel's.
func (c *cutter) product(f *product) {
	n := f.n
	outs := c.of(n.Out[0], f.out)
	ins := c.of(n.In[0], f.in)
	if f.depthwise() { // weights [out][1][taps]: the outputs say it all
		ins = []int{0}
		n.SetAttrs(n.Attrs.Clone())
		n.SetAttr("group", ir.Int(len(c.of(n.In[0], f.in))))
	}
	b := tensor.New(f.biasType(), []int{len(outs)})
	for i, o := range outs {
		sum := f.bias[o] + c.folded(f, o, ins)
		if !f.wide {
			sum = int64(int32(sum))
		}
		b.SetInt(i, sum)
	}
	q := &ir.Quant{Axis: 0, Scale: make([]float32, len(outs)), Zero: make([]int32, len(outs))}
	for i, o := range outs {
		q.Scale[i] = n.In[0].Type.Quant.Scale[0] * f.weightsQ.ScaleAt(o)
	}
	if n.Input(2) != nil || slices.ContainsFunc(b.Int64s(), func(v int64) bool { return v != 0 }) {
		name := n.Name + ".bias"
		if v := n.Input(2); v != nil {
			name = v.Name
		}
		c.g.SetInput(n, 2, c.g.AddQuantConst(name, b, q))
	}
	c.weights(f, ins, outs)
}

// folded is what the input channels that are not in ins add to output o.
func (c *cutter) folded(f *product, o int, ins []int) int64 {
	x := f.n.In[0]
	if f.group > 1 || c.keep[x] == nil {
		return 0
	}
	var sum int64
	for i := range f.in {
		if _, stays := slices.BinarySearch(ins, i); stays || !f.reads(o, i) {
			continue
		}
		code := int64(c.r[x][i].Lo - x.Type.Quant.Zero[0])
		for t := range f.taps {
			sum += f.weight(o, i, t) * code
		}
	}
	return sum
}

// weights keeps the given channels of the weights.
func (c *cutter) weights(f *product, ins, outs []int) {
	outAt, inAt := 0, 1
	if f.inMajor {
		outAt, inAt = 1, 0
	}
	v := c.g.AddQuantConst(f.n.In[1].Name, f.w.Take(outAt, outs).Take(inAt, ins), f.weightsQ.Take(outAt, outs))
	c.g.SetInput(f.n, 1, v)
}

// other rewrites what a node knows of its channels beside its inputs: the
// shape of a Reshape, constant operands with a value per channel.
func (c *cutter) other(n *ir.Node) {
	keep := c.keep[n.Out[0]]
	if keep == nil {
		return
	}
	y := n.Out[0].Type
	if n.Op == op.Reshape {
		shape := slices.Clone(y.Shape)
		shape[1] = len(keep)
		c.g.SetInput(n, 1, c.g.AddConst(n.In[1].Name, tensor.Ints(shape...)))
		n.SetAttrs(n.Attrs.Clone())
		n.DropAttr("allowzero")
		return
	}
	for i, v := range n.In {
		if v == nil || v.Const == nil {
			continue
		}
		axis := v.Type.Rank() - y.Rank() + 1
		if axis < 0 || v.Type.Shape[axis] != y.Shape[1] {
			continue
		}
		c.g.SetInput(n, i, c.g.AddQuantConst(v.Name, v.Const.Take(axis, keep), v.Type.Quant.Take(axis, keep)))
	}
}
