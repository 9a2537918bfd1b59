// SPDX-License-Identifier: Apache-2.0

package vec

// table8 gives n elements of y, a multiple of 8, those of the table that are x times by and
// first, at 0 and 255 at most.
//
//go:noescape
func table8(n int, by float32, first int32, table *[256]float32, x, y *float32)
