package onnx

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// Results of which only the data know the size have room for a bound, which --dim
// gives for the dimension of the output. Behind what was found are zeros; how
// many were found is an output of its own. More than the bound is an index out
// of range, in the interpreter and in C.

// nonZero lists the places that are not zero, of a value computed at run time.
func nonZero(e *composer) []*ir.Value {
	x := e.need(0, -1)
	if x.Const != nil {
		out, err := e.plain()
		e.fail(err)
		return out
	}
	shape, n := x.Type.Shape, x.Type.Elems()
	e.want(n >= 1 && len(shape) >= 1, "shape",
		"input 0 (%s) is computed at run time and has shape %v, want one dimension and one element at least", x, shape)
	list, _ := e.found(x, e.bound(x, 1, n))
	st := tensor.Strides(shape)
	var rows []*ir.Value
	for d := range shape {
		at := list
		if st[d] > 1 {
			at = e.do("Div", nil, at, e.data(tensor.Scalar(int32(st[d]))))
		}
		if d > 0 {
			at = e.do("Mod", nil, at, e.data(tensor.Scalar(int32(shape[d]))))
		}
		rows = append(rows, e.reshape(at, 1, list.Type.Elems()))
	}
	to := ir.Attrs{"to": ir.Int(tensor.I64.ONNXCode())}
	return e.bounded(e.last(op.Get("", "Cast"), to, e.concat(0, rows...)))
}

// compress keeps the slices for which a condition that is computed at run time
// is true.
func compress(e *composer) []*ir.Value {
	x, cond := e.need(0, -1), e.need(1, 1)
	if cond.Const != nil {
		out, err := e.plain()
		e.fail(err)
		return out
	}
	axis := 0
	if _, given := e.attrs["axis"]; !given {
		x = e.reshape(x, x.Type.Elems())
	} else if axis = e.int("axis", 0); axis < 0 {
		axis += x.Type.Rank()
	}
	e.want(axis >= 0 && axis < x.Type.Rank(), "axis", "axis %d is out of range for shape %v", axis, x.Type.Shape)
	n := cond.Type.Elems()
	e.want(n >= 1 && n <= x.Type.Shape[axis], "shape-mismatch",
		"the condition (%s) has %d elements, want 1 to %d, which dimension %d has", cond, n, x.Type.Shape[axis], axis)
	list, count := e.found(cond, e.bound(cond, axis, n))
	bound := list.Type.Elems()
	line := make([]int, x.Type.Rank()) // [1, .., bound, .., 1]
	pos := make([]int32, bound)
	for i := range line {
		line[i] = 1
	}
	for i := range pos {
		pos[i] = int32(i)
	}
	line[axis] = bound
	there := e.do("Less", nil, e.data(tensor.Of(line, pos)), count)
	y := e.do("Gather", ir.Attrs{"axis": ir.Int(axis)}, x, list)
	return e.bounded(e.last(op.Get("", "Where"), nil, there, y, e.data(tensor.New(x.Type.DType, nil))))
}

// found lists where values are not zero, in order, with room for a bound, and
// counts them. Both are int32.
func (e *composer) found(x *ir.Value, bound int) (list, count *ir.Value) {
	n := x.Type.Elems()
	elems := int64(n) + 2*int64(bound)
	e.fail(e.im.spend(plain(e.p.GetOpType())+" "+quote(e.name), "its list of places", elems, 4*elems))
	is := e.cast(e.reshape(x, n), tensor.Bool)
	ones := e.cast(is, tensor.I32)
	scalar := func(v int) *ir.Value { return e.data(tensor.Scalar(int32(v))) }
	first := e.data(tensor.Scalar(int64(0)))
	count = e.do("ReduceSum", ir.Attrs{"keepdims": ir.Int(0)}, ones)
	at := e.do("CumSum", ir.Attrs{"exclusive": ir.Int(1)}, ones, first)
	if bound < n { // one place behind the room stands for what is not listed, two for what does not fit
		over := e.do("Less", nil, at, scalar(bound))
		at = e.do("Where", nil, over, at, scalar(bound+1))
	}
	at = e.do("Where", nil, is, at, scalar(bound))
	pos := make([]int32, n)
	for i := range pos {
		pos[i] = int32(i)
	}
	room := e.data(tensor.New(tensor.I32, []int{bound + 1}))
	list = e.do("ScatterElements", ir.Attrs{"axis": ir.Int(0)}, room, at, e.data(tensor.Of([]int{n}, pos)))
	name := e.scope.valueName(e.p.GetOutput()[0])
	e.im.counts = append(e.im.counts, countOf{name, e.cast(count, tensor.I64)})
	return e.cut(list, 0, 0, bound, 1), count
}

