// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
)

// suppress writes NonMaxSuppression: the best box that is left, again and
// again, for every sample and class.
func suppress(f *fn) {
	n := f.n
	g := kernel.Known(op.NMSGeometry(n))
	boxes, scores, y := f.in(0), f.in(1), f.out(0)
	taken := f.scratch("taken", tensor.U8, g.Boxes)
	total := g.Batch * g.Classes * g.Most * 3
	f.fill(y, total, "-1")
	overlap, least := "0.0", "-(double)INFINITY"
	if f.has(3) {
		overlap = load(f.in(3), "0")
	}
	if f.has(4) {
		least = load(f.in(4), "0")
	}
	f.line("const double overlap = %s;", overlap)
	f.line("const double least = %s;", least)
	f.line("int32_t rows = 0;")
	f.loop("b", g.Batch)
	f.loop("c", g.Classes)
	f.line("const int32_t first = rows;")
	f.each("i", g.Boxes, "%s[i] = 0;", taken.name)
	f.open("while (rows - first < %d)", g.Most)
	f.line("int32_t best = -1;")
	f.line("double top = 0.0;")
	f.line("int32_t keep = 1;")
	f.loop("i", g.Boxes)
	f.line("const double v = %s;", load(scores, fmt.Sprintf("(b * %d + c) * %d + i", g.Classes, g.Boxes)))
	f.open("if (%s[i] == 0 && v > least && (best < 0 || v > top))", taken.name)
	f.line("best = i;")
	f.line("top = v;")
	f.close()
	f.close()
	f.when("break;", "best < 0")
	f.line("%s[best] = 1;", taken.name)
	f.open("for (int32_t r = first; r < rows; r++)")
	corner := func(at string, k int) string {
		return load(boxes, fmt.Sprintf("(b * %d + %s) * 4 + %d", g.Boxes, at, k))
	}
	for _, p := range [][2]string{{"p", "best"}, {"q", fmt.Sprintf("(int32_t)%s[r * 3 + 2]", y.name)}} {
		name, at := p[0], p[1]
		if g.Centre {
			for d, axis := range []string{"x", "y"} {
				f.line("const double %s%s1 = %s - %s / 2.0;", name, axis, corner(at, d), corner(at, d+2))
				f.line("const double %s%s2 = %s + %s / 2.0;", name, axis, corner(at, d), corner(at, d+2))
			}
			continue
		}
		for d, axis := range []string{"y", "x"} {
			f.line("const double %s%s1 = nncc_min_f64(%s, %s);", name, axis, corner(at, d), corner(at, d+2))
			f.line("const double %s%s2 = nncc_max_f64(%s, %s);", name, axis, corner(at, d), corner(at, d+2))
		}
	}
	f.line("const double h = nncc_min_f64(py2, qy2) - nncc_max_f64(py1, qy1);")
	f.line("const double w = nncc_min_f64(px2, qx2) - nncc_max_f64(px1, qx1);")
	f.line("const double whole = (py2 - py1) * (px2 - px1) + (qy2 - qy1) * (qx2 - qx1) - h * w;")
	f.when("keep = 0;", "h > 0.0 && w > 0.0 && whole > 0.0 ? h * w / whole > overlap : 0.0 > overlap")
	f.close()
	f.open("if (keep != 0)")
	for k, v := range []string{"b", "c", "best"} {
		f.store(y, fmt.Sprintf("rows * 3 + %d", k), v)
	}
	f.line("rows++;")
}

