// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// ConvAttrs are the attributes of Conv.
type ConvAttrs struct {
	AutoPad     string `default:"NOTSET"`
	Dilations   []int
	FcScale     int `default:"0"`
	Group       int `default:"1"`
	KernelShape []int
	Pads        []int
	Strides     []int
	Act
}

// Conv is the convolution over 1 to 3 spatial dimensions. Input [N, C,
// spatial...], weights [COut, C/group, kernel...], optional bias [COut];
// output [N, COut, spatial...]. Quantised: exactly CMSIS-NN's convolution and
// depthwise convolution, see mac.go.
var Conv = def(ir.OpDef{
	Name: "Conv", Doc: "convolution in 1 to 3 dimensions, with groups and dilation",
	// fc_scale is nncc's own: quantised per tensor, the scales of data and weights
	// multiply in float32, as those of the Gemm or MatMul that the Conv was.
	Attrs: ir.Declare[ConvAttrs](),
	MinIn: 2, MaxIn: 3,
	Infer:   inferConv,
	Eval:    evalConv,
	EvalQ:   evalConvQ,
	Quant:   ir.QInt,
	Pattern: ir.OutFusable,
	Window:  ir.Convolved, WeightAxis: func(*ir.Node) int { return 0 },
	MACs: func(n *ir.Node) int64 {
		g, err := ConvGeometry(n)
		if err != nil {
			return 0
		}
		return work(g.N, product(g.Out), g.COut, g.CIn/g.Group, g.Taps())
	},
})

// ConvTransposeAttrs are the attributes of ConvTranspose.
type ConvTransposeAttrs struct {
	AutoPad       string `default:"NOTSET"`
	Dilations     []int
	Group         int `default:"1"`
	KernelShape   []int
	OutputPadding []int
	OutputShape   []int
	Pads          []int
	Strides       []int
	Act
}

// ConvTranspose is the transposed convolution. Input [N, C, spatial...],
// weights [C, COut/group, kernel...], optional bias [COut].
var ConvTranspose = def(ir.OpDef{
	Name: "ConvTranspose", Doc: "transposed convolution in 1 to 3 dimensions",
	Attrs: ir.Declare[ConvTransposeAttrs](),
	MinIn: 2, MaxIn: 3,
	Infer:   inferConv,
	Eval:    evalConvTranspose,
	EvalQ:   evalConvQ,
	Quant:   ir.QInt,
	Pattern: ir.OutFusable,
	Window:  ir.Convolved, WeightAxis: func(*ir.Node) int { return 1 },
	MACs: func(n *ir.Node) int64 {
		g, err := ConvGeometry(n)
		if err != nil {
			return 0
		}
		return work(g.N, product(g.In), g.CIn, g.COut/g.Group, g.Taps())
	},
})

func inferConv(n *ir.Node) ([]ir.Type, error) {
	g := fail.Must(ConvGeometry(n))
	typed := []int{0, 1, 2}
	if b := n.Input(2); b != nil && b.Type.DType == tensor.F32 && n.In[0].Type.DType == tensor.BF16 {
		typed = typed[:2] // sums of bfloat16 products are wider than that: so may the bias be
	}
	fail.Check(floatInputs(n, typed...))
	return one(ir.T(n.In[0].Type.DType, append([]int{g.N, g.COut}, g.Out...)...))
}

// floatInputs checks that the listed inputs are floats of one type, unless
// they are quantised: then parameters are checked where they are derived.
func floatInputs(n *ir.Node, idx ...int) error {
	fail.Check(wantType(n, idx[0], floatTypes))
	return wantSameTypes(n, idx...)
}

func evalConv(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	g := fail.Must(ConvGeometry(n))
	if out, ok := convolveSingle(n, g, in); ok {
		return outs(out)
	}
	return inFloat(in, convolve(n, g, convSum[float64])), nil
}

// convolve computes sums in float64.
func convolve(n *ir.Node, g *ConvGeom,
	sum func(g *ConvGeom, x, w, b, y []float64)) func(in []*tensor.Dense) []*tensor.Dense {
	return func(in []*tensor.Dense) []*tensor.Dense {
		y := make([]float64, g.N*g.COut*product(g.Out))
		sum(g, tensor.As[float64](in[0]), tensor.As[float64](in[1]), floats[float64](opt(in, 2)), y)
		return []*tensor.Dense{ClampAct(n, tensor.Of(append([]int{g.N, g.COut}, g.Out...), y))}
	}
}

func evalConvTranspose(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	g := fail.Must(ConvGeometry(n))
	return inFloat(in, convolve(n, g, convTransposeSum[float64])), nil
}
