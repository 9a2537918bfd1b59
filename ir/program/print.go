// SPDX-License-Identifier: Apache-2.0

package program

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/syntax"
	"github.com/nncc/nncc/ir/tensor"
)

// String is the text form of the program; Parse reads it back exactly. The
// grammar is in README.md.
func (p *Program) String() string {
	var b strings.Builder
	p.WriteText(&b, false)
	return b.String()
}

// WriteText writes the text form. With brief, long constants are elided as
// "...", which people can read and Parse refuses.
func (p *Program) WriteText(w io.Writer, brief bool) {
	t := &printer{Printer: syntax.NewPrinter(brief), p: p}
	t.program()
	io.WriteString(w, t.Printer.String())
}

type printer struct {
	*syntax.Printer
	p    *Program
	code []*call.Code // functions written for nodes, by number
}

func (t *printer) f(format string, args ...any) { fmt.Fprintf(t, format, args...) }

func (t *printer) program() {
	p := t.p
	t.f("program %s {\n  arena %d, bound %d", strconv.Quote(p.Name), p.ArenaBytes, p.LowerBound)
	if p.PeakOptimal {
		t.f(" optimal")
	}
	if p.StateBytes > 0 {
		t.f(", state %d", p.StateBytes)
	}
	if p.StagedBytes > 0 {
		t.f(", staged %d", p.StagedBytes)
	}
	t.f("\n")
	for _, x := range p.Parts {
		t.f("  in %s, %d bytes\n", strconv.Quote(x.Name), x.Bytes)
	}
	for i := range p.Buffers {
		if b := &p.Buffers[i]; !b.IsScratch() {
			t.buffer(b)
		}
	}
	for _, x := range p.Inputs {
		t.f("  input %s = %s\n", strconv.Quote(x.Name), t.name(x.Buffer))
	}
	for _, x := range p.Outputs {
		t.f("  output %s = %s\n", strconv.Quote(x.Name), t.name(x.Buffer))
	}
	for _, x := range p.States {
		t.f("  state in%d = out%d, fill %d", x.In, x.Out, x.Fill)
		if x.Init >= 0 {
			t.f(", const%d", x.Init)
		}
		t.f("\n")
	}
	t.functions()
	for i, s := range p.Steps {
		t.f("  step %d ", i)
		t.step(s)
	}
	for _, s := range p.Views {
		t.f("  view ")
		t.step(s)
	}
	for i := range p.Consts {
		t.constant(i, &p.Consts[i])
	}
	t.f("}\n")
}

func (t *printer) name(buffer int) string { return syntax.Name(t.p.Buffers[buffer].Name) }

// in says in a comment in which part of the arena a buffer lies, and where there: offsets are
// those of the whole.
func (t *printer) in(b *Buffer) {
	if len(t.p.Parts) == 0 || b.Kept {
		return
	}
	storage := b
	for range t.p.Buffers { // what was read from a text can be wrong
		if storage.AliasOf < 0 {
			break
		}
		storage = &t.p.Buffers[storage.AliasOf]
	}
	k, at := t.p.part(storage, b.Offset)
	t.f(" # in %s at %d", strconv.Quote(t.p.Parts[k].Name), at)
}

func (t *printer) buffer(b *Buffer) {
	t.f("  buffer %s : %s at %d, %d bytes", syntax.Name(b.Name), b.Type, b.Offset, b.Bytes)
	t.f(", steps %d to %d", b.First, b.Last)
	if b.Kept {
		t.f(", kept")
	}
	if b.AliasOf >= 0 {
		t.f(", in %s", t.name(b.AliasOf))
	}
	if b.Pitch > 0 {
		t.f(", rows of %d every %d", b.Row, b.Pitch)
	}
	t.in(b)
	t.f("\n")
}

