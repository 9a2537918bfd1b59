// SPDX-License-Identifier: Apache-2.0

package qref

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nncc/nncc/ir/fixp"
)

// randOperands draws two int8 operands and their broadcast.
func randOperands(r *rand.Rand) (p Broadcast, a, b []int8, n int) {
	q, na, nb := randBcast(r, int(between(r, 1, 4)), 1, 1)
	p = Broadcast(q)
	return p, randS8(r, na), randS8(r, nb), p.size()
}

// allPairs is the broadcast of a column of all int8 values and a row of them.
func allPairs() (p Broadcast, a, b []int8) {
	p = Broadcast{Rank: 2}
	p.Dims[0], p.Dims[1], p.AStride[0], p.BStride[1] = 256, 256, 1, 1
	for q := -128; q <= 127; q++ {
		a = append(a, int8(q))
	}
	return p, a, a
}

// TestOwnBinaryS8 compares the definition in C and Go, and the proven integer
// kernels with the definition, over all pairs of values.
func TestOwnBinaryS8(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(52)
	sub, div := 0, 0
	const cases = 60
	for range cases {
		pa, pb, po := randQP(r), randQP(r), randQP(r)
		p := BinaryParams{AScale: float64(pa.Scale), BScale: float64(pb.Scale), OutScale: float64(po.Scale),
			AZero: pa.Zero, BZero: pb.Zero, OutZero: po.Zero}
		p.ActMin, p.ActMax = randAct(r, po)
		var a, b []int8
		p.Bcast, a, b = allPairs()
		run := func() []int8 {
			want, y := make([]int8, p.Bcast.size()), make([]int8, p.Bcast.size())
			must(t, Binary(&p, a, b, want))
			d.call(t, "nncc_binary_s8", p, a, b, y)
			same(t, "binary_s8", p, y, want)
			return want
		}
		p.Op = BinaryOp(r.IntN(7))
		run()
		p.Op = BinarySub
		want := run()
		if tab, ok := BuildSub(pa, pb, po, p.ActMin, p.ActMax); ok {
			sub++
			q := SumParams{p.Bcast, tab.Shift, p.ActMin, p.ActMax}
			y := make([]int8, len(want))
			d.call(t, "nncc_sum_s8", q, a, b, tab.A[:], tab.B[:], y)
			same(t, "sum_s8", q, y, want)
			must(t, Sum(&q, tab, a, b, y))
			same(t, "Sum", q, y, want)
		}
		p.Op = BinaryDiv
		want = run()
		if rec, ok := BuildDiv(pa, pb, po, p.ActMin, p.ActMax); ok {
			div++
			q := DivParams{p.Bcast, pa.Zero, po.Zero, p.ActMin, p.ActMax}
			y := make([]int8, len(want))
			d.call(t, "nncc_div_s8", q, a, b, rec[:], y)
			same(t, "div_s8", q, y, want)
			must(t, Div(&q, rec, a, b, y))
			same(t, "Div", q, y, want)
		}
		p.Op = BinaryMul
		p.Bcast, a, b, _ = randOperands(r)
		want = run()
		tab := BuildTable2(func(a, b uint8) uint8 {
			v := p.Op.Eval(float64(int32(int8(a))-p.AZero)*p.AScale, float64(int32(int8(b))-p.BZero)*p.BScale)
			return uint8(roundAway(v/p.OutScale, p.OutZero, p.ActMin, p.ActMax))
		}, func(v uint8) bool { return slices.Contains(b, int8(v)) })
		ua, ub, y, u := bitsOf(a), bitsOf(b), make([]uint8, len(want)), bitsOf(want)
		d.call(t, "nncc_lut2_s8", p.Bcast, ua, ub, tab.RowOf[:], tab.Rows, y)
		same(t, "table2", p.Bcast, y, u)
		must(t, Table2(&p.Bcast, tab, ua, ub, y))
		same(t, "Table2", p.Bcast, y, u)
	}
	t.Logf("of %d cases, Sub has tables in %d, Div reciprocals in %d", cases, sub, div)
	if sub < cases*9/10 || div < cases*9/10 {
		t.Errorf("of %d cases, Sub has tables in %d, Div reciprocals in %d; want 90%%", cases, sub, div)
	}
}

func bitsOf(x []int8) []uint8 {
	u := make([]uint8, len(x))
	for i, v := range x {
		u[i] = uint8(v)
	}
	return u
}

// Comparisons and CMSIS-NN's Add are functions of a sum too.
func TestOwnBuildSum(t *testing.T) {
	r := ownRand(53)
	added := 0
	const cases = 10
	for range cases {
		a, b, o := randQP(r), randQP(r), QP{1, 0}
		_, ok := BuildSum(func(q int32) float64 { return a.Real(q) / float64(a.Scale) },
			func(q int32) float64 { return -b.Real(q) / float64(a.Scale) }, 0, 1,
			func(x, y int32) int32 { return boolInt(a.Real(x) > b.Real(y)) })
		if !ok {
			t.Errorf("no tables for %+v > %+v", a, b)
		}
		o = QP{max(a.Scale, b.Scale) * 1.5, 3}
		add := &AddParams{Offset1: -a.Zero, Offset2: -b.Zero, OutputOffset: o.Zero, ActMin: -128, ActMax: 127,
			Scales: fixp.NewAddScales(a.Scale, b.Scale, o.Scale)}
		_, ok = BuildSum(func(q int32) float64 { return a.Real(q)/float64(o.Scale) + 3 },
			func(q int32) float64 { return b.Real(q) / float64(o.Scale) }, -128, 127,
			func(x, y int32) int32 {
				out := make([]int8, 1)
				must(t, Add(add, []int8{int8(x)}, []int8{int8(y)}, out))
				return int32(out[0])
			})
		if ok {
			added++
		}
	}
	t.Logf("%d of %d additions of CMSIS-NN have tables", added, cases)
}
