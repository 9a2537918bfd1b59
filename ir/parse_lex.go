package ir

import (
	"fmt"
	"strconv"
	"strings"
)

// tokKind is the kind of a token of the text form.
type tokKind uint8

const (
	tEOF   tokKind = iota
	tIdent         // Conv, com.microsoft.QGemm, f32, true, inf, f0x7fc00001
	tValue         // %name or %"any name"; text is the name
	tStr           // "quoted"; text is the unquoted string
	tNum           // 1, -2, 0.5, 1e-05, -inf, +Inf
	tOrder         // @0.2.3.1; text is what follows the @
	tPunct         // one of ( ) [ ] { } , : = and the lone - of an absent input
)

type token struct {
	kind tokKind
	text string
	pos  int
}

func (t token) String() string {
	switch t.kind {
	case tEOF:
		return "end of text"
	case tValue:
		return "%" + t.text
	case tStr:
		return strconv.Quote(t.text)
	case tOrder:
		return "@" + t.text
	}
	return strconv.Quote(t.text)
}

// SyntaxError is an error in the text form.
type SyntaxError struct {
	Line, Col int // from 1; columns count bytes
	Msg       string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Col, e.Msg) }

// lexer cuts the text into tokens, one at a time.
type lexer struct {
	src string
	pos int
}

// fail stops the parser; Parse recovers it.
func (l *lexer) fail(pos int, format string, args ...any) {
	line := 1 + strings.Count(l.src[:pos], "\n")
	col := pos - strings.LastIndexByte(l.src[:pos], '\n')
	panic(&SyntaxError{line, col, fmt.Sprintf(format, args...)})
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// isNameByte are the characters of value names that need no quotes.
func isNameByte(c byte) bool {
	return isLetter(c) || isDigit(c) || c == '.' || c == '/' || c == '-'
}

func (l *lexer) next() token {
	s := l.src
	for l.pos < len(s) {
		c := s[l.pos]
		if c == '#' {
			if k := strings.IndexByte(s[l.pos:], '\n'); k >= 0 {
				l.pos += k
			} else {
				l.pos = len(s)
			}
		} else if c == ' ' || c == '\t' || c == '\n' || c == '\r' {
			l.pos++
		} else {
			break
		}
	}
	start := l.pos
	if start >= len(s) {
		return token{tEOF, "", start}
	}
	take := func(ok func(byte) bool) string {
		p := l.pos
		for l.pos < len(s) && ok(s[l.pos]) {
			l.pos++
		}
		return s[p:l.pos]
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
			return token{tValue, l.str(), start}
		}
		name := take(isNameByte)
		if name == "" {
			l.fail(start, "a name must follow %%")
		}
		return token{tValue, name, start}
	case c == '"':
		return token{tStr, l.str(), start}
	case c == '@':
		l.pos++
		return token{tOrder, take(func(c byte) bool { return isDigit(c) || c == '.' }), start}
	case isDigit(c), (c == '-' || c == '+') && (isDigit(after) || isLetter(after) || after == '.'):
		l.pos++
		take(func(c byte) bool {
			prev := s[l.pos-1]
			return isDigit(c) || isLetter(c) || c == '.' || (c == '-' || c == '+') && (prev == 'e' || prev == 'E')
		})
		return token{tNum, s[start:l.pos], start}
	case isLetter(c):
		return token{tIdent, take(func(c byte) bool { return isLetter(c) || isDigit(c) || c == '.' }), start}
	case strings.IndexByte("()[]{},:=-", c) >= 0:
		l.pos++
		return token{tPunct, s[start:l.pos], start}
	}
	l.fail(start, "unexpected character %q", c)
	panic("unreachable")
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
				l.fail(start, "malformed string %s", l.src[start:l.pos])
			}
			return t
		}
	}
	l.fail(start, "string is not closed")
	panic("unreachable")
}
