// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"fmt"
	"strconv"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
)

// under opens the loops over the kernel's positions that lie on the input for
// the output position o, and gives the input's coordinates and the kernel's.
// counted, when set, is incremented for every position inside the input and
// the padding at its end.
func (f *fn) under(o []string, in, kernel, stride, dilation, pad, padEnd []int, counted string) (p, k []string) {
	for d := range in {
		k = append(k, fmt.Sprintf("k%d", d))
		p = append(p, fmt.Sprintf("p%d", d))
		f.loop(k[d], kernel[d])
		f.line("const int32_t %s = %s * %d + %s * %d - %d;", p[d], o[d], stride[d], k[d], dilation[d], pad[d])
	}
	outside, beyond := "", ""
	for d := range in {
		if d > 0 {
			outside += " || "
			beyond += " && "
		}
		outside += fmt.Sprintf("%s < 0 || %s >= %d", p[d], p[d], in[d])
		beyond += fmt.Sprintf("%s < %d", p[d], in[d]+padEnd[d])
	}
	if counted != "" {
		f.open("if (%s)", beyond)
		f.line("%s++;", counted)
		f.close()
	}
	f.when("continue;", "%s", outside)
	return p, k
}

// names are variables o0, o1, ... with loops of the given sizes.
func (f *fn) counters(prefix string, sizes []int) []string {
	var v []string
	for d, n := range sizes {
		v = append(v, prefix+strconv.Itoa(d))
		f.loop(v[d], n)
	}
	return v
}

// flat is the offset of coordinates within a shape.
func flat(v []string, shape []int) string {
	s := v[0]
	for d := 1; d < len(v); d++ {
		s = fmt.Sprintf("(%s) * %d + %s", s, shape[d], v[d])
	}
	return s
}

// convolution writes Conv, ConvInteger and ConvTranspose in any number of dimensions; of the last every output element
// gathers what falls on it.
func convolution(f *fn) {
	n := f.n
	bare := n.Bare()
	if n.Op == op.ConvInteger { // whose third input is a zero point
		bare.In = n.In[:2]
	}
	g := kernel.Known(op.ConvGeometry(bare))
	x, w, y := f.in(0), f.in(1), f.out(0)
	ci, co := g.CIn/g.Group, g.COut/g.Group
	f.loop("b", g.N)
	f.loop("m", g.COut)
	o := f.counters("o", g.Out)
	start := "0"
	switch {
	case n.Op != op.ConvInteger && f.has(2):
		start = load(f.in(2), "m")
	case g.Transposed:
		start = "0.0"
	}
	f.line("%s acc = %s;", classOf(x.t).wide(), start)
	depth := f.depth
	f.loop("c", ci)
	under, weight := f.under, fmt.Sprintf("(m * %d + c) * %d + ", ci, g.Taps())
	if g.Transposed {
		under, weight = f.onto, fmt.Sprintf("((m / %d * %d + c) * %d + m %% %d) * %d + ", co, ci, co, co, g.Taps())
	}
	p, k := under(o, g.In, g.Kernel, g.Strides, g.Dilations, g.PadBegin, g.PadEnd, "")
	xv := load(x, fmt.Sprintf("(b * %d + m / %d * %d + c) * %d + %s", g.CIn, co, ci, tensor.Count(g.In), flat(p, g.In)))
	wv := load(w, weight+flat(k, g.Kernel))
	if n.Op == op.ConvInteger {
		xv, wv = "("+xv+f.zero(2, 1, "0")+")", "("+wv+f.zero(3, g.COut, "m")+")"
	}
	f.line("acc += %s * %s;", xv, wv)
	f.closeTo(depth)
	f.clamped(y, fmt.Sprintf("(b * %d + m) * %d + %s", g.COut, tensor.Count(g.Out), flat(o, g.Out)), "acc")
}

// onto is under for a transposed convolution: the input's positions whose windows hold the output position o.
func (f *fn) onto(o []string, in, kernel, stride, dilation, pad, _ []int, _ string) (p, k []string) {
	for d := range in {
		k, p = append(k, fmt.Sprintf("k%d", d)), append(p, fmt.Sprintf("p%d", d))
		f.loop(k[d], kernel[d])
		f.line("const int32_t t%d = %s + %d - %s * %d;", d, o[d], pad[d], k[d], dilation[d])
		f.line("const int32_t %s = t%d / %d;", p[d], d, stride[d])
		f.when("continue;", "t%d < 0 || t%d %% %d != 0 || %s >= %d", d, d, stride[d], p[d], in[d])
	}
	return p, k
}

