// SPDX-License-Identifier: Apache-2.0

package vec

// HardSwish gives y, which may be x, that function of x: x times (x+3)/6, of which what lies between 0
// and 1 counts.
func HardSwish(x, y []float32) {
	y = y[:len(x)]
	n := 0
	if width > 0 && len(x) >= 8 {
		n = len(x) &^ 7
		hardSwish8(n, &x[0], &y[0])
	}
	for i := n; i < len(x); i++ {
		f := float64(x[i])
		u := (f + 3) / 6
		if u < 0 {
			u = 0
		}
		if u > 1 {
			u = 1
		}
		y[i] = float32(f * u)
	}
}
