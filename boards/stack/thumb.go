// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"math/bits"

	"github.com/nncc/nncc/boards/thumb"
)

const (
	regSP = 13
	regLR = 14
	regPC = 15
)

// scan is what is known of a function at an instruction: Arm's Architecture
// Reference Manuals for Armv6-M to Armv8.1-M have the encodings.
type scan struct {
	im *image
	b  *body
	f  *Function
	// value are registers that hold a constant.
	value map[uint16]uint32
	// returns are registers that held the return address at some time: branches
	// to them leave the function.
	returns uint16
	frame   uint16 // frame pointers that were made from the stack pointer
	jumps   []uint16
	// constants are functions whose addresses the code loads: what calls
	// through registers can reach without a table.
	constants []int
	// inside says that the function takes the address of an instruction of its
	// own: what is jumped to through registers lies there.
	inside bool
	ends   bool // the instruction never goes on to the next one
}

// framePointers are the registers that compilers restore the stack pointer from.
const framePointers = 1<<7 | 1<<11

// literal notes a constant in a register.
func (s *scan) literal(r uint16, v uint32) {
	s.value[r] = v
	if k := s.im.at(v &^ 1); v&1 == 1 && k >= 0 && s.im.bodies[k].start == v&^1 {
		s.constants = append(s.constants, k)
	}
}

// compute notes a constant that is made of another one: cores with 16-bit
// instructions make the size of large frames so.
func (s *scan) compute(rd, rm uint16, f func(uint32) uint32) {
	v, ok := s.value[rm]
	if delete(s.value, rd); ok {
		s.value[rd] = f(v)
	}
}

func (s *scan) dynamic(why string) {
	if s.f.Dynamic == "" {
		s.f.Dynamic = why
	}
}

// goes notes a branch: to another function it is a call, as far as the stack
// is concerned.
func (s *scan) goes(to uint32, link bool) {
	if to >= s.b.start && to < s.b.end {
		if link && to == s.b.start {
			s.f.Calls = append(s.f.Calls, s.im.at(to))
		}
		return
	}
	if k := s.im.at(to); k >= 0 {
		s.f.Calls = append(s.f.Calls, k)
	}
}

// called forgets the registers that a called function may change.
func (s *scan) called() {
	for _, r := range []uint16{0, 1, 2, 3, 12, regLR} {
		delete(s.value, r)
	}
}

func (s *scan) narrow(a uint32, h uint16) {
	rd, rm := h&7|h>>4&8, h>>3&15 // of the forms with high registers
	s.ends = false
	switch {
	case h>>11 == 4: // MOVS Rd, #imm8
		s.literal(h>>8&7, uint32(h&0xff))
	case h>>11 == 0: // LSLS Rd, Rm, #imm5
		s.compute(h&7, rm&7, func(v uint32) uint32 { return v << (h >> 6 & 31) })
	case h>>11 == 6: // ADDS Rd, #imm8
		s.compute(h>>8&7, h>>8&7, func(v uint32) uint32 { return v + uint32(h&0xff) })
	case h>>6 == 0x109: // NEGS Rd, Rm
		s.compute(h&7, rm&7, func(v uint32) uint32 { return -v })
	case h>>11 == 9: // LDR Rt, literal
		s.load(h>>8&7, (a+4)&^3+uint32(h&0xff)*4)
	case h>>8 == 0x44 && rd == regSP: // ADD SP, Rm
		s.moveBy(rm, -1)
	case h>>8 == 0x46: // MOV
		s.move(rd, rm)
	case h>>7 == 0x8f: // BLX Rm
		s.f.Indirect = true
		s.called()
	case h>>7 == 0x8e: // BX Rm
		s.ends = true
		if rm != regLR {
			s.jumps = append(s.jumps, rm)
		}
	case h>>11 == 0x14: // ADR
		delete(s.value, h>>8&7)
		s.takes((a+4)&^3 + uint32(h&0xff)*4)
	case h>>11 == 0x15: // ADD Rd, SP, #imm
		s.pointer(h >> 8 & 7)
	case h>>9 == 0x5a: // PUSH
		s.grow(4 * uint32(bits.OnesCount16(h&0x1ff)))
	case h>>9 == 0x5e: // POP
		s.pop(h&0xff | h&0x100<<7)
	case h>>7 == 0x161: // SUB SP, #imm
		s.grow(4 * uint32(h&0x7f))
	case h>>11 == 0x1c || h>>12 == 13: // B, B<cond>
		s.follow(thumb.Decode(a, h, 0))
	case h>>13 == 1 || h>>12 == 9 || h>>12 == 10 || h>>12 == 12:
		delete(s.value, h>>8&7)
	case h>>8 == 0x44:
		delete(s.value, rd)
	case h>>12 < 9:
		delete(s.value, h&7)
	}
}

// load is a literal's way into a register.
func (s *scan) load(r uint16, at uint32) {
	v, ok := s.b.word(at)
	switch {
	case !ok:
		delete(s.value, r)
	case r == regPC:
		s.ends = true
		s.goes(v&^1, false)
	default:
		s.literal(r, v)
	}
}

func (s *scan) move(rd, rm uint16) {
	v, known := s.value[rm]
	delete(s.value, rd)
	switch {
	case rd == regPC:
		s.ends = true
	case rd == regSP:
		if s.frame>>rm&1 == 0 {
			s.dynamic("sets the stack pointer from a register")
		}
	case rm == regLR:
		s.returns |= 1 << rd
	case rm == regSP:
		s.pointer(rd)
	case known:
		s.value[rd] = v
	}
}

// takes notes an address of code or data near the instruction.
func (s *scan) takes(addr uint32) {
	s.inside = s.inside || addr >= s.b.start && addr < s.b.end && !s.b.isData(addr)
}

