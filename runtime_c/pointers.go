// SPDX-License-Identifier: Apache-2.0

package runtimec

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// PointerTargets names the functions that a function of the shipped sources can
// call through pointers; nil where it calls by name only. Compilers inline
// functions into their callers and clone them (gather.constprop.0): both are seen to.
func PointerTargets(caller string) []string {
	plain, _, _ := strings.Cut(caller, ".")
	return shippedTargets()[plain]
}

var shippedTargets = sync.OnceValue(func() map[string][]string {
	var s signatures
	x := Shipped()
	for _, p := range slices.Sorted(maps.Keys(x.files)) {
		s.read(p, string(x.files[p]()))
	}
	return s.targets()
})

// signatures are the functions of a set of sources, and the types of pointers to
// them. Such a type has a name, typedef void NAME(parameters), and what holds a
// pointer is declared NAME *p.
type signatures struct {
	functions []*cFunction
	types     map[string]pointerType // by name
	members   map[string]string      // of structs, by name: their type
	taken     map[string]bool        // names that occur without a call: of functions whose address is taken
}

// pointerType is a type of functions.
type pointerType struct {
	signature string
	header    bool // other files can pass functions of theirs
}

// cFunction is a definition.
type cFunction struct {
	file, name, signature string
	static                bool
	tokens                []string // parameters and body
}

// read adds a file.
func (s *signatures) read(file, text string) {
	if s.types == nil {
		s.types, s.members, s.taken = map[string]pointerType{}, map[string]string{}, map[string]bool{}
	}
	tokens, _ := code(text)
	items := topLevel(tokens)
	for _, item := range items {
		if name, signature, _ := heading(item); name != "" && item[0] == "typedef" {
			s.types[name] = pointerType{signature, strings.HasSuffix(file, ".h")}
		}
	}
	for _, item := range items {
		name, signature, body := heading(item)
		switch {
		case body:
			s.functions = append(s.functions, &cFunction{file: file, name: name, signature: signature,
				static: slices.Contains(item[:slices.Index(item, name)], "static"), tokens: item})
		case slices.Contains(item, "struct"):
			maps.Copy(s.members, s.pointers(item))
		}
		for i, t := range item[:len(item)-1] {
			if isName(t) && item[i+1] != "(" {
				s.taken[t] = true
			}
		}
	}
}

// topLevel cuts a file into its declarations and definitions.
func topLevel(code []string) [][]string {
	var out [][]string
	start, braces := 0, 0
	isFunction := false
	for i, t := range code {
		switch t {
		case "{":
			if braces == 0 {
				isFunction = i > start && code[i-1] == ")"
			}
			braces++
		case "}":
			braces--
		}
		if braces == 0 && (t == ";" || t == "}" && isFunction) {
			out = append(out, code[start:i+1])
			start, isFunction = i+1, false
		}
	}
	return out
}

// heading is the name of a function, or of a type of functions, and its result and
// parameters in a form that the same type always has; "" for anything else. body
// says that the function is defined here.
func heading(item []string) (name, signature string, body bool) {
	end := slices.Index(item, "{")
	if body = end >= 0; !body {
		end = len(item) - 1
	}
	if end < 1 || item[end-1] != ")" {
		return "", "", false
	}
	open := opening(item, end-1)
	if open < 2 || !isName(item[open-1]) {
		return "", "", false
	}
	var words []string
	for i, t := range item[:end] {
		if i != open-1 && !notOfType.MatchString(t) && (i < open || !isParameter(item, i)) {
			words = append(words, t)
		}
	}
	return item[open-1], strings.Join(words, " "), body
}

// opening is the parenthesis that a closing one belongs to.
func opening(item []string, at int) int {
	for depth := 0; at > 0; at-- {
		switch item[at] {
		case ")":
			depth++
		case "(":
			depth--
		}
		if depth == 0 {
			break
		}
	}
	return at
}

// notOfType are the words of a definition that are not of the function's type.
var notOfType = regexp.MustCompile(`^(static|inline|typedef|extern|NNCC_\w+_(NAKED|ARG))$`)

// isParameter reports the name of a parameter; a type may stand without one.
func isParameter(item []string, i int) bool {
	before, after := item[i-1], item[i+1]
	return isName(item[i]) && (after == "," || after == ")") && before != "(" && before != "," && before != "const"
}

