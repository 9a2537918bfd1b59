// SPDX-License-Identifier: Apache-2.0

package qref

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nncc/nncc/ir/fixp"
)

// The tests of the int8 kernels (own_*_test.go) run the C kernel and its Go
// reference on seeded cases and want equal bytes. This file has what they share,
// quantisation, tables and broadcasting; the others follow the kernels.

func randS8(r *rand.Rand, n int32) []int8 {
	x := make([]int8, n)
	wide := r.IntN(2) == 0
	for i := range x {
		x[i] = int8(r.IntN(256))
		if !wide {
			x[i] /= 16
		}
	}
	return x
}

func randI32(r *rand.Rand, n int32, lo, hi int) []int32 {
	x := make([]int32, n)
	for i := range x {
		x[i] = between(r, lo, hi)
	}
	return x
}

// randQP draws a quantisation; one in three has a scale of few bits, for which
// ties are frequent.
func randQP(r *rand.Rand) QP {
	s := float32(math.Exp(r.NormFloat64()) / 50)
	switch r.IntN(6) {
	case 0:
		s = float32(math.Ldexp(float64(between(r, 1, 7)), -int(between(r, 4, 8))))
	case 1:
		s = 1.0 / 128
	}
	z := between(r, -128, 127)
	if r.IntN(3) == 0 {
		z = 0
	}
	return QP{s, z}
}

// randAct draws the clamp of an output: the whole range, or a fused Relu.
func randAct(r *rand.Rand, out QP) (lo, hi int32) {
	switch r.IntN(4) {
	case 0:
		return out.Zero, 127
	case 1:
		return max(out.Zero, -100), max(out.Zero, 90)
	}
	return -128, 127
}

// same checks a kernel's output against its reference.
func same[T comparable](t *testing.T, what string, p any, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("%s: element %d is %v in C, %v in Go\n%+v", what, i, got[i], want[i], p)
			}
		}
		t.Fatalf("%s: %d elements in C, %d in Go\n%+v", what, len(got), len(want), p)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOwnQuantise(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(50)
	for range 100 {
		p := axisParams{between(r, 1, 3), between(r, 1, 4), between(r, 1, 9)}
		x := randF32(r, p.count(), math.Exp(r.NormFloat64()*3))
		x[0] = []float32{float32(math.NaN()), inf32, -inf32, 1e30, 0, -0.25}[r.IntN(6)]
		scale, zero := make([]float32, p.Axis), make([]int32, p.Axis)
		kinds := []struct {
			name   string
			lo, hi int32
		}{{"s8", -128, 127}, {"u8", 0, 255}, {"s16", -32768, 32767}}
		k := kinds[r.IntN(3)]
		for c := range scale {
			scale[c], zero[c] = randQP(r).Scale, between(r, int(k.lo), int(k.hi))
		}
		for i := range x { // some exact ties
			if r.IntN(3) == 0 {
				x[i] = (float32(r.IntN(300)-150) + 0.5) * scale[int32(i)/p.Inner%p.Axis]
			}
		}
		want, back := make([]int32, len(x)), make([]float32, len(x))
		for i, v := range x {
			c := int32(i) / p.Inner % p.Axis
			want[i] = fixp.QuantizeLinear(v, scale[c], zero[c], k.lo, k.hi)
			back[i] = float32(want[i]-zero[c]) * scale[c]
		}
		var y any
		got := make([]int32, len(x))
		switch k.name {
		case "s8":
			q := make([]int8, len(x))
			d.call(t, "nncc_quantize_f32_s8", p, x, scale, zero, q)
			for i, v := range q {
				got[i] = int32(v)
			}
			y = q
		case "u8":
			q := make([]uint8, len(x))
			d.call(t, "nncc_quantize_f32_u8", p, x, scale, zero, q)
			for i, v := range q {
				got[i] = int32(v)
			}
			y = q
		case "s16":
			q := make([]int16, len(x))
			d.call(t, "nncc_quantize_f32_s16", p, x, scale, zero, q)
			for i, v := range q {
				got[i] = int32(v)
			}
			y = q
		}
		same(t, "quantize "+k.name, p, got, want)
		f := poisonF32(int32(len(x)))
		d.call(t, "nncc_dequantize_"+k.name+"_f32", p, y, scale, zero, f)
		same(t, "dequantize "+k.name, p, f, back)
		wide := randI32(r, p.count(), -1<<30, 1<<30)
		for i := range zero {
			zero[i] = 0
		}
		for i := range back {
			back[i] = float32(wide[i]) * scale[int32(i)/p.Inner%p.Axis]
		}
		d.call(t, "nncc_dequantize_s32_f32", p, wide, scale, zero, f)
		same(t, "dequantize s32", p, f, back)
	}
}

func TestOwnTables(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(51)
	for range 20 {
		n := between(r, 1, 300)
		x, y, want := numbered(r, n, 1), make([]byte, n), make([]byte, n)
		var table [256]uint8
		copy(table[:], numbered(r, 256, 1))
		must(t, Table256(&table, x, want))
		d.call(t, "nncc_lut_s8", n, x, table[:], y)
		same(t, "table256", n, y, want)
		for i, v := range x {
			want[i] = v ^ 0x80
		}
		d.call(t, "nncc_convert_s8_u8", n, x, y)
		same(t, "xor80", n, y, want)
	}
}

func TestOwnBroadcast(t *testing.T) {
	for _, c := range []struct {
		a, b, shape []int
		rank        int32
	}{
		{[]int{2, 3, 4}, []int{2, 3, 4}, []int{2, 3, 4}, 1},
		{[]int{2, 3, 4}, nil, []int{2, 3, 4}, 1},
		{[]int{2, 3, 4}, []int{4}, []int{2, 3, 4}, 2},
		{[]int{2, 3, 4}, []int{3, 1}, []int{2, 3, 4}, 3},
		{[]int{1}, []int{1, 1}, []int{1, 1}, 1},
	} {
		p, shape, err := NewBroadcast(c.a, c.b)
		if err != nil || p.Rank != c.rank || !slices.Equal(shape, c.shape) {
			t.Errorf("NewBroadcast(%v, %v) = %+v, %v, %v", c.a, c.b, p, shape, err)
		}
	}
	if _, _, err := NewBroadcast([]int{2, 3}, []int{2, 4}); err == nil {
		t.Error("[2 3] and [2 4] broadcast")
	}
	r := ownRand(60)
	for range 100 { // positions against index arithmetic
		rank := r.IntN(5)
		var a, b []int
		for range rank {
			n := 1 + r.IntN(3)
			da, db := n, n
			switch r.IntN(3) {
			case 0:
				da = 1
			case 1:
				db = 1
			}
			a, b = append(a, da), append(b, db)
		}
		p, shape, err := NewBroadcast(a, b)
		must(t, err)
		pos := func(s []int, i int) int {
			at, step := 0, 1
			for k := rank - 1; k >= 0; k-- {
				at += i % shape[k] % s[k] * step
				i, step = i/shape[k], step*s[k]
			}
			return at
		}
		p.each(func(i, ia, ib int) {
			if ia != pos(a, i) || ib != pos(b, i) {
				t.Fatalf("%v, %v: element %d reads %d and %d, want %d and %d", a, b, i, ia, ib, pos(a, i), pos(b, i))
			}
		})
	}
}