// unique writes Unique. The scratch memory holds, for every slice, which
// different one it is, in the order of their first occurrences; those are
// numbered anew where the result is sorted.
func unique(f *fn) {
	n := f.n
	outer, dim, inner, err := op.UniqueSlices(n)
	kernel.Known(outer, err)
	x, y := f.in(0), f.out(0)
	of, first, place := f.scratch("of", tensor.I32, dim), f.scratch("first", tensor.I32, dim),
		f.scratch("place", tensor.I32, dim)
	c := classOf(x.t)
	// order compares slices p and q into the variable of the given name
	order := func(name, p, q string) {
		f.line("int32_t %s = 0;", name)
		f.open("for (int32_t e = 0; e < %d && %s == 0; e++)", outer*inner, name)
		for _, v := range [][2]string{{"a", p}, {"b", q}} {
			f.line("const %s %s = %s;", c.wide(), v[0],
				load(x, fmt.Sprintf("(e / %d * %d + %s) * %d + e %% %d", inner, dim, v[1], inner, inner)))
		}
		more, less := "a > b", "b > a"
		if c == floating {
			more, less = "a > b || (isnan(a) && !isnan(b))", "b > a || (isnan(b) && !isnan(a))"
		}
		f.line("%s = (%s) ? 1 : ((%s) ? -1 : 0);", name, more, less)
		f.close()
	}
	f.line("int32_t count = 0;")
	f.loop("i", dim)
	f.line("int32_t k = 0;")
	f.open("for (; k < count; k++)")
	order("same", first.name+"[k]", "i")
	f.when("break;", "same == 0")
	f.close()
	f.open("if (k == count)")
	f.line("%s[count++] = i;", first.name)
	f.close()
	f.line("%s[i] = k;", of.name)
	f.close()
	f.loop("k", "count")
	f.line("%s[k] = k;", place.name)
	if ir.AttrsOf[op.SortedAttr](n).Sorted != 0 {
		f.line("%s[k] = 0;", place.name)
		f.loop("j", "count")
		order("less", first.name+"[j]", first.name+"[k]")
		f.line("%s[k] += less < 0 ? 1 : 0;", place.name)
		f.close()
	}
	f.close()
	f.fill(y, outer*dim*inner, "0")
	for i, fill := range []string{1: "-1", 3: "0"} {
		if fill != "" && f.wants(i) {
			f.fill(f.out(i), dim, fill)
		}
	}
	f.loop("k", "count")
	f.loop("e", outer*inner)
	f.copy(y, fmt.Sprintf("(e / %d * %d + %s[k]) * %d + e %% %d", inner, dim, place.name, inner, inner), x,
		fmt.Sprintf("(e / %d * %d + %s[k]) * %d + e %% %d", inner, dim, first.name, inner, inner))
	f.close()
	if f.wants(1) {
		f.store(f.out(1), place.name+"[k]", first.name+"[k]")
	}
	f.close()
	f.loop("i", dim)
	f.line("const int32_t k = %s[%s[i]];", place.name, of.name)
	if f.wants(2) {
		f.store(f.out(2), "i", "k")
	}
	if f.wants(3) {
		f.line("%s[k]++;", f.out(3).name)
	}
	f.line("NNCC_UNUSED(k);")
}

// nGrams writes TfIdfVectorizer: the pool is a table of n-grams, each with its
// length and place in front.
func nGrams(f *fn) {
	n := f.n
	g := kernel.Known(op.NGrams(n))
	shape := n.In[0].Type.Shape
	c := shape[len(shape)-1]
	rows := product(shape[:len(shape)-1])
	x, y := f.in(0), f.out(0)
	f.fill(y, rows*g.Size, "0")
	var pool []int64
	for _, e := range g.Grams {
		pool = append(append(pool, int64(len(e.IDs)), int64(e.Index)), e.IDs...)
	}
	if len(pool) > 0 {
		table := f.table("pool", tensor.Of([]int{len(pool)}, pool))
		f.loop("r", rows)
		f.line("const int64_t *gram = %s;", table.name)
		f.loop("g", len(g.Grams))
		f.line("const int32_t size = (int32_t)gram[0];")
		f.line("int32_t found = 0;")
		f.open("for (int32_t gap = 1; gap <= (size > 1 ? %d : 1); gap++)", g.Skips+1)
		f.open("for (int32_t at = 0; at + (size - 1) * gap < %d; at++)", c)
		f.line("int32_t same = 1;")
		f.loop("k", "size")
		f.when("same = 0;", "%s != gram[2 + k]", load(x, fmt.Sprintf("r * %d + at + k * gap", c)))
		f.close()
		f.line("found += same;")
		f.close()
		f.when("break;", "gap >= %d", max(c, 1)) // no n-gram spans more than the row
		f.close()
		f.line("%s[r * %d + gram[1]] += (float)found;", y.name, g.Size)
		f.line("gram += 2 + size;")
		f.closeTo(1)
	}
	if mode := ir.AttrsOf[op.ModeAttr](n).Mode; mode != "TF" && (mode == "IDF" || g.Weight != nil) {
		weight := "1.0f"
		if g.Weight != nil {
			weight = f.table("weight", tensor.Of([]int{len(g.Weight)}, g.Weight)).name + fmt.Sprintf("[i %% %d]",
				g.Size)
		}
		f.loop("i", rows*g.Size)
		if mode == "IDF" {
			f.line("%s[i] = %s[i] > 0.0f ? %s : 0.0f;", y.name, y.name, weight)
		} else {
			f.line("%s[i] *= %s;", y.name, weight)
		}
		f.close()
	}
}

func detectRows() []*kernel.Kernel {
	return []*kernel.Kernel{
		row("nms", "boxes with the highest scores that do not overlap", suppress, known(2), op.NonMaxSuppression),
		row("unique", "different slices with indices and counts", unique, nil, op.Unique),
		row("ngrams", "counts of n-grams", nGrams, nil, op.TfIdfVectorizer),
	}
}
