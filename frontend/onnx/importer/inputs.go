// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
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
					s.set(name, im.Const(name, c))
				}
			}
			continue
		}
		t, err := im.inputType(vi)
		if err != nil {
			im.report(err)
			s.fail(name, build.ErrReported)
			continue
		}
		if set == nil {
			s.set(name, im.Graph.AddInput(im.Unique(name), t))
			continue
		}
		c, err := bind(name, set, t)
		if err != nil {
			im.report(err)
			s.fail(name, build.ErrReported)
			continue
		}
		s.set(name, im.Const(name, c))
	}
	for _, name := range slices.Sorted(maps.Keys(im.opt.Set)) {
		if !known[name] {
			im.report(&ir.Diag{Code: "set-unknown", Node: "--set " + name, Msg: "the model has no such input" +
				text.Meant(name, plainInputNames(gp)), Hint: "inputs are " + strings.Join(inputNames(gp), ", ")})
		}
	}
}

func plainInputNames(gp *pb.GraphProto) []string {
	return lists.Map(gp.GetInput(), (*pb.ValueInfoProto).GetName)
}

func inputNames(gp *pb.GraphProto) []string {
	return lists.Map(gp.GetInput(), func(vi *pb.ValueInfoProto) string { return model.Quote(vi.GetName()) })
}

// bind converts a value given for an input to the input's type and shape: as
// many elements as the input has, in their order, or one for all.
func bind(name string, d *tensor.Dense, t ir.Type) (*tensor.Dense, error) {
	c := d.Cast(t.DType)
	want := t.Elems()
	if d.DType.IsFloat() && !t.DType.IsFloat() {
		for i := range d.Len() {
			if x := d.Float(i); x != math.Trunc(x) {
				return nil, &ir.Diag{Code: "set-type", Node: "--set " + name,
					Msg: fmt.Sprintf("is %g, the input is of type %s", x, t.DType.ONNXName())}
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
	return nil, &ir.Diag{Code: "set-shape", Node: "--set " + name,
		Msg: fmt.Sprintf("has %d elements, the input needs %d (shape %v)", c.Len(), want, t.Shape)}
}

func (im *importer) inputType(vi *pb.ValueInfoProto) (ir.Type, error) {
	name := vi.GetName()
	bad := func(code, hint, format string, args ...any) (ir.Type, error) {
		return ir.Type{}, &ir.Diag{Code: code, Node: "input " + model.Quote(name), Msg: fmt.Sprintf(format, args...),
			Hint: hint}
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
		return bad(code, "cut the model behind what reads it, and give that as an input (nncc surgery)",
			"has %s, want a dense tensor", what)
	}
	dt, ok := tensor.FromONNX(int(tt.GetElemType()))
	if !ok {
		return bad("dtype-unsupported", "what makes numbers of anything else belongs in front of the model",
			"has element type %s, which is not supported (supported: float, double, "+
				"float16, bfloat16, bool, integers of 4 to 64 bits)", model.ElemTypeName(tt.GetElemType()))
	}
	given, isGiven := im.opt.Shapes[name]
	if tt.GetShape() == nil {
		if given == nil {
			given = im.placed(name)
		}
		if given == nil {
			return bad("no-shape", fmt.Sprintf("give its dimensions by their places, --dim %s=N --dim %s=N and so "+
				"on, or export the model with static shapes", build.DimName(name, 0),
				build.DimName(name, 1)), "has no shape")
		}
		return im.sized(name, ir.T(dt, given...))
	}
	dims := tt.GetShape().GetDim()
	if isGiven && len(dims) != len(given) {
		return bad("input-shape", "", "is given with shape %v, but has rank %d", given, len(dims))
	}
	shape := make([]int, 0, len(dims))
	var open []error
	for i, d := range dims {
		n, err := im.dim(name, i, d)
		if err != nil {
			open = append(open, err)
			continue
		}
		if isGiven && given[i] != n {
			return bad("input-shape", "", "is given with shape %v, but dimension %d (%s) is %d", given, i, dimText(d),
				n)
		}
		shape = append(shape, n)
	}
	if len(open) > 0 { // all at once: who pins one would meet the next
		for _, err := range open[1:] {
			im.report(err)
		}
		return ir.Type{}, open[0]
	}
	return im.sized(name, ir.T(dt, shape...))
}

func (im *importer) placed(name string) (shape []int) {
	for {
		key := build.DimName(name, len(shape))
		n, ok := im.opt.Dims[key]
		if !ok {
			return shape
		}
		im.Rooms.Used[key] = true
		shape = append(shape, n)
	}
}

func (im *importer) sized(name string, t ir.Type) (ir.Type, error) {
	if _, err := tensor.Elems(t.Shape); err != nil {
		return t, &ir.Diag{Code: "input-shape", Node: "input " + model.Quote(name), Msg: err.Error()}
	}
	return t, nil
}
