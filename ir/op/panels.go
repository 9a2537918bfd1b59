// SPDX-License-Identifier: Apache-2.0

package op

import (
	"sync"

	"github.com/nncc/nncc/ir/tensor"
)

// panelElements is about how much of a right side a panel holds: 1 MiB.
const panelElements = 1 << 17

// panelMemory keeps the memory of panels that were used: a calibration runs each layer
// hundreds of times.
var panelMemory = sync.Pool{New: func() any { return new([]float64) }}

// rightSide is the right side of a float product, k x n, or n x k if trans. The product
// reads it in panels of columns, so that no widened or transposed copy of a
// network's weights is made as a whole.
type rightSide struct {
	k, n   int
	trans  bool
	narrow []float32 // or wide
	wide   []float64
}

// rightOf is d as the right side of a product; d may be of any float type.
func rightOf(d *tensor.Dense, k, n int, trans bool) *rightSide {
	r := &rightSide{k: k, n: n, trans: trans}
	if d.DType == tensor.F32 {
		r.narrow = tensor.As[float32](d)
	} else {
		r.wide = tensor.As[float64](d.Cast(tensor.F64))
	}
	return r
}

// gemmPanels is gemm with b for op(b), in float64; the panels are computed on all cores.
// Every element of c is the same sum in the same order as without panels.
func gemmPanels(ta bool, m int, alpha float64, a []float64, lda int, b *rightSide, beta float64, c []float64) {
	if b.wide != nil && !b.trans {
		gemm(ta, false, m, b.n, b.k, alpha, a, lda, b.wide, max(b.n, 1), beta, c, max(b.n, 1))
		return
	}
	cols := min(max(panelElements/max(b.k, 1)&^63, 64), max(b.n, 1))
	parallel((b.n+cols-1)/cols, func(i int) {
		j := i * cols
		width := min(cols, b.n-j)
		memory := panelMemory.Get().(*[]float64)
		defer panelMemory.Put(memory)
		if cap(*memory) < b.k*width {
			*memory = make([]float64, b.k*width)
		}
		panel := (*memory)[:b.k*width]
		if b.narrow != nil {
			columns(panel, b, b.narrow, j, width)
		} else {
			columns(panel, b, b.wide, j, width)
		}
		gemm(ta, false, m, width, b.k, alpha, a, lda, panel, width, beta, c[j:], b.n)
	})
}

// columns fills panel, k x width, with the columns of b from j on; data is what b holds.
func columns[T float](panel []float64, b *rightSide, data []T, j, width int) {
	if !b.trans {
		for l := range b.k {
			row := panel[l*width:][:width]
			for i, v := range data[l*b.n+j:][:width] {
				row[i] = float64(v)
			}
		}
		return
	}
	const tile = 32
	for i0 := 0; i0 < width; i0 += tile {
		for l0 := 0; l0 < b.k; l0 += tile {
			for i := i0; i < min(i0+tile, width); i++ {
				for l, v := range data[(j+i)*b.k+l0 : (j+i)*b.k+min(l0+tile, b.k)] {
					panel[(l0+l)*width+i] = float64(v)
				}
			}
		}
	}
}
