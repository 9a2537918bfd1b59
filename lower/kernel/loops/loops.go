// SPDX-License-Identifier: Apache-2.0

// Package loops writes C functions for single nodes: loops with constant sizes
// over elements of any type. It is the last resort of kernel choice, behind
// the kernels of the libraries; see README.md.
package loops

import (
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
)

// Kernels are all rows.
var Kernels = slices.Concat(reduceRows(), normRows(), matrixRows(), windowRows(), moveRows(),
	sampleRows(), quantRows(), detectRows(), classicalRows(), recurrentRows(), imageRows(),
	[]*kernel.Kernel{Fused, Elements})

// writer writes the function of a node; loops that are open at its end are closed.
type writer func(f *fn)

// row is the kernel row of some operators. why, which may be nil, is a further
// condition: what was found and what is wanted.
func row(hint, doc string, w writer, why func(n *ir.Node) string, ops ...*ir.OpDef) *kernel.Kernel {
	rules := kernel.Rules{cond.NotQuantised, cond.Elements}
	if why != nil {
		rules = append(rules, cond.New("FORM", "the form is supported",
			func(n *kernel.Node) string { return why(n.Node) }))
	}
	return &kernel.Kernel{
		Name: "loops_" + hint, Library: "nncc", Doc: doc, Ops: ops, Rules: rules,
		Was:    "LOOPS-" + strings.ToUpper(strings.ReplaceAll(hint, "_", "-")),
		Layout: kernel.NaturalLayout,
		Lower: func(n *kernel.Node) *call.Lowered {
			if n.Idle() {
				return &call.Lowered{Kernel: "loops_" + hint, Library: "nncc", Unused: ir.Identity(len(n.In))}
			}
			f := newFn(n.Node)
			w(f)
			f.closeTo(1)
			l := f.done(hint)
			if n.Op.Pattern <= ir.Broadcast {
				l.Variant = kernel.LoopVariant
			}
			return l
		},
	}
}
