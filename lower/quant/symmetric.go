package quant

import "math"

// Products are rounded before they are added (the conversions to float64):
// without that, compilers for some processors fuse the two, and results would
// differ between them.

// scalar is the scalar product of a and b, in four interleaved parts.
func scalar(a, b []float64) float64 {
	var s0, s1, s2, s3 float64
	n := len(a) &^ 3
	b = b[:len(a)]
	for i := 0; i < n; i += 4 {
		s0 += float64(a[i] * b[i])
		s1 += float64(a[i+1] * b[i+1])
		s2 += float64(a[i+2] * b[i+2])
		s3 += float64(a[i+3] * b[i+3])
	}
	for i := n; i < len(a); i++ {
		s0 += float64(a[i] * b[i])
	}
	return (s0 + s1) + (s2 + s3)
}

// axpy adds f*x to y.
func axpy(f float64, x, y []float64) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += float64(f * v)
	}
}

// symmetric is a square symmetric matrix, its rows in full.
type symmetric [][]float64

func newSymmetric(n int) symmetric {
	m := make(symmetric, n)
	all := make([]float64, n*n)
	for i := range m {
		m[i] = all[i*n : (i+1)*n]
	}
	return m
}

// gram is the matrix of the scalar products of columns.
func gram(cols [][]float64) symmetric {
	m := newSymmetric(len(cols))
	parallelEach(len(m), func(i int) {
		for j := range i + 1 {
			m[i][j] = scalar(cols[i], cols[j])
		}
	})
	for i := range m {
		for j := range i {
			m[j][i] = m[i][j]
		}
	}
	return m
}

// form is x'*m*x.
func (m symmetric) form(x []float64) float64 {
	s := 0.0
	for i, v := range x {
		if v != 0 {
			s += float64(v * scalar(m[i], x))
		}
	}
	return s
}

// cholesky replaces the lower triangle of m by L with m = L*L'; false when m is
// not positive definite.
func (m symmetric) cholesky() bool {
	for j := range m {
		d := m[j][j] - scalar(m[j][:j], m[j][:j])
		if !(d > 0) || math.IsInf(d, 0) {
			return false
		}
		d = math.Sqrt(d)
		m[j][j] = d
		row := func(i int) { m[i][j] = (m[i][j] - scalar(m[i][:j], m[j][:j])) / d }
		const block = 64
		if rest := len(m) - j - 1; rest > block && j > block {
			parallelEach((rest+block-1)/block, func(b int) {
				from := j + 1 + b*block
				for i := from; i < min(from+block, len(m)); i++ {
					row(i)
				}
			})
			continue
		}
		for i := j + 1; i < len(m); i++ {
			row(i)
		}
	}
	return true
}
