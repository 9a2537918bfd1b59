// SPDX-License-Identifier: Apache-2.0

package legal

import (
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
)

// factor is a value whose dimensions are named by letters, each once.
type factor struct {
	v       *ir.Value
	letters string
}

// contraction writes an Einsum in operators in front of it.
type contraction struct {
	g      *ir.Graph
	n      *ir.Node
	size   map[byte]int
	result string
}

// einsum writes Einsum as products of two factors, those with the smallest product first:
//
//	"bhid,bhjd->bhij": batch bh (in all three), rows i, columns j, summed d
//	= MatMul(x as [b, h, i, d], y as [b, h, d, j])
//
// Letters that one factor alone has are summed before; without a sum the product is Mul.
// Dimensions of size 1 have no letter. A term with a letter twice keeps the Einsum; so does a
// product that is larger than every input and the result.
func einsum(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	if !is(n, "Einsum") || n.Quantised() || !n.Out[0].Type.DType.IsFloat() {
		return
	}
	terms, result, size, err := op.EinsumTerms(n)
	if err != nil {
		return
	}
	x := contraction{g, n, size, result}
	for letter, k := range size {
		if k == 1 {
			x.result = lacking(x.result, string(letter))
		}
	}
	most := n.Out[0].Type.Elems()
	for i, t := range terms {
		most = max(most, n.In[i].Type.Elems())
		if repeats(t) || n.In[i].Type.Elems() == 0 {
			return
		}
	}
	factors := lists.Make(len(terms), func(i int) factor { return x.factor(n.In[i], terms[i]) })
	for len(factors) > 1 {
		a, b, elems := x.cheapest(factors)
		if elems > most {
			return
		}
		factors[a] = x.product(factors[a], factors[b], x.needed(without(factors, a, b)))
		factors = slices.Delete(factors, b, b+1)
	}
	f := x.summed(factors[0], x.result)
	v := x.shaped(x.arranged(f, x.result), n.Out[0].Type.Shape)
	if v == n.In[0] {
		v = insert(g, n, op.Identity, n.Name, nil, v)
	}
	swap(c, g, n, v, "as products of matrices")
}

// repeats reports a term that has a letter twice.
func repeats(t string) bool {
	for k := range t {
		if strings.IndexByte(t[k+1:], t[k]) >= 0 {
			return true
		}
	}
	return false
}

// factor is an input without its dimensions of size 1.
func (x *contraction) factor(v *ir.Value, term string) factor {
	letters := ""
	for k := range term {
		if v.Type.Shape[k] != 1 {
			letters += term[k : k+1]
		}
	}
	return factor{x.shaped(v, x.sizes(letters)), letters}
}

// needed are the letters of the result and of factors.
func (x *contraction) needed(factors []factor) string {
	s := x.result
	for _, f := range factors {
		s += f.letters
	}
	return s
}

// cheapest is the pair of factors, the lower index first, whose product has the fewest elements, and these.
func (x *contraction) cheapest(factors []factor) (a, b, least int) {
	least = -1
	for i := range factors {
		for k := i + 1; k < len(factors); k++ {
			all := factors[i].letters + lacking(factors[k].letters, factors[i].letters)
			if m := x.count(among(all, x.needed(without(factors, i, k)))); least < 0 || m < least {
				least, a, b = m, i, k
			}
		}
	}
	return a, b, least
}

// without are the factors but for those at a and b, of which a is the lower index.
func without(factors []factor, a, b int) []factor {
	return slices.Concat(factors[:a], factors[a+1:b], factors[b+1:])
}

// product multiplies two factors and sums over the letters that are not needed.
func (x *contraction) product(f, h factor, needed string) factor {
	f, h = x.summed(f, needed+h.letters), x.summed(h, needed+f.letters)
	both := among(f.letters, h.letters)
	batch, sum := among(both, needed), lacking(both, needed)
	rows, columns := lacking(f.letters, both), lacking(h.letters, both)
	p := factor{letters: batch + rows + columns}
	side := func(f factor, kept, a, b string) *ir.Value {
		return x.shaped(x.arranged(f, kept), append(x.sizes(batch), x.count(a), x.count(b)))
	}
	if sum == "" {
		p.v = insert(x.g, x.n, op.Mul, x.n.Name, nil, side(f, batch+rows, rows, ""),
			side(h, batch+columns, "", columns))
	} else {
		p.v = insert(x.g, x.n, op.MatMul, x.n.Name, nil, side(f, batch+rows+sum, rows, sum),
			side(h, batch+sum+columns, sum, columns))
	}
	p.v = x.shaped(p.v, x.sizes(p.letters))
	return p
}

// summed sums a factor over the letters that are not needed.
func (x *contraction) summed(f factor, needed string) factor {
	axes := lists.Where(len(f.letters), func(k int) bool { return strings.IndexByte(needed, f.letters[k]) < 0 })
	if axes == nil {
		return f
	}
	v := insert(x.g, x.n, op.ReduceSum, x.n.Name, ir.Attrs{"keepdims": ir.Int(0)}, f.v,
		x.g.AddConst(x.n.Name+"/axes", tensor.Ints(axes...)))
	return factor{v, among(f.letters, needed)}
}

// arranged is the value of a factor with its letters in another order.
func (x *contraction) arranged(f factor, order string) *ir.Value {
	perm := lists.Make(len(order), func(k int) int { return strings.IndexByte(f.letters, order[k]) })
	if slices.IsSorted(perm) {
		return f.v
	}
	return transpose(x.g, x.n, f.v, perm, x.n.Name)
}

// shaped is v in a shape.
func (x *contraction) shaped(v *ir.Value, shape []int) *ir.Value {
	if slices.Equal(v.Type.Shape, shape) {
		return v
	}
	return reshape(x.g, x.n, v, shape, x.n.Name)
}

func (x *contraction) sizes(letters string) []int {
	return lists.Make(len(letters), func(k int) int { return x.size[letters[k]] })
}

func (x *contraction) count(letters string) int { return tensor.Count(x.sizes(letters)) }

// among are the letters of s that t has, lacking those that it has not.
func among(s, t string) string   { return filter(s, t, true) }
func lacking(s, t string) string { return filter(s, t, false) }

func filter(s, t string, has bool) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(t, r) == has {
			return r
		}
		return -1
	}, s)
}
