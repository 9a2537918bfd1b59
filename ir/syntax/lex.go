// SPDX-License-Identifier: Apache-2.0

// Package syntax is what the text forms of the IRs have in common: tokens, types,
// the elements of constants; printed, and parsed again.
package syntax

import (
	"fmt"
	"strconv"
	"strings"
)

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
		if name == "" {
			l.FailAt(start, "a name must follow %%")
		}
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
