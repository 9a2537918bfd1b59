// SPDX-License-Identifier: Apache-2.0

// Package loops writes C functions for single nodes: loops with constant sizes
// over elements of any type. It is the last resort of kernel choice, behind
// the kernels of the libraries; see README.md.
package loops

import (
	"fmt"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/lower/kernel"
)

// writer writes the function of a node, or says why it cannot.
type writer func(f *fn) error

// row is the kernel row of some operators. why, which may be nil, is a further
// condition: what was found and what is wanted.
func row(hint, doc string, w writer, why func(n *ir.Node) string, ops ...*ir.OpDef) *kernel.Kernel {
	code := "LOOPS-" + strings.ToUpper(strings.ReplaceAll(hint, "_", "-"))
	rules := []kernel.Rule{
		{Code: code + "-01", Doc: "operands are not quantised", Check: plain},
		{Code: code + "-02", Doc: "operands have less than 2^31 elements", Check: small},
	}
	if why != nil {
		rules = append(rules, kernel.Rule{Code: code + "-03", Doc: "the form is supported",
			Check: func(n *kernel.Node) string { return why(n.Node) }})
	}
	return &kernel.Kernel{
		Name: "loops_" + hint, Library: "nncc", Doc: doc, Ops: ops, Rules: rules,
		Layout: kernel.NaturalLayout,
		Lower: func(n *kernel.Node) *call.Lowered {
			if empty(n.Node) {
				return &call.Lowered{Kernel: "loops_" + hint, Library: "nncc", Unused: ir.Identity(len(n.In))}
			}
			f := newFn(n.Node)
			if err := w(f); err != nil { // shape inference has asked the same
				panic(bug.Errorf("%w", err))
			}
			l := f.done(hint)
			if n.Op.Pattern <= ir.Broadcast {
				l.Variant = kernel.LoopVariant
			}
			return l
		},
	}
}

func plain(n *kernel.Node) string {
	for i, v := range n.In {
		if v != nil && v.Type.Quant != nil {
			return fmt.Sprintf("input %d is quantised %s, want plain numbers", i, v.Type.DType.ONNXName())
		}
	}
	for i, v := range n.Out {
		if v != nil && v.Type.Quant != nil {
			return fmt.Sprintf("output %d is quantised %s, want plain numbers", i, v.Type.DType.ONNXName())
		}
	}
	return ""
}

func small(n *kernel.Node) string {
	for i, v := range n.In {
		if v != nil && v.Type.Elems() >= 1<<31 {
			return fmt.Sprintf("input %d has shape %v, want less than 2^31 elements", i, v.Type.Shape)
		}
	}
	for i, v := range n.Out {
		if v != nil && v.Type.Elems() >= 1<<31 {
			return fmt.Sprintf("output %d has shape %v, want less than 2^31 elements", i, v.Type.Shape)
		}
	}
	return ""
}

// empty reports that there is nothing to compute: no output has an element.
func empty(n *ir.Node) bool {
	for _, v := range n.Out {
		if v != nil && v.Type.Elems() > 0 {
			return false
		}
	}
	return true
}
