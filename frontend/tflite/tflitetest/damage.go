// SPDX-License-Identifier: Apache-2.0

package tflitetest

import (
	"bytes"
	"math/rand/v2"
)

// Damage is a file with some bytes changed, more of them at its front, and at times cut short.
func Damage(rng *rand.Rand, file []byte) []byte {
	b := bytes.Clone(file)
	for range 1 + rng.IntN(4) {
		at := rng.IntN(len(b))
		if rng.IntN(2) == 0 {
			at = rng.IntN(min(len(b), 2000))
		}
		b[at] = []byte{0, 1, 0x7f, 0x80, 0xff, byte(rng.IntN(256)), b[at] + 4, b[at] - 4}[rng.IntN(8)]
	}
	if rng.IntN(8) == 0 {
		b = b[:rng.IntN(len(b))]
	}
	return b
}
