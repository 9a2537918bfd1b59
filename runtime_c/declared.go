// SPDX-License-Identifier: Apache-2.0

package runtimec

import (
	"slices"
	"strings"
	"sync"
)

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
		p = parameters(definition(string(x.files[x.defines[function]]), function))
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