// functions numbers and prints the functions that were written for nodes.
func (t *printer) functions() {
	for _, s := range t.p.Steps {
		for _, c := range s.Calls {
			if c.Code == nil || t.number(c.Code) >= 0 {
				continue
			}
			t.f("  code %d %s (%s)", len(t.code), strconv.Quote(c.Code.Hint), quoted(c.Code.Params))
			t.list(" uses", c.Code.Uses)
			t.list(" headers", c.Code.Headers)
			t.f(" {\n")
			for _, line := range strings.Split(c.Code.Body, "\n") {
				t.f("    %s\n", strconv.Quote(line))
			}
			t.f("  }\n")
			t.code = append(t.code, c.Code)
		}
	}
}

// number of a function, -1 where it has none yet; equal ones have one.
func (t *printer) number(c *call.Code) int {
	return slices.IndexFunc(t.code, func(x *call.Code) bool {
		return x == c || x.Hint == c.Hint && x.Body == c.Body && slices.Equal(x.Params, c.Params) &&
			slices.Equal(x.Uses, c.Uses) && slices.Equal(x.Headers, c.Headers)
	})
}

func (t *printer) step(s *Step) {
	for i, b := range s.Out {
		if i > 0 {
			t.f(", ")
		}
		t.f("%s", t.name(b))
	}
	t.f(" = %s(", word(s.Op))
	for i, x := range s.In {
		if i > 0 {
			t.f(", ")
		}
		switch {
		case x.Buffer < 0:
			t.f("-")
		case x.Unread:
			t.f("unread %s", t.name(x.Buffer))
		default:
			t.f("%s", t.name(x.Buffer))
		}
	}
	t.f(") %s", strconv.Quote(s.Name))
	t.list(" from", s.Origin)
	t.f("\n")
	if s.Kernel != "" || s.Route != "" {
		t.f("    by %s", word(s.Kernel))
		if s.Route != "" {
			t.f(" runs %s", word(s.Route))
		}
		t.f("\n")
	}
	t.facts(s)
	for _, c := range s.Calls {
		t.call(c)
	}
}

// facts are what a step says beside its operands and calls.
func (t *printer) facts(s *Step) {
	if s.Scratch >= 0 {
		b := &t.p.Buffers[s.Scratch]
		t.f("    scratch %s at %d, %d bytes", syntax.Name(b.Name), b.Offset, b.Bytes)
		t.in(b)
		t.f("\n")
	}
	for i, x := range s.Fetches {
		if before := slices.IndexFunc(s.Fetches[:i], func(y Fetch) bool { return y.Buffer == x.Buffer }); before >= 0 {
			t.f("    fetch const%d over const%d\n", x.Const, s.Fetches[before].Const)
			continue
		}
		b := &t.p.Buffers[x.Buffer]
		t.f("    fetch const%d to %s at %d, %d bytes", x.Const, syntax.Name(b.Name), b.Offset, b.Bytes)
		t.in(b)
		t.f("\n")
	}
	if len(s.InPlace) > 0 {
		t.f("    overwrites")
		for i, x := range s.InPlace {
			if i > 0 {
				t.f(",")
			}
			t.f(" in%d", x)
		}
		t.f("\n")
	}
	if len(s.Headers) > 0 {
		t.list("    headers", s.Headers)
		t.f("\n")
	}
	for _, r := range s.Rows {
		t.f("    rows %s of %d\n", operand(!r.Output, r.I), r.Bytes)
	}
	if s.Whole {
		t.f("    whole\n")
	}
	for _, x := range s.Parts {
		t.f("    part %s at %d", operand(x.Input, x.I), x.Off)
		if x.Row > 0 {
			t.f(", rows of %d every %d", x.Row, x.Pitch)
		}
		t.f("\n")
	}
}

func operand(input bool, i int) string {
	if input {
		return "in" + strconv.Itoa(i)
	}
	return "out" + strconv.Itoa(i)
}

func (t *printer) call(c call.Call) {
	t.f("    call ")
	if c.Code != nil {
		t.f("code%d", t.number(c.Code))
	} else {
		t.f("%s", word(c.Func))
	}
	args := make([]string, len(c.Args))
	width := 0
	for i, a := range c.Args {
		x := &printer{Printer: syntax.NewPrinter(false)}
		x.arg(a)
		args[i] = x.Printer.String()
		width += len(args[i]) + 2
	}
	if width <= 80 {
		t.f("(%s)", strings.Join(args, ", "))
	} else {
		t.f("(\n      %s)", strings.Join(args, ",\n      "))
	}
	if c.Status != call.NoStatus {
		t.f(" returns %s", word(string(c.Status)))
	}
	t.f("\n")
}

