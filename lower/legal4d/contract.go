// SPDX-License-Identifier: Apache-2.0

package legal4d

import (
	"maps"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// factor is a constant right side of a product, [M, K]: what a convolution has
// as weights, with its bias [M].
type factor struct {
	w, bias   *tensor.Dense
	wq, biasq *ir.Quant // nil for floats; wq is per tensor or along M
	// fc: the scales multiply as those of a fully connected layer.
	fc bool
}

// gemm is x*B + c with constants: a convolution. transA and a C that differs
// by row or is computed keep their logical form (the float passes remove both).
func gemm(b *builder, n *ir.Node) []*rep {
	w := n.ConstIn(1)
	refuseIf(w == nil || ir.AttrsOf[op.GemmAttrs](n).TransA != 0,
		"the second factor of the Gemm is not constant, or the first is transposed")
	f := &factor{w: w, wq: n.In[1].Type.Quant, fc: true}
	refuseMAC8(n)
	if ir.AttrsOf[op.GemmAttrs](n).TransB == 0 {
		f.transpose()
	}
	f.w = scale(f.w, float64(ir.AttrsOf[op.AlphaAttr](n).Alpha))
	if v := n.Input(2); v != nil {
		m := f.w.Shape[0]
		d := v.Const
		refuseIf(d == nil || d.Len() != 1 && (d.Len() != m || d.Shape[len(d.Shape)-1] != m),
			"C of the Gemm is not one constant per column")
		beta := float64(ir.AttrsOf[op.BetaAttr](n).Beta)
		x := lists.Make(m, func(i int) float64 { return d.Float(i%d.Len()) * beta })
		f.bias = tensor.FromFloats(d.DType, []int{m}, x)
		if f.biasq = v.Type.Quant; f.biasq != nil && f.biasq.PerAxis() {
			f.biasq = &ir.Quant{Axis: 0, Scale: f.biasq.Scale, Zero: f.biasq.Zero}
		}
	}
	return b.product(n, 1, f)
}

// refuseMAC8 refuses a quantised product that the 8-bit kernels do not have.
func refuseMAC8(n *ir.Node) {
	if n.Quantised() {
		_, why := op.MAC8Params(n)
		refuseIf(why != "", "%s", why)
	}
}

func (f *factor) transpose() {
	f.w = f.w.Transpose([]int{1, 0})
	if f.wq != nil && f.wq.PerAxis() {
		f.wq = &ir.Quant{Axis: 1 - f.wq.Axis, Scale: f.wq.Scale, Zero: f.wq.Zero}
	}
}

func scale(d *tensor.Dense, k float64) *tensor.Dense {
	if k == 1 {
		return d
	}
	f := d.Floats()
	for i := range f {
		f[i] *= k
	}
	return tensor.FromFloats(d.DType, d.Shape, f)
}

// matMul with a constant factor is a convolution, otherwise a product of
// matrices on H and W.
func matMul(b *builder, n *ir.Node) []*rep {
	refuseMAC8(n)
	x, y := n.In[0], n.In[1]
	switch {
	case y.Const != nil && len(y.Const.Shape) == 2 && x.Const == nil:
		f := &factor{w: y.Const, wq: y.Type.Quant, fc: true}
		f.transpose()
		return b.product(n, x.Type.Rank()-1, f)
	case x.Const != nil && len(x.Const.Shape) == 2 && y.Const == nil && y.Type.Rank() >= 2:
		return b.product(n, y.Type.Rank()-2, &factor{w: x.Const, wq: x.Type.Quant, fc: true})
	}
	return batched(b, n)
}

// pointwise reports a 1x1 convolution that mixes channels only.
func pointwise(n *ir.Node) bool {
	if n.In[0].Type.Rank() != 4 || n.In[1].Const == nil || ir.AttrsOf[op.GroupAttr](n).Group != 1 ||
		n.Input(2) != nil && n.In[2].Const == nil {
		return false
	}
	g := bug.Must(op.ConvGeometry(n))
	// A stride beside padding may give as many pixels, and other ones.
	return g.Taps() == 1 && slices.Max(g.Strides) == 1 &&
		slices.Equal(n.Out[0].Type.Shape[2:], n.In[0].Type.Shape[2:])
}

// conv keeps a convolution on a feature map, and applies a 1x1 convolution to
// tensors in pieces or other layouts as a product.
func conv(b *builder, n *ir.Node) []*rep {
	r := b.of(n.In[0])
	refuseIf(r.konst != nil || !pointwise(n) || r.whole != nil, "it is a convolution")
	ps := b.get(r)
	refuseIf(len(ps) == 1 && slices.Equal(ps[0].axes.shape(), r.shape), "it is a convolution")
	w := n.In[1].Const
	f := &factor{w: w.Reshaped([]int{w.Shape[0], w.Shape[1]}), wq: n.In[1].Type.Quant,
		fc: ir.AttrsOf[op.ConvAttrs](n).FcScale != 0}
	if v := n.Input(2); v != nil {
		f.bias, f.biasq = v.Const, v.Type.Quant
	}
	refuseMAC8(n)
	return b.product(n, 1, f)
}

// product contracts dimension kd of a tensor with a constant factor, as a
// convolution:
//
//	K on C:                 1x1, the rows stay on H and W
//	K on C and all of H, W: the kernel is the feature map
//	otherwise K is moved to C first
//
// On quantised values it is exact: int32 sums do not depend on their order, and
// fc_scale keeps the multiplier.
func (b *builder) product(n *ir.Node, kd int, f *factor) []*rep {
	w := f.w
	refuseIf(!w.DType.IsFloat() && f.wq == nil, "the factors are integers")
	x := n.In[0]
	if x.Const != nil {
		x = n.In[1]
	}
	refuseIf(slices.Contains(w.Shape, 0) || tensor.Count(x.Type.Shape) == 0, "the product is empty")
	ps := b.wholeParts(x, kd)
	if b.mixing[n.Out[0]] { // rows in pieces (windows) are one product again
		ps = b.mergeAll(ps, func(int) int { return axW })
	}
	var out []*part
	for _, p := range ps {
		own := p.atomsOf(kd)
		fits := len(without(p.axes[axC], own)) == 0 && len(without(p.axes[axN], own)) == len(p.axes[axN])
		for _, as := range p.axes[axH:] {
			rest := len(without(as, own))
			fits = fits && (rest == 0 || rest == len(as))
		}
		if len(p.axes[axC]) == 0 && len(own) > 0 && count(p.axes.all()) > count(own) {
			fits = false // rows beside a kernel on one channel
		}
		if !fits {
			p = b.moveToChannels(p, own)
		}
		out = append(out, b.convolve(n, p.clone(), kd, own, f))
	}
	return result(n, out)
}

func (b *builder) convolve(n *ir.Node, p *part, kd int, own []atom, f *factor) *part {
	b.math = true
	w, wq := f.w, f.wq
	if wq != nil && len(wq.Scale) == 1 {
		wq = &ir.Quant{Axis: -1, Scale: wq.Scale, Zero: wq.Zero}
	}
	m, k := w.Shape[0], w.Shape[1]
	// where index k of the matrix lies in [C, H, W]
	kernel := []int{1, 1, 1}
	dims, st := []int{m}, []int{k}
	for i, x := range []int{axC, axH, axW} {
		if len(p.axes[x]) > 0 && slices.Contains(own, p.axes[x][0]) {
			kernel[i] = count(p.axes[x])
			for _, a := range p.axes[x] {
				dims, st = append(dims, a.size), append(st, a.step)
			}
		}
	}
	wd := tensor.New(w.DType, dims)
	tensor.Gather(wd, w, dims, st, 0)
	in := []*ir.Value{p.val,
		b.g.AddQuantConst(b.name("weight"), wd.Reshaped([]int{m, kernel[0], kernel[1], kernel[2]}), wq)}
	if f.bias != nil {
		in = append(in, b.g.AddQuantConst(b.name("bias"), f.bias, f.biasq))
	}
	attrs := ir.Attrs{"kernel_shape": ir.Ints(kernel[1], kernel[2])}
	if f.fc && wq != nil && !wq.PerAxis() {
		attrs["fc_scale"] = ir.Int(1)
	}
	maps.Copy(attrs, op.ActAttrs(n))
	p.val = b.emitAs(n.Out[0].Type, op.Conv, "", attrs, in...)
	p.axes = p.axes.without(own)
	p.fill(kd, m, axC)
	return p
}

// batched is a product of two computed tensors: [.., M, K] * [.., K, N]. Every
// index of the batch dimensions (heads) becomes a product of its own on
// [1, 1, M, K] and [1, 1, K, N]; where these would be too many, the batch lies
// on C.
func batched(b *builder, n *ir.Node) []*rep {
	x, y := n.In[0], n.In[1]
	rx, ry := x.Type.Rank(), y.Type.Rank()
	refuseIf(rx < 2 || ry < 2 || !standsForReals(n.Out[0]) || tensor.Count(n.Out[0].Type.Shape) == 0 ||
		tensor.Count(x.Type.Shape) == 0, "a factor is a vector, or integers are multiplied")
	rank := n.Out[0].Type.Rank()
	px := b.wholeParts(x, rx-1)
	py := b.wholeParts(y, ry-2)
	heads := tensor.Count(n.Out[0].Type.Shape[:rank-2])
	px = b.heads(px, rank, heads <= maxUnroll/4)
	py = b.heads(py, rank, heads <= maxUnroll/4)
	var out []*part
	for _, p := range px {
		for _, q := range py {
			o := b.matrices(n, p.clone(), q.clone(), rank)
			if o != nil {
				out = append(out, o)
			}
		}
	}
	return result(n, out)
}

// heads lifts parts to the given rank and cuts their batch dimensions into
// single indices.
func (b *builder) heads(ps []*part, rank int, cut bool) []*part {
	var out []*part
	for _, p := range ps {
		p = p.lifted(rank)
		batch := p.atomsOf(ir.Identity(rank - 2)...)
		for _, as := range p.axes { // slices must not cut what is multiplied
			k := len(without(as, batch))
			if k > 0 && k < len(as) && len(without(as[:len(as)-k], batch)) > 0 {
				p = b.relayout(p, axes{axC: batch, axH: p.atomsOf(rank - 2), axW: p.atomsOf(rank - 1)})
				break
			}
		}
		work := []*part{p}
		for len(work) > 0 {
			q := work[0]
			work = work[1:]
			batch := q.atomsOf(ir.Identity(rank - 2)...)
			if len(batch) == 0 || !cut {
				out = append(out, q.normal())
				continue
			}
			outer := batch[0]
			for _, a := range batch[1:] { // the outermost on its axis first: its slices are contiguous
				if _, pos := q.axisOf(a); pos == 0 {
					outer = a
				}
			}
			work = append(b.unroll(q, outer), work...)
		}
	}
	return out
}

// matrices multiplies two parts whose batch dimensions meet; nil when they are
// of different batches.
func (b *builder) matrices(n *ir.Node, p, q *part, rank int) *part {
	for d := range rank - 2 {
		if p.shape[d] == 1 || q.shape[d] == 1 {
			refuseIf(len(p.atomsOf(d))+len(q.atomsOf(d)) > 0, "a batch is broadcast")
			continue
		}
		cuts, ok := alignDigits([]*part{p, q}, d)
		refuseIf(!ok, "the batches of the factors are cut differently")
		ps, qs := p.digits(d, cuts), q.digits(d, cuts)
		for j := range slices.Backward(cuts) {
			if ps[j].end() <= qs[j].start || qs[j].end() <= ps[j].start {
				return nil
			}
			refuseIf(ps[j].start != qs[j].start || ps[j].end() != qs[j].end() ||
				!refine(p, q, ps[j].atoms, qs[j].atoms), "the batches of the factors are cut differently")
		}
	}
	batch := ir.Identity(rank - 2)
	m, k, l := p.atomsOf(rank-2), p.atomsOf(rank-1), q.atomsOf(rank-1)
	p = b.relayout(p, axes{axC: p.atomsOf(batch...), axH: m, axW: k})
	q = b.relayout(q, axes{axC: q.atomsOf(batch...), axH: q.atomsOf(rank - 2), axW: l})
	b.math = true
	o := p.clone()
	o.val = b.emitAs(n.Out[0].Type, n.Op, "", n.Attrs.Clone(), p.val, q.val)
	o.axes[axW] = l
	for d, size := range q.shape {
		if d < rank-2 && o.shape[d] == 1 || d == rank-1 { // a batch that p broadcasts is q's
			o.shape[d], o.start[d] = size, q.start[d]
		}
	}
	return o
}
