// SPDX-License-Identifier: Apache-2.0

package mla

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/accel"
	"github.com/nncc/nncc/lower/kernel"
)

// Rule is one condition under which the MLA computes a node.
type Rule = accel.Rule[Limits]

// opRule is the code for operators that the MLA does not have.
const opRule = "MLA-OP"

// Rules are all rules in the order in which reasons are given.
func Rules() []Rule { return slices.Clone(rules) }

// The rules are the published constraints of the accelerator (model
// compatibility guide), and what the simulator's kernels need. The general ones
// come first.
var rules = slices.Concat([]Rule{
	{Code: opRule, Doc: "the operator is one of those that the MLA has",
		Check: func(n *ir.Node, _ *Limits) []string {
			if supported[n.Op] {
				return nil
			}
			name := n.Op.Name
			if n.Op.Domain != "" {
				name = n.Op.Domain + "." + name
			}
			if why := missing[name]; why != "" {
				return say("Unsupported operator %s: %s", name, why)
			}
			return say("Unsupported operator %s", name)
		}},
	{Code: "MLA-RANK-IN", Doc: "every input computed at run time is a 4D tensor",
		Check: func(n *ir.Node, _ *Limits) []string {
			return each(n.In, func(v *ir.Value) string {
				if v.Const != nil || v.Type.Rank() == 4 {
					return ""
				}
				return "Input is not 4D tensor (" + shapeText(v.Type.Shape) + ")"
			})
		}},
	{Code: "MLA-RANK-OUT", Doc: "every output is a 4D tensor", Check: func(n *ir.Node, _ *Limits) []string {
		return each(n.Out, func(v *ir.Value) string {
			if v.Type.Rank() == 4 {
				return ""
			}
			return "Output is not 4D tensor (" + shapeText(v.Type.Shape) + ")"
		})
	}},
	{Code: "MLA-EMPTY", Doc: "no tensor is empty", Check: func(n *ir.Node, _ *Limits) []string {
		return each(append(slices.Clone(n.In), n.Out...), func(v *ir.Value) string {
			if v.Type.Elems() > 0 || v.Const != nil {
				return ""
			}
			return fmt.Sprintf("Tensor %s is empty (%s)", v.Name, shapeText(v.Type.Shape))
		})
	}},
	{Code: "MLA-BATCH", Doc: "the batch is not larger than the board's max_batch",
		Check: func(n *ir.Node, l *Limits) []string {
			if l.MaxBatch == 0 {
				return nil
			}
			return each(append(slices.Clone(n.In), n.Out...), func(v *ir.Value) string {
				if v.Const != nil || v.Type.Rank() != 4 || v.Type.Shape[0] <= l.MaxBatch {
					return ""
				}
				return fmt.Sprintf("Batch of %s is %d, at most %d", v.Name, v.Type.Shape[0], l.MaxBatch)
			})
		}},
	{Code: "MLA-DTYPE", Doc: "activations are int8, bfloat16 where the board has it, or float32 that is quantised " +
		"later",
		Check: func(n *ir.Node, l *Limits) []string {
			return activations(n, func(v *ir.Value) string {
				t := v.Type
				switch {
				case t.Quant == nil && t.DType.IsFloat() && t.DType != tensor.F16 && t.DType != tensor.BF16:
					return ""
				case t.Quant == nil && t.DType == tensor.BF16 && l.BF16 != 0:
					return ""
				case t.Quant == nil:
					return fmt.Sprintf("%s is %s, want int8", v.Name, t.DType.ONNXName())
				case t.DType == tensor.I8, t.DType == tensor.U8 && n.Op == op.Requantize:
					return ""
				}
				return fmt.Sprintf("%s is quantised %s, want int8", v.Name, t.DType.ONNXName())
			})
		}},
	{Code: "MLA-QUANT", Doc: "activations are quantised per tensor", Check: func(n *ir.Node, _ *Limits) []string {
		return activations(n, func(v *ir.Value) string {
			if !v.Type.Quant.PerAxis() {
				return ""
			}
			return fmt.Sprintf("%s is quantised along dimension %d, activations are quantised per tensor only",
				v.Name, v.Type.Quant.Axis)
		})
	}},
	{Code: "MLA-CONST", Doc: "weights, biases, shapes, axes and other parameters are constants",
		Check: func(n *ir.Node, _ *Limits) []string {
			var out []string
			for i := range n.In {
				v := n.In[i]
				if v == nil || v.Const != nil || !slices.Contains(parameters[n.Op], i) {
					continue
				}
				out = append(out, fmt.Sprintf("Input %d (%s) is computed at run time, want a constant", i, v.Name))
			}
			return out
		}},
	{Code: "MLA-OUTPUTS", Doc: "only the first output is used, but of Split",
		Check: func(n *ir.Node, _ *Limits) []string {
			if n.Op == op.Split || len(n.Out) < 2 {
				return nil
			}
			return say("Output 1 (%s) is asked for, the MLA gives output 0 only", n.Out[1].Name)
		}},
}, macRules, spatialRules, moveRules, mathRules)

