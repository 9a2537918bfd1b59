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
	x, features, time, state, y := n.in(0), n.in(1), n.in(2), n.in(4), n.out()
	if state == nil || len(x.Shape) != 2 || len(features.Shape) != 2 || len(time.Shape) != 2 {
		return fmt.Errorf("want an input [batch, size], weights [filters, size] and [filters, memory], and a state")
	}
	if !x.Quantized() || x.DType != tensor.I8 || time.DType != state.DType {
		return fmt.Errorf("data %s, weights over time %s, state %s: want int8, and one type for the others", x.DType,
			time.DType, state.DType)
	}
	if err := svdfActivation(o.Activation(), y); err != nil {
		return err
	}
	filters, memory := time.Shape[0], time.Shape[1]
	if o.Rank() < 1 || filters%int(o.Rank()) != 0 {
		return fmt.Errorf("%d filters of rank %d, want a multiple", filters, o.Rank())
	}
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
