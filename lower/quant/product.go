// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/ir/vec"
)

// product is a multiply-accumulate operator with constant weights as matrix
// products, one for each group: output o of a group at a position is the sum of
// its weights times the depth elements of the input that the position sees.
type product struct {
	groups, outs, depth int
	positions           int                   // of one tensor: images times pixels, or rows
	weight              func(g, o, k int) int // place in the weight tensor
	scale               func(g, o int) int    // of the scales along the weights' channels
	place               func(i int) place     // of a position
	windows             *windows              // of a convolution
	transposed          bool                  // it goes from the output of these to their input
	// average writes the mean of element k of all positions, for group g, to dst[g*depth+k].
	average func(x []float32, dst []float64)
	// behind: the weights of an output lie one behind the other, outputs in their order;
	// across: those of an element of the input do.
	behind, across bool
}

// place is a position: what it sees begins with element at of the input, channel 0; in
// convolutions that is the element at y and x, which may lie outside. Transposed ones
// have at for the image, y and x in the output. sees has a bit for each of the first 64 taps of
// a convolution that lies inside.
type place struct {
	at, y, x int
	sees     uint64
}

// productOf is nil for operators that are no such products.
func productOf(n *ir.Node) *product {
	switch n.Op {
	case op.Conv, op.ConvTranspose:
		return convProduct(n)
	case op.Gemm, op.MatMul:
		w := n.In[1].Type.Shape
		if len(w) != 2 || n.Op == op.Gemm && ir.AttrsOf[op.GemmAttrs](n).TransA != 0 {
			return nil
		}
		inner, outs, behind := w[0], w[1], false
		weight := func(_, o, k int) int { return k*outs + o }
		if n.Op == op.Gemm && ir.AttrsOf[op.GemmAttrs](n).TransB != 0 {
			inner, outs, behind = w[1], w[0], true
			weight = func(_, o, k int) int { return o*inner + k }
		}
		return &product{
			groups: 1, outs: outs, depth: inner, positions: n.Out[0].Type.Elems() / max(outs, 1), weight: weight,
			behind: behind, across: !behind, scale: func(_, o int) int { return o },
			place: func(i int) place { return place{at: i * inner} },
			average: func(x []float32, dst []float64) {
				clear(dst)
				for i := 0; i < len(x); i += inner {
					vec.Accumulate(x[i:][:inner], dst)
				}
				for k := range dst {
					dst[k] *= float64(inner) / float64(len(x))
				}
			},
		}
	}
	return nil
}

// convProduct covers convolutions and transposed ones in up to two dimensions.
func convProduct(n *ir.Node) *product {
	c := bug.Must(op.ConvGeometry(n))
	if len(c.In) > 2 {
		return nil
	}
	ci, co := c.CIn/c.Group, c.COut/c.Group
	size := func(s []int, fill int) (h, w int) {
		if len(s) == 1 {
			return fill, s[0]
		}
		return s[0], s[1]
	}
	inH, inW := size(c.In, 1)
	outH, outW := size(c.Out, 1)
	kH, kW := size(c.Kernel, 1)
	sH, sW := size(c.Strides, 1)
	dH, dW := size(c.Dilations, 1)
	pH, pW := size(c.PadBegin, 0)
	taps, in, out := kH*kW, inH*inW, outH*outW
	p := &product{
		groups: c.Group, outs: co, depth: ci * taps, positions: c.N * out,
		scale: func(g, o int) int { return g*co + o }, average: averages(c), behind: true, transposed: c.Transposed,
	}
	p.weight = func(g, o, k int) int { return (g*co+o)*ci*taps + k }
	w := &windows{ci, kH, kW, dH, dW, sH, sW, pH, pW, inH, inW, false}
	p.windows = w
	p.place = func(i int) place {
		y, x := i%out/outW*sH-pH, i%out%outW*sW-pW
		return place{i/out*c.CIn*in + y*inW + x, y, x, w.sees(y, x)}
	}
	w.inside = pH == 0 && pW == 0 && (outH-1)*sH+(kH-1)*dH < inH && (outW-1)*sW+(kW-1)*dW < inW
	if !c.Transposed {
		return p
	}
	p.scale, p.behind = func(_, o int) int { return o }, false // groups share them
	p.weight = func(g, o, k int) int { return ((g*ci+k/taps)*co+o)*taps + k%taps }
	p.place = func(i int) place { return place{at: i / out * c.CIn * in, y: i % out / outW, x: i % out % outW} }
	return p
}

