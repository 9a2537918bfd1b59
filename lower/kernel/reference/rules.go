// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/lower/kernel"
)

func natural(*kernel.Node) kernel.Layout { return kernel.Layout{Kind: kernel.Natural} }
func same(*kernel.Node) kernel.Layout    { return kernel.Layout{Kind: kernel.Same} }

// anyToAny is a copy from one memory order to another.
func anyToAny(*kernel.Node) kernel.Layout { return kernel.Layout{Kind: kernel.AnyToAny} }

// spatial is channels-last for feature maps, natural for what has no space.
func spatial(n *kernel.Node) kernel.Layout {
	if n.In[0].Type.Rank() < 3 {
		return natural(n)
	}
	return kernel.SpatialLayout(n)
}

// row is the row of operators that a function computes: fn, or another one that lower names in l.low.Kernel. was is the
// prefix of the codes of version 0.1.
func row(fn, was, doc string, layout func(n *kernel.Node) kernel.Layout, rules kernel.Rules,
	lower func(l *lowering, n *kernel.Node), ops ...*ir.OpDef) *kernel.Kernel {
	k := &kernel.Kernel{Name: fn, Library: "nncc", Doc: doc, Ops: ops, Was: was, Rules: rules, Layout: layout}
	k.Lower = func(n *kernel.Node) *call.Lowered {
		l := start(n.Node, fn)
		lower(l, n)
		return l.low
	}
	return k
}

// checks marks a row whose kernel checks indices itself.
func checks(k *kernel.Kernel) *kernel.Kernel {
	k.Checks = true
	return k
}
