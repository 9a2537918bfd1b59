// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"
	"slices"

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
		p := fail.Must(DetectionsParams(n))
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
func DetectionsParams(n *ir.Node) (_ *qref.DetectionsParams, err error) {
	defer fail.Catch(&err)
	a := ir.AttrsOf[DetectionsAttrs](n)
	checkDetected(n, a.Classes)
	refuse(n, min(a.MaxDetections, a.MaxClasses) < 1 || a.PerClass < 0 || a.MaxDetections > maxDetected ||
		a.MaxClasses > maxDetected/a.MaxDetections, "attribute",
		"%d detections of %d classes, %d of each; want at least one, and at most %d in all", a.MaxDetections,
		a.MaxClasses, a.PerClass, maxDetected)
	refuse(n, !(a.IouThreshold > 0 && a.IouThreshold <= 1) || math.IsNaN(float64(a.ScoreThreshold)), "attribute",
		"thresholds %g of the score and %g of what boxes share, want a number, and one above 0, at most 1",
		a.ScoreThreshold, a.IouThreshold)
	boxes, scores := n.In[0].Type.Shape, n.In[1].Type.Shape
	p := &qref.DetectionsParams{Boxes: int32(boxes[1]), Coords: int32(boxes[2]), Columns: int32(scores[2]),
		Classes: int32(a.Classes), Most: int32(a.MaxDetections), Score: a.ScoreThreshold, IoU: a.IouThreshold,
		PerClass: int32(min(a.PerClass, a.MaxDetections)), Labels: int32(min(a.MaxClasses, a.Classes)),
		Rows: int32(a.MaxClasses)}
	refuse(n, len(a.Scale) != len(p.Scale), "attribute", "%d scales, want those of y, x, height and width",
		len(a.Scale))
	for i, v := range a.Scale {
		refuse(n, !(v > 0) || math.IsInf(float64(v), 0), "attribute", "scale %g, want a positive number", v)
		p.Scale[i] = v
	}
	return p, nil
}

// checkDetected checks boxes, scores and anchors.
func checkDetected(n *ir.Node, classes int) {
	b, s, anchors := n.In[0].Type, n.In[1].Type, n.In[2].Type
	refuse(n, b.Rank() != 3 || s.Rank() != 3 || b.Shape[0] != 1 || s.Shape[0] != 1 || b.Shape[2] < 4 ||
		b.Shape[1] < 1 || s.Shape[1] != b.Shape[1] || !sameShape(anchors.Shape, []int{b.Shape[1], 4}), "shape-mismatch",
		"boxes %v with scores %v and anchors %v, want [1, N, 4], [1, N, classes] and [N, 4]", b.Shape, s.Shape,
		anchors.Shape)
	for i := range 3 {
		t := n.In[i].Type
		refuse(n, t.DType != tensor.F32 || t.Quant != nil, "dtype", "input %d (%s) is %s, want float32", i, n.In[i], t)
	}
	refuse(n, classes < 1 || s.Shape[2] != classes && s.Shape[2] != classes+1, "shape-mismatch",
		"%d scores for %d classes, want as many, or one more for the background", s.Shape[2], classes)
}

// NonMaxSuppressionAttrs are the attributes of NonMaxSuppression.
type NonMaxSuppressionAttrs struct {
	CenterPointBox int `default:"0"`
}

