// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// kind of a token; punctuation is its own text.
type kind uint8

const (
	end kind = iota
	ident
	number // an integer or a float, sign included
	str
	punct
)

type token struct {
	kind kind
	text string // of str: without quotes and escapes
	pos  int
}

func (t token) String() string {
	switch t.kind {
	case end:
		return "the end of the text"
	case str:
		return fmt.Sprintf("%.60q", t.text)
	}
	return fmt.Sprintf("%.60s", t.text)
}

type lexer struct {
	text string
	at   int
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

func (l *lexer) skip() {
	for l.at < len(l.text) && strings.IndexByte(" \t\n\r#", l.text[l.at]) >= 0 {
		n := 1
		if l.text[l.at] == '#' {
			line, _, _ := strings.Cut(l.text[l.at:], "\n")
			n = len(line)
		}
		l.at += n
	}
}

// numberLen is the length of the number that s starts with; 0: it starts with none.
func numberLen(s string) int {
	inf := strings.HasPrefix(s[1:], "inf")
	signed := strings.IndexByte("-+.", s[0]) >= 0 && len(s) > 1 && (isDigit(s[1]) || s[1] == '.' || inf)
	if !isDigit(s[0]) && !signed {
		return 0
	}
	n := 1
	if inf {
		n = 4
	}
	for n < len(s) && (strings.IndexByte("0123456789.eE", s[n]) >= 0 ||
		strings.IndexByte("-+", s[n]) >= 0 && strings.IndexByte("eE", s[n-1]) >= 0) {
		n++
	}
	return n
}

// quoted is the string that s starts with, and its length in s; 0: it has no end.
func quoted(s string) (string, int) {
	var b strings.Builder
	n := 1
	for ; n < len(s) && s[n] != '"'; n++ {
		if s[n] == '\\' && n+1 < len(s) {
			n++
		}
		b.WriteByte(s[n])
	}
	if n >= len(s) {
		return "", 0
	}
	return b.String(), n + 1
}

func (l *lexer) next() (token, error) {
	l.skip()
	t := token{pos: l.at}
	if l.at >= len(l.text) {
		return t, nil
	}
	rest := l.text[l.at:]
	n := 1
	switch c := rest[0]; {
	case isLetter(c):
		for n < len(rest) && (isLetter(rest[n]) || isDigit(rest[n])) {
			n++
		}
		t.kind, t.text = ident, rest[:n]
	case numberLen(rest) > 0:
		n = numberLen(rest)
		t.kind, t.text = number, rest[:n]
	case c == '"':
		t.kind = str
		if t.text, n = quoted(rest); n == 0 {
			return token{pos: t.pos}, l.errorf(t.pos, "a string without an end")
		}
	case strings.HasPrefix(rest, "=>"):
		n = 2
		t.kind, t.text = punct, rest[:n]
	case strings.IndexByte("<>(){}[]=,:@.?", c) >= 0:
		t.kind, t.text = punct, rest[:n]
	default:
		r, _ := utf8.DecodeRuneInString(rest)
		return t, l.errorf(t.pos, "the character %q has no meaning here", r)
	}
	l.at += n
	return t, nil
}

func (l *lexer) errorf(pos int, format string, args ...any) error {
	before := l.text[:min(pos, len(l.text))]
	line := 1 + strings.Count(before, "\n")
	col := 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	return fmt.Errorf("line %d, column %d: %s", line, col, fmt.Sprintf(format, args...))
}
