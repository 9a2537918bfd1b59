// SPDX-License-Identifier: Apache-2.0

package thumb

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
	Classes                // how many there are
)

var classNames = [Classes]string{"alu", "mul", "mul_add", "long_mul", "div", "load", "store", "load_pair", "store_pair",
	"load_many", "store_many",
	"branch", "call", "jump", "loop", "loop_start", "float", "float_mac", "float_div", "vec_load", "vec_store",
	"gather", "vec_mul", "vec_alu", "system"}

func (c Class) String() string { return classNames[c] }

// IsBranch reports instructions after which another one than the next may run.
func (c Class) IsBranch() bool { return c == Branch || c == Call || c == Jump || c == Loop }

// Pipe is the unit of the vector extension that an instruction occupies, 0 for
// other instructions.
func (c Class) Pipe() int {
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

// Work is what an instruction does, as far as prices depend on it.
type Work struct {
	Class Class
	Size  int    // bytes: 2 or 4
	Regs  int    // registers that LoadMany, StoreMany and vector blocks move
	Bytes int    // that a load or store moves with all lanes active
	Loads bool   // of Gather: a load
	PC    bool   // a load into the program counter
	Lanes int    // of Gather: elements
	Dst   uint16 // core registers that a load writes, a bit each
	Src   uint16 // core registers read, as far as stalls depend on them
	Out   uint16 // core registers that any other instruction writes, bases of loads and stores not counted
	Acc   uint16 // the register that a multiply-accumulate adds to
}

// Bit is a register in a set of registers.
func Bit(r uint16) uint16 { return 1 << (r & 15) }

// Sort gives the class of an instruction; second is ignored for 16-bit ones.
func Sort(first, second uint16) Work {
	if Wide(first) {
		i := decode32(first, second)
		i.Size = 4
		return i
	}
	i := decode16(first)
	i.Size = 2
	return i
}

func decode16(h uint16) Work {
	lo := func(at uint) uint16 { return h >> at & 7 }
	switch {
	case h>>13 <= 1 && h>>11 != 3: // 000xx shift, 001xx immediate
		switch h >> 11 {
		case 4: // MOV
			return Work{Out: Bit(lo(8))}
		case 5: // CMP
			return Work{Src: Bit(lo(8))}
		case 6, 7: // ADD, SUB
			return Work{Src: Bit(lo(8)), Out: Bit(lo(8))}
		}
		return Work{Src: Bit(lo(3)), Out: Bit(lo(0))}
	case h>>11 == 3: // add, sub
		s := Bit(lo(3))
		if h>>10&1 == 0 {
			s |= Bit(lo(6))
		}
		return Work{Src: s, Out: Bit(lo(0))}
	case h>>10 == 0x10: // data processing
		i := Work{Src: Bit(lo(0)) | Bit(lo(3))}
		switch op := h >> 6 & 15; op {
		case 8, 10, 11: // TST, CMP, CMN
			return i
		case 13:
			i.Class = Mul
		}
		i.Out = Bit(lo(0))
		return i
	case h>>10 == 0x11: // high registers, BX
		rm := h >> 3 & 15
		if h>>8&3 == 3 {
			return Work{Class: Jump, Src: Bit(rm)}
		}
		rd := h&7 | h>>4&8
		if rd == 15 && h>>8&3 != 1 {
			return Work{Class: Jump, Src: Bit(rm)}
		}
		switch h >> 8 & 3 {
		case 1: // CMP
			return Work{Src: Bit(rm) | Bit(rd)}
		case 2: // MOV
			return Work{Src: Bit(rm), Out: Bit(rd)}
		}
		return Work{Src: Bit(rm) | Bit(rd), Out: Bit(rd)}
	case h>>11 == 9: // from the literal pool
		return load(4, lo(8), 0)
	case h>>12 == 5: // register offset
		op, src := h>>9&7, Bit(lo(3))|Bit(lo(6))
		size := [8]int{4, 2, 1, 1, 4, 2, 1, 2}[op]
		if op < 3 {
			return store(size, src|Bit(lo(0)))
		}
		return load(size, lo(0), src)
	case h>>13 == 3 || h>>12 == 8 || h>>12 == 9: // immediate offset
		size, base, reg := 4, Bit(lo(3)), lo(0)
		switch {
		case h>>12 == 9:
			base, reg = Bit(13), lo(8)
		case h>>12 == 8:
			size = 2
		case h>>12 == 7:
			size = 1
		}
		if h>>11&1 == 0 {
			return store(size, base|Bit(reg))
		}
		return load(size, reg, base)
	case h>>12 == 10: // ADR, ADD of the stack pointer
		return Work{Out: Bit(lo(8))}
	case h>>12 == 11:
		return misc16(h)
	case h>>12 == 12:
		n := ones(h & 0xff)
		if h>>11&1 == 1 {
			return Work{Class: LoadMany, Regs: n, Bytes: 4 * n, Dst: h & 0xff, Src: Bit(lo(8))}
		}
		return Work{Class: StoreMany, Regs: n, Bytes: 4 * n, Src: h&0xff | Bit(lo(8))}
	case h>>12 == 13:
		if h>>8&15 >= 14 {
			return Work{Class: System}
		}
		return Work{Class: Branch}
	}
	return Work{Class: Branch} // 11100
}

// misc16 are the instructions that begin with 1011.
func misc16(h uint16) Work {
	switch {
	case h>>8&5 == 1: // CBZ, CBNZ
		return Work{Class: Branch, Src: Bit(h & 7)}
	case h>>9&7 == 2: // PUSH
		n := ones(h & 0x1ff)
		return Work{Class: StoreMany, Regs: n, Bytes: 4 * n, Src: h & 0xff}
	case h>>9&7 == 6: // POP
		n := ones(h & 0x1ff)
		return Work{Class: LoadMany, Regs: n, Bytes: 4 * n, Dst: h & 0xff, PC: h&0x100 != 0}
	case h>>8&15 == 14: // BKPT
		return Work{Class: System}
	case h>>8&15 == 6: // CPS
		return Work{Class: System}
	}
	if h>>8&15 == 2 || h>>8&15 == 10 { // extensions, REV
		return Work{Src: Bit(h >> 3 & 7), Out: Bit(h & 7)}
	}
	return Work{Src: Bit(h >> 3 & 7)}
}

func load(bytes int, reg, src uint16) Work {
	return Work{Class: Load, Bytes: bytes, Dst: Bit(reg), Src: src, PC: reg == 15}
}

func store(bytes int, src uint16) Work { return Work{Class: Store, Bytes: bytes, Src: src} }

func ones(v uint16) int {
	n := 0
	for ; v != 0; v &= v - 1 {
		n++
	}
	return n
}
