// SPDX-License-Identifier: Apache-2.0

package expand

import (
	"slices"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// tensorScatter writes the update into a cache along an axis, from the index
// of every sample on, around the end when circular.
func tensorScatter(e *build.Node) []*ir.Value {
	cache, update := e.Need(0, -1), e.Need(1, -1)
	axis, circular := e.Int("axis", -2), e.Str("mode", "linear", "linear", "circular") == "circular"
	s := cache.Type.Shape
	if axis < 0 {
		axis += len(s)
	}
	e.Want(axis >= 1 && axis < len(s), "axis", "axis %d of a cache of shape %v, want one behind the first", axis, s)
	want := slices.Clone(s)
	if update.Type.Rank() == len(s) {
		want[axis] = update.Type.Shape[axis]
	}
	e.Shaped(update, "update", want...)
	e.Want(want[axis] <= s[axis], "shape", "the update has %d positions, the cache %d", want[axis], s[axis])
	line := along(len(s), axis, want[axis])
	at := e.Data(build.Count[int64](line...))
	if first := e.Input(2); first != nil {
		e.Shaped(first, "write_indices", s[0])
		line[axis], line[0] = 1, s[0]
		if !circular {
			first = within(e, first, s[axis]-want[axis])
		}
		at = e.Do("Add", nil, at, e.Reshape(e.Cast(first, tensor.I64), line...))
	}
	if circular {
		at = e.Do("Mod", nil, at, e.Data(tensor.Scalar(int64(s[axis]))))
	}
	at = e.Do("Expand", nil, at, e.Ints(want...))
	return []*ir.Value{e.Do("ScatterElements", ir.Attrs{"axis": ir.Int(axis)}, cache, at, update)}
}

// within is v, of which numbers below 0 and above most are an error at run time.
func within(e *build.Node, v *ir.Value, most int) *ir.Value {
	return e.DoOp(op.Within, ir.Attrs{"most": ir.Int(most)}, v)
}
