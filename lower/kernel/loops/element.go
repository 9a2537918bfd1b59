// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
)

// Elements is the row of one element-wise operator on numbers of any type that are not quantised: Fused with a body of
// one node.
var Elements = &kernel.Kernel{
	Name: "loops_element", Library: "nncc", Doc: "functions of single elements with broadcasting, any element type",
	Ops: kernel.Where(func(d *ir.OpDef) bool {
		return d.C != nil || d.Pair != nil || slices.Contains(elementOps, d)
	}),
	Rules: kernel.Rules{cond.NotQuantised, cond.Elements, cond.New("FORM", "the form is supported",
		func(n *kernel.Node) string {
			if n.Idle() {
				return ""
			}
			if _, err := writeElement(n.Node); err != nil {
				return err.Error()
			}
			return ""
		})},
	Layout: func(n *kernel.Node) kernel.Layout {
		if n.Idle() || n.Op == op.CastLike && n.In[1].Const == nil { // the other input has any shape
			return kernel.Layout{Kind: kernel.Natural}
		}
		return kernel.Layout{Kind: kernel.Same}
	},
	Lower: func(n *kernel.Node) *call.Lowered {
		if n.Idle() {
			return &call.Lowered{Kernel: "loops_element", Library: "nncc", Unused: ir.Identity(len(n.In))}
		}
		l := kernel.Known(writeElement(n.Node)).lowered(ir.Underscored(n.Op.Name))
		l.Kernel = "loops_element"
		if x := n.In[0].Type.DType; x == tensor.F32 && len(n.In) == 1 && n.Op.Scalar != nil {
			l.Kernel, l.Variant = "nncc_element_f32", ""
		}
		return l
	},
}

// elementOps are those without a C form in their definition.
var elementOps = []*ir.OpDef{op.Cast, op.CastLike, op.Clip, op.Identity, op.Within, op.Where}

// writeElement writes the function of a node by itself, or says why it cannot.
func writeElement(n *ir.Node) (_ *fuser, err error) {
	defer fail.Catch(&err)
	w := newFuser(n)
	for i, v := range n.In {
		if v == nil || v.Const != nil || w.vars[v].name != "" || i > 0 && n.Op == op.CastLike {
			continue
		}
		w.input(v, v.Type, i, w.f.in(i))
	}
	w.element(n)
	w.loops(w.vars[n.Out[0]])
	w.share()
	return w, nil
}

// as is a variable in the type of a class.
func (w *fuser) as(c class, v variable) string {
	if c == floating && v.t.DType == tensor.F32 {
		return "nncc_el_widen_f32(" + v.name + ")"
	}
	return "(" + c.wide() + ")" + v.name
}

// numbersOf are the operands of a node; of what is absent or not read the name is empty.
func (w *fuser) numbersOf(n *ir.Node) []variable {
	return lists.Make(len(n.In), func(i int) (x variable) {
		if v := n.In[i]; v != nil && (i == 0 || n.Op != op.CastLike) {
			x = w.operand(v)
		}
		return x
	})
}

// let is the declaration of a constant with the value of v in a class.
func (w *fuser) let(name string, c class, v variable) string {
	return fmt.Sprintf("const %s %s = %s;", c.wide(), name, w.as(c, v))
}

// plain writes an operator on plain numbers of any type: in double, int64_t or uint64_t, rounded or wrapped once.
func (w *fuser) plain(n *ir.Node) {
	x := w.numbersOf(n)
	d := n.In[0].Type.DType
	switch n.Op {
	case op.Identity, op.Within:
		w.set(n, "%s", x[0].name)
	case op.Cast, op.CastLike:
		w.cast(n, x[0])
	case op.Clip:
		w.block(n, "a", w.limits(classOf(d), x)...)
	case op.Pow:
		w.power(n, x)
	default:
		switch {
		case n.Op.C != nil && (exact(n, d) != "" || n.Op.C(n).F64 != ""):
			w.block(n, unaryExpr(n, d), w.let("a", argument(n, d), x[0]))
		case n.Op.Pair != nil && pairExpr(n, d) != "" && (w.f.n == n || !op.Divides(n)): // which may end with a status
			w.folded(n, x)
		default:
			fail.Errorf("no form for single elements of %s", d.ONNXName())
		}
	}
}

