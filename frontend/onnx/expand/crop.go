// SPDX-License-Identifier: Apache-2.0

package expand

import (
	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// centerCropPad crops or pads with zeros around the centre to a given shape.
func centerCropPad(e *build.Node) []*ir.Value {
	x, want := e.Need(0, -1), e.Known(1, "the shape")
	s := x.Type.Shape
	axes := ir.Identity(len(s))
	if a := e.IntList("axes"); a != nil {
		axes = nil
		for _, v := range a {
			if v < 0 {
				v += int64(len(s))
			}
			e.Want(v >= 0 && v < int64(len(s)), "axis", "axis %d is out of range for rank %d", v, len(s))
			axes = append(axes, int(v))
		}
	}
	e.Want(len(want) == len(axes), "shape", "the shape is %v for axes %v, want one value an axis", want, axes)
	var at, from, to, pads, ends []int
	grows := false
	for i, a := range axes {
		e.Want(want[i] >= 0 && want[i] <= tensor.MaxElems, "shape", "the shape is %v, want dimensions of 0 and more",
			want)
		at = append(at, a)
		cut, pad := max(s[a]-want[i], 0), max(want[i]-s[a], 0)
		from, to = append(from, cut/2), append(to, cut/2+min(s[a], want[i]))
		pads, ends = append(pads, pad/2), append(ends, pad-pad/2)
		grows = grows || pad > 0
	}
	y := e.Do("Slice", nil, x, e.Ints(from...), e.Ints(to...), e.Ints(at...))
	if grows {
		y = e.Do("Pad", nil, y, e.Ints(append(pads, ends...)...), nil, e.Ints(at...))
	}
	return []*ir.Value{y}
}
