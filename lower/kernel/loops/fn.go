// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/tensor"
)

// fn is a C function on its way: the loops of one node, with all sizes as
// numbers. Element values are double, int64_t or uint64_t in between.
type fn struct {
	n      *ir.Node
	body   strings.Builder
	depth  int
	params []string
	args   []call.Arg
	names  map[string]bool
	low    *call.Lowered
	fails  bool // returns nncc_status
	// headers of kernels that it calls
	headers []string
}

// ref is a pointer parameter.
type ref struct {
	name string
	t    tensor.DType
}

func newFn(n *ir.Node) *fn {
	return &fn{n: n, depth: 1, names: map[string]bool{}, low: &call.Lowered{Library: "nncc"}}
}

func (f *fn) param(name string, d tensor.DType, readOnly bool, a call.Arg) ref {
	if !f.names[name] {
		f.names[name] = true
		decl := call.CType(d) + " *" + name
		if readOnly {
			decl = "const " + decl
		}
		f.params = append(f.params, decl)
		f.args = append(f.args, a)
	}
	return ref{name, d}
}

// in is input i, which must be there.
func (f *fn) in(i int) ref {
	v := f.n.In[i]
	var a call.Arg = call.In{I: i, CType: call.CType(v.Type.DType)}
	if v.Const != nil {
		a = call.Constant("const", v.Const)
	}
	return f.param("x"+strconv.Itoa(i), v.Type.DType, true, a)
}

// has reports whether input i is there.
func (f *fn) has(i int) bool { return f.n.Input(i) != nil }

// wants reports whether output i is there.
func (f *fn) wants(i int) bool { return i < len(f.n.Out) && f.n.Out[i] != nil }

// out is output i.
func (f *fn) out(i int) ref {
	d := f.n.Out[i].Type.DType
	return f.param("y"+strconv.Itoa(i), d, false, call.Out{I: i, CType: call.CType(d)})
}

// table is a constant array.
func (f *fn) table(name string, d *tensor.Dense) ref {
	return f.param(name, d.DType, true, call.Constant("table", d))
}

// scratch is room for n elements of type d for the time of the step.
func (f *fn) scratch(name string, d tensor.DType, n int) ref {
	if f.names[name] {
		return ref{name, d}
	}
	s := call.Scratch{Off: f.low.Scratch, CType: call.CType(d)}
	f.low.Scratch += (n*d.Size() + 15) &^ 15
	return f.param(name, d, false, s)
}

// line adds a statement.
func (f *fn) line(format string, a ...any) {
	f.body.WriteString(strings.Repeat("    ", f.depth))
	if len(a) > 0 {
		format = fmt.Sprintf(format, a...)
	}
	f.body.WriteString(format)
	f.body.WriteByte('\n')
}

// open begins a block: "if (x) {".
func (f *fn) open(format string, a ...any) {
	f.line(strings.TrimSpace(format+" {"), a...)
	f.depth++
}

func (f *fn) close() {
	f.depth--
	f.line("}")
}

// closeTo ends blocks until the given depth.
func (f *fn) closeTo(depth int) {
	for f.depth > depth {
		f.close()
	}
}

// loop opens a loop of v over 0..n-1, n a number or an expression.
func (f *fn) loop(v string, n any) {
	f.open("for (int32_t %s = 0; %s < %v; %s++)", v, v, n, v)
}

// each is a loop of one statement.
func (f *fn) each(v string, n any, format string, a ...any) {
	f.loop(v, n)
	f.line(format, a...)
	f.close()
}

// fill stores a value in the first n elements of r.
func (f *fn) fill(r ref, n any, v string) {
	f.loop("i", n)
	f.store(r, "i", v)
	f.close()
}

// when writes a statement under a condition.
func (f *fn) when(then, cond string, a ...any) {
	f.open("if ("+cond+")", a...)
	f.line("%s", then)
	f.close()
}

// nest opens loops over shape and gives their variables, "0" for dimensions
// of one element.
func (f *fn) nest(prefix string, shape []int) []string {
	v := make([]string, len(shape))
	for i, d := range shape {
		if d == 1 {
			v[i] = "0"
			continue
		}
		v[i] = prefix + strconv.Itoa(i)
		f.loop(v[i], d)
	}
	return v
}

// at is the offset of index v in an array with the given strides.
func at(v []string, stride []int) string {
	var s []string
	for i, x := range v {
		switch {
		case x == "0" || stride[i] == 0:
		case stride[i] == 1:
			s = append(s, x)
		default:
			s = append(s, fmt.Sprintf("%s * %d", x, stride[i]))
		}
	}
	if s == nil {
		return "0"
	}
	return strings.Join(s, " + ")
}

// class is how elements of a type are computed with.
type class byte

const (
	floating class = 'f' // double
	whole    class = 'i' // int64_t
	large    class = 'u' // uint64_t
)

func classOf(d tensor.DType) class {
	switch {
	case d.IsFloat():
		return floating
	case d == tensor.U64:
		return large
	}
	return whole
}

