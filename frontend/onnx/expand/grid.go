// SPDX-License-Identifier: Apache-2.0

package expand

import (
	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// affineGrid is the positions that GridSample reads for an affine map theta
// [N, r, r+1] of an output of the given size [N, C, spatial...].
func affineGrid(e *build.Node) []*ir.Value {
	theta, size := e.Need(0, 3), e.Known(1, "the size")
	corners := e.Bool("align_corners", false)
	r := len(size) - 2
	e.Want(r == 2 || r == 3, "shape", "the size has %d values, want [N, C, H, W] or [N, C, D, H, W]", len(size))
	e.Shaped(theta, "theta", size[0], r, r+1)
	points := 1
	for _, d := range size[2:] {
		e.Want(d >= 1 && d <= 1<<20 && points*d <= 1<<26, "shape",
			"the size is %v, want dimensions of 1 and more, and not more than 2^26 positions", size)
		points *= d
	}
	base := make([]float64, 0, points*(r+1))
	idx := make([]int, r)
	for range points {
		for k := r - 1; k >= 0; k-- { // the innermost dimension is x
			d := float64(size[2+k])
			v := (2*float64(idx[k])+1)/d - 1
			if corners {
				v = -1
				if d > 1 {
					v = 2*float64(idx[k])/(d-1) - 1
				}
			}
			base = append(base, v)
		}
		base = append(base, 1)
		for k := r - 1; k >= 0; k-- {
			if idx[k]++; idx[k] < size[2+k] {
				break
			}
			idx[k] = 0
		}
	}
	grid := e.Data(tensor.FromFloats(theta.Type.DType, []int{points, r + 1}, base))
	y := e.Do("MatMul", nil, grid, e.Transpose(theta, 0, 2, 1))
	return []*ir.Value{e.Reshape(y, append(append([]int{size[0]}, size[2:]...), r)...)}
}
