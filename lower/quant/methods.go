// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"maps"
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/ir/vec"
	"github.com/nncc/nncc/lower/option"
)

// methods are those that a layer may have; the first is what every other must beat.
var methods = [...]option.Method{option.MinMax, option.Percentile, option.MSE, option.Entropy}

const (
	// clearGain is which part of the error with the whole range another method may
	// leave at most.
	clearGain = 0.8
	// looked is how many elements of a value, or positions of a layer's output, are
	// looked at, of all samples together; mixtures is how many sums of a layer's output
	// channels stand for them all. These 2,048 sums tell errors to some hundredths.
	lookedElems, lookedPositions = 1 << 15, 1 << 9
	mixtures                     = 4
	// lookedGroups is how many groups of a layer's channels stand for all.
	lookedGroups = 16
)

// localErrors are the errors that the ranges of each method leave in what reads a
// group, as parts of its signal, by the group's first value.
type localErrors map[int]*[len(methods)]float64

// best is the method of the least error; the whole range unless another gains
// clearly.
func best(e *[len(methods)]float64) int {
	at := 0
	for m := range e {
		if e[m] < min(e[at], clearGain*e[0]) {
			at = m
		}
	}
	return at
}

// methods are the best ones.
func (e localErrors) methods() map[int]option.Method {
	m := map[int]option.Method{}
	for id, x := range e {
		m[id] = methods[best(x)]
	}
	return m
}

// gain is by how many dB the sum of all errors is less with the best methods.
func (e localErrors) gain() float64 {
	before, after := 0.0, 0.0
	for _, id := range slices.Sorted(maps.Keys(e)) { // sums in one order
		before += e[id][0]
		after += e[id][best(e[id])]
	}
	if after == before {
		return 0
	}
	return 10 * math.Log10(before/after)
}

// add adds errors of other samples.
func (e localErrors) add(more localErrors) {
	for id, x := range more {
		if e[id] == nil {
			e[id] = &[len(methods)]float64{}
		}
		for m, f := range x {
			e[id][m] += f
		}
	}
}

// differing notes the ranges of the groups for which the methods have several, and
// gives the group of each of their values.
func (p *probing) differing(list []*group, f *fold) map[int]int {
	groupOf := map[int]int{}
	for _, k := range list {
		id := k.members[0].ID
		var a [len(methods)]affine
		same := true
		for i, m := range methods {
			a[i] = f.found.ranges[m][id]
			same = same && a[i] == a[0]
		}
		if same {
			continue
		}
		for _, v := range k.members {
			p.ranges[v.ID] = &a
			groupOf[v.ID] = id
		}
	}
	return groupOf
}

// localErrors measures the methods in one fold: ranges are of the samples that it
// calibrates on, errors of those that it holds out.
func (t *trials) localErrors(f *fold, o Options) localErrors {
	o.Samples, o.Held, o.found = f.fit, f.held, f.found
	c := newCalibrator(t.g.Clone(), o)
	c.g.RemoveDead()
	if c.prepare(); len(c.values) == 0 {
		return nil
	}
	list := c.groups()
	for _, m := range methods {
		c.findRanges(list, m)
	}
	p := &probing{c: c, ranges: map[int]*[len(methods)]affine{}, at: map[int][]readerKey{}}
	groupOf := p.differing(list, f)
	if len(p.ranges) == 0 {
		return nil
	}
	p.readers(c.before)
	for _, k := range p.order {
		p.at[k.value] = append(p.at[k.value], k)
	}
	parts := make([]map[readerKey]*readerError, len(f.held))
	see := func(i int) interp.Observer {
		parts[i] = map[readerKey]*readerError{}
		return p.observer(parts[i], len(f.held))
	}
	f.named(func() { c.hold(see) })
	out := localErrors{}
	for _, key := range p.order {
		var all readerError
		for _, part := range parts {
			if e := part[key]; e != nil {
				all.add(e)
			}
		}
		id := groupOf[key.value]
		if out[id] == nil {
			out[id] = &[len(methods)]float64{}
		}
		for m := range methods {
			out[id][m] += all.of(m)
		}
	}
	return out
}

// probing looks at the errors that ranges leave.
type probing struct {
	c      *calibrator
	ranges map[int]*[len(methods)]affine // by value: candidates that differ
	order  []readerKey
	at     map[int][]readerKey // by value
	layers map[readerKey]*layerProbe
}

// readerKey is a value and a layer that reads it; -1: anything else.
type readerKey struct{ value, node int }

// readerError is signal and errors, and the mean errors that a bias makes up for.
type readerError struct {
	signal float64
	err    [len(methods)]float64
	n      float64
	mean   [len(methods)][]float64 // sums of errors, by mixture
}

func (e *readerError) add(x *readerError) {
	e.signal += x.signal
	e.n += x.n
	for m := range x.err {
		e.err[m] += x.err[m]
		if e.mean[m] == nil {
			e.mean[m] = make([]float64, len(x.mean[m]))
		}
		for i, f := range x.mean[m] {
			e.mean[m][i] += f
		}
	}
}

// of is the error of a method as a part of the signal.
func (e *readerError) of(m int) float64 {
	if e.signal == 0 {
		return 0
	}
	err := e.err[m]
	if e.n > 0 {
		for _, f := range e.mean[m] {
			err -= f * f / e.n
		}
	}
	return max(err, 0) / e.signal
}

// layerProbe is a layer as matrix products with mixtures of its output channels.
type layerProbe struct {
	p *product
	w [][][]float64 // by group and mixture, of depth elements
}

