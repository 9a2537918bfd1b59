// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/ir/types"
)

// emitter turns the calls of a program into C text.
type emitter struct {
	prefix  string
	prog    *program.Program
	consts  []string    // C names of the program's constants
	arrays  blobs       // those that are arrays
	images  []imageView // and those that are files
	structs []structView
	code    []codeView
	named   map[string]string // structs and functions by their text
	bound   *numbers          // nil: constants are linked
	headers map[string]bool
	// sources are functions that are called, and headers of functions written for
	// nodes, which bring files of their own where nothing is called.
	funcs, sources map[string]bool
}

func newEmitter(p *program.Program, prefix string, bound bool) *emitter {
	e := &emitter{prefix: prefix, prog: p, named: map[string]string{}}
	if bound {
		e.bound = &numbers{prefix: prefix, used: map[string]bool{}}
	}
	e.headers, e.funcs, e.sources = map[string]bool{}, map[string]bool{}, map[string]bool{}
	e.consts, e.arrays, e.images = constants(p, prefix)
	if bound {
		for i := range e.consts {
			e.consts[i] += "(w)"
		}
	}
	return e
}

// structView is a file-scope constant struct.
type structView struct{ Type, Name, Init string }

// codeView is a function that was written for a node.
type codeView struct {
	Name   string
	Params []string
	Body   string
	Status bool
}

// stepView is what a template prints for one step.
type stepView struct {
	Index   int
	Func    string
	Comment []string
	Locals  []string
	Calls   []callView
	Status  bool // the step can fail
	Idle    bool // nothing is in the arena
	Still   bool // nothing is in the state
	// Constants: the step takes the bound constants.
	Constants bool
}

// callView is one call with its way of checking the result.
type callView struct {
	Text    string
	Success string // the constant that means success; "": nothing is checked
	Pass    bool   // another status is handed on as it is
	Discard bool
}

// stepWriter writes one step.
type stepWriter struct {
	*emitter
	step *program.Step
	view stepView
}

func (e *emitter) step(i int, s *program.Step) stepView {
	defer func() {
		if r := recover(); r != nil {
			panic(bug.Errorf("C of %s: %w", s, bug.Recovered(r)))
		}
	}()
	w := &stepWriter{e, s, stepView{Index: i, Func: fmt.Sprintf("%s_step_%d", e.prefix, i), Comment: e.comment(s),
		Idle: true, Still: true}}
	for _, h := range s.Headers {
		e.headers[h] = true
	}
	for _, c := range s.Calls {
		w.call(c)
	}
	w.view.Constants = e.bound != nil && strings.Contains(fmt.Sprint(w.view.Locals, w.view.Calls), "(w")
	return w.view
}

func (w *stepWriter) call(c call.Call) {
	fn := c.Func
	if c.Code != nil {
		fn = w.function(c.Code, c.Status == call.NNCCStatus)
	} else {
		w.funcs[fn] = true
	}
	var args []string
	for _, a := range c.Args {
		args = append(args, w.arg(a))
	}
	v := callView{Text: wrapCall(fn, args), Pass: c.Status == call.NNCCStatus}
	if v.Discard = c.Status == call.Ignored; !v.Discard {
		v.Success = string(c.Status)
	}
	w.view.Status = w.view.Status || v.Success != ""
	w.view.Calls = append(w.view.Calls, v)
}

// function names a function that was written for a node; equal ones are one.
func (e *emitter) function(c *call.Code, status bool) string {
	for _, u := range c.Uses {
		e.funcs[u] = true
	}
	for _, h := range c.Headers {
		e.headers[h], e.sources[h] = true, true
	}
	key := fmt.Sprint("code", c.Hint, c.Params, c.Body, status)
	name, ok := e.named[key]
	if !ok {
		name = fmt.Sprintf("%s_%s_%d", e.prefix, c.Hint, len(e.code))
		e.named[key] = name
		e.code = append(e.code, codeView{name, c.Params, c.Body, status})
	}
	return name
}

func (e *emitter) comment(s *program.Step) []string {
	names := strings.Join(s.Origin, ", ")
	if names == "" {
		names = s.Name
	}
	c := []string{comment(s.Op + " " + names)}
	operand := func(way string, i, buffer int) {
		b := &e.prog.Buffers[buffer]
		c = append(c, comment(fmt.Sprintf("%s %d: %s %s", way, i, b.Name, shortType(b.Type))))
	}
	for i, x := range s.In {
		if x.Buffer >= 0 {
			operand("in", i, x.Buffer)
		}
	}
	for i, b := range s.Out {
		operand("out", i, b)
	}
	if s.Route != "" && s.Route != s.Kernel {
		c = append(c, comment("runs "+s.Route))
	}
	return c
}

