// SPDX-License-Identifier: Apache-2.0

package thumb

import (
	_ "embed"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

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
	v, table, size := uint32(first)<<16, narrowRows, 2
	if Wide(first) {
		v, table, size = v|uint32(second), wideRows, 4
	}
	for i := range table {
		if r := &table[i]; v&r.mask == r.bits {
			w := r.work(v)
			w.Size = size
			return w
		}
	}
	return Work{Class: System, Size: size}
}

// row is an encoding: the fixed bits of its half-words, and a letter for each bit of a field. Fields are registers
// (roles says what becomes of them) and
//
//	l  a list of registers, p one more that is no core register, P the program counter
//	w  how many registers
//	L  0: it stores, and is of the class behind that of the row
//	z  the logarithm of the bytes that it moves
//	y  that of 16 by the bytes of an element in a vector, x that of its bytes by those in memory
//
// FFFF is the number of the coprocessor for floating point, 9 to 11.
type row struct {
	class      Class
	bytes      int    // that it moves
	src        uint16 // registers that it always reads
	lanes      int
	mask, bits uint32
	masks      map[byte]uint32 // of the fields
}

// What becomes of a register.
const (
	reads = 1 << iota
	writes
	loads
	adds  // it is the one that a product is added to
	but15 // 15 stands for none, as in moves
)

var roles = map[byte]int{'n': reads, 'm': reads, 'N': reads | but15, 'd': writes, 'g': writes, 'D': writes | but15,
	'b': reads | writes, 't': loads, 'u': loads, 'c': reads | adds, 'e': reads | adds | writes,
	'f': reads | adds | writes}

//go:embed encodings.txt
var encodings string

// narrowRows and wideRows are the encodings, the first row that fits counts.
var narrowRows, wideRows = func() (narrow, wide []row) {
	for line := range strings.Lines(encodings) {
		line, _, _ = strings.Cut(line, "#")
		numbers := []string{"1001", "101."}
		if !strings.Contains(line, "FFFF") {
			numbers = numbers[:1]
		}
		for _, n := range numbers {
			switch r, size := parse(strings.Replace(line, "FFFF", n, 1)); size {
			case 16:
				narrow = append(narrow, r)
			case 32:
				wide = append(wide, r)
			}
		}
	}
	return narrow, wide
}()

// parse takes a line of the table, and says how many bits its encoding has.
func parse(line string) (r row, size int) {
	pattern, class, always := "", "alu", uint16(0)
	fmt.Sscan(line, &pattern, &class, &r.bytes, &r.lanes, &always)
	pattern = strings.ReplaceAll(pattern, ",", "")
	r.class, r.masks = Class(slices.Index(classNames[:], class)), map[byte]uint32{}
	if always > 0 {
		r.src = Bit(always)
	}
	for i, c := range []byte(pattern) {
		bit := uint32(1) << (31 - i)
		switch c {
		case '1':
			r.bits, r.mask = r.bits|bit, r.mask|bit
		case '0':
			r.mask |= bit
		default:
			r.masks[c] |= bit
		}
	}
	return r, len(pattern)
}

func (r *row) field(v uint32, letter byte) (n uint16) {
	for m := r.masks[letter]; m != 0; {
		top := uint32(1) << (bits.Len32(m) - 1)
		n, m = n<<1, m&^top
		if v&top != 0 {
			n |= 1
		}
	}
	return n
}

func (r *row) work(v uint32) Work {
	w := Work{Class: r.class, Bytes: r.bytes << r.field(v, 'z'), Src: r.src, Lanes: r.lanes}
	for letter := range r.masks {
		n, role := r.field(v, letter), roles[letter]
		if n == 15 && role&but15 != 0 {
			continue
		}
		for to, is := range map[*uint16]int{&w.Src: reads, &w.Out: writes, &w.Dst: loads, &w.Acc: adds} {
			if role&is != 0 {
				*to |= Bit(n)
			}
		}
	}
	w.PC = w.Dst == Bit(15)
	stores := r.masks['L'] != 0 && r.field(v, 'L') == 0
	switch w.Class {
	case LoadPair:
		w.Regs = 2
	case LoadMany, StoreMany:
		list := r.field(v, 'l')
		w.Regs = bits.OnesCount16(list) + int(r.field(v, 'p')+r.field(v, 'P')+r.field(v, 'w'))
		w.Bytes, w.Dst, w.PC = 4*w.Regs, list, r.field(v, 'P') == 1
	case Gather:
		w.Loads, stores = !stores, false
		if r.masks['y'] != 0 {
			w.Lanes = 16 >> r.field(v, 'y')
		}
	case VecLoad:
		w.Bytes = 16 >> r.field(v, 'y') << r.field(v, 'x')
	}
	if stores {
		w.Class++
	}
	if stores || w.Class == StoreMany {
		w.Src, w.Dst, w.PC = w.Src|w.Dst, 0, false
	}
	return w
}
