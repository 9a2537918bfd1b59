package onnx

import (
	"errors"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// runningTotal is a running total along an axis that may be computed at run time.
func runningTotal(e *composer) []*ir.Value {
	axis := e.input(1)
	if axis == nil || axis.Const != nil {
		out, err := e.plain()
		e.fail(err)
		return out
	}
	x := e.need(0, -1)
	axes := ir.Identity(x.Type.Rank())
	return e.alongAxis(axis, axes, func(k int) *ir.Value {
		return e.do(e.p.GetOpType(), e.attrs.Clone(), x, e.data(tensor.Scalar(int64(k))))
	})
}

// alongAxis computes a result along each of the axes that it may have and picks
// the one that an input names at run time: no other kernel is needed, and the
// numbers are those of a known axis. axes are the first dimensions of the input,
// the whole rank or without the last ones; another axis is an index out of range
// in the interpreter and in C.
func (e *composer) alongAxis(axis *ir.Value, axes []int, along func(k int) *ir.Value) []*ir.Value {
	rank := e.need(0, -1).Type.Rank()
	d := axis.Type.DType
	e.want(d == tensor.I32 || d == tensor.I64, "dtype", "the axis (%s) is of type %s, want int32 or int64", axis, d)
	e.want(axis.Type.Elems() == 1, "shape", "the axis (%s) has shape %v, want one value", axis, axis.Type.Shape)
	e.want(len(axes) > 0, "rank", "input 0 (%s) has shape %v, which has no axis", e.in[0], e.in[0].Type.Shape)
	var all []*ir.Value
	var shape []int
	for _, k := range axes {
		y := e.tried(axis, k, along)
		if shape == nil {
			shape = y.Type.Shape
		} else if !slices.Equal(shape, y.Type.Shape) {
			e.fail(e.dynamicf("dynamic", axis, "the axis (%s) is computed at run time, and the result's shape depends on it: "+
				"%v along axis %d, %v along axis %d", axis, shape, axes[0], y.Type.Shape, k))
		}
		all = append(all, e.reshape(y, append([]int{1}, y.Type.Shape...)...))
	}
	at := e.reshape(axis)
	// Gather counts negative indices from the end of all dimensions, where there
	// may be results for the first ones only.
	if len(axes) < rank {
		at = e.do("Gather", nil, e.ints(ir.Identity(rank)...), at)
	}
	out, err := e.build(op.Gather, ir.Attrs{"axis": ir.Int(0)}, 1, e.concat(0, all...), at)
	e.fail(err)
	return out
}

// tried is a result along axis k; where there is none, the axis must be known.
func (e *composer) tried(axis *ir.Value, k int, along func(k int) *ir.Value) *ir.Value {
	defer func() {
		if r := recover(); r != nil {
			err, ok := r.(composeError)
			if !ok {
				panic(r)
			}
			e.fail(e.dynamicf("dynamic", axis, "the axis (%s) is computed at run time, and there is no result along axis %d: %s",
				axis, k, message(err.error)))
		}
	}()
	return along(k)
}

// message is what an error says, without the place.
func message(err error) string {
	if d := new(ir.Diag); errors.As(err, &d) {
		return d.Msg
	}
	return err.Error()
}
