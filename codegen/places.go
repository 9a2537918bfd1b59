// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/ir/types"
	"github.com/nncc/nncc/runtime_c/ctext"
)

// base is memory that the steps have a pointer to, and the places in it. To add one:
// a row in bases, its condition in baseOf, the parameter in the templates and in
// modelView.StepArgs, and a mark like stepView.Still where a step may do without.
type base struct {
	Pointer string // the variable in the steps
	Tag     string // of its names, behind the prefix
	Doc     string
	Places  []placeView
}

// bases are all of them, in the order of the parameters.
func bases(arena arenaForm) []*base {
	list := arena.bases()
	if len(list) == 0 {
		list = []*base{{Pointer: "a", Tag: "AT", Doc: "The arena: where values and the scratch memory of steps lie, " +
			"in bytes from its beginning. Those that are not needed at the same time share bytes."}}
	}
	return append(list,
		&base{Pointer: "s", Tag: "STATE_AT", Doc: "The state: where values lie that are kept from run to run, in " +
			"bytes from its beginning."})
}

// baseOf is the memory in which a buffer lies, and how many bytes behind its beginning.
func (e *emitter) baseOf(buffer int) (*base, int) {
	b := &e.prog.Buffers[buffer]
	if b.Kept {
		return e.bases[len(e.bases)-1], b.Offset
	}
	k, offset := e.prog.Part(buffer)
	return e.bases[k], offset
}

// Bases are the memories that the model uses.
func (v *modelView) Bases() []*base {
	return slices.DeleteFunc(slices.Clone(v.bases), func(b *base) bool { return len(b.Places) == 0 })
}

// placeView is a named offset.
type placeView struct {
	Name    string
	Offset  int
	Comment []string
}

// place is a place as an expression: the pointer to its memory and its name there.
func (e *emitter) place(buffer, off int) string {
	m, at := e.baseOf(buffer)
	if e.digest {
		return fmt.Sprintf("%s + %d", m.Pointer, at+off)
	}
	return m.Pointer + " + " + e.offset(buffer, off)
}

// offset is a place as an expression of its name.
func (e *emitter) offset(buffer, off int) string {
	name, ok := e.named[buffer]
	if !ok {
		b := &e.prog.Buffers[buffer]
		m, at := e.baseOf(buffer)
		name = e.locals.name(strings.ToUpper(e.prefix + "_" + m.Tag + "_" + tail(b.Name)))
		e.named[buffer] = name
		m.Places = append(m.Places, placeView{name, at, ctext.Wrap(e.placeComment(buffer), 110)})
	}
	if off != 0 {
		return fmt.Sprintf("%s + %d", name, off)
	}
	return name
}

// placeComment says what lies in a place, and when.
func (e *emitter) placeComment(buffer int) string {
	b := &e.prog.Buffers[buffer]
	if b.IsScratch() {
		return longComment(fmt.Sprintf("%s: %d bytes, %s", b.Name, b.Bytes, during(b.First, b.Last)))
	}
	s := b.Name + ": " + shortType(b.Type)
	if e.bound == nil { // scales are those of the file that is bound
		s += quantText(b.Type)
	}
	s += fmt.Sprintf("; %d bytes", b.Type.Bytes())
	if b.Pitch != 0 {
		s += fmt.Sprintf(" in rows of %d every %d", b.Row, b.Pitch)
	}
	if b.AliasOf >= 0 {
		s += " in " + e.prog.Buffers[b.AliasOf].Name
	}
	if e.first == nil {
		e.first, e.last = e.prog.Live()
	}
	is := func(io program.IO) bool { return io.Buffer == buffer }
	in, out := slices.ContainsFunc(e.prog.Inputs, is), slices.ContainsFunc(e.prog.Outputs, is)
	switch {
	case in && out:
		s += ", input and output"
	case in:
		s += fmt.Sprintf(", input, last read by step %d", e.last[buffer])
	case out:
		s += fmt.Sprintf(", output, written by step %d", e.first[buffer])
	default:
		s += ", " + during(e.first[buffer], e.last[buffer])
	}
	return longComment(s)
}

