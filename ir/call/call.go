// SPDX-License-Identifier: Apache-2.0

// Package call is the contract between kernels, the schedule and code generation:
// the C calls that a node becomes, with arguments whose addresses the schedule
// finds. It knows no kernel, no target and no graph.
package call

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// Arg is one argument of a C call or one field of a C struct. Kernels do not
// know where their operands will be: In, Out and Scratch name them. The schedule
// puts a Const in the place of each Blob, Image and constant operand, and a Lit
// in that of each Pitch.
type Arg interface{ isArg() }

type (
	// In is a pointer to input operand I of the node plus Off bytes; for a
	// constant operand, to its blob. CType is the element type.
	In struct {
		I     int
		Off   int
		CType string
	}
	// Out is a pointer to output I of the node plus Off bytes.
	Out struct {
		I     int
		Off   int
		CType string
	}
	// Scratch is a pointer into the step's scratch memory.
	Scratch struct {
		Off   int
		CType string
	}
	// Blob is a constant array in flash. Equal blobs are stored once.
	Blob struct {
		Hint   string // what it is: "weights", "bias", "multiplier", "table"
		CType  string // element type
		Data   []byte // little-endian, memory order
		Align  int    // bytes; 0: the element's own
		Pad    int    // bytes readable behind the end (over-reading kernels)
		NoCast bool   // the callee takes a pointer to const
	}
	// Image is a pointer to a file that is emitted beside the sources and
	// linked as it is: the program of an accelerator. Ext is its extension.
	Image struct {
		Ext  string
		Data []byte
	}
	// Const is entry I of the program's table of constants.
	Const struct {
		I      int
		NoCast bool // the callee takes a pointer to const
	}
	// Struct is the address of a struct. Without arena pointers in it, it
	// becomes one file-scope constant shared by equal ones.
	Struct struct {
		Type    string
		Fields  []Field
		Mutable bool // the callee takes a pointer to non-const: a variable of the step
	}
	// Array is a constant array of structs in flash, Elems elements of Bytes
	// bytes each; equal ones are stored once.
	Array struct {
		Type  string
		Elems []Nested
		Bytes int
	}
	// Nested is a struct or array by value inside a Struct.
	Nested struct{ Fields []Field }
	// Lit is C text: a number or an enum.
	Lit string
	// Func is a pointer to a kernel that the called function calls.
	Func string
	// Null is a null pointer.
	Null struct{}
	// Pitch is the distance in bytes between the rows of an operand that
	// Lowered.Rows lists: those of input I, or of output I, as the schedule
	// placed it.
	Pitch struct {
		Output bool
		I      int
		Row    int // bytes of a row: the distance where they are neighbours
		Times  int // so many distances; 0: one
	}
)

// Field is a struct field; Name is empty in arrays.
type Field struct {
	Name  string
	Value Arg
}

func (In) isArg()      {}
func (Out) isArg()     {}
func (Scratch) isArg() {}
func (*Blob) isArg()   {}
func (*Image) isArg()  {}
func (Const) isArg()   {}
func (*Struct) isArg() {}
func (*Array) isArg()  {}
func (Nested) isArg()  {}
func (Lit) isArg()     {}
func (Func) isArg()    {}
func (Null) isArg()    {}
func (Pitch) isArg()   {}

// Status says what a called function returns and how that is checked: the
// constant that means success. One that is not listed belongs to the driver of
// an accelerator; any other value of it is NNCC_ERR_KERNEL.
type Status string

// Statuses of the runtime and of kernel libraries.
const (
	NoStatus    Status = ""                     // void
	CMSISStatus Status = "ARM_CMSIS_NN_SUCCESS" // of arm_cmsis_nn_status
	NNCCStatus  Status = "NNCC_OK"              // of nncc_status, handed on as it is
	Ignored     Status = "ignored"              // a value of no interest
)

// Call is one C call: of a library's function, or of one written for the node.
type Call struct {
	Func   string
	Args   []Arg
	Status Status
	Code   *Code // the function, when Func is empty
}

// Code is a C function that is written for a node: code generation names it,
// and prints equal ones once. It returns nncc_status where the call has
// NNCCStatus, else nothing.
type Code struct {
	Hint    string   // part of its name: what it does
	Params  []string // declarations, one an argument: "const float *x0"
	Body    string   // statements
	Uses    []string // functions of the runtime that the body calls
	Headers []string // of the runtime, with what the body needs
}

// CutCall is one of the calls that give a layer together.
type CutCall struct {
	Call
	Channels int // of output 0 that it gives
}

