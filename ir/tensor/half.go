// SPDX-License-Identifier: Apache-2.0

package tensor

import "math"

// F16ToF32 widens IEEE binary16 bits; exact.
func F16ToF32(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp := uint32(h>>10) & 31
	man := uint32(h & 0x3ff)
	switch {
	case exp == 31:
		return math.Float32frombits(sign | 0x7f800000 | man<<13)
	case exp == 0 && man == 0:
		return math.Float32frombits(sign)
	case exp == 0:
		e := uint32(113)
		for man&0x400 == 0 {
			man <<= 1
			e--
		}
		return math.Float32frombits(sign | e<<23 | (man&0x3ff)<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | man<<13)
}

// F32ToF16 rounds to nearest even, with overflow to infinity and subnormals.
func F32ToF16(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b>>16) & 0x8000
	e := int(b>>23&255) - 127
	man := b & 0x7fffff
	switch {
	case e == 128 && man != 0:
		return sign | 0x7e00
	case e > 15:
		return sign | 0x7c00
	case e >= -14:
		v := uint32(e+15)<<10 | man>>13
		return sign | uint16(v+roundEven(man, 13, v))
	case e >= -25:
		m := man | 0x800000
		sh := uint(-e - 1) // 23-10 bits plus the distance below the smallest normal
		v := m >> sh
		return sign | uint16(v+roundEven(m, sh, v))
	}
	return sign
}

func roundEven(m uint32, sh uint, v uint32) uint32 {
	rest, half := m&(1<<sh-1), uint32(1)<<(sh-1)
	if rest > half || rest == half && v&1 == 1 {
		return 1
	}
	return 0
}

// F32ToBF16 rounds to nearest even; NaN stays NaN.
func F32ToBF16(f float32) uint16 {
	b := math.Float32bits(f)
	if f != f {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}
