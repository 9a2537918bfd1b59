// SPDX-License-Identifier: Apache-2.0

// Package thumb decodes Thumb instructions from Armv6-M to Armv8.1-M with Helium: where they go (Decode), and what they
// do, by class (Sort). Arm's Architecture Reference Manuals have the encodings.
package thumb

// Insn is an instruction, as far as what can follow it is concerned.
type Insn struct {
	At, Size uint32   // address and bytes
	To       []uint32 // where it can branch to
	Table    uint32   // bytes of an entry of the table behind it that says where it branches to; 0: none
	Block    uint16   // instructions behind it that are conditional
	Ends     bool     // it never goes on to the next one
	Calls    bool     // To[0] is called, or jumped to for good
	Register bool     // it calls or jumps to what a register holds
	Jumps    bool     // it jumps there, if it is conditional not always
}

// Wide reports the first half-word of a 32-bit instruction.
func Wide(first uint16) bool { return first>>11 >= 0x1d }

// Decode takes the half-words at an address; second is ignored for 16-bit instructions.
func Decode(at uint32, first, second uint16) (x Insn) {
	size := uint32(2)
	if Wide(first) {
		x, size = wide(at, first, second), 4
	} else {
		x = narrow(at, first)
	}
	x.At, x.Size = at, size
	x.Register = x.Register || x.Jumps
	return x
}

// Signed extends the sign of a number of so many bits.
func Signed(v uint32, width int) uint32 { return uint32(int32(v<<(32-width)) >> (32 - width)) }

func narrow(a uint32, h uint16) (x Insn) {
	switch {
	case h>>8 == 0xbf && h&15 != 0: // IT
		x.Block = 4
		for m := h & 15; m&1 == 0; m >>= 1 {
			x.Block--
		}
	case h>>7 == 0x8f: // BLX Rm
		x.Register = true
	case h>>7 == 0x8e: // BX Rm
		x.Ends, x.Jumps = true, h>>3&15 != 14
	case h&0xff87 == 0x4687: // MOV PC, Rm
		x.Ends, x.Jumps = true, h>>3&15 != 14
	case h>>8 == 0xbd: // POP with PC
		x.Ends = true
	case h&0xf500 == 0xb100: // CBZ, CBNZ
		x.To = []uint32{a + 4 + uint32(h>>9&1)<<6 + uint32(h>>3&31)<<1}
	case h>>11 == 0x1c: // B
		x.To, x.Ends = []uint32{a + 4 + Signed(uint32(h&0x7ff)<<1, 12)}, true
	case h>>12 == 13 && h>>8&15 < 14: // B<cond>
		x.To = []uint32{a + 4 + Signed(uint32(h&0xff)<<1, 9)}
	}
	return x
}

func wide(a uint32, h, l uint16) (x Insn) {
	switch {
	case h>>11 == 0x1e && l>>15 == 1:
		return branch(a, h, l)
	case h&0xfff0 == 0xe8d0 && l&0xffe0 == 0xf000: // TBB, TBH
		x.Ends = true
		x.Table = 1 << (l >> 4 & 1)
	case h&0xffd0 == 0xe890 && l>>15 == 1: // LDM with PC
		x.Ends = true
	case h&0xff70 == 0xf850 && l>>12 == 15: // LDR PC
		x.Ends, x.Jumps = true, h != 0xf85d || l&0xf00 != 0xb00 // LDR PC, [SP], #n returns
	}
	return x
}

func branch(a uint32, h, l uint16) (x Insn) {
	sign, j1, j2 := uint32(h>>10&1), uint32(l>>13&1), uint32(l>>11&1)
	switch {
	case l>>14 == 3 && l>>12&1 == 0: // loops of Armv8.1-M
		x.To = low(a, h, l)
	case l>>12&1 == 1: // BL and B
		i1, i2 := ^(j1^sign)&1, ^(j2^sign)&1
		off := sign<<24 | i1<<23 | i2<<22 | uint32(h&0x3ff)<<12 | uint32(l&0x7ff)<<1
		x.To, x.Calls = []uint32{a + 4 + Signed(off, 25)}, l>>14&1 == 1
		x.Ends = !x.Calls
	case l>>14 == 2 && h>>6&15 < 14: // B<cond>
		off := sign<<20 | j2<<19 | j1<<18 | uint32(h&0x3f)<<12 | uint32(l&0x7ff)<<1
		x.To = []uint32{a + 4 + Signed(off, 21)}
	}
	return x
}

// low is where the end of a low-overhead loop goes back to, and where a loop that does not
// turn is left for; nothing for those that do not branch.
func low(a uint32, h, l uint16) []uint32 {
	off := (uint32(l>>1&0x3ff)<<1 | uint32(l>>11&1)) << 1
	switch {
	case l&0x1001 != 1 || l>>13 != 6:
		return nil // DLS, LCTP, VCTP
	case h == 0xf00f || h == 0xf02f || h == 0xf01f: // LE, LETP
		return []uint32{a + 4 - off}
	case h&0xff80 == 0xf000: // WLS, WLSTP
		return []uint32{a + 4 + off}
	}
	return nil
}

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
	"load_many", "store_many", "branch", "call", "jump", "loop", "loop_start", "float", "float_mac", "float_div",
	"vec_load", "vec_store", "gather", "vec_mul", "vec_alu", "system"}

func (c Class) String() string { return classNames[c] }

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
