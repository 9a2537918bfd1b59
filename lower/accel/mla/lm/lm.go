// SPDX-License-Identifier: Apache-2.0

// Package lm reads, writes, checks and prints segment files (.lm): the part of
// a model that an MLA runs as one, as a tensor table, a command stream and
// weights. The format is described in README.md; runtime_c/include/mla has the
// same description for C, and runtime_c/src/mla a driver that executes it.
package lm

import (
	"fmt"

	"github.com/nncc/nncc/ir/lists"
)

// Version of the format that this package writes. A reader takes files of the
// same major version and of minor versions up to its own.
const (
	Major = 2
	Minor = 1
)

// Align is the alignment in bytes of sections in a file, of the file in memory,
// and of the working memory of a segment.
const Align = 16

// Limits of what a file can hold. They keep every product of two sizes within
// 64 bits, and every offset within 32.
const (
	MaxBytes    = 1 << 29 // of a tensor, of the working memory, of a file
	MaxTensors  = 1 << 20
	MaxCommands = 1 << 20
	MaxDims     = 8
	MaxWork     = 1 << 48 // see Segment.Work
)

// DType is the element type of a tensor.
type DType uint8

// The element types. Affine is a record of a linear function: int64 bias, int32
// multiplier, int32 shift.
const (
	I8 DType = iota + 1
	U8
	I16
	I32
	U32
	I64
	F64
	Affine
	BF16
	F32
)

var dtypes = map[DType]struct {
	name string
	size int
}{I8: {"i8", 1}, U8: {"u8", 1}, I16: {"i16", 2}, I32: {"i32", 4}, U32: {"u32", 4}, I64: {"i64", 8}, F64: {"f64", 8},
	Affine: {"affine", 16}, BF16: {"bf16", 2}, F32: {"f32", 4}}

// Size is the bytes of an element, 0 for a type that does not exist.
func (d DType) Size() int { return dtypes[d].size }

func (d DType) String() string {
	if x, ok := dtypes[d]; ok {
		return x.name
	}
	return fmt.Sprintf("dtype(%d)", uint8(d))
}

// Role says where the bytes of a tensor are and who writes them.
type Role uint8

// Inputs and outputs are exchanged with the host, in the order in which they
// stand in the tensor table; Temp is memory of the segment, Const is weights.
const (
	Input Role = iota + 1
	Output
	Temp
	Const
)

var roles = map[Role]string{Input: "input", Output: "output", Temp: "temp", Const: "const"}

func (r Role) String() string {
	if s, ok := roles[r]; ok {
		return s
	}
	return fmt.Sprintf("role(%d)", uint8(r))
}

// Tensor is an entry of the tensor table.
type Tensor struct {
	Name  string
	DType DType
	Role  Role
	// Shape is in memory order, outermost first: N, H, W, C for feature maps.
	// Order says which logical dimension of the ONNX model stands at each place.
	Shape []int
	Order []int
	// Scale and Zero are the quantisation of activations; Scale 0: none.
	Scale float32
	Zero  int32
	// Offset is in the segment's working memory, of Const tensors in the weights.
	Offset int
	// Data are the bytes of a Const tensor, little-endian.
	Data []byte
}

// Elems is the number of elements.
func (t *Tensor) Elems() int {
	n := 1
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// Bytes is the size of the tensor.
func (t *Tensor) Bytes() int { return t.Elems() * t.DType.Size() }

// Operand is a place in a tensor, from a byte offset on. Tensor None stands for
// an operand that is left out.
type Operand struct {
	Tensor int
	Offset int
}

// None marks an optional operand that is absent.
const None = -1

// Command is one operation. Operands and parameters are those of its opcode's
// row in Ops; a number of type float64 takes two parameters, the low word first.
type Command struct {
	Op       Opcode
	Name     string // of the node it belongs to
	Operands []Operand
	Params   []int32
}

// Segment is what a file holds.
type Segment struct {
	Name string
	// Memory is the working memory in bytes: run-time tensors and scratch.
	Memory int
	// MACs are the multiply-accumulate operations of one run, and Work the sum of
	// the elementary steps of all commands, by which a driver bounds a run. Both
	// follow from the commands: Count sets them, Validate checks them.
	MACs, Work uint64
	Tensors    []Tensor
	Commands   []Command
}

// Inputs and Outputs are the indices of the tensors exchanged with the host.
func (s *Segment) Inputs() []int { return s.role(Input) }

// Outputs are like Inputs.
func (s *Segment) Outputs() []int { return s.role(Output) }

func (s *Segment) role(r Role) []int {
	return lists.Where(len(s.Tensors), func(i int) bool { return s.Tensors[i].Role == r })
}

// WeightBytes is the size of all Const tensors.
func (s *Segment) WeightBytes() int {
	n := 0
	for i := range s.Tensors {
		if s.Tensors[i].Role == Const {
			n += len(s.Tensors[i].Data)
		}
	}
	return n
}
