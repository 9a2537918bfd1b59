// SPDX-License-Identifier: Apache-2.0

// Package cycles estimates processor cycles from executed instructions: it
// sorts Thumb instructions (Armv6-M to Armv8.1-M with Helium) into classes and
// prices them by a table per core. README.md has the tables and their rules.
package cycles

import "github.com/nncc/nncc/boards/thumb"

// Class is a kind of instruction with one price.
type Class uint8

// Classes.
const (
	ALU       Class = iota // data processing, moves, extensions, saturation, hints
	Mul                    // 32-bit multiplication and the DSP extension's multiply-accumulates
	MulAdd                 // MLA, MLS
	LongMul                // 64-bit results
	Div                    // SDIV, UDIV
	Load                   // one register, floating-point registers included
	Store                  // one register
	LoadPair               // LDRD
	StorePair              // STRD
	LoadMany               // LDM, POP, VLDM, VPOP
	StoreMany              // STM, PUSH, VSTM, VPUSH
	Branch                 // to an address in the instruction, with or without condition
	Call                   // BL
	Jump                   // to an address in a register or table
	Loop                   // LE, LETP: the end of a low-overhead loop
	LoopStart              // DLS, WLS and their tail-predicated forms
	Float                  // floating-point arithmetic and moves
	FloatMac               // floating-point multiply-accumulate
	FloatDiv               // floating-point division and square root
	VecLoad                // contiguous vector load
	VecStore               // contiguous vector store
	Gather                 // vector load or store with an address a lane
	VecMul                 // vector multiplication and multiply-accumulate
	VecALU                 // other vector arithmetic
	System                 // MSR, MRS, barriers, supervisor calls
	classes
)

var classNames = [classes]string{"alu", "mul", "mul_add", "long_mul", "div", "load", "store", "load_pair", "store_pair",
	"load_many", "store_many",
	"branch", "call", "jump", "loop", "loop_start", "float", "float_mac", "float_div", "vec_load", "vec_store",
	"gather", "vec_mul", "vec_alu", "system"}

func (c Class) String() string { return classNames[c] }

// IsBranch reports instructions after which another one than the next may run.
func (c Class) IsBranch() bool { return c == Branch || c == Call || c == Jump || c == Loop }

// pipe is the unit of the vector extension that an instruction occupies, 0 for
// other instructions.
func (c Class) pipe() int {
	switch c {
	case VecLoad, VecStore, Gather:
		return 1
	case VecMul:
		return 2
	case VecALU:
		return 3
	}
	return 0
}

// MACs reports multiply-accumulate instructions, Helium's and scalar ones.
func (c Class) MACs() bool {
	return c == Mul || c == MulAdd || c == LongMul || c == FloatMac || c == VecMul
}

// Insn is what a price depends on.
type Insn struct {
	Class Class
	Size  int    // bytes: 2 or 4
	Regs  int    // registers that LoadMany, StoreMany and vector blocks move
	Bytes int    // that a load or store moves with all lanes active
	Loads bool   // of Gather: a load
	PC    bool   // a load into the program counter
	Lanes int    // of Gather: elements
	dst   uint16 // core registers that a load writes, a bit each
	src   uint16 // core registers read, as far as stalls depend on them
	out   uint16 // core registers that any other instruction writes, bases of loads and stores not counted
	acc   uint16 // the register that a multiply-accumulate adds to
}

func bit(r uint16) uint16 { return 1 << (r & 15) }

// Decode sorts an instruction; second is ignored for 16-bit ones.
func Decode(first, second uint16) Insn {
	if thumb.Wide(first) {
		i := decode32(first, second)
		i.Size = 4
		return i
	}
	i := decode16(first)
	i.Size = 2
	return i
}