// pointers are the names that are declared as pointers to functions in a piece of
// code, with their types: TYPE *p, *const q = f.
func (s *signatures) pointers(code []string) map[string]string {
	out := map[string]string{}
	ty, named := "", false // the type that is being declared; it has a name
	for i, t := range code {
		_, isType := s.types[t]
		switch {
		case isType:
			ty, named = t, false
		case ty == "" || t == "*" || t == "const":
		case t == ",": // another name, or, in parameters, the end
			named = false
			if code[i+1] != "*" {
				ty = ""
			}
		case t == ";" || t == ")":
			ty = ""
		case !named:
			out[t], named = ty, true
		}
	}
	return out
}

// targets are what each function can call through pointers, itself or where
// others are inlined into it.
func (s *signatures) targets() map[string][]string {
	types := map[string][]string{} // of the pointers, by caller
	for _, f := range s.functions {
		types[f.name] = append(types[f.name], s.called(f)...)
	}
	inlined := s.inlined()
	for again := true; again; {
		again = false
		for _, f := range s.functions {
			before := len(types[f.name])
			for _, g := range inlined[f] {
				types[f.name] = append(types[f.name], types[g]...)
			}
			slices.Sort(types[f.name])
			types[f.name] = slices.Compact(types[f.name])
			again = again || len(types[f.name]) > before
		}
	}
	out := map[string][]string{}
	for caller, list := range types {
		for _, ty := range list {
			out[caller] = append(out[caller], s.ofType(s.types[ty])...)
		}
		slices.Sort(out[caller])
		out[caller] = slices.Compact(out[caller])
	}
	maps.DeleteFunc(out, func(caller string, _ []string) bool { return len(types[caller]) == 0 })
	return out
}

// called are the types of the pointers that a function calls through.
func (s *signatures) called(f *cFunction) []string {
	var out []string
	own := s.pointers(f.tokens)
	for i := 1; i+1 < len(f.tokens); i++ {
		if f.tokens[i+1] != "(" {
			continue
		}
		ty := own[f.tokens[i]]
		if before := f.tokens[i-1]; before == "." || before == ">" { // p->member(...)
			ty = s.members[f.tokens[i]]
		}
		if ty != "" {
			out = append(out, ty)
		}
	}
	return out
}

// inlined are the functions that a compiler can inline into each: static ones,
// and others of the same file.
func (s *signatures) inlined() map[*cFunction][]string {
	named := map[string][]*cFunction{}
	for _, f := range s.functions {
		named[f.name] = append(named[f.name], f)
	}
	out := map[*cFunction][]string{}
	for _, f := range s.functions {
		for _, t := range f.tokens {
			for _, g := range named[t] {
				if (g.static || g.file == f.file) && t != f.name {
					out[f] = append(out[f], t)
				}
			}
		}
	}
	return out
}

// ofType are the functions that a pointer can point to: of its type, and seen by
// whoever sees the type, or with an address that somebody takes.
func (s *signatures) ofType(ty pointerType) []string {
	var out []string
	for _, f := range s.functions {
		if f.signature == ty.signature && (s.taken[f.name] || ty.header && !f.static) {
			out = append(out, f.name)
		}
	}
	return out
}

// Parameter is one of a function: its C type, as "const int8_t *", and its name.
type Parameter struct{ Type, Name string }

// ReadsOnly reports a pointer to data that the function does not write.
func (p Parameter) ReadsOnly() bool {
	return strings.HasPrefix(p.Type, "const ") && strings.HasSuffix(p.Type, "*")
}

// Parameters are those of a function of the library, as its source defines it; nil
// where no source does.
func (x *Library) Parameters(function string) []Parameter {
	x.heads.mu.Lock()
	defer x.heads.mu.Unlock()
	p, ok := x.heads.known[function]
	if !ok {
		if text := x.files[x.defines[function]]; text != nil {
			p = parameters(definition(string(text()), function))
		}
		if x.heads.known == nil {
			x.heads.known = map[string][]Parameter{}
		}
		x.heads.known[function] = p
	}
	return p
}

// heads are the parameters of functions that were asked for.
type heads struct {
	mu    sync.Mutex
	known map[string][]Parameter
}

// parameters reads the head of a definition in one line.
func parameters(head string) []Parameter {
	_, list, ok := strings.Cut(strings.TrimSuffix(head, ")"), "(")
	if !ok {
		return nil
	}
	var out []Parameter
	for p := range strings.SplitSeq(list, ",") {
		words := tokens(p)
		n := len(words)
		if n < 2 || !isName(words[n-1]) { // void, or an array
			return nil
		}
		stars := slices.Index(words, "*")
		if stars < 0 {
			stars = n - 1
		}
		ctype := strings.Join(words[:stars], " ")
		if stars < n-1 {
			ctype += " " + strings.Repeat("*", n-1-stars)
		}
		out = append(out, Parameter{ctype, words[n-1]})
	}
	return out
}
