// SPDX-License-Identifier: Apache-2.0

package qref

import (
	"math"
	"math/rand/v2"
	"testing"
)

// bcastParams mirrors nncc_bcast_params of nncc.h.
type bcastParams struct {
	Rank             int32
	Dims             [8]int32
	AStride, BStride [8]int32
}

// randBcast draws a broadcast of the given rank whose operands consist of
// blocks of ea and eb elements, and the sizes of the operands in elements.
func randBcast(r *rand.Rand, rank int, ea, eb int32) (p bcastParams, na, nb int32) {
	p.Rank = int32(rank)
	na, nb = ea, eb
	for k := rank - 1; k >= 0; k-- {
		p.Dims[k] = between(r, 1, 5)
		if r.IntN(3) > 0 {
			p.AStride[k] = na
			na *= p.Dims[k]
		}
		if r.IntN(3) > 0 {
			p.BStride[k] = nb
			nb *= p.Dims[k]
		}
	}
	return p, na, nb
}

// pairs lists the element offsets of both operands in output order.
func (p bcastParams) pairs() [][2]int32 {
	out := [][2]int32{{0, 0}}
	for k := range p.Rank {
		var next [][2]int32
		for _, o := range out {
			for i := range p.Dims[k] {
				next = append(next, [2]int32{o[0] + i*p.AStride[k], o[1] + i*p.BStride[k]})
			}
		}
		out = next
	}
	return out
}

// nanOr is v, or NaN where a or b is (Go's Min and Max prefer infinities).
func nanOr(a, b, v float64) float64 {
	if a != a || b != b {
		return math.NaN()
	}
	return v
}

func TestOwnBinaryF32(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(10)
	ops := map[string]func(a, b float64) float64{
		"add": func(a, b float64) float64 { return a + b },
		"sub": func(a, b float64) float64 { return a - b },
		"mul": func(a, b float64) float64 { return a * b },
		"div": func(a, b float64) float64 { return a / b },
		"min": func(a, b float64) float64 { return nanOr(a, b, math.Min(a, b)) },
		"max": func(a, b float64) float64 { return nanOr(a, b, math.Max(a, b)) },
		"pow": math.Pow, "mod": math.Mod,
		"prelu": func(a, b float64) float64 {
			if a < 0 {
				return a * b
			}
			return a
		},
	}
	comparisons := map[string]func(a, b float32) bool{
		"equal":            func(a, b float32) bool { return a == b },
		"greater":          func(a, b float32) bool { return a > b },
		"greater_or_equal": func(a, b float32) bool { return a >= b },
		"less":             func(a, b float32) bool { return a < b },
		"less_or_equal":    func(a, b float32) bool { return a <= b },
	}
	for rep := range 40 {
		p, na, nb := randBcast(r, 1+rep%5, 1, 1)
		a, b := randF32(r, na, 1), randF32(r, nb, 1)
		for i := range a { // some equal, some special
			if r.IntN(4) == 0 {
				a[i] = b[r.IntN(len(b))]
			}
		}
		if rep%8 == 7 {
			a[0], b[len(b)-1] = float32(math.NaN()), inf32
		}
		pairs := p.pairs()
		for name, f := range ops {
			var want []float64
			for _, o := range pairs {
				u, v := float64(a[o[0]]), float64(b[o[1]])
				want = append(want, float64(float32(f(u, v))))
			}
			y := poisonF32(int32(len(pairs)))
			d.call(t, "nncc_"+name+"_f32", p, a, b, y)
			for i, w := range want { // relative to the element
				near(t, name, p, y[i:i+1], []float64{w}, 3e-7)
			}
		}
		for name, f := range comparisons {
			y := make([]uint8, len(pairs))
			d.call(t, "nncc_"+name+"_f32", p, a, b, y)
			for i, o := range pairs {
				if (y[i] == 1) != f(a[o[0]], b[o[1]]) || y[i] > 1 {
					t.Fatalf("%s(%g, %g) = %d", name, a[o[0]], b[o[1]], y[i])
				}
			}
		}
	}
}

func TestOwnClipF32(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(11)
	x := make([]float32, 501)
	for i := range x {
		x[i] = float32(r.Float64()*24 - 12)
	}
	y := poisonF32(int32(len(x)))
	const lo, hi = -1.5, 2
	d.call(t, "nncc_clip_f32", struct {
		Count  int32
		Lo, Hi float32
	}{int32(len(x)), lo, hi}, x, y)
	for i, v := range x {
		if want := max(lo, min(hi, v)); y[i] != want {
			t.Fatalf("clip(%g) = %g, want %g", v, y[i], want)
		}
	}
}

// castKind is an element type of nncc_cast: how Go's types see it.
type castKind struct {
	code  int32
	make  func(n int) any
	store func(data any, i int, v float64) // v is a whole number or the type is float
	load  func(data any, i int) float64
}

func castKindOf[T int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | float32](code int32) castKind {
	return castKind{code, func(n int) any { return make([]T, n) },
		func(d any, i int, v float64) { d.([]T)[i] = T(v) },
		func(d any, i int) float64 { return float64(d.([]T)[i]) }}
}

func TestOwnCast(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(12)
	boolean := castKindOf[uint8](0)
	boolean.store = func(d any, i int, v float64) { d.([]uint8)[i] = uint8(boolInt(v != 0)) }
	kinds := []castKind{boolean, castKindOf[int8](1), castKindOf[uint8](2), castKindOf[int16](3), castKindOf[uint16](4),
		castKindOf[int32](5), castKindOf[uint32](6), castKindOf[int64](7), castKindOf[float32](8)}
	const n = 40
	for _, from := range kinds {
		for _, to := range kinds {
			x, y, want := from.make(n), to.make(n), to.make(n)
			for i := range n { // what both types hold, so that Go's conversions are defined
				v := float64(r.IntN(128))
				if from.code == 8 && to.code != 0 {
					v += r.Float64()
				}
				from.store(x, i, v)
				to.store(want, i, math.Trunc(from.load(x, i)))
				if to.code == 8 {
					to.store(want, i, from.load(x, i))
				}
			}
			d.call(t, "nncc_cast", [3]int32{n, from.code, to.code}, x, y)
			for i := range n {
				if to.load(y, i) != to.load(want, i) {
					t.Fatalf("cast %d to %d: %v gives %v, want %v", from.code, to.code, from.load(x, i), to.load(y, i),
						to.load(want, i))
				}
			}
		}
	}
	// The open cases: wrapping, saturation, NaN, truth of a fraction.
	y8, y64, yb := make([]int8, 2), make([]int64, 4), make([]uint8, 3)
	d.call(t, "nncc_cast", [3]int32{2, 5, 1}, []int32{300, -129}, y8)
	d.call(t, "nncc_cast", [3]int32{4, 8, 7}, []float32{float32(math.NaN()), inf32, -1e30, -2.75}, y64)
	d.call(t, "nncc_cast", [3]int32{3, 8, 0}, []float32{0.25, 0, -1e-20}, yb)
	if y8[0] != 44 || y8[1] != 127 || y64[0] != 0 || y64[1] != math.MaxInt64 || y64[2] != math.MinInt64 ||
		y64[3] != -2 || yb[0] != 1 || yb[1] != 0 || yb[2] != 1 {
		t.Errorf("casts give %v, %v, %v", y8, y64, yb)
	}
}
