// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"slices"

	"github.com/nncc/nncc/ir"
)

// Permutation is what a Relayout does to its input's dimensions in memory
// order, neighbours that stay together joined: output dimension i is input
// dimension perm[i].
func Permutation(n *ir.Node) (size, perm []int) {
	in, out := n.In[0].Type.OrderOrIdentity(), n.Out[0].Type.OrderOrIdentity()
	shape := n.In[0].Type.Shape
	one := func(d int) bool { return shape[d] == 1 }
	in, out = slices.DeleteFunc(slices.Clone(in), one), slices.DeleteFunc(slices.Clone(out), one)
	var heads []int // the first dimension of every run that stays together, in input order
	for i, d := range in {
		k := slices.Index(out, d)
		if i > 0 && k > 0 && out[k-1] == in[i-1] {
			size[len(size)-1] *= shape[d]
			continue
		}
		heads, size = append(heads, d), append(size, shape[d])
	}
	for _, d := range out {
		if k := slices.Index(heads, d); k >= 0 {
			perm = append(perm, k)
		}
	}
	return size, perm
}

// Exchange are the batches, rows and columns of a Relayout that transposes
// matrices.
func Exchange(n *ir.Node) (batches, rows, cols int, ok bool) {
	size, perm := Permutation(n)
	switch {
	case len(perm) == 2 && perm[0] == 1:
		return 1, size[0], size[1], true
	case len(perm) == 3 && perm[0] == 0 && perm[1] == 2:
		return size[0], size[1], size[2], true
	}
	return 0, 0, 0, false
}
