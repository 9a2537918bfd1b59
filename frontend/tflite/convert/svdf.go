// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/frontend/tflite/model"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// svdf writes nncc.SVDF, with its state as a variable. Inputs: data, weights of features,
// weights over time, bias, state.
func svdf(n *node) {
	var o fb.SVDFOptions
	n.options("SVDFOptions", o.Init)
	x, time, state, y := n.in(0), n.in(2), n.in(4), n.out()
	n.svdfOperands(int(o.Rank()))
	if x.DType == tensor.F32 {
		n.floatSVDF(&o)
		return
	}
	n.svdfActivation(o.Activation(), y)
	filters, memory := time.Shape[0], time.Shape[1]
	v := n.c.tensorVariable(state)
	at := n.c.like(state, n.make("state", "Reshape", vals{n.c.value(v), n.list(x.Shape[0], filters, memory)}))
	b, next := n.svdfBias(filters/int(o.Rank())), n.beside(state, "next")
	out := n.c.add("nncc.SVDF", []string{n.c.realName(y), n.c.realName(next)},
		vals{n.real(0), n.real(1), n.real(2), b, n.c.real(at)}, intAttr("rank", int(o.Rank())))
	n.c.store(y, out[0])
	n.c.store(next, out[1])
	v.last = n.make("kept", "Reshape", vals{n.c.raw(next), n.list(state.Shape...)})
}

// svdfOperands checks the operands: int8, or float32 throughout.
func (n *node) svdfOperands(rank int) {
	x, features, time, state := n.in(0), n.in(1), n.in(2), n.in(4)
	n.refuse(state == nil || len(x.Shape) != 2 || len(features.Shape) != 2 || len(time.Shape) != 2,
		"want an input [batch, size], weights [filters, size] and [filters, memory], and a state")
	float := x.DType == tensor.F32 && state.DType == tensor.F32
	n.refuse(!float && (!quantised(tensor.I8, x, features, n.out()) || !integer(time, state) ||
		time.DType != state.DType),
		"data %s, weights %s, weights over time %s with %d scales, state %s with %d: want int8, and "+
			"one type for the last two, of one scale each; or float32 throughout", x.DType, features.DType, time.DType,
		len(time.Scale), state.DType, len(state.Scale))
	n.refuse(rank < 1 || time.Shape[0]%rank != 0 || time.Shape[1] < 1,
		"%d filters of rank %d over %d steps, want a multiple, and at least one step", time.Shape[0], rank,
		time.Shape[1])
}

// floatSVDF writes the layer in real numbers: the products of the filters join the state
// behind those of the steps before, and the state is multiplied with the weights over time.
func (n *node) floatSVDF(o *fb.SVDFOptions) {
	x, time, state := n.in(0), n.in(2), n.in(4)
	batch, filters, memory, rank := x.Shape[0], time.Shape[0], time.Shape[1], int(o.Rank())
	v := n.c.tensorVariable(state)
	kept := n.reshape(n.c.value(v), batch, filters, memory)
	now := n.step("Gemm", vals{n.real(0), n.real(1)}, intAttr("transB", 1))
	now = n.step("Unsqueeze", vals{now, n.list(-1)})
	next := n.join(n.cut(kept, 1, memory), now)
	v.last = n.make("kept", "Reshape", vals{next, n.list(state.Shape...)})
	sum := n.step("Mul", vals{next, n.real(2)})
	sum = n.reshape(sum, batch, filters/rank, rank*memory)
	sum = n.step("ReduceSum", vals{sum, n.list(-1)}, intAttr("keepdims", 0))
	if b := n.in(3); b != nil {
		n.activated(o.Activation(), "Add", vals{sum, n.c.real(b)})
		return
	}
	n.activated(o.Activation(), "Identity", vals{sum})
}

func (n *node) svdfActivation(a int8, y *model.Tensor) {
	n.refuse(a != actNone && !(a == actRelu && y.Quantized() && y.Zero[0] == -128),
		"activation %d, want NONE, or RELU with a result that holds nothing below 0", a)
}

// svdfBias is the bias, zeros where there is none, in the scale of the state times that of
// the weights over time.
func (n *node) svdfBias(units int) *ir.Value {
	v := make([]int32, units)
	if b := n.in(3); b != nil {
		d := n.data(b, "bias")
		n.refuse(d.Len() != units, "a bias of %d elements for %d units", d.Len(), units)
		for i := range v {
			v[i] = int32(d.Int(i))
		}
	}
	t := &model.Tensor{Scale: []float32{n.in(4).Scale[0] * n.in(2).Scale[0]}, Zero: []int64{0}}
	return n.c.real(n.c.like(t, n.constant("bias", tensor.Of([]int{units}, v))))
}
