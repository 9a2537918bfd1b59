package onnx

import (
	"github.com/nncc/nncc/frontend/onnx/schema"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// early are the operators of schema.Early whose form is not that of a newer
// operator of the same name. What they compute is what ONNX Runtime computes.
var early = map[string]upgrader{
	"Affine":                       affine,
	"ImageScaler":                  imageScaler,
	"MeanVarianceNormalization":    earlyMVN,
	"ParametricSoftplus":           scaled("Softplus"),
	"Scale":                        func(c *nodeCtx) ([]*ir.Value, error) { return c.factor("scale", c.in) },
	"ScaledTanh":                   scaled("Tanh"),
	"SimplifiedLayerNormalization": renamed("RMSNormalization"),
}

// earlier is the upgrader of a node that the standard does not have in its
// opset.
func (c *nodeCtx) earlier() upgrader {
	if domain(c.p.GetDomain()) != "" || schema.Early(c.p.GetOpType(), int64(c.opset)) == nil {
		return nil
	}
	return early[c.p.GetOpType()]
}

// factor multiplies the only input by an attribute.
func (c *nodeCtx) factor(attr string, in []*ir.Value) ([]*ir.Value, error) {
	f, err := c.takeFloat(attr, 1)
	if err != nil {
		return nil, err
	}
	return c.build(op.Mul, nil, 1, in[0], c.constant("."+attr, floatLike(in[0], float64(f))))
}

// affine is alpha * x + beta.
func affine(c *nodeCtx) ([]*ir.Value, error) {
	alpha, err := c.takeFloat("alpha", 1)
	if err != nil {
		return nil, err
	}
	beta, err := c.takeFloat("beta", 0)
	if err != nil {
		return nil, err
	}
	m, err := c.sub(op.Mul, ".scaled", nil, c.in[0], c.constant(".alpha", floatLike(c.in[0], float64(alpha))))
	if err != nil {
		return nil, err
	}
	return c.build(op.Add, nil, 1, m, c.constant(".beta", floatLike(c.in[0], float64(beta))))
}

// scaled is alpha * f(beta * x); both factors have to be given.
func scaled(f string) upgrader {
	return func(c *nodeCtx) ([]*ir.Value, error) {
		for _, a := range []string{"alpha", "beta"} {
			if _, ok := c.attrs[a]; !ok {
				return nil, c.errf("attr", "attribute %s is missing: the operator has no default for it", a)
			}
		}
		beta, err := c.takeFloat("beta", 1)
		if err != nil {
			return nil, err
		}
		m, err := c.sub(op.Mul, ".inner", nil, c.in[0], c.constant(".beta", floatLike(c.in[0], float64(beta))))
		if err != nil {
			return nil, err
		}
		if m, err = c.sub(op.Get("", f), ".function", nil, m); err != nil {
			return nil, err
		}
		return c.factor("alpha", []*ir.Value{m})
	}
}

// imageScaler is scale * x + bias, with a bias for every channel.
func imageScaler(c *nodeCtx) ([]*ir.Value, error) {
	scale, err := c.takeFloat("scale", 1)
	if err != nil {
		return nil, err
	}
	a, ok := c.take("bias")
	x := c.in[0]
	if !ok || x.Type.Rank() != 4 || a.Kind != ir.AttrFloats || len(a.Floats) != x.Type.Shape[1] {
		return nil, c.errf("attr", "attribute bias has %d values, want one for each channel of an input [N, C, H, W]; it has the shape %v", len(a.Floats), x.Type.Shape)
	}
	bias := make([]float64, len(a.Floats))
	for i, f := range a.Floats {
		bias[i] = float64(f)
	}
	m, err := c.sub(op.Mul, ".scaled", nil, x, c.constant(".scale", floatLike(x, float64(scale))))
	if err != nil {
		return nil, err
	}
	return c.build(op.Add, nil, 1, m, c.constant(".bias", tensor.FromFloats(x.Type.DType, []int{len(bias), 1, 1}, bias)))
}

// earlyMVN has two switches in place of axes: the mean is over the batch and the
// image, and over the channels on request; the variance can be left alone.
func earlyMVN(c *nodeCtx) ([]*ir.Value, error) {
	across, err := c.takeInt("across_channels", 0)
	if err != nil {
		return nil, err
	}
	variance, err := c.takeInt("normalize_variance", 1)
	if err != nil {
		return nil, err
	}
	axes := []int{0, 2, 3}
	if across != 0 {
		axes = []int{0, 1, 2, 3}
	}
	if c.in[0].Type.Rank() != 4 {
		return nil, c.errf("rank", "the input has the shape %v, want [N, C, H, W]", c.in[0].Type.Shape)
	}
	if variance != 0 {
		return c.build(op.Get("", "MeanVarianceNormalization"), ir.Attrs{"axes": ir.Ints(axes...)}, 1, c.in[0])
	}
	w := make([]int64, len(axes))
	for i, a := range axes {
		w[i] = int64(a)
	}
	m, err := c.sub(op.Get("", "ReduceMean"), ".mean", ir.Attrs{"keepdims": ir.Int(1)}, c.in[0], c.constant(".axes", ints64(w)))
	if err != nil {
		return nil, err
	}
	return c.build(op.Sub, nil, 1, c.in[0], m)
}