func (t *printer) arg(a call.Arg) {
	pointer := func(what string, off int, ctype string) {
		t.f("%s", what)
		if off != 0 {
			t.f("%+d", off)
		}
		t.f(":%s", word(ctype))
	}
	mutable := func(yes bool) {
		if yes {
			t.f("mutable ")
		}
	}
	switch a := a.(type) {
	case call.Lit:
		t.f("%s", word(string(a)))
	case call.Trained:
		t.f("trained %s", word(string(a)))
	case call.Func:
		t.f("func %s", word(string(a)))
	case call.Null:
		t.f("null")
	case call.In:
		pointer(operand(true, a.I), a.Off, a.CType)
	case call.Out:
		pointer(operand(false, a.I), a.Off, a.CType)
	case call.Scratch:
		pointer("scratch", a.Off, a.CType)
	case call.Const:
		mutable(!a.NoCast)
		t.f("const%d", a.I)
	case *call.Struct:
		mutable(a.Mutable)
		t.f("struct %s ", word(a.Type))
		t.arg(call.Nested{Fields: a.Fields})
	case *call.Array:
		t.f("array %s %d {", word(a.Type), a.Bytes)
		for i, e := range a.Elems {
			if i > 0 {
				t.f(", ")
			}
			t.arg(e)
		}
		t.f("}")
	case call.Nested:
		t.f("{")
		for i, x := range a.Fields {
			if i > 0 {
				t.f(", ")
			}
			if x.Name != "" {
				t.f("%s = ", word(x.Name))
			}
			t.arg(x.Value)
		}
		t.f("}")
	default:
		panic(bug.Errorf("a program has no argument %T", a))
	}
}

func (t *printer) constant(i int, x *Const) {
	t.f("  const %d %s", i, strconv.Quote(x.Hint))
	if x.Ext != "" {
		t.f(" file %s", strconv.Quote(x.Ext))
	}
	t.f(" %s", word(x.CType))
	if x.Align != 0 {
		t.f(" align %d", x.Align)
	}
	if x.Pad != 0 {
		t.f(" pad %d", x.Pad)
	}
	if x.Staged {
		t.f(" staged at %d", x.At)
	}
	dt, ok := elements[x.CType]
	if !ok || len(x.Data)%dt.Size() != 0 {
		dt = tensor.U8
	}
	d := bug.Must(tensor.FromBytes(dt, []int{len(x.Data) / dt.Size()}, x.Data))
	t.f(" = %s[%d] ", dt, d.Len())
	t.Data(d)
	t.f("\n")
}

// elements are the element types in which constants of a C type are printed.
var elements = map[string]tensor.DType{"int8_t": tensor.I8, "uint8_t": tensor.U8, "int16_t": tensor.I16,
	"uint16_t": tensor.U16, "int32_t": tensor.I32, "uint32_t": tensor.U32, "int64_t": tensor.I64,
	"uint64_t": tensor.U64, "float": tensor.F32, "double": tensor.F64}

// list prints a keyword and quoted texts, nothing where there are none.
func (t *printer) list(keyword string, s []string) {
	if len(s) > 0 {
		t.f("%s %s", keyword, quoted(s))
	}
}

func quoted(s []string) string {
	q := make([]string, len(s))
	for i, x := range s {
		q[i] = strconv.Quote(x)
	}
	return strings.Join(q, ", ")
}

// keywords are words that mean something else than themselves in a call.
var keywords = regexp.MustCompile(`^((in|out|const|code)[0-9]+|scratch|null|trained|func|struct|array|mutable)$`)

// word is a text as it is where it is a word or a number, else in quotes.
func word(s string) string {
	if syntax.Plain(s) && !keywords.MatchString(s) {
		return s
	}
	return strconv.Quote(s)
}
