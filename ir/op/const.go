// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// constantValue is the tensor that the one value attribute of Constant holds.
func constantValue(n *ir.Node) (*tensor.Dense, error) {
	attrs := ir.AttrsOf[ConstantAttrs](n)
	names := n.Attrs.Names()
	refuse(n, len(names) != 1, "attr-missing",
		"has the attributes %v, want exactly one of value, value_float, value_floats, value_int, value_ints", names)
	switch names[0] {
	case "value":
		if t := ir.AttrsOf[ValueAttr](n).Value; t != nil {
			return t, nil
		}
		return nil, ir.Errf(n, "attr-value", "attribute value holds no tensor")
	case "value_float":
		return tensor.Scalar(*attrs.ValueFloat), nil
	case "value_floats":
		v := attrs.ValueFloats
		return tensor.Of([]int{len(v)}, append([]float32{}, v...)), nil
	case "value_int":
		return tensor.Scalar(int64(*attrs.ValueInt)), nil
	case "value_ints":
		return tensor.Ints(attrs.ValueInts...), nil
	}
	return nil, ir.Errf(n, "dtype", "attribute %s is not supported, want value, value_float, value_floats, "+
		"value_int or value_ints", names[0])
}

// ConstantAttrs are the attributes of Constant.
type ConstantAttrs struct {
	Value        *tensor.Dense
	ValueFloat   *float32
	ValueFloats  []float32
	ValueInt     *int
	ValueInts    []int
	ValueString  string
	ValueStrings []string
}

// Constant gives the tensor in its attribute.
var Constant = def(ir.OpDef{
	Name: "Constant", Doc: "a constant tensor", Pattern: ir.Opaque, Quant: ir.QNone,
	Attrs: ir.Declare[ConstantAttrs](),
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		v := fail.Must(constantValue(n))
		return one(ir.T(v.DType, v.Shape...))
	},
	Eval: func(n *ir.Node, _ []*tensor.Dense) ([]*tensor.Dense, error) {
		v, err := constantValue(n)
		return []*tensor.Dense{v}, err
	},
})

// fillValue is the one-element value of ConstantOfShape, float zero if absent.
func fillValue(n *ir.Node) *tensor.Dense {
	v := ir.AttrsOf[ValueAttr](n).Value
	if v == nil {
		return tensor.Scalar(float32(0))
	}
	refuse(n, v.Len() != 1, "attr-value", "value has shape %v, want one element", v.Shape)
	return v
}

// ConstantOfShape fills a tensor, whose shape is the input, with one value.
var ConstantOfShape = def(ir.OpDef{
	Name: "ConstantOfShape", Doc: "tensor of a given shape filled with one value",
	Attrs: ir.Declare[struct{ Value *tensor.Dense }](),
	MinIn: 1, Pattern: ir.Opaque, Quant: ir.QNone,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		shape := fail.Must(ConstInts(n, 0, "the shape"))
		v := fillValue(n)
		return one(ir.T(v.DType, shape...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		v := fillValue(n)
		shape := lists.Make(in[0].Len(), func(i int) int { return int(in[0].Int(i)) })
		return outs(expand(v.Reshaped(nil), shape))
	},
})

// shapeSlice is the part of the input's shape between the start and end attributes.
func shapeSlice(n *ir.Node) []int {
	attrs := ir.AttrsOf[ShapeAttrs](n)
	shape := n.In[0].Type.Shape
	clip := func(i int) int {
		if i < 0 {
			i += len(shape)
		}
		return min(max(i, 0), len(shape))
	}
	start, end := clip(attrs.Start), len(shape)
	if attrs.End != nil {
		end = clip(*attrs.End)
	}
	return shape[start:max(start, end)]
}

// ShapeAttrs are the attributes of Shape.
type ShapeAttrs struct {
	Start int `default:"0"`
	End   *int
}

// Shape is the shape of its input, or a piece of it.
var Shape = def(ir.OpDef{
	Name: "Shape", Doc: "the input's shape, from dimension start to end", Attrs: ir.Declare[ShapeAttrs](),
	MinIn: 1, Pattern: ir.Opaque, Quant: ir.QNone,
	Infer: func(n *ir.Node) ([]ir.Type, error) { return one(ir.T(tensor.I64, len(shapeSlice(n)))) },
	Eval: func(n *ir.Node, _ []*tensor.Dense) ([]*tensor.Dense, error) {
		return outs(tensor.Ints(shapeSlice(n)...))
	},
})

// Size is the number of elements of its input.
var Size = def(ir.OpDef{
	Name: "Size", Doc: "the input's number of elements", MinIn: 1, Pattern: ir.Opaque, Quant: ir.QNone,
	Infer: func(n *ir.Node) ([]ir.Type, error) { return one(ir.T(tensor.I64)) },
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		return outs(tensor.Scalar(int64(in[0].Len())))
	},
})

