// SPDX-License-Identifier: Apache-2.0

package vec

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
