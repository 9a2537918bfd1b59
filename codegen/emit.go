package codegen

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/schedule"
)

// emitter turns the calls of a Program into C text.
type emitter struct {
	prefix      string
	prog        *schedule.Program
	blobs       blobs
	structs     []structView
	byInit      map[string]string
	headers     map[string]bool
	codeHeaders map[string]bool // those that functions written for nodes need: files of their own where nothing is called
	funcs       map[string]bool
	images      []imageView
	code        []codeView
	byBody      map[string]string
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
}

// callView is one call with its way of checking the result.
type callView struct {
	Text    string
	Success string // the constant that means success; "": nothing is checked
	Pass    bool   // another status is handed on as it is
	Discard bool
}

// CType is the C type of an element.
func CType(d tensor.DType) string { return call.CType(d) }

func (e *emitter) step(i int, s *schedule.Step) stepView {
	defer pass.Named("C", s.Node)
	v := stepView{Index: i, Func: fmt.Sprintf("%s_step_%d", e.prefix, i)}
	v.Comment = stepComment(s)
	for _, h := range s.Low.Headers {
		e.headers[h] = true
	}
	for _, c := range s.Low.Calls {
		fn := c.Func
		if c.Code != nil {
			fn = e.function(c.Code, c.Status == call.NNCCStatus)
		} else {
			e.funcs[fn] = true
		}
		var args []string
		for _, a := range c.Args {
			args = append(args, e.arg(a, s, &v))
		}
		cv := callView{Text: wrapCall(fn, args)}
		switch c.Status {
		case call.NoStatus:
		case call.Ignored:
			cv.Discard = true
		default:
			cv.Success, v.Status = string(c.Status), true
			cv.Pass = c.Status == call.NNCCStatus
		}
		v.Calls = append(v.Calls, cv)
	}
	v.Idle = !strings.Contains(fmt.Sprint(v.Locals, v.Calls), "a + ")
	return v
}

// function names a function that was written for a node; equal ones are one.
func (e *emitter) function(c *call.Code, status bool) string {
	for _, u := range c.Uses {
		e.funcs[u] = true
	}
	for _, h := range c.Headers {
		e.headers[h], e.codeHeaders[h] = true, true
	}
	key := fmt.Sprint(c.Hint, c.Params, c.Body, status)
	if name, ok := e.byBody[key]; ok {
		return name
	}
	name := fmt.Sprintf("%s_%s_%d", e.prefix, c.Hint, len(e.code))
	e.byBody[key] = name
	e.code = append(e.code, codeView{name, c.Params, c.Body, status})
	return name
}

func stepComment(s *schedule.Step) []string {
	n := s.Node
	names := strings.Join(n.Origin, ", ")
	if names == "" {
		names = n.Name
	}
	c := []string{comment(n.Op.Name + " " + names)}
	for i, v := range n.In {
		if v != nil && v.Const == nil {
			c = append(c, comment(fmt.Sprintf("in %d: %s %s", i, v.Name, shortType(v.Type))))
		}
	}
	for i, v := range n.Out {
		c = append(c, comment(fmt.Sprintf("out %d: %s %s", i, v.Name, shortType(v.Type))))
	}
	if s.Low.Route != "" && s.Low.Route != s.Low.Kernel {
		c = append(c, comment("runs "+s.Low.Route))
	}
	return c
}

