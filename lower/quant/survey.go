// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/ir/vec"
)

// survey is one run of the float graph on every sample, and what it tells of values by parts of the samples: what is
// held out in one way of calibrating is seen in another. Results do not depend on the number of workers.
type survey struct {
	samples []Sample
	part    []int // of every sample; nil: all are one
	counts  bool  // histograms, or elements, and not ranges alone
	// within, when set, has the values that are looked at and the ranges that their elements
	// are brought into.
	within map[*ir.Value]*stats
	unseen func(part int) bool // of samples that are left out, as nobody calibrates on them; nil: none
	// means are the layers whose means are noted, by input, of the samples whose keys are in meansOf; nil: of those
	// that lockstep looks at.
	means   map[*ir.Value][]layerMeans
	meansOf map[**tensor.Dense]bool
	states  []*ir.Node // of which the largest states are noted
	// look names values that are noted, behind the outputs, of samples in parts from
	// heldFrom on; nil: nothing is.
	look     []string
	heldFrom int

	values map[int]*surveyed // nil: it has not run
	noted  map[**tensor.Dense]*sampleNotes
}

// sampleNotes are what a survey notes of one sample, by whose key they are found.
type sampleNotes struct {
	rows  map[int][]row // by node
	means map[int][]float64
	look  []*tensor.Dense
	peaks []float64 // of the recurrent states, by node
}

// surveyed is one value.
type surveyed struct {
	mu    sync.Mutex
	parts []stats
	exact [][]float32 // of every sample; nil where there are too many elements
}

// needs are the nodes that the values that are looked at depend on; nil: all are looked at.
func (s *survey) needs() map[*ir.Node]bool {
	if s.within == nil {
		return nil
	}
	needed := map[*ir.Node]bool{}
	var back func(v *ir.Value)
	back = func(v *ir.Value) {
		if v == nil || v.Def == nil || needed[v.Def] {
			return
		}
		needed[v.Def] = true
		for _, in := range v.Def.In {
			back(in)
		}
	}
	for v := range s.within {
		back(v)
	}
	return needed
}

// run runs g, and watches values and rows of nodes.
func (s *survey) run(g *ir.Graph, list []*ir.Value, rows map[int]*rowStats, memory *memories) {
	n := len(s.samples)
	if s.part == nil {
		s.part = make([]int, n)
	}
	parts := slices.Max(s.part) + 1
	values := map[int]*surveyed{}
	most := min(exactElems, observedElems/max(len(list), 1))
	for _, v := range list {
		if s.within != nil && s.within[v] == nil {
			continue
		}
		x := &surveyed{parts: make([]stats, parts)}
		for i := range x.parts {
			x.parts[i].lo, x.parts[i].hi = math.Inf(1), math.Inf(-1)
		}
		if s.counts && s.within == nil && v.Type.Elems()*n <= most {
			x.exact = make([][]float32, n)
		}
		values[v.ID] = x
	}
	readers := map[*ir.Value][]*ir.Node{}
	for _, r := range rows {
		readers[r.of.In[0]] = append(readers[r.of.In[0]], r.of)
	}
	if s.meansOf == nil {
		s.meansOf = keysOf(lockstepInputs(s.samples))
	}
	bins := min(histBins*2/max(parts, 2), observedBins/max(len(values)*parts, 1))
	rowsEach := max(maxRows/max(n, 1), 16)
	scratch := make([]tally, runtime.GOMAXPROCS(0))
	peaks := newStatePeaks(s.states)
	watched, names := peaks.watch().seen, keptBy(s.look)
	float := evaluatorOf(g, func(v *ir.Value) bool {
		_, ok := watched[v]
		x := values[v.ID]
		return ok || names(v) || x != nil && x.exact != nil
	}, s.needs(), memory)
	noted := make([]sampleNotes, n)
	forSamples(n, g.Nodes, func(w, i int) {
		if s.unseen != nil && s.unseen(s.part[i]) {
			return
		}
		note := &noted[i]
		note.rows, note.means = map[int][]row{}, map[int][]float64{}
		found, states := newLook(s.look), peaks.watch()
		out := float.run(s.samples[i], func(v *ir.Value, d *tensor.Dense) {
			found.see(v.Name, d)
			states.see(v, d)
			if s.meansOf[s.samples[i].key()] {
				for _, l := range s.means[v] {
					note.means[l.id] = l.p.means(tensor.As[float32](d), l.w, l.b)
				}
			}
			x := values[v.ID]
			if x == nil {
				return
			}
			for _, n := range readers[v] {
				note.rows[n.ID] = rows[n.ID].collect(d, rowsEach)
			}
			data := tensor.As[float32](d)
			one := rangeOf(data)
			wantNumbers(v, one)
			if r := s.within[v]; r != nil {
				one.lo, one.hi = r.lo, r.hi
			}
			if x.exact != nil {
				x.exact[i] = data
			}
			p := &x.parts[s.part[i]]
			x.mu.Lock()
			p.join(&one.stats)
			x.mu.Unlock()
			if x.exact == nil && s.counts && one.lo <= one.hi {
				x.count(p, data, &one.stats, &scratch[w], bins)
			}
		})
		note.peaks = states.peaks()
		if s.look != nil && s.part[i] >= s.heldFrom {
			note.look = append(out, found.values...)
		} else {
			float.release(out)
		}
	})
	s.values, s.noted = values, map[**tensor.Dense]*sampleNotes{}
	for i, x := range s.samples {
		s.noted[x.key()] = &noted[i]
	}
}

