// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/tflite/model"
	"github.com/nncc/nncc/ir/tensor"
)

// dynamic reports that a layer has quantised weights that are computed at run time: its
// sums are written as integers, in TensorFlow Lite's arithmetic.
func (n *operands) dynamic(w *model.Tensor) bool { return w.Data == nil && w.Quantized() }

// product writes a layer of int8 with such weights: op multiplies the integers, and to brings the
// sums into the order of the result.
func (n *operands) product(op string, x, w string, attrs []*pb.AttributeProto, act int8,
	to func(sum string) string) error {
	in, weights, y := n.in(0), n.in(1), n.out()
	if !quantised(tensor.I8, in, weights, y) {
		return fmt.Errorf("weights %q are computed at run time, of %s with %d scales for data of %s and %s; want a "+
			"constant, or int8 with one scale throughout", weights.Name, weights.DType, len(weights.Scale), in.DType,
			y.DType)
	}
	zero := func(t *model.Tensor) string { return n.kept(tensor.I8, []int{}, t.Zero[0]) }
	sum := to(n.step(op, []string{x, w, zero(in), zero(weights)}, attrs...))
	if b := n.in(2); b != nil {
		if b.DType != tensor.I32 {
			return fmt.Errorf("bias %q is %s, want int32", b.Name, b.DType)
		}
		sum = n.step("Add", []string{sum, n.c.raw(b)})
	}
	scale := float64(in.Scale[0]) * float64(weights.Scale[0]) / float64(y.Scale[0])
	return n.finish(sum, timesNumber(scale, 0), act)
}
