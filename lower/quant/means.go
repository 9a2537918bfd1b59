// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/ir/vec"
)

// The mean of an output channel over its positions is a product, too: of the weights and
// the means of what they see. Nothing needs to be evaluated for it.

// means are those of all output channels for an input: a layer with weights w, laid out as
// the operator has them, and bias b, which may be nil.
func (p *product) means(x, w []float32, b *tensor.Dense) []float64 {
	seen, out := make([]float64, p.groups*p.depth), make([]float64, p.groups*p.outs)
	p.average(x, seen)
	switch {
	case p.behind:
		for g := range p.groups {
			at := g * p.outs
			vec.DotsSingle(seen[g*p.depth:][:p.depth], w[at*p.depth:], out[at:][:p.outs])
		}
	case p.across:
		for k, v := range seen {
			for o, f := range w[k*p.outs:][:p.outs] {
				out[o] += float64(float64(f) * v)
			}
		}
	default:
		for i := range out {
			g, o := i/p.outs, i%p.outs
			for k, v := range seen[g*p.depth:][:p.depth] {
				out[i] += float64(float64(w[p.weight(g, o, k)]) * v)
			}
		}
	}
	if b != nil {
		for i := range out {
			out[i] += b.Float(i % b.Len())
		}
	}
	return out
}

// span is what a tap of a window sees along an axis of the input, over all positions.
type span struct{ first, step, count int }

// spans are those of the taps of axis i of a convolution.
func spans(c *op.ConvGeom, i int) []span {
	out := make([]span, c.Kernel[i])
	st, in := c.Strides[i], c.In[i]
	for t := range out {
		from := t*c.Dilations[i] - c.PadBegin[i]
		if c.Transposed { // input y gives output y*st+from
			lo := max(0, (st-1-from)/st)
			out[t] = span{lo, 1, max(0, min(in, (c.Out[i]-1-from+st)/st)-lo)}
			continue
		}
		lo := max(0, (st-1-from)/st) // output y sees y*st+from
		out[t] = span{lo*st + from, st, max(0, min(c.Out[i], (in-1-from+st)/st)-lo)}
	}
	return out
}

// averages is product.average of a convolution in up to two dimensions.
func averages(c *op.ConvGeom) func(x []float32, dst []float64) {
	rows, width, plane := []span{{0, 1, 1}}, c.In[len(c.In)-1], 1
	cols := spans(c, len(c.In)-1)
	if len(c.In) == 2 {
		rows = spans(c, 0)
	}
	positions := 1
	for i := range c.In {
		plane *= c.In[i]
		positions *= c.Out[i]
	}
	return func(x []float32, dst []float64) {
		clear(dst)
		sums := make([]float64, width)
		for i := 0; i*plane < len(x); i++ {
			if len(rows)*len(cols) == 1 && rows[0] == (span{0, 1, plane / width}) && cols[0] == (span{0, 1, width}) {
				dst[i%c.CIn] += vec.Sum(x[i*plane:][:plane])
				continue
			}
			in, out := x[i*plane:][:plane], dst[i%c.CIn*len(rows)*len(cols):]
			for r, y := range rows {
				vec.SumRows(in[min(y.first*width, len(in)):], y.count, y.step*width, sums)
				addSpans(cols, sums, out[r*len(cols):])
			}
		}
		for k := range dst {
			dst[k] /= float64(c.N * positions)
		}
	}
}

// addSpans adds to each element of out what a span sees of x, summed up one after another; three
// spans at a time, since a sum waits for the one before.
func addSpans(spans []span, x, out []float64) {
	for ; len(spans) >= 3; spans, out = spans[3:], out[3:] {
		a, b, c := spans[0], spans[1], spans[2]
		n := min(a.count, b.count, c.count)
		var s0, s1, s2 float64
		for i := 0; i < n*a.step; i += a.step {
			s0, s1, s2 = s0+x[a.first+i], s1+x[b.first+i], s2+x[c.first+i]
		}
		out[0] += a.add(n, x, s0)
		out[1] += b.add(n, x, s1)
		out[2] += c.add(n, x, s2)
	}
	for i, s := range spans {
		out[i] += s.add(0, x, 0)
	}
}

// add adds what the span sees of x to sum, without the first some.
func (s span) add(some int, x []float64, sum float64) float64 {
	for k := some; k < s.count; k++ {
		sum += x[s.first+k*s.step]
	}
	return sum
}
