package schedule

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/schedule/plan"
)

// builder collects values and steps in the planner's terms.
type builder struct {
	g      *ir.Graph
	low    map[*ir.Node]Lowering
	parts  bool
	values []plan.Value
	of     []*ir.Value
	index  map[*ir.Value]int
	nodes  []*ir.Node // those that become steps
	silent map[*ir.Node]bool
}

func newBuilder(g *ir.Graph, low map[*ir.Node]Lowering, parts bool) *builder {
	b := &builder{g: g, low: low, parts: parts, index: map[*ir.Value]int{}, silent: map[*ir.Node]bool{}}
	add := func(v *ir.Value, input bool) {
		b.index[v] = len(b.values)
		b.of = append(b.of, v)
		b.values = append(b.values, plan.Value{Name: v.Name, Bytes: int64(v.Type.Bytes()), AliasOf: -1, Input: input})
	}
	for _, v := range g.In {
		add(v, true)
	}
	for _, n := range g.Nodes {
		for _, v := range n.Out {
			add(v, false)
		}
	}
	for _, v := range g.Out {
		if i, ok := b.index[v]; ok {
			b.values[i].Output = true
		}
	}
	return b
}

// alias places views inside other storages and marks the steps that vanish.
func (b *builder) alias() {
	for _, n := range b.g.Nodes {
		l := b.low[n].Low
		switch {
		case l.View:
			b.set(n.Out[0], n.In[0], 0)
			b.silent[n] = true
		case b.parts && len(l.Parts) > 0:
			b.aliasParts(n)
		}
	}
}

func (b *builder) set(v, root *ir.Value, delta int) {
	x := &b.values[b.index[v]]
	x.AliasOf, x.Delta = b.index[root], int64(delta)
}

// aliasParts lets concat and split vanish when every operand can be a part.
// Pieces of split always can (a piece that is a graph output stays where it
// is). For concat, an input must have been produced by a step of its own, for
// this concat alone.
func (b *builder) aliasParts(n *ir.Node) {
	l := b.low[n].Low
	for _, p := range l.Parts {
		if !p.Input {
			continue
		}
		v := n.In[p.I]
		if v.Const != nil || v.IsInput() || b.g.IsOutput(v) || b.values[b.index[v]].AliasOf >= 0 {
			return
		}
		for k, w := range n.In { // the same value twice cannot lie in two places
			if k != p.I && w == v {
				return
			}
		}
		if b.hasAliases(v) {
			return
		}
	}
	for _, p := range l.Parts {
		if p.Input {
			b.set(n.In[p.I], n.Out[0], p.Off)
		} else {
			b.set(n.Out[p.I], n.In[0], p.Off)
		}
	}
	b.silent[n] = true
}

// hasAliases reports whether another view lies in v's storage already.
func (b *builder) hasAliases(v *ir.Value) bool {
	i := b.index[v]
	for _, x := range b.values {
		if x.AliasOf == i {
			return true
		}
	}
	return false
}

// steps are the nodes with code, with their uses seen through silent nodes:
// whoever reads the output of a concat that vanished depends on the writers of
// its parts.
func (b *builder) steps() []plan.Node {
	writers := map[*ir.Value][]int{} // value -> steps whose results it holds
	reads := map[*ir.Value][]int{}   // silent value -> values with a writer
	var out []plan.Node
	for _, n := range b.g.Nodes {
		l := b.low[n].Low
		if b.silent[n] {
			var src []int
			var w []int
			for _, v := range n.In {
				if v == nil || v.Const != nil {
					continue
				}
				w = append(w, writers[v]...)
				if r, ok := reads[v]; ok {
					src = append(src, r...)
				} else {
					src = append(src, b.index[v])
				}
			}
			for _, v := range n.Out {
				writers[v], reads[v] = w, src
			}
			continue
		}
		k := len(out)
		x := plan.Node{Name: stepName(n), Scratch: int64(l.Scratch)}
		unused := map[int]bool{}
		for _, i := range l.Unused {
			unused[i] = true
		}
		for i, v := range n.In {
			if v == nil || v.Const != nil || unused[i] {
				continue
			}
			if r, ok := reads[v]; ok {
				x.In = append(x.In, r...)
			} else {
				x.In = append(x.In, b.index[v])
			}
			x.After = append(x.After, writers[v]...)
		}
		for _, v := range n.Out {
			x.Out = append(x.Out, b.index[v])
			writers[v] = []int{k}
		}
		for _, i := range l.InPlace {
			if v := n.Input(i); v != nil && v.Const == nil && len(n.Out) > 0 {
				x.InPlace = append(x.InPlace, plan.InPlace{Out: b.index[n.Out[0]], In: b.index[v]})
			}
		}
		out = append(out, x)
		b.nodes = append(b.nodes, n)
	}
	// Silent graph outputs keep the values they show alive.
	for _, v := range b.g.Out {
		for _, i := range reads[v] {
			b.values[i].Output = true
		}
	}
	return out
}
