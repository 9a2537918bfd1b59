// SPDX-License-Identifier: Apache-2.0

package vec

import (
	"slices"
	"sync"
)

// Single is the left side of matrix products of float32, m x k, packed for them: tiles of
// singleRows rows, [k][singleRows], zeros beyond the last; a row alone is a tile of its own.
type Single struct {
	m, k, rows int
	data       []float32
}

const (
	// singleRows is the height of a tile, mostSingle the most columns of one.
	singleRows, mostSingle = 4, 64
)

// PackSingle packs a, or its transpose.
func PackSingle(trans bool, m, k int, a []float32, lda int) *Single {
	l := &Single{m: m, k: k, rows: singleRows}
	if m == 1 {
		l.rows = 1
	}
	l.data = make([]float32, (m+l.rows-1)/l.rows*l.rows*k)
	l.Set(trans, a, lda)
	return l
}

// Set packs another matrix of the same size.
func (l *Single) Set(trans bool, a []float32, lda int) {
	row, step := lda, 1
	if trans {
		row, step = 1, lda
	}
	if l.k == 0 {
		return
	}
	first := 0
	if l.rows == singleRows {
		for ; first+singleRows <= l.m; first += singleRows {
			l.tile(trans, l.data[first*l.k:][:singleRows*l.k], a[first*row:], lda)
		}
	}
	for i := first; i < l.m; i++ {
		dst, src := l.data[i/l.rows*l.rows*l.k+i%l.rows:], a[i*row:]
		for j := range l.k {
			dst[j*l.rows] = src[j*step]
		}
	}
}

// tile packs singleRows rows of a, or columns of its transpose.
func (l *Single) tile(trans bool, dst, a []float32, lda int) {
	if trans {
		for j := range l.k {
			d, s := dst[j*singleRows:][:singleRows], a[j*lda:][:singleRows]
			d[0], d[1], d[2], d[3] = s[0], s[1], s[2], s[3]
		}
		return
	}
	r0, r1, r2, r3 := a[:l.k], a[lda:][:l.k], a[2*lda:][:l.k], a[3*lda:][:l.k]
	for j, v := range r0 {
		d := dst[j*singleRows:][:singleRows]
		d[0], d[1], d[2], d[3] = v, r1[j], r2[j], r3[j]
	}
}

// Sums are what a product begins with and ends in.
type Sums struct {
	Row, Col []float32 // added to the products of a row, of a column; nil: nothing
	Lo, Hi   float32   // to which results are brought
}

var noSums [mostSingle]float32

// MostColumns is how many columns a tile has at most: where b goes on for as many behind its
// last row, products of few columns need not copy it.
const MostColumns = mostSingle

// Times gives element j of row i of c, n columns and rows ldc apart, the sum of s.Row[i],
// s.Col[j] and l[i][0]*b[at[0]+j], l[i][1]*b[at[1]+j], ..., added one after another in
// float32.
func (l *Single) Times(n int, at []int, b []float32, s *Sums, c []float32, ldc int) {
	if n == 0 || l.m == 0 {
		return
	}
	wide := l.wide()
	if width == 0 || l.k == 0 {
		l.timesPlain(n, at, b, s, c, ldc)
		return
	}
	if n < wide {
		l.timesNarrow(n, wide, at, b, s, c, ldc)
		return
	}
	for _, a := range at[:l.k] {
		_ = b[a : a+n]
	}
	for j := 0; j < n; j += wide {
		l.column(min(j, n-wide), at, b, s, c, ldc)
	}
}

// wide is how many columns a tile has, 0 without assembly.
func (l *Single) wide() int {
	if l.rows == 1 {
		return 4 * width
	}
	return 2 * width
}

// singles keep the memory of narrow products.
var singles = sync.Pool{New: func() any { return new([]float32) }}

