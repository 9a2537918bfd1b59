// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// component are sources whose elements are joined somewhere, and where they are read.
type component struct {
	sources []*source
	cuts    []cut
}

// parts are the sources that have to do with each other.
func (r *region) parts() []*component {
	of := map[*source]*component{}
	for _, s := range r.sources {
		of[s] = &component{sources: []*source{s}}
	}
	for _, c := range r.cuts {
		var p *component
		for _, m := range r.trails[c.v] {
			if m.from < 0 {
				continue
			}
			o := of[r.of(m.from)]
			if p == nil {
				p = o
			}
			if o != p {
				p.sources, p.cuts = append(p.sources, o.sources...), append(p.cuts, o.cuts...)
				for _, s := range o.sources {
					of[s] = p
				}
			}
		}
		if p != nil {
			p.cuts = append(p.cuts, c)
		}
	}
	var out []*component
	for _, s := range r.sources {
		if p := of[s]; len(p.cuts) > 0 && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// plan finds the axis of every source of a component, along which its channels lie; false where
// there is none.
func (r *region) plan(p *component, ranges map[*ir.Value][]interval) bool {
	for _, s := range p.sources {
		var best *source
		axes := axesBySize(s.v.Type.Shape)
		if r.through {
			axes = []int{s.axis}
		}
		for _, a := range axes {
			t := &source{v: s.v, at: s.at, axis: a, first: s.first}
			if r.along(t, p, ranges) && (best == nil || !t.fixed && t.octaves() < best.octaves()-1.5) {
				best = t
			}
		}
		if best == nil {
			return false
		}
		*s = *best
	}
	return true
}

// alongUnits gives every source the axis along which its ranges differ most; false where they are alike.
func (r *region) alongUnits(ranges map[*ir.Value][]interval) (differ bool) {
	r.through = true
	all := interval{}
	for _, s := range r.sources {
		var best *source
		for _, a := range axesBySize(s.v.Type.Shape) {
			t := &source{v: s.v, at: s.at, axis: a}
			t.look(ranges[s.v])
			t.gain = filled(len(t.ranges), 1.0)
			if best == nil || t.octaves() < best.octaves()-1.5 {
				best = t
			}
		}
		s.axis, s.ranges = best.axis, best.ranges
		all = all.union(s.ranges...)
	}
	for _, s := range r.sources {
		for _, e := range s.ranges {
			differ = differ || e.hi > e.lo && math.Pow(all.width()/e.width(), 2) > mostNoise
		}
	}
	return differ
}

// axesBySize are the dimensions but that of a batch, small and late ones first.
func axesBySize(shape []int) (axes []int) {
	for a := len(shape) - 1; a >= 0; a-- {
		if a > 0 || shape[0] > 1 || len(shape) == 1 {
			axes = append(axes, a)
		}
	}
	slices.SortStableFunc(axes, func(a, b int) int { return cmp.Compare(shape[a], shape[b]) })
	return axes
}

// octaves is the mean logarithm of the ranges of channels.
func (s *source) octaves() float64 {
	sum := 0.0
	for i, e := range s.ranges {
		sum += math.Log2(max(e.width()*math.Abs(s.gain[i]), 1e-30))
	}
	return sum / float64(len(s.ranges))
}

// along fills in what becomes of the channels of s along its axis; false where elements of a
// channel are treated differently, or one weight sees several channels.
func (r *region) along(s *source, p *component, ranges map[*ir.Value][]interval) bool {
	dim := s.v.Type.Shape[s.axis]
	s.gain, s.shift, s.free = make([]float64, dim), make([]float64, dim), make([]bool, dim)
	s.look(ranges[s.v])
	s.wide = interval{}.union(s.ranges...).width()
	seen := make([]bool, dim)
	for _, free := range []bool{false, true} {
		for _, c := range p.cuts {
			if !r.alike(s, c, seen, free) {
				return false
			}
		}
	}
	for c, ok := range seen {
		if !ok { // unused
			s.gain[c] = 1
		}
	}
	return true
}

// look finds the ranges of the channels along the axis.
func (s *source) look(ranges []interval) {
	s.ranges = filled(s.v.Type.Shape[s.axis], nothing)
	for i, e := range ranges {
		c := s.channel(s.at + i)
		s.ranges[c] = s.ranges[c].union(e)
	}
}

// alike notes what a reader sees of the channels of s, seen those of which that is known; with free
// of the elements that offsets do not reach. False where it sees another thing.
func (r *region) alike(s *source, c cut, seen []bool, free bool) bool {
	w, owner := r.weights(c), map[int]int{}
	for e, m := range r.trails[c.v] {
		if !s.has(m.from) || (m.share == 0) != free {
			continue
		}
		ch := s.channel(m.from)
		if s.note(ch, m, seen, free); m.gain == 0 ||
			!r.through && (!near(s.gain[ch], m.gain) || !near(s.shift[ch], m.shift)) {
			return false
		}
		if w == nil {
			s.fixed = true
			continue
		}
		s.padded = s.padded || w.padded
		if k, ok := owner[w.channel(e)]; ok && k != ch {
			if s.fixed = true; !r.through {
				return false
			}
		}
		owner[w.channel(e)] = ch
	}
	return true
}

// note takes the first element that is seen of a channel for what the model makes of that.
func (s *source) note(ch int, m mark, seen []bool, free bool) {
	if seen[ch] {
		return
	}
	seen[ch], s.gain[ch], s.free[ch] = true, m.gain, free
	if !free {
		s.shift[ch] = m.shift / m.share
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(math.Abs(a), math.Abs(b)) }

// even chooses what is taken away from each channel and by what it is divided, so that all
// channels have the same range; nothing where a reader cannot take that.
func (s *source) even() {
	dim := len(s.gain)
	s.sub, s.div = make([]float64, dim), filled(dim, 1.0)
	if s.fixed && !slices.Contains(s.free, true) {
		return
	}
	like := 0.0 // the largest weight that there will be
	constants := make([]bool, dim)
	for c := range s.div {
		e := s.made(c)
		if s.div[c] = e.peak(); !s.padded || s.free[c] {
			s.sub[c], s.div[c] = (e.lo+e.hi)/2, e.width()/2
		}
		if constants[c] = e.width() <= 1e-7*e.peak(); !constants[c] {
			like = max(like, s.peak[c]*s.div[c])
		}
	}
	for c := range s.div {
		if constants[c] {
			s.constant(c, like)
		}
		if s.gain[c] < 0 {
			s.div[c] = -s.div[c]
		}
	}
}

// constant is even for a channel that had one value in all samples: a flag that was always set has its
// other value at 0; of others the weights, of which nothing else speaks, become like those of the rest.
func (s *source) constant(c int, like float64) {
	v := s.made(c).lo
	s.div[c] = max(like, 1e-30) / s.peak[c]
	if !s.padded || s.free[c] {
		s.sub[c] = v
	}
	if half := math.Abs(v) / 2; v != 0 && !s.padded && half <= 2*s.div[c] {
		s.sub[c], s.div[c] = v/2, half
	}
}

// peaks finds the largest weight that reads each channel of s; 1 where there is none.
func (r *region) peaks(s *source, p *component) {
	s.peak = make([]float64, len(s.gain))
	for _, c := range p.cuts {
		w := r.weights(c)
		if w == nil {
			continue
		}
		read := make([]float64, w.count)
		w.each(func(at, in, _ int) { read[in] = max(read[in], math.Abs(w.n.ConstIn(1).Float(at))) })
		for e, m := range r.trails[c.v] {
			if s.has(m.from) {
				s.peak[s.channel(m.from)] = max(s.peak[s.channel(m.from)], read[w.channel(e)])
			}
		}
	}
	for c, x := range s.peak {
		if x == 0 {
			s.peak[c] = 1
		}
	}
}

// made is the range of channel c where the region ends.
func (s *source) made(c int) interval {
	e := s.ranges[c]
	return nothing.with(s.gain[c]*e.lo + s.shift[c]).with(s.gain[c]*e.hi + s.shift[c])
}

// loses reports that one scale for each source would lose more than 3 dB of what a reader
// sees, and chooses better ones.
func (r *region) loses(p *component) bool {
	loses := false
	for _, s := range p.sources {
		r.peaks(s, p)
		s.even()
		for _, g := range s.gain {
			if s.fixed && g < 0 {
				return false
			}
		}
	}
	for _, c := range p.cuts {
		most := float64(mostNoise)
		if w := r.weights(c); w != nil && r.data(w.n) == tensor.I16 {
			most *= 1 << 8 // 12 of 16 bits are left
		}
		loses = r.loss(c) > most || loses
	}
	return loses
}

// channelNoise is that of a channel where a region ends, as a power: with one scale for the
// source and one for the end, and with one for each channel.
type channelNoise struct{ one, own float64 }

func (a channelNoise) ratio() float64 { return a.one / max(a.own, 1e-300) }

// loss is by how much one scale raises the noise that a reader sees: that of the worst channel, or
// of the worst group of channels that a layer adds up.
func (r *region) loss(c cut) float64 {
	noise, w := r.noise(c), r.weights(c)
	if w == nil {
		return lists.Max(slices.Collect(maps.Values(noise)), channelNoise.ratio)
	}
	d, sums := w.n.ConstIn(1), make([]channelNoise, w.outs/w.group)
	w.each(func(at, in, out int) {
		x, power := noise[in], d.Float(at)*d.Float(at)
		sum := &sums[out/w.group]
		sum.one, sum.own = sum.one+float64(x.one*power), sum.own+float64(x.own*power)
	})
	return lists.Max(sums, channelNoise.ratio)
}

// noise is that of the channels that a reader with weights sees, of the elements for another one.
func (r *region) noise(c cut) map[int]channelNoise {
	t, w := r.trails[c.v], r.weights(c)
	var whole, after interval // with zero
	for _, m := range t {
		if m.from < 0 {
			continue
		}
		s := r.of(m.from)
		ch := s.channel(m.from)
		e := s.made(ch)
		whole = whole.union(e)
		after = after.with((e.lo - s.sub[ch]) / s.div[ch]).with((e.hi - s.sub[ch]) / s.div[ch])
	}
	noise := map[int]channelNoise{}
	for e, m := range t {
		k := e
		if w != nil {
			k = w.channel(e)
		}
		if _, ok := noise[k]; ok || m.from < 0 {
			continue
		}
		s := r.of(m.from)
		ch := s.channel(m.from)
		one, own := max(math.Abs(s.gain[ch])*s.wide, whole.width()), after.width()*s.div[ch]
		noise[k] = channelNoise{one * one, own * own}
	}
	return noise
}

// has reports an element of the source, counted over all sources.
func (s *source) has(element int) bool { return element >= s.at && element < s.at+s.v.Type.Elems() }

// channel is the index along the axis of an element, counted over all sources.
func (s *source) channel(element int) int {
	shape := s.v.Type.Shape
	return (element - s.at) / tensor.Count(shape[s.axis+1:]) % shape[s.axis]
}
