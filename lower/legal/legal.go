// Package legal holds the passes that bring a float graph to the form that
// quantisation, kernels and other toolchains expect. Each can be run alone.
package legal

import "github.com/nncc/nncc/ir/pass"

// Passes is the float pipeline in order; `nncc legalize --only` picks from it
// by name. cleanup runs twice.
var Passes = []pass.Pass{
	{Name: "const-fold", Doc: "evaluate what depends on constants only, and the shapes of values", Optional: true, Run: constFold},
	{Name: "cleanup", Doc: "remove identities, no-ops, doubles and dead code", Optional: true, Run: cleanup},
	{Name: "patterns", Doc: "recognise spelt-out Swish, Gelu, HardSwish, HardSigmoid, Mish, LayerNormalization", Numerics: pass.Reassoc, Optional: true, Run: patterns},
	{Name: "transpose", Doc: "cancel and merge transpositions across operators", Optional: true, Run: transposes, Numerics: pass.Reassoc},
	{Name: "integer-mac", Doc: "ConvInteger and MatMulInteger as float operators where that is exact", Optional: true, Run: integerMAC},
	{Name: "decompose", Doc: "one form for sums, means, reshapes, global pools, Gemm and MatMul", Numerics: pass.Reassoc, Optional: true, Run: decompose},
	{Name: "bn-fold", Doc: "fold BatchNormalization and other maps per channel into weights and biases", Numerics: pass.Reassoc, Optional: true, Run: bnFold},
	{Name: "bn-linear", Doc: "BatchNormalization as one Mul and one Add", Numerics: pass.Reassoc, Optional: true, Run: bnLinear},
	{Name: "conv1d", Doc: "1-D convolutions and pools in two dimensions", Numerics: pass.Reassoc, Optional: true, Run: conv1d},
	{Name: "cleanup", Doc: "remove identities, no-ops, doubles and dead code", Optional: true, Run: cleanup},
	{Name: "channel-conv", Doc: "a scale and shift per channel as a 1x1 depthwise convolution", Numerics: pass.Reassoc, Optional: true, Run: channelConv},
	{Name: "absorb", Doc: "Pad into windowed operators, Relu and Clip into the operators that feed them", Numerics: pass.Exact, Optional: true, Run: absorb},
	{Name: "flatten-order", Doc: "permute Gemm weights so that channels-last feature maps are flattened without a copy", Numerics: pass.Reassoc, Optional: true, Run: flattenOrder},
}

// Find is the pass called name, or nil.
func Find(name string) *pass.Pass { return pass.Find(Passes, name) }
