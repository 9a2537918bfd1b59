// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// Shapes stay logical up to kernels. The functions of this file turn them into
// what C sees: for every logical dimension the distance in memory, and lists
// of dimensions in memory order with neighbours merged.

// MaxDims is NNCC_MAX_DIMS of nncc.h.
const MaxDims = 8

// Strides are the distances, in elements, of neighbours along every logical
// dimension of a value, under its own memory order.
func Strides(t ir.Type) []int {
	st := make([]int, t.Rank())
	n := 1
	o := t.OrderOrIdentity()
	for k := len(o) - 1; k >= 0; k-- {
		st[o[k]] = n
		n *= t.Shape[o[k]]
	}
	return st
}

// Permuted is v read in the given order: v[order[0]], v[order[1]], ...
func Permuted(v, order []int) []int {
	return lists.Each(order, func(d int) int { return v[d] })
}

// MergeDims drops dimensions of size 1 and joins neighbours over which every
// stride list steps alike, so that loops are few and long. It never returns
// an empty list.
func MergeDims(dims []int, st ...[]int) ([]int, [][]int) {
	out := []int{}
	res := make([][]int, len(st))
	for d, n := range dims {
		if n == 1 {
			continue
		}
		if k := len(out) - 1; k >= 0 {
			joined := true
			for i := range st {
				joined = joined && res[i][k] == st[i][d]*n
			}
			if joined {
				out[k] *= n
				for i := range st {
					res[i][k] = st[i][d]
				}
				continue
			}
		}
		out = append(out, n)
		for i := range st {
			res[i] = append(res[i], st[i][d])
		}
	}
	if len(out) == 0 {
		out = []int{1}
		for i := range res {
			res[i] = []int{1}
		}
	}
	return out, res
}

// LoopOrder is the order of loops in which a copy of a box costs least,
// elements of elem bytes, strides x and y: the innermost one moves dense runs or
// many elements, the one around it many of those. Both are loops of the kernel, as
// is the third; more of them are a call each. Vectors say that the core has them.
func LoopOrder(elem int, vectors bool, dims, x, y []int) []int {
	r := len(dims)
	order := ir.Identity(r)
	if r < 2 {
		return order
	}
	price := func(d int) float64 { return loopPrice(elem, vectors, dims[d], x[d], y[d]) }
	best := r - 1
	for d := range order {
		if price(d) < price(best) {
			best = d
		}
	}
	order = append(slices.Delete(order, best, best+1), best)
	next := r - 2
	for k := range r - 1 {
		if dims[order[k]] > dims[order[next]] {
			next = k
		}
	}
	d := order[next]
	return slices.Insert(slices.Delete(order, next, next+1), r-2, d)
}

// loopPrice is what an element costs in an innermost loop of n, roughly.
func loopPrice(elem int, vectors bool, n, x, y int) float64 {
	count := float64(n)
	switch {
	case x == 1 && y == 1 && (n*elem >= 4 || vectors):
		return 10/count + 0.5*float64(elem)
	case elem > 1 || vectors:
		return 20/count + 3
	case n <= 4:
		return 4/count + 2
	}
	quads := 14 * math.Ceil(count/4) // a quad too many where n is no multiple
	if x == 1 || y == 1 {
		quads = 11 * math.Ceil(count/4)
	}
	return (12 + quads) / count
}

// PadLeft puts ones in front of a shape until it has the rank.
func PadLeft(shape []int, rank int) []int {
	out := slices.Repeat([]int{1}, rank)
	copy(out[rank-len(shape):], shape)
	return out
}

// Bias is the constant input 2 of a layer with one value a channel; a single
// value serves all. Nil: there is none.
func Bias(n *ir.Node, channels int) []int32 {
	b := n.Input(2)
	if b == nil {
		return nil
	}
	return lists.Make(channels, func(c int) int32 { return int32(b.Const.Int(c % b.Const.Len())) })
}

// Arrange gives the constant d another shape, then a permutation of its
// dimensions: the form in which a kernel reads it.
func Arrange(d *tensor.Dense, shape, perm []int) *tensor.Dense {
	d = d.Reshaped(shape)
	if perm == nil || slices.Equal(perm, ir.Identity(len(perm))) {
		return d
	}
	return d.Transpose(perm)
}

// Permutation is what a Relayout does to its input's dimensions in memory
// order, neighbours that stay together joined: output dimension i is input
// dimension perm[i].
func Permutation(n *ir.Node) (size, perm []int) {
	in, out := n.In[0].Type.OrderOrIdentity(), n.Out[0].Type.OrderOrIdentity()
	shape := n.In[0].Type.Shape
	one := func(d int) bool { return shape[d] == 1 }
	in, out = slices.DeleteFunc(slices.Clone(in), one), slices.DeleteFunc(slices.Clone(out), one)
	var heads []int // the first dimension of every run that stays together, in input order
	for i, d := range in {
		k := slices.Index(out, d)
		if i > 0 && k > 0 && out[k-1] == in[i-1] {
			size[len(size)-1] *= shape[d]
			continue
		}
		heads, size = append(heads, d), append(size, shape[d])
	}
	for _, d := range out {
		if k := slices.Index(heads, d); k >= 0 {
			perm = append(perm, k)
		}
	}
	return size, perm
}

// Exchange are the batches, rows and columns of a Relayout that transposes
// matrices.
func Exchange(n *ir.Node) (batches, rows, cols int, ok bool) {
	size, perm := Permutation(n)
	switch {
	case len(perm) == 2 && perm[0] == 1:
		return 1, size[0], size[1], true
	case len(perm) == 3 && perm[0] == 0 && perm[1] == 2:
		return size[0], size[1], size[2], true
	}
	return 0, 0, 0, false
}
