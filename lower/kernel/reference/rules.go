// SPDX-License-Identifier: Apache-2.0

package reference

import "github.com/nncc/nncc/lower/kernel"

func natural(*kernel.Node) kernel.Layout { return kernel.Layout{Kind: kernel.Natural} }
func same(*kernel.Node) kernel.Layout    { return kernel.Layout{Kind: kernel.Same} }

// spatial is channels-last for feature maps, natural for what has no space.
func spatial(n *kernel.Node) kernel.Layout {
	if n.In[0].Type.Rank() < 3 {
		return natural(n)
	}
	return kernel.SpatialLayout(n)
}
