// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"fmt"
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
)

// wrapAdd adds an integer to the total so far, modulo 2^64.
const wrapAdd = "(int64_t)((uint64_t)acc + (uint64_t)(%s))"

// alongAxis opens the loops over the lines of input 0 along an axis: element i
// of line (o, s) lies at o * size * step + i * step + s.
func (f *fn) alongAxis(axis int) (size, step int) {
	shape := f.n.In[0].Type.Shape
	axis = kernel.Known(op.Axis(f.n, axis, len(shape)))
	size, step = shape[axis], tensor.Count(shape[axis+1:])
	f.loop("o", tensor.Count(shape[:axis]))
	f.loop("s", step)
	return size, step
}

// extreme is the neutral value of a maximum or minimum of a type.
func extreme(d tensor.DType, lowest bool) string {
	switch {
	case d.IsFloat() && lowest:
		return "-(double)INFINITY"
	case d.IsFloat():
		return "(double)INFINITY"
	case d == tensor.U64 && !lowest:
		return "UINT64_MAX"
	}
	lo, hi := d.IntRange()
	if lowest {
		return integer(lo)
	}
	return integer(hi)
}

// axesNest opens the loops over the dimensions that stay and gives the index
// of the result; inner opens those over the reduced ones and gives the index
// of the input's element.
func (f *fn) axesNest(shape, axes []int) (y string, inner func() string) {
	v := make([]string, len(shape))
	open := func(d int, prefix string) {
		if v[d] = "0"; shape[d] != 1 {
			v[d] = fmt.Sprint(prefix, d)
			f.loop(v[d], shape[d])
		}
	}
	var kept []int
	var kv []string
	for d, n := range shape {
		if !slices.Contains(axes, d) {
			open(d, "i")
			kept, kv = append(kept, n), append(kv, v[d])
		}
	}
	return at(kv, tensor.Strides(kept)), func() string {
		for _, d := range axes {
			open(d, "r")
		}
		return at(v, tensor.Strides(shape))
	}
}

func reduction(f *fn) {
	n := f.n
	axes := kernel.Known(op.ReduceAxes(n))
	shape := n.In[0].Type.Shape
	count := 1
	for _, a := range axes {
		count *= shape[a]
	}
	x, y := f.in(0), f.out(0)
	c := classOf(x.t)
	yi, inner := f.axesNest(shape, axes)
	fold := n.Op.Fold
	if fold == nil {
		f.logSumExp(x, y, yi, inner)
		return
	}
	start := fmt.Sprint(fold.Start)
	if math.IsInf(fold.Start, 0) {
		start = extreme(x.t, fold.Start < 0)
	}
	f.line("%s acc = %s;", c.wide(), start)
	depth := f.depth
	xi := inner()
	f.line("const %s v = %s;", c.wide(), load(x, xi))
	f.line("acc = %s;", kernel.Written(ofClass(fold.Step, c), nil, "acc", "v"))
	f.closeTo(depth)
	done := "acc"
	switch form := ofClass(fold.Finish, c); {
	case form != "":
		done = kernel.Written(form, nil, "acc")
	case n.Op.Spread == ir.Averages && c == floating:
		done = fmt.Sprintf("acc / %d.0", count)
	case n.Op.Spread == ir.Averages:
		done = fmt.Sprintf("acc / %d", max(count, 1))
	}
	f.store(y, yi, done)
}

// logSumExp subtracts the maximum first, so that large elements do not overflow.
func (f *fn) logSumExp(x, y ref, yi string, inner func() string) {
	f.line("double top = -(double)INFINITY;")
	f.line("double acc = 0.0;")
	depth := f.depth
	xi := inner()
	f.line("top = nncc_max_f64(top, %s);", load(x, xi))
	f.closeTo(depth)
	f.open("if (!isinf(top))")
	xi = inner()
	f.line("acc += exp(%s - top);", load(x, xi))
	f.closeTo(depth)
	f.store(y, yi, "isinf(top) ? top : top + log(acc)")
}

