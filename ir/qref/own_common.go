// SPDX-License-Identifier: Apache-2.0

package qref

import (
	"fmt"
	"math"

	"github.com/nncc/nncc/ir/fixp"
)

// The own_*.go files are the references of the int8 kernels of ours, nncc_*,
// for operators that CMSIS-NN lacks. A parameter struct has the fields of the C
// struct of runtime_c/include/nncc/nncc_s8.h in the same order and of the same
// size, so it can be written to C as it is. Every function equals its C
// kernel bit for bit; constants that a kernel takes are built and proven here.

// QP is the quantisation of one tensor: real = (q - Zero) * Scale.
type QP struct {
	Scale float32
	Zero  int32
}

// Real is the real number that q stands for, in float64 (exact).
func (p QP) Real(q int32) float64 { return float64(q-p.Zero) * float64(p.Scale) }

// Quantise is the contract's clamp(round_half_away(v / scale) + zero).
func (p QP) Quantise(v float64, lo, hi int32) int32 {
	return fixp.QuantizeAway(v, float64(p.Scale), p.Zero, lo, hi)
}

// roundAway is nncc_round_away: v rounded half away from zero, plus zero,
// limited to [lo, hi]; NaN counts as 0.
func roundAway(v float64, zero, lo, hi int32) int32 { return fixp.QuantizeAway(v, 1, zero, lo, hi) }

// boolInt is C's truth value.
func boolInt(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

// MaxDims is the largest rank of a Broadcast.
const MaxDims = 8

// Broadcast is the iteration space of an element-wise kernel with two inputs,
// nncc_bcast_params: output dimensions, outermost first, and the strides of
// the operands in elements, 0 where an operand repeats.
type Broadcast struct {
	Rank             int32
	Dims             [MaxDims]int32
	AStride, BStride [MaxDims]int32
}

// NewBroadcast describes the numpy broadcast of dense operands of shapes a and
// b, with neighbouring dimensions merged where both operands allow it: equal
// shapes become one dimension. The result shape is returned as well.
func NewBroadcast(a, b []int) (Broadcast, []int, error) {
	rank := max(len(a), len(b))
	shape := make([]int, rank)
	var p Broadcast
	type dim struct{ n, sa, sb int32 }
	var dims []dim // innermost first
	na, nb := int32(1), int32(1)
	for k := 1; k <= rank; k++ {
		da, db := dimFromEnd(a, k), dimFromEnd(b, k)
		if da != db && da != 1 && db != 1 || da < 1 || db < 1 {
			return p, nil, fmt.Errorf("shapes %v and %v do not broadcast", a, b)
		}
		n := max(da, db)
		shape[rank-k] = n
		if n == 1 {
			continue
		}
		d := dim{n: int32(n)}
		if da > 1 {
			d.sa, na = na, na*int32(da)
		}
		if db > 1 {
			d.sb, nb = nb, nb*int32(db)
		}
		if last := len(dims) - 1; last >= 0 && d.sa == dims[last].sa*dims[last].n &&
			d.sb == dims[last].sb*dims[last].n {
			dims[last].n *= d.n
			continue
		}
		dims = append(dims, d)
	}
	if len(dims) == 0 {
		dims = append(dims, dim{n: 1, sa: 1, sb: 1})
	}
	if len(dims) > MaxDims {
		return p, nil, fmt.Errorf("broadcast of %v and %v needs %d dimensions, at most %d are supported", a, b,
			len(dims), MaxDims)
	}
	p.Rank = int32(len(dims))
	for i, d := range dims {
		k := len(dims) - 1 - i
		p.Dims[k], p.AStride[k], p.BStride[k] = d.n, d.sa, d.sb
	}
	return p, shape, nil
}

func dimFromEnd(s []int, k int) int {
	if k > len(s) {
		return 1
	}
	return s[len(s)-k]
}

// size is the number of output elements.
func (p *Broadcast) size() int {
	n := 1
	for _, d := range p.Dims[:p.Rank] {
		n *= int(d)
	}
	return n
}

// check reports operands that are too short, and a wrong output.
func (p *Broadcast) check(name string, a, b, y int) error {
	if p.Rank < 1 || p.Rank > MaxDims {
		return badArgs(name, "rank %d, want 1 to %d", p.Rank, MaxDims)
	}
	wantA, wantB := 1, 1
	for k := range p.Rank {
		if p.Dims[k] < 1 || p.AStride[k] < 0 || p.BStride[k] < 0 {
			return badArgs(name, "dimension %d is %d with strides %d and %d", k, p.Dims[k], p.AStride[k], p.BStride[k])
		}
		wantA += int(p.Dims[k]-1) * int(p.AStride[k])
		wantB += int(p.Dims[k]-1) * int(p.BStride[k])
	}
	return firstErr(checkLen(name, "first input", a, wantA), checkLen(name, "second input", b, wantB),
		checkLen(name, "output", y, p.size()))
}

// each calls f with output, first and second input positions, in output order.
func (p *Broadcast) each(f func(i, a, b int)) {
	var index [MaxDims]int32
	inner := p.Rank - 1
	i, ia, ib := 0, 0, 0
	for {
		ja, jb := ia, ib
		for range p.Dims[inner] {
			f(i, ja, jb)
			i, ja, jb = i+1, ja+int(p.AStride[inner]), jb+int(p.BStride[inner])
		}
		d := inner - 1
		for ; d >= 0; d-- {
			ia, ib = ia+int(p.AStride[d]), ib+int(p.BStride[d])
			if index[d]++; index[d] < p.Dims[d] {
				break
			}
			ia, ib = ia-int(p.AStride[d]*p.Dims[d]), ib-int(p.BStride[d]*p.Dims[d])
			index[d] = 0
		}
		if d < 0 {
			return
		}
	}
}

// checkClamp reports an empty or impossible clamp of int8 results.
func checkClamp(name string, lo, hi int32) error {
	if lo > hi || lo < math.MinInt8 || hi > math.MaxInt8 {
		return badArgs(name, "clamp [%d, %d], want an interval of int8", lo, hi)
	}
	return nil
}
