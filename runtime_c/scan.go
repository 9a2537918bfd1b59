// SPDX-License-Identifier: Apache-2.0

package runtimec

import (
	"regexp"
	"strings"
)

// A scan is what one C file defines, includes and uses. It is a light reading of
// C as it is written here: comments, strings and preprocessor lines are
// recognised, declarations are followed by braces, macros do not open scopes.
type scan struct {
	defines  []string // functions and tables with external linkage
	includes []string // headers in quotes
	uses     []string // every identifier that may call or name something
}

var quotedInclude = regexp.MustCompile(`^\s*#\s*include\s*"([^"]+)"`)

// read gives the tokens of a file's code, and those of what its macros stand for.
// Code for C++ is left out; quoted includes are noted.
func read(text string, includes *[]string) (code, macros []string) {
	var lines, replacements strings.Builder
	skip := 0 // nesting below an #ifdef __cplusplus
	for line := range strings.SplitSeq(strings.ReplaceAll(blank(text, includes), "\\\n", " "), "\n") {
		name, rest := directive(line)
		switch {
		case skip > 0:
			switch {
			case strings.HasPrefix(name, "if"):
				skip++
			case name == "endif":
				skip--
			case skip == 1 && strings.HasPrefix(name, "el"):
				skip = 0 // the #else of the block is C
			}
		case ifCplusplus(name, rest):
			skip = 1
		case name == "define":
			replacements.WriteString(replacement(rest) + "\n")
		case name == "":
			lines.WriteString(line + "\n")
		}
	}
	return tokens(lines.String()), tokens(replacements.String())
}

// scanC reads one file. Of a header, only what stands inside function bodies and
// macros counts as used: its prototypes need nothing.
func scanC(text string, header bool) *scan {
	s := &scan{}
	code, macros := read(text, &s.includes)
	used := map[string]bool{}
	use := func(t string) {
		if isName(t) && !used[t] {
			used[t] = true
			s.uses = append(s.uses, t)
		}
	}
	for _, t := range macros {
		use(t)
	}
	s.declarations(code, func(t string, inBody bool) {
		if inBody || !header {
			use(t)
		}
	})
	return s
}

// directive splits a preprocessor line into its name and what follows; other lines have no name.
func directive(line string) (name, rest string) {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "#") {
		return "", ""
	}
	line = strings.TrimSpace(line[1:])
	n := wordLen(line)
	if n == 0 {
		return "#", line
	}
	return line[:n], strings.TrimSpace(line[n:])
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

// replacement is what a macro stands for, of what follows #define.
func replacement(rest string) string {
	rest = rest[wordLen(rest):]
	if strings.HasPrefix(rest, "(") {
		if _, body, found := strings.Cut(rest, ")"); found {
			return body
		}
	}
	return rest
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

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// declarations walks over the tokens of a translation unit, reports each to use
// and notes the external definitions.
func (s *scan) declarations(tokens []string, use func(t string, inBody bool)) {
	braces, parens := 0, 0
	start := 0    // of the declaration at file scope
	name := ""    // the declared function or table
	kind := ""    // "(" for a function, "[" or "=" for data
	hasBody := "" // avoids a second definition for "= { ... }"
	for i, t := range tokens {
		use(t, braces > 0)
		switch t {
		case "(", "[", "=":
			if braces == 0 && parens == 0 && i > start && kind == "" && isName(tokens[i-1]) &&
				tokens[i-1] != "__attribute__" {
				name, kind = tokens[i-1], t
			}
			if t == "(" {
				parens++
			}
		case ")":
			parens--
		case "{":
			if braces == 0 && parens == 0 && name != "" && hasBody == "" && external(tokens[start:i]) {
				s.defines = append(s.defines, name)
				hasBody = name
			}
			braces++
		case "}":
			braces--
			if braces == 0 && kind == "(" {
				start, name, kind, hasBody = i+1, "", "", ""
			}
		case ";":
			if braces == 0 && parens == 0 {
				if kind != "(" && name != "" && hasBody == "" && external(tokens[start:i]) {
					s.defines = append(s.defines, name)
				}
				start, name, kind, hasBody = i+1, "", "", ""
			}
		}
	}
}

// isName reports whether a token is an identifier or keyword.
func isName(t string) bool { return isWord(t[0]) && (t[0] < '0' || t[0] > '9') }

// external reports whether a declaration at file scope defines something that
// other files can see.
func external(decl []string) bool {
	for _, t := range decl {
		switch t {
		case "static", "extern", "typedef":
			return false
		case "(", "[", "=":
			return true
		}
	}
	return true
}

// blank replaces comments by a space and the contents of strings and character
// constants by nothing; it notes the quoted includes on the way.
func blank(text string, includes *[]string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		switch {
		case strings.HasPrefix(text[i:], "/*"):
			end := strings.Index(text[i+2:], "*/")
			if end < 0 {
				return b.String()
			}
			b.WriteString(" " + strings.Repeat("\n", strings.Count(text[i:i+end+4], "\n")))
			i += end + 4
		case strings.HasPrefix(text[i:], "//"):
			for i < len(text) && text[i] != '\n' {
				i++
			}
		case text[i] == '#' && atLineStart(text, i):
			line, _, _ := strings.Cut(text[i:], "\n")
			if m := quotedInclude.FindStringSubmatch(line); m != nil {
				*includes = append(*includes, m[1])
				i += len(line)
				continue
			}
			b.WriteByte('#')
			i++
		case text[i] == '"' || text[i] == '\'':
			q := text[i]
			for i++; i < len(text) && text[i] != q && text[i] != '\n'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			i++
			b.WriteString(" 0 ")
		default: // as much as stands before the next character that may begin something else
			n := 1
			for i+n < len(text) && !strings.ContainsRune(`/#"'`, rune(text[i+n])) {
				n++
			}
			b.WriteString(text[i : i+n])
			i += n
		}
	}
	return b.String()
}

func atLineStart(text string, i int) bool {
	return strings.TrimSpace(text[strings.LastIndexByte(text[:i], '\n')+1:i]) == ""
}