// arg writes ArgMax and ArgMin; NaN is below every number, as Go orders them.
func arg(f *fn) {
	n := f.n
	size, step := f.alongAxis(ir.AttrsOf[op.AxisAttr](n).Axis)
	x, y := f.in(0), f.out(0)
	c := classOf(x.t)
	f.line("const int32_t at = o * %d + s;", size*step)
	f.line("int64_t best = 0;")
	f.line("%s top = %s;", c.wide(), load(x, "at"))
	f.open("for (int32_t i = 1; i < %d; i++)", size)
	f.line("const %s v = %s;", c.wide(), load(x, fmt.Sprintf("at + i * %d", step)))
	less, more := "v < top", "v > top"
	if c == floating {
		less, more = "v < top || (isnan(v) && !isnan(top))", "v > top || (isnan(top) && !isnan(v))"
	}
	beats := more
	if n.Op == op.ArgMin {
		beats, less = less, more
	}
	if ir.AttrsOf[op.ArgOpAttrs](n).SelectLastIndex != 0 {
		beats = "!(" + less + ")"
	}
	f.open("if (%s)", beats)
	f.line("best = i;")
	f.line("top = v;")
	f.close()
	f.close()
	f.store(y, fmt.Sprintf("o * %d + s", step), "best")
}

// running writes CumSum and CumProd.
func running(f *fn) {
	n := f.n
	axes := kernel.Known(op.ConstInts(n, 1, "the axis"))
	size, step := f.alongAxis(axes[0])
	x, y := f.in(0), f.out(0)
	c := classOf(x.t)
	first, next := "acc", map[class]string{floating: "acc + v", whole: fmt.Sprintf(wrapAdd, "v"), large: "acc + v"}[c]
	start := 0
	if n.Op == op.CumProd {
		start, next = 1, map[class]string{floating: "acc * v", whole: "(int64_t)((uint64_t)acc * (uint64_t)v)",
			large: "acc * v"}[c]
	}
	f.line("%s acc = %d;", c.wide(), start)
	f.loop("k", size)
	pos := "k"
	if ir.AttrsOf[op.ScanOpAttrs](n).Reverse != 0 {
		pos = fmt.Sprintf("(%d - k)", size-1)
	}
	f.line("const int32_t at = o * %d + %s * %d + s;", size*step, pos, step)
	f.line("const %s v = %s;", c.wide(), load(x, "at"))
	if ir.AttrsOf[op.ScanOpAttrs](n).Exclusive != 0 {
		f.store(y, "at", first)
		f.line("acc = %s;", next)
	} else {
		f.line("acc = %s;", next)
		f.store(y, "at", first)
	}
}

// topK writes TopK by insertion: the k best so far are sorted in the outputs.
func topK(f *fn) {
	n := f.n
	shape := n.In[0].Type.Shape
	axis := kernel.Known(op.Axis(n, ir.AttrsOf[op.AxisAttr](n).Axis, len(shape)))
	k := n.Out[0].Type.Shape[axis]
	x, y := f.in(0), f.out(0)
	idx := ref{}
	if f.wants(1) {
		idx = f.out(1)
	}
	c := classOf(x.t)
	step := tensor.Count(shape[axis+1:])
	f.loop("o", tensor.Count(shape[:axis]))
	f.loop("s", step)
	f.line("int32_t have = 0;")
	f.loop("i", shape[axis])
	f.line("const int32_t from = (o * %d + i) * %d + s;", shape[axis], step)
	f.line("const %s v = %s;", c.wide(), load(x, "from"))
	f.line("int32_t p = have < %d ? have++ : %d;", k, k)
	f.open("for (; p > 0; p--)")
	prev := fmt.Sprintf("(o * %d + p - 1) * %d + s", k, step)
	here := fmt.Sprintf("(o * %d + p) * %d + s", k, step)
	f.line("const %s w = %s;", c.wide(), load(y, prev))
	cond := "v > w"
	if ir.AttrsOf[op.TopKAttrs](n).Largest == 0 {
		cond = "v < w"
	}
	if c == floating { // NaN is the largest, as in NumPy's order
		cond = map[bool]string{true: "v > w || (isnan(v) && !isnan(w))",
			false: "v < w || (isnan(w) && !isnan(v))"}[ir.AttrsOf[op.TopKAttrs](n).Largest != 0]
	}
	f.when("break;", "!(%s)", cond)
	f.open("if (p < %d)", k)
	f.copy(y, here, y, prev)
	if idx.name != "" {
		f.copy(idx, here, idx, prev)
	}
	f.close()
	f.close()
	f.open("if (p < %d)", k)
	f.copy(y, here, x, "from")
	if idx.name != "" {
		f.store(idx, here, "i")
	}
}

func reduceRows() []*kernel.Kernel {
	return []*kernel.Kernel{
		row("reduce", "reductions over axes, any element type", reduction, nil,
			kernel.Where(func(d *ir.OpDef) bool { return d.Pattern == ir.Reduce })...),
		row("arg", "position of an extremum, any element type", arg, nil, op.ArgMax, op.ArgMin),
		row("running", "running sums and products, any element type", running, nil, op.CumSum, op.CumProd),
		row("topk", "largest or smallest elements, any element type", topK, nil, op.TopK),
	}
}