// cast writes a Cast. From 32 bits to float32 one rounding does, without the double of the general way.
func (w *fuser) cast(n *ir.Node, x variable) {
	d, y := n.In[0].Type.DType, n.Out[0].Type.DType
	if y == tensor.F32 && !d.IsFloat() && d.Size() <= 4 {
		w.set(n, "(float)%s", x.name)
		return
	}
	w.block(n, fromClass(d, y, "a"), w.let("a", classOf(d), x))
}

// power writes Pow: the exponent has a type of its own.
func (w *fuser) power(n *ir.Node, x []variable) {
	a, b, e := floating, floating, fromReal(n.Out[0].Type.DType, "pow(a, b)")
	if d, k := x[0].t.DType, x[1].t.DType; !d.IsFloat() && !k.IsFloat() {
		a, b, e = classOf(d), classOf(k), "("+classOf(d).wide()+")nncc_pow_i64((int64_t)a, (int64_t)b)"
	}
	w.block(n, e, w.let("a", a, x[0]), w.let("b", b, x[1]))
}

// limits are the statements of a Clip that give a, between bounds that are constant or computed.
func (w *fuser) limits(c class, x []variable) []string {
	lines := []string{fmt.Sprintf("%s a = %s;", c.wide(), w.as(c, x[0]))}
	for i, b := range x[1:] {
		if b.name == "" {
			continue
		}
		v := w.as(c, b)
		form := fmt.Sprintf("a %s %s ? %s : a", []string{"<", ">"}[i], v, v)
		if c == floating {
			form = fmt.Sprintf("nncc_%s_f64(a, %s)", []string{"max", "min"}[i], v)
		}
		lines = append(lines, "a = "+form+";")
	}
	return lines
}

// folded writes a function of two elements on any number of operands: the first two are combined, the result with the
// third, and so on; every step is rounded to the element type, as the interpreter does it.
func (w *fuser) folded(n *ir.Node, x []variable) {
	d := n.In[0].Type.DType
	c, form := classOf(d), pairExpr(n, d)
	whole := len(x) == 2 && n.Op != op.Mean && !op.HasAct(n)
	lines := []string{fmt.Sprintf("%s a = %s;", c.wide(), w.as(c, x[0]))}
	for _, b := range x[1:] {
		step := []string{fmt.Sprintf("const %s b = %s;", c.wide(), w.as(c, b))}
		if op.Divides(n) {
			w.f.fails = true
			step = append(step, "if (b == 0) {", "    return NNCC_ERR_DIVIDE;", "}")
		}
		if whole {
			lines[0] = "const " + lines[0]
			lines = append(lines, step...)
			break
		}
		lines = append(lines, "{")
		for _, s := range append(step, "a = "+rounded(d, form)+";") {
			lines = append(lines, "    "+s)
		}
		lines = append(lines, "}")
	}
	switch {
	case whole:
		w.block(n, form, lines...)
	case n.Op == op.Mean && len(x) > 1:
		w.block(n, bounded(n, d, fmt.Sprintf("a / %d.0", len(x))), lines...)
	default:
		w.block(n, bounded(n, d, "a"), lines...)
	}
}

// block sets a variable to an expression in a block of its own, behind the statements that it needs: of 16-bit floats,
// one of the bits.
func (w *fuser) block(n *ir.Node, e string, lines ...string) {
	t := n.Out[0].Type
	x := variable{name: fmt.Sprintf("v%d", len(w.vars)), t: t}
	result, ctyp := x.name, varType(t.DType)
	switch y := t.DType; {
	case y == tensor.F16 || y == tensor.BF16:
		x.bits = result
		x.name, ctyp, e = fetched(y, result), call.CType(y), narrow(y, e)
	case y == tensor.F32:
		e = "(float)(" + e + ")"
	case y == tensor.Bool && n.In[0].Type.DType == tensor.Bool: // 0 and 1 as they are
		e = "(int32_t)(" + e + ")"
	case y == tensor.F64 || y == tensor.I64 || y == tensor.U64:
		e = rounded(y, e)
	default:
		e = "(" + ctyp + ")" + narrow(y, e)
	}
	fmt.Fprintf(&w.text, "%s %s;\n{\n    %s\n", ctyp, result, strings.Join(lines, "\n    "))
	fmt.Fprintf(&w.text, "    %s = %s;\n}\n", result, e)
	w.vars[n.Out[0]] = x
}
