// SPDX-License-Identifier: Apache-2.0

package ethosu

import (
	"fmt"
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/accel/ethosu/npu"
	"github.com/nncc/nncc/lower/kernel"
)

// form is how operators become layers. lower says what is missing; then no layer of the node is used.
type form struct {
	doc   string
	is    func(d *ir.OpDef) bool
	lower func(b *builder, n *ir.Node) string
}

func only(list ...*ir.OpDef) func(d *ir.OpDef) bool {
	return func(d *ir.OpDef) bool { return slices.Contains(list, d) }
}

var tableOps = kernel.TableOps()

// forms are tried in turn; the reason of the last one that is for the operator stands.
var forms = []form{
	{"sums of products with constant weights, scaled by channel", only(op.Conv), (*builder).conv},
	{"the same of a transposed convolution, with zeros between elements", only(op.ConvTranspose), (*builder).conv},
	{"means over rows and columns, where every sum has the model's", func(d *ir.OpDef) bool {
		return d.Spread == ir.Averages && d.Window == ir.NoWindow && d.Pattern == ir.Reduce
	}, (*builder).mean},
	{"elements twice along rows and columns", only(op.Resize), (*builder).twice},
	{"products with constant matrices", only(op.Gemm), (*builder).dense},
	{"products with constant matrices", only(op.MatMul), (*builder).dense},
	{"greatest elements and means of windows", func(d *ir.OpDef) bool {
		return d.Window.Pools() && d.Spread != ir.AnySpread
	}, (*builder).pool},
	{"exponentials of int8, divided by their sum", only(op.Softmax), (*builder).softmax},
	{"steps of an LSTM of int8", only(op.QLSTM), (*builder).lstm},
	{"functions of one value by a table, or scaled", func(d *ir.OpDef) bool {
		return slices.Contains(tableOps, d) || d == op.Fused
	}, (*builder).lookup},
	{"sums, differences, products, minima and maxima of two values, where every pair of values gives the model's " +
		"number", func(d *ir.OpDef) bool {
		return slices.Contains(tableOps, d) && max(d.MinIn, d.MaxIn, -2*d.MaxIn) > 1
	}, (*builder).pair},
	{"copies of elements, and other names for the same bytes", func(d *ir.OpDef) bool { return d.Quant == ir.QMove },
		(*builder).move},
}

// dense is a product with a constant matrix: a convolution of rows.
func (b *builder) dense(n *ir.Node) string {
	w := n.In[1]
	if !constantWeights(n) || w.Type.Rank() != 2 {
		return "weights or bias are computed at run time or have no two dimensions, want a constant matrix"
	}
	in, out := b.of(n.In[0]), b.of(n.Out[0])
	rows := w.Const
	if axis := n.Op.WeightAxis(n); axis != 0 {
		rows = rows.Transpose([]int{1, 0})
	}
	for _, x := range []*fmap{in, out} {
		if x.H > 1 && x.StrideY != int64(x.W)*x.StrideX {
			return "rows lie apart, want neighbours"
		}
	}
	row := func(x *fmap) { x.H, x.W = 1, x.H*x.W }
	m, r := in.view(row), out.view(row)
	if m.C != rows.Shape[1] || r.C != rows.Shape[0] {
		return fmt.Sprintf("a product of %s and %s, want rows and columns as they lie in memory", n.In[0].Type, w.Type)
	}
	l := plain(npu.Conv, m, r)
	why := l.sums(n, rows, r.C)
	if why == "" {
		b.add(l)
	}
	return why
}

// conv is a convolution of one group, of a group for each channel, or several of some channels each.
func (b *builder) conv(n *ir.Node) string {
	g, err := op.ConvGeometry(n)
	if err != nil {
		return err.Error()
	}
	l := plain(npu.Conv, b.of(n.In[0]), b.of(n.Out[0]))
	if why := l.windows(n, g); why != "" {
		return why
	}
	order := []int{0, 2, 3, 1}
	if g.Transposed {
		order = []int{1, 2, 3, 0}
	}
	if why := l.sums(n, n.In[1].Const.Transpose(order), g.COut); why != "" {
		return why
	}
	l.widen(g)
	if g.Group > 1 && l.Kind == npu.Conv {
		b.groups(l, g.Group)
		return ""
	}
	if !l.whole() {
		l.fold()
	}
	b.add(l)
	return ""
}

