// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
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
	rows := tensor.Count(shape[:len(shape)-1])
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

// trees writes TreeEnsemble: the nodes are tables, every tree is a walk of at
// most as many steps as there are nodes.
func trees(f *fn) {
	n := f.n
	g := kernel.Known(op.Forest(n))
	ints := func(name string, v []int) ref {
		w := lists.Each(v, func(e int) int32 { return int32(e) })
		return f.table(name, tensor.Of([]int{len(w)}, w))
	}
	reals := func(name string, v []float64) ref { return f.table(name, tensor.Of([]int{len(v)}, v)) }
	x, y := f.in(0), f.out(0)
	var flags []int
	members := false
	for i, m := range g.Mode {
		if g.MissingTrue[i] {
			m += 8
		}
		members = members || g.Mode[i] == 6
		flags = append(flags, m)
	}
	feature, mode, split := ints("feature", g.Feature), ints("mode", flags), reals("split", g.Split)
	yes, no, root := ints("yes", g.True), ints("no", g.False), ints("root", g.Roots)
	target, weight := ints("target", g.LeafTarget), reals("weight", g.LeafWeight)
	acc, seen := f.scratch("acc", tensor.F64, g.Targets), f.scratch("seen", tensor.U8, g.Targets)
	rows, width := n.In[0].Type.Shape[0], n.In[0].Type.Shape[1]
	f.loop("r", rows)
	f.loop("t", g.Targets)
	f.line("%s[t] = 0.0;", acc.name)
	f.line("%s[t] = 0;", seen.name)
	f.close()
	f.loop("k", len(g.Roots))
	f.line("int32_t i = %s[k];", root.name)
	f.open("for (int32_t step = 0; step < %d && i >= 0; step++)", len(g.Feature))
	f.line("const double v = %s;", load(x, fmt.Sprintf("r * %d + %s[i]", width, feature.name)))
	f.line("const double s = %s[i];", split.name)
	f.line("int32_t go = 0;")
	f.open("switch (%s[i] & 7)", mode.name)
	for m, c := range []string{"v <= s", "v < s", "v >= s", "v > s", "v == s", "v != s"} {
		f.line("case %d: go = %s ? 1 : 0; break;", m, c)
	}
	if members {
		from, to, set := ints("from", g.SetFrom), ints("to", g.SetTo), reals("members", g.Members)
		f.open("default:")
		f.open("for (int32_t m = %s[i]; m < %s[i]; m++)", from.name, to.name)
		f.line("go |= v == %s[m] ? 1 : 0;", set.name)
		f.close()
		f.line("break;")
		f.close()
	} else {
		f.line("default: break;")
	}
	f.close()
	f.line("i = (go != 0 || (%s[i] >= 8 && isnan(v))) ? %s[i] : %s[i];", mode.name, yes.name, no.name)
	f.close()
	f.check("i < 0", "NNCC_ERR_INDEX")
	if g.HasFollows {
		more := make([]uint8, len(g.Follows))
		for i, v := range g.Follows {
			if v {
				more[i] = 1
			}
		}
		f.table("follows", tensor.Of([]int{len(more)}, more))
		f.open("for (int32_t more = 1; more != 0; more = follows[-1 - i--])")
	}
	f.line("const int32_t t = %s[-1 - i];", target.name)
	f.line("const double w = %s[-1 - i];", weight.name)
	switch g.Aggregate {
	case 0, 1:
		f.line("%s[t] += w;", acc.name)
	case 2:
		f.line("%s[t] = (%s[t] == 0 || w < %s[t]) ? w : %s[t];", acc.name, seen.name, acc.name, acc.name)
	default:
		f.line("%s[t] = (%s[t] == 0 || w > %s[t]) ? w : %s[t];", acc.name, seen.name, acc.name, acc.name)
	}
	f.line("%s[t] = 1;", seen.name)
	if g.HasFollows {
		f.close()
	}
	f.close()
	f.loop("t", g.Targets)
	v := acc.name + "[t]"
	if g.Aggregate == 0 {
		v += fmt.Sprintf(" / %d.0", len(g.Roots))
	}
	f.store(y, fmt.Sprintf("r * %d + t", g.Targets), v)
}

// coupling writes PairCoupling, step by step as the operator's evaluation.
func coupling(f *fn) {
	n := f.n
	k, pairs := ir.AttrsOf[op.PairCouplingAttrs](n).Classes, n.In[0].Type.Shape[1]
	x, y := f.in(0), f.out(0)
	q, qp, p := f.scratch("q", tensor.F64, k*k), f.scratch("qp", tensor.F64, k), f.scratch("p", tensor.F64, k)
	f.loop("r", n.In[0].Type.Shape[0])
	f.each("i", k*k, "%s[i] = 0.0;", q.name)
	f.line("int32_t at = r * %d;", pairs)
	f.loop("i", k)
	f.line("%s[i] = 1.0 / %d.0;", p.name, k)
	f.open("for (int32_t j = i + 1; j < %d; j++)", k)
	f.line("const double ij = %s;", load(x, "at"))
	f.line("const double ji = 1.0 - ij;")
	f.line("%s[i * %d] += ji * ji;", q.name, k+1)
	f.line("%s[j * %d] += ij * ij;", q.name, k+1)
	f.line("%s[i * %d + j] = -ij * ji;", q.name, k)
	f.line("%s[j * %d + i] = -ij * ji;", q.name, k)
	f.line("at++;")
	f.close()
	f.close()
	f.loop("round", op.CouplingRounds)
	f.line("double all = 0.0;")
	f.line("double worst = 0.0;")
	f.loop("i", k)
	f.line("%s[i] = 0.0;", qp.name)
	f.each("j", k, "%s[i] += %s[i * %d + j] * %s[j];", qp.name, q.name, k, p.name)
	f.line("all += %s[i] * %s[i];", p.name, qp.name)
	f.close()
	f.each("i", k, "worst = nncc_max_f64(worst, fabs(%s[i] - all));", qp.name)
	f.when("break;", "worst < %s / %d.0", num(op.CouplingError), k)
	f.loop("i", k)
	f.line("const double d = (all - %s[i]) / %s[i * %d];", qp.name, q.name, k+1)
	f.line("%s[i] += d;", p.name)
	f.line("all = (all + d * (d * %s[i * %d] + 2.0 * %s[i])) / ((1.0 + d) * (1.0 + d));", q.name, k+1, qp.name)
	f.loop("j", k)
	f.line("%s[j] = (%s[j] + d * %s[i * %d + j]) / (1.0 + d);", qp.name, qp.name, q.name, k)
	f.line("%s[j] /= 1.0 + d;", p.name)
	f.close()
	f.close()
	f.close()
	f.loop("i", k)
	f.store(y, fmt.Sprintf("r * %d + i", k), p.name+"[i]")
}

func classicalRows() []*kernel.Kernel {
	return []*kernel.Kernel{
		row("trees", "decision trees", trees, nil, op.TreeEnsemble),
		row("coupling", "probabilities of classes of those of pairs", coupling, nil, op.PairCoupling),
	}
}
