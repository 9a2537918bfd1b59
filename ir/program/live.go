// SPDX-License-Identifier: Apache-2.0

package program

import "slices"

// Steps before the first one.
const before = -1

// lifetime of a buffer: from the first step that writes bytes of it (before,
// for inputs) to the last one that reads them, through views, too. len(Steps)
// stands for the caller, who reads outputs.
type lifetime struct {
	first, last int
	// own are the buffers written by a step or by the caller whose bytes these
	// are: the buffer itself, or what it is a view of. None: no step writes it.
	own []int
}

// liveness is computed from steps and views alone, not from what the buffers
// say: Verify and Replay rely on it. It has an entry for each buffer.
func (p *Program) liveness() []lifetime {
	live := make([]lifetime, len(p.Buffers))
	for _, x := range p.Inputs {
		live[x.Buffer] = lifetime{before, before, []int{x.Buffer}}
	}
	for k, s := range p.Steps {
		for _, b := range s.Out {
			live[b] = lifetime{k, k, []int{b}}
		}
	}
	for _, s := range p.Views {
		l := lifetime{len(p.Steps), before, nil}
		for _, b := range s.operands() {
			l.first = min(l.first, live[b].first)
			l.own = append(l.own, live[b].own...)
		}
		slices.Sort(l.own)
		l.own, l.last = slices.Compact(l.own), l.first
		for _, b := range s.Out {
			live[b] = l
		}
	}
	read := func(b, k int) {
		l := &live[b]
		l.last = max(l.last, k)
		for _, w := range l.own {
			live[w].last = max(live[w].last, k)
		}
	}
	for k, s := range p.Steps {
		for _, b := range s.operands() {
			read(b, k)
		}
	}
	for _, x := range p.Outputs {
		read(x.Buffer, len(p.Steps))
	}
	for _, x := range p.States {
		if !p.InPlace(x) {
			read(p.Inputs[x.In].Buffer, len(p.Steps))
		}
	}
	return live
}

// Live are, for each buffer, the first and the last step that need its bytes,
// computed from the steps alone.
func (p *Program) Live() (first, last []int) {
	for _, l := range p.liveness() {
		first = append(first, max(l.first, 0))
		last = append(last, max(min(l.last, len(p.Steps)-1), l.first, 0))
	}
	return first, last
}

// written reports whether a step or the caller writes buffer b itself: it is no
// view.
func (l *lifetime) written(b int) bool { return len(l.own) == 1 && l.own[0] == b }
