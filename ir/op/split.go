// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// SplitAttrs are the attributes of Split.
type SplitAttrs struct {
	Axis       int `default:"0"`
	NumOutputs *int
}

// Split cuts input 0 along axis: into the sizes of input 1, or into
// num_outputs equal parts, the last of which may be smaller. Without either
// the number of outputs of the node decides.
var Split = def(ir.OpDef{
	Name: "Split", Doc: "cuts a tensor along an axis", View: ir.Partial,
	Attrs: ir.Declare[SplitAttrs](), MinIn: 1, MaxIn: 2, MaxOut: -1,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		x := n.In[0].Type
		axis, sizes := fail.Must2(SplitSizes(n))
		types := make([]ir.Type, len(sizes))
		for i, k := range sizes {
			s := append([]int(nil), x.Shape...)
			s[axis] = k
			types[i] = ir.T(x.DType, s...)
		}
		return types, nil
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		x := in[0]
		axis, sizes := fail.Must2(SplitSizes(n))
		out := make([]*tensor.Dense, len(sizes))
		outer, row := product(x.Shape[:axis]), product(x.Shape[axis:])
		at := 0
		for i, k := range sizes {
			s := append([]int(nil), x.Shape...)
			s[axis] = k
			out[i] = tensor.New(x.DType, s)
			length := product(s[axis:])
			for o := 0; o < outer; o++ {
				out[i].Copy(o*length, x, o*row+at, length)
			}
			at += length
		}
		return out, nil
	},
	Pattern: ir.Injective, Quant: ir.QMove,
})

// SplitSizes are the axis of a Split node and the sizes of its outputs along it.
func SplitSizes(n *ir.Node) (axis int, sizes []int, err error) {
	defer fail.Catch(&err)
	attrs := ir.AttrsOf[SplitAttrs](n)
	x := n.In[0].Type.Shape
	axis = fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(x)))
	sizes = fail.Must(ConstInts(n, 1, "the sizes of the parts"))
	if sizes != nil {
		sum := 0
		for _, k := range sizes {
			refuse(n, k < 0, "split", "the sizes %v contain a negative one", sizes)
			sum += k
		}
		refuse(n, sum != x[axis], "split", "the sum of the sizes %v is %d, dimension %d of the input %v has %d",
			sizes, sum, axis, x, x[axis])
		refuse(n, len(sizes) != len(n.Out), "split", "%d sizes %v for %d outputs", len(sizes), sizes, len(n.Out))
		return axis, sizes, nil
	}
	parts := len(n.Out)
	if attrs.NumOutputs != nil {
		parts = *attrs.NumOutputs
	}
	refuse(n, parts < 1 || parts != len(n.Out), "split", "num_outputs is %d, the node has %d outputs", parts,
		len(n.Out))
	each := (x[axis] + parts - 1) / parts
	last := x[axis] - each*(parts-1)
	if last < 0 || attrs.NumOutputs == nil && last != each {
		return 0, nil, ir.Errf(n, "split", "dimension %d of the input %v cannot be split into %d parts of %d", axis, x,
			parts, each)
	}
	for i := 0; i < parts-1; i++ {
		sizes = append(sizes, each)
	}
	return axis, append(sizes, last), nil
}