// NonMaxSuppression selects, for every sample and class, the boxes with the
// highest scores that do not overlap a better one too much. How many there are
// depends on the data: the result has room for all that max_output_boxes_per_class
// (input 2, a constant) allows, and rows of -1 behind those that were selected.
var NonMaxSuppression = def(ir.OpDef{
	Name: "NonMaxSuppression", Doc: "boxes with the highest scores that do not overlap; rows of -1 behind them, up " +
		"to the capacity",
	Attrs: ir.Declare[NonMaxSuppressionAttrs](), MinIn: 2, MaxIn: 5, Quant: ir.QNone, Pattern: ir.Opaque,
	DataSized: true,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		g := fail.Must(NMSGeometry(n))
		return one(ir.T(tensor.I64, g.Batch*g.Classes*g.Most, 3))
	},
	// every box selected is the best of all, and its overlap with those before it takes some eight multiplications
	MACs: func(n *ir.Node) int64 {
		g := fail.Must(NMSGeometry(n))
		return work(g.Batch, g.Classes, g.Most, g.Boxes+8*g.Most)
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		g := fail.Must(NMSGeometry(n))
		boxes, scores := in[0].Floats(), in[1].Floats()
		overlap, least := 0.0, negInf
		if d := opt(in, 3); d != nil {
			overlap = d.Float(0)
		}
		if d := opt(in, 4); d != nil {
			least = d.Float(0)
		}
		y := slices.Repeat([]int64{-1}, g.Batch*g.Classes*g.Most*3)
		rows := 0
		taken := make([]bool, g.Boxes)
		for b := range g.Batch {
			bs := boxes[b*g.Boxes*4:]
			for c := range g.Classes {
				s := scores[(b*g.Classes+c)*g.Boxes:][:g.Boxes]
				clear(taken)
				for first := rows; rows-first < g.Most; {
					best := -1
					for i, v := range s {
						if !taken[i] && v > least && (best < 0 || v > s[best]) {
							best = i
						}
					}
					if best < 0 {
						break
					}
					taken[best] = true
					ok := true
					for r := first; r < rows; r++ {
						ok = ok && !(g.iou(bs[best*4:], bs[y[r*3+2]*4:]) > overlap)
					}
					if ok {
						y[rows*3], y[rows*3+1], y[rows*3+2] = int64(b), int64(c), int64(best)
						rows++
					}
				}
			}
		}
		return outs(tensor.Of([]int{len(y) / 3, 3}, y))
	},
})

// NMSGeom are the sizes of a NonMaxSuppression: Most boxes at most are
// selected for a sample and class.
type NMSGeom struct {
	Batch, Classes, Boxes, Most int
	Centre                      bool // boxes are [x, y, width, height] around a centre
}

// NMSGeometry checks a NonMaxSuppression node.
func NMSGeometry(n *ir.Node) (_ *NMSGeom, err error) {
	defer fail.Catch(&err)
	b, s := n.In[0].Type, n.In[1].Type
	refuse(n, b.Rank() != 3 || s.Rank() != 3 || b.Shape[2] != 4 || b.Shape[0] != s.Shape[0] || b.Shape[1] != s.Shape[2],
		"shape-mismatch", "boxes %v with scores %v, want [N, boxes, 4] and [N, classes, boxes]", b.Shape, s.Shape)
	for i := range 2 {
		wantType(n, i, floatTypes)
	}
	for i := 3; i <= 4; i++ {
		if v := n.Input(i); v != nil && (v.Type.Elems() != 1 || !v.Type.DType.IsFloat()) {
			return nil, ir.Errf(n, "shape", "the threshold %s is %s, want one float", v, v.Type)
		}
	}
	most := fail.Must(ConstInts(n, 2, "the number of boxes per class"))
	g := &NMSGeom{Batch: s.Shape[0], Classes: s.Shape[1], Boxes: s.Shape[2],
		Centre: ir.AttrsOf[NonMaxSuppressionAttrs](n).CenterPointBox != 0}
	if len(most) > 0 {
		g.Most = min(max(most[0], 0), g.Boxes)
	}
	wantElems(n, "the output: ", []int{g.Batch, g.Classes, g.Most, 3})
	return g, nil
}

// iou is the area of the intersection of two boxes over that of their union.
func (g *NMSGeom) iou(a, b []float64) float64 {
	corners := func(v []float64) (y1, x1, y2, x2 float64) {
		if g.Centre {
			return v[1] - v[3]/2, v[0] - v[2]/2, v[1] + v[3]/2, v[0] + v[2]/2
		}
		return min(v[0], v[2]), min(v[1], v[3]), max(v[0], v[2]), max(v[1], v[3])
	}
	ay1, ax1, ay2, ax2 := corners(a)
	by1, bx1, by2, bx2 := corners(b)
	h, w := min(ay2, by2)-max(ay1, by1), min(ax2, bx2)-max(ax1, bx1)
	if !(h > 0 && w > 0) {
		return 0
	}
	both := h * w
	union := float64((ay2-ay1)*(ax2-ax1)) + float64((by2-by1)*(bx2-bx1)) - both
	if !(union > 0) {
		return 0
	}
	return both / union
}
