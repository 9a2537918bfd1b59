package onnx

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/onnx/schema"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

func (im *importer) inputs(gp *pb.GraphProto, s *scope) {
	known := map[string]bool{}
	for _, vi := range gp.GetInput() {
		name := vi.GetName()
		known[name] = true
		set := im.opt.Set[name]
		if e, ok := s.values[name]; ok {
			// An initializer that is listed as an input, as IR version 3 wants
			// it: a constant unless it is set.
			if set != nil && e.v != nil {
				if c, err := bind(name, set, e.v.Type); err != nil {
					s.fail(name, err)
				} else {
					s.set(name, im.addConst(name, c))
				}
			}
			continue
		}
		t, err := im.inputType(vi)
		if err != nil {
			im.report(err)
			s.fail(name, errPoisoned)
			continue
		}
		if set == nil {
			s.set(name, im.g.AddInput(im.unique(name), t))
			continue
		}
		c, err := bind(name, set, t)
		if err != nil {
			im.report(err)
			s.fail(name, errPoisoned)
			continue
		}
		s.set(name, im.addConst(name, c))
	}
	for _, name := range slices.Sorted(maps.Keys(im.opt.Set)) {
		if !known[name] {
			im.report(&ir.Diag{Code: "set-unknown", Node: "--set " + name, Msg: "the model has no such input", Hint: "inputs are " + strings.Join(inputNames(gp), ", ")})
		}
	}
}

func inputNames(gp *pb.GraphProto) []string {
	var s []string
	for _, vi := range gp.GetInput() {
		s = append(s, quote(vi.GetName()))
	}
	return s
}

