// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"math"
	"slices"

	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// detectionOptions are those of DetectionPostprocess.
type detectionOptions struct {
	most, categories, perClass, classes int
	regular                             bool
	score, iou                          float32
	scale                               []float32
}

// defaultPerClass is how many boxes each class keeps where the file does not say.
const defaultPerClass = 100

// detection reads the options. Numbers that are missing are 0, as TensorFlow Lite has
// them, and refused where 0 is not possible.
func (n *node) detection() *detectionOptions {
	all, err := fb.ReadNumbers(n.o.Custom)
	n.refuse(err != nil, "damaged options: %v", err)
	whole := func(name string) int {
		v := all[name]
		n.refuse(v != math.Trunc(v) || math.Abs(v) > math.MaxInt32, "option %s is %g, want a whole number", name, v)
		return int(v)
	}
	o := &detectionOptions{most: whole("max_detections"), categories: whole("max_classes_per_detection"),
		classes: whole("num_classes"), regular: whole("use_regular_nms") != 0,
		score: float32(all["nms_score_threshold"]), iou: float32(all["nms_iou_threshold"])}
	for _, name := range []string{"y_scale", "x_scale", "h_scale", "w_scale"} {
		o.scale = append(o.scale, float32(all[name]))
	}
	if o.regular {
		o.perClass = defaultPerClass
		if _, ok := all["detections_per_class"]; ok {
			o.perClass = whole("detections_per_class")
		}
		n.refuse(o.perClass < 1, "option detections_per_class is %d, want at least 1", o.perClass)
	}
	n.refuse(min(o.most, o.classes) < 1 || !o.regular && o.categories < 1,
		"options max_detections %d, num_classes %d, max_classes_per_detection %d, want at least 1", o.most, o.classes,
		o.categories)
	return o
}

// detectionPostprocess writes nncc.Detections: boxes and scores as real numbers, and the
// anchors. Shapes of results that the file leaves out are those that the options give.
func detectionPostprocess(n *node) {
	o := n.detection()
	n.refuse(len(n.o.In) != 3 || len(n.o.Out) != 4,
		"%d inputs and %d results, want 3 (boxes, scores, anchors) and 4 (boxes, classes, scores, "+
			"number)", len(n.o.In), len(n.o.Out))
	boxes := n.o.Out[0]
	if o.regular && (o.categories < 1 || len(boxes.Shape) == 3 && boxes.Shape[1] == o.most) {
		o.categories = 1 // it counts rows of results only
	}
	n.refuse(o.most > math.MaxInt32/o.categories, "%d detections of %d classes each", o.most, o.categories)
	rows := o.most * o.categories
	for i, want := range [][]int{{1, rows, 4}, {1, rows}, {1, rows}, {1}} {
		y := n.o.Out[i]
		n.refuse(y.DType != tensor.F32 || len(y.Shape) != 0 && !slices.Equal(y.Shape, want),
			"result %d (%q) is %s%v, want float32%v, by max_detections and max_classes_per_detection", i, y.Name,
			y.DType, y.Shape, want)
	}
	n.giveAll("nncc.Detections", vals{n.real(0), n.real(1), n.real(2)},
		intAttr("max_detections", o.most), intAttr("per_class", o.perClass), intAttr("max_classes", o.categories),
		intAttr("classes", o.classes), floatAttr("score_threshold", o.score), floatAttr("iou_threshold", o.iou),
		attr{"scale", ir.Floats(o.scale...)})
}
