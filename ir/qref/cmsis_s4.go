// SPDX-License-Identifier: Apache-2.0

package qref

// PackS4 is the memory image of int4 weights: two a byte, the first one in the
// low half, without gaps; elements are in [-8, 7]. Kernels with int4 filters
// compute what the int8 ones do on the unpacked weights.
func PackS4(w []int8) []byte {
	b := make([]byte, (len(w)+1)/2)
	for i, v := range w {
		b[i/2] |= byte(v&15) << (i % 2 * 4)
	}
	return b
}
