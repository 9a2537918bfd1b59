// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// maxProbes bounds the values that are looked at beside outputs, probeDepth how
// many multiply-accumulate layers back they are.
const maxProbes, probeDepth = 12, 2

// probes names values of the float graph that tell more than outputs do, and
// which outputs tell nothing beside them: a Softmax or Sigmoid gives 0 or 1 for
// most samples, its argument always says something; the few numbers of an output
// say less than the features that the last layers make them from.
func probes(g *ir.Graph) (names []string, mute []bool) {
	seen := map[*ir.Value]bool{}
	add := func(v *ir.Value) {
		if v.Const == nil && v.Type.DType.IsFloat() && !seen[v] && len(names) < maxProbes {
			names = append(names, v.Name)
		}
		seen[v] = true
	}
	var back func(v *ir.Value, depth int)
	back = func(v *ir.Value, depth int) {
		for v.Def != nil && !seen[v] && depth > 0 {
			n := v.Def
			if weightAxis(n) >= 0 {
				add(v)
				v, depth = n.In[0], depth-1
				if depth == 0 {
					add(v)
				}
				continue
			}
			seen[v] = true
			for _, x := range n.In[1:] {
				if x != nil && x.Const == nil && x.Type.DType.IsFloat() {
					back(x, depth)
				}
			}
			if v = n.In[0]; v == nil {
				return
			}
		}
	}
	for _, v := range g.Out {
		quiet := false
		for v.Def != nil && len(v.Def.In) > 0 && v.Def.In[0] != nil && v.Def.In[0].Const == nil &&
			v.Def.In[0].Type.DType.IsFloat() && (v.Def.Op.Quant == ir.QMove || v.Def.Op.OutQuant != nil) {
			levels := v.Def.Op.OutQuant != nil
			if v = v.Def.In[0]; levels {
				add(v)
				quiet = true
			}
		}
		mute = append(mute, quiet)
		delete(seen, v)
		back(v, probeDepth)
	}
	return names, mute
}

// look runs a graph and gives its outputs and, behind them, the values of the given
// names, nil where there is none. In a quantised graph these are the quantised
// values.
func look(e *evaluator, names []string, in Sample) []*tensor.Dense {
	found := newLook(names)
	out := e.run(in, func(v *ir.Value, d *tensor.Dense) { found.see(lookedName(v), d) })
	return append(out, found.values...)
}

// lookedName is the name that v is looked at by: that of what it is the quantised form of.
func lookedName(v *ir.Value) string {
	if v.Def != nil && v.Def.Op == op.DequantizeLinear && v.Def.In[0].Def != nil &&
		v.Def.In[0].Def.Op == op.QuantizeLinear {
		return v.Def.In[0].Def.In[0].Name
	}
	return v.Name
}

// keptBy says which values a look at the given names keeps.
func keptBy(names []string) func(v *ir.Value) bool {
	return func(v *ir.Value) bool { return slices.Contains(names, lookedName(v)) }
}

// looked are values by their names.
type looked struct {
	at     map[string]int
	values []*tensor.Dense
}

func newLook(names []string) *looked {
	l := &looked{make(map[string]int, len(names)), make([]*tensor.Dense, len(names))}
	for k, n := range names {
		l.at[n] = k
	}
	return l
}

// see keeps d where its name is among them.
func (l *looked) see(name string, d *tensor.Dense) {
	if k, ok := l.at[name]; ok {
		l.values[k] = d
	}
}
