// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"fmt"
	"regexp"
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

// A token is a word, a number, a string or a mark; blanks and comments stand before it.
var (
	blanks = regexp.MustCompile(`^([ \t\n\r]|#[^\n]*)*`)
	tokens = regexp.MustCompile(`^(?s:([A-Za-z_][A-Za-z_0-9]*)|` +
		`((?:[0-9](?:inf)?|[-+.](?:[0-9.]|inf))(?:[0-9.]|[eE][-+]?)*)|` +
		`"((?:[^"\\]|\\.)*)"|=>|[<>(){}\[\]=,:@.?])`)
	escaped = regexp.MustCompile(`(?s:\\(.))`)
)

func (l *lexer) next() (token, error) {
	l.at += len(blanks.FindString(l.text[l.at:]))
	t := token{pos: l.at}
	rest := l.text[l.at:]
	if rest == "" {
		return t, nil
	}
	m := tokens.FindStringSubmatch(rest)
	if m == nil {
		if rest[0] == '"' {
			return t, l.errorf(t.pos, "a string without an end")
		}
		r, _ := utf8.DecodeRuneInString(rest)
		return t, l.errorf(t.pos, "the character %q has no meaning here", r)
	}
	l.at += len(m[0])
	switch {
	case m[1] != "":
		t.kind, t.text = ident, m[1]
	case m[2] != "":
		t.kind, t.text = number, m[2]
	case rest[0] == '"':
		t.kind, t.text = str, escaped.ReplaceAllString(m[3], "$1")
	default:
		t.kind, t.text = punct, m[0]
	}
	return t, nil
}

func (l *lexer) errorf(pos int, format string, args ...any) error {
	before := l.text[:min(pos, len(l.text))]
	line := 1 + strings.Count(before, "\n")
	col := 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	return fmt.Errorf("line %d, column %d: %s", line, col, fmt.Sprintf(format, args...))
}
