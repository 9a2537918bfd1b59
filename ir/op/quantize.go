// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/ir/vec"
)

// scaleMap tells which element of the scale (and zero point) belongs to an
// element of x: one for all, one per index of an axis, or one per block of
// block_size indices along the axis.
type scaleMap struct {
	inner, dim   int // elements per index of the axis; indices of the axis
	block, count int // indices per scale along the axis; scales along it
	all, blocked bool
}

// newScaleMap checks the scale's shape against x and the axis and block_size
// attributes.
func newScaleMap(n *ir.Node, x, scale []int) scaleMap {
	block := ir.AttrsOf[ScaleAttrs](n).BlockSize
	if tensor.Count(scale) == 1 && len(scale) <= 1 && block == 0 {
		return scaleMap{all: true}
	}
	axis := fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(x)))
	m := scaleMap{inner: tensor.Count(x[axis+1:]), dim: x[axis], block: 1, count: x[axis]}
	if block == 0 {
		refuse(n, len(scale) != 1 || scale[0] != x[axis], "shape",
			"scale has shape %v, want a scalar or [%d], the size of dimension %d of %v", scale, x[axis], axis, x)
		return m
	}
	refuse(n, block < 0, "attr-value", "block_size is %d, want 0 or more", block)
	want := append([]int{}, x...)
	want[axis] = (x[axis] + block - 1) / block
	refuse(n, !sameShape(scale, want), "shape", "scale has shape %v, want %v: %v in blocks of %d along axis %d", scale,
		want, x, block, axis)
	m.blocked, m.block, m.count = true, block, want[axis]
	return m
}

// at is the index of the scale of element i.
func (m scaleMap) at(i int) int {
	if m.all {
		return 0
	}
	c := i / m.inner % m.dim
	if !m.blocked {
		return c
	}
	return (i/m.inner/m.dim*m.count+c/m.block)*m.inner + i%m.inner
}

// checkZero checks the optional zero point against the scale.
func checkZero(n *ir.Node) {
	z := n.Input(2)
	if z == nil {
		return
	}
	s := n.In[1].Type
	refuse(n, tensor.Count(z.Type.Shape) != s.Elems(), "shape",
		"zero point (%s) has shape %v, scale (%s) %v; want the same", z, z.Type.Shape, n.In[1], s.Shape)
	refuse(n, !z.Type.DType.IsInt(), "dtype", "zero point (%s) is of type %s, want an integer type", z, z.Type.DType)
}

// quantizeType is the element type that QuantizeLinear gives.
func quantizeType(n *ir.Node) (tensor.DType, error) {
	code := ir.AttrsOf[ScaleAttrs](n).OutputDtype
	switch z := n.Input(2); {
	case code != 0:
		d := fail.Must(attrType(n, "output_dtype", code))
		if z != nil && z.Type.DType != d {
			return 0, ir.Errf(n, "dtype", "output_dtype is %s, but the zero point (%s) is of type %s", d, z,
				z.Type.DType)
		}
		refuse(n, !d.IsInt(), "dtype", "output_dtype is %s, want an integer type", d)
		return d, nil
	case z != nil:
		return z.Type.DType, nil
	}
	return tensor.U8, nil
}

// ScaleAttrs say along which axis scales lie, and in blocks of how many elements.
type ScaleAttrs struct {
	Axis        int `default:"1"`
	BlockSize   int `default:"0"`
	OutputDtype int `attr:",type" default:"0"`
}

// QuantizeLinearAttrs are the attributes of QuantizeLinear.
type QuantizeLinearAttrs struct {
	Saturate  int `default:"1"`
	Precision int `default:"0"`
	// RoundAway rounds ties away from zero, as TensorFlow Lite does. ONNX has no such attribute.
	RoundAway int `default:"0"`
	ScaleAttrs
}

// RoundsAway reports a QuantizeLinear that rounds ties away from zero.
func RoundsAway(n *ir.Node) bool { return ir.AttrsOf[QuantizeLinearAttrs](n).RoundAway != 0 }

