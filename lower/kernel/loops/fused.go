// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
)

// Fused is the row of several element-wise operators in one function: one nest
// of loops over the output, every input element read once, all values in
// between in variables. Each operator computes by the expression of the kernel
// that takes it alone (nncc_element_f32.h, nncc_element_int.h, or the rows of
// this package), with all its roundings, so the bits are the same.
var Fused = &kernel.Kernel{
	Name: "loops_fused", Library: "nncc", Doc: "several element-wise operators in one loop, without tensors in between",
	Ops: []*ir.OpDef{op.Fused},
	Was: "LOOPS-FUSED", Rules: kernel.Rules{
		cond.New("FUSED-FORMS", "every part has the shape of the result and a form for one element",
			func(n *kernel.Node) string {
				if _, err := writeFused(n.Node); err != nil {
					return err.Error()
				}
				return ""
			}),
		cond.Elements,
	},
	Layout: func(n *kernel.Node) kernel.Layout {
		if _, rank := space(n.Node); rank != n.Out[0].Type.Rank() {
			return kernel.Layout{Kind: kernel.Natural}
		}
		return kernel.Layout{Kind: kernel.Same}
	},
	Lower: func(n *kernel.Node) *call.Lowered {
		return kernel.Known(writeFused(n.Node)).lowered("fused")
	},
}

// lowered makes the call; hint names what the function does.
func (w *fuser) lowered(hint string) *call.Lowered {
	l := w.f.done(hint)
	l.Variant = kernel.LoopVariant
	c := l.Calls[0].Code
	c.Headers = headers(c)
	return l
}

// headers are those that the function's text needs.
func headers(c *call.Code) []string {
	var h []string
	text := strings.Join(c.Params, " ") + " " + c.Body
	words := map[string]bool{}
	loops := false
	for _, w := range word.FindAllString(text, -1) {
		words[w] = true
		loops = loops || w == "double" || w == "isnan" || strings.HasPrefix(w, "nncc_") && !inHeader(w) &&
			w != "nncc_status"
	}
	if words["float"] {
		h = append(h, "nncc_element_f32.h")
	}
	for w := range words {
		if inHeader(w) && !strings.HasSuffix(w, "_f32") {
			h = append(h, "nncc_element_int.h")
			break
		}
	}
	if loops || len(h) == 0 {
		h = append(h, "nncc_loops.h")
	}
	return h
}

// space is the reduction at the end of a fused body, nil when there is none,
// and the rank of what the loops run over.
func space(n *ir.Node) (reduction *ir.Node, rank int) {
	last := n.Body[0].Nodes[len(n.Body[0].Nodes)-1]
	if last.Op.Pattern == ir.Reduce {
		return last, last.In[0].Type.Rank()
	}
	return nil, n.Out[0].Type.Rank()
}

// fuser writes the function of a Fused node.
type fuser struct {
	f    *fn
	out  ir.Type // what the loops run over: the result, or what is reduced
	vars map[*ir.Value]variable
	ins  []operand
	// params are the integers by which quantised operators differ between
	// nodes of one form: the function reads them from an array, so that such
	// nodes share it.
	params []int32
	tables int
	text   strings.Builder // of the innermost loop
}

// variable is a C expression of an element of type t, and of a 16-bit float perhaps that of its bits.
type variable struct {
	name string
	t    ir.Type
	bits string
}

// operand is an input of the node or a constant of its body: strides are along
// the dimensions of the output in memory order.
type operand struct {
	v       *ir.Value
	in      int // the input's number, -1 for a constant
	ref     ref
	strides []int
	whole   bool // lies as the output does
}

func newFuser(n *ir.Node) *fuser {
	return &fuser{f: newFn(n), out: n.Out[0].Type, vars: map[*ir.Value]variable{}}
}

// writeFused writes the function, or says why it cannot.
func writeFused(n *ir.Node) (_ *fuser, err error) {
	defer fail.Catch(&err)
	fail.If(len(n.Body) != 1 || len(n.Out) != 1 || len(n.Body[0].Nodes) == 0, "the node has %d outputs, want one",
		len(n.Out))
	b := n.Body[0]
	w := newFuser(n)
	last, rank := space(n)
	if last != nil {
		w.out = last.In[0].Type.WithOrder(nil)
		if rank == n.Out[0].Type.Rank() {
			w.out = w.out.WithOrder(n.Out[0].Type.Order)
		}
		of(last, reducible)
	}
	fail.If(w.out.Elems() == 0 || n.Out[0].Type.Elems() == 0, "the result is empty")
	for i, v := range b.In {
		w.input(v, n.In[i].Type, i, w.f.in(i))
	}
	for _, m := range b.Nodes {
		if m == last {
			w.reduce(m, w.operand(m.In[0]))
			return w, nil
		}
		w.element(m)
	}
	w.loops(w.vars[b.Out[0]])
	w.share()
	return w, nil
}

