// SPDX-License-Identifier: Apache-2.0

package ethosu

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/schedule/plan"
)

// places is what the planner gets: a value for every area in the working memory, and one for every result there.
type places struct {
	values           []plan.Value
	areas            []*area // of values; nil: it is a part of one
	index            map[*area]int
	readers, writers map[*area][]int
	first            *area // an input beside the working memory, whose bytes that may take in the end; nil: none
}

// value is the number of an area.
func (p *places) value(a *area) int {
	i, ok := p.index[a]
	if !ok {
		i = len(p.values)
		p.index[a], p.areas = i, append(p.areas, a)
		p.values = append(p.values, plan.Value{Name: fmt.Sprint(i), Bytes: a.bytes, AliasOf: -1})
	}
	return i
}

// node is a layer: it comes behind those that write what it reads, and behind those that read what it writes.
func (p *places) node(i int, l *layer) plan.Node {
	n := plan.Node{Name: fmt.Sprint(i)}
	for _, m := range []*fmap{l.in, l.in2} {
		if m == nil {
			continue
		}
		root, _ := m.area.root()
		n.After = append(n.After, p.writers[root]...)
		if p.readers[root] = append(p.readers[root], i); root.region == working || root == p.first {
			n.In = append(n.In, p.value(root))
		}
	}
	root, at := l.out.area.root()
	n.After = append(n.After, p.readers[root]...)
	n.After = slices.DeleteFunc(n.After, func(k int) bool { return k == i })
	slices.Sort(n.After)
	n.After = slices.Compact(n.After)
	if p.writers[root] = append(p.writers[root], i); root.region != working {
		return n
	}
	within := p.value(root)
	n.Out = []int{len(p.values)}
	p.values = append(p.values, plan.Value{Name: fmt.Sprint("result", i), Bytes: l.out.span(), AliasOf: within,
		Delta: at + l.out.from})
	p.areas = append(p.areas, nil)
	for _, m := range []*fmap{l.in, l.in2} {
		if m != nil && l.over && m.alike(l.out) {
			if v, ok := p.index[m.area]; ok && v != within {
				n.Overlap = append(n.Overlap, plan.Overlap{Out: n.Out[0], In: v, Exact: true})
			}
		}
	}
	return n
}

// alike says that elements of two maps lie at the same places of their areas.
func (m *fmap) alike(o *fmap) bool {
	a, b := m.FeatureMap, o.FeatureMap
	a.Zero, a.Signed, b.Zero, b.Signed = 0, false, 0, false
	return a == b && m.from == 0 && o.from == 0
}

// hold takes inputs and results.
func (p *places) hold(held []*area, inputs int) {
	for i, a := range held {
		if a.region == working {
			v := &p.values[p.value(a)]
			v.Input, v.Output = v.Input || i < inputs, v.Output || i >= inputs
		} else if i < inputs && (p.first == nil || a.bytes > p.first.bytes) {
			p.first = a
		}
	}
	if p.first != nil {
		p.values[p.value(p.first)].Input = true
	}
}

// plan orders the layers, unless they have their order, and places what lies in the working memory. held are the areas
// of inputs and results.
func (bin *result) plan(b *builder, held []*area, inputs int, ordered bool) {
	p := &places{index: map[*area]int{}, readers: map[*area][]int{}, writers: map[*area][]int{}}
	p.hold(held, inputs)
	nodes := make([]plan.Node, len(b.layers))
	for i, l := range b.layers {
		if nodes[i] = p.node(i, l); ordered && i > 0 {
			nodes[i].After = []int{i - 1}
		}
	}
	for i, l := range b.layers {
		if l.buffer != nil { // it is filled while the layer in front computes
			v, k := p.value(l.buffer), max(0, i-1)
			nodes[k].Out = append(nodes[k].Out, v)
			if k < i {
				nodes[i].In = append(nodes[i].In, v)
			}
		}
	}
	bin.working = 0
	order, _, r, _ := plan.Schedule(nodes, p.values, plan.DefaultBudget>>4, 0)
	for i, a := range p.areas {
		if a != nil && a != p.first {
			a.at = r.Offsets[i]
			bin.working = max(bin.working, int(a.at+a.bytes+align-1)&^(align-1))
		}
	}
	layers := lists.Each(order, func(k int) *layer { return b.layers[k] })
	b.layers = layers
	if p.first != nil {
		bin.overlay(b.layers, held[:inputs], slices.Index(held, p.first))
	}
}

// early is how many layers may be at work when weights of the next one come.
const early = 2

// overlay finds how the working memory may lie over an input: what is written before its last layer has run lies below
// its bytes or above them.
func (bin *result) overlay(layers []*layer, inputs []*area, input int) {
	first, last := inputs[input], 0
	for i, l := range layers {
		for _, m := range []*fmap{l.in, l.in2} {
			if m != nil && m.area == first {
				last = i
			}
		}
	}
	low, high := int64(bin.working), int64(0)
	for _, a := range inputs {
		if a.region == working { // it is copied there
			low, high = min(low, a.at), max(high, a.at+a.bytes)
		}
	}
	for i, l := range layers[:min(last+1+early, len(layers))] {
		if root, at := l.out.area.root(); i <= last && root.region == working {
			from := root.at + at + l.out.from
			low, high = min(low, from), max(high, from+l.out.span())
		}
		if l.buffer != nil {
			low, high = min(low, l.buffer.at), max(high, l.buffer.at+l.buffer.bytes)
		}
	}
	bin.over = call.Overlap{I: input, Ahead: int(high), Behind: max(1, int(first.bytes-low)), Scratch: bin.working > 0}
}