// pool writes the pooling operators in any number of dimensions.
func pool(f *fn) {
	n := f.n
	g := kernel.Known(op.PoolGeometry(n))
	x, y := f.in(0), f.out(0)
	plane := tensor.Count(g.In)
	f.loop("c", g.N*g.C)
	o := f.counters("o", g.Out)
	at := fmt.Sprintf("c * %d + %s", tensor.Count(g.Out), flat(o, g.Out))
	depth := f.depth
	window := func(counted string) string {
		p, _ := f.under(o, g.In, g.Kernel, g.Strides, g.Dilations, g.PadBegin, g.PadEnd, counted)
		return fmt.Sprintf("c * %d + %s", plane, flat(p, g.In))
	}
	switch n.Op {
	case op.AveragePool, op.GlobalAveragePool:
		f.line("double acc = 0.0;")
		f.line("int32_t count = 0;")
		counted := ""
		if g.CountPad {
			counted = "count"
		}
		v := load(x, window(counted))
		if !g.CountPad {
			f.line("count++;")
		}
		f.line("acc += %s;", v)
		f.closeTo(depth)
		f.clamped(y, at, "acc / count")
	case op.LpPool, op.GlobalLpPool:
		f.line("double acc = 0.0;")
		v := load(x, window(""))
		term, root := fmt.Sprintf("pow(fabs(v), %d.0)", ir.AttrsOf[op.PAttr](n).P), fmt.Sprintf("pow(acc, 1.0 / %d.0)",
			ir.AttrsOf[op.PAttr](n).P)
		switch ir.AttrsOf[op.PAttr](n).P { // what the usual norms need no pow for, which is slow without hardware
		case 1:
			term, root = "fabs(v)", "acc"
		case 2:
			term, root = "v * v", "sqrt(acc)"
		}
		f.line("const double v = %s;", v)
		f.line("acc += %s;", term)
		f.closeTo(depth)
		f.store(y, at, root)
	default:
		f.line("int32_t best = -1;")
		f.line("const int32_t at = %s;", at)
		f.line("const int32_t here = %s;", window(""))
		f.open("if (best < 0 || %s > %s)", load(x, "here"), load(x, "best"))
		f.line("best = here;")
		f.closeTo(depth)
		f.clamped(y, "at", load(x, "best"))
		if f.wants(1) {
			f.poolIndex(g)
		}
	}
}

// poolIndex stores the flat index of the maximum, column-major within the
// plane with storage_order 1.
func (f *fn) poolIndex(g *op.PoolGeom) {
	v := "best"
	if f.n.Op == op.MaxPool && ir.AttrsOf[op.MaxPoolAttrs](f.n).StorageOrder == 1 {
		plane := tensor.Count(g.In)
		v = fmt.Sprintf("best / %d * %d", plane, plane)
		mul, st := 1, tensor.Strides(g.In)
		for d := range g.In {
			v += fmt.Sprintf(" + best %% %d / %d %% %d * %d", plane, st[d], g.In[d], mul)
			mul *= g.In[d]
		}
	}
	f.store(f.out(1), "at", v)
}

// unpool writes MaxUnpool.
func unpool(f *fn) {
	n := f.n
	x, idx, y := f.in(0), f.in(1), f.out(0)
	from := append([]int(nil), n.In[0].Type.Shape...)
	k := len(from) - 2
	st, pads, kernel := ir.AttrsOf[op.StridesAttr](n).Strides, ir.AttrsOf[op.PadsAttr](n).Pads,
		ir.AttrsOf[op.KernelShapeAttr](n).KernelShape
	for i := range k {
		s, p := 1, 0
		if st != nil {
			s = st[i]
		}
		if pads != nil {
			p = pads[i] + pads[k+i]
		}
		from[2+i] = (from[2+i]-1)*s + kernel[i] - p
	}
	to := n.Out[0].Type.Shape
	f.fill(y, tensor.Count(to), "0")
	f.loop("i", n.In[0].Type.Elems())
	f.line("const int64_t p = %s;", load(idx, "i"))
	fs, ts := tensor.Strides(from), tensor.Strides(to)
	q := ""
	for d := range from {
		if d > 0 {
			q += " + "
		}
		q += fmt.Sprintf("p / %d %% %d * %d", fs[d], from[d], ts[d])
	}
	f.copy(y, q, x, "i")
}