// element writes a node whose result has the shape of the whole.
func (w *fuser) element(n *ir.Node) {
	t := n.Out[0].Type
	fail.If(len(n.Out) != 1 || t.Elems() != w.out.Elems() || t.Rank() != w.out.Rank(),
		"%s (%s) has a result of shape %v, want that of the whole, %v", nodeName(n), n.Op.Name, t.Shape, w.out.Shape)
	of(n, w.node)
}

// of has an error of f tell the node.
func of(n *ir.Node, f func(n *ir.Node)) {
	fail.Under(fmt.Sprintf("%s (%s)", nodeName(n), n.Op.Name), func() { f(n) })
}

func nodeName(n *ir.Node) string {
	if len(n.Origin) > 0 {
		return strings.Join(n.Origin, "+")
	}
	return n.Name
}

// input declares an operand that is read once per element, or less often: input number in, or an array of constants.
func (w *fuser) input(v *ir.Value, t ir.Type, in int, r ref) {
	rank := w.out.Rank()
	fail.If(t.Rank() > rank, "operand %s has %d dimensions, the result %d", v.Name, t.Rank(), rank)
	fail.If(t.Elems() == 0, "operand %s is empty", v.Name)
	order := w.out.OrderOrIdentity()
	shape := kernel.PadLeft(t.Shape, rank)
	o := operand{v: v, in: in, ref: r}
	padded := t.WithShape(shape)
	if t.Rank() == rank {
		padded.Order = t.Order
	}
	o.strides = kernel.Permuted(kernel.Strides(padded), order)
	o.whole = t.Elems() == w.out.Elems() && padded.SameMemory(w.out.Order)
	for k, d := range kernel.Permuted(shape, order) {
		switch {
		case d == 1:
			o.strides[k] = 0
		case d != w.out.Phys()[k]:
			fail.Errorf("operand %s of shape %v does not broadcast to %v", v.Name, t.Shape, w.out.Shape)
		}
	}
	w.vars[v] = variable{name: fmt.Sprintf("v%d", len(w.vars)), t: t}
	w.ins = append(w.ins, o)
}

// operand is the variable of an operand of a body node. A constant with one
// value is a number in the text, another one an array that is read like an input.
func (w *fuser) operand(v *ir.Value) variable {
	if x, ok := w.vars[v]; ok {
		return x
	}
	fail.If(v.Const == nil, "operand %s is not computed here", v)
	if u, ok := v.Const.Uniform(); ok && v.Type.Elems() > 0 {
		x := variable{name: literal(u), t: v.Type}
		w.vars[v] = x
		return x
	}
	// arrays lie in memory as the output does
	rank := w.out.Rank()
	fail.If(v.Type.Rank() > rank, "operand %s has %d dimensions, the result %d", v, v.Type.Rank(), rank)
	shape := kernel.PadLeft(v.Type.Shape, rank)
	d := kernel.Arrange(v.Const, shape, w.out.OrderOrIdentity())
	t := v.Type.WithShape(shape)
	t.Order = w.out.Order
	w.input(v, t, -1, w.f.table(fmt.Sprintf("c%d", len(w.vars)), d))
	return w.vars[v]
}

// literal is a number of one value in C.
func literal(d *tensor.Dense) string {
	switch d.DType {
	case tensor.F32:
		return num32(float32(d.Float(0)))
	case tensor.F64, tensor.F16, tensor.BF16:
		return num(d.Float(0))
	case tensor.U64:
		return fmt.Sprintf("UINT64_C(%d)", uint64(d.Int(0)))
	}
	return integer(d.Int(0))
}

// num32 is a float literal with exactly this value.
func num32(v float32) string {
	s := num(float64(v))
	if strings.Contains(s, "(double)") {
		return strings.Replace(s, "(double)", "(float)", 1)
	}
	s = call.Decimal(math.Abs(float64(v)), 32)
	if math.Signbit(float64(v)) {
		return "(-" + s + "f)"
	}
	return s + "f"
}

// varType is the C type of a variable that holds an element: float32 in
// itself, other floating-point numbers and wide integers in their class's
// type, the rest in 32 bits.
func varType(d tensor.DType) string {
	switch {
	case d == tensor.F32:
		return "float"
	case d.IsFloat():
		return "double"
	case d == tensor.I64 || d == tensor.U32:
		return "int64_t"
	case d == tensor.U64:
		return "uint64_t"
	}
	return "int32_t"
}

