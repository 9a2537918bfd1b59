// SPDX-License-Identifier: Apache-2.0

// Package ctext keeps C text within the Columns of a page.
package ctext

import (
	"bytes"
	"strings"
)

// Columns are those of a line of emitted C, at most.
const Columns = 120

// Wrap is a text in lines of at most width bytes; words that are longer are cut.
func Wrap(s string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
		for len(line) > width {
			lines = append(lines, line[:width])
			line = line[width:]
		}
	}
	return append(lines, line)
}

// Hang is Wrap with the lines behind the first indented.
func Hang(s string, width int) []string {
	lines := Wrap(s, width-4)
	for i := range lines[1:] {
		lines[i+1] = "    " + lines[i+1]
	}
	return lines
}

// paragraph begins the lines of a comment that are prose.
const paragraph = " * "

// Fold breaks lines of C that are longer than Columns: at blanks, in comments, macros
// and strings as C has it. Templates write short lines; this is for names that are long.
func Fold(text []byte) []byte {
	if !isLong(text) {
		return text
	}
	var out []string
	f := folder{}
	continued := false
	rest := "" // of a paragraph of a comment: it begins the next line
	for _, line := range strings.Split(string(text), "\n") {
		if rest != "" {
			if words, ok := strings.CutPrefix(line, paragraph); ok && words[0] > ' ' && words[0] != '-' {
				line = paragraph + rest + " " + words
			} else {
				out = f.line(out, paragraph+rest)
			}
			rest = ""
		}
		if f.comment && strings.HasPrefix(line, paragraph) && len(line) > Columns {
			lines := Wrap(line[len(paragraph):], Columns-len(paragraph))
			for _, x := range lines[:len(lines)-1] {
				out = append(out, paragraph+x)
			}
			rest = lines[len(lines)-1]
			continue
		}
		f.macro = continued || !f.comment && strings.HasPrefix(strings.TrimSpace(line), "#")
		continued = f.macro && strings.HasSuffix(line, `\`)
		out = f.line(out, line)
	}
	if rest != "" {
		out = append(out, paragraph+rest)
	}
	return []byte(strings.Join(out, "\n"))
}

// isLong reports a line that is longer than Columns.
func isLong(text []byte) bool {
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		if len(line) > Columns {
			return true
		}
	}
	return false
}

// folder is where in C a line begins.
type folder struct {
	lexer
	macro bool
}

// lexer is what a byte of C is in.
type lexer struct {
	comment bool
	quote   byte // of a string or character; 0 outside
	escaped bool
}

// next moves on behind c, which follows last.
func (x *lexer) next(last, c byte) {
	switch {
	case x.escaped:
		x.escaped = false
	case x.comment:
		x.comment = last != '*' || c != '/'
	case x.quote != 0:
		x.escaped = c == '\\'
		if c == x.quote {
			x.quote = 0
		}
	case c == '"' || c == '\'':
		x.quote = c
	default:
		x.comment = last == '/' && c == '*'
	}
}

// lead is what begins the lines that a line is continued on.
func (f *folder) lead(line string) string {
	rest := strings.TrimLeft(line, " ")
	indent := line[:len(line)-len(rest)]
	switch {
	case len(indent) > Columns/2:
		return "    "
	case f.comment && strings.HasPrefix(rest, "*"):
		return indent + "* "
	case f.comment:
		return indent
	case strings.HasPrefix(rest, "/*"):
		return indent + "   "
	}
	return indent + "    "
}

// aligned is what begins the line behind code: blanks to below the first argument of the
// call or declaration that is open there, where that is not far to the right.
func aligned(code, lead string) string {
	depth := 0
	for i := len(code) - 1; i >= 0; i-- {
		switch code[i] {
		case ')':
			depth++
		case '(':
			if depth == 0 {
				if i+1 > Columns/2 || strings.ContainsRune(code, '"') {
					return lead
				}
				return strings.Repeat(" ", i+1)
			}
			depth--
		}
	}
	return lead
}

// line appends a line, or what it is cut into.
func (f *folder) line(out []string, line string) []string {
	turn := "/*" // what could begin a comment, or end it
	if f.comment {
		turn = "*/"
	}
	if len(line) <= Columns && !strings.Contains(line, turn) {
		return append(out, line)
	}
	lead := f.lead(line)
	for {
		commented := f.comment
		at, inString := f.scan(line)
		switch {
		case at < 0:
			return append(out, line)
		case f.macro && !f.comment:
			out = append(out, strings.TrimRight(line[:at], " ")+` \`)
			line = lead + strings.TrimLeft(line[at:], " ")
		case inString:
			out = append(out, line[:at]+`"`)
			line = lead + `"` + line[at:]
		default:
			out = append(out, strings.TrimRight(line[:at], " "))
			next := lead
			if !f.comment && !commented {
				next = aligned(line[:at], lead)
			}
			line = next + strings.TrimLeft(line[at:], " ")
		}
	}
}

// cut is a place where a line can be cut.
type cut struct {
	at       int
	before   lexer
	inString bool
	comma    bool // behind a comma of code in the second half: as good as any further right
}

// better looks whether the line is better cut at i, in front of c, than at k.
func (f *folder) better(k cut, x lexer, i int, last, c byte) (cut, bool) {
	n := cut{at: i, before: x}
	if c == ' ' && (x.quote == 0 || f.macro) {
		n.comma = last == ',' && !x.comment && i > Columns/2
		return n, n.comma || !k.comma
	}
	n.inString = x.quote == '"' && !x.escaped && !f.macro
	return n, n.inString && i == room && k.at < 0
}

// room is for what ends a line in a macro or a string.
const room = Columns - 2

// scan finds where a line that is too long is cut, -1 for one that is not or cannot be,
// and moves on to there.
func (f *folder) scan(line string) (at int, inString bool) {
	x := f.lexer
	start := len(line) - len(strings.TrimLeft(line, " *"))
	k := cut{at: -1}
	last := byte(0)
	for i, c := range []byte(line) {
		if i > start && i <= room {
			if n, ok := f.better(k, x, i, last, c); ok {
				k = n
			}
		}
		x.next(last, c)
		last = c
	}
	if len(line) <= Columns || k.at < 0 {
		k = cut{at: -1, before: x}
	}
	k.before.quote, k.before.escaped = 0, false
	f.lexer = k.before
	return k.at, k.inString
}
