// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
)

// detectionsRow decodes and selects boxes. It has the memory orders of the operator: rows
// of boxes and of scores.
var detectionsRow = row("nncc_detections_f32", "NNCC-DETECTIONS-F32", op.Detections.Doc, natural,
	kernel.Rules{cond.Float32(), cond.NotEmpty}, func(l *lowering, n *kernel.Node) {
		p := kernel.Known(op.DetectionsParams(n.Node))
		scale := make([]call.Field, len(p.Scale))
		for i, v := range p.Scale {
			scale[i] = call.F("", f32(v))
		}
		fields := append(ints("boxes", int(p.Boxes), "coords", int(p.Coords), "columns", int(p.Columns), "classes",
			int(p.Classes), "most", int(p.Most), "per_class", int(p.PerClass), "labels", int(p.Labels), "rows",
			int(p.Rows)), call.F("score", f32(p.Score)), call.F("iou", f32(p.IoU)),
			call.F("scale", call.Nested{Fields: scale}))
		l.call("nncc_detections_f32", params("nncc_detections_params", fields...), l.in(0), l.in(1), l.in(2), l.out(0),
			l.out(1), l.out(2), l.out(3), l.scratch(tensor.I32, int(p.Boxes)), l.scratch(tensor.F32, int(p.Boxes)),
			l.scratch(tensor.F32, 4*int(min(p.Most, p.Boxes))))
	}, op.Detections)
