// SPDX-License-Identifier: Apache-2.0

// Package expand writes operators as simpler ones: operators that ONNX defines by a
// function, with the sizes at hand instead of computed; quantised operators as the
// float operator between DequantizeLinear and QuantizeLinear; what ONNX Runtime's
// optimiser fused; sequences; classical models of ai.onnx.ml.
package expand

import (
	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
)

type key struct{ domain, op string }

var rules = map[key]build.Rule{}

const microsoft = "com.microsoft"

func init() {
	domains := map[string][]map[string]build.Rule{
		"":           {standard, sequences, takers},
		"ai.onnx.ml": {classical},
		microsoft:    {quantised, fusedOps, transformer},
		"PACTOps":    {pact},
	}
	for _, d := range qonnxDomains {
		domains[d] = append(domains[d], qonnx)
	}
	for domain, lists := range domains {
		for _, list := range lists {
			for name, r := range list {
				rules[key{domain, name}] = r
			}
		}
	}
}

// Rule is the rule of an operator in its newest form; nil where it is taken as it is.
func Rule(domain, name string) build.Rule {
	if o := op.Get("", name); o != nil && domain == lastDomain {
		return onLast
	}
	return rules[key{domain, name}]
}

var standard = map[string]build.Rule{
	"Attention": attention, "LinearAttention": linearAttention, "CausalConvWithState": causalConv,
	"RotaryEmbedding":           rotary,
	"NegativeLogLikelihoodLoss": nllLoss, "SoftmaxCrossEntropyLoss": crossEntropy,
	"AffineGrid": affineGrid, "TensorScatter": tensorScatter, "CenterCropPad": centerCropPad,
	"CumSum": runningTotal, "CumProd": runningTotal, "NonZero": nonZero, "Compress": compress, "Unique": unique,
	"DFT": dft, "STFT": stft, "MelWeightMatrix": melWeights, "BlackmanWindow": window(0.42, 0.5, 0.08),
	"HannWindow": window(0.5, 0.5, 0), "HammingWindow": window(25.0/46, 21.0/46, 0),
	"RandomUniform": random(false, false), "RandomNormal": random(false, true), "RandomUniformLike": random(true,
		false),
	"RandomNormalLike": random(true, true), "Bernoulli": bernoulli, "Multinomial": multinomial,
	"QuantizeLinear": quantizeLinear, "DequantizeLinear": quantizeLinear,
	"QLinearConv": qLinearConv, "QLinearMatMul": qLinearMatMul,
	"Constant": constant, "Cast": cast,
}

// cast leaves text as it is.
func cast(e *build.Node) []*ir.Value {
	if e.Attrs["to"].Int == model.TextType {
		_, text := e.Texts[e.Input(0)]
		e.Want(text, "dtype-unsupported", "makes text of numbers, which firmware does not; want the numbers, without "+
			"this node")
		return e.Result("Identity", nil, e.In[0])
	}
	return e.Plain()
}

func constant(e *build.Node) []*ir.Value {
	if a, ok := e.Take("value_string"); ok {
		return []*ir.Value{e.Text(nil, []string{a.String})}
	}
	if texts := e.Names("value_strings"); texts != nil {
		return []*ir.Value{e.Text([]int{len(texts)}, texts)}
	}
	if a := e.Attrs["value"]; a.Kind == ir.AttrStrings {
		return []*ir.Value{e.Text(lists.Map(a.Ints, func(d int64) int { return int(d) }), a.Strings)}
	}
	if a, ok := e.Take("sparse_value"); ok {
		e.Attrs["value"] = a
	}
	return e.Plain()
}
