package reference

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
)

func unaryParams(count int, alpha, beta float32) *call.Struct {
	return params("nncc_unary_params", append(ints("count", count), call.F("alpha", f32(alpha)), call.F("beta", f32(beta)))...)
}

// unaryF32 is a row for a float32 operator of one input; ab gives the
// kernel's alpha and beta, nil: unused.
func unaryF32(fn, doc string, d *ir.OpDef, ab func(n *ir.Node) (a, b float32), conds ...cond) *kernel.Kernel {
	return &kernel.Kernel{
		Name: fn, Library: "nncc", Doc: doc, Ops: []*ir.OpDef{d},
		Rules:  rules("NNCC-"+upper(fn), append([]cond{float32s(0), nonEmpty}, conds...)...),
		Layout: same,
		Lower: func(n *ir.Node, _ *kernel.Options) (*call.Lowered, error) {
			l := start(n, fn)
			var a, b float32
			if ab != nil {
				a, b = ab(n)
			}
			l.call(fn, unaryParams(n.Out[0].Type.Elems(), a, b), l.in(0), l.out(0))
			l.inPlace(0)
			return l.done()
		},
	}
}

// upper is the rule code part of a function name: nncc_abs_f32 gives ABS-F32.
func upper(fn string) string {
	b := []byte(fn[len("nncc_"):])
	for i, c := range b {
		switch {
		case c == '_':
			b[i] = '-'
		case c >= 'a' && c <= 'z':
			b[i] = c - 'a' + 'A'
		}
	}
	return string(b)
}

func attr(name string) func(n *ir.Node) (a, b float32) {
	return func(n *ir.Node) (float32, float32) { return n.Float(name), 0 }
}

func attrs(alpha, beta string) func(n *ir.Node) (a, b float32) {
	return func(n *ir.Node) (float32, float32) { return n.Float(alpha), n.Float(beta) }
}

// clipBounds are Clip's constant bounds, infinite where absent.
func clipBounds(n *ir.Node) (lo, hi float32) {
	l, h, _ := op.ClipBounds(n)
	return float32(l), float32(h)
}

// orderedBounds: nncc_clip_f32 compares with numbers, the lower one first.
var orderedBounds = cond{"bounds are constant numbers", func(n *ir.Node) string {
	if _, _, ok := op.ClipBounds(n); !ok {
		return "a bound is computed at run time or is not a number, want constant numbers"
	}
	return ""
}}

// geluForm accepts one value of Gelu's attribute.
func geluForm(want string) cond {
	return cond{"approximate is " + want, func(n *ir.Node) string {
		if a := n.Str("approximate"); a != want {
			return fmt.Sprintf("approximate is %s, want %s", a, want)
		}
		return ""
	}}
}

func unaryKernels() []*kernel.Kernel {
	k := []*kernel.Kernel{
		unaryF32("nncc_leaky_relu_f32", "x, below 0 times alpha", op.LeakyRelu, attr("alpha")),
		unaryF32("nncc_clip_f32", "x limited to constant bounds", op.Clip, clipBounds, constant(1, 2), orderedBounds),
		unaryF32("nncc_thresholded_relu_f32", "x above alpha, else 0", op.ThresholdedRelu, attr("alpha")),
		unaryF32("nncc_shrink_f32", "x moved towards 0 by bias, 0 within lambd", op.Shrink, attrs("lambd", "bias")),
		unaryF32("nncc_elu_f32", "x, below 0 alpha*(exp(x)-1)", op.Elu, attr("alpha")),
		unaryF32("nncc_celu_f32", "x, below 0 alpha*(exp(x/alpha)-1)", op.Celu, attr("alpha")),
		unaryF32("nncc_selu_f32", "gamma times Elu", op.Selu, attrs("alpha", "gamma")),
		unaryF32("nncc_hard_sigmoid_f32", "alpha*x+beta within [0, 1]", op.HardSigmoid, attrs("alpha", "beta")),
		unaryF32("nncc_swish_f32", "x*sigmoid(alpha*x)", op.Swish, attr("alpha")),
		unaryF32("nncc_gelu_f32", "Gelu by erf", op.Gelu, nil, geluForm("none")),
		unaryF32("nncc_gelu_tanh_f32", "Gelu by tanh", op.Gelu, nil, geluForm("tanh")),
	}
	for _, u := range []struct {
		fn string
		op *ir.OpDef
	}{
		{"abs", op.Abs}, {"neg", op.Neg}, {"relu", op.Relu}, {"sigmoid", op.Sigmoid}, {"hard_swish", op.HardSwish}, {"mish", op.Mish},
		{"softplus", op.Softplus}, {"softsign", op.Softsign}, {"erf", op.Erf}, {"exp", op.Exp}, {"log", op.Log}, {"sqrt", op.Sqrt},
		{"reciprocal", op.Reciprocal}, {"floor", op.Floor}, {"ceil", op.Ceil}, {"round", op.Round}, {"sign", op.Sign},
		{"sin", op.Sin}, {"cos", op.Cos}, {"tan", op.Tan}, {"asin", op.Asin}, {"acos", op.Acos}, {"atan", op.Atan},
		{"sinh", op.Sinh}, {"cosh", op.Cosh}, {"tanh", op.Tanh}, {"asinh", op.Asinh}, {"acosh", op.Acosh}, {"atanh", op.Atanh},
	} {
		k = append(k, unaryF32("nncc_"+u.fn+"_f32", u.op.Doc, u.op, nil))
	}
	return append(k, notRow, isNaNRow, clipRuntimeRow)
}

