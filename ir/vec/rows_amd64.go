// SPDX-License-Identifier: Apache-2.0

package vec

// rows1 and rows2 are Rows of elements that are 1 and 2 apart; there is one at least.
//
//go:noescape
func rows1(rows, n, pitch, apart int, dst, src *float32)

//go:noescape
func rows2(rows, n, pitch, apart int, dst, src *float32)