// groups makes a layer of each group.
func (b *builder) groups(l *layer, n int) {
	for i := range n {
		c := *l
		c.in, c.out = l.in.channels(i*l.in.C/n, l.in.C/n), l.out.channels(i*l.out.C/n, l.out.C/n)
		c.channels, c.kernel = l.channels[i*c.out.C:][:c.out.C], l.kernel[i*len(l.kernel)/n:][:len(l.kernel)/n]
		b.add(&c)
	}
}

// widen brings weights to the window's size: with zeros between those whose dilation the device does not have, turned
// round where the convolution is a transposed one.
func (l *layer) widen(g *op.ConvGeom) {
	k, h, w := &l.Window, g.Kernel[0], g.Kernel[1]
	out := g.COut
	in := len(l.kernel) / (out * h * w)
	kernel := make([]int16, out*k.H*k.W*in)
	for o := range out {
		for y := range h {
			for x := range w {
				to := [2]int{y * (k.H - 1) / max(1, h-1), x * (k.W - 1) / max(1, w-1)}
				if g.Transposed {
					to = [2]int{k.H - 1 - to[0], k.W - 1 - to[1]}
				}
				copy(kernel[((o*k.H+to[0])*k.W+to[1])*in:][:in], l.kernel[((o*h+y)*w+x)*in:])
			}
		}
	}
	l.kernel = kernel
}

// sums fills in weights, [out]..., and what becomes of their sums.
func (l *layer) sums(n *ir.Node, w *tensor.Dense, channels int) string {
	filter, why := l.scale(n, channels)
	if why != "" {
		return why
	}
	each, first := w.Len()/channels, int64(0)
	if n.In[1].Type.DType == tensor.U8 {
		first = 128
	}
	l.kernel = make([]int16, w.Len())
	for i := range l.kernel {
		l.kernel[i] = int16(w.Int(i) - first + int64(filter[i/each%len(filter)]))
	}
	return ""
}

// whole makes a product of vectors of the only window that there is.
func (l *layer) whole() bool {
	k, in := &l.Window, l.in
	all := in.H * in.W * in.C
	if l.Kind != npu.Conv || l.out.H*l.out.W > 1 || k.H != in.H || k.W != in.W || all >= mostSide ||
		k.Top+k.Left+k.Bottom+k.Right > 0 || in.span() != int64(all*in.Bits/8) {
		return false
	}
	l.in = in.view(func(m *fmap) { m.H, m.W, m.C = 1, 1, all })
	*k = npu.Window{H: 1, W: 1, StrideX: 1, StrideY: 1, DilateX: 1, DilateY: 1, Split: k.Split}
	return true
}

// fold makes neighbours along a row channels, where windows go along it by as many and multipliers are busier so.
func (l *layer) fold() {
	k, in := &l.Window, l.in
	s, taps := k.StrideX, k.H*k.W
	if l.Kind != npu.Conv || s == 1 || k.DilateX > 1 || in.W%s != 0 || in.StrideX != int64(in.C*in.Bits/8) {
		return
	}
	left := (k.Left + s - 1) / s
	before := left*s - k.Left
	wide := (k.W + before + s - 1) / s
	work := func(taps, c int) int { return (taps + 3) / 4 * ((c + 7) / 8) }
	if work(k.H*wide, in.C*s) >= work(taps, in.C) {
		return
	}
	out := len(l.channels)
	w := make([]int16, out*k.H*wide*s*in.C)
	for i := range out * k.H {
		copy(w[(i*wide*s+before)*in.C:], l.kernel[i*k.W*in.C:][:k.W*in.C])
	}
	l.in = in.view(func(m *fmap) { m.W, m.C, m.StrideX = in.W/s, in.C*s, in.StrideX*int64(s) })
	l.kernel, k.W, k.Left, k.StrideX = w, wide, left, 1
	k.Right = max(0, l.out.W-1+wide-left-l.in.W)
}

func constantWeights(n *ir.Node) bool {
	return n.In[1].Const != nil && (n.Input(2) == nil || n.In[2].Const != nil)
}