// supported are the operators of the compatibility guide that have an int8
// form here, and Identity and the integer pipeline's own conversions.
var supported = ops("Add", "ArgMax", "AveragePool", "Clip", "Concat", "Conv", "ConvTranspose", "DepthToSpace", "Div",
	"Elu", "Erf", "Exp", "Expand", "Gather", "Gelu", "GlobalAveragePool", "GlobalMaxPool", "HardSigmoid", "HardSwish",
	"Identity", "InstanceNormalization", "LayerNormalization", "LeakyRelu", "Log", "MatMul", "MaxPool", "Mul", "Pad",
	"Pow", "PRelu", "Reciprocal", "ReduceMax", "ReduceMean", "ReduceSum", "Relu", "Reshape", "Resize", "Sigmoid",
	"Slice", "Softmax", "Softplus", "SpaceToDepth", "Split", "Sqrt", "Sub", "Swish", "Tanh", "Transpose",
	"nncc.Relayout", "nncc.Requantize")

// missing says more about operators that users may expect.
var missing = map[string]string{
	"BatchNormalization": "fold it into a convolution",
	"Gemm":               "it runs as a convolution",
	"Einsum":             "batched products run as MatMul",
	"LRN":                "it has no int8 form",
	"RMSNormalization":   "segment files have no operation for it",
	"GridSample":         "it has no int8 form",
	"CumSum":             "it is not accelerated",
	"ReduceMin":          "it is not accelerated",
	"LSTM":               "float ones run as convolutions, step by step, or a warning says why not",
	"GRU":                "float ones run as convolutions, step by step, or a warning says why not",
	"nncc.QLSTM":         "the model has quantised it: float ones run as convolutions, step by step",
	"nncc.QGRU":          "the model has quantised it: float ones run as convolutions, step by step",
	"Cast":               "keep one type on the way, or cast inputs and outputs only",
	"Where":              "add or multiply by a mask of numbers",
	"Greater":            "it gives truth values: clip or scale numbers instead",
	"Less":               "it gives truth values: clip or scale numbers instead",
	"TopK":               "leave it to the core behind the last layer",
	"NonMaxSuppression":  "leave it to the core behind the last layer",
}

func ops(names ...string) map[*ir.OpDef]bool {
	m := map[*ir.OpDef]bool{}
	for _, s := range names {
		domain := ""
		if rest, ok := strings.CutPrefix(s, "nncc."); ok {
			domain, s = "nncc", rest
		}
		d := op.Get(domain, s)
		bug.If(d == nil, "no operator %s", s)
		m[d] = true
	}
	return m
}

// parameters are the inputs that must be known at compile time.
var parameters = map[*ir.OpDef][]int{
	op.Conv: {1, 2}, op.ConvTranspose: {1, 2}, op.Clip: {1, 2}, op.Expand: {1}, op.Gather: {1},
	op.InstanceNormalization: {1, 2},
	op.LayerNormalization:    {1, 2}, op.Pad: {1, 2, 3}, op.Pow: {1}, op.PRelu: {1}, op.ReduceMax: {1},
	op.ReduceMean: {1}, op.ReduceSum: {1},
	op.Reshape: {1}, op.Resize: {1, 2, 3}, op.Slice: {1, 2, 3, 4}, op.Split: {1},
}

