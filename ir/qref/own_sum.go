// SPDX-License-Identifier: Apache-2.0

package qref

import (
	"math"

	"github.com/nncc/nncc/ir/lists"
)

// SumTables are the constants of nncc_sum_s8: y = clamp((A[a] + B[b]) >> Shift),
// A and B indexed by bit pattern.
type SumTables struct {
	A, B  [256]int32
	Shift int32
}

// sumPasses bounds the search of BuildSum.
const sumPasses = 64

// BuildSum finds tables with which nncc_sum_s8 gives target(a, b) for all
// 65,536 pairs, or reports that it found none. partA and partB say of which
// sum the target is a function: their sum, in output steps and with the zero
// point in one of them, is about the target before rounding. Targets at lo or
// hi are clamped ones.
//
// Every pair bounds A[a] + B[b] from both sides; with v = -B these are
// difference constraints, and relaxing them from the real-valued solution
// (Bellman-Ford) ends with an integer solution if it ends.
func BuildSum(partA, partB func(q int32) float64, lo, hi int32, target func(a, b int32) int32) (*SumTables, bool) {
	t := &SumTables{}
	var u, v [256]int64
	peak := 1.0
	for q := int32(math.MinInt8); q <= math.MaxInt8; q++ {
		peak = max(peak, math.Abs(partA(q)), math.Abs(partB(q)))
	}
	if !(peak < 1<<28) {
		return nil, false
	}
	_, exp := math.Frexp(peak)
	t.Shift = int32(29 - exp)
	unit := int64(1) << uint(t.Shift)
	for q := int32(math.MinInt8); q <= math.MaxInt8; q++ {
		u[uint8(q)] = int64(math.Round(partA(q)*float64(unit))) + unit/2
		v[uint8(q)] = -int64(math.Round(partB(q) * float64(unit)))
	}
	var want [256][256]int8
	for a := range want {
		for b := range want[a] {
			want[a][b] = int8(target(int32(int8(a)), int32(int8(b))))
		}
	}
	for pass := 0; ; pass++ {
		changed := false
		for a := range want {
			row, ua := &want[a], u[a]
			for b, y8 := range row {
				y := int64(y8)
				if y < int64(hi) && ua > v[b]+(y+1)*unit-1 {
					ua, changed = v[b]+(y+1)*unit-1, true
				}
			}
			u[a] = ua
			for b, y8 := range row {
				y := int64(y8)
				if y > int64(lo) && v[b] > ua-y*unit {
					v[b], changed = ua-y*unit, true
				}
			}
		}
		if !changed {
			break
		}
		if pass == sumPasses {
			return nil, false
		}
	}
	for i := range t.A {
		if max(u[i], -u[i], v[i], -v[i]) >= 1<<30 {
			return nil, false
		}
		t.A[i], t.B[i] = int32(u[i]), int32(-v[i])
	}
	for a := range want { // the proof
		for b, y := range want[a] {
			if t.at(uint8(a), uint8(b), lo, hi) != y {
				return nil, false
			}
		}
	}
	return t, true
}

func (t *SumTables) at(a, b uint8, lo, hi int32) int8 {
	return int8(min(max((t.A[a]+t.B[b])>>uint(t.Shift), lo), hi))
}

// Affine is nncc_affine_s8: clamp((q*Mult + Bias) >> Shift).
type Affine struct {
	Bias  int64
	Mult  int32
	Shift int32
}

// Apply evaluates the function.
func (f *Affine) Apply(q int8, lo, hi int32) int8 {
	v := (int64(q)*int64(f.Mult) + f.Bias) >> uint(f.Shift)
	return int8(min(max(v, int64(lo)), int64(hi)))
}

// affineShift is the largest shift of an Affine: the bias still fits int64.
const affineShift = 46