// Lowered is a node turned into C calls.
type Lowered struct {
	Kernel string // function of the library's API
	Route  string // inner function that will run, when the library routes
	// Variant is the lowering in the tables of costs; "": the functions that it calls.
	Variant string
	// RouteReason says why no better inner function runs, "" where none was missed.
	RouteReason string
	Library     string // that of the kernel, or "view"
	Calls       []Call
	Scratch     int // bytes, 16-aligned by the schedule
	// Pixels of the output for which a convolution or product reads its constants once; 0: not
	// known, one, two or four by instruction set and shape.
	Pixels int
	// View: output 0 is input 0 under another type; no code at all.
	View bool
	// Overlap lists inputs whose bytes an output may take when they die here.
	Overlap []Overlap
	// Parts: operands that may live inside another one, so that the step
	// needs no code when all of them do (concat, split, slices).
	Parts []Part
	// Rows: operands that the calls read or write row by row, so that the
	// rows may lie apart, inside a larger tensor.
	Rows []Rows
	// RowCalls are made in place of Calls where rows of an operand lie apart;
	// nil: the same calls.
	RowCalls []Call
	// Headers that the calls need beyond the library's own.
	Headers []string
	// Cut gives the same as Calls in so many calls, one after the other, which read a part
	// each of the constant that is read most, and write a part of output 0: nil where the
	// layer has fewer parts. They all read input 0, so output 0 must not lie on it. A nil
	// Cut: no other calls are known.
	Cut func(parts int) []CutCall
	// Elsewhere is what an accelerator takes for it, as estimated; nil: not known.
	Elsewhere *Estimate
	// Apart: arrays are not one with equal ones of other calls, because those of another training differ.
	Apart bool
	// Dead inputs: operands that the calls never read (their content is in
	// blobs), so that they take no arena or flash.
	Unused []int
}

// Estimate is work of an accelerator: its cycles, what bounds most of them ("MACs", or a memory), and the part of its
// multipliers that is at work.
type Estimate struct {
	Cycles      float64
	Bound       string
	Utilisation float64
	Device      string // its name with the configuration
	MACs        int64  // that it does, those by which a layer is wider than its definition included
	WeightBytes int    // with scales and biases, as they are stored
}

// Overlap lets output Out lie over run-time input I, which nobody needs after the step. The
// kernel never writes a byte before it has read the input's bytes that lie there, where the
// output begins at least Ahead bytes before the input or, unless Behind is 0, at least Behind bytes
// after it. With Exact both begin at the same byte and have the same size. Slower, where
// not 0: the kernel takes fewer instructions where they lie so many bytes further, or apart; and it
// adapts, so that the distances are those that it is worth. Without, some layer needs all of Ahead.
type Overlap struct {
	I, Ahead, Behind int
	Out              int
	Slower           int
	Exact            bool
	Scratch          bool // it is the scratch memory that lies over the input
}

// InPlace are inputs whose very bytes output 0 may take where it has the size of the input.
func InPlace(inputs ...int) []Overlap {
	return lists.Map(inputs, func(i int) Overlap { return Overlap{I: i, Exact: true} })
}

// InOrder are inputs of which output 0 may take the bytes, or begin anywhere before them: the kernel reads them in its
// order.
func InOrder(inputs ...int) []Overlap {
	list := InPlace(inputs...)
	for k := range list {
		list[k].Exact = false
	}
	return list
}

// Part places a whole operand inside another: input I inside output 0 at Off
// (concat), or output I inside input 0 at Off (split, slice). Where Row is not
// 0, it lies there in rows of Row bytes, one in every row of Pitch bytes of the
// other: some channels of every pixel.
type Part struct {
	Input      bool
	I          int
	Off        int
	Row, Pitch int
}

// Rows is an operand in rows of Bytes bytes, input I or output I.
type Rows struct {
	Output bool
	I      int
	Bytes  int
}

// I32 and the other helpers make literals and fields.
func I32(v int) Lit { return Lit(strconv.Itoa(v)) }

// F names a field.
func F(name string, v Arg) Field { return Field{name, v} }

// FI is an integer field.
func FI(name string, v int) Field { return Field{name, I32(v)} }

// Ints makes integer fields of pairs: a name (string), its value (int, or an Arg).
func Ints(pairs ...any) []Field {
	f := make([]Field, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		v, ok := pairs[i+1].(Arg)
		if !ok {
			v = I32(pairs[i+1].(int))
		}
		f = append(f, F(pairs[i].(string), v))
	}
	return f
}

// Lookup is a table of results by the bit pattern of an 8-bit value.
func Lookup(results []byte) *Blob {
	return &Blob{Hint: "table", CType: "uint8_t", Data: results, NoCast: true}
}

