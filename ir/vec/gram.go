// SPDX-License-Identifier: Apache-2.0

package vec

// AddGram adds to the lower triangle of c, which is len(rows) x len(rows), the scalar
// products of each two rows, of their first n elements, n at most Depth: every element of
// c takes its products one after another. What lies above the diagonal is left undefined.
// Blocks of c are work for each, which calls a function for 0 ... count-1.
func AddGram(n int, rows [][]float64, c []float64, each func(count int, f func(i int))) {
	size := len(rows)
	if width == 0 {
		each(size, func(i int) {
			for j, b := range rows[:i+1] {
				s := c[i*size+j]
				for k, v := range rows[i][:n] {
					s += float64(v * b[k])
				}
				c[i*size+j] = s
			}
		})
		return
	}
	left := newLeft(size, n)
	defer left.Release()
	for i := 0; i < size; i += tileRows {
		interleave(left.data[i*n:], tileRows, n, rows[i:min(i+tileRows, size)])
	}
	each((size+columnBlock-1)/columnBlock, func(b int) {
		from := b * columnBlock
		cols := min(columnBlock, size-from)
		right := buffers.Get().(*rightSide)
		for j := 0; j < cols; j += width {
			for i := 0; i < width; i += tileRows {
				at := min(from+j+i, size)
				interleave(right[j*n+i:], width, n, rows[at:min(at+tileRows, size)])
			}
		}
		left.block(0, n, from/tileRows, cols, right[:], c[from:], size)
		buffers.Put(right)
	})
}

// interleave writes the first n elements of at most tileRows rows side by side, element k
// of them from dst[k*pitch] on; there are zeros where a row is missing.
func interleave(dst []float64, pitch, n int, rows [][]float64) {
	if len(rows) == tileRows {
		r0, r1, r2, r3 := rows[0][:n], rows[1][:n], rows[2][:n], rows[3][:n]
		for k, v := range r0 {
			d := dst[k*pitch:][:tileRows]
			d[0], d[1], d[2], d[3] = v, r1[k], r2[k], r3[k]
		}
		return
	}
	for k := range n {
		d := dst[k*pitch:][:tileRows]
		clear(d)
		for i, r := range rows {
			d[i] = r[k]
		}
	}
}

// IntBlock is what lengths of rows of integers are multiples of: what is beyond them is zero.
const IntBlock = 16

// IntRows is what the number of such rows is a multiple of.
const IntRows = 4

// MostInts is how many products of such integers int32 holds.
const MostInts = 1 << 15

// AddGramInts adds to the lower triangle of c, size x size, the scalar products of each two
// of the rows of x, which are numbers from -255 to 255: n of them, a multiple of IntBlock and
// at most MostInts. There are rows up to the next multiple of IntRows. Rows of c are work for
// each, which calls a function for 0 ... count-1.
func AddGramInts(size, n int, x []int16, c []float64, each func(count int, f func(i int))) {
	tiles := (size + IntRows - 1) / IntRows
	_ = x[:tiles*IntRows*n]
	each(tiles, func(t int) {
		var sums [2 * IntRows]int32
		i := t * IntRows
		for j := 0; j < min(i+IntRows, size); j += 2 {
			if width > 0 && n > 0 {
				dots4x2(n, &x[i*n], &x[j*n], 2*n, &sums)
			} else {
				dotsPlain(n, x[i*n:], x[j*n:], &sums)
			}
			for r := range min(IntRows, size-i) {
				for k := j; k <= min(i+r, j+1); k++ {
					c[(i+r)*size+k] += float64(sums[2*r+k-j])
				}
			}
		}
	})
}

// dotsPlain gives sums the scalar products of the rows of a, IntRows of n numbers, and two of b.
func dotsPlain(n int, a, b []int16, sums *[2 * IntRows]int32) {
	for r := range IntRows {
		for k := range 2 {
			s, y := int32(0), b[k*n:][:n]
			for i, v := range a[r*n:][:n] {
				s += int32(v) * int32(y[i])
			}
			sums[2*r+k] = s
		}
	}
}

// ones are two rows to multiply rows of at most mostOnes with.
const mostOnes = 1 << 9

var ones = func() (x [2 * mostOnes]int16) {
	for i := range x {
		x[i] = 1
	}
	return x
}()

// AddSumsInts adds to each of sums the numbers of a row of x, laid out as for AddGramInts.
func AddSumsInts(n int, x []int16, sums []float64) {
	var some [2 * IntRows]int32
	for i := 0; i < len(sums); i += IntRows {
		if width > 0 && 0 < n && n <= mostOnes {
			_ = x[(i+IntRows)*n-1]
			dots4x2(n, &x[i*n], &ones[0], 2*n, &some)
			for r := range min(IntRows, len(sums)-i) {
				sums[i+r] += float64(some[2*r])
			}
			continue
		}
		for r := range min(IntRows, len(sums)-i) {
			sum := 0
			for _, v := range x[(i+r)*n:][:n] {
				sum += int(v)
			}
			sums[i+r] += float64(sum)
		}
	}
}