// CheckLegality gives every reason for which the MLA does not compute a node;
// none means that it does. It works on float graphs, before quantisation, and on
// quantised ones; float32 activations count as quantised later.
func CheckLegality(n *ir.Node, lim Limits) []kernel.Reason { return accel.Violations(rules, n, &lim) }

// CheckQuantised is CheckLegality for the graph that will be compiled:
// activations that are still float are a reason, too, and quantisations that no
// operation of a segment file computes with.
func CheckQuantised(n *ir.Node, lim Limits) []kernel.Reason {
	if bridges(n, lim) {
		return nil
	}
	out := CheckLegality(n, lim)
	if len(out) == 0 && n.Out[0].Type.DType == tensor.BF16 && TakesBF16(n, lim) {
		return nil
	}
	for _, s := range activations(n, func(v *ir.Value) string {
		if v.Type.Quant == nil && v.Type.DType.IsFloat() {
			return fmt.Sprintf("%s is %s and was not quantised, want int8", v.Name, v.Type.DType.ONNXName())
		}
		return ""
	}) {
		out = append(out, kernel.Reason{Code: "MLA-FLOAT", Text: s})
	}
	if len(out) > 0 {
		return out
	}
	c, err := lowerTable.Match(n, plainOptions)
	if err == nil {
		return nil
	}
	var why []string
	for _, r := range c.Nearest() {
		for _, x := range r.Reasons {
			why = append(why, r.Kernel+": "+x.Text)
		}
	}
	return []kernel.Reason{{Code: "MLA-OPERATION", Text: "No operation of segment files computes it in these types; " +
		strings.Join(why, "; ")}}
}

// activations applies a check to the run-time inputs and the outputs of a node
// that hold data; positions that ArgMax gives are int64 and no data.
func activations(n *ir.Node, check func(v *ir.Value) string) []string {
	var out []string
	for i, v := range n.In {
		if v == nil || v.Const != nil || slices.Contains(parameters[n.Op], i) {
			continue
		}
		if s := check(v); s != "" {
			out = append(out, "Input "+s)
		}
	}
	if n.Op != op.ArgMax {
		for _, v := range n.Out {
			if s := check(v); s != "" {
				out = append(out, "Output "+s)
			}
		}
	}
	return out
}

// each collects the texts for all values that are there.
func each(vs []*ir.Value, check func(v *ir.Value) string) []string {
	var out []string
	for _, v := range vs {
		if v == nil {
			continue
		}
		if s := check(v); s != "" {
			out = append(out, s)
		}
	}
	return out
}

func say(format string, args ...any) []string { return []string{fmt.Sprintf(format, args...)} }

// when says something where a condition holds; the arguments are there in any case.
func when(cond bool, format string, args ...any) []string {
	if !cond {
		return nil
	}
	return say(format, args...)
}

// shapeText is "2D, [1,2000]".
func shapeText(shape []int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%dD, [", len(shape))
	for i, d := range shape {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, d)
	}
	return b.String() + "]"
}

// rank4 reports a node whose first input and output have four dimensions:
// rules about dimensions have nothing to say about others.
func rank4(n *ir.Node) bool {
	return len(n.In) > 0 && n.In[0] != nil && n.In[0].Type.Rank() == 4 && n.Out[0].Type.Rank() == 4
}

// realValue is the one realValue that a constant holds in all its elements.
func realValue(v *ir.Value) (float64, bool) {
	if v == nil || v.Const == nil {
		return 0, false
	}
	d := v.Const
	if v.Type.Quant != nil {
		d = ir.Dequantise(d, v.Type.Quant)
	}
	one, ok := d.Uniform()
	if !ok {
		return 0, false
	}
	return one.Float(0), true
}
