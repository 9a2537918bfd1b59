// SPDX-License-Identifier: Apache-2.0

package thumb

// coprocessor sorts what is encoded as 111x 11xx: the floating-point extension
// has coprocessor numbers 9 to 11, everything else is Helium.
func coprocessor(a, b uint16) Work {
	cp := b >> 8 & 15
	float := cp >= 9 && cp <= 11
	switch a >> 8 {
	case 0xec, 0xed:
		if float {
			return floatMemory(a, b)
		}
		return vectorMemory(a, b)
	case 0xfc, 0xfd:
		if cp == 8 { // VCADD, VCMLA
			return vectorData(a, b)
		}
		return vectorMemory(a, b)
	case 0xee:
		if float {
			return floatData(a, b)
		}
	case 0xfe:
		if float { // VSEL, VMAXNM, VRINT
			return Work{Class: Float}
		}
	}
	return vectorData(a, b)
}

// floatMemory are VLDR, VSTR, VLDM, VSTM and moves of two registers.
func floatMemory(a, b uint16) Work {
	base, loads := Bit(a), a>>4&1 == 1
	width := 4
	if b>>8&15 == 11 {
		width = 8
	}
	switch {
	case a>>8&1 == 1 && a>>5&1 == 0: // offset: P without W
		if loads {
			return Work{Class: Load, Bytes: width, Src: sources(a & 15)}
		}
		return Work{Class: Store, Bytes: width, Src: base}
	case a>>5&7 == 2 && a>>8&1 == 0: // two core registers
		return Work{Class: Float, Src: Bit(b>>12) | base}
	}
	words := int(b & 0xff)
	i := Work{Class: StoreMany, Regs: words, Bytes: 4 * words, Src: base}
	if loads {
		i.Class = LoadMany
	}
	return i
}

// floatData are arithmetic and moves between registers.
func floatData(a, b uint16) Work {
	if b>>4&1 == 1 { // a core register or a lane
		if a>>4&1 == 0 {
			if a>>7&1 == 1 && b>>8&15 == 11 {
				return Work{Class: VecALU, Src: Bit(b >> 12)} // VDUP
			}
			return Work{Class: Float, Src: Bit(b >> 12)}
		}
		return Work{Class: Float}
	}
	switch op := a >> 4 & 15 &^ 4; { // bit 6 is a register's
	case op == 8 && b>>6&1 == 0:
		return Work{Class: FloatDiv}
	case op == 0, op == 1, op == 9, op == 10:
		return Work{Class: FloatMac}
	case op == 11 && a&15 == 1 && b>>6&3 == 3:
		return Work{Class: FloatDiv} // VSQRT
	}
	return Work{Class: Float}
}

// vectorMemory are the loads and stores of Helium, and moves of two lanes.
func vectorMemory(a, b uint16) Work {
	loads := a>>4&1 == 1
	class := VecStore
	if loads {
		class = VecLoad
	}
	whole := b>>12&1 == 1 // elements of memory and of the register have one size
	offset := a>>8&1 == 0 && a>>5&1 == 0
	size := b >> 7 & 3 // log2 of the bytes of a register's element
	switch {
	case offset && a>>7&1 == 0: // VMOV of two lanes
		return Work{Class: Float, Src: Bit(a) | Bit(b)}
	case whole && a>>8 == 0xfd: // addresses in a vector
		lanes := 4
		if b>>8&1 == 1 {
			lanes = 2
		}
		return Work{Class: Gather, Loads: loads, Bytes: 16, Lanes: lanes}
	case whole && a>>8 == 0xfc: // VLD2, VLD4 and their stores
		return Work{Class: class, Bytes: 16, Src: Bit(a)}
	case offset: // offsets in a vector
		return Work{Class: Gather, Loads: loads, Bytes: 16, Lanes: 16 >> size, Src: Bit(a)}
	case whole:
		return Work{Class: class, Bytes: 16, Src: Bit(a)}
	}
	return Work{Class: class, Bytes: 16 >> size << (a >> 3 & 1), Src: Bit(a & 7)}
}

// vectorData is arithmetic: which pipe it occupies.
func vectorData(a, b uint16) Work {
	i := Work{Class: VecALU}
	if multiplies(a, b) {
		i.Class = VecMul
	}
	if scalar(a, b) {
		i.Src = Bit(b)
	}
	return i
}

// scalar reports that the last operand is a core register.
func scalar(a, b uint16) bool {
	return a>>8&0xef == 0xee && a>>7&1 == 0 && b>>6&1 == 1 && b>>9&7 == 7
}

// multiplies reports multiplications and multiply-accumulates.
func multiplies(a, b uint16) bool {
	third, low := b>>8&15, b>>4&1 == 1
	switch a >> 8 {
	case 0xef, 0xff: // two vectors
		return third == 9 && low || // VMUL
			third == 11 && !low && a>>7&1 == 0 || // VQDMULH, VQRDMULH
			third == 12 && low || // VFMA, VFMS
			third == 13 && low && a>>8 == 0xff // VMUL of floats
	case 0xfc, 0xfd:
		return a>>5&1 == 1 // VCMLA
	case 0xee, 0xfe:
		size, odd := a>>4&3, a&1 == 1 // odd is no part of a register's number
		switch {
		case third < 14:
			return false
		case a>>7&1 == 1: // sums over lanes, and narrowing shifts
			// VMLADAV and its kin, VABAV; not VADDV (odd) and VMAXV (14)
			return third == 14 || b>>6&1 == 0 && !odd && a>>4&15 != 14
		case scalar(a, b) && third == 14: // all but VBRSR and shifts by a register
			return !(b>>12&1 == 1 && b>>5&1 == 1 && (a>>8 == 0xfe || size == 3))
		case scalar(a, b): // VQDMULL
			return size == 3 && !odd && b>>5&1 == 1
		case third == 14: // VMULL, VMULH, VCMUL and doubling ones; not VMOVN (3 and odd)
			return size != 3 || !odd
		}
		return size == 3 && !odd && b&1 == 1 // VQDMULL
	}
	return false
}
