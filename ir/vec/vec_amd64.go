// SPDX-License-Identifier: Apache-2.0

package vec

import "golang.org/x/sys/cpu"

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

// taps4 is Taps of n values, a multiple of 4.
//
//go:noescape
func taps4(n, taps int, from float64, w *float64, at *int, x, y *float64)

// taps32 is Taps of n values, a multiple of 32, with AVX-512.
//
//go:noescape
func taps32(n, taps int, from float64, w *float64, at *int, x, y *float64)

// fill4 is Fill of n values, a multiple of 4.
//
//go:noescape
func fill4(n int, v float64, x *float64)

// pack4 writes n columns, a multiple of 4, of four rows, widened, one behind the other;
// zeros is not 0 where there is a zero among them.
//
//go:noescape
func pack4(n int, r0, r1, r2, r3 *float32, y *float64) (zeros uint32)

// widen writes n groups of 8 numbers from x to y, leaving skip bytes out behind
// every run of groups.
//
//go:noescape
func widen(n int, x *float32, y *float64, skip, run int)