func decode16(h uint16) Insn {
	lo := func(at uint) uint16 { return h >> at & 7 }
	switch {
	case h>>13 <= 1 && h>>11 != 3: // 000xx shift, 001xx immediate
		switch h >> 11 {
		case 4: // MOV
			return Insn{out: bit(lo(8))}
		case 5: // CMP
			return Insn{src: bit(lo(8))}
		case 6, 7: // ADD, SUB
			return Insn{src: bit(lo(8)), out: bit(lo(8))}
		}
		return Insn{src: bit(lo(3)), out: bit(lo(0))}
	case h>>11 == 3: // add, sub
		s := bit(lo(3))
		if h>>10&1 == 0 {
			s |= bit(lo(6))
		}
		return Insn{src: s, out: bit(lo(0))}
	case h>>10 == 0x10: // data processing
		i := Insn{src: bit(lo(0)) | bit(lo(3))}
		switch op := h >> 6 & 15; op {
		case 8, 10, 11: // TST, CMP, CMN
			return i
		case 13:
			i.Class = Mul
		}
		i.out = bit(lo(0))
		return i
	case h>>10 == 0x11: // high registers, BX
		rm := h >> 3 & 15
		if h>>8&3 == 3 {
			return Insn{Class: Jump, src: bit(rm)}
		}
		rd := h&7 | h>>4&8
		if rd == 15 && h>>8&3 != 1 {
			return Insn{Class: Jump, src: bit(rm)}
		}
		switch h >> 8 & 3 {
		case 1: // CMP
			return Insn{src: bit(rm) | bit(rd)}
		case 2: // MOV
			return Insn{src: bit(rm), out: bit(rd)}
		}
		return Insn{src: bit(rm) | bit(rd), out: bit(rd)}
	case h>>11 == 9: // from the literal pool
		return load(4, lo(8), 0)
	case h>>12 == 5: // register offset
		op, src := h>>9&7, bit(lo(3))|bit(lo(6))
		size := [8]int{4, 2, 1, 1, 4, 2, 1, 2}[op]
		if op < 3 {
			return store(size, src|bit(lo(0)))
		}
		return load(size, lo(0), src)
	case h>>13 == 3 || h>>12 == 8 || h>>12 == 9: // immediate offset
		size, base, reg := 4, bit(lo(3)), lo(0)
		switch {
		case h>>12 == 9:
			base, reg = bit(13), lo(8)
		case h>>12 == 8:
			size = 2
		case h>>12 == 7:
			size = 1
		}
		if h>>11&1 == 0 {
			return store(size, base|bit(reg))
		}
		return load(size, reg, base)
	case h>>12 == 10: // ADR, ADD of the stack pointer
		return Insn{out: bit(lo(8))}
	case h>>12 == 11:
		return misc16(h)
	case h>>12 == 12:
		n := ones(h & 0xff)
		if h>>11&1 == 1 {
			return Insn{Class: LoadMany, Regs: n, Bytes: 4 * n, dst: h & 0xff, src: bit(lo(8))}
		}
		return Insn{Class: StoreMany, Regs: n, Bytes: 4 * n, src: h&0xff | bit(lo(8))}
	case h>>12 == 13:
		if h>>8&15 >= 14 {
			return Insn{Class: System}
		}
		return Insn{Class: Branch}
	}
	return Insn{Class: Branch} // 11100
}

// misc16 are the instructions that begin with 1011.
func misc16(h uint16) Insn {
	switch {
	case h>>8&5 == 1: // CBZ, CBNZ
		return Insn{Class: Branch, src: bit(h & 7)}
	case h>>9&7 == 2: // PUSH
		n := ones(h & 0x1ff)
		return Insn{Class: StoreMany, Regs: n, Bytes: 4 * n, src: h & 0xff}
	case h>>9&7 == 6: // POP
		n := ones(h & 0x1ff)
		return Insn{Class: LoadMany, Regs: n, Bytes: 4 * n, dst: h & 0xff, PC: h&0x100 != 0}
	case h>>8&15 == 14: // BKPT
		return Insn{Class: System}
	case h>>8&15 == 6: // CPS
		return Insn{Class: System}
	}
	if h>>8&15 == 2 || h>>8&15 == 10 { // extensions, REV
		return Insn{src: bit(h >> 3 & 7), out: bit(h & 7)}
	}
	return Insn{src: bit(h >> 3 & 7)}
}

func load(bytes int, reg, src uint16) Insn {
	return Insn{Class: Load, Bytes: bytes, dst: bit(reg), src: src, PC: reg == 15}
}

func store(bytes int, src uint16) Insn { return Insn{Class: Store, Bytes: bytes, src: src} }

func ones(v uint16) int {
	n := 0
	for ; v != 0; v &= v - 1 {
		n++
	}
	return n
}
