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
	"github.com/nncc/nncc/ir/types"
)

const (
	maxDepth = 32      // of structs in structs
	maxBytes = 1 << 31 // of a buffer, and of whatever a number in a text says
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
	c := &codec{w: syntax.NewPrinter(brief), p: p}
	for _, s := range p.Steps {
		for _, x := range s.Calls {
			if x.Code != nil && c.number(x.Code) < 0 {
				c.code = append(c.code, x.Code)
			}
		}
	}
	c.program()
	io.WriteString(w, c.w.String())
}

// Parse reads the text form that Program.String writes. It checks the form of
// the text, Program.Verify its meaning. Errors are *syntax.Error. No text makes
// Parse panic, and memory stays proportional to the text (up to 32 MB beyond it
// for splat and rand).
func Parse(src string) (*Program, error) {
	c := &codec{r: syntax.NewParser(src), p: &Program{}, buffers: map[string]int{}, aliases: map[int]syntax.Token{}}
	if err := c.r.Run("program", c.program); err != nil {
		return nil, err
	}
	return c.p, nil
}

// codec writes the text of a program, or reads it: what stands in it is said once for both.
type codec struct {
	w    *syntax.Printer // nil where text is read
	r    *syntax.Parser
	p    *Program
	code []*call.Code // functions written for nodes, by number

	// Of texts that are read:
	buffers map[string]int
	aliases map[int]syntax.Token // of buffers that lie in others, the others' names
	scratch []Buffer
}

// f writes text with values in it, or reads both. Verbs: %d is a number from 0 up, %i any, %n one that is known;
// %q a string, %w a word, %v the name of a new value, %b that of a buffer, %t a type. A word with # behind it is
// one with a number, as in0.
func (c *codec) f(format string, args ...any) {
	word := ""
	for len(format) > 0 {
		n := len(leading(format))
		switch {
		case n > 0 && n < len(format) && format[n] == '#':
			c.numbered(format[:n], args[0].(*int))
			format, args = format[n+1:], args[1:]
		case n > 0:
			word = format[:n]
			c.literal(word)
			format = format[n:]
		case format[0] == '%':
			c.verb(format[1], word, args[0])
			format, args = format[2:], args[1:]
		default:
			c.literal(format[:1])
			format = format[1:]
		}
	}
}

// leading is the word that a text begins with.
func leading(s string) string {
	if i := strings.IndexFunc(s, func(r rune) bool { return r < 'a' || r > 'z' }); i >= 0 {
		return s[:i]
	}
	return s
}

func (c *codec) literal(s string) {
	switch {
	case c.w != nil:
		c.w.WriteString(s)
	case leading(s) != "":
		c.r.Word(s)
	case s != " " && s != "\n":
		c.r.Want(s)
	}
}

func (c *codec) verb(verb byte, word string, arg any) {
	if c.w != nil {
		c.print(verb, arg)
		return
	}
	pos := c.r.Tok.Pos
	switch verb {
	case 'd':
		*arg.(*int) = c.count()
	case 'i':
		*arg.(*int) = c.r.Int()
	case 'n':
		if k := c.count(); k != arg.(int) {
			c.r.FailAt(pos, "%s %d, want %d", word, k, arg)
		}
	case 'q':
		*arg.(*string) = c.r.Take(syntax.String, "a string")
	case 'w':
		*arg.(*string) = c.word()
	case 'v':
		*arg.(*string) = c.r.Take(syntax.Value, "a value such as %x")
	case 'b':
		t := c.r.Tok
		k, ok := c.buffers[c.r.Take(syntax.Value, "a value such as %x")]
		c.r.RefuseAt(!ok, pos, "there is no buffer %s before this line", t)
		*arg.(*int) = k
	case 't':
		t := c.r.Type()
		c.r.RefuseAt(t.DType == tensor.Invalid || t.Elems() >= maxBytes || t.Bytes() >= maxBytes, pos,
			"no buffer has the type %s", t)
		*arg.(*types.Type) = t
	}
}

func (c *codec) print(verb byte, arg any) {
	switch verb {
	case 'd', 'i':
		fmt.Fprint(c.w, *arg.(*int))
	case 'n':
		fmt.Fprint(c.w, arg)
	case 'q':
		c.w.WriteString(strconv.Quote(*arg.(*string)))
	case 'w':
		c.w.WriteString(word(*arg.(*string)))
	case 'v':
		c.w.WriteString(syntax.Name(*arg.(*string)))
	case 'b':
		c.w.WriteString(syntax.Name(c.p.Buffers[*arg.(*int)].Name))
	case 't':
		c.w.WriteString(arg.(*types.Type).String())
	}
}

