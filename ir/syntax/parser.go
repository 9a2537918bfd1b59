// SPDX-License-Identifier: Apache-2.0

// Package syntax is what the text forms of the IRs have in common: tokens, types,
// the elements of constants; printed, and parsed again.
package syntax

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/ir/types"
)

// Parser reads a text token by token. Its methods end it with FailAt where the
// text is not what they want; Run turns that into an error.
type Parser struct {
	lexer
	Tok    Token // the present one
	budget int   // elements that splat and rand may still make
}

// NewParser is a parser at the first token of src, once it runs.
func NewParser(src string) *Parser { return &Parser{lexer: lexer{src: src}, budget: splatBudget} }

// Run calls parse, after which the text must end: what it read is called so in
// messages. The error is an *Error.
func (p *Parser) Run(what string, parse func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*Error)
			if !ok {
				panic(r)
			}
			err = e
		}
	}()
	p.Advance()
	parse()
	p.Refuse(p.Tok.Kind != End, "%s after the %s", p.Tok, what)
	return nil
}

// Advance goes to the next token.
func (p *Parser) Advance() { p.Tok = p.next() }

// Failf fails at the present token.
func (p *Parser) Failf(format string, args ...any) { p.FailAt(p.Tok.Pos, format, args...) }

// Refuse is Failf where something is so.
func (p *Parser) Refuse(is bool, format string, args ...any) {
	p.RefuseAt(is, p.Tok.Pos, format, args...)
}

// Is reports whether the present token is a punctuation mark.
func (p *Parser) Is(punct string) bool { return p.Tok.Kind == Punct && p.Tok.Text == punct }

// IsWord reports whether the present token is a word.
func (p *Parser) IsWord(w string) bool { return p.Tok.Kind == Ident && p.Tok.Text == w }

// Accept skips one punctuation mark if it is there.
func (p *Parser) Accept(punct string) bool {
	if p.Is(punct) {
		p.Advance()
		return true
	}
	return false
}

// Want skips a punctuation mark that must be there.
func (p *Parser) Want(punct string) {
	if !p.Accept(punct) {
		p.Failf("found %s, want %q", p.Tok, punct)
	}
}

// List reads items with commas between them, and perhaps one behind them, up to a mark.
func (p *Parser) List(end string, item func()) {
	for !p.Is(end) {
		item()
		if !p.Accept(",") {
			break
		}
	}
	p.Want(end)
}

// Word skips a word that must be there.
func (p *Parser) Word(w string) {
	if !p.IsWord(w) {
		p.Failf("found %s, want %q", p.Tok, w)
	}
	p.Advance()
}

// Take gives the text of the present token, which must be of kind k, and goes on.
func (p *Parser) Take(k Kind, what string) string {
	if p.Tok.Kind != k {
		p.Failf("found %s, want %s", p.Tok, what)
	}
	t := p.Tok.Text
	p.Advance()
	return t
}

// Int reads an integer.
func (p *Parser) Int() int {
	pos := p.Tok.Pos
	v, err := strconv.Atoi(p.Take(Number, "an integer"))
	p.RefuseAt(err != nil, pos, "malformed integer")
	return v
}

// Kind is the kind of a Token of the text form.
type Kind uint8

// The kinds of tokens.
const (
	End    Kind = iota // of the text
	Ident              // Conv, com.microsoft.QGemm, f32, true, inf, f0x7fc00001
	Value              // %name or %"any name"; text is the name
	String             // "quoted"; text is the unquoted string
	Number             // 1, -2, 0.5, 1e-05, -inf, +Inf
	Order              // @0.2.3.1; text is what follows the @
	Punct              // one of ( ) [ ] { } , : = and the lone - of an absent input
)

// Token is one token, with its place in the text in bytes.
type Token struct {
	Kind Kind
	Text string
	Pos  int
}

func (t Token) String() string {
	switch t.Kind {
	case End:
		return "end of text"
	case Value:
		return "%" + t.Text
	case String:
		return strconv.Quote(t.Text)
	case Order:
		return "@" + t.Text
	}
	return strconv.Quote(t.Text)
}

// Error is an error in the text form.
type Error struct {
	Line, Col int // from 1; columns count bytes
	Msg       string
}

func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Col, e.Msg) }

// lexer cuts the text into tokens, one at a time.
type lexer struct {
	src string
	pos int
}

// FailAt stops the parser; Run recovers it.
func (l *lexer) FailAt(pos int, format string, args ...any) {
	line := 1 + strings.Count(l.src[:pos], "\n")
	col := pos - strings.LastIndexByte(l.src[:pos], '\n')
	panic(&Error{line, col, fmt.Sprintf(format, args...)})
}

