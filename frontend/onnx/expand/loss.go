// SPDX-License-Identifier: Apache-2.0

package expand

import (
	"slices"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// nllLoss is minus the score of the target class, weighted, reduced over
// everything.
func nllLoss(e *build.Node) []*ir.Value {
	return []*ir.Value{nll(e, e.Need(0, -1), e.Need(1, -1), e.Input(2))}
}

// crossEntropy is nllLoss of the logarithm of the softmax over the classes.
func crossEntropy(e *build.Node) []*ir.Value {
	x := e.Need(0, -1)
	e.Want(x.Type.Rank() >= 2, "rank", "scores (%s) have shape %v, want [N, classes, ...]", x, x.Type.Shape)
	logs := e.Do("LogSoftmax", ir.Attrs{"axis": ir.Int(1)}, x)
	return []*ir.Value{nll(e, logs, e.Need(1, -1), e.Input(2)), logs}
}

func nll(e *build.Node, x, target, weight *ir.Value) *ir.Value {
	reduction := e.Str("reduction", "mean", "none", "mean", "sum")
	ignore, ignoring := e.Take("ignore_index")
	e.Want(x.Type.Rank() >= 2, "rank", "scores (%s) have shape %v, want [N, classes, ...]", x, x.Type.Shape)
	s := x.Type.Shape
	e.Shaped(target, "target", append([]int{s[0]}, s[2:]...)...)
	e.Want(target.Type.DType.IsInt(), "dtype", "target (%s) is of type %s, want integers", target, target.Type.DType)
	target = e.Cast(target, tensor.I64)
	var skip *ir.Value
	if ignoring { // the index may be out of range: class 0 is read in its place
		skip = e.Do("Equal", nil, target, e.Data(tensor.Scalar(ignore.Int)))
		target = e.Do("Where", nil, skip, e.Data(tensor.Scalar(int64(0))), target)
	}
	at := slices.Clone(s)
	at[1] = 1
	loss := e.Do("GatherElements", ir.Attrs{"axis": ir.Int(1)}, x, e.Reshape(target, at...))
	loss = e.Do("Neg", nil, e.Reshape(loss, target.Type.Shape...))
	var factor *ir.Value
	if weight != nil {
		e.Shaped(weight, "weight", s[1])
		factor = e.Do("Gather", ir.Attrs{"axis": ir.Int(0)}, weight, target)
	}
	zero := e.Num(x, 0)
	if skip != nil {
		one := factor
		if one == nil {
			one = e.Num(x, 1)
		}
		factor = e.Do("Where", nil, skip, zero, one)
		loss = e.Do("Where", nil, skip, zero, loss)
	}
	if factor != nil {
		loss = e.Do("Mul", nil, loss, factor)
	}
	all := ir.Attrs{"keepdims": ir.Int(0)}
	switch {
	case reduction == "none":
		return loss
	case reduction == "sum":
		return e.Do("ReduceSum", all, loss)
	case factor == nil:
		return e.Do("ReduceMean", all, loss)
	}
	return e.Do("Div", nil, e.Do("ReduceSum", all, loss), e.Do("ReduceSum", all.Clone(), factor))
}
