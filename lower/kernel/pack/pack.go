// SPDX-License-Identifier: Apache-2.0

// Package pack does the compile-time arithmetic of kernels whose weights nncc
// prepares: input offsets folded into biases, the accumulators that are
// reachable, and requantisation in one multiplication, proven per channel. It
// knows no instruction set.
package pack

import "encoding/binary"

// Bias is the start value of an accumulator that sums x*w instead of
// (x+inOff)*w: bias plus inOff times the sum of the channel's weights.
func Bias(w []int8, inOff, bias int32) int64 {
	sum := int64(0)
	for _, v := range w {
		sum += int64(v)
	}
	return int64(bias) + int64(inOff)*sum
}

// Reach is the smallest and the largest sum of x*w over all int8 inputs x.
func Reach(w []int8) (lo, hi int64) {
	for _, v := range w {
		a, b := -128*int64(v), 127*int64(v)
		lo += min(a, b)
		hi += max(a, b)
	}
	return lo, hi
}

// Words is the little-endian image of 32-bit words.
func Words(w []int32) []byte {
	b := make([]byte, 0, 4*len(w))
	for _, x := range w {
		b = binary.LittleEndian.AppendUint32(b, uint32(x))
	}
	return b
}