// Constant is an array of the elements of a constant.
func Constant(hint string, d *tensor.Dense) *Blob {
	return &Blob{Hint: hint, CType: CType(d.DType), Data: d.Bytes(), NoCast: true}
}

// IntArray is an array initialiser.
func IntArray(v []int) Nested {
	return Nested{Fields: lists.Map(v, func(x int) Field { return Field{"", I32(x)} })}
}

// Functions are those of the runtime or a library that the lowering calls,
// inner functions included, each once.
func (l *Lowered) Functions() []string {
	var out []string
	add := func(s string) {
		if s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, c := range l.Calls {
		add(c.Func)
		for _, a := range c.Args {
			if f, ok := a.(Func); ok {
				add(string(f))
			}
		}
		if c.Code != nil {
			for _, u := range c.Code.Uses {
				add(u)
			}
		}
	}
	return out
}

// ConstBytes are the bytes of the constant arrays of the lowering.
func (l *Lowered) ConstBytes() int {
	n := 0
	for _, c := range l.Calls {
		n += lists.Sum(c.Args, func(a Arg) int { return constBytes(a) })
	}
	return n
}

func constBytes(a Arg) int {
	n := 0
	switch a := a.(type) {
	case *Blob:
		return len(a.Data) + a.Pad
	case *Array:
		return len(a.Elems) * a.Bytes
	case *Image:
		return len(a.Data)
	}
	n += lists.Sum(Inner(a), func(x Arg) int { return constBytes(x) })
	return n
}

// Inner are the arguments inside an argument: the fields of a struct, the
// elements of an array.
func Inner(a Arg) []Arg {
	var fields []Field
	switch a := a.(type) {
	case *Struct:
		fields = a.Fields
	case Nested:
		fields = a.Fields
	case *Array:
		return lists.Map(a.Elems, func(x Nested) Arg { return x })
	}
	return lists.Map(fields, func(f Field) Arg { return f.Value })
}

// ViewOf is the lowering of a node whose output is input 0 under another type.
func ViewOf() *Lowered { return &Lowered{Kernel: "view", Library: "view", View: true} }

// CType is the C type of an element.
func CType(d tensor.DType) string {
	switch d {
	case tensor.F32:
		return "float"
	case tensor.F64:
		return "double"
	case tensor.Bool, tensor.U4:
		return "uint8_t"
	case tensor.I4:
		return "int8_t"
	case tensor.F16, tensor.BF16:
		return "uint16_t"
	}
	if d.IsSigned() {
		return fmt.Sprintf("int%d_t", d.Bits())
	}
	return fmt.Sprintf("uint%d_t", d.Bits())
}

// Trained is a number that a training decides, not the network: a multiplier, a
// shift, a zero point, a range that comes from scales. It is C text as a Lit is,
// and a literal in the C, unless constants are bound at run time: then it is one
// of them, so that another training needs no new code.
type Trained string

func (Trained) isArg() {}

// T is a trained integer of 32 bits.
func T[I ~int | ~int8 | ~int32 | ~int64](v I) Trained {
	return Trained(strconv.FormatInt(int64(v), 10))
}

// T8 is a trained integer that a function takes as int8_t.
func T8(v int8) Trained { return byteCast + T(v) }

// byteCast stands in front of a number that is narrower than those of a weights file.
const byteCast = "(int8_t)"

// Cast divides the cast in front of a number, if there is one, from it.
func (t Trained) Cast() (cast string, number Trained) {
	if s, ok := strings.CutPrefix(string(t), byteCast); ok {
		return byteCast, Trained(s)
	}
	return "", t
}

// Literal is the number as it stands in C where it is no variable.
func (t Trained) Literal() string {
	_, n := t.Cast()
	return string(n)
}

// FT is a trained field.
func FT[I ~int | ~int8 | ~int32 | ~int64](name string, v I) Field { return Field{name, T(v)} }

// CType is the type of the number in a weights file, as its text says.
func (t Trained) CType() string {
	s := t.Literal()
	switch {
	case strings.HasPrefix(s, "INT64_C("), strings.HasSuffix(s, "LL"):
		return "int64_t"
	case strings.HasSuffix(s, "u"):
		return "uint32_t"
	case strings.HasSuffix(s, "f"):
		return "float"
	case strings.ContainsAny(s, ".e"):
		return "double"
	}
	return "int32_t"
}

// Number is the text of an argument that is a number or an enum.
func Number(a Arg) (string, bool) {
	switch a := a.(type) {
	case Lit:
		return string(a), true
	case Trained:
		return a.Literal(), true
	}
	return "", false
}
