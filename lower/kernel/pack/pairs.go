// SPDX-License-Identifier: Apache-2.0

package pack

import (
	"math"
	"math/bits"
)

// Pairs holds the wanted result for every pair of int8 values, x first, by
// x+128 and y+128.
type Pairs [256][256]int8

// Scattered goes through 0 to 255 in an order that soon has been everywhere:
// what does not fit is found out early.
func Scattered(i int64) int64 { return int64(bits.Reverse8(uint8(i))) }

// Center looks for a c so that xs[x] + ys[y] + c lies from least(w) to
// least(w+1) - 1 for every pair with the result w, which bounds c from both
// sides; results clamped at lo or hi bound it from one.
func (p *Pairs) Center(xs, ys *[256]int64, lo, hi int8, least func(w int64) int64) (int64, bool) {
	var from [257]int64
	for i := range from {
		from[i] = least(int64(i) - 128)
	}
	low, high := int64(math.MinInt32), int64(math.MaxInt32)
	for i := range int64(256) {
		x := Scattered(i)
		row, part := &p[x], xs[x]
		for y, w := range row {
			v := part + ys[y]
			if w > lo {
				low = max(low, from[int(w)+128]-v)
			}
			if w < hi {
				high = min(high, from[int(w)+129]-1-v)
			}
		}
		if low > high {
			return 0, false
		}
	}
	return low + (high-low)/2, true
}

// Linear is clamp((A*x + B*y + C) >> Shift), the shift rounded down. No sum
// leaves 31 bits.
type Linear struct{ A, B, C, Shift int64 }

// Factors tries factors of x and y over 2^shift until some are accepted, given about what a step of x and of y is in
// steps of the output. Sums stay below 2^31 for the shift that is tried first.
func Factors(ra, rb float64, accepted func(a, b, shift int64) bool) bool {
	peak := (math.Abs(ra)+math.Abs(rb))*256 + 256
	if !(peak < 1<<20) || ra == 0 || rb == 0 {
		return false
	}
	top := int64(30 - bits.Len64(uint64(peak)))
	for shift := top; shift >= max(top-4, 1); shift-- {
		unit := math.Exp2(float64(shift))
		a, b := int64(math.Round(ra*unit)), int64(math.Round(rb*unit))
		for _, d := range [][2]int64{{0, 0}, {1, 0}, {-1, 0}, {0, 1}, {0, -1}, {1, 1}, {-1, -1}, {1, -1}, {-1, 1}} {
			if accepted(a+d[0], b+d[1], shift) {
				return true
			}
		}
	}
	return false
}

// Linear finds the form that gives the results for all pairs, given about what
// a step of x and of y is in steps of the output.
func (p *Pairs) Linear(ra, rb float64, lo, hi int8) (l Linear, ok bool) {
	ok = Factors(ra, rb, func(a, b, shift int64) (ok bool) {
		l, ok = p.With(a, b, shift, lo, hi)
		return ok
	})
	return l, ok
}

// With looks for the C of a form.
func (p *Pairs) With(a, b, shift int64, lo, hi int8) (Linear, bool) {
	l := Linear{A: a, B: b, Shift: shift}
	var xs, ys [256]int64
	for i := range int64(256) {
		xs[i], ys[i] = a*(i-128), b*(i-128)
	}
	var ok bool
	l.C, ok = p.Center(&xs, &ys, lo, hi, func(w int64) int64 { return w << shift })
	return l, ok && l.Fits()
}

// Fits says that no sum leaves 31 bits, which is room for a rounding, too.
func (l *Linear) Fits() bool {
	return 128*(max(l.A, -l.A)+max(l.B, -l.B))+max(l.C, -l.C) < 1<<30
}

// Ratios are the factors of Ratio by the second operand's bit pattern, -128
// first:
//
//	clamp(zero + ((x-xZero)*M[y+128] + 1<<22) >> 23)
type Ratios [256]int32

// Ratio finds factors that give the results for all pairs: any function that
// is linear through zero in x, however y acts on it.
func (p *Pairs) Ratio(xZero, zero int64, lo, hi int8) (*Ratios, bool) {
	const bits = 23
	var m Ratios
	for y := range m {
		low, high := int64(math.MinInt32), int64(math.MaxInt32)
		for x := range int64(256) {
			d, w := x-128-xZero, p[x][y]
			if d == 0 {
				if int64(w) != min(max(zero, int64(lo)), int64(hi)) {
					return nil, false
				}
				continue
			}
			// the products with the result w lie from least to most
			least, most := (int64(w)-zero)<<bits-1<<(bits-1), (int64(w)-zero+1)<<bits-1<<(bits-1)-1
			if w > lo {
				if d > 0 {
					low = max(low, ceilDiv(least, d))
				} else {
					high = min(high, -ceilDiv(least, -d))
				}
			}
			if w < hi {
				if d > 0 {
					high = min(high, -ceilDiv(-most, d))
				} else {
					low = max(low, ceilDiv(-most, -d))
				}
			}
		}
		if low > high {
			return nil, false
		}
		m[y] = int32(low + (high-low)/2)
	}
	return &m, true
}

// ceilDiv is a/b rounded up, b above 0.
func ceilDiv(a, b int64) int64 {
	q := a / b
	if a > 0 && a%b != 0 {
		q++
	}
	return q
}

// Extremes are tables, by bit pattern, the larger or smaller values of which are the results of all pairs.
func (p *Pairs) Extremes(larger bool) (a, b [256]int32, ok bool) {
	pick := func(x, y int32) int32 {
		if (x > y) == larger {
			return x
		}
		return y
	}
	for i := range 256 { // the result beside the values of the other operand that matter least
		k := (i + 128) & 255
		a[k], b[k] = int32(p[i][0]), int32(p[0][i])
		for j := range 256 {
			x, y := int32(p[i][j]), int32(p[j][i])
			a[k], b[k] = a[k]+x-pick(a[k], x), b[k]+y-pick(b[k], y)
		}
	}
	for i, row := range p {
		for j, y := range row {
			if pick(a[(i+128)&255], b[(j+128)&255]) != int32(y) {
				return a, b, false
			}
		}
	}
	return a, b, true
}
