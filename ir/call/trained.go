// SPDX-License-Identifier: Apache-2.0

package call

import (
	"strconv"
	"strings"
)

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
