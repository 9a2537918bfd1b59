// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

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
		g, err := NMSGeometry(n)
		if err != nil {
			return 0
		}
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
		y := make([]int64, g.Batch*g.Classes*g.Most*3)
		for i := range y {
			y[i] = -1
		}
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
	refuse(n, b.Rank() != 3 || s.Rank() != 3 || b.Shape[2] != 4 || b.Shape[0] != s.Shape[0] ||
		b.Shape[1] != s.Shape[2], "shape-mismatch",
		"boxes %v with scores %v, want [N, boxes, 4] and [N, classes, boxes]", b.Shape, s.Shape)
	for i := range 2 {
		fail.Check(wantType(n, i, floatTypes))
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
	if _, err := tensor.Elems([]int{g.Batch, g.Classes, g.Most, 3}); err != nil {
		return nil, ir.Errf(n, "shape", "the output: %v", err)
	}
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
