// SPDX-License-Identifier: Apache-2.0

package runtimec

import "strings"

// A scan is what one C file defines and includes. It is a light reading of C as it
// is written here: comments, strings and preprocessor lines are recognised,
// declarations are followed by braces, macros do not open scopes.
type scan struct {
	defines  []string // functions and tables with external linkage
	includes []string // headers in quotes
}

// scanC reads one file.
func scanC(text string) *scan {
	s := &scan{}
	var d declarations
	read(text, func(p part, t string) {
		switch p {
		case inCode:
			if name := d.next(t); name != "" {
				s.defines = append(s.defines, name)
			}
		case inInclude:
			s.includes = append(s.includes, t)
		}
	})
	return s
}

// uses reports every identifier of a file that may call or name something. Of a
// header, only what stands inside function bodies and macros counts: its
// prototypes need nothing.
func uses(text string, header bool, use func(t string)) {
	var d declarations
	read(text, func(p part, t string) {
		inBody := d.braces > 0
		if p == inCode {
			d.next(t)
		}
		if isName(t) && (p == inMacro || p == inCode && (inBody || !header)) {
			use(t)
		}
	})
}

// code gives the tokens of a file's code, and those of what its macros stand for.
func code(text string) (code, macros []string) {
	read(text, func(p part, t string) {
		switch p {
		case inCode:
			code = append(code, t)
		case inMacro:
			macros = append(macros, t)
		}
	})
	return code, macros
}

// part is where in a file a token stands.
type part int

const (
	inCode    part = iota // outside of preprocessor lines
	inMacro               // what a macro stands for
	inInclude             // the name of a header in quotes
)

// read reports the tokens of a file. Code for C++ is left out.
func read(text string, see func(p part, t string)) {
	l := lexer{text: text}
	skip := 0 // nesting below an #ifdef __cplusplus
	begins := true
	for t := l.next(); t != ""; t = l.next() {
		switch {
		case t == "\n":
			begins = true
		case begins && t == "#":
			skip = l.directive(skip, see)
		default:
			begins = false
			if skip == 0 {
				see(inCode, t)
			}
		}
	}
}

// directive reads a preprocessor line behind its #, and gives the nesting behind it.
func (l *lexer) directive(skip int, see func(p part, t string)) int {
	name := l.next()
	switch {
	case name == "\n":
		return skip
	case name == "include":
		if file := l.quoted(); file != "" {
			see(inInclude, file)
		}
	case skip > 0:
		skip = skipped(skip, name)
	case name == "define":
		l.next()
		if strings.HasPrefix(l.text[l.at:], "(") {
			l.until(")")
		}
		for t := l.next(); t != "\n" && t != ""; t = l.next() {
			see(inMacro, t)
		}
		return skip
	case ifCplusplus(name, strings.TrimLeft(l.text[l.at:], " \t")):
		skip = 1
	}
	l.until("\n")
	return skip
}

// skipped is how many blocks are left out behind a directive in one of them.
func skipped(skip int, name string) int {
	switch {
	case strings.HasPrefix(name, "if"):
		return skip + 1
	case name == "endif":
		return skip - 1
	case skip == 1 && strings.HasPrefix(name, "el"):
		return 0 // the #else of the block is C
	}
	return skip
}

// ifCplusplus reports whether a directive begins a part for C++ compilers alone.
func ifCplusplus(name, rest string) bool {
	switch name {
	case "if":
		asked, found := strings.CutPrefix(rest, "defined")
		return found && strings.HasPrefix(strings.TrimLeft(asked, " \t("), "__cplusplus")
	case "ifdef":
		return strings.HasPrefix(rest, "__cplusplus")
	}
	return false
}

// lexer gives the tokens of C one by one: identifiers, numbers, single characters.
type lexer struct {
	text string
	at   int
}

// next is the next token, "\n" where a line ends, "" at the end. A comment of several lines
// ends the one that it begins in; a string or character constant is "0".
func (l *lexer) next() string {
	for l.at < len(l.text) {
		c := l.text[l.at]
		switch kind := kinds[c]; {
		case kind == blank:
			l.at++
		case kind == letter || kind == digit:
			return l.word(kind)
		case c == '/' && strings.HasPrefix(l.text[l.at:], "/*"):
			if l.comment() {
				return "\n"
			}
		case c == '/' && strings.HasPrefix(l.text[l.at:], "//"):
			l.at += end(l.text[l.at:], '\n')
		case c == '\\' && strings.HasPrefix(l.text[l.at:], "\\\n"):
			l.at += 2
		case c == '"' || c == '\'':
			l.literal(c)
			return "0"
		default:
			l.at++
			return l.text[l.at-1 : l.at]
		}
	}
	return ""
}

// word is an identifier, or a number.
func (l *lexer) word(kind kind) string {
	start := l.at
	for l.at++; l.at < len(l.text); l.at++ {
		if c := l.text[l.at]; !isWord(c) && (kind != digit || c != '.') {
			break
		}
	}
	return l.text[start:l.at]
}

