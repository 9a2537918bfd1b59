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

// lexer cuts the text into tokens; # starts a comment that ends with the line.
type lexer struct {
	text string
	at   int
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

func (l *lexer) next() (token, error) {
	for l.at < len(l.text) {
		switch c := l.text[l.at]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			l.at++
			continue
		case c == '#':
			if n := strings.IndexByte(l.text[l.at:], '\n'); n >= 0 {
				l.at += n
			} else {
				l.at = len(l.text)
			}
			continue
		}
		break
	}
	t := token{pos: l.at}
	if l.at >= len(l.text) {
		return t, nil
	}
	rest := l.text[l.at:]
	switch c := rest[0]; {
	case isLetter(c):
		n := 1
		for n < len(rest) && (isLetter(rest[n]) || isDigit(rest[n])) {
			n++
		}
		t.kind, t.text = ident, rest[:n]
	case isDigit(c), (c == '-' || c == '+' || c == '.') && len(rest) > 1 &&
		(isDigit(rest[1]) || rest[1] == '.' || strings.HasPrefix(rest[1:], "inf")):
		n := 1
		if strings.HasPrefix(rest[1:], "inf") {
			n = 4
		}
		for n < len(rest) && (isDigit(rest[n]) || rest[n] == '.' || rest[n] == 'e' || rest[n] == 'E' ||
			(rest[n] == '-' || rest[n] == '+') && (rest[n-1] == 'e' || rest[n-1] == 'E')) {
			n++
		}
		t.kind, t.text = number, rest[:n]
	case c == '"':
		var b strings.Builder
		n := 1
		for ; n < len(rest) && rest[n] != '"'; n++ {
			if rest[n] == '\\' && n+1 < len(rest) {
				n++
			}
			b.WriteByte(rest[n])
		}
		if n >= len(rest) {
			return t, l.errorf(t.pos, "a string without an end")
		}
		t.kind, t.text = str, b.String()
		l.at += n + 1
		return t, nil
	case strings.HasPrefix(rest, "=>"):
		t.kind, t.text = punct, "=>"
	case strings.IndexByte("<>(){}[]=,:@.?", c) >= 0:
		t.kind, t.text = punct, rest[:1]
	default:
		r, _ := utf8.DecodeRuneInString(rest)
		return t, l.errorf(t.pos, "the character %q has no meaning here", r)
	}
	l.at += len(t.text)
	return t, nil
}

// errorf is an error with line and column in front.
func (l *lexer) errorf(pos int, format string, args ...any) error {
	before := l.text[:min(pos, len(l.text))]
	line := 1 + strings.Count(before, "\n")
	col := 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	return fmt.Errorf("line %d, column %d: %s", line, col, fmt.Sprintf(format, args...))
}
