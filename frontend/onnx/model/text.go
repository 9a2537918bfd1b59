// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/onnx/schema"
)

const maxQuoted = 100

// Quote prints a name from a model: escaped, and cut when it is long.
func Quote(s string) string {
	if len(s) <= maxQuoted {
		return fmt.Sprintf("%q", s)
	}
	cut := maxQuoted
	for cut > maxQuoted-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%q… (%d bytes)", s[:cut], len(s))
}

// Plain prints an operator name bare where it is a harmless identifier, else quoted.
func Plain(s string) string {
	if s == "" || len(s) > maxQuoted || strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '.')
	}) >= 0 {
		return Quote(s)
	}
	return s
}

// DimsText prints a shape of any rank in bounded length.
func DimsText(dims []int64) string {
	if len(dims) > 16 {
		return fmt.Sprintf("%v… (rank %d)", dims[:16], len(dims))
	}
	return fmt.Sprint(dims)
}

// ElemTypeName is the ONNX name of an element type, or its number where there is none.
func ElemTypeName(t int32) string {
	if s := schema.ElemName(t); s != "" {
		return s
	}
	return "number " + strconv.Itoa(int(t))
}

// DataTypeName is the name that the protobuf gives an element type, in lower case.
func DataTypeName(e int32) string { return strings.ToLower(pb.TensorProto_DataType(e).String()) }

// maxName bounds names that are put together: functions and loops repeat their
// prefixes, which a model could make arbitrarily long.
const maxName = 256

// Shorten keeps beginning and end of a long name.
func Shorten(s string) string {
	if len(s) <= maxName {
		return s
	}
	a, b := maxName/2, len(s)-maxName/2
	for a > 0 && !utf8.RuneStart(s[a]) {
		a--
	}
	for b < len(s) && !utf8.RuneStart(s[b]) {
		b++
	}
	return s[:a] + "..." + s[b:]
}
