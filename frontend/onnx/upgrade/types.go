// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"strings"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// Element types that the standard permits and that the operators of ir/op
// leave out, since others say the same.

// asBytes computes on bools as on the bytes 0 and 1; what is not 0 then is true.
func asBytes(rule build.Rule) build.Rule {
	return func(n *build.Node) []*ir.Value {
		if n.Input(0) == nil || n.In[0].Type.DType != tensor.Bool {
			return rule(n)
		}
		inner := *n
		inner.In = append([]*ir.Value{n.Sub("Cast", ".bytes", build.To(tensor.U8), n.In[0])}, n.In[1:]...)
		inner.Out = []string{n.Out[0] + ".bytes"}
		return n.Result("Cast", build.To(tensor.Bool), rule(&inner)[0])
	}
}

// unsignedPRelu: no unsigned integer is below zero.
func unsignedPRelu(n *build.Node) []*ir.Value {
	if len(n.In) == 2 && n.In[0] != nil && strings.HasPrefix(n.In[0].Type.DType.ONNXName(), "uint") {
		return n.Result("Identity", nil, n.In[0])
	}
	return n.Plain()
}

// reduceLogSumExp of integers is the integer part of the result in float64.
func reduceLogSumExp(n *build.Node) []*ir.Value {
	d := n.Need(0, -1).Type.DType
	if d.IsInt() {
		n.In[0] = n.Cast(n.In[0], tensor.F64)
	}
	return []*ir.Value{n.Cast(axesInput(18)(n)[0], d)}
}
