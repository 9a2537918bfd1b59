package upgrade

import (
	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// early are the operators of schema.Early whose form is not that of a newer
// operator of the same name. What they compute is what ONNX Runtime computes.
var early = map[string]build.Rule{
	"Affine":                       affine,
	"ImageScaler":                  imageScaler,
	"MeanVarianceNormalization":    earlyMVN,
	"ParametricSoftplus":           scaled("Softplus"),
	"Scale":                        func(n *build.Node) []*ir.Value { return factor(n, "scale", n.Need(0, -1)) },
	"ScaledTanh":                   scaled("Tanh"),
	"SimplifiedLayerNormalization": build.Renamed("RMSNormalization"),
}

// number is an attribute as a constant of the type of the input.
func number(n *build.Node, attr string, def float32) *ir.Value {
	return n.Constant("."+attr, build.FloatLike(n.Need(0, -1), n.Float(attr, def)))
}

// factor multiplies by an attribute.
func factor(n *build.Node, attr string, x *ir.Value) []*ir.Value {
	return n.Result("Mul", nil, x, number(n, attr, 1))
}

// affine is alpha * x + beta.
func affine(n *build.Node) []*ir.Value {
	y := n.Sub("Mul", ".scaled", nil, n.Need(0, -1), number(n, "alpha", 1))
	return n.Result("Add", nil, y, number(n, "beta", 0))
}

// scaled is alpha * f(beta * x); both factors have to be given.
func scaled(f string) build.Rule {
	return func(n *build.Node) []*ir.Value {
		for _, a := range []string{"alpha", "beta"} {
			_, ok := n.Attrs[a]
			n.Want(ok, "attr", "attribute %s is missing: the operator has no default for it", a)
		}
		inner := n.Sub("Mul", ".inner", nil, n.Need(0, -1), number(n, "beta", 1))
		return factor(n, "alpha", n.Sub(f, ".function", nil, inner))
	}
}

// imageScaler is scale * x + bias, with a bias for every channel.
func imageScaler(n *build.Node) []*ir.Value {
	x, bias := n.Need(0, -1), n.FloatList("bias")
	n.Want(x.Type.Rank() == 4 && len(bias) == x.Type.Shape[1], "attr",
		"attribute bias has %d values, want one for each channel of an input [N, C, H, W]; it has the shape %v", len(bias), x.Type.Shape)
	y := n.Sub("Mul", ".scaled", nil, x, number(n, "scale", 1))
	perChannel := tensor.Of([]int{len(bias), 1, 1}, bias).Cast(x.Type.DType)
	return n.Result("Add", nil, y, n.Constant(".bias", perChannel))
}

// earlyMVN has two switches in place of axes: the mean is over the batch and the
// image, and over the channels on request; the variance can be left alone.
func earlyMVN(n *build.Node) []*ir.Value {
	x, axes := n.Need(0, -1), []int{0, 2, 3}
	if n.Bool("across_channels", false) {
		axes = []int{0, 1, 2, 3}
	}
	n.Want(x.Type.Rank() == 4, "rank", "the input has the shape %v, want [N, C, H, W]", x.Type.Shape)
	if n.Bool("normalize_variance", true) {
		return n.Result("MeanVarianceNormalization", ir.Attrs{"axes": ir.Ints(axes...)}, x)
	}
	mean := n.Sub("ReduceMean", ".mean", ir.Attrs{"keepdims": ir.Int(1)}, x, n.Constant(".axes", tensor.Ints(axes...)))
	return n.Result("Sub", nil, x, mean)
}
