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
	runtimec "github.com/nncc/nncc/runtime_c"
	"github.com/nncc/nncc/runtime_c/ctext"
)

// emitter turns the calls of a program into C text.
type emitter struct {
	prefix  string
	prog    *program.Program
	stepOf  func(k int) int // program.StepOf
	arena   arenaForm
	library *runtimec.Library
	locals  *localNames
	consts  []string    // C names of the program's constants
	arrays  blobs       // those that are arrays
	images  []imageView // and those that are files
	bound   *numbers    // nil: constants are linked
	// digest: the text is for the layout of a weights file, without the names of the model.
	digest bool

	bases       []*base
	named       map[int]string // places by buffer
	first, last []int          // steps that need a buffer
	accessors   []accessorView
	structs     []*structView
	shared      map[string]*structView // by their text
	code        []*codeView
	functions   map[string]*codeView // by their text
	headers     map[string]bool
	// sources are functions that are called, and headers of functions written for
	// nodes, which bring files of their own where nothing is called.
	funcs, sources map[string]bool
}

func newEmitter(p *program.Program, prefix string, o Options, names *ioNaming, digest bool) *emitter {
	bound := o.WeightsFile
	arena := newArenaForm(partViews(p, prefix), prefix)
	e := &emitter{prefix: prefix, prog: p, stepOf: p.StepOf(), digest: digest, arena: arena, library: o.Library,
		locals: &localNames{names, map[string]int{}}, bases: bases(arena), named: map[int]string{},
		shared: map[string]*structView{}, functions: map[string]*codeView{}}
	if bound {
		e.bound = &numbers{prefix: prefix, used: map[string]bool{}}
		if !digest {
			e.bound.locals = e.locals
		}
	}
	e.headers, e.funcs, e.sources = map[string]bool{}, map[string]bool{}, map[string]bool{}
	e.consts, e.arrays, e.images = constants(p, prefix, digest)
	if bound {
		for i := range e.consts {
			e.consts[i] += "(w)"
		}
	}
	return e
}

// codeView is a function that was written for a node.
type codeView struct {
	Name   string
	Params []string
	Body   string
	Status bool
	Steps  []int // that call it
}

// Doc says where it is called.
func (v *codeView) Doc() []string {
	return ctext.Wrap("Written for "+stepList(v.Steps)+".", 110)
}

// stepView is what a template prints for one step.
type stepView struct {
	Index   int
	Step    int  // of the caller's
	GoesOn  bool // it is another call of the step before
	More    bool // another call of the step follows
	Func    string
	Comment []string
	Structs []*structView // that it is the first one to use
	Locals  []string
	Calls   []callView
	Status  bool // the step can fail
	Idle    bool // nothing is in the arena
	Still   bool // nothing is in the state
	// Constants: the step takes the bound constants; Staged: copies of some.
	Constants, Staged bool
}

// callView is one call with its way of checking the result.
type callView struct {
	Fetches []string // copies of constants that are made first
	Text    string
	Success string // the constant that means success; "": nothing is checked
	Pass    bool   // another status is handed on as it is
	Discard bool
}

// stepWriter writes one step.
type stepWriter struct {
	*emitter
	step      *program.Step
	view      stepView
	variables []string
}

func (e *emitter) step(i int, s *program.Step) stepView {
	defer func() {
		if r := recover(); r != nil {
			panic(bug.Errorf("C of %s: %w", s, bug.Recovered(r)))
		}
	}()
	w := &stepWriter{emitter: e, step: s, variables: []string{"a", "s", "w", "f", "status"}, view: stepView{Index: i,
		Step: e.stepOf(i), GoesOn: e.prog.GoesOn(i), More: e.prog.GoesOn(i + 1), Func: e.stepName(i, s),
		Comment: e.comment(i, s), Idle: true, Still: true}}
	for _, h := range s.Headers {
		e.headers[h] = true
	}
	for k, c := range s.Calls {
		w.call(c, w.fetches(s.Before(k)))
	}
	return w.view
}

// stepName is the name of a step's function: the model's name is a part of it.
func (e *emitter) stepName(i int, s *program.Step) string {
	if e.digest {
		return fmt.Sprintf("%s_step_%d", e.prefix, i)
	}
	return e.locals.name(fmt.Sprintf("%s_step_%s_%s", e.prefix, e.number(i, "_"), tail(s.Name)))
}

// number is that of the caller's step, and of the call in it where there are several.
func (e *emitter) number(i int, between string) string {
	n, k := e.stepOf(i), i
	for e.prog.GoesOn(k) {
		k--
	}
	if k == i && !e.prog.GoesOn(i+1) {
		return fmt.Sprint(n)
	}
	return fmt.Sprint(n, between, i-k)
}

// call writes one behind copies of what it reads.
func (w *stepWriter) call(c call.Call, fetches []string) {
	fn := c.Func
	if c.Code != nil {
		fn = w.function(c.Code, c.Status == call.NNCCStatus)
	} else {
		w.funcs[fn] = true
	}
	var args []string
	params := w.parameters(c)
	for i, a := range c.Args {
		var p runtimec.Parameter
		if i < len(params) {
			p = params[i]
		}
		args = append(args, w.labelled(w.arg(a, p), a, p))
	}
	v := callView{Fetches: fetches, Text: wrapCall(fn, args), Pass: c.Status == call.NNCCStatus}
	if v.Discard = c.Status == call.Ignored; !v.Discard {
		v.Success = string(c.Status)
	}
	w.view.Status = w.view.Status || v.Success != ""
	w.view.Calls = append(w.view.Calls, v)
}

