// SPDX-License-Identifier: Apache-2.0

package ir

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// Verify checks the structure of the graph: SSA, topological order, use
// lists, types against Infer, constants against their types, memory orders
// and quantisation parameters. It returns everything that is wrong.
func (g *Graph) Verify() []error {
	n := len(g.names)
	c := &verifier{defined: make(map[*Value]bool, n), names: make(map[string]bool, n), uses: make(map[*Value]int, n),
		listed: make(map[Use]*Value, n)}
	for _, v := range g.In {
		c.define(v)
	}
	for _, n := range g.Nodes {
		c.inputs(n)
		c.outputs(n)
		for _, b := range n.Body {
			c.errs = append(c.errs, b.Verify()...)
		}
	}
	for v, k := range c.uses {
		c.badIf(len(v.uses) != k, "%s: %d uses listed, %d found", v, len(v.uses), k)
	}
	for i, v := range g.Out {
		c.badIf(!c.defined[v] && v.Const == nil, "graph output %s is never defined", g.OutNames[i])
		c.badIf(!slices.Contains(g.outs[v], i), "graph output %s was put there behind the graph's back", g.OutNames[i])
	}
	return c.errs
}

// verifier is a walk over the nodes of a graph in their order.
type verifier struct {
	errs    []error
	defined map[*Value]bool
	names   map[string]bool
	uses    map[*Value]int // how many were found
	listed  map[Use]*Value // by the use lists; a search in them would be quadratic in their length
}

func (c *verifier) badf(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf(format, args...))
}

func (c *verifier) badIf(is bool, format string, args ...any) {
	if is {
		c.badf(format, args...)
	}
}

func (c *verifier) define(v *Value) {
	c.badIf(c.defined[v], "%s is defined twice", v)
	c.badIf(c.names[v.Name], "two values are called %s", v)
	c.defined[v], c.names[v.Name] = true, true
	for _, e := range checkType(v.Type) {
		c.badf("%s: %s", v, e)
	}
}

// inputs checks that what a node reads is defined before, and that it is listed as
// a reader.
func (c *verifier) inputs(n *Node) {
	for i, v := range n.In {
		if v == nil {
			continue
		}
		if c.uses[v]++; c.uses[v] == 1 {
			for _, u := range v.uses {
				c.listed[u] = v
			}
		}
		c.badIf(c.listed[Use{n, i}] != v, "%s: use list of %s lacks input %d", n, v, i)
		switch {
		case v.Const == nil && !c.defined[v]:
			c.badf("%s: input %s is read before it is defined", n, v)
		case v.Const != nil:
			if !c.defined[v] {
				c.define(v)
			}
			c.badIf(v.Const.DType != v.Type.DType || !slices.Equal(v.Const.Shape, v.Type.Shape),
				"%s: constant %s holds %s, its type is %s", n, v, v.Const, v.Type)
		}
	}
}

// outputs checks the results of a node against inference.
func (c *verifier) outputs(n *Node) {
	for i, v := range n.Out {
		c.badIf(v.Def != n || v.Index != i, "%s: output %d does not point back", n, i)
		c.define(v)
	}
	types, err := InferNode(n)
	if err != nil {
		c.errs = append(c.errs, err)
		return
	}
	for i, v := range n.Out {
		c.badIf(!slices.Equal(types[i].Shape, v.Type.Shape), "%s: output %s has shape %v, inference says %v", n, v,
			v.Type.Shape, types[i].Shape)
		if v.Type.Quant == nil && !n.Quantised() && types[i].DType != v.Type.DType {
			c.badf("%s: output %s has type %s, inference says %s", n, v, v.Type.DType, types[i].DType)
		}
	}
}

// checkType gives what is wrong with a memory order or a quantisation.
func checkType(t Type) []string {
	var e []string
	if t.Order != nil {
		s := slices.Clone(t.Order)
		slices.Sort(s)
		if !slices.Equal(s, Identity(len(t.Shape))) {
			e = append(e, fmt.Sprintf("memory order %v is no permutation of %d dimensions", t.Order, len(t.Shape)))
		}
	}
	if q := t.Quant; q != nil {
		want := 1
		if q.Axis >= 0 {
			if q.Axis >= len(t.Shape) {
				return append(e, fmt.Sprintf("quantisation axis %d of rank %d", q.Axis, len(t.Shape)))
			}
			want = t.Shape[q.Axis]
		}
		if len(q.Scale) != want || len(q.Zero) != want {
			e = append(e, fmt.Sprintf("%d scales and %d zero points, want %d", len(q.Scale), len(q.Zero), want))
		}
		if !t.DType.IsInt() {
			e = append(e, "quantised but of type "+t.DType.String())
		}
	}
	return e
}

// InferNode runs the operator's checks of arity and attributes and its Infer, and holds constants against
// its limits.
func InferNode(n *Node) (_ []Type, err error) {
	defer fail.Catch(&err)
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
	types := fail.Must(op.Infer(n))
	if op.Limits != nil {
		fail.Check(checkLimits(n, op.Limits(n), n.ConstIn))
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
// attributes changed. The outputs keep their quantisation, and their memory order
// where the rank is the same.
func (g *Graph) Reinfer(n *Node) (err error) {
	defer fail.Catch(&err)
	types := fail.Must(InferNode(n))
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
