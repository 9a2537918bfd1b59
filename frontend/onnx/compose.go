package onnx

import (
	"strconv"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// composer writes an operator as others: the expansions of operators that ONNX
// defines by a function, with the sizes at hand instead of computed. An error
// ends the expansion at once; expansion hands it on.
type composer struct {
	*nodeCtx
	count int
}

// composeError carries an error out of an expansion.
type composeError struct{ error }

// expansion makes an upgrader of a function that composes the node's outputs;
// what is nil among them is not computed.
func expansion(f func(e *composer) []*ir.Value) upgrader {
	return func(c *nodeCtx) (out []*ir.Value, err error) {
		defer func() {
			if r := recover(); r != nil {
				e, ok := r.(composeError)
				if !ok {
					panic(r)
				}
				out, err = nil, e.error
			}
		}()
		return f(&composer{nodeCtx: c}), nil
	}
}

func (e *composer) fail(err error) {
	if err != nil {
		panic(composeError{err})
	}
}

// want fails with a message unless the condition holds.
func (e *composer) want(ok bool, code, format string, args ...any) {
	if !ok {
		e.fail(e.errf(code, format, args...))
	}
}

// do adds a standard operator with one output.
func (e *composer) do(name string, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
	return e.split(name, attrs, 1, in...)[0]
}

// split adds a standard operator with several outputs.
func (e *composer) split(name string, attrs ir.Attrs, nout int, in ...*ir.Value) []*ir.Value {
	e.count++
	base := shorten(e.name) + "." + name + strconv.Itoa(e.count)
	names := []string{base}
	for i := 1; i < nout; i++ {
		names = append(names, base+"."+strconv.Itoa(i))
	}
	out, err := e.add(op.Get("", name), base, names, attrs, in)
	e.fail(err)
	return out
}

// data is a constant.
func (e *composer) data(d *tensor.Dense) *ir.Value {
	e.count++
	return e.constant(".const"+strconv.Itoa(e.count), d)
}

// ints is a list of integers.
func (e *composer) ints(v ...int) *ir.Value { return e.data(tensor.Ints(v...)) }

// num is a scalar of the element type of a value.
func (e *composer) num(like *ir.Value, x float64) *ir.Value { return e.data(floatLike(like, x)) }

// reshape gives a value another shape of as many elements.
func (e *composer) reshape(v *ir.Value, shape ...int) *ir.Value {
	e.want(tensor.Count(shape) == v.Type.Elems(), "shape", "%s has shape %v, want as many elements as %v has", v, v.Type.Shape, shape)
	return e.do("Reshape", ir.Attrs{"allowzero": ir.Int(1)}, v, e.ints(shape...))
}

// transpose permutes the dimensions.
func (e *composer) transpose(v *ir.Value, perm ...int) *ir.Value {
	return e.do("Transpose", ir.Attrs{"perm": ir.Ints(perm...)}, v)
}

// cut is the part [from, to) of one dimension.
func (e *composer) cut(v *ir.Value, axis, from, to, step int) *ir.Value {
	return e.do("Slice", nil, v, e.ints(from), e.ints(to), e.ints(axis), e.ints(step))
}

// concat joins values along a dimension.
func (e *composer) concat(axis int, v ...*ir.Value) *ir.Value {
	return e.do("Concat", ir.Attrs{"axis": ir.Int(axis)}, v...)
}

// cast converts the element type.
func (e *composer) cast(v *ir.Value, d tensor.DType) *ir.Value {
	if v.Type.DType == d {
		return v
	}
	return e.do("Cast", ir.Attrs{"to": ir.Int(d.ONNXCode())}, v)
}

// input is input i, or nil where it is absent.
func (e *composer) input(i int) *ir.Value {
	if i < len(e.in) {
		return e.in[i]
	}
	return nil
}

// need is input i, which must be there and of the given rank (-1: any).
func (e *composer) need(i, rank int) *ir.Value {
	v := e.input(i)
	e.want(v != nil, "arity", "input %d is missing", i)
	e.want(rank < 0 || v.Type.Rank() == rank, "rank", "input %d (%s) has shape %v, want rank %d", i, v, v.Type.Shape, rank)
	return v
}

// known is input i as integers; it must be known at compile time.
func (e *composer) known(i int, what string) []int {
	v := e.need(i, -1)
	if v.Const == nil {
		e.fail(e.dynamicf("dynamic", v, "%s (input %d, %s) must be known at compile time, but is computed at run time", what, i, v))
	}
	e.want(v.Type.DType.IsInt() && v.Const.Len() <= 64, "dtype", "%s (input %d, %s) is of type %s, want a few integers", what, i, v, v.Type)
	var out []int
	for _, x := range v.Const.Int64s() {
		e.want(x >= -1<<40 && x <= 1<<40, "shape", "%s (input %d, %s) holds %d, which is out of range", what, i, v, x)
		out = append(out, int(x))
	}
	return out
}

// shaped fails unless a value has the shape.
func (e *composer) shaped(v *ir.Value, what string, shape ...int) {
	ok := len(shape) == v.Type.Rank()
	for i := 0; ok && i < len(shape); i++ {
		ok = v.Type.Shape[i] == shape[i]
	}
	e.want(ok, "shape", "%s (%s) has shape %v, want %v", what, v, v.Type.Shape, shape)
}

// attributes with defaults; those that are read are taken.
func (e *composer) int(name string, def int64) int {
	v, err := e.takeInt(name, def)
	e.fail(err)
	e.want(v >= -1<<31 && v < 1<<31, "attr-value", "attribute %s is %d, which is out of range", name, v)
	return int(v)
}

func (e *composer) float(name string, def float32) float64 {
	v, err := e.takeFloat(name, def)
	e.fail(err)
	return float64(v)
}

func (e *composer) str(name, def string, allowed ...string) string {
	v, err := e.takeStr(name, def)
	e.fail(err)
	for _, a := range allowed {
		if v == a {
			return v
		}
	}
	e.want(len(allowed) == 0, "attr-value", "attribute %s is %q, want one of %q", name, v, allowed)
	return v
}