// function names a function that was written for a node; equal ones are one.
func (w *stepWriter) function(c *call.Code, status bool) string {
	e := w.emitter
	for _, u := range c.Uses {
		e.funcs[u] = true
	}
	for _, h := range c.Headers {
		e.headers[h], e.sources[h] = true, true
	}
	key := fmt.Sprint("code", c.Hint, c.Params, c.Body, status)
	x, ok := e.functions[key]
	if !ok {
		x = &codeView{Name: fmt.Sprintf("%s_%s_%d", e.prefix, c.Hint, len(e.code)), Params: c.Params, Body: c.Body,
			Status: status}
		e.functions[key] = x
		e.code = append(e.code, x)
	}
	if !slices.Contains(x.Steps, w.view.Step) {
		x.Steps = append(x.Steps, w.view.Step)
	}
	return x.Name
}

// comment introduces a step: the nodes of the model that it is, its operands and what runs.
func (e *emitter) comment(i int, s *program.Step) []string {
	var names []string
	for _, n := range s.Origin {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	if len(names) == 0 {
		names = []string{s.Name}
	}
	c := ctext.Hang(longComment(fmt.Sprintf("Step %s: %s %s", e.number(i, "."), s.Op, strings.Join(names, ", "))), 116)
	operand := func(way string, buffer int) {
		b := &e.prog.Buffers[buffer]
		c = append(c, ctext.Hang(longComment(fmt.Sprintf("%s %s: %s", way, b.Name, shortType(b.Type))), 116)...)
	}
	for _, x := range s.In {
		if x.Buffer >= 0 {
			operand("in", x.Buffer)
		}
	}
	for _, b := range s.Out {
		operand("out", b)
	}
	if s.Route != "" && s.Route != s.Kernel {
		c = append(c, comment("runs "+s.Route))
	}
	return c
}

// shortType is a type as comments say it: what lies in memory, and what that is in the model.
func shortType(t types.Type) string {
	s := fmt.Sprintf("%s [%s]", t.DType.ONNXName(), list(t.Phys()))
	switch {
	case t.SameMemory(nil):
	case t.SameMemory(types.NHWC(t.Rank())):
		s += fmt.Sprintf(", channels last of [%s]", list(t.Shape))
	default:
		s += fmt.Sprintf(", dimensions %s of [%s]", list(t.Order), list(t.Shape))
	}
	return s
}

func wrapCall(f string, args []string) string {
	one := f + "(" + strings.Join(args, ", ") + ")"
	if len(one) <= 90 {
		return one
	}
	return f + "(\n            " + strings.Join(args, ",\n            ") + ")"
}

// arg is the C expression of an argument for p; it may add variables to the step.
func (w *stepWriter) arg(a call.Arg, p runtimec.Parameter) string {
	switch a := a.(type) {
	case call.Lit:
		return string(a)
	case call.Trained:
		if w.bound != nil {
			w.view.Constants = true
			return w.bound.trained(a, w.number(p))
		}
		return a.Literal()
	case call.Func:
		w.funcs[string(a)] = true
		return string(a)
	case call.Null:
		return "NULL"
	case call.In:
		return w.pointer(w.step.In[a.I].Buffer, a.Off, a.CType)
	case call.Out:
		return w.pointer(w.step.Out[a.I], a.Off, a.CType)
	case call.Scratch:
		return w.pointer(w.step.Scratch, a.Off, a.CType)
	case call.Const:
		// Structs of the library hold pointers to non-const data that they only read.
		if !a.NoCast && !p.ReadsOnly() {
			return "(" + w.prog.Consts[a.I].CType + " *)" + w.constant(a.I)
		}
		return w.constant(a.I)
	case *call.Struct:
		return "&" + w.object(a, a.Type, "", a.Mutable, p)
	case *call.Array:
		return w.object(a, a.Type, "[]", false, p)
	}
	panic(bug.Errorf("argument %T", a))
}

// usesRuntime reports whether a value is no constant expression at file scope: it
// points into the arena or to a variable of the step, or is bound or copied at run time.
func (w *stepWriter) usesRuntime(a call.Arg) bool {
	switch a := a.(type) {
	case call.In, call.Out, call.Scratch:
		return true
	case call.Const:
		if w.bound != nil || w.isCopied(a.I) {
			return true
		}
	case call.Trained:
		if w.bound != nil {
			return true
		}
	case *call.Struct:
		if a.Mutable {
			return true
		}
	}
	return slices.ContainsFunc(call.Inner(a), w.usesRuntime)
}

// pointer is the address of a place in the arena or the state as the callee wants it.
func (w *stepWriter) pointer(buffer, off int, ctype string) string {
	if w.prog.Buffers[buffer].Kept {
		w.view.Still = false
	} else {
		w.view.Idle = false
	}
	return w.typed(w.place(buffer, off), ctype, false)
}

func sortedKeys(m map[string]bool) []string { return slices.Sorted(maps.Keys(m)) }