// countOf is the number of elements that were found for an output.
type countOf struct {
	output string
	v      *ir.Value
}

// last is the node that gives the result, under the node's own name.
func (e *composer) last(o *ir.OpDef, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
	out, err := e.build(o, attrs, 1, in...)
	e.fail(err)
	return out[0]
}

// bounded marks a result as one with a bound.
func (e *composer) bounded(v *ir.Value) []*ir.Value {
	e.im.bounded[v] = true
	return []*ir.Value{v}
}

// bound is the room for output 0 along a dimension, which the user gives by the
// name that the model has for it or by its place. v decides how much is found.
func (e *composer) bound(v *ir.Value, dim, most int) int {
	flag := ""
	if name := e.p.GetOutput()[0]; e.scope.prefix == "" {
		flag = positional(name, dim)
		keys := []string{flag}
		gp := e.im.m.Proto.GetGraph()
		for _, vi := range slices.Concat(gp.GetOutput(), gp.GetValueInfo()) {
			dims := vi.GetType().GetTensorType().GetShape().GetDim()
			if vi.GetName() == name && dim < len(dims) && dims[dim].GetDimParam() != "" {
				flag = dims[dim].GetDimParam()
				keys = append(keys, flag)
			}
		}
		for _, key := range keys {
			if n, ok := e.im.opt.Dims[key]; ok {
				e.want(n >= 1 && n <= most, "dim-value",
					"--dim %s=%d bounds output %s, want 1 to %d", key, n, quote(name), most)
				return n
			}
		}
	}
	d := e.dynamicf("dynamic", v, "%s is computed at run time, so that the size of the result is not known", v).(*ir.Diag)
	if flag != "" {
		room := fmt.Sprintf("give the result room for what is found by --dim %s=N, N at most %d", flag, most)
		if d.Hint != "" {
			room += "; or " + d.Hint
		}
		d.Hint = room
	}
	e.fail(d)
	return 0
}

// addCounts makes the counts outputs, behind the model's own.
func (im *importer) addCounts() {
	for _, c := range im.counts {
		name := im.unique(c.output + "_count")
		im.g.AddOutput(name, c.v)
	}
}

// overBounds refuses operators that would take the zeros behind a bounded result
// for data: those that compute every element by itself or move whole dimensions
// may read one.
func (c *nodeCtx) overBounds() error {
	for i, v := range c.in {
		if v == nil || !c.im.bounded[v] {
			continue
		}
		o := op.Get(domain(c.p.GetDomain()), c.p.GetOpType())
		moves := o == op.Transpose || o == op.Squeeze || o == op.Unsqueeze
		if o == nil || !moves && o.Pattern != ir.Elementwise && o.Pattern != ir.Broadcast {
			return c.dynamicf("bounded", v, "input %d (%s) has as many elements as the data at run time say, "+
				"kept in shape %v with zeros behind them, which this operator would take for data; "+
				"want operators that compute every element by itself, or the model's output", i, v, v.Type.Shape)
		}
		if i == 1 && (o.Name == "Div" || o.Name == "Mod") && v.Type.DType.IsInt() {
			return c.dynamicf("bounded", v, "input %d (%s) has as many elements as the data at run time say, "+
				"with zeros behind them, by which integers cannot be divided; divide floats", i, v)
		}
	}
	return nil
}
