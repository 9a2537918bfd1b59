package cmsisnn

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
)

// What libraries of own kernels for the same operators share with this one:
// the conditions of CMSIS-NN's arithmetic, which they reproduce, and the
// geometry in two dimensions.

// ConvRules are the conditions on an int8 convolution under codes that begin
// with code.
func ConvRules(code string, depthwise bool) []kernel.Rule {
	return leavePacked(convRules(code, depthwise), func(n *ir.Node, o *kernel.Options) bool {
		// int4 depthwise filters are a byte each with Helium anyway
		return !depthwise || CoreISA(o.Core) != MVE
	})
}

// FCRules are the conditions on a fully connected layer.
func FCRules(code string) []kernel.Rule {
	return leavePacked(fcRules(code), func(*ir.Node, *kernel.Options) bool { return true })
}

// TransposedRules are the conditions on the operands of an int8 transposed
// convolution.
func TransposedRules(code string) []kernel.Rule {
	r := append(macRules(code, op.ConvQuantParams), spatialRule(code+"-05", convSpatial))
	return leavePacked(r, func(*ir.Node, *kernel.Options) bool { return true })
}

// KnownOperands reports what rules about the arithmetic of a layer may take for
// granted: input, weights and output quantised, weights and bias constant, the
// weights a byte each in memory. Of other nodes such rules say kernel.Unread.
func KnownOperands(n *ir.Node) bool {
	w := n.In[1]
	if n.In[0].Type.Quant == nil || w.Type.Quant == nil || w.Const == nil || n.Out[0].Type.Quant == nil {
		return false
	}
	if _, bytes := w.Const.Data.([]int8); !bytes { // int8, or int4 in bytes
		return false
	}
	b := n.Input(2)
	return b == nil || b.Const != nil
}

// leavePacked makes the rule about weights refuse int4 ones where "when" says
// so: CMSIS-NN's functions read them packed, other kernels would take a byte each.
func leavePacked(rules []kernel.Rule, when func(n *ir.Node, o *kernel.Options) bool) []kernel.Rule {
	check := rules[1].Check
	rules[1].Check = func(n *ir.Node, o *kernel.Options) string {
		if w := n.In[1]; w.Type.DType == tensor.I4 && when(n, o) {
			return fmt.Sprintf("the weights %s are int4, want a byte each", w)
		}
		return check(n, o)
	}
	return rules
}

// PoolRules are the conditions on pooling.
func PoolRules(code string) []kernel.Rule { return poolRules(code, needsInt8(code+"-01", []int{0})) }

// AddRules are the conditions on an addition.
func AddRules(code string) []kernel.Rule {
	return []kernel.Rule{binaryRule(code + "-01"), sameShapes(code + "-02")}
}

// Operand is operand i of an element-wise operator in the memory order of the
// output; constants become arrays of the output's size.
func Operand(n *ir.Node, i int) call.Arg { return vector(n, i) }

// Spatial gives a list for one or two spatial dimensions as height and width,
// v for a height that is not there.
func Spatial(s []int, v int) Tile { return geom2(s, v) }

// WeightPerm turns convolution weights OI(H)W into O(H)WI.
func WeightPerm(spatial int) []int { return weightPerm(spatial) }

// FCShape is a Gemm or MatMul with constant right side: rows x depth times
// depth x cols.
type FCShape struct {
	Rows, Depth, Cols int
	Params            *op.MACParams
	perm              []int
}

// FullyConnected gives the shape of such a node, or why it is none.
func FullyConnected(n *ir.Node) (*FCShape, string) {
	f, why := fcOf(n)
	if f == nil {
		return nil, why
	}
	return &FCShape{f.rows, f.depth, f.cols, f.params, f.perm}, why
}

// Weights are the constant weights as [cols][depth].
func (f *FCShape) Weights(n *ir.Node) *tensor.Dense {
	if f.perm == nil {
		return n.In[1].Const
	}
	return n.In[1].Const.Transpose(f.perm)
}

// Exchange are the batches, rows and columns of a Relayout that transposes
// matrices.
func Exchange(n *ir.Node) (batches, rows, cols int, ok bool) {
	size, perm := permutation(n)
	switch {
	case len(perm) == 2 && perm[0] == 1:
		return 1, size[0], size[1], true
	case len(perm) == 3 && perm[0] == 0 && perm[1] == 2:
		return size[0], size[1], size[2], true
	}
	return 0, 0, 0, false
}

// ExchangeRules are the conditions on such a Relayout of bytes, or on one that
// moves nothing.
func ExchangeRules(code string) []kernel.Rule {
	return []kernel.Rule{
		{Code: code + "-01", Doc: "8-bit data computed at run time", Check: func(n *ir.Node, _ *kernel.Options) string {
			v := n.In[0]
			if d := v.Type.DType; d != tensor.I8 && d != tensor.U8 {
				return fmt.Sprintf("%s is %s, want int8 or uint8", v, d)
			}
			if v.Const != nil {
				return fmt.Sprintf("%s is constant", v)
			}
			return ""
		}},
		{Code: code + "-02", Doc: "two runs of dimensions change places, the rest stays in front", Check: func(n *ir.Node, _ *kernel.Options) string {
			if _, _, _, ok := Exchange(n); !ok && !n.In[0].Type.SameMemory(n.Out[0].Type.Order) {
				return fmt.Sprintf("from order %v to %v", n.In[0].Type.OrderOrIdentity(), n.Out[0].Type.OrderOrIdentity())
			}
			return ""
		}},
	}
}
