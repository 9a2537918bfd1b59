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

// matrices are the operands' shapes as matrices with leading dimensions, and
// those of the products.
func matrices(n *ir.Node) (a, b, batch []int) {
	a, b = n.In[0].Type.Shape, n.In[1].Type.Shape
	if len(a) == 1 {
		a = []int{1, a[0]}
	}
	if len(b) == 1 {
		b = []int{b[0], 1}
	}
	la, lb := a[:len(a)-2], b[:len(b)-2]
	batch = make([]int, max(len(la), len(lb)))
	for i := range batch {
		batch[i] = 1
		for _, s := range [][]int{la, lb} {
			if k := i - (len(batch) - len(s)); k >= 0 && s[k] != 1 {
				batch[i] = s[k]
			}
		}
	}
	return la, lb, batch
}

// matmul writes MatMul and MatMulInteger: one sum of products an element.
func matmul(f *fn) {
	n := f.n
	g := kernel.Known(op.MatMulGeometry(n))
	a, b, y := f.in(0), f.in(1), f.out(0)
	c := classOf(a.t)
	la, lb, batch := matrices(n)
	v := f.nest("b", batch)
	f.loop("m", g.M)
	f.loop("n", g.N)
	f.line("%s acc = 0;", c.wide())
	f.loop("k", g.K)
	ai := at(append(v, "m", "k"), append(scaled(broadcastStrides(la, batch), g.M*g.K), g.K, 1))
	bi := at(append(v, "k", "n"), append(scaled(broadcastStrides(lb, batch), g.K*g.N), g.N, 1))
	l, r := load(a, ai), load(b, bi)
	if n.Op == op.MatMulInteger {
		f.line("acc += (%s) * (%s);", l+f.zero(2, g.M, "m"), r+f.zero(3, g.N, "n"))
	} else {
		f.accumulate(c, l, r)
	}
	f.close()
	if c == whole && op.HasAct(n) { // a sum wraps before it is limited
		f.line("acc = %s;", narrow(y.t, "acc"))
	}
	f.clamped(y, at(append(v, "m", "n"), append(scaled(tensor.Strides(batch), g.M*g.N), g.N, 1)), "acc")
}

// accumulate adds a product to acc.
func (f *fn) accumulate(c class, a, b string) {
	if c == whole {
		f.line("acc = (int64_t)((uint64_t)acc + (uint64_t)%s * (uint64_t)%s);", a, b)
	} else {
		f.line("acc += %s * %s;", a, b)
	}
}

func scaled(st []int, by int) []int { return lists.Map(st, func(s int) int { return s * by }) }

// zero is " - z" for the zero point in input i: one for all, or one an index.
func (f *fn) zero(i, count int, index string) string {
	if !f.has(i) {
		return ""
	}
	if f.n.In[i].Type.Elems() == 1 && count != 1 {
		index = "0"
	}
	return " - " + load(f.in(i), index)
}

// gemm writes Gemm.
func gemm(f *fn) {
	n := f.n
	g := kernel.Known(op.GemmGeometry(n))
	a, b, y := f.in(0), f.in(1), f.out(0)
	c := classOf(a.t)
	f.loop("m", g.M)
	f.loop("n", g.N)
	f.line("%s acc = 0;", c.wide())
	f.loop("k", g.K)
	ai, bi := fmt.Sprintf("m * %d + k", g.K), fmt.Sprintf("k * %d + n", g.N)
	if ir.AttrsOf[op.GemmAttrs](n).TransA != 0 {
		ai = fmt.Sprintf("k * %d + m", g.M)
	}
	if ir.AttrsOf[op.GemmAttrs](n).TransB != 0 {
		bi = fmt.Sprintf("n * %d + k", g.K)
	}
	f.accumulate(c, load(a, ai), load(b, bi))
	f.close()
	alpha, beta := float64(ir.AttrsOf[op.AlphaAttr](n).Alpha), float64(ir.AttrsOf[op.BetaAttr](n).Beta)
	v := "acc"
	if alpha != 1 {
		v = num(alpha) + " * (double)acc"
	}
	if f.has(2) {
		ci := load(f.in(2), at([]string{"m", "n"}, broadcastStrides(n.In[2].Type.Shape, []int{g.M, g.N})))
		if beta != 1 {
			ci = num(beta) + " * (double)" + ci
		}
		v += " + " + ci
	}
	if c != floating && (alpha != 1 || beta != 1) {
		v = fromReal(y.t, "("+v+")")
	}
	f.clamped(y, fmt.Sprintf("m * %d + n", g.N), v)
}

// einsum writes Einsum: loops over the result's dimensions, and inside over
// the summed ones.
func einsum(f *fn) {
	n := f.n
	g := kernel.Known(op.EinsumGeometry(n))
	y := f.out(0)
	c := classOf(y.t)
	v := f.nest("i", g.Shape)
	depth := f.depth
	f.line("%s acc = 0;", c.wide())
	w := f.nest("s", g.Sum)
	idx := append(append([]string{}, v...), w...)
	f.line("%s p = 1;", c.wide())
	for i := range n.In {
		f.line("p %s;", mul(c, load(f.in(i), at(idx, g.Strides[i]))))
	}
	f.line("acc = %s;", map[class]string{floating: "acc + p", whole: "(int64_t)((uint64_t)acc + (uint64_t)p)",
		large: "acc + p"}[c])
	f.closeTo(depth)
	f.store(y, at(v, tensor.Strides(g.Shape)), "acc")
}

func mul(c class, v string) string {
	if c == whole {
		return "= (int64_t)((uint64_t)p * (uint64_t)" + v + ")"
	}
	return "*= " + v
}

func matrixRows() []*kernel.Kernel {
	return []*kernel.Kernel{
		row("matmul", "matrix products, any element type; of 8-bit integers with zero points", matmul, nil, op.MatMul,
			op.MatMulInteger),
		row("gemm", "matrix product with scales and bias, any element type", gemm, nil, op.Gemm),
		row("einsum", "Einstein summation, any element type", einsum, nil, op.Einsum),
	}
}
