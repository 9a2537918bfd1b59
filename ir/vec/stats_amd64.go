// SPDX-License-Identifier: Apache-2.0

package vec

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
