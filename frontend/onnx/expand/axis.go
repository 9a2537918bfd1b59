// SPDX-License-Identifier: Apache-2.0

package expand

import (
	"errors"
	"slices"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// runningTotal is a running total along an axis that may be computed at run time.
func runningTotal(e *build.Node) []*ir.Value {
	axis := e.Input(1)
	if axis == nil || axis.Const != nil {
		return e.Plain()
	}
	x, attrs := e.Need(0, -1), e.Attrs
	return alongAxis(e, axis, ir.Identity(x.Type.Rank()), func(k int) *ir.Value {
		return e.Do(e.Op, attrs.Clone(), x, e.Data(tensor.Scalar(int64(k))))
	})
}

// alongAxis computes a result along each of the axes that it may have and picks
// the one that an input names at run time: no other kernel is needed, and the
// numbers are those of a known axis. axes are the first dimensions of the input,
// the whole rank or without the last ones; another axis is an index out of range
// in the interpreter and in C.
func alongAxis(e *build.Node, axis *ir.Value, axes []int, along func(k int) *ir.Value) []*ir.Value {
	x := e.Need(0, -1)
	d := axis.Type.DType
	e.Want(d == tensor.I32 || d == tensor.I64, "dtype", "the axis (%s) is of type %s, want int32 or int64", axis, d)
	e.Want(axis.Type.Elems() == 1, "shape", "the axis (%s) has shape %v, want one value", axis, axis.Type.Shape)
	e.Want(len(axes) > 0, "rank", "input 0 (%s) has shape %v, which has no axis", x, x.Type.Shape)
	var all []*ir.Value
	for _, k := range axes {
		y, err := e.Run(func(*build.Node) []*ir.Value { return []*ir.Value{along(k)} })
		if err != nil {
			e.Fail(e.Dynamicf("dynamic", axis, "the axis (%s) is computed at run time, and there is no result along "+
				"axis %d: %s",
				axis, k, message(err)))
		}
		if len(all) > 0 && !slices.Equal(all[0].Type.Shape, y[0].Type.Shape) {
			e.Fail(e.Dynamicf("dynamic", axis, "the axis (%s) is computed at run time, and the result's shape "+
				"depends on it: "+
				"%v along axis %d, %v along axis %d", axis, all[0].Type.Shape, axes[0], y[0].Type.Shape, k))
		}
		all = append(all, y[0])
	}
	stacked, at := e.Stack(all), e.Reshape(axis)
	// Gather counts negative indices from the end of all dimensions, where there
	// may be results for the first ones only.
	if rank := x.Type.Rank(); len(axes) < rank {
		at = e.Do("Gather", nil, e.Ints(ir.Identity(rank)...), at)
	}
	return e.Result("Gather", ir.Attrs{"axis": ir.Int(0)}, stacked, at)
}

// message is what an error says, without the place.
func message(err error) string {
	if d := new(ir.Diag); errors.As(err, &d) {
		return d.Msg
	}
	return err.Error()
}
