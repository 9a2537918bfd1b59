// SPDX-License-Identifier: Apache-2.0

package vec

// Pieces gives y, which may be x, the values at x of polynomials of degree 3 in pieces: half
// of them below 0, scale of them, a power of two, between two whole numbers. Coefficients are
// those of 0 at a piece's begin and 1 at its end, the constant first. An element of x that lies
// in no piece ends it: as many as the result says have their values.
func Pieces(x, y []float32, parts [][4]float32, scale float32) int {
	y = y[:len(x)]
	n := 0
	if width > 0 && len(x) >= 8 {
		n = pieces8(len(x)&^7, scale, len(parts)/2, &parts[0], &x[0], &y[0])
	}
	half := len(parts) / 2
	for i := n; i < len(x); i++ {
		t := x[i] * scale
		if !(t >= -float32(half) && t < float32(half)) {
			return i
		}
		k := int(int32(t + float32(half)))
		u := t - float32(k-half)
		if u < 0 {
			k, u = k-1, u+1
		}
		p := &parts[k]
		y[i] = float32(float32(float32(float32(float32(p[3]*u)+p[2])*u)+p[1])*u) + p[0]
	}
	return len(x)
}
