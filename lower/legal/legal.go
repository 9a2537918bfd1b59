// SPDX-License-Identifier: Apache-2.0

// Package legal holds the passes that bring a float graph to the form that
// quantisation, kernels and other toolchains expect. Each can be run alone.
package legal

import (
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
)

// Passes is the float pipeline in order; `nncc legalize --only` picks from it
// by name. cleanup runs twice.
var Passes = []pass.Pass{
	{Name: "einsum", Numerics: pass.Reassoc, Run: pass.Each(einsum), Doc: "Einsum as MatMul, Mul and ReduceSum"},
	{Name: "const-fold", Run: constFold, Doc: "evaluate what depends on constants only, and the shapes of values",
		Required: "shapes and parameters that are computed from constants are read as constants by all that follows"},
	{Name: "cleanup", Run: cleanup, Doc: "remove identities, no-ops, doubles and dead code",
		Required: "dead code and identities would be taken for outputs and readers"},
	{Name: "patterns", Numerics: pass.Reassoc, Run: patterns,
		Doc: "recognise spelt-out Swish, Gelu, HardSwish, HardSigmoid, Mish, LayerNormalization, RMSNormalization"},
	{Name: "conv3d", Numerics: pass.Reassoc, Run: pass.Each(conv3d),
		Doc: "3-D convolutions and pools in two dimensions, slices of depth as channels"},
	{Name: "transpose", Numerics: pass.Reassoc, Run: transposes,
		Doc: "cancel and merge transpositions across operators"},
	{Name: "integer-mac", Run: pass.Each(integerMAC),
		Doc:      "ConvInteger and MatMulInteger as float operators where that is exact",
		Required: "the quantiser and the kernels know ConvInteger and MatMulInteger in this form only"},
	{Name: "decompose", Numerics: pass.Reassoc, Run: pass.Each(decompose),
		Doc:      "one form for sums, means, reshapes, global pools, Gemm and MatMul",
		Required: "the quantiser and the kernels know one form of these operators"},
	{Name: "gemm-computed", Numerics: pass.Reassoc, Run: pass.Each(gemmToMatMul),
		Doc: "Gemm by a matrix that is computed as MatMul and Add, which have kernels of integers"},
	{Name: "product-parts", Numerics: pass.Reassoc, Run: Parts(op.Gemm),
		Doc: "one Gemm for each part of the columns of a Gemm, as queries, keys and values are"},
	{Name: "bn-fold", Numerics: pass.Reassoc, Run: bnFold,
		Doc: "fold BatchNormalization and other maps per channel into weights and biases"},
	{Name: "bn-linear", Numerics: pass.Reassoc, Run: pass.Each(bnLinear),
		Doc: "BatchNormalization as one Mul and one Add"},
	{Name: "factors", Numerics: pass.Reassoc, Run: pass.Each(moveFactor),
		Doc: "a factor into the weights in front of it, or behind MatMul, where integers have it in a scale"},
	{Name: "conv1d", Numerics: pass.Reassoc, Run: conv1d, Doc: "1-D convolutions and pools in two dimensions",
		Required: "convolution and pooling kernels have two spatial dimensions"},
	{Name: "cleanup", Run: cleanup, Doc: "remove identities, no-ops, doubles and dead code",
		Required: "dead code and identities would be taken for outputs and readers"},
	{Name: "channel-conv", Numerics: pass.Reassoc, Run: pass.Each(channelConv),
		Doc: "a scale and shift per channel as a 1x1 depthwise convolution"},
	{Name: "absorb", Run: absorb, Doc: "Pad into windowed operators, Relu and Clip into the operators that feed them"},
	{Name: "dead-taps", Run: pass.Each(deadTaps), Doc: "windows of Conv without the taps that see padding alone"},
	{Name: "flatten-order", Numerics: pass.Reassoc, Run: pass.Each(flattenOrder),
		Doc: "permute Gemm weights so that channels-last feature maps are flattened without a copy"},
	{Name: "pixel-shuffle", Run: pass.Each(pixelShuffle),
		Doc: "permute channels of convolutions so that DepthToSpace copies neighbours together"},
}

// Find is the pass called name, or nil.
func Find(name string) *pass.Pass { return pass.Find(Passes, name) }
