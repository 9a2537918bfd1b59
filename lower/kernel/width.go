// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
)

// axes are the spatial dimensions of a window operator: lists with a value for
// each.
type axes struct {
	in, kernel, out, padBegin, padEnd, strides, dilations *[]int
	outputPadding                                         *[]int // nil: the operator has none
}

// alongWidth brings dimensions into the form that kernels are fast for. A map of
// a single column, [C, H, 1], is the same memory as a row, [C, 1, H]: windows
// that move along H alone run along W, which kernels sweep. What a dimension of
// size 1 makes meaningless is 1.
func (a axes) alongWidth() {
	lists := []*[]int{a.in, a.kernel, a.out, a.padBegin, a.padEnd, a.strides, a.dilations}
	if a.outputPadding != nil {
		lists = append(lists, a.outputPadding)
	}
	turn := len(*a.in) == 2 && a.single(1) && (*a.in)[0] > 1
	for _, s := range lists {
		if *s = slices.Clone(*s); turn && len(*s) == 2 {
			slices.Reverse(*s)
		}
	}
	for d := range *a.in {
		if (*a.kernel)[d] == 1 {
			(*a.dilations)[d] = 1
		}
		if a.single(d) {
			(*a.strides)[d] = 1
		}
	}
}

// single reports a dimension of one element and one window, which is this element.
func (a axes) single(d int) bool {
	return (*a.in)[d] == 1 && (*a.kernel)[d] == 1 && (*a.out)[d] == 1 && (*a.padBegin)[d] == 0 && (*a.padEnd)[d] == 0
}

func convAlongWidth(g *op.ConvGeom) {
	axes{&g.In, &g.Kernel, &g.Out, &g.PadBegin, &g.PadEnd, &g.Strides, &g.Dilations, &g.OutputPadding}.alongWidth()
}

func poolAlongWidth(g *op.PoolGeom) {
	axes{&g.In, &g.Kernel, &g.Out, &g.PadBegin, &g.PadEnd, &g.Strides, &g.Dilations, nil}.alongWidth()
}

// windowFact is the geometry of a window operator with the longer dimension of a
// line as its width. An accelerator has rules of its own about each dimension.
func windowFact[G any](derive func(n *ir.Node) (*G, error), alongWidth func(g *G)) *Fact[*G] {
	given := FactOf(derive)
	return NewFact(func(n *Node) (*G, string) {
		g, why := given.Of(n)
		if why == "" && !n.ForAccelerator() {
			x := *g
			alongWidth(&x)
			g = &x
		}
		return g, why
	})
}
