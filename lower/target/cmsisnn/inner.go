package cmsisnn

import (
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/target"
)

// Inner is the function that computes a convolution of this geometry on a core
// as it would be called here; "" where the library has none that does.
func Inner(core target.Core, g *op.ConvGeom) string {
	names, q := convQuery(g, core)
	r, why := route(q, names...)
	if why != "" {
		return ""
	}
	return r.Inner
}