// rangeLen is the length of Range(start, limit, delta).
func rangeLen(n *ir.Node, start, limit, delta *tensor.Dense) int {
	for i, d := range []*tensor.Dense{start, limit, delta} {
		refuse(n, d.Len() != 1, "shape", "input %d has shape %v, want a scalar", i, d.Shape)
	}
	refuse(n, delta.Float(0) == 0, "attr-value", "delta is 0, want a step that is not zero")
	k := math.Ceil((limit.Float(0) - start.Float(0)) / delta.Float(0))
	if start.DType.IsInt() { // exact where float64 is not
		d, s := limit.Int(0)-start.Int(0), delta.Int(0)
		k = float64(d / s)
		if d%s != 0 && (d < 0) == (s < 0) {
			k++
		}
	}
	refuse(n, k != k || k > tensor.MaxElems, "shape", "from %v to %v in steps of %v gives too many elements",
		start.Float(0), limit.Float(0), delta.Float(0))
	return int(max(k, 0))
}

// Range counts from start up to, but without, limit in steps of delta.
var Range = def(ir.OpDef{
	Name: "Range", Doc: "start, start+delta, ... below limit", MinIn: 3, Pattern: ir.Opaque, Quant: ir.QNone,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		wantType(n, 0, numTypes)
		wantSameTypes(n, 0, 1, 2)
		for i, what := range []string{"start", "limit", "delta"} {
			if n.In[i].Const == nil {
				return nil, ir.Dynamicf(n, n.In[i], "%s (input %d, %s) must be known at compile time, but is computed "+
					"at run time", what, i, n.In[i])
			}
		}
		k := rangeLen(n, n.In[0].Const, n.In[1].Const, n.In[2].Const)
		return one(ir.T(n.In[0].Type.DType, k))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		k := rangeLen(n, in[0], in[1], in[2])
		y := tensor.New(in[0].DType, []int{k})
		for i := range k {
			if y.DType.IsInt() {
				y.SetInt(i, in[0].Int(0)+int64(i)*in[2].Int(0))
			} else {
				y.SetFloat(i, in[0].Float(0)+float64(float64(i)*in[2].Float(0)))
			}
		}
		return outs(y)
	},
})

// EyeLikeAttrs are the attributes of EyeLike.
type EyeLikeAttrs struct {
	Dtype *int `attr:",type"`
	K     int  `default:"0"`
}

// EyeLike is a matrix of the input's shape with ones on diagonal k.
var EyeLike = def(ir.OpDef{
	Name: "EyeLike", Doc: "ones on diagonal k of a matrix of the input's shape", Attrs: ir.Declare[EyeLikeAttrs](),
	MinIn: 1, Pattern: ir.Opaque, Quant: ir.QNone,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		wantRank(n, 0, 2)
		d := n.In[0].Type.DType
		if ir.AttrsOf[EyeLikeAttrs](n).Dtype != nil {
			d = fail.Must(attrType(n, "dtype", *ir.AttrsOf[EyeLikeAttrs](n).Dtype))
		}
		return one(ir.T(d, n.In[0].Type.Shape...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		y := tensor.New(n.Out[0].Type.DType, in[0].Shape)
		for r := range y.Shape[0] {
			if c := r + ir.AttrsOf[EyeLikeAttrs](n).K; c >= 0 && c < y.Shape[1] {
				y.SetInt(r*y.Shape[1]+c, 1)
			}
		}
		return outs(y)
	},
})