// notRow is x xor true.
var notRow = &kernel.Kernel{
	Name: "nncc_xor_bool", Library: "nncc", Doc: "logical not", Ops: []*ir.OpDef{op.Not},
	Rules: rules("NNCC-NOT", plain(tensor.Bool), nonEmpty), Layout: same,
	Lower: func(n *ir.Node, _ *kernel.Options) (*call.Lowered, error) {
		l := start(n, "nncc_xor_bool")
		l.invert(l.broadcast(0, n.Out[0].Type))
		l.inPlace(0)
		return l.done()
	},
}

// invert is output 0 = not x, for bool x.
func (l *lowering) invert(x operand) {
	out := l.n.Out[0].Type
	one := operand{arg: blob("const", tensor.Of([]int{1}, []bool{true})), strides: make([]int, out.Rank())}
	l.call("nncc_xor_bool", bcastParams(out, x, one), x.arg, one.arg, l.out(0))
}

// isNaNRow: what differs from itself.
var isNaNRow = &kernel.Kernel{
	Name: "nncc_equal_f32", Library: "nncc", Doc: "whether x differs from itself", Ops: []*ir.OpDef{op.IsNaN},
	Rules: rules("NNCC-ISNAN", plain(tensor.F32), nonEmpty), Layout: same,
	Lower: func(n *ir.Node, _ *kernel.Options) (*call.Lowered, error) {
		l := start(n, "nncc_equal_f32")
		x := l.broadcast(0, n.Out[0].Type)
		l.call("nncc_equal_f32", bcastParams(n.Out[0].Type, x, x), x.arg, x.arg, l.out(0))
		l.invert(l.outputOperand())
		return l.done()
	},
}

// clipRuntimeRow: bounds that are computed at run time are operands of maximum
// and minimum.
var clipRuntimeRow = &kernel.Kernel{
	Name: "nncc_max_f32", Library: "nncc", Doc: "x limited to bounds computed at run time", Ops: []*ir.OpDef{op.Clip},
	Rules: rules("NNCC-CLIP-RUNTIME-F32", float32s(), nonEmpty, rankUpTo(maxDims)), Layout: same,
	Lower: func(n *ir.Node, _ *kernel.Options) (*call.Lowered, error) {
		l := start(n, "nncc_max_f32")
		out := n.Out[0].Type
		x := l.broadcast(0, out)
		for i, fn := range []string{1: "nncc_max_f32", 2: "nncc_min_f32"} {
			if i == 0 || n.Input(i) == nil {
				continue
			}
			b := operand{arg: l.in(i), strides: make([]int, out.Rank())}
			l.call(fn, bcastParams(out, x, b), x.arg, b.arg, l.out(0))
			x = l.outputOperand()
		}
		return l.done()
	},
}
