// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"math"
	"slices"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/ir/tensor"
	"google.golang.org/protobuf/proto"
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
func (n *operands) detection() (*detectionOptions, error) {
	all, err := fb.ReadNumbers(n.o.Custom)
	if err != nil {
		return nil, fmt.Errorf("damaged options: %w", err)
	}
	whole := func(name string) int {
		v := all[name]
		if err == nil && (v != math.Trunc(v) || math.Abs(v) > math.MaxInt32) {
			err = fmt.Errorf("option %s is %g, want a whole number", name, v)
		}
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
		if err == nil && o.perClass < 1 {
			err = fmt.Errorf("option detections_per_class is %d, want at least 1", o.perClass)
		}
	}
	if err == nil && (min(o.most, o.classes) < 1 || !o.regular && o.categories < 1) {
		err = fmt.Errorf("options max_detections %d, num_classes %d, max_classes_per_detection %d, want at least 1",
			o.most, o.classes, o.categories)
	}
	return o, err
}

// detectionPostprocess writes nncc.Detections: boxes and scores as real numbers, and the
// anchors. Shapes of results that the file leaves out are those that the options give.
func detectionPostprocess(n *operands) error {
	o, err := n.detection()
	if err != nil {
		return err
	}
	if len(n.o.In) != 3 || len(n.o.Out) != 4 {
		return fmt.Errorf("%d inputs and %d results, want 3 (boxes, scores, anchors) and 4 (boxes, classes, scores, "+
			"number)", len(n.o.In), len(n.o.Out))
	}
	boxes := n.o.Out[0]
	if o.regular && (o.categories < 1 || len(boxes.Shape) == 3 && boxes.Shape[1] == o.most) {
		o.categories = 1 // it counts rows of results only
	}
	if o.most > math.MaxInt32/o.categories {
		return fmt.Errorf("%d detections of %d classes each", o.most, o.categories)
	}
	rows := o.most * o.categories
	for i, want := range [][]int{{1, rows, 4}, {1, rows}, {1, rows}, {1}} {
		y := n.o.Out[i]
		if len(y.Shape) == 0 {
			y.Shape = want
		}
		if y.DType != tensor.F32 || y.Data != nil || !slices.Equal(y.Shape, want) {
			return fmt.Errorf("result %d (%q) is %s%v, want float32%v, by max_detections and "+
				"max_classes_per_detection", i, y.Name, y.DType, y.Shape, want)
		}
	}
	out := []string{boxes.Name, n.o.Out[1].Name, n.o.Out[2].Name, n.o.Out[3].Name}
	n.c.nodes("nncc.Detections", out, []string{n.real(0), n.real(1), n.real(2)},
		intAttr("max_detections", o.most), intAttr("per_class", o.perClass), intAttr("max_classes", o.categories),
		intAttr("classes", o.classes), floatAttr("score_threshold", o.score), floatAttr("iou_threshold", o.iou),
		floatsAttr("scale", o.scale))
	return nil
}

func floatsAttr(name string, v []float32) *pb.AttributeProto {
	return &pb.AttributeProto{Name: proto.String(name), Type: pb.AttributeProto_FLOATS.Enum(), Floats: v}
}
