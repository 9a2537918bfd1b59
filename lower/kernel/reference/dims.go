// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/lower/kernel"
)

// Short names of what turns logical shapes into what C sees.
var (
	strides  = kernel.Strides
	permuted = kernel.Permuted
	merge    = kernel.MergeDims
	padLeft  = kernel.PadLeft
	arrange  = kernel.Arrange
)

// position is that of logical dimension d in the memory order of t.
func position(t ir.Type, d int) int { return slices.Index(t.OrderOrIdentity(), d) }

// outerAxisInner splits memory at logical dimension d: elements per block before,
// along and behind it, [outer, axis, inner].
func outerAxisInner(t ir.Type, d int) (outer, axis, inner int) {
	p := t.Phys()
	k := position(t, d)
	return product(p[:k]), p[k], product(p[k+1:])
}

func product(s []int) int {
	n := 1
	for _, d := range s {
		n *= d
	}
	return n
}
