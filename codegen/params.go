// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/lists"
	runtimec "github.com/nncc/nncc/runtime_c"
	"github.com/nncc/nncc/runtime_c/ctext"
)

// structView is a file-scope constant struct.
type structView struct {
	Type, Name string
	Init       string // in one line
	Text       string // the definition
	Steps      []int  // that use it, the first one introduces it
}

// Others says which steps use it behind the first one.
func (v *structView) Others() []string {
	if len(v.Steps) < 2 {
		return nil
	}
	return ctext.Wrap("Of "+stepList(v.Steps[1:])+", too.", 110)
}

// stepList names steps.
func stepList(steps []int) string {
	if len(steps) == 1 {
		return fmt.Sprintf("step %d", steps[0])
	}
	return "steps " + list(steps)
}

// value is the initialiser of a variable, or of a field.
type value struct {
	name string // of the field; "" elsewhere
	text string // of a number or pointer; "" where fields are
	list []value
}

// values is the initialiser of a struct, an array or, by w.arg, anything else.
func (w *stepWriter) values(a call.Arg) value {
	var v value
	switch a := a.(type) {
	case *call.Struct:
		return w.values(call.Nested{Fields: a.Fields})
	case *call.Array:
		v.list = lists.Map(a.Elems, func(x call.Nested) value { return w.values(x) })
	case call.Nested:
		for _, f := range a.Fields {
			var x value
			if n, ok := f.Value.(call.Nested); ok {
				x = w.values(n)
			} else {
				x.text = w.arg(f.Value, runtimec.Parameter{Name: f.Name})
			}
			x.name = f.Name
			v.list = append(v.list, x)
		}
	}
	if len(v.list) == 0 { // C99 has no empty initialisers
		v.text = "{0}"
	}
	return v
}

// line is a value in one line.
func (v value) line() string {
	s := v.text
	if s == "" {
		parts := lists.Map(v.list, value.line)
		s = "{" + strings.Join(parts, ", ") + "}"
	}
	return v.label() + s
}

// label is what stands in front of the value of a field.
func (v value) label() string {
	if v.name == "" {
		return ""
	}
	return "." + v.name + " = "
}

// write is a value, with the name of its field, behind head: in one line where that is
// short, else a group of fields a line.
func (v value) write(head, indent, end string) string {
	if s := head + v.line() + end; v.text != "" || len(indent)+len(s) <= 100 {
		return s
	}
	var b strings.Builder
	b.WriteString(head + v.label() + "{\n")
	inner := indent + "    "
	for _, g := range v.groups(100 - len(inner)) {
		parts := lists.Map(g, func(x value) string { return x.write("", inner, "") })
		b.WriteString(inner + strings.Join(parts, ", ") + ",\n")
	}
	b.WriteString(indent + "}" + end)
	return b.String()
}

// groups are the fields by line: neighbours with the same first word, as in_h, in_w and
// in_c; neighbours that are in no such group; as many as a line has room for.
func (v value) groups(room int) [][]value {
	key := func(i int) string {
		word, _, ok := strings.Cut(v.list[i].name, "_")
		same := func(j int) bool {
			return j >= 0 && j < len(v.list) && strings.HasPrefix(v.list[j].name, word+"_")
		}
		if !ok || !same(i-1) && !same(i+1) {
			return ""
		}
		return word
	}
	var out [][]value
	column, last := 0, ""
	for i, x := range v.list {
		n, k := len(x.line())+2, key(i)
		if i == 0 || k != last || column+n > room {
			out, column = append(out, nil), 0
		}
		out[len(out)-1] = append(out[len(out)-1], x)
		column, last = column+n, k
	}
	return out
}

// object is the name of a variable: of the file, which equal ones share, or of the step
// where its value is no constant expression. p is what it is passed to.
func (w *stepWriter) object(a call.Arg, ctype, array string, mutable bool, p runtimec.Parameter) string {
	v := w.values(a) // may declare variables of its own
	if mutable || w.usesRuntime(a) {
		name := w.variable(role(p, ctype))
		head := "const " + ctype + " " + name + array + " = "
		if mutable {
			head = head[len("const "):]
		}
		w.view.Locals = append(w.view.Locals, w.definition(v, head, "    "))
		return name
	}
	key := "struct " + ctype + array + v.line()
	x, ok := w.shared[key]
	if !ok {
		x = &structView{Type: ctype, Init: v.line()}
		if x.Name = fmt.Sprintf("p%d", len(w.structs)); !w.digest {
			x.Name = w.locals.name(fmt.Sprintf("%s_step_%d_%s", w.prefix, w.view.Step, role(p, ctype)))
		}
		x.Text = w.definition(v, "static const "+ctype+" "+x.Name+array+" = ", "")
		w.shared[key] = x
		w.structs = append(w.structs, x)
		w.view.Structs = append(w.view.Structs, x)
	}
	if !slices.Contains(x.Steps, w.view.Step) {
		x.Steps = append(x.Steps, w.view.Step)
	}
	return x.Name
}

// definition is a variable with its value.
func (w *stepWriter) definition(v value, head, indent string) string {
	if w.digest {
		return head + v.line() + ";"
	}
	return v.write(head, indent, ";")
}

// variable is a name for a variable of the step.
func (w *stepWriter) variable(role string) string {
	if w.digest {
		return fmt.Sprintf("p%d", len(w.view.Locals))
	}
	name := role
	for k := 2; slices.Contains(w.variables, name); k++ {
		name = fmt.Sprintf("%s_%d", role, k)
	}
	w.variables = append(w.variables, name)
	return name
}

// role is what a struct is called: as the parameter that it is passed to, or, where
// that is a letter, by its type.
func role(p runtimec.Parameter, ctype string) string {
	if len(p.Name) > 1 {
		return p.Name
	}
	if i := strings.LastIndexByte(ctype, '_'); i >= 0 {
		return ctype[i+1:]
	}
	return "params"
}

// parameters are those of the function of a call.
func (e *emitter) parameters(c call.Call) []runtimec.Parameter {
	if c.Code == nil {
		return e.library.Parameters(c.Func)
	}
	var out []runtimec.Parameter
	for _, p := range c.Code.Params {
		i := strings.LastIndexAny(p, " *") + 1
		out = append(out, runtimec.Parameter{Type: strings.TrimSpace(p[:i]), Name: p[i:]})
	}
	return out
}

// number is what a number of a weights file is called after.
func (w *stepWriter) number(p runtimec.Parameter) string {
	return fmt.Sprintf("step_%d_%s", w.view.Index, role(p, ""))
}

// numbered is a name that says nothing.
var numbered = regexp.MustCompile(`^[a-z]\d*$`)

// labelled is a number or a null pointer in a call with the name of its parameter.
func (w *stepWriter) labelled(text string, a call.Arg, p runtimec.Parameter) string {
	_, number := call.Number(a)
	_, null := a.(call.Null)
	if (number || null) && p.Name != "" && !w.digest && !numbered.MatchString(p.Name) {
		return "/* " + p.Name + " */ " + text
	}
	return text
}
