// SPDX-License-Identifier: Apache-2.0

package vec

import (
	"math"
	"slices"
	"sync"
)

const (
	// tileRows is the height of a tile, depthBlock how many products a tile adds
	// before the next tile's turn, columnBlock the columns that are packed at a time.
	tileRows, depthBlock, columnBlock = 4, 256, 128
)

// Left is the left side of matrix products, m x k and scaled, packed for them.
type Left struct {
	m, k  int
	data  []float64 // by blocks of depth, then tiles: [depth][tileRows]
	zeros bool      // there is a zero
}

// packed keeps the memory of packed sides that were given back: a calibration packs each
// layer's weights hundreds of times.
var packed = sync.Pool{New: func() any { return new([]float64) }}

// newLeft has memory for a side; rows that fill up its last tile are zero.
func newLeft(m, k int) *Left {
	n := (m + tileRows - 1) / tileRows * tileRows * k
	b := packed.Get().(*[]float64)
	if cap(*b) < n {
		*b = make([]float64, n)
	}
	l := &Left{m: m, k: k, data: (*b)[:n]}
	if m%tileRows != 0 {
		clear(l.data)
	}
	return l
}

// Release gives the memory to sides that are packed later; l is not to be used again.
func (l *Left) Release() {
	data := l.data
	l.data = nil
	packed.Put(&data)
}

// Pack packs alpha*a, or its transpose; ok is false where there is no assembly
// for what follows.
func Pack(trans bool, m, k int, alpha float64, a []float64, lda int) (l *Left, ok bool) {
	if width == 0 {
		return nil, false
	}
	tiles := (m + tileRows - 1) / tileRows
	l = newLeft(m, k)
	row, step := lda, 1
	if trans {
		row, step = 1, lda
	}
	for k0 := 0; k0 < k; k0 += depthBlock {
		depth := min(depthBlock, k-k0)
		block := l.data[tiles*tileRows*k0:]
		i0 := 0
		if !trans && alpha == 1 {
			for ; i0+tileRows <= m; i0 += tileRows {
				l.zeros = packRows(block[i0*depth:][:tileRows*depth], a[i0*lda+k0:], lda) || l.zeros
			}
		}
		for i := i0; i < m; i++ {
			dst := block[i/tileRows*tileRows*depth+i%tileRows:]
			src := a[i*row+k0*step:]
			for j := range depth {
				v := alpha * src[j*step]
				l.zeros = l.zeros || v == 0
				dst[j*tileRows] = v
			}
		}
	}
	return l, true
}

// packRows packs one tile of rows; it reports a zero.
func packRows(dst, a []float64, lda int) (zeros bool) {
	depth := len(dst) / tileRows
	r0, r1, r2, r3 := a[:depth], a[lda:][:depth], a[2*lda:][:depth], a[3*lda:][:depth]
	for j, v := range r0 {
		d := dst[j*tileRows:][:tileRows]
		d[0], d[1], d[2], d[3] = v, r1[j], r2[j], r3[j]
		if v == 0 || r1[j] == 0 || r2[j] == 0 || r3[j] == 0 {
			zeros = true
		}
	}
	return zeros
}

// AddTo adds l*b to c, which is m x n as b is k x n: every element of c takes its
// k products one after another. Blocks of columns are work for each, which calls a
// function for 0 ... count-1.
// ok is false, and c as it was, where there are zeros on the left and -0 in c: it is
// to stay.
func (l *Left) AddTo(n int, b []float64, ldb int, c []float64, ldc int, each func(count int, f func(i int))) (ok bool) {
	if l.zeros && !NoNegativeZero(l.m, n, c, ldc) {
		return false
	}
	each((n+columnBlock-1)/columnBlock, func(i int) {
		j0 := i * columnBlock
		cols := min(columnBlock, n-j0)
		packed := buffers.Get().(*rightSide)
		for k0 := 0; k0 < l.k; k0 += depthBlock {
			depth := min(depthBlock, l.k-k0)
			packRight(depth, cols, b[k0*ldb+j0:], ldb, packed[:])
			l.block(k0, depth, 0, cols, packed[:], c[j0:], ldc)
		}
		buffers.Put(packed)
	})
	return true
}

// buffers hold packed columns.
var buffers = sync.Pool{New: func() any { return new(rightSide) }}

// NoNegativeZero reports that no element of a matrix is -0.
func NoNegativeZero(rows, cols int, b []float64, ldb int) bool {
	for i := range rows {
		if slices.ContainsFunc(b[i*ldb:][:cols], func(v float64) bool { return v == 0 && math.Signbit(v) }) {
			return false
		}
	}
	return true
}

// packRight packs columns by tiles: [depth][width], zeros beyond the last.
func packRight(depth, cols int, b []float64, ldb int, packed []float64) {
	for j := 0; j < cols; j += width {
		w := min(width, cols-j)
		for i := range depth {
			dst := packed[j*depth+i*width:][:width]
			if copy(dst, b[i*ldb+j:][:w]) < width {
				clear(dst[w:])
			}
		}
	}
}

// rightSide holds at most columnBlock columns of a right side, for depthBlock products of each.
type rightSide [depthBlock * columnBlock]float64

// Depth is how many products AddGram takes at most.
const Depth = depthBlock

// block adds the products of one block of depth to columns of c, from a tile of rows on.
func (l *Left) block(k0, depth, first, cols int, packed, c []float64, ldc int) {
	tiles := (l.m + tileRows - 1) / tileRows
	left := l.data[tiles*tileRows*k0:]
	var edge [tileRows * 16]float64
	for t := first; t < tiles; t++ {
		a := &left[t*tileRows*depth]
		rows := min(tileRows, l.m-t*tileRows)
		for j := 0; j < cols; j += width {
			w := min(width, cols-j)
			at := c[t*tileRows*ldc+j:]
			if rows == tileRows && w == width {
				tile(depth, a, &packed[j*depth], &at[0], ldc)
				continue
			}
			for i := range rows {
				copy(edge[i*width:][:w], at[i*ldc:])
			}
			tile(depth, a, &packed[j*depth], &edge[0], width)
			for i := range rows {
				copy(at[i*ldc:][:w], edge[i*width:])
			}
		}
	}
}

func tile(k int, a, b, c *float64, ldc int) {
	if width == 16 {
		tile4x16(k, a, b, c, ldc)
		return
	}
	tile4x8(k, a, b, c, ldc)
}
