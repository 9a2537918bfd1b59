// SPDX-License-Identifier: Apache-2.0

package legal4d

import (
	"maps"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// strides that an accelerator's transposed convolution has.
var deconvStrides = []int{1, 2, 4, 8, 16}

// convTranspose writes a transposed convolution along W whose stride an
// accelerator lacks as a convolution with a channel per phase, whose results
// interleave along W:
//
//	y[s*m + r] = sum over j of x[m-j] * w[s*j + r]   (before cropping by pads)
//
// Preconditions: rank 4, group 1, no dilation, kernel and stride 1 along H;
// quantised weights are symmetric, so that the taps that a phase lacks are 0.
func convTranspose(b *builder, n *ir.Node) []*rep {
	keepIf := func(is bool) { refuseIf(is, "it is a transposed convolution") }
	g := fail.Must(op.ConvGeometry(n))
	x, w := n.In[0].Type.Shape, n.ConstIn(1)
	wq := n.In[1].Type.Quant
	keepIf(len(x) != 4 || w == nil || !w.DType.IsFloat() && wq == nil || ir.AttrsOf[op.GroupAttr](n).Group != 1 ||
		w.Shape[2] != 1 || x[2] != 1 || n.Input(2) != nil && n.In[2].Const == nil)
	stride, dil := ir.AttrsOf[op.StridesAttr](n).Strides, ir.AttrsOf[op.DilationsAttr](n).Dilations
	keepIf(len(stride) != 2 || stride[0] != 1 || slices.Contains(deconvStrides, stride[1]) || len(dil) > 0 &&
		(dil[0] != 1 || dil[1] != 1) || n.Out[0].Type.Shape[2] != 1)
	if wq != nil {
		p, why := op.MAC8Params(n)
		keepIf(why != "" || !p.Symmetric())
	}
	b.math = true
	s, k := stride[1], w.Shape[3]
	cout, l := w.Shape[1], x[3]
	taps := (k + s - 1) / s
	out := n.Out[0].Type.Shape[3]
	begin := g.PadBegin[1]
	m := (begin + out + s - 1) / s // blocks of s outputs
	m = max(m, 1)
	// x padded by taps-1 in front, so that block i sees x[i-taps+1 .. i]
	after := m - l
	src := b.logical(b.of(n.In[0]))
	if after < 0 { // outputs cropped beyond the last input
		src = b.slice(src, axW, 0, m, 1)
		after = 0
	}
	in := []*ir.Value{src, b.g.AddQuantConst(b.name("weight"), phased(w, s, taps), perPhase(wq, s))}
	if d := n.ConstIn(2); d != nil {
		bias := lists.Make(s*cout, func(i int) float64 { return d.Float(i % cout) })
		in = append(in, b.g.AddQuantConst(b.name("bias"), tensor.FromFloats(d.DType, []int{s * cout}, bias),
			perPhase(n.In[2].Type.Quant, s)))
	}
	attrs := ir.Attrs{"kernel_shape": ir.Ints(1, taps), "pads": ir.Ints(0, taps-1, 0, after)}
	maps.Copy(attrs, op.ActAttrs(n))
	q := b.interleaved(b.emitAs(n.Out[0].Type, op.Conv, "phases", attrs, in...), x[0], s, cout, m)
	q.normalise()
	return result(n, b.take([]*part{q}, 3, begin, begin+out, false))
}

// phased are weights [cin, cout, 1, k] of a transposed convolution by phase: [s*cout, cin,
// 1, taps], the last tap first.
func phased(w *tensor.Dense, s, taps int) *tensor.Dense {
	cin, cout, k := w.Shape[0], w.Shape[1], w.Shape[3]
	return woven(w, []int{s * cout, cin, 1, taps}, func(i []int) int {
		at := s*(taps-1-i[3]) + i[0]/cout
		if at >= k {
			return -1
		}
		return (i[1]*cout+i[0]%cout)*k + at
	})
}

// interleaved is v, [batch, s*cout, 1, m], as [batch, cout, 1, m*s].
func (b *builder) interleaved(v *ir.Value, batch, s, cout, m int) *part {
	p := &part{shape: []int{batch, cout, 1, m * s}, start: make([]int, 4), val: v,
		axes: axes{{{0, 1, batch}}, {{3, 1, s}, {1, 1, cout}}, nil, {{3, s, m}}}}
	p.normalise()
	return b.relayout(p, axes{p.atomsOf(0), p.atomsOf(1), nil, p.atomsOf(3)})
}

// perPhase repeats the scales of output channels for every phase.
func perPhase(q *ir.Quant, phases int) *ir.Quant {
	if q == nil || !q.PerAxis() {
		return q
	}
	return &ir.Quant{Axis: 0, Scale: slices.Repeat(q.Scale, phases), Zero: slices.Repeat(q.Zero, phases)}
}
