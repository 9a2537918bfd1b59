// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
)

// scaleIndex is the scale of element i of input 0: one for all, one for every
// index of the axis, or one for every block along it.
func (f *fn) scaleIndex() string {
	n := f.n
	x, s := n.In[0].Type.Shape, n.In[1].Type
	block := ir.AttrsOf[op.ScaleAttrs](n).BlockSize
	if s.Elems() == 1 && s.Rank() <= 1 && block == 0 {
		return "0"
	}
	axis := kernel.Known(op.Axis(n, ir.AttrsOf[op.AxisAttr](n).Axis, len(x)))
	inner := product(x[axis+1:])
	if block == 0 {
		return fmt.Sprintf("i / %d %% %d", inner, x[axis])
	}
	return fmt.Sprintf("(i / %d * %d + i / %d %% %d / %d) * %d + i %% %d", inner*x[axis], (x[axis]+block-1)/block,
		inner, x[axis], block, inner, inner)
}

// quantize writes QuantizeLinear into plain integers, the parameters known or
// computed.
func quantize(f *fn) {
	n := f.n
	x, scale, y := f.in(0), f.in(1), f.out(0)
	c := f.scaleIndex()
	lo, hi := y.t.IntRange()
	f.loop("i", n.In[0].Type.Elems())
	f.line("const int32_t c = %s;", c)
	q := fmt.Sprintf("(double)((float)(%s) / (float)(%s))", loadReal(x, "i"), load(scale, "c"))
	if x.t == tensor.F64 {
		q = fmt.Sprintf("%s / %s", load(x, "i"), load(scale, "c"))
	}
	f.line("double q = %s;", q)
	round := "nncc_nearest_f64"
	if op.RoundsAway(n) {
		round = "round"
	}
	f.line("q = isnan(q) ? 0.0 : %s(q);", round)
	if f.has(2) {
		f.line("q += %s;", loadReal(f.in(2), "c"))
	}
	f.line("q = fmin(fmax(q, %s), %s);", num(float64(lo)), num(float64(hi)))
	f.store(y, "i", fromReal(y.t, "q"))
}

// dequantize writes DequantizeLinear of plain integers.
func dequantize(f *fn) {
	n := f.n
	x, scale, y := f.in(0), f.in(1), f.out(0)
	c := f.scaleIndex()
	f.loop("i", n.In[0].Type.Elems())
	f.line("const int32_t c = %s;", c)
	v := fmt.Sprintf("(int64_t)%s[i]", x.name)
	if f.has(2) {
		v = fmt.Sprintf("(%s - (int64_t)%s[c])", v, f.in(2).name)
	}
	if y.t == tensor.F64 {
		f.store(y, "i", fmt.Sprintf("(double)%s * %s", v, load(scale, "c")))
	} else {
		f.store(y, "i", fmt.Sprintf("(double)((float)%s * (float)(%s))", v, load(scale, "c")))
	}
}

// dynamicQuantize writes DynamicQuantizeLinear.
func dynamicQuantize(f *fn) {
	n := f.n
	x, y, s, z := f.in(0), f.out(0), f.out(1), f.out(2)
	count := n.In[0].Type.Elems()
	f.line("float lo = 0.0f, hi = 0.0f, scale;")
	f.line("double zero = 0.0;")
	f.loop("i", count)
	f.line("lo = x0[i] < lo ? x0[i] : lo;")
	f.line("hi = x0[i] > hi ? x0[i] : hi;")
	f.close()
	f.line("scale = (hi - lo) / 255.0f;")
	f.when("zero = nncc_nearest_f64(fmin(fmax((double)(-lo / scale), 0.0), 255.0));", "scale > 0.0f")
	f.loop("i", count)
	f.line("const double q = scale > 0.0f ? nncc_nearest_f64((double)(%s[i] / scale)) : 0.0;", x.name)
	f.store(y, "i", "(int64_t)fmin(fmax(q + zero, 0.0), 255.0)")
	f.close()
	f.store(s, "0", "scale")
	f.store(z, "0", "(int64_t)zero")
}

func quantRows() []*kernel.Kernel {
	return []*kernel.Kernel{
		row("quantize", "quantisation to any integer type, scales for all, an axis or blocks, also computed", quantize,
			nil, op.QuantizeLinear),
		row("dequantize", "integers as reals, scales for all, an axis or blocks, also computed", dequantize, nil,
			op.DequantizeLinear),
		row("dynamic_quantize", "quantisation by the input's own range", dynamicQuantize, nil,
			op.DynamicQuantizeLinear),
	}
}