func windowRows() []*kernel.Kernel {
	return []*kernel.Kernel{
		row("conv", "convolution in 1 to 3 dimensions, any float type; of 8-bit integers with zero points", convolution,
			nil, op.Conv, op.ConvInteger),
		row("conv_transpose", "transposed convolution in 1 to 3 dimensions, any float type", convolution, nil,
			op.ConvTranspose),
		row("pool", "pooling in 1 to 3 dimensions, any element type, with indices", pool, nil,
			kernel.Where(func(d *ir.OpDef) bool { return d.Window.Pools() })...),
		row("max_unpool", "inverse of maximum pooling by indices, any element type", unpool, nil, op.MaxUnpool),
	}
}

// blocks writes Col2Im.
func blocks(f *fn) {
	n := f.n
	g := kernel.Known(op.Col2ImGeometry(n))
	x, y := f.in(0), f.out(0)
	c := classOf(x.t)
	taps, columns, plane := tensor.Count(g.Block), tensor.Count(g.Columns), tensor.Count(g.Image)
	sums := map[class]tensor.DType{floating: tensor.F64, whole: tensor.I64, large: tensor.U64}
	acc := f.scratch("acc", sums[c], plane)
	f.loop("c", g.N*g.C)
	f.each("i", plane, "%s[i] = 0;", acc.name)
	depth := f.depth
	k, l := f.counters("k", g.Block), f.counters("l", g.Columns)
	var p []string
	cond := ""
	for d := range g.Image {
		p = append(p, fmt.Sprintf("p%d", d))
		f.line("const int32_t p%d = l%d * %d + k%d * %d - %d;", d, d, g.Strides[d], d, g.Dilations[d], g.Pads[d])
		if d > 0 {
			cond += " && "
		}
		cond += fmt.Sprintf("p%d >= 0 && p%d < %d", d, d, g.Image[d])
	}
	f.open("if (%s)", cond)
	v := load(x, fmt.Sprintf("(c * %d + %s) * %d + %s", taps, flat(k, g.Block), columns, flat(l, g.Columns)))
	at := flat(p, g.Image)
	if c == whole {
		f.line("%s[%s] = (int64_t)((uint64_t)%s[%s] + (uint64_t)%s);", acc.name, at, acc.name, at, v)
	} else {
		f.line("%s[%s] += %s;", acc.name, at, v)
	}
	f.closeTo(depth)
	f.loop("i", plane)
	f.store(y, fmt.Sprintf("c * %d + i", plane), acc.name+"[i]")
}

// determinant writes Det on a copy of every matrix.
func determinant(f *fn) {
	shape := f.n.In[0].Type.Shape
	m := shape[len(shape)-1]
	x, y := f.in(0), f.out(0)
	a := f.scratch("a", tensor.F64, m*m).name
	f.loop("b", tensor.Count(shape[:len(shape)-2]))
	f.line("double det = 1.0;")
	f.each("i", m*m, "%s[i] = %s;", a, load(x, fmt.Sprintf("b * %d + i", m*m)))
	f.open("for (int32_t c = 0; c < %d && (det > 0.0 || det < 0.0); c++)", m)
	f.line("int32_t p = c;")
	f.open("for (int32_t r = c + 1; r < %d; r++)", m)
	f.line("p = fabs(%s[r * %d + c]) > fabs(%s[p * %d + c]) ? r : p;", a, m, a, m)
	f.close()
	f.open("if (p != c)")
	f.line("det = -det;")
	f.loop("k", m)
	f.line("const double t = %s[p * %d + k];", a, m)
	f.line("%s[p * %d + k] = %s[c * %d + k];", a, m, a, m)
	f.line("%s[c * %d + k] = t;", a, m)
	f.close()
	f.close()
	f.line("det *= %s[c * %d + c];", a, m)
	f.open("for (int32_t r = c + 1; r < %d && (det > 0.0 || det < 0.0); r++)", m)
	f.line("const double t = %s[r * %d + c] / %s[c * %d + c];", a, m, a, m)
	f.open("for (int32_t k = c; k < %d; k++)", m)
	f.line("%s[r * %d + k] -= t * %s[c * %d + k];", a, m, a, m)
	f.close()
	f.close()
	f.close()
	f.store(y, "b", "det")
}

