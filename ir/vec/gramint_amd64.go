// SPDX-License-Identifier: Apache-2.0

package vec

// dots4x2 gives sums the scalar products of four rows of a and two of b, pitch bytes apart;
// n is a multiple of 16.
//
//go:noescape
func dots4x2(n int, a, b *int16, pitch int, sums *[8]int32)