// windows fills in what a convolution reads.
func (l *layer) windows(n *ir.Node, g *op.ConvGeom) string {
	if !constantWeights(n) {
		return "weights or bias are computed at run time, want constants"
	}
	deep := g.Group > 1 && g.Group == g.CIn && g.COut == g.CIn && !g.Transposed
	if g.Group > mostGroups && !deep || g.Group > 1 && g.Transposed {
		return fmt.Sprintf("%d groups of %d channels in and %d out, want up to %d, or one for each channel, and "+
			"one if transposed", g.Group, g.CIn, g.COut, mostGroups)
	}
	if deep {
		l.Kind = npu.Depthwise
	}
	kernel, dilations := slices.Clone(g.Kernel), slices.Clone(g.Dilations)
	for i, d := range dilations {
		if d > mostDilation || g.Transposed {
			kernel[i], dilations[i] = (kernel[i]-1)*d+1, 1
		}
	}
	if !g.Transposed {
		return l.slides(g.N, g.In, g.Out, kernel, g.Strides, dilations, g.PadBegin)
	}
	return l.turned(g, kernel, dilations)
}

// turned fills in the windows of a transposed convolution: over elements with zeros between them.
func (l *layer) turned(g *op.ConvGeom, kernel, dilations []int) string {
	up, pad, in := g.Strides[0], slices.Clone(kernel), slices.Clone(g.In)
	if len(kernel) != 2 || up > 2 || g.Strides[1] != up {
		return fmt.Sprintf("a transposed convolution with strides %v, want 1 or 2 along both of two dimensions",
			g.Strides)
	}
	for i := range pad {
		pad[i] -= 1 + g.PadBegin[i]
		if in[i] *= up; pad[i] < 0 {
			return fmt.Sprintf("a transposed convolution with padding %v, want less than its kernel %v",
				g.PadBegin, kernel)
		}
	}
	why := l.slides(g.N, in, g.Out, kernel, []int{1, 1}, dilations, pad)
	if up == 2 {
		l.Window.Upscale = npu.ZeroAfter
	}
	return why
}

// scale fills in what becomes of sums, and gives minus the zero points of the weights.
func (l *layer) scale(n *ir.Node, channels int) (filter []int32, why string) {
	if p, why := op.MAC16Params(n); why == "" {
		l.AccFormat, l.Rounding, l.Low, l.High = 1, npu.HalfUp, int64(p.ActMin), int64(p.ActMax)
		return p.FilterOff, l.channel(n, channels, func(c int) (uint32, int32) {
			c %= len(p.Mult)
			return uint32(fixp.ReduceMultiplier(p.Mult[c])), 15 - p.Shift[c]
		})
	}
	p, why := op.MAC8Params(n)
	if why != "" {
		return nil, why
	}
	shift := l.out.Zero - int64(p.OutOff)
	l.zeros = [3]int64{l.in.Zero, 0, l.out.Zero}
	if l.Low, l.High = int64(p.ActMin)+shift, int64(p.ActMax)+shift; p.Rounding == fixp.SingleRounding {
		l.Rounding = npu.HalfUp
	}
	return p.FilterOff, l.channel(n, channels, func(c int) (uint32, int32) {
		return uint32(p.Mult[c%len(p.Mult)]), 31 - p.Shift[c%len(p.Mult)]
	})
}

// channel fills in bias, scale and shift of every channel.
func (l *layer) channel(n *ir.Node, channels int, scale func(c int) (uint32, int32)) string {
	for c := range channels {
		x := npu.Channel{}
		if v := n.Input(2); v != nil {
			x.Bias = v.Const.Int(c % v.Const.Len())
		}
		s, shift := scale(c)
		if x.Scale, x.Shift = s, int(shift); shift < 0 || shift > 63 || x.Bias != x.Bias<<24>>24 {
			return fmt.Sprintf("channel %d has bias %d and shift %d, want 40 bits and 0 to 63", c, x.Bias, shift)
		}
		l.channels = append(l.channels, x)
	}
	l.PerChannel = true
	return ""
}

const (
	mostStride   = 3
	mostDilation = 2
	mostRows     = 64
	mostTaps     = 64 * 64
	mostGroups   = 64
)

