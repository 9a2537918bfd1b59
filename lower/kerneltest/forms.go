// SPDX-License-Identifier: Apache-2.0

package kerneltest

import (
	_ "embed"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
)

// classes are the names of element types that forms have together.
var classes = map[string]string{
	"floats":   "f32 f64 f16 bf16",
	"integers": "i8 i16 i32 i64 u8 u16 u32 u64",
	"numbers":  "f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64",
	"all":      "f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 bool i4 u4",
}

// Template is nodes with holes: T is the element type, one of Class; A, B, C,
// ... are sizes, equal letters equal sizes. "x T[A,B]" is an input, "c T[A] =
// ..." a constant, "-" an input that is left out; what follows the operands are
// the element types of the results and operators that take them so.
type Template struct {
	Class []string // nil: any
	Text  string
}

// Parts are the operands, the types of the results, and the operators.
func (t Template) Parts() (operands, results, operators []string) {
	i := strings.Index(t.Text, ": ")
	j := strings.LastIndex(t.Text[:i], "; ")
	for _, s := range strings.Split(t.Text[:max(j, 0)], "; ") {
		operands = append(operands, strings.TrimSpace(s))
	}
	return operands, strings.Split(strings.TrimSpace(t.Text[j+1:i]), ","), split(t.Text[i+2:])
}

// functions are the operators that are functions of one real number, those of
// which the C form is as wanted.
func functions(want func(ir.CForm) bool) string {
	var names []string
	for _, d := range op.All() {
		if d.C != nil && d.Scalar != nil && d.Quant == ir.QFloat && want(d.C(&ir.Node{Op: d})) {
			names = append(names, strings.TrimPrefix(d.Domain+"."+d.Name, "."))
		}
	}
	return strings.Join(names, " ")
}

var (
	//go:embed templates.txt
	templatesText string
	//go:embed forms.txt
	formsText string
)

// Templates are what the rows of lower/kernel/loops compute, which is every operator in some element type.
var Templates = readTemplates(templatesText)

// Forms are what the rows of the libraries compute, in any precision.
var Forms = readTemplates(formsText)

// readTemplates reads a template a line, CLASS | TEXT or TEXT alone.
func readTemplates(text string) (list []Template) {
	holes := strings.NewReplacer("{functions}", functions(func(ir.CForm) bool { return true }),
		"{functions of reals}", functions(func(c ir.CForm) bool { return c.I64 == "" }))
	for line := range strings.Lines(holes.Replace(text)) {
		line, more := strings.CutPrefix(strings.TrimRight(line, "\n"), " ")
		switch line = strings.TrimSpace(line); {
		case line == "" || line[0] == '#':
		case more:
			list[len(list)-1].Text += " " + line
		default:
			var t Template
			if class, rest, ok := strings.Cut(line, " | "); ok {
				if names := classes[class]; names != "" {
					class = names
				}
				t.Class, line = strings.Fields(class), rest
			}
			t.Text = line
			list = append(list, t)
		}
	}
	return list
}

// split parts operators at blanks outside of braces.
func split(s string) []string {
	var out []string
	depth, from := 0, 0
	for i, c := range s + " " {
		switch {
		case c == '{':
			depth++
		case c == '}':
			depth--
		case c == ' ' && depth == 0:
			if i > from {
				out = append(out, s[from:i])
			}
			from = i + 1
		}
	}
	return out
}
