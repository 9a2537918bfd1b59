// SPDX-License-Identifier: Apache-2.0

package program

import (
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/syntax"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/ir/types"
)

const (
	maxDepth = 32      // of structs in structs
	maxBytes = 1 << 31 // of a buffer, and of whatever a number in a text says
)

// Parse reads the text form that Program.String writes. It checks the form of
// the text, Program.Verify its meaning. Errors are *syntax.Error. No text makes
// Parse panic, and memory stays proportional to the text (up to 32 MB beyond it
// for splat and rand).
func Parse(src string) (*Program, error) {
	p := &parser{Parser: syntax.NewParser(src), out: &Program{}, buffers: map[string]int{}, aliases: map[int]token{}}
	if err := p.Run("program", p.program); err != nil {
		return nil, err
	}
	return p.out, nil
}

type token = syntax.Token

type parser struct {
	*syntax.Parser
	out     *Program
	buffers map[string]int
	aliases map[int]token // of buffers that lie in others, the others' names
	scratch []Buffer
	code    []*call.Code
}

func (p *parser) program() {
	p.Word("program")
	p.out.Name = p.text("the program's name")
	p.Want("{")
	statements := map[string]func(){"arena": p.arena, "in": p.part, "buffer": p.buffer, "input": p.input,
		"output": p.output, "state": p.state, "code": p.function, "step": p.nextStep, "view": p.view,
		"const": p.constant}
	for !p.Is("}") {
		f := statements[p.Tok.Text]
		if p.Tok.Kind != syntax.Ident || f == nil {
			p.Failf("found %s, want arena, in, buffer, input, output, state, code, step, view, const or }", p.Tok)
		}
		p.Advance()
		f()
	}
	p.Advance()
	for i := range p.out.Buffers {
		if name, ok := p.aliases[i]; ok {
			k, ok := p.buffers[name.Text]
			if !ok {
				p.FailAt(name.Pos, "there is no buffer %s", name)
			}
			p.out.Buffers[i].AliasOf = k
		}
	}
	add := func(i int, b Buffer) int {
		b.First, b.Last = i, i
		p.out.Buffers = append(p.out.Buffers, b)
		return len(p.out.Buffers) - 1
	}
	for i, s := range p.out.Steps { // scratch memory comes behind the values
		if s.Scratch >= 0 {
			s.Scratch = add(i, p.scratch[s.Scratch])
		}
	}
	for i, s := range p.out.Steps { // and what is fetched behind that
		places := map[int]int{}
		for k, f := range s.Fetches {
			if _, ok := places[f.Buffer]; !ok {
				places[f.Buffer] = add(i, p.scratch[f.Buffer])
			}
			s.Fetches[k].Buffer = places[f.Buffer]
		}
	}
}

func (p *parser) text(what string) string { return p.Take(syntax.String, what+" as a string") }

// number reads an integer from 0 up.
func (p *parser) number() int {
	pos := p.Tok.Pos
	n := p.Int()
	if n < 0 || n >= maxBytes {
		p.FailAt(pos, "%d is not from 0 to %d", n, maxBytes-1)
	}
	return n
}

// next is a number that counts: it must be n.
func (p *parser) next(what string, n int) {
	pos := p.Tok.Pos
	if k := p.number(); k != n {
		p.FailAt(pos, "%s %d, want %d", what, k, n)
	}
}

// word reads what the printer's word writes.
func (p *parser) word(what string) string {
	t := p.Tok
	if t.Kind != syntax.Ident && t.Kind != syntax.Number && t.Kind != syntax.String {
		p.Failf("found %s, want %s", t, what)
	}
	p.Advance()
	return t.Text
}

func (p *parser) list(what string) []string {
	var out []string
	for {
		out = append(out, p.text(what))
		if !p.Accept(",") {
			return out
		}
	}
}

// skip skips a word if it is there.
func (p *parser) skip(w string) bool {
	if !p.IsWord(w) {
		return false
	}
	p.Advance()
	return true
}

// numbered reads a word such as in3 and gives its number.
func (p *parser) numbered(prefix string) int {
	pos := p.Tok.Pos
	w := p.Take(syntax.Ident, prefix+" and a number")
	n, ok := number(w, prefix)
	if !ok {
		p.FailAt(pos, "found %s, want %s and a number", w, prefix)
	}
	return n
}

