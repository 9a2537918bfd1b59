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

// gram is the matrix of the scalar products of columns.
func gram(cols [][]float64) symmetric {
	m := newSymmetric(len(cols))
	parallelEach(len(m), func(i int) { dots(cols[i], cols[:i+1], m[i]) })
	for i := range m {
		for j := range i {
			m[j][i] = m[i][j]
		}
	}
	return m
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

// inverseColumn is column c of the inverse of the lower triangle of m; its elements
// before c are not touched.
func (m symmetric) inverseColumn(c int, x []float64) {
	x[c] = 1 / m[c][c]
	// Four rows share the parts of their sums over the columns that are multiples
	// of four from c.
	for first := c; first < len(m); first += 4 {
		var s [4][4]float64
		if first+4 <= len(m) {
			vec.Lanes4(x[c:first], &[4][]float64{m[first][c:], m[first+1][c:], m[first+2][c:], m[first+3][c:]}, &s)
		}
		for i := max(first, c+1); i < min(first+4, len(m)); i++ {
			if first+4 <= len(m) {
				x[i] = -vec.Rest(x[c:i], m[i][c:i], &s[i-first]) / m[i][i]
			} else {
				x[i] = -vec.Dot(m[i][c:i], x[c:i]) / m[i][i]
			}
		}
	}
}