// RefuseAt is FailAt where something is so.
func (l *lexer) RefuseAt(is bool, pos int, format string, args ...any) {
	if is {
		l.FailAt(pos, format, args...)
	}
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isSign(c byte) bool   { return c == '-' || c == '+' }

// isNameByte are the characters of value names that need no quotes.
func isNameByte(c byte) bool {
	return isLetter(c) || isDigit(c) || c == '.' || c == '/' || c == '-'
}

func (l *lexer) next() Token {
	l.skipBlanks()
	s, start := l.src, l.pos
	if start >= len(s) {
		return Token{End, "", start}
	}
	c := s[start]
	var after byte
	if start+1 < len(s) {
		after = s[start+1]
	}
	switch {
	case c == '%':
		l.pos++
		if after == '"' {
			return Token{Value, l.str(), start}
		}
		name := l.take(isNameByte)
		l.RefuseAt(name == "", start, "a name must follow %%")
		return Token{Value, name, start}
	case c == '"':
		return Token{String, l.str(), start}
	case c == '@':
		l.pos++
		return Token{Order, l.take(func(c byte) bool { return isDigit(c) || c == '.' }), start}
	case isDigit(c), isSign(c) && (isDigit(after) || isLetter(after) || after == '.'):
		return l.number()
	case isLetter(c):
		return Token{Ident, l.take(func(c byte) bool { return isLetter(c) || isDigit(c) || c == '.' }), start}
	case strings.IndexByte("()[]{},:=-", c) >= 0:
		l.pos++
		return Token{Punct, s[start:l.pos], start}
	}
	l.FailAt(start, "unexpected character %q", c)
	panic("unreachable")
}

// skipBlanks goes to the next token: over blanks, and over comments from # to the
// end of their line.
func (l *lexer) skipBlanks() {
	for l.pos < len(l.src) {
		switch l.src[l.pos] {
		case '#':
			if k := strings.IndexByte(l.src[l.pos:], '\n'); k >= 0 {
				l.pos += k
			} else {
				l.pos = len(l.src)
			}
		case ' ', '\t', '\n', '\r':
			l.pos++
		default:
			return
		}
	}
}

// take gives the characters from the present position on for which ok holds.
func (l *lexer) take(ok func(byte) bool) string {
	start := l.pos
	for l.pos < len(l.src) && ok(l.src[l.pos]) {
		l.pos++
	}
	return l.src[start:l.pos]
}

// number reads a number, which may have a sign before it and within its exponent.
func (l *lexer) number() Token {
	start := l.pos
	l.pos++
	l.take(func(c byte) bool {
		prev := l.src[l.pos-1]
		return isDigit(c) || isLetter(c) || c == '.' || isSign(c) && (prev == 'e' || prev == 'E')
	})
	return Token{Number, l.src[start:l.pos], start}
}

// str reads a quoted string at the present position.
func (l *lexer) str() string {
	start := l.pos
	for p := start + 1; p < len(l.src) && l.src[p] != '\n'; p++ {
		switch l.src[p] {
		case '\\':
			p++
		case '"':
			l.pos = p + 1
			t, err := strconv.Unquote(l.src[start:l.pos])
			if err != nil {
				l.FailAt(start, "malformed string %s", l.src[start:l.pos])
			}
			return t
		}
	}
	l.FailAt(start, "string is not closed")
	panic("unreachable")
}

// Plain reports whether a text is one word or one number and so needs no quotes.
func Plain(s string) bool {
	p := NewParser(s)
	plain := false
	err := p.Run("text", func() {
		plain = (p.Tok.Kind == Ident || p.Tok.Kind == Number) && p.Tok.Text == s
		p.Advance()
	})
	return plain && err == nil
}

// Type reads what types.Type.String writes.
func (p *Parser) Type() types.Type {
	pos := p.Tok.Pos
	name := p.Take(Ident, "a type such as f32[1,3]")
	dt, ok := tensor.ParseDType(name)
	p.RefuseAt(!ok, pos, "no element type %q", name)
	t := types.Type{DType: dt, Shape: []int{}}
	p.Want("[")
	p.List("]", func() { t.Shape = append(t.Shape, p.Int()) })
	p.RefuseAt(len(t.Shape) > 64, pos, "%d dimensions, at most 64 are possible", len(t.Shape))
	if _, err := tensor.Elems(t.Shape); err != nil {
		p.FailAt(pos, "%v", err)
	}
	if p.Tok.Kind == Order {
		t.Order = []int{}
		for _, s := range strings.Split(p.Tok.Text, ".") {
			v, err := strconv.Atoi(s)
			if p.Tok.Text == "" && len(t.Shape) == 0 {
				break
			}
			p.Refuse(err != nil || v >= len(t.Shape) || slices.Contains(t.Order, v),
				"memory order %s is no permutation of %d dimensions", p.Tok, len(t.Shape))
			t.Order = append(t.Order, v)
		}
		p.Refuse(len(t.Order) != len(t.Shape), "memory order %s is no permutation of %d dimensions", p.Tok,
			len(t.Shape))
		p.Advance()
	}
	if p.IsWord("q") {
		p.Advance()
		t.Quant = p.quant(t)
	}
	return t
}

func (p *Parser) quant(t types.Type) *types.Quant {
	pos := p.Tok.Pos
	q := &types.Quant{Axis: -1}
	want := 1
	p.Want("(")
	if p.IsWord("axis") {
		p.Advance()
		p.Want("=")
		if q.Axis = p.Int(); q.Axis < 0 || q.Axis >= len(t.Shape) {
			p.FailAt(pos, "quantisation axis %d of rank %d", q.Axis, len(t.Shape))
		}
		want = t.Shape[q.Axis]
		p.Accept(",")
	}
	p.List(")", func() {
		q.Scale = append(q.Scale, p.Float32())
		p.Want(":")
		zp := p.Tok.Pos
		z := p.Int()
		p.RefuseAt(int(int32(z)) != z, zp, "zero point %d does not fit 32 bits", z)
		q.Zero = append(q.Zero, int32(z))
	})
	p.RefuseAt(len(q.Scale) != want, pos, "%d scales, want %d", len(q.Scale), want)
	return q
}
