package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
)

// Quantised normalisations are nncc's kernels where data and result are int8
// with one scale each, and scale and bias are constants: sums are exact
// integers, the rest is float64 in an order that the C header states. Anything
// else follows ir.EvalDequantised.

// NormConstants are scale (input 1) and bias (input 2, nil where absent) of a
// normalisation as the reals that they stand for, one for each of size
// elements. ok is false where they are not constant or of another size.
func NormConstants(n *ir.Node, size int) (scale, bias []float64, ok bool) {
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
		if d.Len() == 1 && size > 1 {
			d = expand(d, []int{size})
		}
		return d.Floats(), d.Len() == size
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

// LayerNormS8 are the arguments of nncc_layer_norm_s8 for a quantised
// LayerNormalization; ok is false where the kernel does not apply.
func LayerNormS8(n *ir.Node) (p *qref.LayerNormParams, scale, bias []float64, ok bool) {
	in, out, ok := normScales(n)
	if !ok {
		return nil, nil, nil, false
	}
	s := n.In[0].Type.Shape
	axis, err := Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(s))
	if err != nil {
		return nil, nil, nil, false
	}
	rows, size := product(s[:axis]), product(s[axis:])
	if rows*size == 0 || size > 1<<22 {
		return nil, nil, nil, false
	}
	p = &qref.LayerNormParams{InScale: float64(in.Scale), OutScale: float64(out.Scale),
		Epsilon: float64(ir.AttrsOf[EpsilonAttr](n).Epsilon),
		Rows:    int32(rows), Len: int32(size), InZero: in.Zero, OutZero: out.Zero, ActMin: -128, ActMax: 127}
	scale, bias, ok = NormConstants(n, size)
	return p, scale, bias, ok
}

func evalLayerNormQ(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	p, scale, bias, ok := LayerNormS8(n)
	if !ok {
		return ir.EvalDequantised(n, in)
	}
	y := tensor.New(tensor.I8, in[0].Shape)
	return []*tensor.Dense{y}, qref.LayerNorm(p, tensor.As[int8](in[0]), scale, bias, tensor.As[int8](y))
}

// GroupNormS8 are the arguments of nncc_group_norm_s8 for a quantised
// InstanceNormalization or GroupNormalization, on channels-last data.
func GroupNormS8(n *ir.Node) (p *qref.GroupNormParams, scale, bias []float64, ok bool) {
	in, out, ok := normScales(n)
	if !ok {
		return nil, nil, nil, false
	}
	s := n.In[0].Type.Shape
	groups := s[1]
	if hasAttr(n.Op, "num_groups") {
		groups = ir.AttrsOf[GroupNormalizationAttrs](n).NumGroups
	}
	if product(s) == 0 || product(s[1:])/groups > 1<<22 {
		return nil, nil, nil, false
	}
	p = &qref.GroupNormParams{InScale: float64(in.Scale), OutScale: float64(out.Scale),
		Epsilon: float64(ir.AttrsOf[EpsilonAttr](n).Epsilon),
		Batch:   int32(s[0]), Spatial: int32(product(s[2:])), Channels: int32(s[1]), Groups: int32(groups),
		InZero: in.Zero, OutZero: out.Zero, ActMin: -128, ActMax: 127}
	scale, bias, ok = NormConstants(n, s[1])
	return p, scale, bias, ok && bias != nil
}

func evalGroupNormQ(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	p, scale, bias, ok := GroupNormS8(n)
	if !ok {
		return ir.EvalDequantised(n, in)
	}
	x := swapInner(int(p.Batch), int(p.Channels), int(p.Spatial), tensor.As[int8](in[0]))
	y := make([]int8, len(x))
	if err := qref.GroupNorm(p, x, scale, bias, y); err != nil {
		return nil, ir.Errf(n, "kernel", "%v", err)
	}
	return outs(tensor.Of(in[0].Shape, swapInner(int(p.Batch), int(p.Spatial), int(p.Channels), y)))
}