// timesNarrow is Times of fewer columns than a tile has.
func (l *Single) timesNarrow(n, wide int, at []int, b []float32, s *Sums, c []float32, ldc int) {
	memory := singles.Get().(*[]float32)
	defer singles.Put(memory)
	size := (l.k + l.m) * wide
	if cap(*memory) < size {
		*memory = make([]float32, size)
	}
	right, out := (*memory)[:l.k*wide], (*memory)[l.k*wide:size]
	places := at[:l.k]
	if slices.Max(places)+wide <= len(b) { // what is behind a row does no harm
		right = b
	} else {
		places = make([]int, l.k)
		for k, a := range at[:l.k] {
			places[k] = k * wide
			clear(right[k*wide+copy(right[k*wide:][:wide], b[a:a+n]):][:wide-n])
		}
	}
	t := *s
	if s.Col != nil {
		var col [mostSingle]float32
		copy(col[:], s.Col[:n])
		t.Col = col[:]
	}
	l.column(0, places, right, &t, out, wide)
	for i := range l.m {
		copy(c[i*ldc:][:n], out[i*wide:])
	}
}

// column is Times of the tiles that begin with column j.
func (l *Single) column(j int, at []int, b []float32, s *Sums, c []float32, ldc int) {
	wide := l.wide()
	col := &noSums[0]
	if s.Col != nil {
		_ = s.Col[j : j+wide]
		col = &s.Col[j]
	}
	if l.rows == 1 {
		row := &noSums[0]
		if s.Row != nil {
			row = &s.Row[0]
		}
		_ = c[j : j+wide]
		rowSingle(l.k, &l.data[0], &at[0], &b[j], row, col, s.Lo, s.Hi, &c[j])
		return
	}
	var edge [singleRows * mostSingle]float32
	for i := 0; i < l.m; i += singleRows {
		rows, row := min(singleRows, l.m-i), &noSums[0]
		if s.Row != nil {
			row = &s.Row[i]
		}
		if rows == singleRows {
			_ = c[(i+singleRows-1)*ldc+j+wide-1]
			tileSingle(l.k, &l.data[i*l.k], &at[0], &b[j], row, col, s.Lo, s.Hi, &c[i*ldc+j], ldc)
			continue
		}
		var last [singleRows]float32
		if s.Row != nil {
			copy(last[:], s.Row[i:l.m])
			row = &last[0]
		}
		tileSingle(l.k, &l.data[i*l.k], &at[0], &b[j], row, col, s.Lo, s.Hi, &edge[0], mostSingle)
		for r := range rows {
			copy(c[(i+r)*ldc+j:][:wide], edge[r*mostSingle:])
		}
	}
}

// timesPlain is Times without assembly.
func (l *Single) timesPlain(n int, at []int, b []float32, s *Sums, c []float32, ldc int) {
	for i := range l.m {
		out, first := c[i*ldc:][:n], i/l.rows*l.rows*l.k+i%l.rows
		for j := range out {
			var f, g float32
			if s.Row != nil {
				f = s.Row[i]
			}
			if s.Col != nil {
				g = s.Col[j]
			}
			out[j] = f + g
		}
		for k, a := range at[:l.k] {
			f := l.data[first+k*l.rows]
			for j, v := range b[a:][:n] {
				out[j] += float32(f * v)
			}
		}
		for j, v := range out {
			if v < s.Lo {
				v = s.Lo
			}
			if v > s.Hi {
				v = s.Hi
			}
			out[j] = v
		}
	}
}

// tileSingle is a tile of singleRows rows and 2*width columns.
func tileSingle(k int, a *float32, at *int, b, row, col *float32, lo, hi float32, c *float32, ldc int) {
	if width == 16 {
		tileSingle32(k, a, at, b, row, col, lo, hi, c, ldc)
		return
	}
	tileSingle16(k, a, at, b, row, col, lo, hi, c, ldc)
}

// rowSingle is a row of 4*width columns.
func rowSingle(k int, a *float32, at *int, b, row, col *float32, lo, hi float32, c *float32) {
	if width == 16 {
		rowSingle64(k, a, at, b, row, col, lo, hi, c)
		return
	}
	rowSingle32(k, a, at, b, row, col, lo, hi, c)
}
