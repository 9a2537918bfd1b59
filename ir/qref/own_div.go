// SPDX-License-Identifier: Apache-2.0

package qref

import "math"

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
