// SPDX-License-Identifier: Apache-2.0

package kerneltest_test

import (
	"fmt"
	"testing"

	"github.com/nncc/nncc/lower/kerneltest"
)

// TestArguments sweeps the positions of maxima and minima over lengths, numbers of lines and places of the axis, with
// many equal values.
func TestArguments(t *testing.T) {
	everywhere(t, 40, func(b *kerneltest.Writer) {
		typ := "i8"
		q := fmt.Sprintf(" q(0.05:%d)", b.In(-100, 100))
		if b.Chance(40) {
			typ, q = "f32", ""
		}
		shape := []int{b.One(1, 1, 2), b.One(b.In(1, 9), b.In(1, 40), b.In(100, 300)), b.One(1, b.In(1, 20)),
			b.One(1, b.In(1, 9))}
		if b.Chance(50) {
			shape[1], shape[3] = shape[3], shape[1]
		}
		axis := b.One(1, 1, 2, 3, 3)
		out, keep := "", b.IntN(2)
		for d, n := range shape {
			switch {
			case d != axis:
				out += fmt.Sprintf(",%d", n)
			case keep == 1:
				out += ",1"
			}
		}
		data := fmt.Sprintf("%s[%d,%d,%d,%d]%s", typ, shape[0], shape[1], shape[2], shape[3], q)
		b.Text(fmt.Sprintf("in %%x# : %s\n%%v# : %s = Relu(%%x#)\n%%y# : i64[%s] = %s(%%v#) {axis=%d, keepdims=%d, "+
			"select_last_index=%d}", data, data, out[1:], []string{"ArgMax", "ArgMin"}[b.IntN(2)], axis, keep,
			b.One(0, 0, 0, 1)), "y#")
	})
}