// slides fills in the windows.
func (l *layer) slides(batch int, in, out, kernel, strides, dilations, pad []int) string {
	if len(in) != 2 || batch != 1 {
		return fmt.Sprintf("windows in %d dimensions of a batch of %d, want 2 of 1", len(in), batch)
	}
	for i := range in {
		if strides[i] > mostStride || dilations[i] > mostDilation {
			return fmt.Sprintf("windows with strides %v and dilations %v, want at most %d and %d", strides, dilations,
				mostStride, mostDilation)
		}
	}
	reach := (kernel[0]-1)*dilations[0] + 1
	if reach > mostRows || reach*((kernel[1]-1)*dilations[1]+1) > mostTaps {
		return fmt.Sprintf("windows of %v elements, want at most %d rows and %d elements", kernel, mostRows, mostTaps)
	}
	behind := func(i int) int {
		return max(0, (out[i]-1)*strides[i]+(kernel[i]-1)*dilations[i]+1-pad[i]-in[i])
	}
	l.Window = npu.Window{H: kernel[0], W: kernel[1], StrideY: strides[0], StrideX: strides[1],
		DilateY: dilations[0], DilateX: dilations[1], Top: pad[0], Left: pad[1], Bottom: behind(0), Right: behind(1),
		Split: 8}
	for i := range in {
		if (out[i]-1)*strides[i]+(kernel[i]-1)*dilations[i] < pad[i] {
			return "windows see nothing but padding, want an element of the input"
		}
	}
	if max(pad[0], pad[1]) > 127 || max(l.Window.Bottom, l.Window.Right) > 255 {
		return fmt.Sprintf("windows with %v elements of padding in front, want at most 127", pad)
	}
	return ""
}

// pool is the greatest element or the mean of windows.
func (b *builder) pool(n *ir.Node) string {
	g, err := op.PoolGeometry(n)
	if err != nil {
		return err.Error()
	}
	low, high, own := op.PoolQuantClamp(n)
	if len(n.Out) > 1 {
		return "the places of the greatest elements are asked for, want the elements only"
	}
	l := plain(npu.Max, b.of(n.In[0]), b.of(n.Out[0]))
	if why := l.slides(g.N, g.In, g.Out, g.Kernel, g.Strides, g.Dilations, g.PadBegin); why != "" {
		return why
	}
	switch {
	case slices.Max(g.Dilations) > 1:
		return fmt.Sprintf("pooling with dilations %v, want 1", g.Dilations)
	case own != "" && n.Op.Spread == ir.Averages && g.Exact() && (g.CountPad || !g.Padded()):
		why := l.means(n, g.Taps())
		if why == "" {
			b.add(l)
		}
		return why
	case own != "":
		return own
	}
	first := limit(l.out, false) - limit(&fmap{FeatureMap: npu.FeatureMap{Bits: l.out.Bits, Signed: true}}, false)
	l.Low, l.High = int64(low)+first, int64(high)+first
	if n.Op.Spread == ir.Averages {
		if why := l.average(g, first); why != "" {
			return why
		}
	}
	b.add(l)
	return ""
}

// means gives means in another scale, where every sum has the model's.
func (l *layer) means(n *ir.Node, taps int) string {
	x, y := n.In[0].Type, n.Out[0].Type
	if x.Quant.PerAxis() || y.Quant.PerAxis() || taps<<l.in.Bits > 1<<24 {
		return fmt.Sprintf("means of %d elements of %s, want one scale and at most %d numbers", taps, x, 1<<24)
	}
	sx, sy := float64(x.Quant.Scale[0]), float64(y.Quant.Scale[0])
	mult, shift := fixp.QuantizeMultiplier(sx / (sy * float64(taps)))
	if l.Scale, l.Shift = uint32(mult), 31-int(shift); l.Shift < 0 || l.Shift > 63 {
		return fmt.Sprintf("means of %d elements from %s to %s have no scale", taps, x, y)
	}
	l.Kind, l.Rounding, l.zeros = npu.Average, npu.HalfUp, [3]int64{l.in.Zero, 0, l.out.Zero}
	low, high := op.ActRange(n, y)
	l.Low, l.High = int64(low), int64(high)
	for v := int64(taps) * (limit(l.in, false) - l.in.Zero); v <= int64(taps)*(limit(l.in, true)-l.in.Zero); v++ {
		want := float64(v) * sx / float64(taps) / sy
		between := math.Abs(want-math.Floor(want)-0.5) < 1e-9 // where the order of additions decides
		if got := float64(l.Op.Scaled(v)); between && v != 0 || got != math.Round(want) {
			return fmt.Sprintf("of a sum of %d the model's mean is %.9f, the device's %g; want the nearest", v,
				want, got)
		}
	}
	return ""
}

