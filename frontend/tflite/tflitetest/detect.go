// SPDX-License-Identifier: Apache-2.0

package tflitetest

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
)

// Anchors are n constant anchors: centres in the unit square, sizes of a tenth to a half.
func Anchors(rng *rand.Rand, n int) []byte {
	b := []byte{}
	for i := range 4 * n {
		v := rng.Float32()
		if i%4 >= 2 {
			v = 0.1 + 0.4*v
		}
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// DetectionOptions are those of DetectionPostprocess, with the usual scales.
func DetectionOptions(most, classes, labels int, score, iou float64) map[string]any {
	return map[string]any{"max_detections": most, "num_classes": classes, "max_classes_per_detection": labels,
		"nms_score_threshold": score, "nms_iou_threshold": iou, "y_scale": 10., "x_scale": 10., "h_scale": 5.,
		"w_scale": 5.}
}

// detections are layers of DetectionPostprocess: classes that compete, and that do not,
// with a background and without.
func detections() []*Layer {
	var all []*Layer
	for i, typ := range []string{"f32", "f32", "f32", "i8"} {
		all = append(all, layersOf("TFLite_Detection_PostProcess", []string{typ}, func(l *Layer) {
			const boxes, classes = 15, 3
			o := DetectionOptions(4, classes, 1+i/3, -5, 0.9)
			if i == 1 {
				o["use_regular_nms"], o["detections_per_class"] = true, 3
			}
			rows := int32(4 * (1 + i/3))
			anchors := l.tensor("f32", boxes, 4)
			l.Tensors[anchors].Data = Anchors(l.rng, boxes)
			l.do(custom(o), []int32{l.in(1, boxes, 4), l.in(1, boxes, classes+int32(i%2)), anchors},
				l.output("f32", 1, rows, 4), l.output("f32", 1, rows), l.output("f32", 1, rows), l.output("f32", 1))
		})...)
	}
	return all
}
