// SPDX-License-Identifier: Apache-2.0

package expand

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

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
			fail.Check(e.Dynamicf("dynamic", axis,
				"the axis (%s) is computed at run time, and there is no result along axis %d: %s", axis, k,
				message(err)))
		}
		if len(all) > 0 && !slices.Equal(all[0].Type.Shape, y[0].Type.Shape) {
			fail.Check(e.Dynamicf("dynamic", axis, "the axis (%s) is computed at run time, and the result's shape "+
				"depends on it: %v along axis %d, %v along axis %d", axis, all[0].Type.Shape, axes[0], y[0].Type.Shape,
				k))
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

func message(err error) string {
	if d := new(ir.Diag); errors.As(err, &d) {
		return d.Msg
	}
	return err.Error()
}

func nonZero(e *build.Node) []*ir.Value {
	x := e.Need(0, -1)
	if x.Const != nil {
		return e.Plain()
	}
	shape, n := x.Type.Shape, x.Type.Elems()
	e.Want(n >= 1 && len(shape) >= 1, "shape",
		"input 0 (%s) is computed at run time and has shape %v, want one dimension and one element at least", x, shape)
	list, count := found(e, x, e.Bound(x, 1, n))
	st := tensor.Strides(shape)
	var rows []*ir.Value
	for d := range shape {
		at := list
		if st[d] > 1 {
			at = e.Do("Div", nil, at, e.Data(tensor.Scalar(int32(st[d]))))
		}
		if d > 0 {
			at = e.Do("Mod", nil, at, e.Data(tensor.Scalar(int32(shape[d]))))
		}
		rows = append(rows, e.Reshape(at, 1, list.Type.Elems()))
	}
	y := e.Result("Cast", build.To(tensor.I64), e.Concat(0, rows...))
	return e.Bounded(y[0], e.Cast(count, tensor.I64))
}

// compress keeps the slices for which a condition that is computed at run time
// is true.
func compress(e *build.Node) []*ir.Value {
	x, cond := e.Need(0, -1), e.Need(1, 1)
	if cond.Const != nil {
		return e.Plain()
	}
	axis := 0
	if _, given := e.Attrs["axis"]; !given {
		x = e.Reshape(x, x.Type.Elems())
	} else if axis = e.Int("axis", 0); axis < 0 {
		axis += x.Type.Rank()
	}
	e.Want(axis >= 0 && axis < x.Type.Rank(), "axis", "axis %d is out of range for shape %v", axis, x.Type.Shape)
	n := cond.Type.Elems()
	e.Want(n >= 1 && n <= x.Type.Shape[axis], "shape-mismatch",
		"the condition (%s) has %d elements, want 1 to %d, which dimension %d has", cond, n, x.Type.Shape[axis], axis)
	list, count := found(e, cond, e.Bound(cond, axis, n))
	there := e.Do("Less", nil, e.Data(build.Count[int32](along(x.Type.Rank(), axis, list.Type.Elems())...)), count)
	y := e.Do("Gather", ir.Attrs{"axis": ir.Int(axis)}, x, list)
	y = e.Result("Where", nil, there, y, e.Data(tensor.New(x.Type.DType, nil)))[0]
	return e.Bounded(y, e.Cast(count, tensor.I64))
}

// along is the shape [1, .., n, .., 1] with n elements along one dimension.
func along(rank, axis, n int) []int {
	shape := slices.Repeat([]int{1}, rank)
	shape[axis] = n
	return shape
}

// found lists where values are not zero, in order, with room for a bound, and
// counts them. Both are int32.
func found(e *build.Node, x *ir.Value, bound int) (list, count *ir.Value) {
	n := x.Type.Elems()
	elems := int64(n) + 2*int64(bound)
	e.Spend("its list of places", elems, 4*elems)
	is := e.Cast(e.Reshape(x, n), tensor.Bool)
	ones := e.Cast(is, tensor.I32)
	scalar := func(v int) *ir.Value { return e.Data(tensor.Scalar(int32(v))) }
	first := e.Data(tensor.Scalar(int64(0)))
	count = e.Do("ReduceSum", ir.Attrs{"keepdims": ir.Int(0)}, ones)
	at := e.Do("CumSum", ir.Attrs{"exclusive": ir.Int(1)}, ones, first)
	if bound < n { // one index beyond the room means what is not listed, two for what does not fit
		over := e.Do("Less", nil, at, scalar(bound))
		at = e.Do("Where", nil, over, at, scalar(bound+1))
	}
	at = e.Do("Where", nil, is, at, scalar(bound))
	room := e.Data(tensor.New(tensor.I32, []int{bound + 1}))
	list = e.Do("ScatterElements", ir.Attrs{"axis": ir.Int(0)}, room, at, e.Data(build.Count[int32](n)))
	return e.Cut(list, 0, 0, bound, 1), count
}

// OverBounds refuses operators that would take the zeros behind a bounded result
// for data: those that compute every element by itself or move whole dimensions
// may read one.
func OverBounds(e *build.Node) {
	o := op.Get(e.Domain, e.Op)
	moves := o == op.Transpose || o == op.Squeeze || o == op.Unsqueeze
	for i, v := range e.In {
		if v == nil || !e.Rooms.Has(v) {
			continue
		}
		if o == nil || !moves && o.Pattern != ir.Elementwise && o.Pattern != ir.Broadcast {
			e.WantWhole(fmt.Sprintf("input %d", i), v)
		}
		if i == 1 && (o.Name == "Div" || o.Name == "Mod") && v.Type.DType.IsInt() {
			fail.Check(e.Dynamicf("bounded", v, "input %d (%s) has as many elements as the data at run time say, "+
				"with zeros behind them, by which integers cannot be divided; divide floats", i, v))
		}
	}
}
