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
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/syntax"
	"github.com/nncc/nncc/ir/tensor"
)

// String is the text form of the program. README.md says what its statements mean.
func (p *Program) String() string {
	var b strings.Builder
	p.WriteText(&b, false)
	return b.String()
}

// WriteText writes the text form. With brief, long constants are elided as "...".
func (p *Program) WriteText(w io.Writer, brief bool) {
	t := &printer{Printer: syntax.NewPrinter(brief), p: p}
	for _, s := range p.Steps {
		for _, x := range s.Calls {
			if x.Code != nil && t.number(x.Code) < 0 {
				t.code = append(t.code, x.Code)
			}
		}
	}
	t.program()
	io.WriteString(w, t.Printer.String())
}

// printer writes the text of a program.
type printer struct {
	*syntax.Printer
	p    *Program
	code []*call.Code // functions written for nodes, by number
}

func (t *printer) f(format string, args ...any) { fmt.Fprintf(t, format, args...) }

// opt is f of what is there or not.
func (t *printer) opt(is bool, format string, args ...any) {
	if is {
		t.f(format, args...)
	}
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

// joined are items between commas.
func joined[T any](list []T, text func(x T) string) string {
	return strings.Join(lists.Map(list, text), ", ")
}

// texts are strings between commas.
func texts(list []string) string { return joined(list, strconv.Quote) }

// buffer is the name of a buffer.
func (t *printer) buffer(i int) string { return syntax.Name(t.p.Buffers[i].Name) }

func (t *printer) program() {
	p := t.p
	t.f("program %q {\n  arena %d, bound %d", p.Name, p.ArenaBytes, p.LowerBound)
	t.opt(p.OverlapBound != p.LowerBound, ", overlapping %d", p.OverlapBound)
	t.opt(p.PeakOptimal, " optimal")
	t.opt(p.StateBytes > 0, ", state %d", p.StateBytes)
	t.opt(p.StagedBytes > 0, ", staged %d", p.StagedBytes)
	t.f("\n")
	for _, x := range p.Parts {
		t.f("  in %q, %d bytes\n", x.Name, x.Bytes)
	}
	for i := range p.Buffers {
		t.value(&p.Buffers[i])
	}
	for _, x := range p.Inputs {
		t.f("  input %q = %s\n", x.Name, t.buffer(x.Buffer))
	}
	for _, x := range p.Outputs {
		t.f("  output %q = %s\n", x.Name, t.buffer(x.Buffer))
	}
	for _, x := range p.States {
		t.f("  state in%d = out%d, fill %d", x.In, x.Out, x.Fill)
		t.opt(x.Init >= 0, ", const%d", x.Init)
		t.f("\n")
	}
	for i, x := range t.code {
		t.function(i, x)
	}
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

// value is a buffer that no step has for itself.
func (t *printer) value(b *Buffer) {
	if b.IsScratch() {
		return
	}
	t.f("  buffer %s : %s at %d, %d bytes, steps %d to %d", syntax.Name(b.Name), b.Type, b.Offset, b.Bytes, b.First,
		b.Last)
	t.opt(b.Kept, ", kept")
	if b.AliasOf >= 0 {
		t.f(", in %s", t.buffer(b.AliasOf))
	}
	t.opt(b.Pitch > 0, ", rows of %d every %d", b.Row, b.Pitch)
	t.part(b)
}

// part ends the line of a buffer: a comment says in which part of the arena it lies, and where there, for
// offsets are those of the whole.
func (t *printer) part(b *Buffer) {
	if len(t.p.Parts) > 0 && !b.Kept {
		storage := b
		for range t.p.Buffers { // what is printed can be wrong
			if storage.AliasOf < 0 {
				break
			}
			storage = &t.p.Buffers[storage.AliasOf]
		}
		k, at := t.p.part(storage, b.Offset)
		t.f(" # in %q at %d", t.p.Parts[k].Name, at)
	}
	t.f("\n")
}

// memory is a buffer of one step.
func (t *printer) memory(i int) {
	b := &t.p.Buffers[i]
	t.f("%s at %d, %d bytes", syntax.Name(b.Name), b.Offset, b.Bytes)
	t.part(b)
}

// number of a function, -1 where it has none yet; equal ones have one.
func (t *printer) number(x *call.Code) int {
	return slices.IndexFunc(t.code, func(y *call.Code) bool {
		return x == y || x.Hint == y.Hint && x.Body == y.Body && slices.Equal(x.Params, y.Params) &&
			slices.Equal(x.Uses, y.Uses) && slices.Equal(x.Headers, y.Headers)
	})
}

func (t *printer) function(i int, x *call.Code) {
	t.f("  code %d %q (%s)", i, x.Hint, texts(x.Params))
	t.opt(len(x.Uses) > 0, " uses %s", texts(x.Uses))
	t.opt(len(x.Headers) > 0, " headers %s", texts(x.Headers))
	t.f(" {\n")
	for line := range strings.SplitSeq(x.Body, "\n") {
		t.f("    %q\n", line)
	}
	t.f("  }\n")
}

// step is a node; one with code may have memory of its own and calls.
func (t *printer) step(s *Step) {
	in := joined(s.In, func(x Operand) string {
		switch {
		case x.Buffer < 0:
			return "-"
		case x.Unread:
			return "unread " + t.buffer(x.Buffer)
		}
		return t.buffer(x.Buffer)
	})
	t.f("%s = %s(%s) %q", joined(s.Out, t.buffer), word(s.Op), in, s.Name)
	t.opt(len(s.Origin) > 0, " from %s", texts(s.Origin))
	t.opt(s.Chain != "", " in chain %q", s.Chain)
	t.f("\n")
	if s.Kernel != "" || s.Route != "" {
		t.f("    by %s", word(s.Kernel))
		t.opt(s.Route != "", " runs %s", word(s.Route))
		t.f("\n")
	}
	if s.Scratch >= 0 {
		t.f("    scratch ")
		t.memory(s.Scratch)
	}
	for i, x := range s.Fetches {
		t.f("    fetch const%d ", x.Const)
		if k := slices.IndexFunc(s.Fetches[:i], func(y Fetch) bool { return y.Buffer == x.Buffer }); k >= 0 {
			t.f("over const%d\n", s.Fetches[k].Const)
			continue
		}
		t.f("to ")
		t.memory(x.Buffer)
	}
	t.facts(s)
	for i := range s.Calls {
		t.call(&s.Calls[i])
	}
}

// facts are what a step says beside its operands, memory and calls.
func (t *printer) facts(s *Step) {
	for i, x := range s.Overlap {
		t.f("%sin%d", []string{"    overwrites ", ", "}[min(i, 1)], x.I)
		t.opt(x.Out > 0, " as out%d", x.Out)
		t.opt(!x.Exact, " ahead %d", x.Ahead)
		t.opt(x.Behind > 0, " behind %d", x.Behind)
		t.opt(x.Slower > 0, " slower %d", x.Slower)
		t.opt(x.Scratch, " by scratch")
	}
	t.opt(len(s.Overlap) > 0, "\n")
	t.opt(len(s.Headers) > 0, "    headers %s\n", texts(s.Headers))
	side := map[bool]string{true: "in", false: "out"}
	for _, x := range s.Rows {
		t.f("    rows %s%d of %d\n", side[!x.Output], x.I, x.Bytes)
	}
	t.opt(s.Whole, "    whole\n")
	for _, x := range s.Parts {
		t.f("    part %s%d at %d", side[x.Input], x.I, x.Off)
		t.opt(x.Row > 0, ", rows of %d every %d", x.Row, x.Pitch)
		t.f("\n")
	}
}

func (t *printer) call(x *call.Call) {
	name := word(x.Func)
	if x.Code != nil {
		name = fmt.Sprint("code", t.number(x.Code))
	}
	args := lists.Map(x.Args, arg)
	if lists.Sum(args, func(s string) int { return len(s) + 2 }) <= 80 {
		t.f("    call %s(%s)", name, strings.Join(args, ", "))
	} else {
		t.f("    call %s(\n      %s)", name, strings.Join(args, ",\n      "))
	}
	t.opt(x.Status != call.NoStatus, " returns %s", word(string(x.Status)))
	t.f("\n")
}

// arg is an argument as text.
func arg(a call.Arg) string {
	mutable := map[bool]string{true: "mutable "}
	pointer := func(what string, off int, ctype string) string {
		if off != 0 {
			what += fmt.Sprintf("%+d", off)
		}
		return what + ":" + word(ctype)
	}
	switch a := a.(type) {
	case call.Lit:
		return word(string(a))
	case call.Trained:
		return "trained " + word(string(a))
	case call.Func:
		return "func " + word(string(a))
	case call.Null:
		return "null"
	case call.In:
		return pointer(fmt.Sprint("in", a.I), a.Off, a.CType)
	case call.Out:
		return pointer(fmt.Sprint("out", a.I), a.Off, a.CType)
	case call.Scratch:
		return pointer("scratch", a.Off, a.CType)
	case call.Const:
		return fmt.Sprintf("%sconst%d", mutable[!a.NoCast], a.I)
	case *call.Struct:
		return fmt.Sprintf("%sstruct %s %s", mutable[a.Mutable], word(a.Type), nested(call.Nested{Fields: a.Fields}))
	case *call.Array:
		return fmt.Sprintf("array %s %d {%s}", word(a.Type), a.Bytes, joined(a.Elems, nested))
	case call.Nested:
		return nested(a)
	}
	panic(bug.Errorf("a program has no argument %T", a))
}

// nested are fields in braces.
func nested(n call.Nested) string {
	return "{" + joined(n.Fields, func(x call.Field) string {
		if x.Name == "" {
			return arg(x.Value)
		}
		return word(x.Name) + " = " + arg(x.Value)
	}) + "}"
}

// elements are the element types in which constants of a C type are printed.
var elements = map[string]tensor.DType{"int8_t": tensor.I8, "uint8_t": tensor.U8, "int16_t": tensor.I16,
	"uint16_t": tensor.U16, "int32_t": tensor.I32, "uint32_t": tensor.U32, "int64_t": tensor.I64,
	"uint64_t": tensor.U64, "float": tensor.F32, "double": tensor.F64}

func (t *printer) constant(i int, x *Const) {
	t.f("  const %d %q", i, x.Hint)
	t.opt(x.Ext != "", " file %q", x.Ext)
	t.f(" %s", word(x.CType))
	t.opt(x.Align != 0, " align %d", x.Align)
	t.opt(x.Pad != 0, " pad %d", x.Pad)
	t.opt(x.Staged, " staged at %d", x.At)
	dt, ok := elements[x.CType]
	if !ok || len(x.Data)%dt.Size() != 0 {
		dt = tensor.U8
	}
	d := bug.Must(tensor.FromBytes(dt, []int{len(x.Data) / dt.Size()}, x.Data))
	t.f(" = %s[%d] ", dt, d.Len())
	t.Data(d)
	t.f("\n")
}
