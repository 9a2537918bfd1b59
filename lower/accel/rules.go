// SPDX-License-Identifier: Apache-2.0

package accel

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/lower/kernel"
)

// Rule is one condition under which an accelerator with limits L computes a
// node.
type Rule[L any] struct {
	Code string // stable, begins with the kind in capitals: MLA-CONV-STRIDE
	Doc  string // the condition
	// Ops are the operators that the rule is about; nil: all.
	Ops []*ir.OpDef
	// Check gives every violation as a text: what was found, what is wanted. None
	// means that the condition holds.
	Check func(n *ir.Node, limits *L) []string
}

// About reports whether the rule speaks of an operator.
func (r *Rule[L]) About(d *ir.OpDef) bool { return r.Ops == nil || slices.Contains(r.Ops, d) }

// Violations are the reasons of all rules against a node, so that a user sees
// everything at once.
func Violations[L any](rules []Rule[L], n *ir.Node, limits *L) []kernel.Reason {
	var out []kernel.Reason
	for i := range rules {
		r := &rules[i]
		if !r.About(n.Op) {
			continue
		}
		for _, s := range r.Check(n, limits) {
			out = append(out, kernel.Reason{Code: r.Code, Text: s})
		}
	}
	return out
}

// Rows are rules in the form of kernel rows, one for each operator. The rule
// with the code opRule, by which other operators are refused, is left out.
func Rows[L any](kind string, ops []*ir.OpDef, rules []Rule[L], opRule string, limits *L) []*kernel.Kernel {
	var out []*kernel.Kernel
	for _, d := range ops {
		k := &kernel.Kernel{Name: kind + "." + d.Name, Library: kind, Ops: []*ir.OpDef{d}}
		k.Doc = "on the accelerator: " + d.Doc
		for _, r := range rules {
			if r.Code == opRule || !r.About(d) {
				continue
			}
			k.Rules = append(k.Rules, kernel.Rule{Code: r.Code, Doc: r.Doc, Check: func(n *kernel.Node) string {
				if s := r.Check(n.Node, limits); len(s) > 0 {
					return s[0]
				}
				return ""
			}})
		}
		out = append(out, k)
	}
	return out
}
