package onnx

import (
	"strconv"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// batchNorm: older opsets had outputs for training, which inference does not
// fill, and (until 9) statistics per element instead of per channel.
func batchNorm(c *nodeCtx) ([]*ir.Value, error) {
	spatial := int64(1)
	if c.opset < 9 {
		var err error
		if spatial, err = c.takeInt("spatial", 1); err != nil {
			return nil, err
		}
	}
	if a, ok := c.attrs["training_mode"]; ok && a.Kind == ir.AttrInt && a.Int != 0 && c.opset >= 14 {
		return expansion(trainingNorm)(c)
	}
	delete(c.attrs, "momentum") // of the running statistics
	if len(c.in) == 5 && c.in[4] != nil && c.in[4].Const != nil {
		eps := float32(1e-5)
		if a, ok := c.attrs["epsilon"]; ok {
			eps = a.Float
		}
		for i, d := 0, c.in[4].Const; i < d.Len(); i++ {
			if v := d.Float(i); !(v+float64(eps) > 0) {
				return nil, c.errf("bn-variance", "variance %v of channel %d (input %s) plus epsilon %v is not positive: the result is NaN", v, i, quote(c.p.GetInput()[4]), eps)
			}
		}
	}
	if spatial == 0 {
		return c.elementNorm()
	}
	return c.build(op.BatchNormalization, c.attrs, 1, c.in...)
}

// elementNorm is BatchNormalization with one mean, variance, scale and bias for
// every element of a sample: (x - mean) * (scale / sqrt(var + epsilon)) + bias.
func (c *nodeCtx) elementNorm() ([]*ir.Value, error) {
	if len(c.in) != 5 {
		return nil, c.errf("arity", "has %d inputs, want 5", len(c.in))
	}
	for i, v := range c.in {
		if v == nil {
			return nil, c.errf("arity", "input %d is missing", i)
		}
	}
	eps, err := c.takeFloat("epsilon", 1e-5)
	if err != nil {
		return nil, err
	}
	x, scale, bias, mean, variance := c.in[0], c.in[1], c.in[2], c.in[3], c.in[4]
	chain := []struct {
		op, suffix string
		in         func(v *ir.Value) []*ir.Value
	}{
		{"Add", ".var_eps", func(*ir.Value) []*ir.Value {
			return []*ir.Value{variance, c.constant(".epsilon", floatLike(variance, float64(eps)))}
		}},
		{"Sqrt", ".dev", func(v *ir.Value) []*ir.Value { return []*ir.Value{v} }},
		{"Div", ".factor", func(v *ir.Value) []*ir.Value { return []*ir.Value{scale, v} }},
	}
	var factor *ir.Value
	for _, s := range chain {
		if factor, err = c.sub(op.Get("", s.op), s.suffix, nil, s.in(factor)...); err != nil {
			return nil, err
		}
	}
	y, err := c.sub(op.Sub, ".centred", nil, x, mean)
	if err != nil {
		return nil, err
	}
	if y, err = c.sub(op.Mul, ".scaled", nil, y, factor); err != nil {
		return nil, err
	}
	return c.build(op.Add, nil, 1, y, bias)
}

// groupNorm until opset 21 had scale and bias per group.
func groupNorm(c *nodeCtx) ([]*ir.Value, error) {
	if c.opset < 21 && len(c.in) == 3 && c.in[0] != nil && c.in[0].Type.Rank() > 1 {
		channels := c.in[0].Type.Shape[1]
		for _, i := range []int{1, 2} {
			v := c.in[i]
			if v == nil || v.Type.Rank() != 1 || v.Type.Shape[0] == channels || v.Type.Shape[0] == 0 || channels%v.Type.Shape[0] != 0 {
				continue
			}
			groups := v.Type.Shape[0]
			idx := make([]int, channels)
			for k := range idx {
				idx[k] = k / (channels / groups)
			}
			w, err := c.sub(op.Get("", "Gather"), ".per_channel"+strconv.Itoa(i), ir.Attrs{"axis": ir.Int(0)}, v, c.constant(".group_index", tensor.Ints(idx...)))
			if err != nil {
				return nil, err
			}
			c.in[i] = w
		}
	}
	return c.plain()
}

// trainingNorm is BatchNormalization with the statistics of the batch itself,
// and the running ones updated with them.
func trainingNorm(e *composer) []*ir.Value {
	x := e.need(0, -1)
	e.int("training_mode", 0)
	momentum := e.float("momentum", 0.9)
	e.want(x.Type.Rank() >= 2, "rank", "input 0 (%s) has shape %v, want [N, C, ...]", x, x.Type.Shape)
	var axes []int
	for d := range x.Type.Shape {
		if d != 1 {
			axes = append(axes, d)
		}
	}
	channels := x.Type.Shape[1]
	mean := e.do("ReduceMean", nil, x, e.ints(axes...))
	centred := e.do("Sub", nil, x, mean)
	variance := e.do("ReduceMean", nil, e.do("Mul", nil, centred, centred), e.ints(axes...))
	mean, variance = e.reshape(mean, channels), e.reshape(variance, channels)
	update := func(i int, now *ir.Value) *ir.Value {
		old := e.need(i, 1)
		return e.do("Add", nil, e.do("Mul", nil, old, e.num(old, momentum)), e.do("Mul", nil, e.cast(now, old.Type.DType), e.num(old, 1-momentum)))
	}
	out, err := e.build(op.BatchNormalization, e.attrs, 1, x, e.need(1, 1), e.need(2, 1), mean, variance)
	e.fail(err)
	return []*ir.Value{out[0], update(3, mean), update(4, variance)}
}