// during is the steps from the first one to the last.
func during(first, last int) string {
	if first == last {
		return fmt.Sprintf("step %d", first)
	}
	return fmt.Sprintf("steps %d to %d", first, last)
}

// quantText is the quantisation of a type, as a comment says it.
func quantText(t types.Type) string {
	switch q := t.Quant; {
	case q == nil:
		return ""
	case q.Axis >= 0:
		return ", a scale for each index of dimension " + strconv.Itoa(q.Axis)
	default:
		return fmt.Sprintf(", scale %s, zero point %d", strings.TrimSuffix(FloatLit(q.Scale[0]), "f"), q.Zero[0])
	}
}

// maxTail bounds what a name in C takes of a name in the model: with the longest prefix
// twice in a line it still fits.
const maxTail = 36

// tail is a name as the end of an identifier: the end of it where it is long, since
// names are paths.
func tail(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool {
		return r >= 128 || !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	})
	n := -1
	from := len(words)
	for from > 0 && n+1+len(words[from-1]) <= maxTail {
		from--
		n += 1 + len(words[from])
	}
	switch {
	case from < len(words):
		return strings.Join(words[from:], "_")
	case len(words) > 0:
		last := words[len(words)-1]
		return last[len(last)-maxTail:]
	}
	return "value"
}

// localNames are what only the source of one model has. They give way to the names of
// inputs and outputs, which users see, and are the same whenever the model is.
type localNames struct {
	io   *ioNaming
	next map[string]int // the first number behind a name that may be free
}

// name is a free name for ident.
func (n *localNames) name(ident string) string {
	for {
		n.next[ident]++
		s := ident
		if k := n.next[ident]; k > 1 {
			s += "_" + strconv.Itoa(k)
		}
		if !n.io.taken[s] && !n.io.own(s) && (s == ident || n.next[s] == 0) {
			n.next[s] = max(n.next[s], 1)
			return s
		}
	}
}

// accessorView is a function that gives a place as elements of a type.
type accessorView struct {
	Name, CType string
	Const       bool // of memory that is not written
}

// shortTypes are types of elements as names have them.
var shortTypes = map[string]string{"int8_t": "i8", "uint8_t": "u8", "int16_t": "i16", "uint16_t": "u16",
	"int32_t": "i32", "uint32_t": "u32", "int64_t": "i64", "uint64_t": "u64", "float": "f32", "double": "f64"}

// typed is the place at as elements of a type: the one cast to it.
func (e *emitter) typed(at, ctype string, isConst bool) string {
	if ctype == "uint8_t" || ctype == "void" {
		return at
	}
	if e.digest {
		return ctype + " at " + at
	}
	x := accessorView{CType: ctype, Const: isConst}
	i := slices.IndexFunc(e.accessors, func(y accessorView) bool { return y.CType == ctype && y.Const == isConst })
	if i < 0 {
		short, ok := shortTypes[ctype]
		if !ok {
			short = tail(ctype)
		}
		if isConst {
			short = "const_" + short
		}
		x.Name = e.locals.name(e.prefix + "_" + short)
		e.accessors = append(e.accessors, x)
		i = len(e.accessors) - 1
	}
	return e.accessors[i].Name + "(" + at + ")"
}

// ioPointer is the place of an input or output as an expression on the parameter.
func (e *emitter) ioPointer(x IOInfo, isConst bool) string {
	base, _ := e.baseOf(x.Buffer)
	from := "(uint8_t *)arena"
	switch {
	case e.arena.Split():
		from = "arenas" + strings.TrimPrefix(base.Pointer, "a")
	case isConst:
		from = "(const uint8_t *)arena"
	}
	return e.typed(from+" + "+e.offset(x.Buffer, 0), x.CType, isConst)
}
