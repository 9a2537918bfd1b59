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