// bind converts a value given for an input to the input's type and shape: as
// many elements as the input has, in their order, or one for all.
func bind(name string, d *tensor.Dense, t ir.Type) (*tensor.Dense, error) {
	c := d.Cast(t.DType)
	want := t.Elems()
	if d.DType.IsFloat() && !t.DType.IsFloat() {
		for i := range d.Len() {
			if x := d.Float(i); x != math.Trunc(x) {
				return nil, &ir.Diag{Code: "set-type", Node: "--set " + name, Msg: fmt.Sprintf("is %g, the input is of type %s", x, t.DType.ONNXName())}
			}
		}
	}
	switch {
	case c.Len() == want:
		return c.Reshaped(t.Shape), nil
	case c.Len() == 1:
		out := tensor.New(t.DType, t.Shape)
		for i := range want {
			if t.DType.IsFloat() {
				out.SetFloat(i, c.Float(0))
			} else {
				out.SetInt(i, c.Int(0))
			}
		}
		return out, nil
	}
	return nil, &ir.Diag{Code: "set-shape", Node: "--set " + name, Msg: fmt.Sprintf("has %d elements, the input needs %d (shape %v)", c.Len(), want, t.Shape)}
}

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
		code, what := "sequence", "no type"
		switch {
		case tp.GetSequenceType() != nil:
			what = "a sequence type"
		case tp.GetOptionalType() != nil:
			what = "an optional type"
		case tp.GetMapType() != nil:
			what = "a map type"
		case tp.GetSparseTensorType() != nil:
			what = "a sparse tensor type"
		default:
			code = "input-type"
		}
		return bad(code, "", "has %s, want a dense tensor", what)
	}
	dt, ok := tensor.FromONNX(int(tt.GetElemType()))
	if !ok {
		return bad("dtype-unsupported", "", "has element type %s, which is not supported (supported: float, double, float16, bfloat16, bool, integers of 4 to 64 bits)", elemTypeName(tt.GetElemType()))
	}
	given, isGiven := im.opt.Shapes[name]
	if tt.GetShape() == nil {
		if isGiven {
			return im.sized(name, ir.T(dt, given...))
		}
		return bad("input-shape", "export the model with static shapes", "has no shape")
	}
	dims := tt.GetShape().GetDim()
	if isGiven && len(dims) != len(given) {
		return bad("input-shape", "", "is given with shape %v, but has rank %d", given, len(dims))
	}
	shape := make([]int, 0, len(dims))
	for i, d := range dims {
		n, err := im.dim(name, i, d)
		if err != nil {
			return ir.Type{}, err
		}
		if isGiven && given[i] != n {
			return bad("input-shape", "", "is given with shape %v, but dimension %d (%s) is %d", given, i, dimText(d), n)
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

// bindDims gives every symbolic dimension of the inputs a size where one is
// known: from the user; from the shapes of given inputs; 1 for a symbol that is
// the first dimension of an input and so taken for a batch.
func (im *importer) bindDims(gp *pb.GraphProto) {
	maps.Copy(im.symbols, im.opt.Dims)
	each := func(f func(name string, i int, d *pb.TensorShapeProto_Dimension)) {
		for _, vi := range gp.GetInput() {
			for i, d := range vi.GetType().GetTensorType().GetShape().GetDim() {
				f(vi.GetName(), i, d)
			}
		}
	}
	each(func(name string, i int, d *pb.TensorShapeProto_Dimension) {
		given, ok := im.opt.Shapes[name]
		if !ok || i >= len(given) {
			return
		}
		key := positional(name, i)
		if p := d.GetDimParam(); p != "" {
			key = p
		}
		if _, ok := im.symbols[key]; !ok && symbolic(d) {
			im.symbols[key] = given[i]
		}
	})
	batch := map[string][]string{}
	each(func(name string, i int, d *pb.TensorShapeProto_Dimension) {
		if i != 0 || !symbolic(d) {
			return
		}
		if _, ok := im.symbols[positional(name, i)]; ok {
			return
		}
		key := dimFlag(d, positional(name, i))
		if _, ok := im.symbols[key]; !ok || batch[key] != nil {
			im.symbols[key] = 1
			batch[key] = append(batch[key], quote(name))
		}
	})
	for _, key := range slices.Sorted(maps.Keys(batch)) {
		im.opt.Note(fmt.Sprintf("dimension %s (the first of input %s) is dynamic: taken for a batch and pinned to 1; --dim %s=N pins it to another size", quote(key), strings.Join(batch[key], ", "), key))
	}
	im.checkDims(gp)
}

// checkDims reports sizes for dimensions that the model does not have.
func (im *importer) checkDims(gp *pb.GraphProto) {
	known, inputs := map[string]bool{}, map[string]bool{}
	for _, list := range [][]*pb.ValueInfoProto{gp.GetInput(), gp.GetOutput(), gp.GetValueInfo()} {
		for _, vi := range list {
			for i, d := range vi.GetType().GetTensorType().GetShape().GetDim() {
				known[positional(vi.GetName(), i)] = true
				if p := d.GetDimParam(); p != "" {
					known[p] = true
				}
			}
		}
	}
	for _, vi := range gp.GetInput() {
		for i, d := range vi.GetType().GetTensorType().GetShape().GetDim() {
			if symbolic(d) {
				inputs[dimFlag(d, positional(vi.GetName(), i))] = true
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(im.opt.Dims)) {
		at, hint := "--dim "+key, "the model has no symbolic dimensions"
		if len(inputs) > 0 {
			hint = "symbolic dimensions are " + strings.Join(slices.Sorted(maps.Keys(inputs)), ", ")
		}
		if !known[key] && !roomed(gp, key) {
			im.report(&ir.Diag{Code: "dim-unknown", Node: at, Msg: "the model has no such dimension", Hint: hint})
		}
		if n := im.opt.Dims[key]; n < 0 || n > tensor.MaxElems {
			im.report(&ir.Diag{Code: "dim-value", Node: at, Msg: fmt.Sprintf("the size is %d, want 0 to %d", n, tensor.MaxElems)})
		}
	}
}

// roomed reports the place of a dimension of a result of which the data decide
// the size: it need not be declared.
func roomed(gp *pb.GraphProto, key string) bool {
	i := strings.LastIndexByte(key, '.')
	return i >= 0 && slices.ContainsFunc(gp.GetNode(), func(n *pb.NodeProto) bool {
		return dataSized[n.GetOpType()] && slices.Contains(n.GetOutput(), key[:i])
	})
}

// dim is the size of one dimension of an input.
func (im *importer) dim(input string, axis int, d *pb.TensorShapeProto_Dimension) (int, error) {
	where := "input " + quote(input)
	key := positional(input, axis)
	if n, ok := im.symbols[key]; ok {
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
	if n, ok := im.symbols[d.GetDimParam()]; ok && d.GetDimParam() != "" {
		return n, nil
	}
	return 0, &ir.Diag{Code: "dim-dynamic", Node: where, Msg: fmt.Sprintf("dimension %d (%s) is dynamic, want a size known at compile time", axis, dimText(d)),
		Hint: "pin it with --dim " + dimFlag(d, key) + "=N"}
}

func symbolic(d *pb.TensorShapeProto_Dimension) bool {
	_, fixed := d.GetValue().(*pb.TensorShapeProto_Dimension_DimValue)
	return !fixed
}

// positional names a dimension by its place: "input.axis".
func positional(input string, axis int) string { return input + "." + strconv.Itoa(axis) }

// dimFlag is how --dim names a dimension.
func dimFlag(d *pb.TensorShapeProto_Dimension, positional string) string {
	if p := d.GetDimParam(); p != "" {
		return p
	}
	return positional
}

func dimText(d *pb.TensorShapeProto_Dimension) string {
	if v, ok := d.GetValue().(*pb.TensorShapeProto_Dimension_DimValue); ok {
		return strconv.FormatInt(v.DimValue, 10)
	}
	if p := d.GetDimParam(); p != "" {
		return quote(p)
	}
	return "without a name"
}

// elemTypeName is the ONNX name of an element type number.
func elemTypeName(t int32) string {
	if s := schema.ElemName(t); s != "" {
		return s
	}
	return "number " + strconv.Itoa(int(t))
}
