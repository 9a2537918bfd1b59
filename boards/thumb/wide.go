// SPDX-License-Identifier: Apache-2.0

package thumb

// decode32 sorts a 32-bit instruction by its two halfwords.
func decode32(a, b uint16) Work {
	rn, rm := a&15, b&15
	switch {
	case a>>10 == 0x3b, a>>10 == 0x3f: // 111x 11xx: floating point and vectors
		return coprocessor(a, b)
	case a>>9 == 0x74: // 1110 100x: multiple, pairs, exclusive, table branches
		if a>>6&1 == 0 {
			return many(a, b)
		}
		return pairs(a, b)
	case a>>9 == 0x75: // 1110 101x: shifted register
		return Work{Src: sources(rn) | Bit(rm), Out: sources(b >> 8 & 15)}
	case a>>11 == 0x1e && b>>15 == 0: // immediates
		return Work{Src: sources(rn), Out: sources(b >> 8 & 15)}
	case a>>11 == 0x1e:
		return control(a, b)
	case a>>9 == 0x7c: // 1111 100x: one register
		return single(a, b)
	case a>>8 == 0xfa: // shifts, extensions, parallel addition
		return Work{Src: sources(rn) | Bit(rm), Out: sources(b >> 8 & 15)}
	case a>>7 == 0x1f6: // 1111 1011 0: 32-bit products
		i := Work{Class: Mul, Src: Bit(rn) | Bit(rm), Out: Bit(b >> 8)}
		if ra := b >> 12; ra != 15 {
			i.Src |= Bit(ra)
			i.Acc = Bit(ra)
			if a>>4&7 == 0 {
				i.Class = MulAdd
			}
		}
		return i
	case a>>7 == 0x1f7: // 64-bit products, division
		i := Work{Class: LongMul, Src: Bit(rn) | Bit(rm), Out: Bit(b>>8) | Bit(b>>12)}
		switch op := a >> 4 & 7; {
		case op == 1 || op == 3:
			i.Class, i.Out = Div, Bit(b>>8)
		case op >= 4: // SMLAL, SMLSLD, UMLAL, UMAAL
			i.Src |= i.Out
			i.Acc = i.Out
		}
		return i
	}
	return Work{Class: System}
}

// sources is the bit of a first operand, none for the moves that have 15 there.
func sources(r uint16) uint16 {
	if r == 15 {
		return 0
	}
	return Bit(r)
}

func many(a, b uint16) Work {
	n := ones(b)
	if a>>4&1 == 1 {
		return Work{Class: LoadMany, Regs: n, Bytes: 4 * n, Dst: b & 0x7fff, Src: Bit(a), PC: b>>15 == 1}
	}
	return Work{Class: StoreMany, Regs: n, Bytes: 4 * n, Src: b | Bit(a)}
}

func pairs(a, b uint16) Work {
	base, loads := Bit(a), a>>4&1 == 1
	if a>>8&1 == 0 && a>>5&1 == 0 { // P and W are 0: exclusive, ordered, table branches
		switch op := b >> 4 & 15; {
		case a>>7&1 == 0 && loads: // LDREX
			return load(4, b>>12, base)
		case a>>7&1 == 0: // STREX, TT
			return store(4, base|Bit(b>>12))
		case loads && op <= 1:
			return Work{Class: Jump, Src: base | Bit(b), Bytes: 1 + int(op)}
		case loads:
			return load(4, b>>12, base)
		}
		return store(4, base|Bit(b>>12))
	}
	if loads {
		return Work{Class: LoadPair, Regs: 2, Bytes: 8, Dst: Bit(b>>12) | Bit(b>>8), Src: base}
	}
	return Work{Class: StorePair, Regs: 2, Bytes: 8, Src: base | Bit(b>>12) | Bit(b>>8)}
}

// control are branches, low-overhead loops and system instructions.
func control(a, b uint16) Work {
	switch {
	case b>>14 == 3 && b>>12&1 == 0: // 11x0: loops of Armv8.1-M
		if loopEnd(a, b) {
			return Work{Class: Loop}
		}
		if b == 0xe801 { // VCTP
			return Work{Class: VecALU, Src: Bit(a)}
		}
		return Work{Class: LoopStart, Src: sources(a & 15)}
	case b>>14 == 3: // 11x1: BL
		return Work{Class: Call}
	case b>>12&1 == 1: // 10x1: B
		return Work{Class: Branch}
	case a>>7&7 != 7: // 10x0 with a condition
		return Work{Class: Branch}
	case a == 0xf3af: // hints
		return Work{}
	}
	return Work{Class: System}
}

// loopEnd reports LE and LETP: 1111 0000 00xx 1111 with 1100 behind it.
func loopEnd(a, b uint16) bool { return a>>6 == 0x3c0 && a&15 == 15 && b>>12 == 12 }

func single(a, b uint16) Work {
	rn, rt := a&15, b>>12
	src := Bit(rn)
	if rn == 15 {
		src = 0
	}
	if a>>7&1 == 0 && b>>11&1 == 0 && rn != 15 { // register offset
		src |= Bit(b)
	}
	size := 1 << (a >> 5 & 3)
	if a>>4&1 == 0 {
		return store(size, src|Bit(rt))
	}
	if rt == 15 && size < 4 {
		return Work{Src: src} // preload hints
	}
	return load(size, rt, src)
}
