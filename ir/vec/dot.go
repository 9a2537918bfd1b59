// SPDX-License-Identifier: Apache-2.0

// Package vec holds the inner loops of the float64 arithmetic that nncc spends
// its time in. The order of every sum is defined, and products are rounded
// before they are added: results are the same bits with assembly and without,
// on every processor.
package vec

// Dot is the scalar product of a and b, in four interleaved parts: element i
// belongs to part i%4, what is left after the last four to part 0.
func Dot(a, b []float64) float64 {
	var s [4]float64
	n := len(a) &^ 3
	lanes(n, a, b, &s)
	return finish(n, a, b, &s)
}

func lanes(n int, a, b []float64, s *[4]float64) {
	var s0, s1, s2, s3 float64
	b = b[:len(a)]
	for i := 0; i < n; i += 4 {
		s0 += float64(a[i] * b[i])
		s1 += float64(a[i+1] * b[i+1])
		s2 += float64(a[i+2] * b[i+2])
		s3 += float64(a[i+3] * b[i+3])
	}
	*s = [4]float64{s0, s1, s2, s3}
}

func finish(n int, a, b []float64, s *[4]float64) float64 {
	for i := n; i < len(a); i++ {
		s[0] += float64(a[i] * b[i])
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}

// Dot4 is Dot of x and each of four rows, which are at least as long.
func Dot4(x []float64, r *[4][]float64) [4]float64 {
	var s [4][4]float64
	Lanes4(x, r, &s)
	n := len(x) &^ 3
	var out [4]float64
	for i := range r {
		out[i] = finish(n, x, r[i], &s[i])
	}
	return out
}

// Lanes4 gives the parts of Dot of x and four rows, without what is left after
// the last four elements.
func Lanes4(x []float64, r *[4][]float64, s *[4][4]float64) {
	n := len(x) &^ 3
	if n == 0 || width == 0 {
		for i := range r {
			lanes(n, x[:n], r[i][:n], &s[i])
		}
		return
	}
	for i := range r {
		_ = r[i][n-1]
	}
	lanes4(n, &x[0], &r[0][0], &r[1][0], &r[2][0], &r[3][0], s)
}

// DotsSingle gives out the Dot of x and each row of w, which are as long and one behind the other.
func DotsSingle(x []float64, w []float32, out []float64) {
	k, n := len(x), len(x)&^3
	_ = w[:k*len(out)]
	var s [4][4]float64
	for i := 0; i < len(out); i += 4 {
		rows := w[i*k:]
		if width > 0 && n > 0 && i+4 <= len(out) {
			lanes4Single(n, &x[0], &rows[0], 4*k, &s)
		} else {
			for r := range min(4, len(out)-i) {
				s[r] = lanesSingle(x[:n], rows[r*k:])
			}
		}
		for r := range min(4, len(out)-i) {
			row := rows[r*k:][:k]
			for j := n; j < k; j++ {
				s[r][0] += float64(x[j] * float64(row[j]))
			}
			out[i+r] = (s[r][0] + s[r][1]) + (s[r][2] + s[r][3])
		}
	}
}

// lanesSingle are the parts of Dot of x and a row.
func lanesSingle(x []float64, row []float32) (s [4]float64) {
	for row = row[:len(x)]; len(x) >= 4 && len(row) >= 4; x, row = x[4:], row[4:] {
		s[0] += float64(x[0] * float64(row[0]))
		s[1] += float64(x[1] * float64(row[1]))
		s[2] += float64(x[2] * float64(row[2]))
		s[3] += float64(x[3] * float64(row[3]))
	}
	return s
}

// Axpy adds f*x to y, which is at least as long.
func Axpy(f float64, x, y []float64) {
	y = y[:len(x)]
	n := 0
	if width > 0 && len(x) >= 4 {
		n = len(x) &^ 3
		axpy4(n, f, &x[0], &y[0])
	}
	for i := n; i < len(x); i++ {
		y[i] += float64(f * x[i])
	}
}
