// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
)

// elementRows are the functions of one float32 number, written of the C form in the
// operator's definition: one function an operator, sizes and attributes are
// arguments. An operator has a row of its own because its name is in the codes.
func elementRows() []*kernel.Kernel {
	ops := kernel.Where(func(d *ir.OpDef) bool { return d.C != nil && d.Scalar != nil && d.Quant == ir.QFloat })
	rows := make([]*kernel.Kernel, len(ops))
	for i, d := range ops {
		was := "NNCC-" + strings.ToUpper(strings.ReplaceAll(kernel.Snake(d.Name), "_", "-")) + "-F32"
		rows[i] = row("nncc_element_f32", was, "float32, by the operator's form in C: "+d.Doc, same,
			kernel.Rules{cond.Float32(0), cond.NotEmpty}, lowerElement, d)
	}
	return rows
}

func lowerElement(l *lowering, n *kernel.Node) {
	l.element(n.Node, n.Out[0].Type.Elems(), l.in(0), l.out(0))
	l.inPlace(0)
}

// element adds a call that gives count elements of y, the function of n of those
// of x: the function of the operator is written once, attributes are arguments.
func (l *lowering) element(n *ir.Node, count int, x, y call.Arg) {
	form := kernel.Float32(n.Op.C(n))
	params := []string{"const float *x", "float *y", "int32_t count"}
	args := []call.Arg{x, y, call.I32(count)}
	for _, a := range kernel.AttrsOf(form) {
		params, args = append(params, "float "+a), append(args, f32(n.Float(a)))
	}
	v := kernel.Written(form, func(a string) string { return a }, "v")
	l.low.Calls = append(l.low.Calls, call.Call{Args: args, Code: &call.Code{
		Hint: kernel.Snake(n.Op.Name), Params: params, Headers: []string{"nncc_element_f32.h"},
		Body: "    for (int32_t i = 0; i < count; i++) {\n        const float v = x[i];\n\n        y[i] = " + v +
			";\n    }\n",
	}})
}

// clip adds a call that limits x to output 0.
func (l *lowering) clip(lo, hi float32, x call.Arg) {
	p := params("nncc_clip_f32_params", call.FI("count", l.n.Out[0].Type.Elems()), call.F("lo", f32(lo)),
		call.F("hi", f32(hi)))
	l.call("nncc_clip_f32", p, x, l.out(0))
}

// clipRow limits to constant bounds.
var clipRow = row("nncc_clip_f32", "NNCC-CLIP-F32", "x limited to constant bounds", same,
	kernel.Rules{cond.Float32(0), cond.NotEmpty, cond.Constant(1, 2), orderedBounds},
	func(l *lowering, n *kernel.Node) {
		lo, hi := clipBounds(n.Node)
		l.clip(lo, hi, l.in(0))
		l.inPlace(0)
	}, op.Clip)

// clipBounds are Clip's constant bounds, infinite where absent.
func clipBounds(n *ir.Node) (lo, hi float32) {
	l, h, _ := op.ClipBounds(n)
	return float32(l), float32(h)
}

// orderedBounds: nncc_clip_f32 compares with numbers, the lower one first.
var orderedBounds = cond.New("BOUNDS", "bounds are constant numbers", func(n *kernel.Node) string {
	if _, _, ok := op.ClipBounds(n.Node); !ok {
		return "a bound is computed at run time or is not a number, want constant numbers"
	}
	return ""
})

var unaryKernels = append(elementRows(), clipRow, notRow, isNaNRow, clipRuntimeRow)

// notRow is x xor true.
var notRow = row("nncc_xor_bool", "NNCC-NOT", "logical not", same, kernel.Rules{plain(tensor.Bool), cond.NotEmpty},
	func(l *lowering, n *kernel.Node) {
		l.invert(l.broadcast(0, n.Out[0].Type))
		l.inPlace(0)
	}, op.Not)

// invert is output 0 = not x, for bool x.
func (l *lowering) invert(x operand) {
	out := l.n.Out[0].Type
	one := operand{Arg: blob("const", tensor.Of([]int{1}, []bool{true})), Strides: make([]int, out.Rank())}
	l.call("nncc_xor_bool", bcastParams(out, x, one), x.Arg, one.Arg, l.out(0))
}

// isNaNRow: what differs from itself.
var isNaNRow = row("nncc_equal_f32", "NNCC-ISNAN", "whether x differs from itself", same,
	kernel.Rules{plain(tensor.F32), cond.NotEmpty}, func(l *lowering, n *kernel.Node) {
		x := l.broadcast(0, n.Out[0].Type)
		l.call("nncc_equal_f32", bcastParams(n.Out[0].Type, x, x), x.Arg, x.Arg, l.out(0))
		l.invert(l.outputOperand())
	}, op.IsNaN)

// clipRuntimeRow: bounds that are computed at run time are operands of maximum
// and minimum.
var clipRuntimeRow = row("nncc_max_f32", "NNCC-CLIP-RUNTIME-F32", "x limited to bounds computed at run time", same,
	kernel.Rules{cond.Float32(), cond.NotEmpty, cond.Rank}, func(l *lowering, n *kernel.Node) {
		out := n.Out[0].Type
		x := l.broadcast(0, out)
		for i, fn := range []string{1: "nncc_max_f32", 2: "nncc_min_f32"} {
			if i == 0 || n.Input(i) == nil {
				continue
			}
			b := operand{Arg: l.in(i), Strides: make([]int, out.Rank())}
			l.call(fn, bcastParams(out, x, b), x.Arg, b.Arg, l.out(0))
			x = l.outputOperand()
		}
	}, op.Clip)