// pointer notes an address in the frame.
func (s *scan) pointer(r uint16) {
	delete(s.value, r)
	s.frame |= 1 << r & framePointers
}

// pop notes registers that come from the stack: the return address may be
// among them.
func (s *scan) pop(list uint16) {
	s.returns |= list
	s.ends = list>>regPC == 1
	for r := range uint16(regSP) {
		if list>>r&1 == 1 {
			delete(s.value, r)
		}
	}
}

// grow notes bytes taken from the stack; what is given back does not count.
func (s *scan) grow(n uint32) { s.f.Frame += int(n) }

// moveBy adds a register, times 1 or -1, to the frame.
func (s *scan) moveBy(r uint16, sign int) {
	v, ok := s.value[r]
	if !ok {
		s.dynamic("moves the stack pointer by a number in a register")
		return
	}
	if n := sign * int(int32(v)); n > 0 {
		s.f.Frame += n
	}
}

func (s *scan) wide(a uint32, h, l uint16) {
	rn, rd := h&15, l>>8&15
	imm12 := uint32(h>>10&1)<<11 | uint32(l>>12&7)<<8 | uint32(l&0xff)
	s.ends = false
	switch {
	case h>>11 == 0x1e && l>>15 == 1:
		s.follow(thumb.Decode(a, h, l))
		return
	case h&0xfbf0 == 0xf240: // MOVW
		s.literal(rd, uint32(h&15)<<12|imm12)
		return
	case h&0xfbf0 == 0xf2c0: // MOVT
		if v, ok := s.value[rd]; ok {
			s.literal(rd, v&0xffff|(uint32(h&15)<<12|imm12)<<16)
		}
		return
	case h&0xfbef == 0xf04f: // MOV.W Rd, #const
		s.literal(rd, expand(imm12))
		return
	case h&0xff7f == 0xf85f: // LDR.W Rt, literal
		off := uint32(l & 0xfff)
		if h>>7&1 == 0 {
			off = -off
		}
		s.load(l>>12, (a+4)&^3+off)
		return
	case h&0xffd0 == 0xe890 && rn == regSP: // POP
		s.pop(l)
		return
	case h == 0xf85d && l&0x0fff == 0x0b04: // POP of one register
		s.pop(1 << (l >> 12))
		return
	case h&0xfbef == 0xf10d || h&0xfbff == 0xf20d: // ADD Rd, SP, #const
		s.pointer(rd)
		return
	}
	s.moves(a, h, l, imm12)
	delete(s.value, rd) // whatever else it is, it may write these
	delete(s.value, l>>12)
}

// moves follows an instruction of two halves that may move the stack pointer or end a way; what it writes is not known.
func (s *scan) moves(a uint32, h, l uint16, imm12 uint32) {
	rn, rd := h&15, l>>8&15
	switch {
	case h == 0xe92d: // PUSH
		s.grow(4 * uint32(bits.OnesCount16(l)))
	case h&0xfff0 == 0xe8d0 && l&0xffe0 == 0xf000: // TBB, TBH
		s.ends = true
	case h&0xfee0 == 0xe860 && rn == regSP: // STRD and LDRD with write-back, downwards
		s.grow(4 * uint32(l&0xff))
	case h&0xff9f == 0xf80d && l&0x0f00 == 0x0d00: // STR, STRB, STRH [SP, #-imm8]!
		s.grow(uint32(l & 0xff))
	case h&0xffbf == 0xed2d && l>>9&7 == 5: // VPUSH
		s.grow(4 * uint32(l&0xff))
	case h&0xffbf == 0xed2d && l>>9&7 == 7: // Helium's VSTR [SP, #-imm7]!
		s.grow(uint32(l&0x7f) << (l >> 7 & 3))
	case h&0xfbef == 0xf1ad && rd == regSP: // SUB.W SP, SP, #const
		s.grow(expand(imm12))
	case h&0xfbff == 0xf2ad && rd == regSP: // SUBW
		s.grow(imm12)
	case h&0xffef == 0xebad && rd == regSP && l&0x70f0 == 0: // SUB.W SP, SP, Rm
		s.moveBy(l&15, 1)
	case h&0xffef == 0xeb0d && rd == regSP && l&0x70f0 == 0: // ADD.W SP, SP, Rm
		s.moveBy(l&15, -1)
	case (h&0xffef == 0xebad || h&0xffef == 0xeb0d) && rd == regSP:
		s.dynamic("moves the stack pointer by a number in a register")
	case h&0xfbff == 0xf20f: // ADR.W
		s.takes((a+4)&^3 + imm12)
	case h&0xfbff == 0xf2af:
		s.takes((a+4)&^3 - imm12)
	}
}

func (s *scan) follow(x thumb.Insn) {
	for _, to := range x.To {
		s.goes(to, x.Calls)
	}
	if s.ends = x.Ends; x.Calls {
		s.called()
	}
}

// finish decides what the calls through registers are.
func (s *scan) finish() {
	for _, r := range s.jumps {
		if s.returns>>r&1 == 0 && !s.inside { // else the function ends there, or goes on
			s.f.Indirect = true
		}
	}
	if s.f.Indirect {
		s.f.Constants = len(s.constants) > 0
		s.f.Calls = append(s.f.Calls, s.constants...)
	}
}

// expand is ThumbExpandImm of the manuals.
func expand(v uint32) uint32 {
	b := v & 0xff
	switch v >> 8 {
	case 0:
		return b
	case 1:
		return b<<16 | b
	case 2:
		return b<<24 | b<<8
	case 3:
		return b<<24 | b<<16 | b<<8 | b
	}
	return bits.RotateLeft32(v&0x7f|0x80, -int(v>>7))
}
