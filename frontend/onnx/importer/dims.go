// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// bindDims gives every symbolic dimension of the inputs a size where one is
// known: from the user; from the shapes of given inputs; 1 for a symbol that is
// the first dimension of an input and so taken for a batch.
func (im *importer) bindDims(gp *pb.GraphProto) {
	maps.Copy(im.symbols, im.opt.Dims)
	eachDim(gp.GetInput(), func(name string, i int, d *pb.TensorShapeProto_Dimension) {
		given, ok := im.opt.Shapes[name]
		if !ok || i >= len(given) {
			return
		}
		key := build.DimName(name, i)
		if p := d.GetDimParam(); p != "" {
			key = p
		}
		if _, ok := im.symbols[key]; !ok && symbolic(d) {
			im.symbols[key] = given[i]
		}
	})
	batch := map[string][]string{}
	eachDim(gp.GetInput(), func(name string, i int, d *pb.TensorShapeProto_Dimension) {
		if i != 0 || !symbolic(d) {
			return
		}
		if _, ok := im.symbols[build.DimName(name, i)]; ok {
			return
		}
		key := dimFlag(d, build.DimName(name, i))
		if _, ok := im.symbols[key]; !ok || batch[key] != nil {
			im.symbols[key] = 1
			batch[key] = append(batch[key], model.Quote(name))
		}
	})
	for _, key := range slices.Sorted(maps.Keys(batch)) {
		im.Note(diag.Notef("batch-pinned", key, "dimension %s (the first of input %s) is dynamic: taken for a batch "+
			"and pinned to 1; --dim "+
			"%s=N pins it to another size", model.Quote(key), strings.Join(batch[key], ", "), key))
	}
}

func eachDim(values []*pb.ValueInfoProto, f func(name string, i int, d *pb.TensorShapeProto_Dimension)) {
	for _, vi := range values {
		for i, d := range vi.GetType().GetTensorType().GetShape().GetDim() {
			f(vi.GetName(), i, d)
		}
	}
}

// symbols finds the names that a graph has for dimensions of its outputs and inner
// values.
func symbols(gp *pb.GraphProto) func(value string, dim int) string {
	names := map[string]string{}
	for _, list := range [][]*pb.ValueInfoProto{gp.GetOutput(), gp.GetValueInfo()} {
		eachDim(list, func(name string, i int, d *pb.TensorShapeProto_Dimension) {
			if p := d.GetDimParam(); p != "" {
				names[build.DimName(name, i)] = p
			}
		})
	}
	return func(value string, dim int) string { return names[build.DimName(value, dim)] }
}

// checkDims reports sizes for dimensions that the model does not have, after the
// import has used those of results whose size only the data know.
func (im *importer) checkDims(gp *pb.GraphProto) {
	known := maps.Clone(im.Rooms.Used)
	for _, list := range [][]*pb.ValueInfoProto{gp.GetInput(), gp.GetOutput(), gp.GetValueInfo()} {
		eachDim(list, func(name string, i int, d *pb.TensorShapeProto_Dimension) {
			known[build.DimName(name, i)] = true
			known[d.GetDimParam()] = true
		})
	}
	var inputs []string
	eachDim(gp.GetInput(), func(name string, i int, d *pb.TensorShapeProto_Dimension) {
		if symbolic(d) {
			inputs = append(inputs, dimFlag(d, build.DimName(name, i)))
		}
	})
	hint := "the model has no symbolic dimensions"
	if slices.Sort(inputs); len(inputs) > 0 {
		hint = "symbolic dimensions are " + strings.Join(slices.Compact(inputs), ", ")
	}
	for _, key := range slices.Sorted(maps.Keys(im.opt.Dims)) {
		at := "--dim " + key
		if !known[key] && !im.roomed(key) {
			im.report(&ir.Diag{Code: "dim-unknown", Node: at, Msg: "the model has no such dimension" +
				text.Meant(key, inputs), Hint: hint})
		}
		if n := im.opt.Dims[key]; n < 0 || n > tensor.MaxElems {
			im.report(&ir.Diag{Code: "dim-value", Node: at,
				Msg: fmt.Sprintf("the size is %d, want 0 to %d", n, tensor.MaxElems)})
		}
	}
}

func dataSized(name string) bool {
	d := op.Get("", name)
	return d != nil && d.DataSized
}

// roomed reports the place of a dimension of a result of which the data decide the
// size: it need not be declared. In subgraphs and functions a name has theirs in front.
func (im *importer) roomed(key string) bool {
	dot := strings.LastIndexByte(key, '.')
	if dot < 0 {
		return false
	}
	name := key[strings.LastIndexByte(key[:dot], '/')+1 : dot]
	var in func(n *pb.NodeProto) bool
	in = func(n *pb.NodeProto) bool {
		return dataSized(n.GetOpType()) && (slices.Contains(n.GetOutput(), name) ||
			slices.Contains(n.GetOutput(), key[:dot])) ||
			slices.ContainsFunc(n.GetAttribute(), func(a *pb.AttributeProto) bool {
				return slices.ContainsFunc(model.Subgraphs(a),
					func(g *pb.GraphProto) bool { return slices.ContainsFunc(g.GetNode(), in) })
			})
	}
	if slices.ContainsFunc(im.m.Proto.GetGraph().GetNode(), in) {
		return true
	}
	for _, f := range im.funcs {
		if slices.ContainsFunc(f.GetNode(), in) {
			return true
		}
	}
	return false
}

func (im *importer) dim(input string, axis int, d *pb.TensorShapeProto_Dimension) (int, error) {
	where := "input " + model.Quote(input)
	key := build.DimName(input, axis)
	if n, ok := im.symbols[key]; ok {
		return n, nil
	}
	if v, ok := d.GetValue().(*pb.TensorShapeProto_Dimension_DimValue); ok && !symbolic(d) {
		if v.DimValue < 0 {
			return 0, &ir.Diag{Code: "dim-negative", Node: where,
				Msg: fmt.Sprintf("dimension %d is negative: %d", axis, v.DimValue)}
		}
		if v.DimValue > tensor.MaxElems {
			return 0, &ir.Diag{Code: "dim-large", Node: where,
				Msg: fmt.Sprintf("dimension %d is too large: %d", axis, v.DimValue)}
		}
		return int(v.DimValue), nil
	}
	if n, ok := im.symbols[d.GetDimParam()]; ok && d.GetDimParam() != "" {
		return n, nil
	}
	return 0, &ir.Diag{Code: "dim-dynamic", Node: where,
		Msg:  fmt.Sprintf("dimension %d (%s) is dynamic, want a size known at compile time", axis, dimText(d)),
		Hint: "pin it with --dim " + dimFlag(d, key) + "=N"}
}

// symbolic reports a dimension without a size; some exporters write -1 for none.
func symbolic(d *pb.TensorShapeProto_Dimension) bool {
	v, fixed := d.GetValue().(*pb.TensorShapeProto_Dimension_DimValue)
	return !fixed || v.DimValue == -1
}

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
		return model.Quote(p)
	}
	return "without a name"
}
