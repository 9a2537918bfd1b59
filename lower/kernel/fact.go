// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"errors"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// Node is a node that kernels are asked about, for a core and with the user's
// wishes, and what has been derived of it.
type Node struct {
	*ir.Node
	*Options
	facts map[factKey]any
	diags map[string]*ir.Diag // behind reasons, by their text
}

type factKey struct {
	fact any
	node *ir.Node
}

// NewNode is n before anything is derived of it.
func NewNode(n *ir.Node, o *Options) *Node {
	return &Node{n, o, map[factKey]any{}, map[string]*ir.Diag{}}
}

// Part is a node in the body of a fused one, or one made up of it.
func (n *Node) Part(m *ir.Node) *Node { return &Node{m, n.Options, n.facts, n.diags} }

// Idle reports that there is nothing to compute: no output has an element.
func (n *Node) Idle() bool {
	return !slices.ContainsFunc(n.Out, func(v *ir.Value) bool { return v != nil && v.Type.Elems() > 0 })
}

// Fact is something that kernels derive of a node: its geometry, its weights
// packed. It is derived once, whichever rules and rows ask, and never changed. It
// depends on no memory order and not on Options.Generic.
type Fact[T any] struct {
	derive func(n *Node) (T, string)
}

type derived[T any] struct {
	fact T
	why  string
}

// NewFact is a fact that a function derives; its text says why there is none.
func NewFact[T any](derive func(n *Node) (T, string)) *Fact[T] { return &Fact[T]{derive} }

// FactOf is a fact of the operator alone.
func FactOf[T any](derive func(n *ir.Node) (T, error)) *Fact[T] {
	return NewFact(func(n *Node) (T, string) {
		x, err := derive(n.Node)
		if err == nil {
			return x, ""
		}
		var d *ir.Diag
		if errors.As(err, &d) {
			n.diags[err.Error()] = d
		}
		return x, err.Error()
	})
}

// FactFrom is a fact that is derived of another one; a node without that has none, for the same reason.
func FactFrom[A, B any](of *Fact[A], derive func(n *Node, a A) (B, string)) *Fact[B] {
	return NewFact(func(n *Node) (b B, why string) {
		a, why := of.Of(n)
		if why == "" {
			b, why = derive(n, a)
		}
		return b, why
	})
}

// Of is the fact of a node, or why there is none.
func (f *Fact[T]) Of(n *Node) (T, string) {
	k := factKey{f, n.Node}
	d, ok := n.facts[k].(derived[T])
	if !ok {
		d.fact, d.why = f.derive(n)
		n.facts[k] = d
	}
	return d.fact, d.why
}

// Why says why a node has no such fact; "" where it has.
func (f *Fact[T]) Why(n *Node) string {
	_, why := f.Of(n)
	return why
}

// Must is the fact of a node that rules have accepted.
func (f *Fact[T]) Must(n *Node) T {
	x, why := f.Of(n)
	bug.If(why != "", "no rule refuses %s, but %s", n.Node, why)
	return x
}

// Exists is the rule that there is such a fact.
func (f *Fact[T]) Exists(code, doc string) Rule {
	return Rule{Code: code, Doc: doc, Check: f.Why}
}

// Rule is a rule about the fact. Where there is none, another rule says so.
func (f *Fact[T]) Rule(code, doc string, check func(n *Node, x T) string) Rule {
	return Rule{Code: code, Doc: doc, Check: func(n *Node) string {
		x, why := f.Of(n)
		if why != "" {
			return Unread
		}
		return check(n, x)
	}}
}

// Geometries of operators, as shapes and attributes define them; those of
// windows with the longer dimension of a line as its width.
var (
	Conv   = windowFact(op.ConvGeometry, convAlongWidth)
	Pool   = windowFact(op.PoolGeometry, poolAlongWidth)
	Gemm   = FactOf(op.GemmGeometry)
	MatMul = FactOf(op.MatMulGeometry)
	Pad    = FactOf(op.PadGeometry)
	Slice  = FactOf(op.SliceGeometry)
	// PadFill is the constant that a Pad fills up with, Axis the attribute as a
	// dimension of input 0.
	PadFill = FactOf(func(n *ir.Node) (*tensor.Dense, error) { return op.PadFill(n, n.ConstIn(2)) })
	Axis    = FactOf(func(n *ir.Node) (int, error) {
		return op.Axis(n, ir.AttrsOf[op.AxisAttr](n).Axis,
			n.In[0].Type.Rank())
	})
)

// Known is a result that rules or shape inference have found before, so that an
// error is a bug.
func Known[T any](x T, err error) T {
	bug.If(err != nil, "no rule refuses the node, but %w", err)
	return x
}
