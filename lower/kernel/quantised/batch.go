// SPDX-License-Identifier: Apache-2.0

package quantised

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
)

// batchDims are the loops over products of two activations.
const batchDims = 3

// Batch is a MatMul of matrices that are computed at run time. Least and Most
// bound the sum of a row of the left side, its zero point taken off.
type Batch struct {
	M, K, N     int
	Least, Most int64
	Params      *op.MACParams
}

// Sums are the least and the largest sum of products.
func (b *Batch) Sums() (lo, hi int64) {
	for _, x := range []int64{b.Least, b.Most} {
		for _, y := range []int64{-128, 127} {
			v := x * (y + int64(b.Params.FilterOff[0]))
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	return lo, hi
}

// Turned is the product of the transposed matrices, the right one first: the transposed result.
func (b *Batch) Turned() *Batch {
	t, p := *b, *b.Params
	t.M, t.N, t.Params = b.N, b.M, &p
	p.InOff, p.FilterOff = b.Params.FilterOff[0], []int32{b.Params.InOff}
	return &t
}

// rows sets Least and Most. The values of a softmax are 1 in all, each at most
// two steps off.
func (b *Batch) rows(left *ir.Value) {
	k, zero := int64(b.K), int64(b.Params.InOff)
	b.Least, b.Most = k*(zero-128), k*(zero+127)
	for left.Def != nil && left.Def.Op == op.Relayout {
		left = left.Def.In[0]
	}
	s := left.Def
	if s == nil || s.Op != op.Softmax {
		return
	}
	axis, err := op.Axis(s, ir.AttrsOf[op.AxisAttr](s).Axis, left.Type.Rank())
	if err != nil || axis != left.Type.Rank()-1 || b.K > longestRow {
		return
	}
	b.Least, b.Most = 0, min(b.Most, int64(1/left.Type.Quant.Scale[0])+2*k)
}

// batchOf is a product of two activations with one scale, which shifts to the right by least to most bits.
func batchOf(n *kernel.Node, params *kernel.Fact[*op.MACParams], least, most int32) (*op.MatGeom, *op.MACParams,
	string) {
	if !known(n.Node) {
		return nil, nil, kernel.Unread
	}
	g, why := kernel.MatMul.Of(n)
	if why != "" {
		return nil, nil, why
	}
	p, why := params.Of(n)
	switch {
	case why != "":
		return nil, nil, why
	case len(p.Mult) > 1 || len(p.FilterOff) > 1:
		why = "the right side has a scale for each column, want one"
	case p.Shift[0] > -least || p.Shift[0] < -most:
		why = fmt.Sprintf("the scale is 2^%d times a half to one, want a shift of %d to %d to the right", p.Shift[0],
			least, most)
	}
	return g, p, why
}

// Batches is the product of a node, if its scale is below a half.
var Batches = kernel.NewFact(func(n *kernel.Node) (*Batch, string) {
	g, p, why := batchOf(n, MACParams, 1, 31)
	if why != "" {
		return nil, why
	}
	b := &Batch{M: g.M, K: g.K, N: g.N, Params: p}
	b.rows(n.In[0])
	return b, ""
})

// Batch16 is a MatMul of int16 matrices that are computed at run time: the sums,
// in 64 bits, times Mult over 2^(32 + Shift), rounded half up. Shift is 1 to 31;
// the upper words of the products stay below 2^30.
type Batch16 struct {
	M, K, N     int
	Mult, Shift int32
	Params      *op.MACParams
}

// Batches16 is the product of a node on int16, if its scale is below a quarter.
var Batches16 = kernel.NewFact(func(n *kernel.Node) (*Batch16, string) {
	g, p, why := batchOf(n, MAC16Params, 2, 48)
	if why != "" {
		return nil, why
	}
	b := &Batch16{M: g.M, K: g.K, N: g.N, Shift: 1, Params: p}
	b.Mult = fixp.ReduceMultiplier(p.Mult[0])
	if down := 15 - p.Shift[0]; down <= 33 {
		b.Mult <<= uint(33 - down)
	} else {
		b.Shift = down - 32
	}
	if over, upper := bits.Mul64(uint64(b.K)<<30, uint64(b.Mult)); over > 0 || upper>>32 >= 1<<30 {
		return nil, fmt.Sprintf("sums of %d products reach beyond 32 bits before they are clamped", b.K)
	}
	return b, ""
})

// Fields are the sizes, scale and clamp among a kernel's parameters.
func (b *Batch16) Fields(s *Steps) []call.Field {
	return append(s.sizes(b.M, b.K, b.N), call.Ints("mult", call.T(b.Mult), "shift", call.T(b.Shift),
		"act_min", call.T(b.Params.ActMin), "act_max", call.T(b.Params.ActMax))...)
}

// BatchRules16 are the conditions on a product of two int16 activations.
func BatchRules16() kernel.Rules {
	return kernel.Rules{Int16(0, 1), batchRanks,
		Batches16.Exists("SCALE", "a fixed-point scale below a quarter, sums times the multiplier in 62 bits")}
}

// BatchRules are the conditions on a product of two activations.
func BatchRules() kernel.Rules {
	return kernel.Rules{Int8(0, 1), batchRanks, Batches.Exists("SCALE", "a fixed-point scale below a half")}
}

var batchRanks = cond.New("MATRICES", fmt.Sprintf("matrices with up to %d leading dimensions", batchDims),
	func(n *kernel.Node) string {
		for _, v := range n.In[:2] {
			if r := v.Type.Rank(); r < 2 || r > 2+batchDims {
				return fmt.Sprintf("%s has shape %v, want rank 2 to %d", v, v.Type.Shape, 2+batchDims)
			}
		}
		return ""
	})

// StridedLayout is the demand of kernels that read the strides of all operands.
func StridedLayout(*kernel.Node) kernel.Layout { return kernel.Layout{Kind: kernel.Strided} }

// Steps are the strides of a product's operands, in elements: of the loops over
// products, 0 where an operand repeats, and inside of matrices.
type Steps struct {
	Batch              []int
	A, B, Y            []int // of Batch
	AM, AK, BK, BN, YM int
	// Rows are the operands of bytes that lie in rows from end to end: these may lie apart.
	Rows           []call.Rows
	am, bk, bn, ym call.Arg
}

// BatchSteps are the strides of a node's operands, whose orders are assigned.
func BatchSteps(n *ir.Node) *Steps {
	y := n.Out[0].Type
	rank := y.Rank()
	steps := func(t ir.Type) (batch []int, row, col int) {
		st := kernel.Strides(t)
		r := len(st)
		batch = make([]int, rank-2)
		for i := range r - 2 {
			if t.Shape[i] > 1 {
				batch[rank-r+i] = st[i]
			}
		}
		return batch, st[r-2], st[r-1]
	}
	s := &Steps{}
	var a, b, c []int
	a, s.AM, s.AK = steps(n.In[0].Type)
	b, s.BK, s.BN = steps(n.In[1].Type)
	c, s.YM, _ = steps(y)
	dims, st := kernel.MergeDims(y.Shape[:rank-2], a, b, c)
	for len(dims) < batchDims {
		dims = slices.Insert(dims, 0, 1)
		for i := range st {
			st[i] = slices.Insert(st[i], 0, 0)
		}
	}
	s.Batch, s.A, s.B, s.Y = dims, st[0], st[1], st[2]
	row := func(v *ir.Value, dim, step int, r call.Rows) call.Arg {
		if t := v.Type; t.DType.Size() > 1 || step < 2 || step*t.Shape[t.Rank()-dim] != t.Elems() {
			return call.I32(step)
		}
		r.Bytes = step
		s.Rows = append(s.Rows, r)
		return call.Pitch{Output: r.Output, I: r.I, Row: step}
	}
	s.am, s.ym = row(n.In[0], 2, s.AM, call.Rows{}), row(n.Out[0], 2, s.YM, call.Rows{Output: true})
	s.bk, s.bn = row(n.In[1], 2, s.BK, call.Rows{I: 1}), row(n.In[1], 1, s.BN, call.Rows{I: 1})
	return s
}

// Turned are those of the product of the transposed matrices; the rows of its result are not told apart.
func (s *Steps) Turned() *Steps {
	t := *s
	t.A, t.B, t.AM, t.AK, t.BK, t.BN = s.B, s.A, s.BN, s.BK, s.AK, s.AM
	t.am, t.bk, t.bn, t.ym = call.I32(t.AM), call.I32(t.BK), call.I32(t.BN), call.I32(t.YM)
	return &t
}

// Fields are the sizes, strides and zero points among a kernel's parameters.
func (s *Steps) Fields(b *Batch) []call.Field {
	return append(s.sizes(b.M, b.K, b.N), call.Ints("a_zero", call.T(-b.Params.InOff), "b_zero",
		call.T(-b.Params.FilterOff[0]))...)
}

// sizes are the sizes and strides.
func (s *Steps) sizes(m, k, n int) []call.Field {
	list := func(name string, v []int) call.Field { return call.F(name, call.IntArray(v)) }
	f := []call.Field{list("batch", s.Batch), list("a_batch", s.A), list("b_batch", s.B), list("y_batch", s.Y)}
	return append(f, call.Ints("m", m, "k", k, "n", n, "a_m", s.am, "a_k", s.AK, "b_k", s.bk, "b_n", s.bn, "y_m",
		s.ym)...)
}
