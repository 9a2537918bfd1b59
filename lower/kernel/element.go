// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"regexp"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
)

// Where are the operators that d accepts, by domain and name.
func Where(d func(*ir.OpDef) bool) []*ir.OpDef {
	return slices.DeleteFunc(op.All(), func(o *ir.OpDef) bool { return !d(o) })
}

// token is a word, a number or an attribute in braces of a C form.
var token = regexp.MustCompile(`\{\w+\}|[A-Za-z_]\w*|\d+\.\d+(?:e-?\d+)?`)

// Written is a C form with the given expressions in place of its argument x, or of
// its arguments a and b (none: left alone), and attr(name) in place of {name}.
func Written(form string, attr func(name string) string, args ...string) string {
	return token.ReplaceAllStringFunc(form, func(t string) string {
		switch {
		case argument(t) >= 0 && len(args) > 0:
			return args[argument(t)]
		case t[0] == '{':
			return attr(t[1 : len(t)-1])
		}
		return t
	})
}

// argument is the index of the argument that a word of a form names, -1 for none.
func argument(word string) int {
	switch word {
	case "x", "a":
		return 0
	case "b":
		return 1
	}
	return -1
}

// inFloat are functions on double of the runtime with another name in float;
// those of <math.h> end in f there.
var inFloat = map[string]string{"nncc_nearest_f64": "rintf"}

// Float32 is the form in float, written or derived; "" where there is none.
func Float32(c ir.CForm) string {
	if c.F32 != "" {
		return c.F32
	}
	return token.ReplaceAllStringFunc(c.F64, func(t string) string {
		name, own := strings.CutSuffix(strings.TrimPrefix(t, "nncc_"), "_f64")
		switch {
		case argument(t) >= 0 || t[0] == '{':
			return t
		case inFloat[t] != "":
			return inFloat[t]
		case own:
			return "nncc_el_" + name + "_f32"
		}
		return t + "f" // a number, or a function of <math.h>
	})
}
