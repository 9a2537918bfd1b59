// SPDX-License-Identifier: Apache-2.0

package expand

import (
	"fmt"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// nonZero lists the places that are not zero, of a value computed at run time.
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
	shape := make([]int, rank)
	for i := range shape {
		shape[i] = 1
	}
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
			e.Fail(e.Dynamicf("bounded", v, "input %d (%s) has as many elements as the data at run time say, "+
				"with zeros behind them, by which integers cannot be divided; divide floats", i, v))
		}
	}
}