// count reads an integer from 0 up.
func (c *codec) count() int {
	pos := c.r.Tok.Pos
	n := c.r.Int()
	c.r.RefuseAt(n < 0 || n >= maxBytes, pos, "%d is not from 0 to %d", n, maxBytes-1)
	return n
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

// word reads what word writes.
func (c *codec) word() string {
	t := c.r.Tok
	c.r.Refuse(t.Kind != syntax.Ident && t.Kind != syntax.Number && t.Kind != syntax.String, "found %s, want a word", t)
	c.r.Advance()
	return t.Text
}

// numbered is a word such as in3 of its number.
func (c *codec) numbered(prefix string, i *int) {
	if c.w != nil {
		fmt.Fprint(c.w, prefix, *i)
		return
	}
	pos := c.r.Tok.Pos
	w := c.r.Take(syntax.Ident, prefix+" and a number")
	n, ok := number(w, prefix)
	c.r.RefuseAt(!ok, pos, "found %s, want %s and a number", w, prefix)
	*i = n
}

func number(w, prefix string) (int, bool) {
	s, ok := strings.CutPrefix(w, prefix)
	n, err := strconv.Atoi(s)
	return n, ok && err == nil && n >= 0 && n < maxBytes && strconv.Itoa(n) == s
}

// opt is f of what is there or not: of something to write is says it, of a text the word that format begins with.
func (c *codec) opt(is bool, format string, args ...any) bool {
	if c.r != nil {
		is = c.begins(format)
	}
	if is {
		c.f(format, args...)
	}
	return is
}

// flag is opt of what is true or not.
func (c *codec) flag(is *bool, format string, args ...any) {
	if c.opt(*is, format, args...) && c.r != nil {
		*is = true
	}
}

func (c *codec) begins(format string) bool {
	was := *c.r
	defer func() { *c.r = was }()
	format, comma := strings.CutPrefix(strings.TrimLeft(format, " "), ",")
	if comma && !c.r.Accept(",") {
		return false
	}
	format = strings.TrimLeft(format, " ")
	w := leading(format)
	if strings.HasPrefix(format[len(w):], "#") {
		_, ok := number(c.r.Tok.Text, w)
		return ok && c.r.Tok.Kind == syntax.Ident
	}
	return c.r.IsWord(w)
}

// list is items between commas, maybe none, up to a mark behind them.
func list[T any](c *codec, end string, s *[]T, item func(x *T)) {
	if c.r != nil && c.r.Is(end) {
		return
	}
	for i := 0; c.r != nil || i < len(*s); i++ {
		if c.r != nil {
			*s = append(*s, *new(T))
		} else if i > 0 {
			c.f(", ")
		}
		if item(&(*s)[i]); c.r != nil && (!c.r.Accept(",") || c.r.Is(end)) {
			return
		}
	}
}

// texts are a keyword and strings behind it, or nothing.
func (c *codec) texts(keyword string, s *[]string) bool {
	if !c.opt(len(*s) > 0, keyword+" ") {
		return false
	}
	list(c, "", s, func(x *string) { c.f("%q", x) })
	return true
}

// lines are items that begin with a word, one behind another.
func lines[T any](c *codec, word string, s *[]T, item func(i int, x *T)) {
	for i := 0; c.w != nil && i < len(*s); i++ {
		item(i, &(*s)[i])
	}
	for c.r != nil && c.r.IsWord(word) {
		*s = append(*s, *new(T))
		item(len(*s)-1, &(*s)[len(*s)-1])
	}
}

func (c *codec) program() {
	c.f("program %q {\n", &c.p.Name)
	c.statements()
	for c.r != nil && !c.r.Is("}") {
		pos := c.r.Tok.Pos
		if c.statements(); c.r.Tok.Pos == pos {
			c.r.Failf("found %s, want arena, in, buffer, input, output, state, code, step, view, const or }", c.r.Tok)
		}
	}
	c.f("}\n")
	if c.r != nil {
		c.complete()
	}
}

// complete finds the buffers that others lie in, and puts memory of steps behind all values.
func (c *codec) complete() {
	p := c.p
	for i, name := range c.aliases {
		k, ok := c.buffers[name.Text]
		c.r.RefuseAt(!ok, name.Pos, "there is no buffer %s", name)
		p.Buffers[i].AliasOf = k
	}
	add := func(i int, b Buffer) int {
		b.First, b.Last = i, i
		p.Buffers = append(p.Buffers, b)
		return len(p.Buffers) - 1
	}
	for i, s := range p.Steps { // scratch memory comes behind the values
		if s.Scratch >= 0 {
			s.Scratch = add(i, c.scratch[s.Scratch])
		}
	}
	for i, s := range p.Steps { // and what is fetched behind that
		places := map[int]int{}
		for k, f := range s.Fetches {
			if _, ok := places[f.Buffer]; !ok {
				places[f.Buffer] = add(i, c.scratch[f.Buffer])
			}
			s.Fetches[k].Buffer = places[f.Buffer]
		}
	}
}

func (c *codec) statements() {
	p := c.p
	if c.opt(true, "  arena %d, bound %d", &p.ArenaBytes, &p.LowerBound) {
		if !c.opt(p.OverlapBound != p.LowerBound, ", overlapping %d", &p.OverlapBound) {
			p.OverlapBound = p.LowerBound
		}
		c.flag(&p.PeakOptimal, " optimal")
		c.opt(p.StateBytes > 0, ", state %d", &p.StateBytes)
		c.opt(p.StagedBytes > 0, ", staged %d", &p.StagedBytes)
		c.f("\n")
	}
	lines(c, "in", &p.Parts, func(_ int, x *Part) { c.f("  in %q, %d bytes\n", &x.Name, &x.Bytes) })
	lines(c, "buffer", &p.Buffers, c.buffer)
	lines(c, "input", &p.Inputs, func(_ int, x *IO) { c.f("  input %q = %b\n", &x.Name, &x.Buffer) })
	lines(c, "output", &p.Outputs, func(_ int, x *IO) { c.f("  output %q = %b\n", &x.Name, &x.Buffer) })
	lines(c, "state", &p.States, func(_ int, x *State) {
		c.f("  state in# = out#, fill %i", &x.In, &x.Out, &x.Fill)
		if !c.opt(x.Init >= 0, ", const#", &x.Init) && c.r != nil {
			x.Init = -1
		}
		c.f("\n")
	})
	lines(c, "code", &c.code, c.function)
	lines(c, "step", &p.Steps, func(i int, s **Step) {
		c.f("  step %n ", i)
		c.step(s, true)
	})
	lines(c, "view", &p.Views, func(_ int, s **Step) {
		c.f("  view ")
		c.step(s, false)
	})
	lines(c, "const", &p.Consts, c.constant)
}

func (c *codec) buffer(i int, b *Buffer) {
	if b.IsScratch() && c.w != nil {
		return
	}
	c.f("  buffer ")
	if c.r != nil {
		t := c.r.Tok
		_, twice := c.buffers[t.Text]
		c.r.Refuse(twice && t.Kind == syntax.Value, "there are two buffers %s", t)
	}
	c.f("%v : %t at %d, %d bytes, steps %d to %d", &b.Name, &b.Type, &b.Offset, &b.Bytes, &b.First, &b.Last)
	c.flag(&b.Kept, ", kept")
	if c.opt(b.AliasOf >= 0, ", in ") {
		if c.r != nil {
			c.aliases[i] = c.r.Tok
			c.r.Take(syntax.Value, "a value such as %x")
		} else {
			c.f("%b", &b.AliasOf)
		}
	}
	c.opt(b.Pitch > 0, ", rows of %d every %d", &b.Row, &b.Pitch)
	if c.r != nil {
		b.AliasOf, c.buffers[b.Name] = -1, i
	}
	c.part(b)
}

// part ends the line of a buffer: a comment says in which part of the arena it lies, and where there, for
// offsets are those of the whole.
func (c *codec) part(b *Buffer) {
	if c.w != nil && len(c.p.Parts) > 0 && !b.Kept {
		storage := b
		for range c.p.Buffers { // what was read from a text can be wrong
			if storage.AliasOf < 0 {
				break
			}
			storage = &c.p.Buffers[storage.AliasOf]
		}
		k, at := c.p.part(storage, b.Offset)
		fmt.Fprintf(c.w, " # in %s at %d", strconv.Quote(c.p.Parts[k].Name), at)
	}
	c.f("\n")
}

// memory is a buffer of one step.
func (c *codec) memory(i *int) {
	b := &Buffer{AliasOf: -1}
	if c.w != nil {
		b = &c.p.Buffers[*i]
	}
	c.f("%v at %d, %d bytes", &b.Name, &b.Offset, &b.Bytes)
	c.part(b)
	if c.r != nil {
		*i = len(c.scratch)
		c.scratch = append(c.scratch, *b)
	}
}

// number of a function, -1 where it has none yet; equal ones have one.
func (c *codec) number(x *call.Code) int {
	return slices.IndexFunc(c.code, func(y *call.Code) bool {
		return x == y || x.Hint == y.Hint && x.Body == y.Body && slices.Equal(x.Params, y.Params) &&
			slices.Equal(x.Uses, y.Uses) && slices.Equal(x.Headers, y.Headers)
	})
}

func (c *codec) function(i int, at **call.Code) {
	if c.r != nil {
		*at = &call.Code{}
	}
	x := *at
	c.f("  code %n %q (", i, &x.Hint)
	list(c, ")", &x.Params, func(s *string) { c.f("%q", s) })
	c.f(")")
	c.texts(" uses", &x.Uses)
	c.texts(" headers", &x.Headers)
	c.f(" {\n")
	body := strings.Split(x.Body, "\n")
	if c.r != nil {
		for body = nil; !c.r.Is("}"); {
			body = append(body, c.r.Take(syntax.String, "a line of C as a string"))
		}
		x.Body = strings.Join(body, "\n")
	} else {
		for _, line := range body {
			c.f("    %q\n", &line)
		}
	}
	c.f("  }\n")
}

// step is a node; one with code may have memory of its own and calls.
func (c *codec) step(at **Step, code bool) {
	if c.r != nil {
		*at = &Step{Scratch: -1}
	}
	s := *at
	list(c, "=", &s.Out, func(x *int) { c.f("%b", x) })
	c.f(" = %w(", &s.Op)
	list(c, ")", &s.In, func(x *Operand) {
		if c.w != nil && x.Buffer < 0 || c.r != nil && c.r.Is("-") {
			if c.f("-"); c.r != nil {
				x.Buffer = -1
			}
			return
		}
		c.flag(&x.Unread, "unread ")
		c.f("%b", &x.Buffer)
	})
	c.f(") %q", &s.Name)
	c.texts(" from", &s.Origin)
	c.opt(s.Chain != "", " in chain %q", &s.Chain)
	c.f("\n")
	if c.opt(s.Kernel != "" || s.Route != "", "    by %w", &s.Kernel) {
		c.opt(s.Route != "", " runs %w", &s.Route)
		c.f("\n")
	}
	if code {
		if c.opt(s.Scratch >= 0, "    scratch ") {
			c.memory(&s.Scratch)
		}
		lines(c, "fetch", &s.Fetches, func(i int, x *Fetch) { c.fetch(s.Fetches[:i], x) })
	}
	c.facts(s)
	if code {
		lines(c, "call", &s.Calls, func(_ int, x *call.Call) { c.call(x) })
	}
}

// fetch is a copy of a constant, maybe over another.
func (c *codec) fetch(before []Fetch, x *Fetch) {
	c.f("    fetch const#", &x.Const)
	over := Fetch{}
	at := slices.IndexFunc(before, func(y Fetch) bool { return y.Buffer == x.Buffer })
	if at >= 0 {
		over = before[at]
	}
	if !c.opt(c.w != nil && at >= 0, " over const#", &over.Const) {
		c.f(" to ")
		c.memory(&x.Buffer)
		return
	}
	c.f("\n")
	if at = slices.IndexFunc(before, func(y Fetch) bool { return y.Const == over.Const }); c.r != nil {
		c.r.Refuse(at < 0, "the step has not fetched const%d", over.Const)
		x.Buffer = before[at].Buffer
	}
}

// facts are what a step says beside its operands, memory and calls.
func (c *codec) facts(s *Step) {
	if c.opt(len(s.Overlap) > 0, "    overwrites ") {
		list(c, "", &s.Overlap, func(x *call.Overlap) {
			c.f("in#", &x.I)
			c.opt(x.Out > 0, " as out#", &x.Out)
			x.Exact = !c.opt(!x.Exact, " ahead %d", &x.Ahead)
			c.opt(x.Behind > 0, " behind %d", &x.Behind)
			c.opt(x.Slower > 0, " slower %d", &x.Slower)
			x.Scratch = c.opt(x.Scratch, " by scratch")
		})
		c.f("\n")
	}
	if c.texts("    headers", &s.Headers) {
		c.f("\n")
	}
	lines(c, "rows", &s.Rows, func(_ int, x *call.Rows) {
		c.f("    rows ")
		c.operand(&x.Output, &x.I)
		c.f(" of %d\n", &x.Bytes)
	})
	c.flag(&s.Whole, "    whole\n")
	lines(c, "part", &s.Parts, func(_ int, x *call.Part) {
		c.f("    part ")
		out := c.w != nil && !x.Input
		if c.operand(&out, &x.I); c.r != nil {
			x.Input = !out
		}
		c.f(" at %d", &x.Off)
		c.opt(x.Row > 0, ", rows of %d every %d", &x.Row, &x.Pitch)
		c.f("\n")
	})
}

// operand is in0 or out0.
func (c *codec) operand(out *bool, i *int) {
	if c.flag(out, "out#", i); !*out {
		c.f("in#", i)
	}
}

func (c *codec) call(x *call.Call) {
	c.f("    call ")
	k, pos := -1, 0
	if c.r != nil {
		pos = c.r.Tok.Pos
	} else if x.Code != nil {
		k = c.number(x.Code)
	}
	if !c.opt(k >= 0, "code#", &k) {
		c.f("%w", &x.Func)
	}
	if c.w != nil {
		c.printArgs(x.Args)
	} else {
		if k >= len(c.code) {
			c.r.FailAt(pos, "there is no code %d before this line", k)
		} else if k >= 0 {
			x.Code = c.code[k]
		}
		c.f("(")
		list(c, ")", &x.Args, func(a *call.Arg) { *a = c.arg(0) })
		c.f(")")
	}
	c.opt(x.Status != call.NoStatus, " returns %w", (*string)(&x.Status))
	c.f("\n")
}

func (c *codec) printArgs(args []call.Arg) {
	texts := make([]string, len(args))
	width := 0
	for i, a := range args {
		x := &codec{w: syntax.NewPrinter(false)}
		x.printArg(a)
		texts[i] = x.w.String()
		width += len(texts[i]) + 2
	}
	if width <= 80 {
		fmt.Fprintf(c.w, "(%s)", strings.Join(texts, ", "))
	} else {
		fmt.Fprintf(c.w, "(\n      %s)", strings.Join(texts, ",\n      "))
	}
}

func (c *codec) printArg(a call.Arg) {
	mutable := map[bool]string{true: "mutable "}
	pointer := func(what string, off int, ctype string) {
		if off != 0 {
			what += fmt.Sprintf("%+d", off)
		}
		fmt.Fprintf(c.w, "%s:%s", what, word(ctype))
	}
	switch a := a.(type) {
	case call.Lit:
		c.w.WriteString(word(string(a)))
	case call.Trained:
		c.w.WriteString("trained " + word(string(a)))
	case call.Func:
		c.w.WriteString("func " + word(string(a)))
	case call.Null:
		c.w.WriteString("null")
	case call.In:
		pointer(fmt.Sprint("in", a.I), a.Off, a.CType)
	case call.Out:
		pointer(fmt.Sprint("out", a.I), a.Off, a.CType)
	case call.Scratch:
		pointer("scratch", a.Off, a.CType)
	case call.Const:
		fmt.Fprintf(c.w, "%sconst%d", mutable[!a.NoCast], a.I)
	case *call.Struct:
		fmt.Fprintf(c.w, "%sstruct %s ", mutable[a.Mutable], word(a.Type))
		c.printArg(call.Nested{Fields: a.Fields})
	case *call.Array:
		c.f("array %w %d {", &a.Type, &a.Bytes)
		list(c, "", &a.Elems, func(x *call.Nested) { c.printArg(*x) })
		c.f("}")
	case call.Nested:
		c.f("{")
		list(c, "", &a.Fields, func(x *call.Field) {
			c.opt(x.Name != "", "%w = ", &x.Name)
			c.printArg(x.Value)
		})
		c.f("}")
	default:
		panic(bug.Errorf("a program has no argument %T", a))
	}
}

// arg reads an argument, depth structs deep.
func (c *codec) arg(depth int) call.Arg {
	t := c.r.Tok
	switch t.Kind {
	case syntax.String, syntax.Number:
		c.r.Advance()
		return call.Lit(t.Text)
	case syntax.Ident:
		c.r.Advance()
		return c.argWord(t, depth)
	}
	return c.nested(depth)
}

// argWord reads an argument that begins with a word, behind it.
func (c *codec) argWord(t syntax.Token, depth int) call.Arg {
	mutable := t.Text == "mutable"
	if mutable {
		t = c.r.Tok
		c.r.Take(syntax.Ident, "struct or const and a number")
	}
	if t.Text == "struct" {
		s := &call.Struct{Type: c.word(), Mutable: mutable}
		s.Fields = c.nested(depth).Fields
		return s
	}
	if i, ok := number(t.Text, "const"); ok {
		return call.Const{I: i, NoCast: !mutable}
	}
	c.r.RefuseAt(mutable, t.Pos, "found %s, want struct or const and a number", t)
	switch t.Text {
	case "null":
		return call.Null{}
	case "trained":
		return call.Trained(c.word())
	case "func":
		return call.Func(c.word())
	case "scratch":
		off, ctype := c.pointer()
		return call.Scratch{Off: off, CType: ctype}
	case "array":
		a := &call.Array{}
		c.f("%w %d {", &a.Type, &a.Bytes)
		list(c, "}", &a.Elems, func(x *call.Nested) { *x = c.nested(depth + 1) })
		c.f("}")
		return a
	}
	if i, ok := number(t.Text, "in"); ok {
		off, ctype := c.pointer()
		return call.In{I: i, Off: off, CType: ctype}
	}
	if i, ok := number(t.Text, "out"); ok {
		off, ctype := c.pointer()
		return call.Out{I: i, Off: off, CType: ctype}
	}
	return call.Lit(t.Text)
}

// pointer reads "+16:int8_t".
func (c *codec) pointer() (off int, ctype string) {
	if pos := c.r.Tok.Pos; c.r.Tok.Kind == syntax.Number {
		off = c.r.Int()
		c.r.RefuseAt(off <= -maxBytes || off >= maxBytes, pos, "an offset of %d bytes", off)
	}
	c.f(":%w", &ctype)
	return off, ctype
}

// nested reads fields in braces. A field's name is a word before "=".
func (c *codec) nested(depth int) (n call.Nested) {
	c.r.Refuse(depth > maxDepth, "structs are nested more than %d deep", maxDepth)
	c.f("{")
	list(c, "}", &n.Fields, func(x *call.Field) {
		t := c.r.Tok
		if t.Kind == syntax.Ident || t.Kind == syntax.String {
			was := *c.r
			if c.r.Advance(); c.r.Accept("=") {
				x.Name = t.Text
			} else {
				*c.r = was
			}
		}
		x.Value = c.arg(depth + 1)
	})
	c.f("}")
	return n
}

// elements are the element types in which constants of a C type are printed.
var elements = map[string]tensor.DType{"int8_t": tensor.I8, "uint8_t": tensor.U8, "int16_t": tensor.I16,
	"uint16_t": tensor.U16, "int32_t": tensor.I32, "uint32_t": tensor.U32, "int64_t": tensor.I64,
	"uint64_t": tensor.U64, "float": tensor.F32, "double": tensor.F64}

func (c *codec) constant(i int, x *Const) {
	c.f("  const %n %q", i, &x.Hint)
	c.opt(x.Ext != "", " file %q", &x.Ext)
	c.f(" %w", &x.CType)
	c.opt(x.Align != 0, " align %d", &x.Align)
	c.opt(x.Pad != 0, " pad %d", &x.Pad)
	c.flag(&x.Staged, " staged at %d", &x.At)
	c.f(" = ")
	if c.r != nil {
		t := c.r.Type()
		x.Data = c.r.Data(t.DType, t.Shape).Bytes()
		return
	}
	dt, ok := elements[x.CType]
	if !ok || len(x.Data)%dt.Size() != 0 {
		dt = tensor.U8
	}
	d := bug.Must(tensor.FromBytes(dt, []int{len(x.Data) / dt.Size()}, x.Data))
	fmt.Fprintf(c.w, "%s[%d] ", dt, d.Len())
	c.w.Data(d)
	c.f("\n")
}
