// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"maps"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// imputes reports a node that reads numbers of which some may be missing: it puts others in their place.
func imputes(n *ir.Node) bool { return slices.ContainsFunc(n.In, op.AsksForNaN) }

// frontEnd finds the nodes that stay float: what reads missing numbers, and those behind a
// spectrum, up to what compresses its range, one product with constants (a filter bank) among
// them. 8 or 16 bits with one scale have no room for the powers of loud and soft bins together.
func (c *calibrator) frontEnd() {
	c.front = map[*ir.Node]bool{}
	products := map[*ir.Value]int{} // on the way from a spectrum, and 1
	for _, n := range c.g.Nodes {
		c.front[n] = imputes(n)
		if n.Op.Spectral {
			products[n.Out[0]] = 1
			continue
		}
		most := lists.Max(n.In, func(v *ir.Value) int { return products[v] })
		if most == 0 || len(n.Out) != 1 {
			continue
		}
		if weightAxis(n) >= 0 {
			if most > 1 || n.In[0].Const == nil && n.In[1].Const == nil || !compressed(n.Out[0]) {
				continue
			}
			most++
		} else if n.Op.Pattern > ir.Reduce {
			continue
		}
		c.front[n] = true
		if !n.Op.Compresses {
			products[n.Out[0]] = most
		}
	}
	c.angles()
	c.logarithms()
	c.firstLayers()
}

// firstLayers finds what stays float before these.
func (c *calibrator) firstLayers() {
	float := c.opt.front
	if float == nil {
		float = c.opt.floatFronts(c.g)
	}
	for _, n := range c.g.Nodes {
		c.front[n] = c.front[n] || float[n.ID]
	}
}

// leastLog is the signal-to-noise ratio in dB that a Log of integer inputs has to have.
const leastLog = 30

// logarithms finds what compresses the range of inputs, element by element, such as a Log of
// what sensors give. It stays float where the steps of integers are too wide for small numbers.
func (c *calibrator) logarithms() {
	for _, n := range c.g.Nodes {
		made := map[*ir.Node]bool{n: true}
		if n.Op != op.Get("", "Log") || c.front[n] || !ofPositions(n.In[0], made) {
			continue
		}
		if db, err := emptyRegion(c.g, &c.opt).ofIntegers(n, made, nil, mostLooked); err == nil && !(db >= leastLog) {
			maps.Copy(c.front, made)
		}
	}
}

// angles finds Sin and Cos of positions, and what makes angles of these: nothing but factors,
// element by element, of inputs. It stays float: a step of 8 bits of positions to 1023 is more
// than a turn.
func (c *calibrator) angles() {
	for _, n := range c.g.Nodes {
		if n.Op != op.Get("", "Sin") && n.Op != op.Get("", "Cos") {
			continue
		}
		made := map[*ir.Node]bool{n: true}
		if ofPositions(n.In[0], made) && len(made) > 1 {
			maps.Copy(c.front, made)
		}
	}
}

// ofPositions adds the nodes that make v of inputs, element by element; false where another
// operator takes part.
func ofPositions(v *ir.Value, made map[*ir.Node]bool) bool {
	if v == nil || v.Def == nil || made[v.Def] || !v.Type.DType.IsFloat() {
		return true
	}
	n := v.Def
	if outer := n.Op == op.MatMul && n.In[0].Type.Shape[n.In[0].Type.Rank()-1] == 1; !outer &&
		n.Op.Pattern > ir.Injective || len(n.Body) > 0 {
		return false
	}
	made[n] = true
	return !slices.ContainsFunc(n.In, func(x *ir.Value) bool { return !ofPositions(x, made) })
}

// compressed reports that a value reaches an operator that compresses it, element by
// element or moved.
func compressed(v *ir.Value) bool {
	return slices.ContainsFunc(v.Uses(), func(u ir.Use) bool {
		n := u.Node
		return n.Op.Compresses || n.Op.Pattern <= ir.Injective && len(n.Out) == 1 && compressed(n.Out[0])
	})
}

// signals adds the inputs of the graph that spectra are computed of, and the outputs
// that float nodes behind them give: integers as those of other networks.
func (c *calibrator) signals(add func(v *ir.Value)) {
	c.ends = map[*ir.Value]bool{}
	float := map[*ir.Value]bool{}
	for _, n := range c.g.Nodes {
		if n.Op.Spectral {
			if n.In[0].Def == nil {
				add(n.In[0])
			}
			float[n.Out[0]] = true
		}
		if _, ok := c.rules[n]; ok || len(n.Out) != 1 || n.Out[0].Type.DType != tensor.F32 {
			continue
		}
		for _, v := range n.In {
			if float[v] {
				float[n.Out[0]] = true
			}
		}
		if v := n.Out[0]; float[v] && c.g.IsOutput(v) {
			c.ends[v] = true
			add(v)
		}
	}
}

// listens reports that a node computes a spectrum of 16 bits.
func (c *calibrator) listens(n *ir.Node) bool {
	return n.Op.Spectral && c.opt.Layer != nil && c.opt.Layer(n).Data == tensor.I16
}
