// SPDX-License-Identifier: Apache-2.0

package vec

// Rows copies rows of n elements, which are step apart in src, to dst, where they are one behind
// the other. Rows begin pitch apart in dst and apart in src.
func Rows(dst, src []float32, rows, n, pitch, apart, step int) {
	if rows == 0 || n == 0 {
		return
	}
	if width > 0 && step <= 2 {
		_, _ = dst[(rows-1)*pitch+n-1], src[(rows-1)*apart+(n-1)*step]
		if step == 1 {
			rows1(rows, n, pitch, apart, &dst[0], &src[0])
		} else {
			rows2(rows, n, pitch, apart, &dst[0], &src[0])
		}
		return
	}
	for r := range rows {
		row, line := dst[r*pitch:][:n], src[r*apart:]
		for i := range row {
			row[i] = line[i*step]
		}
	}
}
