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

var (
	quotedInclude = regexp.MustCompile(`^\s*#\s*include\s*"([^"]+)"`)
	ifCplusplus   = regexp.MustCompile(`^\s*#\s*if(def\s+|\s+defined\s*\(?\s*)__cplusplus`)
	ifAny         = regexp.MustCompile(`^\s*#\s*if`)
	elseAny       = regexp.MustCompile(`^\s*#\s*el`)
	endIf         = regexp.MustCompile(`^\s*#\s*endif`)
	define        = regexp.MustCompile(`^\s*#\s*define\s+\w+(?:\([^)]*\))?(.*)`)
	token         = regexp.MustCompile(`[A-Za-z_]\w*|\d[\w.]*|[^\s\w]`)
)

// scanC reads one file. Of a header, only what stands inside function bodies and
// macros counts as used: its prototypes need nothing.
func scanC(text string, header bool) *scan {
	s := &scan{}
	var code, macros strings.Builder
	skip := 0 // nesting below an #ifdef __cplusplus
	for _, line := range strings.Split(strings.ReplaceAll(blank(text, &s.includes), "\\\n", " "), "\n") {
		switch {
		case skip > 0:
			switch {
			case ifAny.MatchString(line):
				skip++
			case endIf.MatchString(line):
				skip--
			case skip == 1 && elseAny.MatchString(line):
				skip = 0 // the #else of the block is C
			}
		case ifCplusplus.MatchString(line):
			skip = 1
		case strings.HasPrefix(strings.TrimSpace(line), "#"):
			if m := define.FindStringSubmatch(line); m != nil {
				macros.WriteString(m[1] + "\n")
			}
		default:
			code.WriteString(line + "\n")
		}
	}
	used := map[string]bool{}
	use := func(t string) {
		if isName(t) && !used[t] {
			used[t] = true
			s.uses = append(s.uses, t)
		}
	}
	for _, t := range token.FindAllString(macros.String(), -1) {
		use(t)
	}
	s.declarations(token.FindAllString(code.String(), -1), func(t string, inBody bool) {
		if inBody || !header {
			use(t)
		}
	})
	return s
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
func isName(t string) bool {
	c := t[0]
	return c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

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
		default:
			b.WriteByte(text[i])
			i++
		}
	}
	return b.String()
}

func atLineStart(text string, i int) bool {
	return strings.TrimSpace(text[strings.LastIndexByte(text[:i], '\n')+1:i]) == ""
}
