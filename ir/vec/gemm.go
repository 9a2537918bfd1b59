package vec

import (
	"math"
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

// Pack packs alpha*a, or its transpose; ok is false where there is no assembly
// for what follows.
func Pack(trans bool, m, k int, alpha float64, a []float64, lda int) (l *Left, ok bool) {
	if width == 0 {
		return nil, false
	}
	tiles := (m + tileRows - 1) / tileRows
	l = &Left{m: m, k: k, data: make([]float64, tiles*tileRows*k)}
	row, step := lda, 1
	if trans {
		row, step = 1, lda
	}
	for k0 := 0; k0 < k; k0 += depthBlock {
		depth := min(depthBlock, k-k0)
		block := l.data[tiles*tileRows*k0:]
		for i := range m {
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

// AddTo adds l*b to c, which is m x n as b is k x n: every element of c takes its
// k products one after another, leaving out those of zeros on the left. Blocks of
// columns are work for each, which calls a function for 0 ... count-1.
// ok is false, and c as it was, where that cannot be had: what zeros would have
// left out makes a difference.
func (l *Left) AddTo(n int, b []float64, ldb int, c []float64, ldc int, each func(count int, f func(i int))) (ok bool) {
	if l.zeros && !(plain(l.k, n, b, ldb, notFinite) && plain(l.m, n, c, ldc, negativeZero)) {
		return false
	}
	each((n+columnBlock-1)/columnBlock, func(i int) {
		j0 := i * columnBlock
		cols := min(columnBlock, n-j0)
		packed := buffers.Get().(*[depthBlock * columnBlock]float64)
		for k0 := 0; k0 < l.k; k0 += depthBlock {
			depth := min(depthBlock, l.k-k0)
			packRight(depth, cols, b[k0*ldb+j0:], ldb, packed[:])
			l.block(k0, depth, cols, packed[:], c[j0:], ldc)
		}
		buffers.Put(packed)
	})
	return true
}

// buffers hold packed columns.
var buffers = sync.Pool{New: func() any { return new([depthBlock * columnBlock]float64) }}

func notFinite(v float64) bool    { return v-v != 0 }
func negativeZero(v float64) bool { return v == 0 && math.Signbit(v) }

// plain reports that no element of a matrix is odd.
func plain(rows, cols int, b []float64, ldb int, odd func(float64) bool) bool {
	for i := range rows {
		for _, v := range b[i*ldb:][:cols] {
			if odd(v) {
				return false
			}
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

// block adds the products of one block of depth to columns of c.
func (l *Left) block(k0, depth, cols int, packed, c []float64, ldc int) {
	tiles := (l.m + tileRows - 1) / tileRows
	left := l.data[tiles*tileRows*k0:]
	var edge [tileRows * 16]float64
	for t := range tiles {
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
