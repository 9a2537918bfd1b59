// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
)

// trees writes TreeEnsemble: the nodes are tables, every tree is a walk of at
// most as many steps as there are nodes.
func trees(f *fn) {
	n := f.n
	g := kernel.Known(op.Forest(n))
	ints := func(name string, v []int) ref {
		w := make([]int32, len(v))
		for i, e := range v {
			w[i] = int32(e)
		}
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