// fetched is the element x of memory as its variable has it.
func fetched(d tensor.DType, x string) string {
	switch d {
	case tensor.F16:
		return "(double)nncc_f16_to_f32(" + x + ")"
	case tensor.BF16:
		return "(double)nncc_bf16_to_f32(" + x + ")"
	}
	return x
}

// stored is the element as it goes to memory, from its variable.
func stored(d tensor.DType, x variable) string {
	v := x.name
	if x.bits != "" {
		return x.bits
	}
	switch d {
	case tensor.F32, tensor.F64, tensor.I64, tensor.U64, tensor.I32:
		return v
	case tensor.F16, tensor.BF16:
		return narrow(d, v)
	}
	return "(" + call.CType(d) + ")" + v
}

// set declares the variable of a node's result.
func (w *fuser) set(n *ir.Node, format string, a ...any) {
	t := n.Out[0].Type
	x := variable{name: fmt.Sprintf("v%d", len(w.vars)), t: t}
	fmt.Fprintf(&w.text, "const %s %s = %s;\n", varType(t.DType), x.name, fmt.Sprintf(format, a...))
	w.vars[n.Out[0]] = x
}

// param is an integer that the function reads from its array of parameters.
func (w *fuser) param(v int32) string {
	w.params = append(w.params, v)
	return fmt.Sprintf("p%d", len(w.params)-1)
}

// loops writes the nest: operands are read in the outermost loop in which they
// change, so that a value per channel is read once a channel.
func (w *fuser) loops(result variable) {
	f := w.f
	phys := w.out.Phys()
	dims, st := kernel.MergeDims(phys, append(w.strides(), tensor.Strides(phys))...)
	w.numbers()
	y := f.out(0)
	w.read(-1, nil, st)
	if len(dims) > 1 {
		f.line("int32_t i = 0;")
	}
	var v []string
	for d := range dims {
		i := fmt.Sprintf("i%d", d)
		if len(dims) == 1 {
			i = "i"
		}
		v = w.dimension(v, i, dims[d])
		w.read(d, v, st)
	}
	w.body()
	f.line("%s[i] = %s;", y.name, stored(w.out.DType, result))
	if len(dims) > 1 {
		f.line("i++;")
	}
	f.closeTo(1)
}

// strides are those of all operands.
func (w *fuser) strides() [][]int {
	st := make([][]int, 0, len(w.ins)+1)
	for _, o := range w.ins {
		st = append(st, o.strides)
	}
	return st
}

// numbers declares the parameters that come in an array.
func (w *fuser) numbers() {
	if len(w.params) == 0 {
		return
	}
	k := w.f.table("p", tensor.Of([]int{len(w.params)}, w.params))
	for i := range w.params {
		w.f.line("const int32_t p%d = %s[%d];", i, k.name, i)
	}
}

// dimension opens a loop whose size is a parameter.
func (w *fuser) dimension(v []string, name string, size int) []string {
	n := fmt.Sprintf("n%d", len(v))
	w.f.params = append(w.f.params, "int32_t "+n)
	w.f.args = append(w.f.args, call.I32(size))
	w.f.loop(name, n)
	return append(v, name)
}

// read loads the operands that change in loop number level last (-1: in none).
// st are the strides of the operands and, last, of what i counts.
func (w *fuser) read(level int, v []string, st [][]int) {
	for i, o := range w.ins {
		last := -1
		for d, s := range st[i] {
			if s != 0 {
				last = d
			}
		}
		if last != level {
			continue
		}
		index := "i"
		if len(st) == len(w.ins) || !slices.Equal(st[i], st[len(st)-1]) {
			index = at(v, st[i][:len(v)])
		}
		w.f.line("const %s %s = %s;", varType(o.ref.t), w.vars[o.v].name,
			fetched(o.ref.t, o.ref.name+"["+index+"]"))
	}
}

// body writes the statements of the innermost loop.
func (w *fuser) body() {
	if w.text.Len() == 0 {
		return
	}
	for _, line := range strings.Split(strings.TrimSuffix(w.text.String(), "\n"), "\n") {
		w.f.line("%s", line)
	}
}

// share allows the output to use the storage of inputs.
func (w *fuser) share() {
	in := make([]kernel.Operand, len(w.f.n.In))
	for _, o := range w.ins {
		if o.in >= 0 {
			in[o.in].Whole = o.whole
		}
	}
	w.f.low.Overlap = kernel.MayOverwrite(w.f.n, in...)
}