// deformed writes DeformConv.
func deformed(f *fn) {
	n := f.n
	g := kernel.Known(op.DeformGeometry(n))
	x, w, off, y := f.in(0), f.in(1), f.in(2), f.out(0)
	H, W, out, taps := g.In[0], g.In[1], tensor.Count(g.Out), g.Taps()
	ci, co, og := g.CIn/g.Group, g.COut/g.Group, ir.AttrsOf[op.DeformConvAttrs](n).OffsetGroup
	f.loop("b", g.N)
	f.loop("m", g.COut)
	f.loop("o", out)
	start := "0.0"
	if f.has(3) {
		start = load(f.in(3), "m")
	}
	f.line("double acc = %s;", start)
	f.loop("c", ci)
	f.line("const int32_t ch = m / %d * %d + c;", co, ci)
	f.loop("t", taps)
	f.line("const int32_t at = (b * %d + ch / %d) * %d + t;", og, g.CIn/og, taps)
	f.line("const double py = (double)(o / %d * %d - %d + t / %d * %d) + %s;", g.Out[1], g.Strides[0], g.PadBegin[0],
		g.Kernel[1], g.Dilations[0], load(off, fmt.Sprintf("at * %d + o", 2*out)))
	f.line("const double px = (double)(o %% %d * %d - %d + t %% %d * %d) + %s;", g.Out[1], g.Strides[1], g.PadBegin[1],
		g.Kernel[1], g.Dilations[1], load(off, fmt.Sprintf("(at * 2 + 1) * %d + o", out)))
	f.open("if (py > -1.0 && px > -1.0 && py < %d.0 && px < %d.0)", H, W)
	f.line("const int32_t r = (int32_t)floor(py);")
	f.line("const int32_t q = (int32_t)floor(px);")
	f.line("const double dy = py - floor(py);")
	f.line("const double dx = px - floor(px);")
	f.line("double v = 0.0;")
	for k := range 4 {
		dr, dq := k/2, k%2
		wy, wx := []string{"(1.0 - dy)", "dy"}[dr], []string{"(1.0 - dx)", "dx"}[dq]
		f.open("if (r + %d >= 0 && r + %d < %d && q + %d >= 0 && q + %d < %d)", dr, dr, H, dq, dq, W)
		f.line("v += %s * %s * %s;", wy, wx, load(x, fmt.Sprintf("((b * %d + ch) * %d + r + %d) * %d + q + %d", g.CIn,
			H, dr, W, dq)))
		f.close()
	}
	if f.has(4) {
		f.line("v *= %s;", load(f.in(4), fmt.Sprintf("at * %d + o", out)))
	}
	f.line("acc += v * %s;", load(w, fmt.Sprintf("(m * %d + c) * %d + t", ci, taps)))
	f.close()
	f.close()
	f.close()
	f.store(y, fmt.Sprintf("(b * %d + m) * %d + o", g.COut, out), "acc")
}

