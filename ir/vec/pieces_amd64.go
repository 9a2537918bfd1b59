// SPDX-License-Identifier: Apache-2.0

package vec

// pieces8 is Pieces of n elements, a multiple of 8; it ends at the first 8 of which one lies in
// no piece. There are twice half pieces.
//
//go:noescape
func pieces8(n int, scale float32, half int, parts *[4]float32, x, y *float32) (done int)