// BuildAffine finds an Affine that gives target(q) for every q in [from, to],
// or reports that it found none. slope is the real number of output steps per
// input step; lo, hi are the clamp, and target must stay within it.
//
// For a given Mult every q bounds Bias from both sides (from one side only
// where the target is clamped); the width of what remains is concave in Mult,
// so its maximum is found by ternary search around the slope.
func BuildAffine(slope float64, from, to int32, lo, hi int32, target func(q int32) int32) (Affine, bool) {
	var f Affine
	if !(math.Abs(slope) < 1<<20) {
		return f, false
	}
	_, exp := math.Frexp(slope)
	f.Shift = int32(min(max(30-exp, 0), affineShift))
	unit := int64(1) << uint(f.Shift)
	want := lists.Make(int(to-from+1), func(i int) int64 { return int64(target(from + int32(i))) })
	// room is the number of biases that work with mult, less one; low the smallest.
	room := func(mult int64) (room, low int64) {
		low, high := int64(math.MinInt64), int64(math.MaxInt64)
		for i, y := range want {
			at := (int64(from) + int64(i)) * mult
			if y > int64(lo) {
				low = max(low, y*unit-at)
			}
			if y < int64(hi) {
				high = min(high, (y+1)*unit-1-at)
			}
		}
		if low == math.MinInt64 && high == math.MaxInt64 {
			return 0, 0 // an empty range
		}
		if low == math.MinInt64 {
			return unit, high - unit
		}
		if high == math.MaxInt64 {
			return unit, low
		}
		return high - low, low
	}
	mid := int64(math.Round(math.Ldexp(slope, int(f.Shift))))
	spread := int64(math.Ldexp(1.0/64, int(f.Shift))) + 1
	a, b := mid-spread, mid+spread
	best, low := room(mid)
	for best < 0 && b-a > 2 {
		m1, m2 := a+(b-a)/3, b-(b-a)/3
		r1, l1 := room(m1)
		r2, l2 := room(m2)
		if r1 < r2 {
			a = m1
		} else {
			b = m2
		}
		if r1 > best {
			best, low, mid = r1, l1, m1
		}
		if r2 > best {
			best, low, mid = r2, l2, m2
		}
	}
	if best < 0 || mid > math.MaxInt32 || mid < math.MinInt32 {
		return f, false
	}
	f.Mult, f.Bias = int32(mid), low+best/2
	for i, y := range want { // the proof
		if got := f.Apply(int8(from+int32(i)), lo, hi); int64(got) != y {
			return f, false
		}
	}
	return f, true
}

// Reciprocals are the constants of nncc_div_s8, indexed by the divisor's bit
// pattern: sign << 31 | mantissa << 6 | shift.
type Reciprocals [256]uint32

const (
	divMantissa = 22 // bits of a mantissa: 255 * mantissa and half a unit fit 31 bits
	divMaxShift = 31
)

// BuildDiv finds reciprocals with which nncc_div_s8 gives the quotient of the
// definition in float64 for all 65,536 pairs, or reports that it found none:
// for every divisor the quotients of all dividends bound the mantissa from both
// sides.
func BuildDiv(a, b, out QP, lo, hi int32) (*Reciprocals, bool) {
	var r Reciprocals
	for q := int32(math.MinInt8); q <= math.MaxInt8; q++ {
		div := q - b.Zero
		k := math.Abs(float64(a.Scale) / (float64(b.Scale) * float64(div)) / float64(out.Scale))
		word := uint32(0)
		if div < 0 {
			word = 1 << 31
		}
		mant, shift := int64(0), int32(1)
		switch {
		case k >= 1<<(divMantissa-1): // any dividend but 0 saturates; division by 0
			mant = 1<<divMantissa - 1
		case k*255 < 0.25: // rounds to 0
		default:
			_, exp := math.Frexp(k)
			shift = int32(divMantissa - exp)
			if shift > divMaxShift {
				shift = divMaxShift
			}
			mant = int64(math.Round(math.Ldexp(k, int(shift))))
		}
		low, high := int64(0), int64(1<<divMantissa-1)
		unit := int64(1) << uint(shift)
		for x := int32(math.MinInt8); x <= math.MaxInt8; x++ {
			d := int64(x - a.Zero)
			if d == 0 {
				continue
			}
			y := int64(out.Quantise(a.Real(x)/b.Real(q), lo, hi))
			if (d < 0) != (div < 0) { // mirror to a positive quotient
				y = -(y - int64(out.Zero))
				low, high = divBounds(low, high, max(d, -d), unit, y, y == -int64(lo-out.Zero),
					y == -int64(hi-out.Zero))
			} else {
				y -= int64(out.Zero)
				low, high = divBounds(low, high, max(d, -d), unit, y, y == int64(hi-out.Zero), y == int64(lo-out.Zero))
			}
		}
		if low > high {
			return nil, false
		}
		mant = min(max(mant, low), high)
		r[uint8(q)] = word | uint32(mant)<<6 | uint32(shift)
	}
	p := &DivParams{AZero: a.Zero, OutZero: out.Zero, ActMin: lo, ActMax: hi}
	for x := int32(math.MinInt8); x <= math.MaxInt8; x++ { // the proof
		for q := int32(math.MinInt8); q <= math.MaxInt8; q++ {
			if int32(p.Div(&r, int8(x), int8(q))) != out.Quantise(a.Real(x)/b.Real(q), lo, hi) {
				return nil, false
			}
		}
	}
	return &r, true
}

