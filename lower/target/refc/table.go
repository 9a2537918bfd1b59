package refc

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/target"
)

// Operators on one 8-bit value become tables: the node itself is evaluated on
// all 256 inputs, so that emitted code and interpreter cannot differ.

// tableOps are element-wise operators; with several inputs, all but one must
// be constants that hold a single value.
var tableOps = []string{
	"Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Celu", "Clip", "Cos", "Cosh", "Elu", "Erf", "Exp", "Floor",
	"Gelu", "HardSigmoid", "HardSwish", "LeakyRelu", "Log", "Mish", "Neg", "Reciprocal", "Relu", "Round", "Selu", "Shrink", "Sigmoid",
	"Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Swish", "Tan", "Tanh", "ThresholdedRelu", "nncc.Requantize", "Not", "IsNaN", "IsInf",
	"BitwiseNot", "Cast",
	"Add", "Sub", "Mul", "Div", "Pow", "PRelu", "Min", "Max", "Sum", "Mean", "Mod", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual",
	"And", "Or", "Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor",
}

// named are operators by name, in the form "Name" or "domain.Name".
func named(names []string) []*ir.OpDef {
	var out []*ir.OpDef
	for _, s := range names {
		domain := ""
		if len(s) > 5 && s[:5] == "nncc." {
			domain, s = "nncc", s[5:]
		}
		d := op.Get(domain, s)
		if d == nil {
			panic("BUG: no operator " + s)
		}
		out = append(out, d)
	}
	return out
}

// byteType: an element type of one byte.
func byteType(d tensor.DType) bool { return d == tensor.I8 || d == tensor.U8 || d == tensor.Bool }

// runInput is the one input computed at run time.
func runInput(n *ir.Node) (int, string) {
	k := -1
	for i, v := range n.In {
		switch {
		case v == nil:
		case v.Const == nil && k >= 0:
			return 0, fmt.Sprintf("inputs %d and %d are both computed at run time, want one", k, i)
		case v.Const == nil:
			k = i
		}
	}
	if k < 0 {
		return 0, "every input is constant, want one computed at run time"
	}
	return k, ""
}

// uniform is the one value that all elements of a constant have.
func uniform(d *tensor.Dense) (*tensor.Dense, bool) {
	if d.Len() == 0 {
		return nil, false
	}
	b, s := d.Bytes(), d.DType.Size()
	for i := s; i < len(b); i++ {
		if b[i] != b[i-s] {
			return nil, false
		}
	}
	v, err := tensor.FromBytes(d.DType, []int{1}, b[:s])
	return v, err == nil
}

// table evaluates the node on all values of its one run-time input, in the
// order of their bit patterns; otherwise the reason why that is impossible.
func table(n *ir.Node) ([]byte, string) {
	k, why := runInput(n)
	if why != "" {
		return nil, why
	}
	x, y := n.In[k].Type, n.Out[0].Type
	switch {
	case !byteType(x.DType) || x.Quant.PerAxis():
		return nil, fmt.Sprintf("input %d is %s, want one byte an element and one scale", k, short(x))
	case !byteType(y.DType) || y.Quant.PerAxis():
		return nil, fmt.Sprintf("the output is %s, want one byte an element and one scale", short(y))
	}
	in := make([]*tensor.Dense, len(n.In))
	for i, v := range n.In {
		switch {
		case v == nil:
		case i == k:
			in[i] = allBytes(x.DType, 1)
		default:
			c, ok := uniform(v.Const)
			if !ok {
				return nil, fmt.Sprintf("constant %s holds different values, want one for all elements", v)
			}
			in[i] = c
		}
	}
	out, err := probe(n, in, []int{256})
	if err != nil {
		return nil, err.Error()
	}
	return out.Bytes(), ""
}

var tableRow = &target.Kernel{
	Name: "nncc_table256", Library: "nncc", Doc: "any function of one 8-bit tensor, by a table of 256 results", Ops: named(tableOps),
	Rules: rules("NNCC-TABLE", nonEmpty, oneOutput, cond{"a function of one 8-bit value", func(n *ir.Node) string {
		if _, why := table(n); why != "" {
			return why
		}
		if k, _ := runInput(n); n.In[k].Type.Elems() != n.Out[0].Type.Elems() {
			return fmt.Sprintf("input %d of shape %v is broadcast to %v, want the shape of the output", k, n.In[k].Type.Shape, n.Out[0].Type.Shape)
		}
		return ""
	}}), Layout: same,
	Lower: func(n *ir.Node, _ *target.Options) (*target.Lowered, error) {
		t, why := table(n)
		if why != "" {
			return nil, ir.Errf(n, "no-kernel", "%s", why)
		}
		k, _ := runInput(n)
		l := start(n, "nncc_table256")
		b := &target.Blob{Hint: "table", CType: "uint8_t", Data: t, NoCast: true}
		l.call("nncc_table256", params("nncc_count_params", target.FI("count", n.Out[0].Type.Elems())), bytesOf(l.in(k)), b, bytesOf(l.out(0)))
		l.inPlace(k)
		return l.done()
	},
}
