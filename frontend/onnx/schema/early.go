// SPDX-License-Identifier: Apache-2.0

package schema

import "slices"

// early are the operators that ONNX Runtime registers in ai.onnx although the
// standard has them later, in another form, or not at all (its contrib
// definitions; models in which its optimiser fused nodes, and old ones, have them).
// Those that were experimental in ONNX hold until opset 9.
var early = []earlyOp{
	{9, Schema{Name: "Affine", Since: 1, MinIn: 1, MinOut: 1, In: oneIn, Out: oneOut, Attrs: factors(1, 0),
		Vars: floats}},
	{9, Schema{Name: "ImageScaler", Since: 1, MinIn: 1, MinOut: 1, In: oneIn, Out: oneOut, Vars: floats,
		Attrs: []Attr{{Name: "bias", Type: Floats}, {Name: "scale", Type: Float, Default: float32(1)}}}},
	{0, Schema{Name: "LayerNormalization", Since: 1, MinIn: 2, MinOut: 1, Vars: floats,
		In:  []Param{{"X", "T", Single}, {"Scale", "T", Single}, {"B", "T", Optional}},
		Out: []Param{{"Y", "T", Single}, {"Mean", "T", Optional}, {"InvStdDev", "T", Optional}}, Attrs: norm}},
	{0, Schema{Name: "MeanVarianceNormalization", Since: 1, MinIn: 1, MinOut: 1, In: oneIn, Out: oneOut, Vars: floats,
		Attrs: []Attr{{Name: "across_channels", Type: Int, Default: int64(0)},
			{Name: "normalize_variance", Type: Int, Default: int64(1)}}}},
	{9, Schema{Name: "ParametricSoftplus", Since: 1, MinIn: 1, MinOut: 1, In: oneIn, Out: oneOut, Vars: floats,
		Attrs: []Attr{{Name: "alpha", Type: Float}, {Name: "beta", Type: Float}}}},
	{9, Schema{Name: "Scale", Since: 1, MinIn: 1, MinOut: 1, In: oneIn, Out: oneOut, Vars: floats,
		Attrs: []Attr{{Name: "scale", Type: Float, Default: float32(1)}}}},
	{9, Schema{Name: "ScaledTanh", Since: 1, MinIn: 1, MinOut: 1, In: oneIn, Out: oneOut, Vars: floats,
		Attrs: []Attr{{Name: "alpha", Type: Float}, {Name: "beta", Type: Float}}}},
	{0, Schema{Name: "SimplifiedLayerNormalization", Since: 1, MinIn: 2, MinOut: 1, Vars: floats,
		In:  []Param{{"X", "T", Single}, {"scale", "T", Single}},
		Out: []Param{{"Y", "T", Single}, {"inv_std_var", "T", Optional}}, Attrs: norm}},
	{0, Schema{Name: "ThresholdedRelu", Since: 1, MinIn: 1, MinOut: 1, In: oneIn, Out: oneOut, Vars: floats,
		Attrs: []Attr{{Name: "alpha", Type: Float, Default: float32(1)}}}},
}

var (
	oneIn  = []Param{{"X", "T", Single}}
	oneOut = []Param{{"Y", "T", Single}}
	floats = []Var{{"T", ParseTypes("double float float16 bfloat16")}}
	norm   = []Attr{{Name: "axis", Type: Int, Default: int64(-1)},
		{Name: "epsilon", Type: Float, Default: float32(1e-5)},
		{Name: "stash_type", Type: Int, Default: int64(1)}}
)

func factors(alpha, beta float32) []Attr {
	return []Attr{{Name: "alpha", Type: Float, Default: alpha}, {Name: "beta", Type: Float, Default: beta}}
}

// earlyOp is an operator that holds until an opset; 0: until the standard has one
// of its name.
type earlyOp struct {
	until int
	Schema
}

// Early finds an operator of ai.onnx that ONNX Runtime knows in an opset in
// which the standard has none of that name; nil where there is no such.
func Early(op string, opset int64) *Schema {
	if Lookup("", op, opset) != nil {
		return nil
	}
	i := slices.IndexFunc(early, func(s earlyOp) bool {
		return s.Name == op && int64(s.Since) <= opset && (s.until == 0 || opset <= int64(s.until))
	})
	if i < 0 {
		return nil
	}
	return &early[i].Schema
}