// count adds the numbers of one tensor to a part: at once where their bins are there, by
// way of scratch where not.
func (x *surveyed) count(p *stats, data []float32, one *stats, scratch *tally, bins int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if p.hist.holds(one.lo, one.hi, bins) {
		p.zeros += p.hist.more(data, one.lo, one.hi)
		return
	}
	p.zeros += scratch.count(data, one.lo, one.hi, bins)
	p.hist.add(scratch, bins)
}

// oneRange is the range of one tensor.
type oneRange struct {
	stats
	nan bool
}

func rangeOf(x []float32) oneRange {
	lo, hi, odd := vec.Extent(x)
	r := oneRange{stats: stats{lo: float64(lo), hi: float64(hi), count: int64(len(x))}}
	if !odd {
		return r
	}
	r.lo, r.hi = math.Inf(1), math.Inf(-1)
	for _, f := range x {
		e := float64(f)
		switch {
		case e-e == 0:
			r.lo, r.hi = min(r.lo, e), max(r.hi, e)
		case e != e:
			r.nan = true
		default: // infinities (masks) saturate
			r.negInf, r.posInf = r.negInf || e < 0, r.posInf || e > 0
		}
	}
	return r
}

// join adds ranges and counts, without elements.
func (s *stats) join(x *stats) {
	s.lo, s.hi = min(s.lo, x.lo), max(s.hi, x.hi)
	s.negInf, s.posInf = s.negInf || x.negInf, s.posInf || x.posInf
	s.count += x.count
}

// of is what the survey says of a value, on the samples of some parts.
func (s *survey) of(v *ir.Value, in func(part int) bool) *stats {
	x := s.values[v.ID]
	if x == nil {
		return nil
	}
	all := &stats{lo: math.Inf(1), hi: math.Inf(-1)}
	for i := range x.parts {
		if p := &x.parts[i]; in(i) && p.count > 0 {
			all.join(p)
			all.zeros += p.zeros
			all.hist.add(&p.hist, max(len(p.hist.n), histBins))
		}
	}
	for i, e := range x.exact {
		if in(s.part[i]) {
			all.exact = append(all.exact, e...)
		}
	}
	if all.lo > all.hi {
		all.lo, all.hi = 0, 0
	}
	return all
}

// rowsOf are the rows of a node that normalises.
func (s *survey) rowsOf(n *ir.Node, in func(part int) bool) (all []row) {
	for i, x := range s.samples {
		if in(s.part[i]) {
			all = append(all, s.noted[x.key()].rows[n.ID]...)
		}
	}
	return all
}

// every is for all parts.
func every(int) bool { return true }
