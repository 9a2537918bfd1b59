// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
)

// Quantised normalisations are nncc's kernels where data and result are int8
// with one scale each, and scale and bias are constants: fixed point with exact
// statistics (ir/qref, README.md). Anything else follows ir.EvalDequantised.

// normConstants are scale (input 1) and bias (input 2, nil where absent) of a
// normalisation as the reals that they stand for, one for each element of the
// given shape. ok is false where they are not constant or of another size.
func normConstants(n *ir.Node, shape []int) (scale, bias []float64, ok bool) {
	read := func(i int) ([]float64, bool) {
		v := n.Input(i)
		switch {
		case v == nil:
			return nil, i == 2
		case v.Const == nil:
			return nil, false
		}
		d := v.Const
		if v.Type.Quant != nil {
			d = ir.Dequantise(d, v.Type.Quant)
		} else if !d.DType.IsFloat() {
			return nil, false
		}
		d = expand(d, shape)
		return d.Floats(), d.Len() == product(shape)
	}
	scale, ok = read(1)
	if !ok {
		return nil, nil, false
	}
	bias, ok = read(2)
	return scale, bias, ok
}

func normScales(n *ir.Node) (in, out qref.QP, ok bool) {
	x, y := n.In[0].Type, n.Out[0].Type
	if !perTensorS8(x) || !perTensorS8(y) || len(n.Out) > 1 {
		return in, out, false
	}
	return qref.QP{Scale: x.Quant.Scale[0], Zero: x.Quant.Zero[0]},
		qref.QP{Scale: y.Quant.Scale[0], Zero: y.Quant.Zero[0]}, true
}

// normFixed are the fixed-point constants of a normalisation of size values each,
// with scale and bias for each element of the given shape.
func normFixed(n *ir.Node, size int, shape []int) (*qref.Norm, bool) {
	in, out, ok := normScales(n)
	if !ok || size < 1 || n.In[0].Type.Elems() == 0 {
		return nil, false
	}
	scale, bias, ok := normConstants(n, shape)
	if !ok {
		return nil, false
	}
	return qref.NewNorm(size, float64(ir.AttrsOf[EpsilonAttr](n).Epsilon), in, out, scale, bias)
}

// LayerNormS8 are the arguments of nncc_layer_norm_s8 for a quantised
// LayerNormalization or RMSNormalization; ok is false where the kernel does not
// apply.
func LayerNormS8(n *ir.Node) (p *qref.LayerNormParams, m *qref.Norm, ok bool) {
	s := n.In[0].Type.Shape
	axis, err := Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(s))
	if err != nil {
		return nil, nil, false
	}
	size := product(s[axis:])
	if m, ok = normFixed(n, size, s[axis:]); !ok {
		return nil, nil, false
	}
	p = &qref.LayerNormParams{Norm: m.Fixed, Rows: int32(product(s[:axis])), Len: int32(size), Center: 1}
	if n.Op.Name == "RMSNormalization" { // the variable refers to this function
		p.Center, p.Zero = 0, n.In[0].Type.Quant.Zero[0]
	}
	return p, m, true
}

func evalLayerNormQ(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	p, m, ok := LayerNormS8(n)
	if !ok {
		return ir.EvalDequantised(n, in)
	}
	y := tensor.New(tensor.I8, in[0].Shape)
	qref.LayerNorm(p, m, tensor.As[int8](in[0]), tensor.As[int8](y))
	return outs(y)
}

// GroupNormS8 are the arguments of nncc_group_norm_s8 for a quantised
// InstanceNormalization or GroupNormalization, on channels-last data.
func GroupNormS8(n *ir.Node) (p *qref.GroupNormParams, m *qref.Norm, ok bool) {
	s := n.In[0].Type.Shape
	groups := s[1]
	if n.Op.Declares("num_groups") {
		groups = ir.AttrsOf[GroupNormalizationAttrs](n).NumGroups
	}
	if m, ok = normFixed(n, product(s[1:])/max(groups, 1), s[1:2]); !ok {
		return nil, nil, false
	}
	return &qref.GroupNormParams{Norm: m.Fixed, Batch: int32(s[0]), Spatial: int32(product(s[2:])),
		Channels: int32(s[1]), Groups: int32(groups)}, m, true
}

func evalGroupNormQ(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	p, m, ok := GroupNormS8(n)
	if !ok {
		return ir.EvalDequantised(n, in)
	}
	x := swapInner(int(p.Batch), int(p.Channels), int(p.Spatial), tensor.As[int8](in[0]))
	y := make([]int8, len(x))
	qref.GroupNorm(p, m, x, y)
	return outs(tensor.Of(in[0].Shape, swapInner(int(p.Batch), int(p.Spatial), int(p.Channels), y)))
}
