// SPDX-License-Identifier: Apache-2.0

package vec

import "math"

// Accumulate adds x to sums, which are at least as many.
func Accumulate(x []float32, sums []float64) {
	sums = sums[:len(x)]
	n := 0
	if width > 0 && len(x) >= 8 {
		n = len(x) &^ 7
		accumulate8(n, &x[0], &sums[0])
	}
	for i, v := range x[n:] {
		sums[n+i] += float64(v)
	}
}

// SumRows gives sums those of the columns of rows, which begin apart in x, from the first row on.
func SumRows(x []float32, rows, apart int, sums []float64) {
	n := len(sums)
	if rows == 0 || n == 0 {
		clear(sums)
		return
	}
	if width > 0 {
		_ = x[(rows-1)*apart+n-1]
		sumRows(rows, n, apart, &x[0], &sums[0])
		return
	}
	clear(sums)
	for r := range rows {
		for i, v := range x[r*apart:][:n] {
			sums[i] += float64(v)
		}
	}
}

// Extent gives the least and the largest of numbers, infinities where there is none; odd:
// some are infinite or no numbers.
func Extent(x []float32) (lo, hi float32, odd bool) {
	lo, hi = float32(math.Inf(1)), float32(math.Inf(-1))
	n := 0
	if width > 0 && len(x) >= 8 {
		n = len(x) &^ 7
		var some extent
		extent8(n, &x[0], &some)
		odd = some.odd != 0
		for i, v := range some.lo {
			lo, hi = lesser(v, lo), greater(some.hi[i], hi)
		}
	}
	for _, v := range x[n:] {
		odd = odd || v-v != 0
		lo, hi = lesser(v, lo), greater(v, hi)
	}
	return lo + 0, hi + 0, odd // no -0
}

// extent is that of eight interleaved parts.
type extent struct {
	lo, hi [8]float32
	odd    uint32
}

func lesser(a, b float32) float32 {
	if a < b {
		return a
	}
	return b
}

func greater(a, b float32) float32 {
	if a > b {
		return a
	}
	return b
}

// Bins gives at the whole numbers not above the numbers x, brought into lo to hi, times
// scale, and how many of x are zero. All of them are finite, and the products are int32.
func Bins(x []float32, lo, hi, scale float32, at []int32) (zeros int) {
	at = at[:len(x)]
	n := 0
	if width > 0 && len(x) >= 8 {
		n = len(x) &^ 7
		zeros = bins8(n, lo, hi, scale, &x[0], &at[0])
	}
	for i, v := range x[n:] {
		if v == 0 {
			zeros++
		}
		at[n+i] = int32(math.Floor(float64(float32(lesser(greater(v, lo), hi) * scale))))
	}
	return zeros
}

// Noise gives the sums of the squares of want, and of its differences from got, in eight
// interleaved parts. Elements of want that are not finite are left out.
func Noise(want, got []float32) (signal, err float64) {
	got = got[:len(want)]
	var s, e [8]float64
	n := 0
	if width > 0 && len(want) >= 8 {
		n = len(want) &^ 7
		noise8(n, &want[0], &got[0], &s, &e)
	}
	for i := n; i < len(want); i++ {
		if v := want[i]; v-v == 0 {
			f := float64(v)
			d := f - float64(got[i])
			s[i%8] += float64(f * f)
			e[i%8] += float64(d * d)
		}
	}
	return eight(&s), eight(&e)
}

func eight(s *[8]float64) float64 {
	return ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]))
}

// Sum adds the elements of x up in four interleaved parts.
func Sum[T float32 | float64](x []T) float64 {
	var s0, s1, s2, s3 float64
	for ; len(x) >= 4; x = x[4:] {
		s0, s1, s2, s3 = s0+float64(x[0]), s1+float64(x[1]), s2+float64(x[2]), s3+float64(x[3])
	}
	for _, v := range x {
		s0 += float64(v)
	}
	return (s0 + s1) + (s2 + s3)
}
