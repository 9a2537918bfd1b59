// SPDX-License-Identifier: Apache-2.0

package paths

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/nncc/nncc/boards/stack"
	"github.com/nncc/nncc/boards/thumb"
)

// function is a decoded function.
type function struct {
	stack.Code
	insns []thumb.Insn
	index map[uint32]int // of instructions, by address
}

// decode reads a function from its first to its last instruction.
func decode(c stack.Code, named func(addr uint32) string) *function {
	f := &function{Code: c, index: map[uint32]int{}}
	block := uint16(0) // instructions left of an IT block
	for a := c.Start; a+2 <= c.End; {
		if c.IsData(a) {
			a += 2
			continue
		}
		x := f.at(a)
		if x.Calls && len(x.To) > 0 {
			f.table(&x, named(x.To[0]))
		}
		if block > 0 {
			block--
			x.Ends = false // or it is not executed
		}
		if x.Block > 0 {
			block = x.Block
		}
		f.index[a] = len(f.insns)
		f.insns = append(f.insns, x)
		a += x.Size
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

// at decodes the instruction at an address.
func (f *function) at(a uint32) thumb.Insn {
	x := thumb.Decode(a, f.half(a), f.half(a+2))
	if x.Table > 0 {
		x.To = f.targets(a+4, x.Table)
	}
	// A branch out of the function is a call, and comes back to the caller's caller.
	if len(x.To) == 1 && !x.Calls && (x.To[0] < f.Start || x.To[0] >= f.End) {
		x.Calls = true
	}
	return x
}

// table makes the compiler's function for switches of Armv6-M what it is: a jump by the
// table behind the call.
func (f *function) table(x *thumb.Insn, name string) {
	kind, ok := strings.CutPrefix(name, "__gnu_thumb1_case_")
	if !ok {
		return
	}
	x.Calls, x.Ends, x.To = false, true, nil
	switch kind {
	case "uqi":
		x.To = f.targets(x.At+4, 1)
	case "uhi":
		x.To = f.targets(x.At+4, 2)
	default:
		x.Register, x.Jumps = true, true
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
