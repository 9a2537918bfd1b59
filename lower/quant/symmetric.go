// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"math"

	"github.com/nncc/nncc/ir/vec"
)

// symmetric is a square symmetric matrix, its rows in full.
type symmetric [][]float64

func newSymmetric(n int) symmetric { return newMatrix(n, n) }

// newMatrix has its rows one behind the other.
func newMatrix(rows, cols int) [][]float64 {
	m := make([][]float64, rows)
	all := make([]float64, rows*cols)
	for i := range m {
		m[i] = all[i*cols:][:cols]
	}
	return m
}

// mirror makes the upper triangle that of the lower one.
func (m symmetric) mirror() {
	for i := range m {
		for j := range i {
			m[j][i] = m[i][j]
		}
	}
}

// addProducts adds the scalar products of rows, of their first n elements, to the lower
// triangle of m; blocks of it are work for each.
func (m symmetric) addProducts(rows [][]float64, n int, each func(count int, f func(i int))) {
	vec.AddGram(n, rows, m[0][:len(m)*len(m)], each)
}

// inTurn calls f(0) ... f(count-1).
func inTurn(count int, f func(i int)) {
	for i := range count {
		f(i)
	}
}

// dots writes the scalar products of x and rows, which may be longer.
func dots(x []float64, rows [][]float64, out []float64) {
	i := 0
	for ; i+4 <= len(rows); i += 4 {
		four := vec.Dot4(x, (*[4][]float64)(rows[i:]))
		copy(out[i:], four[:])
	}
	for ; i < len(rows); i++ {
		out[i] = vec.Dot(x, rows[i][:len(x)])
	}
}

// forms are x'*m*x of several x.
func (m symmetric) forms(x [][]float64) []float64 {
	sums, part := make([]float64, len(x)), make([]float64, len(x))
	for i, row := range m {
		dots(row[:i], x, part)
		for o, v := range x {
			sums[o] += float64(v[i] * (2*part[o] + float64(row[i]*v[i])))
		}
	}
	return sums
}

// panel is how many columns of a factor are known before the rows below them are
// worked on, rowBlock how many of these rows are work for one core.
const panel, rowBlock = 32, 16

// cholesky replaces the lower triangle of m by L with m = L*L'; false when m is
// not positive definite.
func (m symmetric) cholesky() bool {
	for from := 0; from < len(m); from += panel {
		to := min(from+panel, len(m))
		for j := from; j < to; j++ {
			d := m[j][j] - vec.Dot(m[j][:j], m[j][:j])
			if !(d > 0) || math.IsInf(d, 0) {
				return false
			}
			m[j][j] = math.Sqrt(d)
			m.below(j, j+1, to)
		}
		rest := len(m) - to
		parallelEach((rest+rowBlock-1)/rowBlock, func(b int) {
			first := to + b*rowBlock
			for j := from; j < to; j++ {
				m.below(j, first, min(first+rowBlock, len(m)))
			}
		})
	}
	return true
}

// below is column j of the factor in some rows, whose columns before j are known.
func (m symmetric) below(j, from, to int) {
	var sum [rowBlock + panel]float64
	dots(m[j][:j], m[from:to], sum[:])
	for i := from; i < to; i++ {
		m[i][j] = (m[i][j] - sum[i-from]) / m[j][j]
	}
}
