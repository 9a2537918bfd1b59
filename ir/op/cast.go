// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// lastElemType is the last of ONNX's element types (INT2, of IR version 13).
const lastElemType = 26

// attrType is the element type that an int attribute names by its ONNX number.
func attrType(n *ir.Node, name string, code int) (tensor.DType, error) {
	d, ok := tensor.FromONNX(code)
	switch {
	case code < 1 || code > lastElemType:
		return 0, ir.Errf(n, "dtype-unknown", "attribute %s names data type %d, which ONNX does not define", name, code)
	case !ok:
		return 0, ir.Errf(n, "dtype-unsupported", "attribute %s names data type %d, which is not among those "+
			"supported (float, double, float16, bfloat16, bool, integers of 4 to 64 bits)", name, code)
	}
	return d, nil
}

// CastAttrs8 are accepted and concern 8-bit floats only.
type CastAttrs8 struct {
	Saturate  int    `default:"1"`
	RoundMode string `default:"up"`
}

// CastAttrs are the attributes of Cast.
type CastAttrs struct {
	To int `attr:",required type"`
	CastAttrs8
}

// Cast converts the element type.
var Cast = def(ir.OpDef{
	Name: "Cast", Converts: true, Doc: "conversion to another element type", Attrs: ir.Declare[CastAttrs](),
	MinIn: 1, Pattern: ir.Elementwise,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		d := fail.Must(attrType(n, "to", ir.AttrsOf[ToAttr](n).To))
		return one(ir.T(d, n.In[0].Type.Shape...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		d := fail.Must(attrType(n, "to", ir.AttrsOf[ToAttr](n).To))
		return outs(in[0].Cast(evalType(n, in[0], d)))
	},
})

// evalType is the type in which a node that converts its input computes: the
// declared one, or float64 where reals come in by way of a quantised value
// and go out as reals again.
func evalType(n *ir.Node, x *tensor.Dense, declared tensor.DType) tensor.DType {
	if n.Quantised() && x.DType == tensor.F64 && n.Out[0].Type.Quant != nil {
		return tensor.F64
	}
	return declared
}

// CastLike converts to the element type of the second input.
var CastLike = def(ir.OpDef{
	Name: "CastLike", Converts: true, Doc: "conversion to the element type of the second input",
	Attrs: ir.Declare[CastAttrs8](), MinIn: 2, Pattern: ir.Elementwise,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		return one(ir.T(n.In[1].Type.DType, n.In[0].Type.Shape...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		return outs(in[0].Cast(evalType(n, in[0], in[1].DType)))
	},
})

// BitCast reads the same bytes as another element type of the same size.
var BitCast = def(ir.OpDef{
	Name: "BitCast", Doc: "the same bytes as another element type of the same size", View: ir.Recast,
	Attrs: ir.Declare[struct {
		To int `attr:",required type"`
	}](),
	MinIn: 1, Pattern: ir.Elementwise, Quant: ir.QNone, Coded: true,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		d := fail.Must(attrType(n, "to", ir.AttrsOf[ToAttr](n).To))
		if t := n.In[0].Type.DType; t.Bits() != d.Bits() {
			return nil, ir.Errf(n, "dtype", "input 0 (%s) is of type %s with %d bits, attribute to names %s with "+
				"%d; want the same size", n.In[0], t, t.Bits(), d, d.Bits())
		}
		return one(ir.T(d, n.In[0].Type.Shape...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		d := fail.Must(attrType(n, "to", ir.AttrsOf[ToAttr](n).To))
		if d.Bits() < 8 { // one element per byte here: only the sign is read anew
			return outs(in[0].Cast(d))
		}
		y, err := tensor.FromBytes(d, in[0].Shape, in[0].Bytes())
		return []*tensor.Dense{y}, err
	},
})