// QuantizeLinear is round(x/scale) + zero point, ties to even, saturated. The
// division is made in float32, as ONNX Runtime does, or in float64 for double.
var QuantizeLinear = def(ir.OpDef{
	Name: "QuantizeLinear", Boundary: true, Converts: true,
	Doc:   "round(x/scale), ties to even, plus zero point, saturated",
	Attrs: ir.Declare[QuantizeLinearAttrs](),
	MinIn: 2, MaxIn: 3, Pattern: ir.Elementwise, Quant: ir.QNone,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		t := n.In[0].Type.DType
		refuse(n, !t.IsFloat() && t != tensor.I32, "dtype",
			"input 0 (%s) is of type %s, want a floating-point type or i32", n.In[0], t)
		wantType(n, 1, floatTypes)
		newScaleMap(n, n.In[0].Type.Shape, n.In[1].Type.Shape)
		checkZero(n)
		d := fail.Must(quantizeType(n))
		return one(ir.T(d, n.In[0].Type.Shape...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		x, s := in[0], in[1].Floats()
		m := newScaleMap(n, x.Shape, in[1].Shape)
		d := fail.Must(quantizeType(n))
		zero := make([]int64, len(s))
		if len(in) > 2 && in[2] != nil {
			zero = in[2].Int64s()
		}
		lo, hi := d.IntRange()
		y, round := tensor.New(d, x.Shape), math.RoundToEven
		if RoundsAway(n) {
			round = math.Round
		}
		if xs, ok := x.Data.([]float32); ok && d == tensor.I8 && m.all && !RoundsAway(n) {
			vec.Quantise(xs, float32(s[0]), zero[0], tensor.As[int8](y))
			return outs(y)
		}
		wide := x.DType == tensor.F64
		for i, k := 0, x.Len(); i < k; i++ {
			c := m.at(i)
			q := x.Float(i) / s[c]
			if !wide {
				q = float64(float32(x.Float(i)) / float32(s[c]))
			}
			if q != q { // not a number counts as zero, as in the C kernels
				q = 0
			}
			y.SetInt(i, ir.ClampInt(round(q)+float64(zero[c]), lo, hi))
		}
		return outs(y)
	},
})

// dequantise is DequantizeLinear from int8 to float32 with one scale, or one for every index
// of an axis.
func (m scaleMap) dequantise(x []int8, scale []float64, zero []int64, y []float32) {
	if m.all {
		vec.Dequantise(x, float32(scale[0]), zero[0], y)
		return
	}
	if m.inner == 1 {
		for i, v := range x {
			c := i % m.dim
			y[i] = float32(int64(v)-zero[c]) * float32(scale[c])
		}
		return
	}
	for i, c := 0, 0; i < len(x); i, c = i+m.inner, c+1 {
		vec.Dequantise(x[i:i+m.inner], float32(scale[c%m.dim]), zero[c%m.dim], y[i:])
	}
}

// dequantizeType is the element type that DequantizeLinear gives.
func dequantizeType(n *ir.Node) (tensor.DType, error) {
	if code := ir.AttrsOf[ScaleAttrs](n).OutputDtype; code != 0 {
		d, err := attrType(n, "output_dtype", code)
		if err == nil && !d.IsFloat() {
			return 0, ir.Errf(n, "dtype", "output_dtype is %s, want a floating-point type", d)
		}
		return d, err
	}
	return n.In[1].Type.DType, nil
}

// DequantizeLinear is (x - zero point) * scale, in the type of the scale.
var DequantizeLinear = def(ir.OpDef{
	Name: "DequantizeLinear", Boundary: true, Converts: true, Doc: "(x - zero point) * scale",
	Attrs: ir.Declare[ScaleAttrs](),
	MinIn: 2, MaxIn: 3, Pattern: ir.Elementwise, Quant: ir.QNone,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		t := n.In[0].Type.DType
		refuse(n, !t.IsInt(), "dtype", "input 0 (%s) is of type %s, want an integer type", n.In[0], t)
		wantType(n, 1, floatTypes)
		if z := n.Input(2); z != nil && z.Type.DType != n.In[0].Type.DType {
			return nil, ir.Errf(n, "dtype", "zero point (%s) is of type %s, input 0 (%s) of type %s; want the same", z,
				z.Type.DType, n.In[0], n.In[0].Type.DType)
		}
		newScaleMap(n, n.In[0].Type.Shape, n.In[1].Type.Shape)
		checkZero(n)
		d := fail.Must(dequantizeType(n))
		return one(ir.T(d, n.In[0].Type.Shape...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		x, s := in[0], in[1].Floats()
		m := newScaleMap(n, x.Shape, in[1].Shape)
		d := fail.Must(dequantizeType(n))
		zero := make([]int64, len(s))
		if len(in) > 2 && in[2] != nil {
			zero = in[2].Int64s()
		}
		y := tensor.New(d, x.Shape)
		if xs, ok := x.Data.([]int8); ok && d == tensor.F32 && !m.blocked {
			m.dequantise(xs, s, zero, tensor.As[float32](y))
			return outs(y)
		}
		for i, k := 0, x.Len(); i < k; i++ {
			c := m.at(i)
			v := float64(x.Int(i) - zero[c])
			if d == tensor.F64 {
				y.SetFloat(i, v*s[c])
			} else { // the difference is rounded to float32 first, as ONNX Runtime has it
				y.SetFloat(i, float64(float32(v)*float32(s[c])))
			}
		}
		return outs(y)
	},
})

// DynamicQuantizeLinear quantises to uint8 with the scale and zero point that
// its input's range, widened to hold zero, asks for.
var DynamicQuantizeLinear = def(ir.OpDef{
	Name: "DynamicQuantizeLinear", Doc: "uint8 quantisation by the input's own range; also gives scale and zero point",
	MinIn: 1, MinOut: 3, Pattern: ir.Opaque, Quant: ir.QNone,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		t := n.In[0].Type.DType
		refuse(n, t != tensor.F32, "dtype", "input 0 (%s) is of type %s, want f32", n.In[0], t)
		return []ir.Type{ir.T(tensor.U8, n.In[0].Type.Shape...), ir.T(tensor.F32), ir.T(tensor.U8)}, nil
	},
	Eval: func(_ *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		x := in[0].Data.([]float32)
		var lo, hi float32
		for _, v := range x {
			lo, hi = min(lo, v), max(hi, v)
		}
		scale := (hi - lo) / 255
		zero := 0.0
		if scale != 0 {
			zero = math.RoundToEven(float64(min(max(-lo/scale, 0), 255)))
		}
		y := make([]uint8, len(x))
		for i, v := range x {
			q := 0.0
			if scale != 0 {
				q = math.RoundToEven(float64(v / scale))
			}
			y[i] = uint8(ir.ClampInt(q+zero, 0, 255))
		}
		return outs(tensor.Of(in[0].Shape, y), tensor.Scalar(scale), tensor.Scalar(uint8(zero)))
	},
})
