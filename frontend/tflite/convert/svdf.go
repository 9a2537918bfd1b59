// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"

	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/frontend/tflite/model"
	"github.com/nncc/nncc/ir/tensor"
)

// svdf writes nncc.SVDF, with its state as a variable. Inputs: data, weights of features,
// weights over time, bias, state.
func svdf(n *operands) error {
	var o fb.SVDFOptions
	if err := n.options("SVDFOptions", o.Init); err != nil {
		return err
	}
	x, time, state, y := n.in(0), n.in(2), n.in(4), n.out()
	if err := n.svdfOperands(int(o.Rank())); err != nil {
		return err
	}
	if x.DType == tensor.F32 {
		return n.floatSVDF(&o)
	}
	if err := svdfActivation(o.Activation(), y); err != nil {
		return err
	}
	filters, memory := time.Shape[0], time.Shape[1]
	v := n.c.tensorVariable(state)
	at := *state
	at.Name, at.Shape = n.c.fresh(y, "state"), []int{x.Shape[0], filters, memory}
	n.c.node("Reshape", at.Name, []string{n.c.value(v), n.list("filters", at.Shape...)})
	b, err := n.svdfBias(filters / int(o.Rank()))
	if err != nil {
		return err
	}
	next := at
	next.Name = n.c.fresh(y, "next")
	n.c.nodes("nncc.SVDF", []string{n.c.realOut(y), n.c.realOut(&next)},
		[]string{n.real(0), n.real(1), n.real(2), b, n.c.real(&at)}, intAttr("rank", int(o.Rank())))
	n.c.store(y)
	n.c.store(&next)
	v.last = n.c.node("Reshape", n.c.fresh(y, "kept"), []string{next.Name, n.list("state_shape", state.Shape...)})
	return nil
}

// svdfOperands checks the operands: int8, or float32 throughout.
func (n *operands) svdfOperands(rank int) error {
	x, features, time, state := n.in(0), n.in(1), n.in(2), n.in(4)
	if state == nil || len(x.Shape) != 2 || len(features.Shape) != 2 || len(time.Shape) != 2 {
		return fmt.Errorf("want an input [batch, size], weights [filters, size] and [filters, memory], and a state")
	}
	float := x.DType == tensor.F32 && state.DType == tensor.F32
	if !float && (!quantised(tensor.I8, x, features, n.out()) || !integer(time, state) || time.DType != state.DType) {
		return fmt.Errorf("data %s, weights %s, weights over time %s with %d scales, state %s with %d: want int8, and "+
			"one type for the last two, of one scale each; or float32 throughout", x.DType, features.DType, time.DType,
			len(time.Scale), state.DType, len(state.Scale))
	}
	if rank < 1 || time.Shape[0]%rank != 0 || time.Shape[1] < 1 {
		return fmt.Errorf("%d filters of rank %d over %d steps, want a multiple, and at least one step", time.Shape[0],
			rank, time.Shape[1])
	}
	return nil
}

// floatSVDF writes the layer in real numbers: the products of the filters join the state
// behind those of the steps before, and the state is multiplied with the weights over time.
func (n *operands) floatSVDF(o *fb.SVDFOptions) error {
	x, time, state, y := n.in(0), n.in(2), n.in(4), n.out()
	batch, filters, memory, rank := x.Shape[0], time.Shape[0], time.Shape[1], int(o.Rank())
	v := n.c.tensorVariable(state)
	kept := n.step("Reshape", []string{n.c.value(v), n.list("filters", batch, filters, memory)})
	now := n.step("Gemm", []string{n.real(0), n.real(1)}, intAttr("transB", 1))
	now = n.step("Unsqueeze", []string{now, n.list("newest", -1)})
	next := n.join(n.cut(kept, 1, memory), now)
	v.last = n.c.node("Reshape", n.c.fresh(y, "kept"), []string{next, n.list("state_shape", state.Shape...)})
	sum := n.step("Mul", []string{next, n.real(2)})
	sum = n.step("Reshape", []string{sum, n.list("units", batch, filters/rank, rank*memory)})
	sum = n.step("ReduceSum", []string{sum, n.list("over", -1)}, intAttr("keepdims", 0))
	return n.activate(o.Activation(), func(result string) {
		if b := n.in(3); b != nil {
			n.c.node("Add", result, []string{sum, n.c.real(b)})
			return
		}
		n.c.node("Identity", result, []string{sum})
	})
}

func svdfActivation(a int8, y *model.Tensor) error {
	if a != actNone && !(a == actRelu && y.Quantized() && y.Zero[0] == -128) {
		return fmt.Errorf("activation %d, want NONE, or RELU with a result that holds nothing below 0", a)
	}
	return nil
}

// svdfBias is the bias, zeros where there is none, in the scale of the state times that of
// the weights over time.
func (n *operands) svdfBias(units int) (string, error) {
	v := make([]int32, units)
	if b := n.in(3); b != nil {
		d, err := b.Const()
		if err != nil {
			return "", fmt.Errorf("bias: %w", err)
		}
		if d.Len() != units {
			return "", fmt.Errorf("a bias of %d elements for %d units", d.Len(), units)
		}
		for i := range v {
			v[i] = int32(d.Int(i))
		}
	}
	t := &model.Tensor{Name: n.c.fresh(n.out(), "bias"), DType: tensor.I32, Shape: []int{units},
		Scale: []float32{n.in(4).Scale[0] * n.in(2).Scale[0]}, Zero: []int64{0}}
	n.c.constant(t.Name, tensor.Of(t.Shape, v))
	return n.c.real(t), nil
}
