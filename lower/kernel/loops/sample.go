// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
)

// resize writes Resize with the sampling tables of the geometry: a sum over the taps of a
// dimension within that of the one before, the innermost first, as the interpreter adds.
func resize(f *fn) {
	n := f.n
	g := kernel.Known(op.ResizeGeometry(n))
	x, y := f.in(0), f.out(0)
	st := tensor.Strides(n.In[0].Type.Shape)
	v := f.nest("i", g.Shape)
	where := make([]string, len(v))
	outside := []string{}
	exact := g.Nearest && !g.Crop
	depth := f.depth
	type sum struct {
		name, weight string
		depth        int // of its declaration
	}
	sums := []sum{}
	for d, a := range g.Axes {
		where[d] = v[d]
		if a.Same {
			continue
		}
		idx := lists.Each(a.Index, func(k int) int32 { return int32(k) })
		table := f.table(fmt.Sprintf("index%d", d), tensor.Of([]int{len(idx)}, idx))
		tap := fmt.Sprintf("%s * %d", v[d], a.Taps)
		acc, around := "acc", f.depth
		if len(sums) > 0 {
			acc = fmt.Sprintf("acc%d", d)
		}
		if !exact {
			f.line("double %s = 0.0;", acc)
		}
		if a.Taps > 1 {
			t := fmt.Sprintf("t%d", d)
			f.loop(t, a.Taps)
			tap += " + " + t
		}
		where[d] = fmt.Sprintf("%s[%s]", table.name, tap)
		if g.Crop {
			outside = append(outside, fmt.Sprintf("%s[%s * %d] < 0", table.name, v[d], a.Taps))
		}
		if !exact {
			w := f.table(fmt.Sprintf("weight%d", d), tensor.Of([]int{len(a.Weight)}, a.Weight))
			sums = append(sums, sum{acc, fmt.Sprintf("%s[%s]", w.name, tap), around})
		}
	}
	yi := at(v, tensor.Strides(g.Shape))
	if exact {
		f.copy(y, yi, x, at(where, st))
		return
	}
	if len(outside) > 0 {
		f.open("if (!(%s))", strings.Join(outside, " || "))
	}
	value := loadReal(x, at(where, st))
	for _, a := range slices.Backward(sums) {
		f.line("%s += %s * %s;", a.name, value, a.weight)
		f.closeTo(a.depth)
		value = a.name
	}
	f.closeTo(depth)
	value = "acc"
	if len(outside) > 0 {
		value = fmt.Sprintf("(%s) ? %s : acc", strings.Join(outside, " || "),
			num(float64(ir.AttrsOf[op.ResizeAttrs](n).ExtrapolationValue)))
	}
	if !y.t.IsFloat() {
		value = fromReal(y.t, value)
	}
	f.store(y, yi, value)
}

// gridSample writes GridSample: for every position the taps of each dimension,
// and the sum of their products.
func gridSample(f *fn) {
	n := f.n
	in := n.In[0].Type.Shape
	size := in[2:]
	r := len(size)
	outShape := n.Out[0].Type.Shape[2:]
	points, plane, channels := tensor.Count(outShape), tensor.Count(size), in[1]
	mode, padding := ir.AttrsOf[op.ModeAttr](n).Mode, ir.AttrsOf[op.GridSampleAttrs](n).PaddingMode
	taps := map[string]int{"nearest": 1, "linear": 2, "bilinear": 2, "cubic": 4, "bicubic": 4}[mode]
	x, grid, y := f.in(0), f.in(1), f.out(0)
	f.loop("b", in[0])
	f.loop("p", points)
	f.line("int32_t at[%d][%d];", r, taps)
	f.line("double weight[%d][%d];", r, taps)
	for d, s := range size {
		lo, hi := -0.5, float64(s)-0.5
		pos := fmt.Sprintf("((v + 1.0) * %s - 1.0) / 2.0", num(float64(s)))
		if ir.AttrsOf[op.GridSampleAttrs](n).AlignCorners != 0 {
			lo, hi = 0, float64(s-1)
			pos = fmt.Sprintf("(v + 1.0) / 2.0 * %s", num(float64(s-1)))
		}
		f.open("")
		f.line("const double v = %s;", load(grid, fmt.Sprintf("(b * %d + p) * %d + %d", points, r, r-1-d)))
		f.line("double x = %s;", pos)
		if mode == "nearest" {
			f.line("x = nncc_nearest_f64(x);")
		}
		switch padding {
		case "border":
			least, most := op.GridBorder(mode, s)
			f.line("x = (x < %s || x > %s) ? fmin(fmax(x, %s), %s) : x;", num(lo), num(hi), num(least), num(most))
		case "reflection":
			f.line("x = nncc_reflect_f64(x, %s, %s);", num(lo), num(hi))
		}
		f.line("const double base = floor(x);")
		first := 0
		if taps == 4 {
			first = -1
		}
		f.loop("t", taps)
		switch taps {
		case 1:
			f.line("double w = 1.0;")
		case 2:
			f.line("double w = t == 0 ? base + 1.0 - x : x - base;")
		default:
			f.line("double w = nncc_cubic_f64(x - base - (double)(t - 1), -0.75);")
		}
		f.line("double i = base + (double)(t + %d);", first)
		switch padding {
		case "zeros":
			f.open("if (!(i >= 0.0 && i <= %s))", num(float64(s-1)))
			f.line("w = 0.0;")
			f.line("i = -1.0;")
			f.close()
		case "border":
			f.line("i = fmin(fmax(i, 0.0), %s);", num(float64(s-1)))
		default:
			f.line("i = fmin(fmax(trunc(nncc_reflect_f64(i, %s, %s)), 0.0), %s);", num(lo), num(hi), num(float64(s-1)))
		}
		f.line("at[%d][t] = (fabs(x) < 1099511627776.0) ? (int32_t)i : -1;", d)
		f.line("weight[%d][t] = w;", d)
		f.close()
		f.close()
	}
	f.loop("c", channels)
	f.line("double acc = 0.0;")
	depth := f.depth
	index, w := "", []string{}
	var skip []string
	for d := range size {
		t := fmt.Sprintf("t%d", d)
		f.loop(t, taps)
		a := fmt.Sprintf("at[%d][%s]", d, t)
		if d == 0 {
			index = a
		} else {
			index = fmt.Sprintf("(%s) * %d + %s", index, size[d], a)
		}
		w = append(w, fmt.Sprintf("weight[%d][%s]", d, t))
		skip = append(skip, a+" >= 0")
	}
	f.open("if (%s)", strings.Join(skip, " && "))
	f.line("acc += %s * %s;", strings.Join(w, " * "), loadReal(x, fmt.Sprintf("(b * %d + c) * %d + %s", channels, plane,
		index)))
	f.closeTo(depth)
	value := "acc"
	if !y.t.IsFloat() {
		value = fromReal(y.t, value)
	}
	f.store(y, fmt.Sprintf("(b * %d + c) * %d + p", channels, points), value)
}

func sampleRows() []*kernel.Kernel {
	return []*kernel.Kernel{
		row("resize", "resampling by tables, any element type", resize, known(1, 2, 3), op.Resize),
		row("grid_sample", "samples at computed positions, any element type", gridSample, nil, op.GridSample),
	}
}