// mean is one over rows or columns, or both.
func (b *builder) mean(n *ir.Node) string {
	axes, err := op.ReduceAxes(n)
	if err != nil {
		return err.Error()
	}
	shape, kernel, taps := n.In[0].Type.Shape, []int{1, 1}, 1
	for _, a := range axes {
		if len(shape) != 4 || a < 2 || n.Out[0].Type.Rank() != 4 {
			return fmt.Sprintf("a mean along dimensions %v of %v, want the last two of four", axes, shape)
		}
		kernel[a-2] = shape[a]
		taps *= shape[a]
	}
	if taps == 1 {
		return fmt.Sprintf("a mean of single elements of %v", shape)
	}
	in, out := shape[2:], []int{shape[2] / kernel[0], shape[3] / kernel[1]}
	result := shaped(out[0], out[1], shape[1], 8*n.Out[0].Type.DType.Size(), n.Out[0].Type.DType.IsSigned(),
		b.of(n.Out[0]).area)
	result.Zero = b.of(n.Out[0]).Zero
	l := plain(npu.Average, b.of(n.In[0]), result)
	if why := l.slides(shape[0], in, out, kernel, []int{1, 1}, []int{1, 1}, []int{0, 0}); why != "" {
		return why
	}
	why := l.means(n, taps)
	if why == "" {
		b.add(l)
	}
	return why
}

// twice makes rows and columns twice.
func (b *builder) twice(n *ir.Node) string {
	in, out := b.of(n.In[0]), b.of(n.Out[0])
	if ir.AttrsOf[op.ResizeAttrs](n).Mode != "nearest" || out.H != 2*in.H || out.W != 2*in.W || out.C != in.C ||
		!n.In[0].Type.Quant.Equal(n.Out[0].Type.Quant) {
		return fmt.Sprintf("from %s to %s, want elements twice along rows and columns, in one scale", n.In[0].Type,
			n.Out[0].Type)
	}
	_, at, why := sources(n)
	if why != "" {
		return why
	}
	for i, x := range at {
		if x[1] != (i/out.C/out.W/2*in.W+i/out.C%out.W/2)*in.C+i%in.C {
			return fmt.Sprintf("element %d of the result is element %d, want each twice", i, x[1])
		}
	}
	l := plain(npu.Max, in, out)
	l.Window.Upscale = npu.Nearest
	b.add(l)
	return ""
}

// average gives means by one scale where every sum has the right one, or with a divisor for each window.
func (l *layer) average(g *op.PoolGeom, zero int64) string {
	l.Kind, l.PerChannel = npu.Average, true
	l.zeros = [3]int64{zero, 0, zero}
	if k := &l.Window; max(k.H, k.W) <= 8 {
		return ""
	} else if k.Top+k.Left+k.Bottom+k.Right > 0 {
		return fmt.Sprintf("means of windows of %v elements with padding, want at most 8×8", g.Kernel)
	}
	l.PerChannel = false
	taps := int64(g.Taps())
	for l.Shift = 30; l.Shift < 46; l.Shift++ {
		if l.Scale = uint32((int64(1)<<l.Shift + taps - 1) / taps); int64(l.Scale)*taps < int64(1)<<l.Shift {
			continue
		}
		if l.divides(taps) {
			return ""
		}
	}
	return fmt.Sprintf("means of %d elements have no scale that gives every one of them", taps)
}

// divides says that all sums of so many numbers have their mean, halves away from zero.
func (l *layer) divides(taps int64) bool {
	most := taps << (l.in.Bits - 1)
	step := max(1, most>>16)
	for v := -most; v <= most; v += step {
		want := (v + taps/2) / taps
		if v <= 0 {
			want = (v - taps/2) / taps
		}
		if l.Op.Scaled(v) != want {
			return false
		}
	}
	return step == 1
}

// lookup is a table of 256 results, or of 512 lines between results of int16.
func (b *builder) lookup(n *ir.Node) string {
	k, why := kernel.RunInput(n)
	if why != "" {
		return why
	}
	in, out := b.of(n.In[k]), b.of(n.Out[0])
	l := plain(npu.Max, in, out)
	want, why := everyNumber(n, n.In[k])
	if why != "" {
		return why
	}
	if in.Bits == 16 || out.Bits == 16 {
		if !l.scales(n, n.In[k].Type, n.Out[0].Type, want) {
			if l.table, why = lines(n, want); why != "" {
				return why
			}
		}
		l.over = true
		b.add(l)
		return ""
	}
	if in.Bits != 8 || out.Bits != 8 {
		return fmt.Sprintf("a function of %s to %s, want 8 or 16 bits", n.In[k].Type, n.Out[0].Type)
	}
	for i := range want.Len() {
		l.table = append(l.table, byte(want.Int(i)))
	}
	l.zeros[2] = limit(out, false) - limit(in, false)
	l.over = true
	b.add(l)
	return ""
}
