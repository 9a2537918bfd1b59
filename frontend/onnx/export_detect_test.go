// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest"
)

// TestExportDetections: boxes of detectors are written in ONNX's operators, for classes
// that compete and that do not, with more classes a detection and rows that stay empty.
func TestExportDetections(t *testing.T) {
	q := newORT(t)
	var anchors []string
	for i := range 4 * 30 {
		anchors = append(anchors, fmt.Sprintf("0.%d", 13+i*37%83))
	}
	for i, attrs := range []string{
		"max_detections=5, classes=3, iou_threshold=0.5, score_threshold=0.2",
		"max_detections=40, classes=3, iou_threshold=0.3, score_threshold=-9.0",
		"max_detections=6, classes=2, max_classes=3, iou_threshold=0.9",
		"max_detections=6, classes=3, max_classes=2, iou_threshold=0.9",
		"max_detections=7, classes=3, per_class=2, iou_threshold=0.5",
		"max_detections=9, classes=2, per_class=100, max_classes=2, iou_threshold=0.4, score_threshold=0.5",
	} {
		name := fmt.Sprint("detections ", i)
		t.Run(name, func(t *testing.T) {
			g := irtest.Parse(t, fmt.Sprintf(`graph "net" {
				in %%x : f32[1,30,5]
				in %%s : f32[1,30,3]
				const %%a : f32[30,4] = {%s}
				%%b, %%c, %%v, %%n = nncc.Detections(%%x, %%s, %%a) {%s, scale=[3.0,3.0,5.0,5.0]}
				out "b" = %%b
				out "c" = %%c
				out "v" = %%v
				out "n" = %%n
			}`, strings.Join(anchors, ","), attrs))
			_, b, in, want := exported(t, g, ExportOptions{}, 1e-5)
			q.add(t, name, b, g, in, want, 1e-5)
		})
	}
	q.run(t)
}
