// SPDX-License-Identifier: Apache-2.0

package ir

// CForm is an element-wise function as C expressions, one for each class of
// arithmetic: of x, or of the operands a and b. An attribute of the node is in braces:
// "x < 0.0 ? {alpha} * x : x". Functions of <math.h>, and those of the runtime
// that end in _f64, may be called.
type CForm struct {
	// F64 computes in double: elements of every type but float32, and integers
	// where no exact form follows.
	F64 string
	// F32 computes in float; "": F64 with the literals and functions of float, which
	// must not overflow in between where F64 does not.
	F32 string
	// I64 and U64 are exact on int64_t and uint64_t.
	I64, U64 string
}

// Fold is a reduction in C: what it starts with, how the element b joins what there
// is so far, a, and what becomes of a at the end. Starts without bounds are the
// extremes of the element type; averages are divided by the number of elements.
type Fold struct {
	Start        float64
	Step, Finish CForm
}

// Fixed is an OpDef.C that does not depend on the node.
func (c CForm) Fixed() func(*Node) CForm { return func(*Node) CForm { return c } }
