// SPDX-License-Identifier: Apache-2.0

package paths

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/nncc/nncc/boards/stack"
)

// insn is an instruction, as far as what can follow it is concerned.
type insn struct {
	at, size uint32
	to       []uint32 // where it can branch to
	ends     bool     // it never goes on to the next one
	calls    bool     // to[0] is called, or jumped to for good
	register bool     // it calls or jumps to what a register holds
	jumps    bool     // it jumps there, if it is conditional not always
}

// function is a decoded function.
type function struct {
	stack.Code
	insns []insn
	index map[uint32]int // of instructions, by address
}

// decode reads a function from its first to its last instruction. Arm's Architecture
// Reference Manuals for Armv6-M to Armv8.1-M have the encodings.
func decode(c stack.Code, named func(addr uint32) string) *function {
	f := &function{Code: c, index: map[uint32]int{}}
	block := uint16(0) // instructions left of an IT block
	for a := c.Start; a+2 <= c.End; {
		if c.IsData(a) {
			a += 2
			continue
		}
		x, opens := f.at(a)
		if x.calls && len(x.to) > 0 {
			f.table(&x, named(x.to[0]))
		}
		if block > 0 {
			block--
			x.ends = false // or it is not executed
		}
		if opens > 0 {
			block = opens
		}
		f.index[a] = len(f.insns)
		f.insns = append(f.insns, x)
		a += x.size
	}
	return f
}

// half is the half-word at an address, 0 behind the end.
func (f *function) half(a uint32) uint16 {
	if a < f.Start || a+2 > f.End {
		return 0
	}
	return binary.LittleEndian.Uint16(f.Bytes[a-f.Start:])
}

// at decodes the instruction at an address; block is how many instructions are
// conditional behind an IT.
func (f *function) at(a uint32) (x insn, block uint16) {
	h := f.half(a)
	if h>>11 >= 0x1d {
		x = f.wide(a, h, f.half(a+2))
		x.at, x.size = a, 4
	} else {
		x, block = f.narrow(a, h)
		x.at, x.size = a, 2
	}
	x.register = x.register || x.jumps
	// A branch out of the function is a call, and comes back to the caller's caller.
	if len(x.to) == 1 && !x.calls && (x.to[0] < f.Start || x.to[0] >= f.End) {
		x.calls = true
	}
	return x, block
}

func signed(v uint32, width int) uint32 { return uint32(int32(v<<(32-width)) >> (32 - width)) }

func (f *function) narrow(a uint32, h uint16) (x insn, block uint16) {
	switch {
	case h>>8 == 0xbf && h&15 != 0: // IT
		block = 4
		for m := h & 15; m&1 == 0; m >>= 1 {
			block--
		}
	case h>>7 == 0x8f: // BLX Rm
		x.register = true
	case h>>7 == 0x8e: // BX Rm
		x.ends, x.jumps = true, h>>3&15 != 14
	case h&0xff87 == 0x4687: // MOV PC, Rm
		x.ends, x.jumps = true, h>>3&15 != 14
	case h>>8 == 0xbd: // POP with PC
		x.ends = true
	case h&0xf500 == 0xb100: // CBZ, CBNZ
		x.to = []uint32{a + 4 + uint32(h>>9&1)<<6 + uint32(h>>3&31)<<1}
	case h>>11 == 0x1c: // B
		x.to, x.ends = []uint32{a + 4 + signed(uint32(h&0x7ff)<<1, 12)}, true
	case h>>12 == 13 && h>>8&15 < 14: // B<cond>
		x.to = []uint32{a + 4 + signed(uint32(h&0xff)<<1, 9)}
	}
	return x, block
}

func (f *function) wide(a uint32, h, l uint16) (x insn) {
	switch {
	case h>>11 == 0x1e && l>>15 == 1:
		return branch(a, h, l)
	case h&0xfff0 == 0xe8d0 && l&0xffe0 == 0xf000: // TBB, TBH
		x.ends = true
		x.to = f.targets(a+4, 1<<(l>>4&1))
	case h&0xffd0 == 0xe890 && l>>15 == 1: // LDM with PC
		x.ends = true
	case h&0xff70 == 0xf850 && l>>12 == 15: // LDR PC
		x.ends, x.jumps = true, h != 0xf85d || l&0xf00 != 0xb00 // LDR PC, [SP], #n returns
	}
	return x
}

// branch decodes the 32-bit branches.
func branch(a uint32, h, l uint16) (x insn) {
	sign, j1, j2 := uint32(h>>10&1), uint32(l>>13&1), uint32(l>>11&1)
	switch {
	case l>>14 == 3 && l>>12&1 == 0: // loops of Armv8.1-M
		x.to = low(a, h, l)
	case l>>12&1 == 1: // BL and B
		i1, i2 := ^(j1^sign)&1, ^(j2^sign)&1
		off := sign<<24 | i1<<23 | i2<<22 | uint32(h&0x3ff)<<12 | uint32(l&0x7ff)<<1
		x.to, x.calls = []uint32{a + 4 + signed(off, 25)}, l>>14&1 == 1
		x.ends = !x.calls
	case l>>14 == 2 && h>>6&15 < 14: // B<cond>
		off := sign<<20 | j2<<19 | j1<<18 | uint32(h&0x3f)<<12 | uint32(l&0x7ff)<<1
		x.to = []uint32{a + 4 + signed(off, 21)}
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

// table makes the compiler's function for switches of Armv6-M what it is: a jump by the
// table behind the call.
func (f *function) table(x *insn, name string) {
	kind, ok := strings.CutPrefix(name, "__gnu_thumb1_case_")
	if !ok {
		return
	}
	x.calls, x.ends, x.to = false, true, nil
	switch kind {
	case "uqi":
		x.to = f.targets(x.at+4, 1)
	case "uhi":
		x.to = f.targets(x.at+4, 2)
	default:
		x.register, x.jumps = true, true
	}
}

// targets reads a table of distances in half-words, of so many bytes each.
func (f *function) targets(from uint32, bytes uint32) []uint32 {
	var out []uint32
	for a := from; a+bytes <= f.End && f.IsData(a); a += bytes {
		d := uint32(f.Bytes[a-f.Start])
		if bytes == 2 {
			d = uint32(f.half(a))
		}
		if to := from + 2*d; to < f.End && !f.IsData(to) && !slices.Contains(out, to) {
			out = append(out, to)
		}
	}
	return out
}
