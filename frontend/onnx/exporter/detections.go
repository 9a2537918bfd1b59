// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
)

// detections writes nncc.Detections in ONNX's operators: boxes decoded in float32, the
// selection by NonMaxSuppression, its list filled up with -1 to a size that is known.
func (x *outNode) detections() {
	p, err := op.DetectionsParams(x.n)
	bug.If(err != nil, "export: %w", err)
	if x.opset < 18 {
		x.cannot("axes of reductions are no inputs")
		return
	}
	d := &detected{outNode: x, p: p}
	d.corners = d.decoded()
	d.scores = x.in[1]
	if p.Columns > p.Classes {
		d.scores = d.part(d.scores, 2, int(p.Columns-p.Classes), int(p.Columns))
	}
	if p.PerClass > 0 {
		d.regular()
	} else {
		d.fast()
	}
}

type detected struct {
	*outNode
	p               *qref.DetectionsParams
	corners, scores string // of all boxes: [1, N, 4] and [1, N, classes]
}

// do writes one operator on values of a type; what only the data know has no shape in the file.
func (d *detected) do(name string, attrs ir.Attrs, t tensor.DType, in ...string) string {
	s := d.unique(d.out[0] + "_" + name)
	d.types[s] = ir.Type{DType: t}
	d.emit(name, attrs, in, []string{s})
	return s
}

func (d *detected) real(name string, in ...string) string { return d.do(name, nil, tensor.F32, in...) }

func (d *detected) ints(v ...int) string { return d.constant(d.out[0]+"_ints", tensor.Ints(v...)) }

func (d *detected) floats(shape []int, v ...float32) string {
	return d.constant(d.out[0]+"_floats", tensor.Of(shape, v))
}

func (d *detected) part(v string, axis, from, to int) string {
	return d.do("Slice", nil, d.types[v].DType, v, d.ints(from), d.ints(to), d.ints(axis))
}

func (d *detected) shaped(v string, shape ...int) string {
	return d.do("Reshape", nil, d.types[v].DType, v, d.ints(shape...))
}

func (d *detected) rows(v, at string) string {
	return d.do("Gather", nil, d.types[v].DType, v, at)
}

func (d *detected) decoded() string {
	s := d.p.Scale
	at, of := d.part(d.in[2], 1, 0, 2), d.part(d.in[2], 1, 2, 4)
	t := d.real("Div", d.part(d.in[0], 2, 0, 2), d.floats([]int{2}, s[0], s[1]))
	size := d.real("Div", d.part(d.in[0], 2, 2, 4), d.floats([]int{2}, s[2], s[3]))
	centre := d.real("Add", d.real("Mul", t, of), at)
	half := d.real("Mul", d.real("Mul", d.real("Exp", size), d.floats(nil, 0.5)), of)
	return d.do("Concat", ir.Attrs{"axis": ir.Int(2)}, tensor.F32, d.real("Sub", centre, half),
		d.real("Add", centre, half))
}

// selected are n rows as NonMaxSuppression gives them for scores [1, classes, N], of -1
// behind what it gives, and which of them there are.
func (d *detected) selected(scores string, most, n int) (list, there string) {
	least := math.Nextafter32(d.p.Score, float32(math.Inf(-1))) // it selects what is above
	list = d.do("NonMaxSuppression", nil, tensor.I64, d.corners, scores, d.ints(most),
		d.floats([]int{1}, d.p.IoU), d.floats([]int{1}, least))
	none := slices.Repeat([]int{-1}, 3*n)
	rest := d.constant(d.out[0]+"_none", tensor.Of([]int{n, 3}, tensor.Ints(none...).Int64s()))
	list = d.part(d.do("Concat", ir.Attrs{"axis": ir.Int(0)}, tensor.I64, list, rest), 0, 0, n)
	box := d.shaped(d.part(list, 1, 2, 3), n)
	return list, d.do("GreaterOrEqual", nil, tensor.Bool, box, d.ints(0))
}

// column is the class (1) or the box (2) of each of n rows, 0 for those that there are not.
func (d *detected) column(list string, k, n int) string {
	return d.do("Max", nil, tensor.I64, d.shaped(d.part(list, 1, k, k+1), n), d.ints(0))
}

