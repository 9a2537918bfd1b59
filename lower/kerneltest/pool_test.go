// SPDX-License-Identifier: Apache-2.0

package kerneltest_test

import (
	"fmt"
	"testing"

	"github.com/nncc/nncc/lower/kerneltest"
)

// TestWidePools sweeps int16 pools over channels, windows of one element to 25, strides, padding and limits.
func TestWidePools(t *testing.T) {
	everywhere(t, 80, func(b *kerneltest.Writer) {
		c, h, w := b.One(1, 2, 3, 4, b.In(5, 9), b.In(5, 40)), b.In(1, 9), b.In(1, 9)
		kh, kw := b.One(1, 2, b.In(1, min(h, 5))), b.One(1, 2, b.In(1, min(w, 5)))
		sh, sw := b.In(1, 3), b.In(1, 3)
		top, left := b.IntN(kh), b.IntN(kw)
		bottom, right := b.IntN(kh), b.IntN(kw)
		h, w = max(h, kh), max(w, kw)
		oh, ow := (h+top+bottom-kh)/sh+1, (w+left+right-kw)/sw+1
		limits := []string{"", ", act_min=0.0", ", act_min=-0.5, act_max=0.75"}[b.IntN(3)]
		b.Text(fmt.Sprintf("in %%x# : i16[%d,%d,%d,%d] q(0.0001:0)\n%%y# : i16[%[1]d,%[2]d,%[5]d,%[6]d] q(0.0001:0) = "+
			"%s(%%x#) {kernel_shape=[%d,%d], strides=[%d,%d], pads=[%d,%d,%d,%d]%s}", b.One(1, 1, 2), c, h, w, oh, ow,
			[]string{"MaxPool", "AveragePool"}[b.IntN(2)], kh, kw, sh, sw, top, left, bottom, right, limits), "y#")
	})
}
