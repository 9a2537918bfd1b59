package onnx

import (
	"fmt"
	"strconv"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// inputType is the type of a graph input with its symbolic dimensions pinned.
func (im *importer) inputType(vi *pb.ValueInfoProto) (ir.Type, error) {
	name := vi.GetName()
	bad := func(code, hint, format string, args ...any) (ir.Type, error) {
		return ir.Type{}, &ir.Diag{Code: code, Node: "input " + quote(name), Msg: fmt.Sprintf(format, args...), Hint: hint}
	}
	if name == "" {
		return bad("input-name", "", "a graph input has an empty name")
	}
	tp := vi.GetType()
	tt := tp.GetTensorType()
	if tt == nil {
		what := "no type"
		switch {
		case tp.GetSequenceType() != nil:
			what = "a sequence type"
		case tp.GetOptionalType() != nil:
			what = "an optional type"
		case tp.GetMapType() != nil:
			what = "a map type"
		case tp.GetSparseTensorType() != nil:
			what = "a sparse tensor type"
		}
		return bad("input-type", "", "has %s, want a dense tensor", what)
	}
	dt, ok := tensor.FromONNX(int(tt.GetElemType()))
	if !ok {
		return bad("dtype", "", "has element type %s, which is not supported (supported: float, double, float16, bfloat16, bool, integers of 4 to 64 bits)", elemTypeName(tt.GetElemType()))
	}
	if shape, ok := im.opt.Shapes[name]; ok {
		if tt.GetShape() != nil && len(tt.GetShape().GetDim()) != len(shape) {
			return bad("input-shape", "", "is given with shape %v, but has rank %d", shape, len(tt.GetShape().GetDim()))
		}
		return im.sized(name, ir.T(dt, shape...))
	}
	if tt.GetShape() == nil {
		return bad("input-shape", "export the model with static shapes", "has no shape")
	}
	shape := make([]int, 0, len(tt.GetShape().GetDim()))
	for i, d := range tt.GetShape().GetDim() {
		n, err := im.dim(name, i, d)
		if err != nil {
			return ir.Type{}, err
		}
		shape = append(shape, n)
	}
	return im.sized(name, ir.T(dt, shape...))
}

func (im *importer) sized(name string, t ir.Type) (ir.Type, error) {
	if _, err := tensor.Elems(t.Shape); err != nil {
		return t, &ir.Diag{Code: "input-shape", Node: "input " + quote(name), Msg: err.Error()}
	}
	return t, nil
}

// dim is one dimension of an input: given, pinned by the user, or a batch.
func (im *importer) dim(input string, axis int, d *pb.TensorShapeProto_Dimension) (int, error) {
	where := "input " + quote(input)
	positional := input + "." + strconv.Itoa(axis)
	if n, ok := im.opt.Dims[positional]; ok {
		return n, nil
	}
	if v, ok := d.GetValue().(*pb.TensorShapeProto_Dimension_DimValue); ok {
		if v.DimValue < 0 {
			return 0, &ir.Diag{Code: "dim-negative", Node: where, Msg: fmt.Sprintf("dimension %d is negative: %d", axis, v.DimValue)}
		}
		if v.DimValue > tensor.MaxElems {
			return 0, &ir.Diag{Code: "dim-large", Node: where, Msg: fmt.Sprintf("dimension %d is too large: %d", axis, v.DimValue)}
		}
		return int(v.DimValue), nil
	}
	p := d.GetDimParam()
	if n, ok := im.opt.Dims[p]; ok && p != "" {
		return n, nil
	}
	if axis == 0 {
		if p == "" {
			p = "unnamed"
		}
		im.opt.Note(fmt.Sprintf("%s: dimension 0 (%s) is taken for a batch and pinned to 1; --dim %s=N pins it to another size", where, quote(p), dimFlag(d, positional)))
		return 1, nil
	}
	return 0, &ir.Diag{Code: "dim-dynamic", Node: where, Msg: fmt.Sprintf("dimension %d (%s) is dynamic, want a size known at compile time", axis, quote(p)),
		Hint: "pin it with --dim " + dimFlag(d, positional) + "=N"}
}

func dimFlag(d *pb.TensorShapeProto_Dimension, positional string) string {
	if p := d.GetDimParam(); p != "" {
		return p
	}
	return positional
}

// elemTypeName is the ONNX name of an element type number.
func elemTypeName(t int32) string {
	if s, ok := pb.TensorProto_DataType_name[t]; ok {
		return lower(s)
	}
	return "number " + strconv.Itoa(int(t))
}

func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 32
		}
	}
	return string(b)
}
