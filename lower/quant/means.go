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
		for i := range out {
			out[i] = dotSingle(w[i*p.depth:][:p.depth], seen[i/p.outs*p.depth:])
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

// dotSingle is the scalar product of w and x, in four interleaved parts.
func dotSingle(w []float32, x []float64) float64 {
	var s0, s1, s2, s3 float64
	for x = x[:len(w)]; len(w) >= 4 && len(x) >= 4; w, x = w[4:], x[4:] {
		s0 += float64(float64(w[0]) * x[0])
		s1 += float64(float64(w[1]) * x[1])
		s2 += float64(float64(w[2]) * x[2])
		s3 += float64(float64(w[3]) * x[3])
	}
	for i, v := range w {
		s0 += float64(float64(v) * x[i])
	}
	return (s0 + s1) + (s2 + s3)
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
				clear(sums)
				for k := range y.count {
					vec.Accumulate(in[(y.first+k*y.step)*width:][:width], sums)
				}
				for t, z := range cols {
					s := 0.0
					for k := range z.count {
						s += sums[z.first+k*z.step]
					}
					out[r*len(cols)+t] += s
				}
			}
		}
		for k := range dst {
			dst[k] /= float64(c.N * positions)
		}
	}
}
