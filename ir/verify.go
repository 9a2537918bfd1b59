// SPDX-License-Identifier: Apache-2.0

package ir

import (
	"fmt"
	"slices"
)

// Verify checks the structure of the graph: SSA, topological order, use
// lists, types against Infer, constants against their types, memory orders
// and quantisation parameters. It returns everything that is wrong.
func (g *Graph) Verify() []error {
	c := &verifier{defined: map[*Value]bool{}, names: map[string]bool{}, uses: map[*Value]int{},
		listed: map[Use]*Value{}}
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
		if len(v.uses) != k {
			c.badf("%s: %d uses listed, %d found", v, len(v.uses), k)
		}
	}
	for i, v := range g.Out {
		if !c.defined[v] && v.Const == nil {
			c.badf("graph output %s is never defined", g.OutNames[i])
		}
		if !slices.Contains(g.outs[v], i) {
			c.badf("graph output %s was put there behind the graph's back", g.OutNames[i])
		}
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

func (c *verifier) define(v *Value) {
	if c.defined[v] {
		c.badf("%s is defined twice", v)
	}
	if c.names[v.Name] {
		c.badf("two values are called %s", v)
	}
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
		if c.listed[Use{n, i}] != v {
			c.badf("%s: use list of %s lacks input %d", n, v, i)
		}
		switch {
		case v.Const == nil && !c.defined[v]:
			c.badf("%s: input %s is read before it is defined", n, v)
		case v.Const != nil:
			if !c.defined[v] {
				c.define(v)
			}
			if v.Const.DType != v.Type.DType || !slices.Equal(v.Const.Shape, v.Type.Shape) {
				c.badf("%s: constant %s holds %s, its type is %s", n, v, v.Const, v.Type)
			}
		}
	}
}

// outputs checks the results of a node against inference.
func (c *verifier) outputs(n *Node) {
	for i, v := range n.Out {
		if v.Def != n || v.Index != i {
			c.badf("%s: output %d does not point back", n, i)
		}
		c.define(v)
	}
	types, err := InferNode(n)
	if err != nil {
		c.errs = append(c.errs, err)
		return
	}
	for i, v := range n.Out {
		if !slices.Equal(types[i].Shape, v.Type.Shape) {
			c.badf("%s: output %s has shape %v, inference says %v", n, v, v.Type.Shape, types[i].Shape)
		}
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
