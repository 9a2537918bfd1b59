// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
)

// DetectionsAttrs are the options of TensorFlow Lite's DetectionPostprocess.
type DetectionsAttrs struct {
	MaxDetections int `attr:",required"`
	// PerClass is how many boxes a class keeps; 0: all classes compete, each box by its
	// best score, and a detection is given for the best MaxClasses. The results have so
	// many rows for each detection.
	PerClass       int       `default:"0"`
	MaxClasses     int       `default:"1"`
	Classes        int       `attr:",required"`
	ScoreThreshold float32   `default:"0"`
	IouThreshold   float32   `attr:",required"`
	Scale          []float32 `attr:",required"` // of y, x, height and width
}

// Detections is TensorFlow Lite's DetectionPostprocess: boxes [1, N, 4 or more] are
// decoded by anchors [N, 4], and those with the highest scores [1, N, classes] that
// overlap no better one too much are the results. One column of scores more than Classes
// is the background's, in front. Results: boxes [1, M, 4] of two corners (y, x), classes
// [1, M], scores [1, M], their number [1]; zeros behind them.
var Detections = def(ir.OpDef{
	Name: "Detections", Domain: "nncc",
	Doc:   "boxes with the highest scores that do not overlap, as TensorFlow Lite decodes and selects them",
	Attrs: ir.Declare[DetectionsAttrs](), MinIn: 3, MinOut: 4, MaxOut: 4, Quant: ir.QNone, Pattern: ir.Opaque,
	DataSized: true,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		p := fail.Must(DetectionsParams(n))
		rows := p.ResultRows()
		return []ir.Type{ir.T(tensor.F32, 1, rows, 4), ir.T(tensor.F32, 1, rows), ir.T(tensor.F32, 1, rows),
			ir.T(tensor.F32, 1)}, nil
	},
	// every score is read; a box that is looked at takes some 40 multiplications, and 8 for
	// each that it is compared with
	MACs: func(n *ir.Node) int64 {
		p, err := DetectionsParams(n)
		if err != nil {
			return 0
		}
		most := int(min(p.Most, p.Boxes))
		return work(1, int(p.Boxes), int(p.Classes)) + work(int(max(p.PerClass, 1)), most, 40+8*most)
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		p := fail.Must(DetectionsParams(n))
		f32 := func(i int) []float32 { return in[i].Data.([]float32) }
		d := qref.Detect(p, f32(0), f32(1), f32(2))
		rows := p.ResultRows()
		return outs(tensor.Of([]int{1, rows, 4}, d.Boxes), tensor.Of([]int{1, rows}, d.Classes),
			tensor.Of([]int{1, rows}, d.Scores), tensor.Of([]int{1}, []float32{d.Count}))
	},
})

// maxDetected bounds detections, and rows of them.
const maxDetected = 1 << 16

// DetectionsParams checks a Detections node, and gives the kernel's parameters.
func DetectionsParams(n *ir.Node) (*qref.DetectionsParams, error) {
	a := ir.AttrsOf[DetectionsAttrs](n)
	if err := checkDetected(n, a.Classes); err != nil {
		return nil, err
	}
	if min(a.MaxDetections, a.MaxClasses) < 1 || a.PerClass < 0 || a.MaxDetections > maxDetected ||
		a.MaxClasses > maxDetected/a.MaxDetections {
		return nil, ir.Errf(n, "attribute", "%d detections of %d classes, %d of each; want at least one, and at most "+
			"%d in all", a.MaxDetections, a.MaxClasses, a.PerClass, maxDetected)
	}
	if !(a.IouThreshold > 0 && a.IouThreshold <= 1) || math.IsNaN(float64(a.ScoreThreshold)) {
		return nil, ir.Errf(n, "attribute", "thresholds %g of the score and %g of what boxes share, want a number, "+
			"and one above 0, at most 1", a.ScoreThreshold, a.IouThreshold)
	}
	boxes, scores := n.In[0].Type.Shape, n.In[1].Type.Shape
	p := &qref.DetectionsParams{Boxes: int32(boxes[1]), Coords: int32(boxes[2]), Columns: int32(scores[2]),
		Classes: int32(a.Classes), Most: int32(a.MaxDetections), Score: a.ScoreThreshold, IoU: a.IouThreshold,
		PerClass: int32(min(a.PerClass, a.MaxDetections)), Labels: int32(min(a.MaxClasses, a.Classes)),
		Rows: int32(a.MaxClasses)}
	if len(a.Scale) != len(p.Scale) {
		return nil, ir.Errf(n, "attribute", "%d scales, want those of y, x, height and width", len(a.Scale))
	}
	for i, v := range a.Scale {
		if !(v > 0) || math.IsInf(float64(v), 0) {
			return nil, ir.Errf(n, "attribute", "scale %g, want a positive number", v)
		}
		p.Scale[i] = v
	}
	return p, nil
}

// checkDetected checks boxes, scores and anchors.
func checkDetected(n *ir.Node, classes int) error {
	b, s, anchors := n.In[0].Type, n.In[1].Type, n.In[2].Type
	if b.Rank() != 3 || s.Rank() != 3 || b.Shape[0] != 1 || s.Shape[0] != 1 || b.Shape[2] < 4 || b.Shape[1] < 1 ||
		s.Shape[1] != b.Shape[1] || !sameShape(anchors.Shape, []int{b.Shape[1], 4}) {
		return ir.Errf(n, "shape-mismatch", "boxes %v with scores %v and anchors %v, want [1, N, 4], [1, N, classes] "+
			"and [N, 4]", b.Shape, s.Shape, anchors.Shape)
	}
	for i := range 3 {
		if t := n.In[i].Type; t.DType != tensor.F32 || t.Quant != nil {
			return ir.Errf(n, "dtype", "input %d (%s) is %s, want float32", i, n.In[i], t)
		}
	}
	if classes < 1 || s.Shape[2] != classes && s.Shape[2] != classes+1 {
		return ir.Errf(n, "shape-mismatch", "%d scores for %d classes, want as many, or one more for the background",
			s.Shape[2], classes)
	}
	return nil
}
