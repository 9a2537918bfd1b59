// SPDX-License-Identifier: Apache-2.0

package postprocess

import "math"

// Exp is e^x for x from -87 to 88, limits beyond them and for NaN the lower one, within 3
// units in the last place: a Taylor polynomial on [-ln 2 / 2, ln 2 / 2] and a power of two, in
// float32, each operation rounded. C has the same operations in the same order, which is why
// no library is asked.
func Exp(x float32) float32 {
	if !(x > -87) {
		x = -87
	}
	if x > 88 {
		x = 88
	}
	half := float32(0.5)
	if x < 0 {
		half = -0.5
	}
	k := int32(float32(x*1.44269504) + half)
	n := float32(k)
	r := x - float32(n*0.693359375) // 9 bits: the product is exact
	r += float32(n * 2.12194440e-4)
	y := float32(1. / 5040)
	for _, c := range [7]float32{1. / 720, 1. / 120, 1. / 24, 1. / 6, 0.5, 1, 1} {
		y = float32(y*r) + c
	}
	return y * math.Float32frombits(uint32(k+127)<<23)
}

// Sigmoid is 1 / (1 + e^-x), of NaN 0.
func Sigmoid(x float32) float32 {
	if !(x >= -math.MaxFloat32) {
		return 0
	}
	return 1 / (1 + Exp(-x))
}