func shortType(t types.Type) string {
	s := fmt.Sprintf("%s [%s]", t.DType.ONNXName(), list(t.Phys()))
	if !t.SameMemory(nil) {
		s += fmt.Sprintf(" (dimensions %s of [%s])", list(t.Order), list(t.Shape))
	}
	return s
}

func wrapCall(f string, args []string) string {
	one := f + "(" + strings.Join(args, ", ") + ")"
	if len(one) <= 100 {
		return one
	}
	return f + "(\n            " + strings.Join(args, ",\n            ") + ")"
}

// arg is the C expression of an argument; it may add locals to the step.
func (w *stepWriter) arg(a call.Arg) string {
	switch a := a.(type) {
	case call.Lit:
		return string(a)
	case call.Trained:
		if w.bound != nil {
			return w.bound.trained(a)
		}
		return a.Literal()
	case call.Func:
		w.funcs[string(a)] = true
		return string(a)
	case call.Null:
		return "NULL"
	case call.In:
		return w.pointer(w.step.In[a.I].Buffer, a.Off, a.CType, true)
	case call.Out:
		return w.pointer(w.step.Out[a.I], a.Off, a.CType, false)
	case call.Scratch:
		return w.pointer(w.step.Scratch, a.Off, a.CType, false)
	case call.Const:
		// Structs of the library hold pointers to non-const data that they only read.
		if !a.NoCast {
			return "(" + w.prog.Consts[a.I].CType + " *)" + w.consts[a.I]
		}
		return w.consts[a.I]
	case *call.Struct:
		return "&" + w.object(a, a.Type, "", a.Mutable)
	case *call.Array:
		return w.object(a, a.Type, "[]", false)
	case call.Nested:
		return w.init(a)
	}
	panic(bug.Errorf("argument %T", a))
}

// object is the name of a variable: of the file, which equal ones share, or of
// the step where its value is no constant expression.
func (w *stepWriter) object(a call.Arg, ctype, array string, mutable bool) string {
	init := w.init(a) // may declare locals of its own
	if mutable || w.usesRuntime(a) {
		name := fmt.Sprintf("p%d", len(w.view.Locals))
		kind := "const "
		if mutable {
			kind = ""
		}
		w.view.Locals = append(w.view.Locals, fmt.Sprintf("%s%s %s%s = %s;", kind, ctype, name, array, init))
		return name
	}
	key := "struct " + ctype + array + init
	name, ok := w.named[key]
	if !ok {
		name = fmt.Sprintf("%s_p%d", w.prefix, len(w.structs))
		w.named[key] = name
		w.structs = append(w.structs, structView{ctype, name + array, init})
	}
	return name
}

// init is the initialiser of a struct or array.
func (w *stepWriter) init(a call.Arg) string {
	var parts []string
	switch a := a.(type) {
	case *call.Struct:
		return w.init(call.Nested{Fields: a.Fields})
	case *call.Array:
		for _, x := range a.Elems {
			parts = append(parts, w.init(x))
		}
	case call.Nested:
		for _, f := range a.Fields {
			t := w.arg(f.Value)
			if f.Name != "" {
				t = "." + f.Name + " = " + t
			}
			parts = append(parts, t)
		}
	}
	if len(parts) == 0 { // C99 has no empty initialisers
		return "{0}"
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// usesRuntime reports whether a value is no constant expression at file scope: it
// points into the arena or to a variable of the step, or is bound at run time.
func (e *emitter) usesRuntime(a call.Arg) bool {
	switch a := a.(type) {
	case call.In, call.Out, call.Scratch:
		return true
	case call.Const, call.Trained:
		if e.bound != nil {
			return true
		}
	case *call.Struct:
		if a.Mutable {
			return true
		}
	}
	return slices.ContainsFunc(call.Inner(a), e.usesRuntime)
}

// pointer is the address of a place in the arena or the state as the callee
// wants it. Casts to other types than bytes go through void *: memory and all
// offsets are aligned, which -Wcast-align cannot know.
func (w *stepWriter) pointer(buffer, off int, ctype string, isConst bool) string {
	if w.prog.Buffers[buffer].Kept {
		w.view.Still = false
	} else {
		w.view.Idle = false
	}
	at := w.place(buffer, off)
	switch {
	case ctype == "uint8_t" || ctype == "void":
		return at
	case isConst:
		return fmt.Sprintf("(const %s *)(const void *)(%s)", ctype, at)
	}
	return fmt.Sprintf("(%s *)(void *)(%s)", ctype, at)
}

// place is a place as an expression on a, the arena, or s, the state.
func (e *emitter) place(buffer, off int) string {
	b := &e.prog.Buffers[buffer]
	if b.Kept {
		return fmt.Sprintf("s + %d", b.Offset+off)
	}
	return fmt.Sprintf("a + %d", b.Offset+off)
}

func sortedKeys(m map[string]bool) []string { return slices.Sorted(maps.Keys(m)) }