// result writes a result: [most, labels, n] of detections that are there, zeros elsewhere, and
// rows of zeros at the end of an axis.
func (d *detected) result(i int, v, there string, labels, n, axis int) {
	most, rows := int(d.p.Most), int(d.p.Rows)
	kept := d.real("Where", d.shaped(there, most, 1, 1), v, d.floats(nil, 0))
	shape := d.n.Out[i].Type.Shape
	if rows > labels {
		size := [][]int{{most * (rows - 1), 1, n}, {most, rows - labels, n}}[axis]
		end := d.floats(size, make([]float32, tensor.Count(size))...)
		kept = d.do("Concat", ir.Attrs{"axis": ir.Int(axis)}, tensor.F32, kept, end)
	}
	d.emit("Reshape", nil, []string{kept, d.ints(shape...)}, []string{d.out[i]})
}

func (d *detected) count(there string) {
	one := d.do("Cast", ir.Attrs{"to": ir.Int(tensor.F32.ONNXCode())}, tensor.F32, there)
	d.emit("ReduceSum", nil, []string{one, d.ints(0)}, []string{d.out[3]})
}

// top are the k largest of a value along its last axis, and where they lie.
func (d *detected) top(v string, k int) (values, at string) {
	values, at = d.unique(d.out[0]+"_top"), d.unique(d.out[0]+"_at")
	d.types[values], d.types[at] = ir.Type{DType: tensor.F32}, ir.Type{DType: tensor.I64}
	d.emit("TopK", nil, []string{v, d.ints(k)}, []string{values, at})
	return values, at
}

func (d *detected) float(v string) string {
	return d.do("Cast", ir.Attrs{"to": ir.Int(tensor.F32.ONNXCode())}, tensor.F32, v)
}

// fast: boxes compete by their best scores.
func (d *detected) fast() {
	n, most, classes, labels := int(d.p.Boxes), int(d.p.Most), int(d.p.Classes), int(d.p.Labels)
	best := d.shaped(d.do("ReduceMax", nil, tensor.F32, d.scores, d.ints(2)), 1, 1, n)
	list, there := d.selected(best, most, most)
	box := d.column(list, 2, most)
	values, at := d.top(d.rows(d.shaped(d.scores, n, classes), box), labels)
	boxes := d.shaped(d.rows(d.shaped(d.corners, n, 4), box), most, 1, 4)
	d.result(0, d.real("Expand", boxes, d.ints(most, labels, 4)), there, labels, 4, 1)
	d.result(1, d.float(d.shaped(at, most, labels, 1)), there, labels, 1, 1)
	d.result(2, d.shaped(values, most, labels, 1), there, labels, 1, 1)
	d.count(there)
}

// regular: classes select by themselves, the best of all are the results.
func (d *detected) regular() {
	n, most, classes := int(d.p.Boxes), int(d.p.Most), int(d.p.Classes)
	size := max(classes*min(int(d.p.PerClass), n), most)
	byClass := d.do("Transpose", ir.Attrs{"perm": ir.Ints(0, 2, 1)}, tensor.F32, d.scores)
	list, there := d.selected(byClass, int(d.p.PerClass), size)
	class, box := d.column(list, 1, size), d.column(list, 2, size)
	flat := d.do("Add", nil, tensor.I64, d.do("Mul", nil, tensor.I64, class, d.ints(n)), box)
	score := d.rows(d.shaped(byClass, n*classes), flat)
	values, at := d.top(d.real("Where", there, score, d.floats(nil, float32(math.Inf(-1)))), most)
	there = d.rows(there, at)
	d.result(0, d.shaped(d.rows(d.shaped(d.corners, n, 4), d.rows(box, at)), most, 1, 4), there, 1, 4, 0)
	d.result(1, d.float(d.shaped(d.rows(class, at), most, 1, 1)), there, 1, 1, 0)
	d.result(2, d.shaped(values, most, 1, 1), there, 1, 1, 0)
	d.count(there)
}