func number(w, prefix string) (int, bool) {
	s, ok := strings.CutPrefix(w, prefix)
	n, err := strconv.Atoi(s)
	return n, ok && err == nil && n >= 0 && n < maxBytes && strconv.Itoa(n) == s
}

// operand reads in0 or out0.
func (p *parser) operand() (input bool, i int) {
	if i, ok := number(p.Tok.Text, "out"); ok {
		p.Advance()
		return false, i
	}
	return true, p.numbered("in")
}

// rows reads "rows of 4 every 16" behind its first word.
func (p *parser) rows() (row, pitch int) {
	p.Word("of")
	row = p.number()
	p.Word("every")
	return row, p.number()
}

// value reads the name of a buffer.
func (p *parser) value() int {
	t := p.Tok
	p.Take(syntax.Value, "a value such as %x")
	k, ok := p.buffers[t.Text]
	if !ok {
		p.FailAt(t.Pos, "there is no buffer %s before this line", t)
	}
	return k
}

func (p *parser) arena() {
	p.out.ArenaBytes = p.number()
	p.Want(",")
	p.Word("bound")
	p.out.LowerBound = p.number()
	p.out.PeakOptimal = p.skip("optimal")
	for p.Accept(",") {
		if p.skip("staged") {
			p.out.StagedBytes = p.number()
			continue
		}
		p.Word("state")
		p.out.StateBytes = p.number()
	}
}

// part reads a part of the arena.
func (p *parser) part() {
	x := Part{Name: p.text("the memory's name")}
	p.Want(",")
	x.Bytes = p.number()
	p.Word("bytes")
	p.out.Parts = append(p.out.Parts, x)
}

// placed reads "at 16, 48 bytes".
func (p *parser) placed(b *Buffer) {
	p.Word("at")
	b.Offset = p.number()
	p.Want(",")
	b.Bytes = p.number()
	p.Word("bytes")
}

func (p *parser) buffer() {
	t := p.Tok
	b := Buffer{Name: p.Take(syntax.Value, "a value such as %x"), AliasOf: -1}
	if _, twice := p.buffers[b.Name]; twice {
		p.FailAt(t.Pos, "there are two buffers %s", t)
	}
	p.Want(":")
	pos := p.Tok.Pos
	b.Type = p.Type()
	p.checkType(pos, b.Type)
	p.placed(&b)
	p.Want(",")
	p.Word("steps")
	b.First = p.number()
	p.Word("to")
	b.Last = p.number()
	k := len(p.out.Buffers)
	for p.Accept(",") {
		if p.skip("kept") {
			b.Kept = true
			continue
		}
		if p.skip("in") {
			p.aliases[k] = p.Tok
			p.Take(syntax.Value, "a value such as %x")
			continue
		}
		p.Word("rows")
		b.Row, b.Pitch = p.rows()
	}
	p.buffers[b.Name] = k
	p.out.Buffers = append(p.out.Buffers, b)
}

// checkType bounds the size of a value.
func (p *parser) checkType(pos int, t types.Type) {
	if t.DType == tensor.Invalid || t.Elems() >= maxBytes || t.Bytes() >= maxBytes {
		p.FailAt(pos, "no buffer has the type %s", t)
	}
}

func (p *parser) io() IO {
	x := IO{Name: p.text("its name")}
	p.Want("=")
	x.Buffer = p.value()
	return x
}

func (p *parser) input()  { p.out.Inputs = append(p.out.Inputs, p.io()) }
func (p *parser) output() { p.out.Outputs = append(p.out.Outputs, p.io()) }

func (p *parser) state() {
	s := State{In: p.numbered("in"), Init: -1}
	p.Want("=")
	s.Out = p.numbered("out")
	p.Want(",")
	p.Word("fill")
	s.Fill = p.Int()
	if p.Accept(",") {
		s.Init = p.numbered("const")
	}
	p.out.States = append(p.out.States, s)
}

