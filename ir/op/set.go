// SPDX-License-Identifier: Apache-2.0

// Package op defines the operators: one ir.OpDef each, grouped in files by
// family. A definition is semantics only (types, reference evaluation, fusion
// and quantisation kind); how an operator becomes C is in lower/kernel.
package op

import (
	"sort"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

type key struct{ domain, name string }

var set = map[key]*ir.OpDef{}

// def registers an operator while package variables are initialised. A
// definition's functions must not name their own variable (Go reports an
// initialisation cycle): use Get inside this package.
func def(d ir.OpDef) *ir.OpDef {
	k := key{d.Domain, d.Name}
	if set[k] != nil {
		panic(bug.Errorf("operator %s is defined twice", d.Name))
	}
	if d.MaxIn == 0 && d.MinIn > 0 {
		d.MaxIn = d.MinIn
	}
	if d.MinOut == 0 {
		d.MinOut = 1
	}
	if d.MaxOut == 0 {
		d.MaxOut = d.MinOut
	}
	d.Infer, d.Eval, d.EvalQ = infers(d.Infer), evaluates(d.Eval), evaluates(d.EvalQ)
	p := &d
	set[k] = p
	return p
}

// infers and evaluates return what ends a definition's functions by way of fail as their error.
func infers(f func(*ir.Node) ([]ir.Type, error)) func(*ir.Node) ([]ir.Type, error) {
	if f == nil {
		return nil
	}
	return func(n *ir.Node) (_ []ir.Type, err error) {
		defer fail.Catch(&err)
		return f(n)
	}
}

func evaluates(f evalFunc) evalFunc {
	if f == nil {
		return nil
	}
	return func(n *ir.Node, in []*tensor.Dense) (_ []*tensor.Dense, err error) {
		defer fail.Catch(&err)
		return f(n, in)
	}
}

type evalFunc = func(*ir.Node, []*tensor.Dense) ([]*tensor.Dense, error)

// Get is the operator of a domain ("" is ai.onnx), or nil.
func Get(domain, name string) *ir.OpDef {
	if domain == "ai.onnx" {
		domain = ""
	}
	return set[key{domain, name}]
}

// All lists every operator by domain and name.
func All() []*ir.OpDef {
	out := make([]*ir.OpDef, 0, len(set))
	for _, d := range set {
		out = append(out, d)
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].Domain != out[j].Domain {
			return out[i].Domain < out[j].Domain
		}
		return out[i].Name < out[j].Name
	})
	return out
}
