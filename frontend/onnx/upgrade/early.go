// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// early are the operators of schema.Early whose form is not that of a newer
// operator of the same name. What they compute is what ONNX Runtime computes.
// Those that need no code are in functions/operators/early.txt.
var early = map[string]build.Rule{
	"ImageScaler":                  imageScaler,
	"MeanVarianceNormalization":    earlyMVN,
	"SimplifiedLayerNormalization": build.Renamed("RMSNormalization"),
}

// imageScaler is scale * x + bias, with a bias for every channel.
func imageScaler(n *build.Node) []*ir.Value {
	x, bias := n.Need(0, -1), n.FloatList("bias")
	n.Want(x.Type.Rank() == 4 && len(bias) == x.Type.Shape[1], "attr",
		"attribute bias has %d values, want one for each channel of an input [N, C, H, W]; it has the shape %v",
		len(bias), x.Type.Shape)
	y := n.Sub("Mul", ".scaled", nil, x, n.Constant(".scale", build.FloatLike(x, n.Float("scale", 1))))
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
