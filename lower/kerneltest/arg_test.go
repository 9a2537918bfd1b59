// SPDX-License-Identifier: Apache-2.0

package kerneltest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nncc/nncc/lower/kerneltest"
)

// TestArguments sweeps the positions of maxima and minima over lengths, numbers of lines and places of the axis, with
// many equal values and, in float, denormals.
func TestArguments(t *testing.T) {
	everywhere(t, 40, func(b *kerneltest.Writer) {
		typ := "i8"
		q := fmt.Sprintf(" q(0.05:%d)", b.In(-100, 100))
		if b.Chance(50) {
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
		value := fmt.Sprintf("in %%x# : %s\n%%v# : %s = Relu(%%x#)", data, data)
		if typ == "f32" && b.Chance(50) { // denormals, which vectors of Helium take for 0
			size := strings.TrimPrefix(data, typ)
			value = fmt.Sprintf("in %%x# : bool%s\nconst %%a# : f32[1] = {1e-40}\nconst %%b# : f32[1] = {2e-40}\n"+
				"%%v# : %s = Where(%%x#, %%a#, %%b#)", size, data)
		}
		b.Text(fmt.Sprintf("%s\n%%y# : i64[%s] = %s(%%v#) {axis=%d, keepdims=%d, select_last_index=%d}", value, out[1:],
			[]string{"ArgMax", "ArgMin"}[b.IntN(2)], axis, keep, b.One(0, 0, 0, 1)), "y#")
	})
}