func (p *parser) function() {
	p.next("code", len(p.code))
	c := &call.Code{Hint: p.text("what it does")}
	p.Want("(")
	if !p.Is(")") {
		c.Params = p.list("a parameter")
	}
	p.Want(")")
	if p.skip("uses") {
		c.Uses = p.list("a function")
	}
	if p.skip("headers") {
		c.Headers = p.list("a header")
	}
	p.Want("{")
	var lines []string
	for !p.Is("}") {
		lines = append(lines, p.text("a line of C"))
	}
	p.Advance()
	c.Body = strings.Join(lines, "\n")
	p.code = append(p.code, c)
}

func (p *parser) nextStep() {
	p.next("step", len(p.out.Steps))
	p.out.Steps = append(p.out.Steps, p.step(true))
}

func (p *parser) view() { p.out.Views = append(p.out.Views, p.step(false)) }

// step reads a node; one with code may have scratch memory and calls.
func (p *parser) step(code bool) *Step {
	s := &Step{Scratch: -1}
	for !p.Is("=") {
		s.Out = append(s.Out, p.value())
		if !p.Accept(",") {
			break
		}
	}
	p.Want("=")
	s.Op = p.word("an operator")
	p.Want("(")
	for !p.Is(")") {
		s.In = append(s.In, p.stepInput())
		if !p.Accept(",") {
			break
		}
	}
	p.Want(")")
	s.Name = p.text("the step's name")
	if p.skip("from") {
		s.Origin = p.list("an ONNX node's name")
	}
	if p.skip("by") {
		s.Kernel = p.word("a function")
		if p.skip("runs") {
			s.Route = p.word("a function")
		}
	}
	for p.fact(s, code) {
	}
	for code && p.skip("call") {
		s.Calls = append(s.Calls, p.call())
	}
	return s
}

func (p *parser) stepInput() Operand {
	if p.Accept("-") {
		return Operand{Buffer: -1}
	}
	unread := p.skip("unread")
	return Operand{p.value(), unread}
}

// fetch reads a copy of a constant.
func (p *parser) fetch(s *Step) {
	f := Fetch{Const: p.numbered("const"), Buffer: len(p.scratch)}
	if p.skip("over") {
		pos := p.Tok.Pos
		c := p.numbered("const")
		at := slices.IndexFunc(s.Fetches, func(x Fetch) bool { return x.Const == c })
		if at < 0 {
			p.FailAt(pos, "the step has not fetched const%d", c)
		} else {
			f.Buffer = s.Fetches[at].Buffer
		}
	} else {
		p.Word("to")
		b := Buffer{Name: p.Take(syntax.Value, "a name such as %x"), AliasOf: -1}
		p.placed(&b)
		p.scratch = append(p.scratch, b)
	}
	s.Fetches = append(s.Fetches, f)
}

// fact reads what the printer's facts writes, one line of it.
func (p *parser) fact(s *Step, code bool) bool {
	switch {
	case code && s.Scratch < 0 && p.skip("scratch"):
		b := Buffer{Name: p.Take(syntax.Value, "a name such as %x"), AliasOf: -1}
		p.placed(&b)
		s.Scratch = len(p.scratch)
		p.scratch = append(p.scratch, b)
	case code && p.skip("fetch"):
		p.fetch(s)
	case p.skip("overwrites"):
		for {
			s.InPlace = append(s.InPlace, p.numbered("in"))
			if !p.Accept(",") {
				break
			}
		}
	case p.skip("headers"):
		s.Headers = append(s.Headers, p.list("a header")...)
	case p.skip("rows"):
		input, i := p.operand()
		p.Word("of")
		s.Rows = append(s.Rows, call.Rows{Output: !input, I: i, Bytes: p.number()})
	case p.skip("whole"):
		s.Whole = true
	case p.skip("part"):
		x := call.Part{}
		x.Input, x.I = p.operand()
		p.Word("at")
		x.Off = p.number()
		if p.Accept(",") {
			p.Word("rows")
			x.Row, x.Pitch = p.rows()
		}
		s.Parts = append(s.Parts, x)
	default:
		return false
	}
	return true
}

func (p *parser) call() call.Call {
	c := call.Call{}
	if t := p.Tok; t.Kind == syntax.Ident {
		if k, ok := number(t.Text, "code"); ok {
			if k >= len(p.code) {
				p.Failf("there is no code %d before this line", k)
			}
			c.Code = p.code[k]
		}
	}
	if f := p.word("a function"); c.Code == nil {
		c.Func = f
	}
	p.Want("(")
	for !p.Is(")") {
		c.Args = append(c.Args, p.arg(0))
		if !p.Accept(",") {
			break
		}
	}
	p.Want(")")
	if p.skip("returns") {
		c.Status = call.Status(p.word("the constant that means success"))
	}
	return c
}