func shortType(t ir.Type) string {
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
func (e *emitter) arg(a call.Arg, s *schedule.Step, v *stepView) string {
	switch a := a.(type) {
	case call.Lit:
		return string(a)
	case call.Func:
		e.funcs[string(a)] = true
		return string(a)
	case call.Pitch:
		operands := s.Node.In
		if a.Output {
			operands = s.Node.Out
		}
		if n := e.prog.Pitch(operands[a.I]); n > 0 {
			return strconv.Itoa(n)
		}
		return strconv.Itoa(a.Row)
	case call.Null:
		return "NULL"
	case call.In:
		x := s.Node.In[a.I]
		if x.Const != nil {
			if a.Off != 0 {
				panic("BUG: offset into a constant operand")
			}
			return e.blobRef(&call.Blob{Hint: "const", CType: CType(x.Type.DType), Data: PhysBytes(x.Const, x.Type), Align: 4}, true)
		}
		return e.place(x, a.Off, a.CType, true)
	case call.Out:
		return e.place(s.Node.Out[a.I], a.Off, a.CType, false)
	case call.Scratch:
		return pointer(a.CType, s.Scratch+a.Off, false)
	case *call.Image:
		return e.image(a)
	case *call.Blob:
		return e.blobRef(a, a.NoCast)
	case *call.Struct:
		if a.Mutable || usesArena(a) {
			init := e.init(a.Fields, s, v) // may declare locals of its own
			name := fmt.Sprintf("p%d", len(v.Locals))
			kind := "const "
			if a.Mutable {
				kind = ""
			}
			v.Locals = append(v.Locals, fmt.Sprintf("%s%s %s = %s;", kind, a.Type, name, init))
			return "&" + name
		}
		init := e.init(a.Fields, s, v)
		key := a.Type + init
		name := e.byInit[key]
		if name == "" {
			name = fmt.Sprintf("%s_p%d", e.prefix, len(e.structs))
			e.byInit[key] = name
			e.structs = append(e.structs, structView{a.Type, name, init})
		}
		return "&" + name
	case *call.Array:
		var f []call.Field
		for _, x := range a.Elems {
			f = append(f, call.Field{Value: x})
		}
		init := e.init(f, s, v)
		if usesArena(a) {
			name := fmt.Sprintf("p%d", len(v.Locals))
			v.Locals = append(v.Locals, fmt.Sprintf("const %s %s[] = %s;", a.Type, name, init))
			return name
		}
		key := a.Type + "[]" + init
		name := e.byInit[key]
		if name == "" {
			name = fmt.Sprintf("%s_p%d", e.prefix, len(e.structs))
			e.byInit[key] = name
			e.structs = append(e.structs, structView{a.Type, name + "[]", init})
		}
		return name
	}
	panic(fmt.Sprintf("BUG: argument %T", a))
}

func (e *emitter) init(fields []call.Field, s *schedule.Step, v *stepView) string {
	if len(fields) == 0 { // C99 has no empty initialisers
		return "{0}"
	}
	var parts []string
	for _, f := range fields {
		var t string
		if n, ok := f.Value.(call.Nested); ok {
			t = e.init(n.Fields, s, v)
		} else {
			t = e.arg(f.Value, s, v)
		}
		if f.Name != "" {
			t = "." + f.Name + " = " + t
		}
		parts = append(parts, t)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// usesArena reports whether a struct holds a pointer that is no constant
// expression at file scope: into the arena, or to a variable of the step.
func usesArena(a call.Arg) bool {
	switch a := a.(type) {
	case call.In, call.Out, call.Scratch:
		return true
	case *call.Struct:
		if a.Mutable {
			return true
		}
		for _, f := range a.Fields {
			if usesArena(f.Value) {
				return true
			}
		}
	case call.Nested:
		for _, f := range a.Fields {
			if usesArena(f.Value) {
				return true
			}
		}
	case *call.Array:
		for _, x := range a.Elems {
			if usesArena(x) {
				return true
			}
		}
	}
	return false
}

func (e *emitter) place(x *ir.Value, off int, ctype string, isConst bool) string {
	o, ok := e.prog.Offset(x)
	if !ok {
		panic("BUG: no place for " + x.String())
	}
	return pointer(ctype, o+off, isConst)
}

// pointer is the address of a place in the arena as the callee wants it. Casts
// to other types than bytes go through void *: the arena and all offsets are
// aligned, which -Wcast-align cannot know.
func pointer(ctype string, off int, isConst bool) string {
	if ctype == "uint8_t" || ctype == "void" {
		return fmt.Sprintf("a + %d", off)
	}
	if isConst {
		return fmt.Sprintf("(const %s *)(const void *)(a + %d)", ctype, off)
	}
	return fmt.Sprintf("(%s *)(void *)(a + %d)", ctype, off)
}

// blobRef names a constant array. Library structs hold pointers to non-const
// data that they only read; those get a cast.
func (e *emitter) blobRef(b *call.Blob, isConst bool) string {
	x := e.blobs.add(b)
	ref := x.Name
	if !isConst {
		ref = "(" + x.CType + " *)" + ref
	}
	return ref
}

// PhysBytes is the little-endian image of a constant in the memory order of t.
func PhysBytes(d *tensor.Dense, t ir.Type) []byte {
	if t.Order != nil && !t.SameMemory(nil) {
		d = d.Transpose(t.Order)
	}
	return d.Bytes()
}

func sortedKeys(m map[string]bool) []string {
	var k []string
	for s := range m {
		k = append(k, s)
	}
	sort.Strings(k)
	return k
}

// image names a file that is linked as it is.
func (e *emitter) image(a *call.Image) string {
	k := len(e.images)
	v := imageView{Name: fmt.Sprintf("%s_image_%d", e.prefix, k), File: fmt.Sprintf("%s_%d.%s", e.prefix, k, a.Ext), data: a.Data}
	v.Fallback = len(a.Data) <= fallbackLimit
	e.images = append(e.images, v)
	return v.Name
}
