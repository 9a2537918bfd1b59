// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
)

// scaleShape: one scale, or one for every index of the axis.
var scaleShape = cond.New("SCALE-SHAPE", "one scale, or one for each index of the axis", func(n *kernel.Node) string {
	b := ir.AttrsOf[op.ScaleAttrs](n).BlockSize
	return cond.If(b != 0, "block_size is %d, want 0", b)
})

// scaleParams are the parameters and the constant scale and zero point arrays
// of the quantising kernels, over memory split at the axis.
func scaleParams(n *kernel.Node) (p *call.Struct, scale, zero *call.Blob) {
	t := n.In[0].Type
	scales := lists.Make(n.In[1].Const.Len(), func(i int) float32 { return float32(n.In[1].Const.Float(i)) })
	zeros := make([]int32, len(scales))
	if z := n.ConstIn(2); z != nil {
		for i := range zeros {
			zeros[i] = int32(z.Int(i))
		}
	}
	outer, axis, inner := 1, 1, t.Elems()
	if len(scales) > 1 {
		outer, axis, inner = outerAxisInner(t, kernel.Axis.Must(n))
	}
	p = params("nncc_quantize_params", ints("outer", outer, "axis", axis, "inner", inner)...)
	return p, array("scale", scales), array("zero", zeros)
}

// intTypes: element type to the suffix in a kernel's name.
var quantTypes = map[tensor.DType]string{tensor.I8: "s8", tensor.U8: "u8", tensor.I16: "s16", tensor.I32: "s32"}

func typeIn(code, what string, of func(n *ir.Node) ir.Type, allowed ...tensor.DType) kernel.Rule {
	return cond.New(code, fmt.Sprintf("%s is one of %v", what, allowed), func(n *kernel.Node) string {
		if t := of(n.Node); !slices.Contains(allowed, t.DType) {
			return fmt.Sprintf("%s is %s, want one of %v", what, cond.Short(t), allowed)
		}
		return ""
	})
}

func inType(i int) func(n *ir.Node) ir.Type { return func(n *ir.Node) ir.Type { return n.In[i].Type } }
func outType(n *ir.Node) ir.Type            { return n.Out[0].Type }

func quantizeKernels() []*kernel.Kernel {
	row := func(name, was, doc string, d *ir.OpDef, fn func(n *kernel.Node) string,
		conds ...kernel.Rule) *kernel.Kernel {
		return row(name, was, doc, same,
			kernel.All(kernel.Rules(conds), cond.NotEmpty, cond.Constant(1, 2), scaleShape),
			func(l *lowering, n *kernel.Node) {
				p, scale, zero := scaleParams(n)
				l.low.Kernel = fn(n)
				l.low.Unused = []int{1, 2}
				l.call(fn(n), p, l.in(0), scale, zero, l.out(0))
			}, d)
	}
	return []*kernel.Kernel{
		row("nncc_quantize_f32", "NNCC-QUANTIZE", "float32 to int8, uint8 or int16", op.QuantizeLinear,
			func(n *kernel.Node) string {
				if op.RoundsAway(n.Node) {
					return "nncc_quantize_away_f32_" + quantTypes[n.Out[0].Type.DType]
				}
				return "nncc_quantize_f32_" + quantTypes[n.Out[0].Type.DType]
			},
			typeIn("INPUT-TYPE", "the input", inType(0), tensor.F32),
			typeIn("SCALE-TYPE", "the scale", inType(1), tensor.F32),
			typeIn("OUTPUT-TYPE", "the output", outType, tensor.I8, tensor.U8, tensor.I16)),
		row("nncc_dequantize_f32", "NNCC-DEQUANTIZE", "int8, uint8, int16 or int32 to float32", op.DequantizeLinear,
			func(n *kernel.Node) string { return "nncc_dequantize_" + quantTypes[n.In[0].Type.DType] + "_f32" },
			typeIn("INPUT-TYPE", "the input", inType(0), tensor.I8, tensor.U8, tensor.I16, tensor.I32),
			typeIn("SCALE-TYPE", "the scale", inType(1), tensor.F32),
			typeIn("OUTPUT-TYPE", "the output", outType, tensor.F32)),
		xor80Row,
	}
}

// xor80Row shifts the zero point by 128 between int8 and uint8.
var xor80Row = row("nncc_convert_s8_u8", "NNCC-XOR80", "int8 to uint8 and back, the same reals", same,
	kernel.Rules{cond.New("OPPOSITE-ZEROS",
		"int8 and uint8 of one scale, zero points 128 apart", func(n *kernel.Node) string {
			x, y := n.In[0].Type, n.Out[0].Type
			flip := func(a, b ir.Type) bool {
				return a.DType == tensor.I8 && b.DType == tensor.U8 && a.Quant.Zero[0]+128 == b.Quant.Zero[0]
			}
			if x.Quant == nil || y.Quant == nil || x.Quant.PerAxis() || y.Quant.PerAxis() ||
				x.Quant.Scale[0] != y.Quant.Scale[0] || !flip(x, y) && !flip(y, x) {
				return fmt.Sprintf("from %s to %s, want int8 and uint8 of one scale with zero points 128 apart",
					cond.Full(x), cond.Full(y))
			}
			return ""
		}), cond.NotEmpty}, func(l *lowering, n *kernel.Node) {
		l.call("nncc_convert_s8_u8", params("nncc_count_params", call.FI("count", n.Out[0].Type.Elems())),
			bytesOf(l.in(0)), bytesOf(l.out(0)))
		l.inPlace(0)
	}, op.Requantize)
