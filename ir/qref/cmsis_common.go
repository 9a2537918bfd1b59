// SPDX-License-Identifier: Apache-2.0

package qref

// The cmsis_*.go files compute, in Go and byte for byte, what the CMSIS-NN
// functions of revision 99f736a6 compute on every core (plain C, DSP and MVE
// builds agree). Convolutions, products and pools are exact sums: package op has
// them in any layout. Arguments fit together: what a node's types say is checked
// there.

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

// KernelSums are the values that the MVE build of CMSIS-NN wants in the context
// buffer of a fully connected layer: for each of "cols" filter rows, the row's
// sum (with the filter offset) times the input offset, plus the bias. They are
// constants of the model. Source: arm_vector_sum_s8.
func KernelSums(cols, depth int, filter []int8, inputOffset, filterOffset int32, bias []int32) []int32 {
	sums := make([]int32, cols)
	copy(sums, bias)
	for j := range sums {
		s := int32(depth) * filterOffset
		for _, v := range filter[j*depth:][:depth] {
			s += int32(v)
		}
		sums[j] += s * inputOffset
	}
	return sums
}
