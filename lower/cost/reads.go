// SPDX-License-Identifier: Apache-2.0

package cost

import "strings"

// pixelsAPass is for how many pixels of the output kernels read weights once: Winograd's
// two tiles of 2x2, what products of own kernels say in their names, and four at
// most (one, two or four, by instruction set and shape) elsewhere.
func pixelsAPass(variant string) int {
	switch {
	case strings.Contains(variant, "convolve_3x3"), strings.Contains(variant, "convolve_tiles"):
		return 8
	case strings.Contains(variant, "matmul_2rows"):
		return 2
	}
	return 4
}

// Reads is how often a call reads its constants at least: a convolution or product of
// several rows reads them again for every few pixels, a depthwise layer for every two
// rows of the output, everything else once.
func (l *Layer) Reads() int {
	g := &l.Geometry
	n := 1
	switch g.Kind {
	case Convolution, Matrix:
		k := pixelsAPass(l.Variant)
		n = (g.N*g.OH*g.OW + k - 1) / k
	case Depthwise:
		n = (g.N*g.OH + 1) / 2
	}
	return max(n, 1)
}
