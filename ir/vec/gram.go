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
		right := buffers.Get().(*Right)
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