// readers lists who reads the values whose candidates differ.
func (p *probing) readers(g *ir.Graph) {
	p.layers = map[readerKey]*layerProbe{}
	visit := func(v *ir.Value) {
		if p.ranges[v.ID] == nil {
			return
		}
		other := g.IsOutput(v)
		for _, u := range v.Uses() {
			n := u.Node
			if u.Index == 0 && weightAxis(n) >= 0 && n.ConstIn(1) != nil {
				if l := newLayerProbe(n); l != nil {
					k := readerKey{v.ID, n.ID}
					p.layers[k] = l
					p.order = append(p.order, k)
					continue
				}
			}
			// What only moves the values on has readers of its own.
			if len(n.Out) == 1 && n.Op.Quant == ir.QMove && p.ranges[n.Out[0].ID] == p.ranges[v.ID] {
				continue
			}
			other = true
		}
		if other {
			p.order = append(p.order, readerKey{v.ID, -1})
		}
	}
	for _, v := range g.In {
		visit(v)
	}
	for _, n := range g.Nodes {
		for _, v := range n.Out {
			visit(v)
		}
	}
}

func newLayerProbe(n *ir.Node) *layerProbe {
	p := productOf(n)
	if p == nil {
		return nil
	}
	w := n.ConstIn(1)
	narrow := w.DType == tensor.F32
	l := &layerProbe{p: p, w: make([][][]float64, p.groups)}
	for g := range l.w {
		rows := min(p.outs, mixtures)
		l.w[g] = newMatrix(rows, p.depth)
		sign := uint64(1)
		for o := range p.outs {
			for r := range rows {
				if rows == p.outs && r != o {
					continue
				}
				// Signs by a generator of random numbers (xorshift), always the same.
				s := 1.0
				if rows < p.outs {
					sign ^= sign << 13
					sign ^= sign >> 7
					sign ^= sign << 17
					s = 1 - 2*float64(sign>>63)
				}
				row := l.w[g][r]
				if p.behind && narrow {
					for k, f := range tensor.As[float32](w)[p.weight(g, o, 0):][:p.depth] {
						row[k] += s * float64(f)
					}
					continue
				}
				for k := range row {
					row[k] += s * w.Float(p.weight(g, o, k))
				}
			}
		}
	}
	return l
}

// observer measures one of several samples.
func (p *probing) observer(sums map[readerKey]*readerError, samples int) interp.Observer {
	return func(v *ir.Value, d *tensor.Dense) {
		for _, k := range p.at[v.ID] {
			x := tensor.As[float32](d)
			if l := p.layers[k]; l != nil {
				sums[k] = l.errors(x, p.ranges[v.ID], max(lookedPositions/samples, 64))
			} else {
				sums[k] = p.ownErrors(v, x, lookedElems/samples)
			}
		}
	}
}

// ownErrors are the errors of a value's elements, some of them, as its readers tell them apart.
func (p *probing) ownErrors(v *ir.Value, x []float32, most int) *readerError {
	l, limited := p.c.limits[v.ID]
	if !limited {
		l = unlimited
	}
	by := max(len(x)/max(most, 1), 1) | 1
	some := make([]float64, 0, len(x)/by+1)
	for i := 0; i < len(x); i += by {
		if f := l.clip(float64(x[i])); f-f == 0 {
			some = append(some, f)
		}
	}
	e, diff := &readerError{signal: vec.Dot(some, some)}, make([]float64, len(some))
	for m, same := range alike(p.ranges[v.ID]) {
		if same != m {
			e.err[m] = e.err[same]
			continue
		}
		a := p.ranges[v.ID][m]
		vec.RoundingErrors(some, a.scale, -128-a.zero, 127-a.zero, diff)
		if limited {
			vec.ClampErrors(some, l.lo, l.hi, diff)
		}
		e.err[m] = vec.Dot(diff, diff)
	}
	return e
}

// alike is the first method with the range of each.
func alike(ranges *[len(methods)]affine) (first [len(methods)]int) {
	for m := range methods {
		first[m] = slices.Index(ranges[:], ranges[m])
	}
	return first
}

// errors are those of the layer's results, where nothing else is quantised.
func (l *layerProbe) errors(x []float32, ranges *[len(methods)]affine, most int) *readerError {
	p := l.p
	at := p.spread(most)
	e := &readerError{n: float64(len(at))}
	col, diff := make([]float64, len(at)), make([]float64, len(at))
	first := alike(ranges)
	for g := 0; g < len(l.w); g += (len(l.w)-1)/lookedGroups + 1 {
		w := l.w[g]
		var sums [len(methods) + 1][][]float64
		for i := range sums {
			sums[i] = newMatrix(len(w), len(at))
		}
		for k := range p.depth {
			column(p, x, 0, g, k, at, col)
			for r := range w {
				vec.Axpy(w[r][k], col, sums[len(methods)][r])
			}
			for m, a := range ranges {
				if first[m] != m {
					continue
				}
				vec.RoundingErrors(col, a.scale, -128-a.zero, 127-a.zero, diff)
				for r := range w {
					vec.Axpy(w[r][k], diff, sums[m][r])
				}
			}
		}
		for m, same := range first {
			sums[m] = sums[same]
		}
		for r := range w {
			for _, f := range sums[len(methods)][r] {
				e.signal += f * f
			}
			for m := range methods {
				mean := 0.0
				for _, f := range sums[m][r] {
					e.err[m] += f * f
					mean += f
				}
				e.mean[m] = append(e.mean[m], mean)
			}
		}
	}
	return e
}