// column writes element k of places, for group g, to dst, less what stands for zero.
func column[T int8 | float32, D int16 | float64](p *product, x []T, zero D, g, k int, at []place, dst []D) {
	switch {
	case p.windows == nil:
		elements(x, zero, k, at, dst)
	case p.transposed:
		spreadTo(p.windows, x, zero, g, k, at, dst)
	default:
		seenBy(p.windows, x, zero, g, k, at, dst)
	}
}

// elements are element k behind places of x, less zero.
func elements[T int8 | float32, D int16 | float64](x []T, zero D, k int, at []place, dst []D) {
	dst = dst[:len(at)]
	for i := range at {
		dst[i] = D(x[at[i].at+k]) - zero
	}
}

// windows are what a convolution sees of its input.
type windows struct {
	ci, kH, kW, dH, dW, sH, sW, pH, pW, inH, inW int
	inside                                       bool // all of them
}

// sees has a bit for each of the first 64 taps that lies inside where a window begins at y and x.
func (w *windows) sees(y, x int) (bits uint64) {
	for t := range min(w.kH*w.kW, 64) {
		if uint(y+t/w.kW*w.dH) < uint(w.inH) && uint(x+t%w.kW*w.dW) < uint(w.inW) {
			bits |= 1 << t
		}
	}
	return bits
}

// seenBy is element k that a convolution sees from places, less zero; padding is 0.
func seenBy[T int8 | float32, D int16 | float64](w *windows, x []T, zero D, g, k int, at []place, dst []D) {
	taps := w.kH * w.kW
	ch, t := g*w.ci+k/taps, k%taps
	dy, dx := t/w.kW*w.dH, t%w.kW*w.dW
	from := ch*w.inH*w.inW + dy*w.inW + dx
	dst = dst[:len(at)]
	if w.inside {
		for i := range at {
			dst[i] = D(x[at[i].at+from]) - zero
		}
		return
	}
	if t < 64 {
		for i := range at {
			f := D(0)
			if q := &at[i]; q.sees>>(t&63)&1 != 0 {
				f = D(x[q.at+from]) - zero
			}
			dst[i] = f
		}
		return
	}
	inH, inW := uint(w.inH), uint(w.inW)
	for i := range at {
		f := D(0)
		if q := &at[i]; uint(q.y+dy) < inH && uint(q.x+dx) < inW {
			f = D(x[q.at+from]) - zero
		}
		dst[i] = f
	}
}

// spreadTo is element k that a transposed convolution sees from places, less zero; between
// and around its inputs is 0.
func spreadTo[T int8 | float32, D int16 | float64](w *windows, x []T, zero D, g, k int, at []place, dst []D) {
	taps := w.kH * w.kW
	ch, t := g*w.ci+k/taps, k%taps
	dy, dx := w.pH-t/w.kW*w.dH, w.pW-t%w.kW*w.dW
	for i, q := range at {
		y, z := q.y+dy, q.x+dx // times the strides
		dst[i] = 0
		if y >= 0 && z >= 0 && y%w.sH == 0 && z%w.sW == 0 && y/w.sH < w.inH && z/w.sW < w.inW {
			dst[i] = D(x[q.at+ch*w.inH*w.inW+y/w.sH*w.inW+z/w.sW]) - zero
		}
	}
}

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
