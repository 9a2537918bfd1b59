// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// ChannelAffine is x * scale[c] + offset[c], c being the index along a dimension. It stands
// behind inputs of which each channel gets a quantisation of its own: calibration leaves it
// in float, as a Mul and an Add, which the quantisation of the input takes in.
var ChannelAffine = def(ir.OpDef{
	Name: "ChannelAffine", Domain: "nncc", Doc: "x * scale + offset for each index of an axis of an input",
	Attrs: ir.Declare[struct {
		Axis int `attr:",required"`
	}](),
	MinIn: 3, Pattern: ir.Broadcast, Quant: ir.QNone,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		fail.Check(wantType(n, 0, floatTypes))
		shape := n.In[0].Type.Shape
		axis := fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(shape)))
		for i, what := range []string{1: "scale", 2: "offset"} {
			if s := n.In[i].Type.Shape; i > 0 && (len(s) != 1 || s[0] != shape[axis]) {
				return nil, ir.Errf(n, "shape", "%s (input %d, %s) has shape %v, want [%d], the size of dimension %d "+
					"of %v", what, i, n.In[i], s, shape[axis], axis, shape)
			}
		}
		return one(like(n, 0))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		x, y := in[0], tensor.New(in[0].DType, in[0].Shape)
		axis := fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(x.Shape)))
		inner, dim := tensor.Count(x.Shape[axis+1:]), x.Shape[axis]
		for i, k := 0, x.Len(); i < k; i++ {
			c := i / inner % dim
			y.SetFloat(i, float64(x.Float(i)*in[1].Float(c))+in[2].Float(c))
		}
		return outs(y)
	},
})