// divBounds narrows the mantissas for which (d*mantissa + unit/2) / unit is y;
// a quotient at the upper end of the clamp (top) is not bounded from above, one
// at the lower end (bottom) not from below.
func divBounds(low, high, d, unit, y int64, top, bottom bool) (int64, int64) {
	half := unit / 2
	if !bottom {
		low = max(low, ceilDiv(y*unit-half, d))
	}
	if !top {
		high = min(high, floorDiv((y+1)*unit-1-half, d))
	}
	return low, high
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func ceilDiv(a, b int64) int64 { return -floorDiv(-a, b) }

// DivParams are what nncc_div_s8 takes beside the reciprocals.
type DivParams struct{ AZero, OutZero, ActMin, ActMax int32 }

// Div is one quotient of nncc_div_s8: x/0 saturates, 0/0 gives the zero point.
func (p *DivParams) Div(r *Reciprocals, a, b int8) int8 {
	d, w := int32(a)-p.AZero, r[uint8(b)]
	shift, mant := w&63, w&0x7fffffff>>6
	v := int32((uint32(max(d, -d))*mant + 1<<(shift-1)) >> shift)
	if (d < 0) != (w>>31 != 0) {
		v = -v
	}
	return int8(min(max(v+p.OutZero, p.ActMin), p.ActMax))
}

// PiecewiseLinear is nncc_piecewise_linear_params: (q*Mult + Bias) >> Shift with the
// constants Pos for q >= Split and Neg below, clamped.
type PiecewiseLinear struct {
	PosMult, PosBias, NegMult, NegBias int64
	Count, Split                       int32
	PosShift, NegShift                 int32
	ActMin, ActMax                     int32
}

// Apply is the function's value for one input.
func (p *PiecewiseLinear) Apply(q int32) int32 {
	v := (int64(q)*p.PosMult + p.PosBias) >> uint(p.PosShift)
	if q < p.Split {
		v = (int64(q)*p.NegMult + p.NegBias) >> uint(p.NegShift)
	}
	return int32(min(max(v, int64(p.ActMin)), int64(p.ActMax)))
}

// line is a straight line by two of its points, in steps of the output.
type line struct{ mult, bias float64 }

// FitPiecewiseLinear finds the constants that give want[q-from] for every q: a line
// for inputs below their zero point and one from there on. exact is the
// function of q less that zero point before rounding, in steps of the output
// less outZero. ok is false where there are no such constants.
func FitPiecewiseLinear(from, inZero, outZero int32, want []int32, exact func(d int32) float64) (p *PiecewiseLinear,
	ok bool) {
	split := inZero
	p = &PiecewiseLinear{Split: split, ActMin: math.MaxInt32, ActMax: math.MinInt32}
	for _, y := range want {
		p.ActMin, p.ActMax = min(p.ActMin, y), max(p.ActMax, y)
	}
	at := func(q int32) int32 { return want[q-from] }
	end := from + int32(len(want))
	side := func(lo, hi int32, set func(mult, bias int64, shift int32)) bool {
		if lo >= hi {
			set(0, 0, 0)
			return true
		}
		for _, f := range candidates(p, lo, hi, inZero, at, exact) {
			shift := int32(45)
			if _, e := math.Frexp(f.mult); f.mult != 0 {
				shift = min(max(45-int32(e), 0), 46)
			}
			mult := int64(math.Round(math.Ldexp(f.mult, int(shift))))
			bias := int64(math.Round(math.Ldexp(f.bias, int(shift)))) + int64(outZero)<<uint(shift) - mult*int64(inZero)
			half := int64(1) << uint(shift) >> 1
			for _, add := range []int64{half, half - 1, half + 1} { // ties up, or down
				set(mult, bias+add, shift)
				good := true
				for q := lo; q < hi && good; q++ {
					good = p.Apply(q) == at(q)
				}
				if good {
					return true
				}
			}
		}
		return false
	}
	pos := func(m, b int64, s int32) { p.PosMult, p.PosBias, p.PosShift = m, b, s }
	neg := func(m, b int64, s int32) { p.NegMult, p.NegBias, p.NegShift = m, b, s }
	ok = side(max(from, split), end, pos) && side(from, min(split, end), neg)
	return p, ok
}

// candidates are lines that the function may follow for inputs lo to hi: the
// one through its values where no limit cuts them off, and constants.
func candidates(p *PiecewiseLinear, lo, hi, inZero int32, at func(q int32) int32, exact func(d int32) float64) []line {
	first, last := int32(math.MaxInt32), int32(math.MinInt32)
	for q := lo; q < hi; q++ {
		if y := at(q); y > p.ActMin && y < p.ActMax {
			first, last = min(first, q-inZero), max(last, q-inZero)
		}
	}
	var out []line
	if first < last {
		m := (exact(last) - exact(first)) / float64(last-first)
		out = append(out, line{m, exact(first) - m*float64(first)})
		for _, d := range []int32{first, last} {
			if d != 0 {
				out = append(out, line{exact(d) / float64(d), 0})
			}
		}
	}
	return append(out, line{0, math.Round(exact(lo - inZero))}, line{0, math.Round(exact(hi - 1 - inZero))})
}
