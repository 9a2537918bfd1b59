// SPDX-License-Identifier: Apache-2.0

package cost

import "cmp"

// mostPixels are those for which kernels read weights once at most that do not say how many.
const mostPixels = 4

// Reads is how often a call reads its constants at least: a convolution or product of
// several rows reads them again for every few pixels, a depthwise layer for every two
// rows of the output, everything else once.
func (l *Layer) Reads() int {
	g := &l.Geometry
	n := 1
	switch g.Kind {
	case Convolution, Matrix:
		k := cmp.Or(l.Pixels, mostPixels)
		n = (g.N*g.OH*g.OW + k - 1) / k
	case Depthwise:
		n = (g.N*g.OH + 1) / 2
	}
	return max(n, 1)
}
