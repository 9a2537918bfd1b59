// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// upsample is Resize with the rules of opset 10. Scales were an attribute in
// opset 7 and an input in opset 9.
func upsample(n *build.Node) []*ir.Value {
	n.Want(n.Input(0) != nil, "arity", "has no input")
	scales := n.Input(1)
	if v := n.FloatList("scales"); v != nil {
		scales = n.Constant(".scales", tensor.Of([]int{len(v)}, v))
	}
	n.Want(scales != nil, "arity", "has no scales")
	return resize10(n, n.In[0], scales)
}

// resize in opset 10 had (X, scales).
func resize(n *build.Node) []*ir.Value {
	if n.Opset >= 11 {
		return n.Plain()
	}
	n.Want(len(n.In) == 2 && n.In[0] != nil && n.In[1] != nil, "arity", "has %d inputs, want 2 in opset %d", len(n.In),
		n.Opset)
	return resize10(n, n.In[0], n.In[1])
}

// resize10 resamples as Upsample and Resize did until opset 10: asymmetric
// coordinates; mode nearest takes the source element below where a dimension
// grows and the one above where it shrinks.
func resize10(n *build.Node, x, scales *ir.Value) []*ir.Value {
	mode := n.Str("mode", "nearest")
	attrs := func(nearest string) ir.Attrs {
		return ir.Attrs{"mode": ir.Str(mode), "coordinate_transformation_mode": ir.Str("asymmetric"),
			"nearest_mode": ir.Str(nearest)}
	}
	if mode != "nearest" || scales.Const == nil {
		return n.Result("Resize", attrs("floor"), x, nil, scales)
	}
	k := scales.Const.Len()
	down, up := make([]float32, k), make([]float32, k)
	shrinks, grows := false, false
	for i := range k {
		s := float32(scales.Const.Float(i))
		down[i], up[i] = min(s, 1), max(s, 1)
		shrinks, grows = shrinks || s < 1, grows || s > 1
	}
	switch {
	case !shrinks:
		return n.Result("Resize", attrs("floor"), x, nil, scales)
	case !grows:
		return n.Result("Resize", attrs("ceil"), x, nil, scales)
	}
	y := n.Sub("Resize", ".down", attrs("ceil"), x, nil, n.Constant(".down_scales", tensor.Of([]int{k}, down)))
	return n.Result("Resize", attrs("floor"), y, nil, n.Constant(".up_scales", tensor.Of([]int{k}, up)))
}
