// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestReads: constants of layers with one pixel are read once, others at least once for
// so many pixels or rows as a kernel can hold.
func TestReads(t *testing.T) {
	g := func(k Kind, oh, ow int) Geometry { return Geometry{Kind: k, N: 1, OH: oh, OW: ow} }
	for _, c := range []struct {
		l    Layer
		want int
	}{
		{Layer{Geometry: g(Matrix, 1, 1)}, 1},
		{Layer{Geometry: g(Matrix, 1, 9)}, 3},
		{Layer{Geometry: g(Convolution, 25, 5)}, 32},
		{Layer{Geometry: g(Convolution, 8, 8), Pixels: 8}, 8},
		{Layer{Geometry: g(Convolution, 5, 5), Pixels: 2}, 13},
		{Layer{Geometry: g(Depthwise, 25, 5)}, 13},
		{Layer{Geometry: g(Element, 25, 5)}, 1},
		{Layer{Geometry: g(Other, 0, 0)}, 1},
	} {
		testenv.Equal(t, c.l.Reads(), c.want, "%s, %d pixels: read times", c.l.Geometry, c.l.Pixels)
	}
}