// regions writes RoiAlign.
func regions(f *fn) {
	n := f.n
	x, rois, idx, y := f.in(0), f.in(1), f.in(2), f.out(0)
	s := n.In[0].Type.Shape
	C, H, W := s[1], s[2], s[3]
	oh, ow, scale := ir.AttrsOf[op.RoiAlignAttrs](n).OutputHeight, ir.AttrsOf[op.RoiAlignAttrs](n).OutputWidth,
		num(float64(ir.AttrsOf[op.RoiAlignAttrs](n).SpatialScale))
	half, peak := ir.AttrsOf[op.CoordinateTransformationModeAttr](n).CoordinateTransformationMode == "half_pixel",
		ir.AttrsOf[op.ModeAttr](n).Mode == "max"
	shift := "0.0"
	if half {
		shift = "0.5"
	}
	f.loop("r", n.In[1].Type.Shape[0])
	f.index("b", idx, "r", s[0])
	for k, v := range []string{"left", "top", "right", "bottom"} {
		f.line("const double %s = %s * %s - %s;", v, load(rois, fmt.Sprintf("r * 4 + %d", k)), scale, shift)
	}
	least := "-(double)INFINITY"
	if !half {
		least = "1.0"
	}
	f.line("const double bw = fmax(right - left, %s) / %d.0;", least, ow)
	f.line("const double bh = fmax(bottom - top, %s) / %d.0;", least, oh)
	if k := ir.AttrsOf[op.RoiAlignAttrs](n).SamplingRatio; k > 0 {
		f.line("const int32_t gh = %d, gw = %d;", k, k)
	} else {
		f.line("const int32_t gh = (int32_t)fmin(fmax(ceil(bh), 0.0), 1024.0);")
		f.line("const int32_t gw = (int32_t)fmin(fmax(ceil(bw), 0.0), 1024.0);")
	}
	f.loop("p", oh*ow)
	axes := []struct{ name, start, side, samples string }{
		{"row", fmt.Sprintf("top + (double)(p / %d) * bh", ow), "bh", "gh"},
		{"col", fmt.Sprintf("left + (double)(p %% %d) * bw", ow), "bw", "gw"},
	}
	at := func(k int, i string) string {
		a := axes[k]
		return fmt.Sprintf("%s + ((double)%s + 0.5) * %s / (double)%s", a.start, i, a.side, a.samples)
	}
	for k, a := range axes { // a region far larger than the map has many samples, and few of them inside
		f.line("int32_t %s0 = %s, %s1 = 0;", a.name, a.samples, a.name)
		f.loop("i", a.samples)
		f.line("const double at = %s;", at(k, "i"))
		f.open("if (at >= -1.0 && at <= %d.0)", s[2+k])
		f.line("%s0 = i < %s0 ? i : %s0;", a.name, a.name, a.name)
		f.line("%s1 = i + 1;", a.name)
		f.close()
		f.close()
	}
	f.loop("c", C)
	f.line("const int64_t plane = (b * %d + c) * %d;", C, H*W)
	f.line("double acc = 0.0;")
	if peak {
		f.line("int32_t first = row1 - row0 == gh && col1 - col0 == gw; /* outside of the map all is zero */")
	}
	f.open("for (int32_t i = row0; i < row1; i++)")
	f.open("for (int32_t j = col0; j < col1; j++)")
	f.line("const double py = fmax(%s, 0.0);", at(0, "i"))
	f.line("const double px = fmax(%s, 0.0);", at(1, "j"))
	f.line("double v = 0.0;")
	f.line("const int32_t ra = py < %d.0 ? (int32_t)py : %d;", H-1, H-1)
	f.line("const int32_t ca = px < %d.0 ? (int32_t)px : %d;", W-1, W-1)
	f.line("const int32_t rb = ra < %d ? ra + 1 : ra;", H-1)
	f.line("const int32_t cb = ca < %d ? ca + 1 : ca;", W-1)
	f.line("const double ly = ra < %d ? py - (double)ra : 0.0;", H-1)
	f.line("const double lx = ca < %d ? px - (double)ca : 0.0;", W-1)
	for k := range 4 {
		row, col := []string{"ra", "rb"}[k/2], []string{"ca", "cb"}[k%2]
		wy, wx := []string{"(1.0 - ly)", "ly"}[k/2], []string{"(1.0 - lx)", "lx"}[k%2]
		term := fmt.Sprintf("%s * %s * %s", wy, wx, load(x, fmt.Sprintf("plane + %s * %d + %s", row, W, col)))
		switch {
		case !peak:
			f.line("v += %s;", term)
		case k == 0:
			f.line("v = %s;", term)
		default:
			f.line("v = nncc_max_f64(v, %s);", term)
		}
	}
	if peak {
		f.line("acc = (first || v > acc) ? v : acc;")
		f.line("first = 0;")
	} else {
		f.line("acc += v;")
	}
	f.close()
	f.close()
	v := "acc"
	if !peak {
		v = "gh * gw > 0 ? acc / (double)(gh * gw) : acc"
	}
	f.store(y, fmt.Sprintf("(r * %d + c) * %d + p", C, oh*ow), v)
}

func imageRows() []*kernel.Kernel {
	return []*kernel.Kernel{
		row("col2im", "sum of overlapping blocks", blocks, known(1, 2), op.Col2Im),
		row("det", "determinants", determinant, nil, op.Det),
		row("deform_conv", "convolution with computed offsets", deformed, nil, op.DeformConv),
		row("roi_align", "regions pooled to a fixed size", regions, nil, op.RoiAlign),
	}
}
