// SPDX-License-Identifier: Apache-2.0

package thumb

import (
	"math/bits"
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
	pattern    string
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

// rows completes a table, the first row that fits counts.
func rows(list ...row) (out []row) {
	for _, r := range list {
		if strings.Contains(r.pattern, "FFFF") {
			for _, number := range []string{"1001", "101."} {
				x := r
				x.pattern = strings.Replace(r.pattern, "FFFF", number, 1)
				out = append(out, rows(x)...)
			}
			continue
		}
		r.masks = map[byte]uint32{}
		for i, c := range []byte(strings.ReplaceAll(r.pattern, " ", "")) {
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
		out = append(out, r)
	}
	return out
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

var narrowRows = rows(
	row{pattern: "00100ddd........"}, // MOV
	row{pattern: "00101nnn........"}, // CMP
	row{pattern: "0011.bbb........"}, // ADD, SUB
	row{pattern: "000110.mmmnnnddd"}, // ADD, SUB
	row{pattern: "000.......nnnddd"}, // shifts
	row{pattern: "0100001000nnnmmm"}, // TST
	row{pattern: "010000101.nnnmmm"}, // CMP, CMN
	row{pattern: "0100001101nnnbbb", class: Mul},
	row{pattern: "010000....nnnbbb"},
	row{pattern: "01000111.nnnn...", class: Jump}, // BX, BLX
	row{pattern: "010001.01nnnn111", class: Jump}, // ADD, MOV PC
	row{pattern: "01000101mnnnnmmm"},              // CMP
	row{pattern: "01000110dnnnnddd"},              // MOV
	row{pattern: "01000100bnnnnbbb"},              // ADD
	row{pattern: "01001ttt........", class: Load, bytes: 4},
	row{pattern: "0101L00mmmnnnttt", class: Load, bytes: 4},
	row{pattern: "0101L01mmmnnnttt", class: Load, bytes: 2},
	row{pattern: "0101L10mmmnnnttt", class: Load, bytes: 1},
	row{pattern: "0101011mmmnnnttt", class: Load, bytes: 1}, // LDRSB
	row{pattern: "0101111mmmnnnttt", class: Load, bytes: 2}, // LDRSH
	row{pattern: "0110L.....nnnttt", class: Load, bytes: 4},
	row{pattern: "0111L.....nnnttt", class: Load, bytes: 1},
	row{pattern: "1000L.....nnnttt", class: Load, bytes: 2},
	row{pattern: "1001Lttt........", class: Load, bytes: 4, src: Bit(13)},
	row{pattern: "1010.ddd........"},                // ADR, ADD of the stack pointer
	row{pattern: "1011.0.1.....nnn", class: Branch}, // CBZ, CBNZ
	row{pattern: "1011010pllllllll", class: StoreMany},
	row{pattern: "1011110Pllllllll", class: LoadMany},
	row{pattern: "1011.110........", class: System}, // BKPT, CPS
	row{pattern: "1011.010..nnnddd"},                // extensions, REV
	row{pattern: "1011......nnn..."},
	row{pattern: "1100Lnnnllllllll", class: LoadMany},
	row{pattern: "1101111.........", class: System},
	row{pattern: "11..............", class: Branch},
)

var wideRows = rows(
	// load and store multiple, pairs, exclusive, table branches
	row{pattern: "1110100..0.Lnnnn Plllllllllllllll", class: LoadMany},
	row{pattern: "111010001101nnnn ........0000mmmm", class: Jump, bytes: 1}, // TBB
	row{pattern: "111010001101nnnn ........0001mmmm", class: Jump, bytes: 2}, // TBH
	row{pattern: "11101000.10Lnnnn tttt............", class: Load, bytes: 4},
	row{pattern: "1110100..1.Lnnnn ttttuuuu........", class: LoadPair, bytes: 8},
	// shifted registers, immediates
	row{pattern: "1110101.....NNNN ....DDDD....mmmm"},
	row{pattern: "11110.......NNNN 0...DDDD........"},
	// branches, low-overhead loops and system instructions
	row{pattern: "1111000000..1111 1100............", class: Loop},   // LE, LETP
	row{pattern: "11110.......nnnn 1110100000000001", class: VecALU}, // VCTP
	row{pattern: "11110.......NNNN 11.0............", class: LoopStart},
	row{pattern: "11110........... 11.1............", class: Call},
	row{pattern: "11110........... 10.1............", class: Branch},
	row{pattern: "1111001110101111 10.0............"}, // hints
	row{pattern: "11110.111....... 10.0............", class: System},
	row{pattern: "11110........... 10.0............", class: Branch}, // with a condition
	// one register; the first three rows are hints to load
	row{pattern: "1111100..0.11111 1111............"},
	row{pattern: "1111100.00.1nnnn 11110.......mmmm"},
	row{pattern: "1111100..0.1nnnn 1111............"},
	row{pattern: "1111100..zzL1111 tttt............", class: Load, bytes: 1},
	row{pattern: "1111100.0zzLnnnn tttt0.......mmmm", class: Load, bytes: 1},
	row{pattern: "1111100..zzLnnnn tttt............", class: Load, bytes: 1},
	// shifts, extensions, parallel addition; products, division
	row{pattern: "11111010....NNNN ....DDDD....mmmm"},
	row{pattern: "111110110...nnnn 1111dddd....mmmm", class: Mul},
	row{pattern: "111110110000nnnn ccccdddd....mmmm", class: MulAdd},
	row{pattern: "111110110...nnnn ccccdddd....mmmm", class: Mul},
	row{pattern: "1111101110.1nnnn ....dddd....mmmm", class: Div},
	row{pattern: "1111101111..nnnn eeeeffff....mmmm", class: LongMul}, // SMLAL, SMLSLD, UMLAL, UMAAL
	row{pattern: "111110111...nnnn ggggdddd....mmmm", class: LongMul},
	// memory of floating point: VLDR, VSTR, moves of two registers, VLDM, VSTM
	row{pattern: "11101101..0LNNNN ....1011........", class: Load, bytes: 8},
	row{pattern: "11101101..0LNNNN ....FFFF........", class: Load, bytes: 4},
	row{pattern: "11101100010.nnnn mmmmFFFF........", class: Float},
	row{pattern: "1110110....Lnnnn ....FFFFwwwwwwww", class: LoadMany},
	// of Helium: moves of two lanes, addresses in a vector, VLD2 and VLD4, offsets in a vector, contiguous
	row{pattern: "1111110...1..... ....1000........", class: VecMul}, // VCMLA
	row{pattern: "1111110......... ....1000........", class: VecALU}, // VCADD
	row{pattern: "111.11000.0.nnnn ............mmmm", class: Float},
	row{pattern: "11111101...L.... ...1...1........", class: Gather, bytes: 16, lanes: 2},
	row{pattern: "11111101...L.... ...1............", class: Gather, bytes: 16, lanes: 4},
	row{pattern: "11111100...Lnnnn ...1............", class: VecLoad},
	row{pattern: "111.1100..0Lnnnn .......yy.......", class: Gather, bytes: 16},
	row{pattern: "111.110....Lnnnn ...1............", class: VecLoad},
	row{pattern: "111.110....Lxnnn .......yy.......", class: VecLoad},
	// arithmetic of floating point
	row{pattern: "111011101..0.... nnnn1011...1....", class: VecALU}, // VDUP
	row{pattern: "11101110...0.... nnnnFFFF...1....", class: Float},
	row{pattern: "11101110...1.... ....FFFF...1....", class: Float},
	row{pattern: "111011101.00.... ....FFFF.0.0....", class: FloatDiv},
	row{pattern: "111011100.0..... ....FFFF...0....", class: FloatMac},
	row{pattern: "111011101.01.... ....FFFF...0....", class: FloatMac},
	row{pattern: "111011101.10.... ....FFFF...0....", class: FloatMac},
	row{pattern: "111011101.110001 ....FFFF11.0....", class: FloatDiv}, // VSQRT
	row{pattern: "111.1110........ ....FFFF........", class: Float},
	// of Helium, two vectors: VMUL, VQDMULH, VFMA, VMUL of floats
	row{pattern: "111.1111........ ....1001...1....", class: VecMul},
	row{pattern: "111.11110....... ....1011...0....", class: VecMul},
	row{pattern: "111.1111........ ....1100...1....", class: VecMul},
	row{pattern: "11111111........ ....1101...1....", class: VecMul},
	// sums over lanes (VMLADAV, VABAV; not VADDV and VMAXV)
	row{pattern: "111.11101....... ....1110........", class: VecMul},
	row{pattern: "111.11101110.... ....1111........", class: VecALU},
	row{pattern: "111.11101......0 ....1111.0......", class: VecMul},
	// a vector and a core register: all but VBRSR and shifts; VQDMULL
	row{pattern: "111111100....... ...11110.11.nnnn", class: VecALU},
	row{pattern: "111.11100.11.... ...11110.11.nnnn", class: VecALU},
	row{pattern: "111.11100....... ....1110.1..nnnn", class: VecMul},
	row{pattern: "111.11100.11...0 ....1111.11.nnnn", class: VecMul},
	row{pattern: "111.11100....... ....1111.1..nnnn", class: VecALU},
	// VMULL, VMULH, VCMUL; not VMOVN; VQDMULL
	row{pattern: "111.11100.11...1 ....1110.0......", class: VecALU},
	row{pattern: "111.11100....... ....1110.0......", class: VecMul},
	row{pattern: "111.11100.11...0 ....1111.0.....1", class: VecMul},
	row{pattern: "111.111......... ................", class: VecALU},
)
