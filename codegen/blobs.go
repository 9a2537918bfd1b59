// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/runtime_c/ctext"
)

// cTextLimit is the size from which weights leave C text for a binary file
// that the assembler includes, so that they do not make compilers suffer.
const cTextLimit = 64 << 10

// fallbackLimit bounds the constant data that are also written as C text, about
// four times as long, for compilers without .incbin. Above it they take the
// binary through their linker.
const fallbackLimit = 256 << 10

// blob is a constant array of the emitted program.
type blob struct {
	Name   string
	CType  string
	Elems  int
	Align  int
	Offset int // in the binary
	Says   []string
	data   []byte
	pad    int
}

// blobs are the constant arrays.
type blobs []*blob

// constants gives the constants of a program C names, in its order, and sorts
// them into arrays and files.
func constants(p *program.Program, prefix string, digest bool) (names []string, arrays blobs, files []imageView) {
	users := constUsers(p)
	stepOf := p.StepOf()
	for i, x := range p.Consts {
		if x.Ext != "" {
			k := len(files)
			f := imageView{Name: fmt.Sprintf("%s_image_%d", prefix, k), File: fmt.Sprintf("%s_%d.%s", prefix, k, x.Ext),
				Fallback: len(x.Data) <= fallbackLimit, data: x.Data}
			names, files = append(names, f.Name), append(files, f)
			continue
		}
		size := ctypeSize(x.CType)
		bug.If(len(x.Data)%size != 0, "%d bytes of %s", len(x.Data), x.CType)
		hint := Ident(x.Hint)
		if steps := users[i]; len(steps) > 0 && !digest {
			hint = tail(p.Steps[steps[0]].Name) + "_" + hint
		}
		b := &blob{Name: fmt.Sprintf("%s_weights_%d_%s", prefix, len(arrays), hint), CType: x.CType,
			Elems: len(x.Data) / size, Align: max(x.Align, size, 4), data: x.Data, pad: x.Pad,
			Says: constComment(p, x, users[i], stepOf)}
		names, arrays = append(names, b.Name), append(arrays, b)
	}
	return names, arrays, files
}

// constUsers are the steps that take each constant.
func constUsers(p *program.Program) [][]int {
	users := make([][]int, len(p.Consts))
	var visit func(step int, a call.Arg)
	visit = func(step int, a call.Arg) {
		if c, ok := a.(call.Const); ok && !slices.Contains(users[c.I], step) {
			users[c.I] = append(users[c.I], step)
		}
		for _, x := range call.Inner(a) {
			visit(step, x)
		}
	}
	for i, s := range p.Steps {
		for _, c := range s.Calls {
			for _, a := range c.Args {
				visit(i, a)
			}
		}
	}
	return users
}

// constComment says what a constant array is, and whose.
func constComment(p *program.Program, x program.Const, users []int, stepOf func(k int) int) []string {
	s := x.Hint
	if len(users) > 0 {
		s += " of " + stepList(slices.Compact(lists.Map(users, stepOf))) + ", " + p.Steps[users[0]].Name
	}
	s += fmt.Sprintf("; %d bytes", len(x.Data))
	if x.Pad > 0 {
		s += fmt.Sprintf(", %d more are read and do not count", x.Pad)
	}
	return ctext.Wrap(longComment(s), 110)
}

func ctypeSize(t string) int {
	switch t {
	case "int8_t", "uint8_t":
		return 1
	case "int16_t", "uint16_t":
		return 2
	case "int64_t", "uint64_t", "double":
		return 8
	}
	return 4
}

// total is the size of all arrays with padding and alignment; it also fixes
// the offsets in the binary.
func (b blobs) total() int { return b.from(0) }

// from is the end of all arrays behind the first o bytes of a binary; it also
// fixes their offsets.
func (b blobs) from(o int) int {
	for _, e := range b {
		o = (o + e.Align - 1) / e.Align * e.Align
		e.Offset = o
		o += len(e.data) + e.pad
	}
	return o
}

// binary is the image that the assembler includes, a multiple of 16 bytes.
func (b blobs) binary() []byte {
	n := b.total()
	out := make([]byte, (n+15)&^15)
	for _, e := range b {
		copy(out[e.Offset:], e.data)
	}
	return out
}

// Len is the number of elements declared: padding in whole elements included,
// at least one.
func (e *blob) Len() int {
	s := ctypeSize(e.CType)
	return max(1, e.Elems+(e.pad+s-1)/s)
}

// Text is the initialiser, wrapped.
func (e *blob) Text() string {
	var b strings.Builder
	size := ctypeSize(e.CType)
	col := 0
	data := append(append([]byte(nil), e.data...), make([]byte, (e.pad+size-1)/size*size)...)
	for i := 0; i+size <= len(data); i += size {
		s := literal(e.CType, data[i:])
		if col > 0 && col+len(s)+2 > 116 {
			b.WriteString(",\n    ")
			col = 0
		} else if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(s)
		col += len(s) + 2
	}
	if b.Len() == 0 {
		return "0"
	}
	return b.String()
}

func literal(ctype string, p []byte) string {
	le := binary.LittleEndian
	switch ctype {
	case "int8_t":
		return strconv.Itoa(int(int8(p[0])))
	case "uint8_t":
		return strconv.Itoa(int(p[0]))
	case "int16_t":
		return strconv.Itoa(int(int16(le.Uint16(p))))
	case "uint16_t":
		return strconv.Itoa(int(le.Uint16(p)))
	case "int32_t":
		return IntLit(int64(int32(le.Uint32(p))))
	case "uint32_t":
		return strconv.FormatUint(uint64(le.Uint32(p)), 10) + "u"
	case "int64_t":
		v := int64(le.Uint64(p))
		if v == math.MinInt64 {
			return "INT64_MIN"
		}
		return "INT64_C(" + strconv.FormatInt(v, 10) + ")"
	case "uint64_t":
		return "UINT64_C(" + strconv.FormatUint(le.Uint64(p), 10) + ")"
	case "float":
		return FloatLit(math.Float32frombits(le.Uint32(p)))
	case "double":
		return call.DoubleLit(math.Float64frombits(le.Uint64(p)))
	}
	panic(bug.Errorf("literal of %s", ctype))
}

// IntLit is a C literal of an int32 value; INT32_MIN has no plain one.
func IntLit(v int64) string {
	if v == math.MinInt32 {
		return "(-2147483647 - 1)"
	}
	return strconv.FormatInt(v, 10)
}

// FloatLit is a C99 literal with exactly this float32 value.
func FloatLit(f float32) string {
	switch {
	case f != f:
		return "NAN"
	case math.IsInf(float64(f), 1):
		return "INFINITY"
	case math.IsInf(float64(f), -1):
		return "-INFINITY"
	}
	return call.Decimal(float64(f), 32) + "f"
}