// comment goes behind a comment, and reports one that has several lines.
func (l *lexer) comment() bool {
	inside := l.text[l.at+2:]
	n := strings.Index(inside, "*/")
	if n < 0 {
		l.at = len(l.text)
		return false
	}
	l.at += n + 4
	return strings.IndexByte(inside[:n], '\n') >= 0
}

// literal goes behind a string or a character constant, which ends with its line at the latest.
func (l *lexer) literal(quote byte) {
	for l.at++; l.at < len(l.text) && l.text[l.at] != quote && l.text[l.at] != '\n'; l.at++ {
		if l.text[l.at] == '\\' {
			l.at++
		}
	}
	l.at = min(l.at+1, len(l.text))
}

// quoted is the string that comes next in the line, "" where there is none.
func (l *lexer) quoted() string {
	rest := strings.TrimLeft(l.text[l.at:], " \t")
	if !strings.HasPrefix(rest, `"`) {
		return ""
	}
	return rest[1 : 1+end(rest[1:], '"')]
}

// until goes behind a token, or to the end of the line.
func (l *lexer) until(token string) {
	t := l.next()
	for t != token && t != "\n" && t != "" {
		t = l.next()
	}
}

// end is where a character is, or the length.
func end(text string, c byte) int {
	if n := strings.IndexByte(text, c); n >= 0 {
		return n
	}
	return len(text)
}

// tokens splits C without comments and strings into identifiers, numbers and
// single characters.
func tokens(text string) []string {
	all := make([]string, 0, len(text)/4)
	for i := 0; i < len(text); {
		n := 1
		switch c := text[i]; {
		case c == ' ' || c >= '\t' && c <= '\r':
			i++
			continue
		case c >= '0' && c <= '9':
			for i+n < len(text) && (isWord(text[i+n]) || text[i+n] == '.') {
				n++
			}
		case isWord(c):
			n = wordLen(text[i:])
		}
		all = append(all, text[i:i+n])
		i += n
	}
	return all
}

// wordLen is the number of leading letters, digits and underscores.
func wordLen(s string) int {
	n := 0
	for n < len(s) && isWord(s[n]) {
		n++
	}
	return n
}

// kind is what a character is in C.
type kind uint8

const (
	other kind = iota
	blank      // but the end of a line
	letter
	digit
)

// kinds are those of all characters.
var kinds = func() (k [256]kind) {
	for _, c := range " \t\v\f\r" {
		k[c] = blank
	}
	for c := range 26 {
		k['a'+c], k['A'+c] = letter, letter
	}
	for c := '0'; c <= '9'; c++ {
		k[c] = digit
	}
	k['_'] = letter
	return k
}()

func isWord(c byte) bool { return kinds[c] >= letter }

// isName reports whether a token is an identifier or keyword.
func isName(t string) bool { return kinds[t[0]] == letter }

// declarations follows the tokens of a translation unit.
type declarations struct {
	braces, parens int
	last           string // token
	length         int    // of the declaration at file scope, in tokens
	linkage        linkage
	name           string // the declared function or table
	kind           byte   // '(' for a function, '[' or '=' for data
	hasBody        bool   // avoids a second definition for "= { ... }"
}

// linkage is what a declaration at file scope says of other files: nothing yet, or
// whether it defines something that they can see.
type linkage uint8

const (
	unknown linkage = iota
	external
	hidden
)

// names takes what follows a name: a declaration has the first one outside of braces and parentheses.
func (d *declarations) names(t string, outside bool) {
	if outside && d.length > 0 && d.kind == 0 && isName(d.last) && d.last != "__attribute__" {
		d.name, d.kind = d.last, t[0]
	}
	d.decide(external)
	if t == "(" {
		d.parens++
	}
}

// next takes a token, and gives the name that it defines for other files, or "".
func (d *declarations) next(t string) (defined string) {
	outside := d.braces == 0 && d.parens == 0
	ends := false
	switch t {
	case "static", "extern", "typedef":
		d.decide(hidden)
	case "(", "[", "=":
		d.names(t, outside)
	case ")":
		d.parens--
	case "{":
		if outside && d.defines() {
			defined, d.hasBody = d.name, true
		}
		d.braces++
	case "}":
		d.braces--
		ends = d.braces == 0 && d.kind == '('
	case ";":
		if ends = outside; ends && d.kind != '(' && d.defines() {
			defined = d.name
		}
	}
	d.last = t
	d.length++
	if ends {
		*d = declarations{braces: d.braces, parens: d.parens, last: t}
	}
	return defined
}

// decide notes what the first such token says.
func (d *declarations) decide(l linkage) {
	if d.linkage == unknown {
		d.linkage = l
	}
}

// defines reports a declaration that defines its name, which it has not done yet, for
// other files.
func (d *declarations) defines() bool { return d.name != "" && !d.hasBody && d.linkage != hidden }