// wide is the C type of a class.
func (c class) wide() string {
	return map[class]string{floating: "double", whole: "int64_t", large: "uint64_t"}[c]
}

// load is the value of an element in its class's type.
func load(r ref, index string) string {
	x := r.name + "[" + index + "]"
	switch r.t {
	case tensor.F64, tensor.I64, tensor.U64:
		return x
	case tensor.F32:
		return "nncc_el_widen_f32(" + x + ")"
	case tensor.F16, tensor.BF16:
		return fetched(r.t, x)
	}
	return "(int64_t)" + x
}

// loadReal is the value of an element as double.
func loadReal(r ref, index string) string {
	if r.t.IsFloat() {
		return load(r, index)
	}
	return "(double)" + r.name + "[" + index + "]"
}

// narrow is the element that stores a value of the type's class: rounded or
// wrapped.
func narrow(d tensor.DType, v string) string {
	switch d {
	case tensor.F64, tensor.I64, tensor.U64:
		return v
	case tensor.F32:
		return "(float)(" + v + ")"
	case tensor.F16:
		return "nncc_f32_to_f16((float)(" + v + "))"
	case tensor.BF16:
		return "nncc_f32_to_bf16((float)(" + v + "))"
	case tensor.Bool:
		return "(uint8_t)((" + v + ") != 0)"
	case tensor.I4:
		return "(int8_t)((((" + v + ") & 15) ^ 8) - 8)"
	case tensor.U4:
		return "(uint8_t)((" + v + ") & 15)"
	}
	return "(" + call.CType(d) + ")(" + v + ")"
}

// rounded is a value of the class after it went through the element type.
func rounded(d tensor.DType, v string) string {
	switch d {
	case tensor.F64, tensor.I64, tensor.U64:
		return v
	case tensor.F32:
		return "(double)" + narrow(d, v)
	case tensor.F16, tensor.BF16:
		return fetched(d, narrow(d, v))
	}
	return "(int64_t)" + narrow(d, v)
}

// store writes an element.
func (f *fn) store(r ref, index, v string) {
	f.line("%s[%s] = %s;", r.name, index, narrow(r.t, v))
}

// copies an element of the same type.
func (f *fn) copy(y ref, yi string, x ref, xi string) {
	f.line("%s[%s] = %s[%s];", y.name, yi, x.name, xi)
}

// check returns a status from the function unless the condition holds.
func (f *fn) check(cond, status string) {
	f.fails = true
	f.when("return "+status+";", "!(%s)", cond)
}

// index declares an int64_t variable for the index in element i of r, counted
// from the end when negative.
func (f *fn) index(name string, r ref, i string, size int) {
	f.line("int64_t %s = %s;", name, load(r, i))
	f.when(fmt.Sprintf("%s += %d;", name, size), "%s < 0", name)
}

var word = regexp.MustCompile(`[A-Za-z_]\w*`)

// done makes the call. hint names what the function does.
func (f *fn) done(hint string) *call.Lowered {
	body := f.body.String()
	used := map[string]bool{}
	var uses []string
	for _, w := range word.FindAllString(body, -1) {
		if !used[w] && strings.HasPrefix(w, "nncc_") && w != "nncc_status" && !inHeader(w) {
			uses = append(uses, w)
		}
		used[w] = true
	}
	head := ""
	for i, p := range f.params {
		name := p[strings.LastIndexAny(p, " *")+1:]
		if !used[name] {
			head += "    NNCC_UNUSED(" + name + ");\n"
		} else if i > 0 {
			continue
		}
	}
	c := call.Call{Args: f.args}
	if f.fails {
		body += "    return NNCC_OK;\n"
		c.Status = call.NNCCStatus
	}
	if len(f.params) == 0 {
		f.params = []string{"void"}
	}
	c.Code = &call.Code{Hint: hint, Params: f.params, Body: head + body, Uses: uses,
		Headers: append(f.headers, "nncc_loops.h")}
	f.low.Kernel = "loops_" + hint
	f.low.Calls = append(f.low.Calls, c)
	return f.low
}

// inHeader reports an inline function of the headers of single elements, or parameters of a kernel.
func inHeader(name string) bool {
	return strings.HasPrefix(name, "nncc_el_") || strings.HasPrefix(name, "nncc_round_") ||
		strings.HasSuffix(name, "_params")
}

// num is a double literal with exactly this value.
func num(v float64) string {
	s := call.DoubleLit(v)
	if v < 0 && !math.IsInf(v, -1) || v == 0 && math.Signbit(v) {
		return "(" + s + ")"
	}
	return s
}

// integer is an int64_t literal.
func integer(v int64) string {
	switch {
	case v == math.MinInt64:
		return "INT64_MIN"
	case v > math.MaxInt32 || v < math.MinInt32:
		return fmt.Sprintf("INT64_C(%d)", v)
	case v < 0:
		return fmt.Sprintf("(%d)", v)
	}
	return strconv.FormatInt(v, 10)
}
