// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/nncc/nncc/lower"
)

// Step is a step as the caller counts them: a layer, or a chain of layers that run a few rows at a time.
type Step struct {
	Name   string      `json:"name"`
	Calls  []int       `json:"calls"` // their places in .layers
	Layers []StepLayer `json:"layers"`
	// Of a chain: rows that its first layer gives in a call, or heads of attention, and the most bytes that
	// wait between its layers.
	Rows         int     `json:"rows,omitempty"`
	Heads        bool    `json:"heads,omitempty"`
	RingBytes    int     `json:"ring_bytes,omitempty"`
	Instructions *uint64 `json:"instructions,omitempty"`
	// MeasuredCycles are those of a real core (--measured).
	MeasuredCycles *uint64 `json:"measured_cycles,omitempty"`
}

// StepLayer is a layer of a step, in one call or in several.
type StepLayer struct {
	Name         string  `json:"name"`
	Calls        []int   `json:"calls"`
	Instructions *uint64 `json:"instructions,omitempty"`
}

func (o *Subject) steps() (list []Step) {
	p := o.Lowered.Program
	for k, s := range p.Steps {
		if !p.GoesOn(k) {
			list = append(list, Step{Name: s.Name})
		}
		x := &list[len(list)-1]
		x.Calls = append(x.Calls, k)
		i := slices.IndexFunc(x.Layers, func(l StepLayer) bool { return l.Name == s.Name })
		if i < 0 {
			i, x.Layers = len(x.Layers), append(x.Layers, StepLayer{Name: s.Name})
		}
		x.Layers[i].Calls = append(x.Layers[i].Calls, k)
	}
	for i := range list {
		x := &list[i]
		if k := x.Calls[0]; x.chain() {
			x.Name, x.RingBytes = p.Steps[k].Chain, p.Waiting(k, k+len(x.Calls))
			at := slices.IndexFunc(o.Lowered.Tiled.Chains, func(c lower.Chain) bool { return c.Name == x.Name })
			x.Rows, x.Heads = o.Lowered.Tiled.Chains[at].Rows, o.Lowered.Tiled.Chains[at].Heads
		}
	}
	return list
}

func (s *Step) chain() bool { return len(s.Calls) > 1 }

// text says how a chain runs.
func (s *Step) text() string {
	what := "rows"
	if s.Heads {
		what = "heads"
	}
	return fmt.Sprintf("%d %s a call, %d calls, rings %d bytes", s.Rows, what, len(s.Calls), s.RingBytes)
}

// Count sums up what was measured of the layers.
func (r *Report) Count() {
	sum := func(calls []int) (n *uint64) {
		n = new(uint64)
		for _, i := range calls {
			n = plus(n, r.Layers[i].Instructions)
		}
		return n
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		s.Instructions = sum(s.Calls)
		for k := range s.Layers {
			s.Layers[k].Instructions = sum(s.Layers[k].Calls)
		}
	}
}

// join makes one layer of what a chain calls several times: a page shows layers.
func (r *Report) join() {
	var layers []Layer
	now := make([]int, len(r.Layers)) // by its first place
	for i := range r.Steps {
		s := &r.Steps[i]
		for _, x := range s.Layers {
			l := r.Layers[x.Calls[0]]
			now[x.Calls[0]] = len(layers)
			for _, k := range x.Calls[1:] {
				now[k] = len(layers)
				l.add(&r.Layers[k])
			}
			if s.chain() {
				l.Kernel, l.Route = cmp.Or(l.Route, l.Kernel)+", in a chain: "+s.text(), ""
			}
			layers = append(layers, l)
		}
	}
	if len(layers) == 0 {
		return // nothing was scheduled
	}
	r.Layers = layers
	if r.Graph == nil {
		return
	}
	for i := range r.Graph.Nodes {
		if n := &r.Graph.Nodes[i]; n.Layer >= 0 {
			n.Layer = now[n.Layer]
		}
	}
}

// add is another call of the same layer.
func (l *Layer) add(x *Layer) {
	l.MACs, l.MovedBytes, l.ScratchBytes = l.MACs+x.MACs, l.MovedBytes+x.MovedBytes, max(l.ScratchBytes, x.ScratchBytes)
	l.Instructions, l.Bound = plus(l.Instructions, x.Instructions), plus(l.Bound, x.Bound)
	l.Cycles = plus(l.Cycles, x.Cycles)
	a, b := l.chosen(), x.chosen()
	if l.Candidates = nil; a != nil && b != nil {
		l.Candidates = []Candidate{{Kernel: a.Kernel, Chosen: true, Instructions: plus(a.Instructions, b.Instructions),
			Cycles: plus(a.Cycles, b.Cycles)}}
	}
}

// chosen is the kernel that was taken by its price, nil where there was no choice.
func (l *Layer) chosen() *Candidate {
	for i := range l.Candidates {
		if l.Candidates[i].Chosen {
			return &l.Candidates[i]
		}
	}
	return nil
}

// plus is the sum of two figures, nil where one is not known.
func plus[T int | uint64](a, b *T) *T {
	if a == nil || b == nil {
		return nil
	}
	n := *a + *b
	return &n
}

// lines are the rows of a table: a layer each, and of a chain the chain with its layers below.
func (v *Verdict) lines() (list []LayerVerdict) {
	for i := range v.Steps {
		s := &v.Steps[i]
		x := v.sum(s.Calls)
		x.number = fmt.Sprint(i)
		if !s.chain() {
			list = append(list, x)
			continue
		}
		x.Name, x.Kernel, x.Route, x.WeightBytes = s.Name, s.text(), "", 0
		x.MeasuredCycles, x.MeasuredRatio = s.MeasuredCycles, v.ratioTo(s)
		at := len(list)
		for _, l := range s.Layers {
			y := v.sum(l.Calls)
			y.Name = "  " + y.Name
			x.WeightBytes += y.WeightBytes
			list = append(list, y)
		}
		list = slices.Insert(list, at, x)
	}
	return list
}

// sum is a layer in several calls.
func (v *Verdict) sum(calls []int) LayerVerdict {
	l := v.Layers[calls[0]]
	for _, i := range calls[1:] {
		x := &v.Layers[i]
		l.Instructions, l.MACs, l.MovedBytes = l.Instructions+x.Instructions, l.MACs+x.MACs, l.MovedBytes+x.MovedBytes
		l.DependOnData, l.Unbounded = l.DependOnData || x.DependOnData, cmp.Or(l.Unbounded, x.Unbounded)
		l.Least, l.Most = plus(l.Least, x.Least), plus(l.Most, x.Most)
		l.LayerBound.Bound, l.Library = plus(l.LayerBound.Bound, x.LayerBound.Bound), plus(l.Library, x.Library)
		l.LibraryCycles = plus(l.LibraryCycles, x.LibraryCycles)
		if l.LayerCycles != nil && x.LayerCycles != nil {
			l.LayerCycles = &LayerCycles{Cycles: l.Cycles + x.Cycles}
		}
	}
	if l.MACs > 0 {
		l.PerMAC = float64(l.Instructions) / float64(l.MACs)
	}
	return l
}
