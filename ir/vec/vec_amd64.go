// SPDX-License-Identifier: Apache-2.0

package vec

import (
	"golang.org/x/sys/cpu"
)

// width is how many columns a tile of the matrix product has: 16 with AVX-512, 8
// with AVX2, 0 where there is no assembly.
var width = func() int {
	switch {
	case cpu.X86.HasAVX512F && cpu.X86.HasAVX2:
		return 16
	case cpu.X86.HasAVX2:
		return 8
	}
	return 0
}()

//go:noescape
func tile4x8(k int, a, b, c *float64, ldc int)

//go:noescape
func tile4x16(k int, a, b, c *float64, ldc int)

//go:noescape
func lanes4(n int, x, r0, r1, r2, r3 *float64, sums *[4][4]float64)

// lanes4Single has rows of float32, pitch bytes apart.
//
//go:noescape
func lanes4Single(n int, x *float64, w *float32, pitch int, sums *[4][4]float64)

//go:noescape
func axpy4(n int, f float64, x, y *float64)

// These convert n numbers, a multiple of group; quantise a multiple of two groups.

//go:noescape
func quantise(n int, scale float32, zero int32, x *float32, y *int8)

//go:noescape
func dequantise(n int, scale float32, zero int32, x *int8, y *float32)

// dots4x2 gives sums the scalar products of four rows of a and two of b, pitch bytes apart;
// n is a multiple of 16.
//
//go:noescape
func dots4x2(n int, a, b *int16, pitch int, sums *[8]int32)

// pieces8 is Pieces of n elements, a multiple of 8; it ends at the first 8 of which one lies in
// no piece. There are twice half pieces.
//
//go:noescape
func pieces8(n int, scale float32, half int, parts *[4]float32, x, y *float32) (done int)

// roundingError8 is RoundingError of n numbers, a multiple of 8, without the sum of its
// parts.
//
//go:noescape
func roundingError8(n int, by, lo, hi float64, x, w *float64, sums *[parts]float64)

// roundingErrors4 is RoundingErrors of n numbers, a multiple of 4.
//
//go:noescape
func roundingErrors4(n int, scale, lo, hi float64, x, y *float64)

// clampErrors4 is ClampErrors of n numbers, a multiple of 4.
//
//go:noescape
func clampErrors4(n int, lo, hi float64, x, y *float64)

// These are tileSingle and rowSingle of as many columns.

//go:noescape
func tileSingle16(k int, a *float32, at *int, b, row, col *float32, lo, hi float32, c *float32, ldc int)

//go:noescape
func tileSingle32(k int, a *float32, at *int, b, row, col *float32, lo, hi float32, c *float32, ldc int)

//go:noescape
func rowSingle32(k int, a *float32, at *int, b, row, col *float32, lo, hi float32, c *float32)

//go:noescape
func rowSingle64(k int, a *float32, at *int, b, row, col *float32, lo, hi float32, c *float32)

// These look at n numbers, a multiple of 8.

//go:noescape
func accumulate8(n int, x *float32, sums *float64)

//go:noescape
func extent8(n int, x *float32, e *extent)

//go:noescape
func bins8(n int, lo, hi, scale float32, x *float32, at *int32) (zeros int)

//go:noescape
func noise8(n int, want, got *float32, signal, err *[8]float64)

// sumRows is SumRows of one row and column at least.
//
//go:noescape
func sumRows(rows, n, apart int, x *float32, sums *float64)

// table8 gives n elements of y, a multiple of 8, those of the table that are x times by and
// first, at 0 and 255 at most.
//
//go:noescape
func table8(n int, by float32, first int32, table *[256]float32, x, y *float32)
