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

// convolution writes Conv and ConvInteger in any number of dimensions.
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
	wide := classOf(x.t).wide()
	start := "0"
	if n.Op == op.Conv && f.has(2) {
		start = load(f.in(2), "m")
	}
	f.line("%s acc = %s;", wide, start)
	depth := f.depth
	f.loop("c", ci)
	p, k := f.under(o, g.In, g.Kernel, g.Strides, g.Dilations, g.PadBegin, g.PadEnd, "")
	xv := load(x, fmt.Sprintf("(b * %d + m / %d * %d + c) * %d + %s", g.CIn, co, ci, product(g.In), flat(p, g.In)))
	wv := load(w, fmt.Sprintf("(m * %d + c) * %d + %s", ci, g.Taps(), flat(k, g.Kernel)))
	if n.Op == op.ConvInteger {
		xv, wv = "("+xv+f.zero(2, 1, "0")+")", "("+wv+f.zero(3, g.COut, "m")+")"
	}
	f.line("acc += %s * %s;", xv, wv)
	f.closeTo(depth)
	f.clamped(y, fmt.Sprintf("(b * %d + m) * %d + %s", g.COut, product(g.Out), flat(o, g.Out)), "acc")
}

// transposed writes ConvTranspose: every output element gathers what falls on it.
func transposed(f *fn) {
	n := f.n
	g := kernel.Known(op.ConvGeometry(n))
	x, w, y := f.in(0), f.in(1), f.out(0)
	ci, co := g.CIn/g.Group, g.COut/g.Group
	f.loop("b", g.N)
	f.loop("m", g.COut)
	o := f.counters("o", g.Out)
	start := "0.0"
	if f.has(2) {
		start = load(f.in(2), "m")
	}
	f.line("double acc = %s;", start)
	depth := f.depth
	f.loop("c", ci)
	var p, k []string
	for d := range g.In {
		k, p = append(k, fmt.Sprintf("k%d", d)), append(p, fmt.Sprintf("p%d", d))
		f.loop(k[d], g.Kernel[d])
		f.line("const int32_t t%d = %s + %d - %s * %d;", d, o[d], g.PadBegin[d], k[d], g.Dilations[d])
		f.line("const int32_t %s = t%d / %d;", p[d], d, g.Strides[d])
		f.when("continue;", "t%d < 0 || t%d %% %d != 0 || %s >= %d", d, d, g.Strides[d], p[d], g.In[d])
	}
	xv := load(x, fmt.Sprintf("(b * %d + m / %d * %d + c) * %d + %s", g.CIn, co, ci, product(g.In), flat(p, g.In)))
	wv := load(w, fmt.Sprintf("((m / %d * %d + c) * %d + m %% %d) * %d + %s", co, ci, co, co, g.Taps(),
		flat(k, g.Kernel)))
	f.line("acc += %s * %s;", xv, wv)
	f.closeTo(depth)
	f.clamped(y, fmt.Sprintf("(b * %d + m) * %d + %s", g.COut, product(g.Out), flat(o, g.Out)), "acc")
}

// pool writes the pooling operators in any number of dimensions.
func pool(f *fn) {
	n := f.n
	g := kernel.Known(op.PoolGeometry(n))
	x, y := f.in(0), f.out(0)
	plane := product(g.In)
	f.loop("c", g.N*g.C)
	o := f.counters("o", g.Out)
	at := fmt.Sprintf("c * %d + %s", product(g.Out), flat(o, g.Out))
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
		plane := product(g.In)
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
	f.fill(y, product(to), "0")
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
		row("conv_transpose", "transposed convolution in 1 to 3 dimensions, any float type", transposed, nil,
			op.ConvTranspose),
		row("pool", "pooling in 1 to 3 dimensions, any element type, with indices", pool, nil,
			kernel.Where(func(d *ir.OpDef) bool { return d.Window.Pools() })...),
		row("max_unpool", "inverse of maximum pooling by indices, any element type", unpool, nil, op.MaxUnpool),
	}
}
