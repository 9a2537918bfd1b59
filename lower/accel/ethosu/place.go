// SPDX-License-Identifier: Apache-2.0

package ethosu

import (
	"fmt"
	"math"
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
	region           int
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
		if p.readers[root] = append(p.readers[root], i); root.region == p.region || root == p.first {
			n.In = append(n.In, p.value(root))
		}
	}
	root, at := l.out.area.root()
	n.After = append(n.After, p.readers[root]...)
	n.After = slices.DeleteFunc(n.After, func(k int) bool { return k == i })
	slices.Sort(n.After)
	n.After = slices.Compact(n.After)
	if p.writers[root] = append(p.writers[root], i); root.region != p.region {
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

// covered is the input that working memory may lie over, the largest one beside it; nil: there is none.
func (b *builder) covered(inputs []*area) (first *area) {
	for _, a := range inputs {
		if !b.scarce && !a.copied && (first == nil || a.bytes > first.bytes) {
			first = a
		}
	}
	return first
}

// hold takes inputs and results.
func (p *places) hold(held []*area, inputs int) {
	for i, a := range held {
		if a.region == p.region {
			v := &p.values[p.value(a)]
			v.Input, v.Output = v.Input || i < inputs, v.Output || i >= inputs
		}
	}
}

// plan orders the layers, unless they have their order, and places what lies in the working memory. held are the areas
// of inputs and results.
func (bin *result) plan(b *builder, held []*area, inputs int, ordered bool) {
	p, nodes := b.places(working, held, inputs, ordered)
	for i, l := range b.layers {
		if l.buffer != nil { // it is filled while the layer in front computes
			v, k := p.value(l.buffer), max(0, i-1)
			nodes[k].Out = append(nodes[k].Out, v)
			if k < i {
				nodes[i].In = append(nodes[i].In, v)
			}
		}
	}
	order, _, r, _ := plan.Schedule(nodes, p.values, plan.DefaultBudget>>4, 0)
	b.layers = lists.Each(order, func(k int) *layer { return b.layers[k] })
	if b.beside {
		bin.beside(b, held, inputs)
	}
	bin.settle(p, b.layers, held[:inputs], r.Offsets)
	had := bin.bytes(p.first)
	if p.first == nil || had <= r.Total {
		return
	}
	// The input lies in between. Beside something that has all the rest before the first layer it lies at an end.
	nodes[order[0]].In = append(nodes[order[0]].In, len(p.values))
	for i, k := range order[1:] {
		nodes[k].After = []int{order[i]}
	}
	_, _, x, _ := plan.Schedule(nodes, append(p.values, plan.Value{Name: "rest", Bytes: r.Total - p.first.bytes,
		AliasOf: -1, Input: true}), plan.DefaultBudget>>4, 0)
	if bin.settle(p, b.layers, held[:inputs], x.Offsets); bin.bytes(p.first) >= had {
		bin.settle(p, b.layers, held[:inputs], r.Offsets)
	}
}

// places are areas of a region, and the layers that use them.
func (b *builder) places(region int, held []*area, inputs int, ordered bool) (*places, []plan.Node) {
	p := &places{region: region, index: map[*area]int{}, readers: map[*area][]int{}, writers: map[*area][]int{}}
	if p.hold(held, inputs); region == working {
		if p.first = b.covered(held[:inputs]); p.first != nil {
			p.values[p.value(p.first)].Input = true
		}
	}
	nodes := make([]plan.Node, len(b.layers))
	for i, l := range b.layers {
		if nodes[i] = p.node(i, l); ordered && i > 0 {
			nodes[i].After = []int{i - 1}
		}
	}
	return p, nodes
}

// beside places what the fast memory has no room for.
func (bin *result) beside(b *builder, held []*area, inputs int) {
	p, nodes := b.places(memory, held, inputs, true)
	_, _, r, _ := plan.Schedule(nodes, p.values, plan.DefaultBudget>>4, 0)
	bin.slow = int(r.Total)
	for i, a := range p.areas {
		if a != nil {
			a.at = r.Offsets[i]
		}
	}
}

// spill takes maps to the slower memory, those that are used least and the largest of them, until the others have room
// in the fast one; or it computes in cascades where that is faster.
func (bin *result) spill(b *builder, held []*area, inputs int) {
	most := int64(b.cfg.Cache)
	if int64(bin.working) <= most {
		return
	}
	layers, spilt := b.layers, []*area{}
	bin.within(b, held, inputs, most)
	rows, takes := b.layers, b.cycles(b.layers)
	if int64(bin.working) > most {
		takes = math.Inf(1)
	}
	b.layers = layers
	bin.plan(b, held, inputs, true)
	for int64(bin.working) > most {
		a := b.idlest(most)
		a.region, spilt = memory, append(spilt, a)
		bin.plan(b, held, inputs, true)
	}
	if b.cycles(b.layers) <= takes {
		return
	}
	for _, a := range spilt {
		a.region = working
	}
	b.layers = rows
	bin.plan(b, held, inputs, true)
}

// idlest is the area above most bytes that is used least, and the largest of those.
func (b *builder) idlest(most int64) (worst *area) {
	uses := map[*area]int{}
	for _, l := range b.layers {
		for _, m := range append(l.operands(), l.out) {
			root, _ := m.area.root()
			uses[root]++
		}
	}
	for _, l := range b.layers {
		if a, _ := l.out.area.root(); a.region == working && a.at+a.bytes > most &&
			(worst == nil || uses[a] < uses[worst] || uses[a] == uses[worst] && a.bytes > worst.bytes) {
			worst = a
		}
	}
	return worst
}

// settle places areas by a plan.
func (bin *result) settle(p *places, layers []*layer, inputs []*area, offsets []int64) {
	bin.working = 0
	for i, a := range p.areas {
		if a != nil && a != p.first {
			a.at = offsets[i]
			bin.working = max(bin.working, int(a.at+a.bytes+align-1)&^(align-1))
		}
	}
	if p.first != nil {
		bin.overlay(layers, inputs, slices.Index(inputs, p.first))
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