// arg reads an argument, depth structs deep.
func (p *parser) arg(depth int) call.Arg {
	t := p.Tok
	switch t.Kind {
	case syntax.String, syntax.Number:
		p.Advance()
		return call.Lit(t.Text)
	case syntax.Ident:
		p.Advance()
		return p.argWord(t, depth)
	}
	return p.nested(depth)
}

// argWord reads an argument that begins with a word, behind it.
func (p *parser) argWord(t token, depth int) call.Arg {
	mutable := t.Text == "mutable"
	if mutable {
		t = p.Tok
		p.Take(syntax.Ident, "struct or const and a number")
	}
	switch {
	case t.Text == "struct":
		s := &call.Struct{Type: p.word("a type"), Mutable: mutable}
		s.Fields = p.nested(depth).Fields
		return s
	case strings.HasPrefix(t.Text, "const"):
		if i, ok := number(t.Text, "const"); ok {
			return call.Const{I: i, NoCast: !mutable}
		}
	}
	if mutable {
		p.FailAt(t.Pos, "found %s, want struct or const and a number", t)
	}
	switch t.Text {
	case "null":
		return call.Null{}
	case "trained":
		return call.Trained(p.word("a number"))
	case "func":
		return call.Func(p.word("a function"))
	case "scratch":
		off, ctype := p.pointer()
		return call.Scratch{Off: off, CType: ctype}
	case "array":
		a := &call.Array{Type: p.word("a type"), Bytes: p.number()}
		p.Want("{")
		for !p.Is("}") {
			a.Elems = append(a.Elems, p.nested(depth+1))
			if !p.Accept(",") {
				break
			}
		}
		p.Want("}")
		return a
	}
	if i, ok := number(t.Text, "in"); ok {
		off, ctype := p.pointer()
		return call.In{I: i, Off: off, CType: ctype}
	}
	if i, ok := number(t.Text, "out"); ok {
		off, ctype := p.pointer()
		return call.Out{I: i, Off: off, CType: ctype}
	}
	return call.Lit(t.Text)
}

// pointer reads "+16:int8_t".
func (p *parser) pointer() (off int, ctype string) {
	if pos := p.Tok.Pos; p.Tok.Kind == syntax.Number {
		if off = p.Int(); off <= -maxBytes || off >= maxBytes {
			p.FailAt(pos, "an offset of %d bytes", off)
		}
	}
	p.Want(":")
	return off, p.word("a type")
}

// nested reads fields in braces. A field's name is a word before "=".
func (p *parser) nested(depth int) call.Nested {
	if depth > maxDepth {
		p.Failf("structs are nested more than %d deep", maxDepth)
	}
	n := call.Nested{}
	p.Want("{")
	for !p.Is("}") {
		f := call.Field{}
		if t := p.Tok; t.Kind == syntax.Ident || t.Kind == syntax.String {
			p.Advance()
			switch {
			case p.Accept("="):
				f = call.Field{Name: t.Text, Value: p.arg(depth + 1)}
			case t.Kind == syntax.String:
				f.Value = call.Lit(t.Text)
			default:
				f.Value = p.argWord(t, depth+1)
			}
		} else {
			f.Value = p.arg(depth + 1)
		}
		n.Fields = append(n.Fields, f)
		if !p.Accept(",") {
			break
		}
	}
	p.Want("}")
	return n
}

func (p *parser) constant() {
	p.next("const", len(p.out.Consts))
	x := Const{Hint: p.text("what it is")}
	if p.skip("file") {
		x.Ext = p.text("an extension")
	}
	x.CType = p.word("a type")
	if p.skip("align") {
		x.Align = p.number()
	}
	if p.skip("pad") {
		x.Pad = p.number()
	}
	if p.skip("staged") {
		p.Word("at")
		x.Staged, x.At = true, p.number()
	}
	p.Want("=")
	t := p.Type()
	x.Data = p.Data(t.DType, t.Shape).Bytes()
	p.out.Consts = append(p.out.Consts, x)
}
