// SPDX-License-Identifier: Apache-2.0

// Package pass runs lists of graph rewrites: verifier after each, dumps,
// switches, and panics turned into reports that name the pass and the node.
package pass

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
)

// Numerics bounds what a pass may do to results.
type Numerics uint8

const (
	// Exact passes keep every value of every output (but for the sign of zeros).
	Exact Numerics = iota
	// Reassoc passes keep the outputs as reals; float results differ by
	// rounding, because sums and products are taken in another order.
	Reassoc
	// Lossy passes change results on purpose (quantisation); their own tests
	// bound the error.
	Lossy
)

func (n Numerics) String() string { return [...]string{"exact", "reassoc", "lossy"}[n] }

// Pass is one rewrite of a graph.
type Pass struct {
	Name string // as in --only, dumps and messages
	Doc  string // one line for `nncc passes`
	Numerics
	// Required says why the pass cannot be switched off; "" is one that can.
	Required string
	// Run edits g in place. The user's errors end it (ir/fail; best are *ir.Diag);
	// internal faults panic.
	Run func(c *Ctx, g *ir.Graph)
}

// Rewrite is one change that a pass made, for reports and dumps.
type Rewrite struct {
	Pass string   `json:"pass"`
	Node string   `json:"node"` // the node that stays
	From []string `json:"from"` // ONNX nodes that it came from
	What string   `json:"what"`
}

// Ctx is what a pass sees besides the graph. The zero value is ready for use.
type Ctx struct {
	Rewrites []Rewrite
	pass     string
	node     *ir.Node
}

// At tells which node is being worked on, so that a panic can name it.
func (c *Ctx) At(n *ir.Node) { c.node = n }

// Did records a rewrite that left n.
func (c *Ctx) Did(n *ir.Node, format string, args ...any) {
	r := Rewrite{Pass: c.pass, What: fmt.Sprintf(format, args...)}
	if n != nil {
		r.Node, r.From = n.Name, n.Origin
	}
	c.Rewrites = append(c.Rewrites, r)
}

// Replace puts v in the place of output 0 of n, which it removes, and records that.
func (c *Ctx) Replace(g *ir.Graph, n *ir.Node, v *ir.Value, format string, args ...any) {
	g.ReplaceUses(n.Out[0], v)
	if v.Def != nil {
		v.Def.Inherit(n)
	}
	c.Did(v.Def, format, args...)
	g.Remove(n)
}

// Made counts the rewrites so far: a pass that runs to a fixed point stops
// when a round adds none.
func (c *Ctx) Made() int { return len(c.Rewrites) }

// Each calls f for the nodes that g has at the start, in order, skipping those
// that f removed before their turn, with At set.
func (c *Ctx) Each(g *ir.Graph, f func(n *ir.Node)) {
	for _, n := range slices.Clone(g.Nodes) {
		if !n.Removed() {
			c.At(n)
			f(n)
		}
	}
	c.At(nil)
}

// Each is the Run of a pass that does one thing, or one after the other, at each node.
func Each(list ...func(c *Ctx, g *ir.Graph, n *ir.Node)) func(c *Ctx, g *ir.Graph) {
	return func(c *Ctx, g *ir.Graph) {
		for _, f := range list {
			c.Each(g, func(n *ir.Node) { f(c, g, n) })
		}
	}
}

// Bug is a fault of nncc: a pass that panicked or left an invalid graph.
type Bug struct {
	Pass   string
	Node   *ir.Node   // nil when unknown
	Fault  *bug.Error // what the panic or the verifier said
	Stack  string     // empty for verifier findings
	Before *ir.Graph  // the graph that the pass got, for the report
}

func (b *Bug) Error() string {
	var s strings.Builder
	fmt.Fprintf(&s, "nncc BUG: pass %s", b.Pass)
	if b.Node != nil {
		fmt.Fprintf(&s, ", node %s", b.Node.Name)
		if len(b.Node.Origin) > 0 {
			fmt.Fprintf(&s, " (from onnx %s)", strings.Join(b.Node.Origin, ", "))
		}
	}
	s.WriteString(": " + b.Fault.Text())
	return s.String()
}

// Unwrap gives the fault without its place.
func (b *Bug) Unwrap() error { return b.Fault }

// Manager runs passes in the order of the list.
type Manager struct {
	Passes []Pass
	Off    map[string]bool // optional passes that are skipped
	// Dump, when set, sees the graph before the first pass (step 0, pass nil)
	// and after each pass that ran (step from 1, in the order of Passes).
	Dump func(step int, p *Pass, g *ir.Graph) error
	// Check, when set, compares the graph before and after each pass: tests
	// run the interpreter on both.
	Check func(p *Pass, before, after *ir.Graph) error
}

// Run applies the passes to g. The error is the user's (from a pass) or a *Bug.
func (m *Manager) Run(c *Ctx, g *ir.Graph) (err error) {
	defer fail.Catch(&err)
	for name := range m.Off {
		p := Find(m.Passes, name)
		if p == nil {
			return unknown(m.Passes, name)
		}
		if p.Required != "" {
			return &ir.Diag{Code: "pass-required", Node: "pass " + name, Msg: "cannot be switched off: " + p.Required}
		}
	}
	if m.Dump != nil {
		fail.Check(m.Dump(0, nil, g))
	}
	for i := range m.Passes {
		p := &m.Passes[i]
		if m.Off[p.Name] {
			continue
		}
		before := g.Clone()
		fail.Check(Guard(p.Name, c, before, func() error { return p.Apply(c, g) }))
		if errs := g.Verify(); len(errs) > 0 {
			return &Bug{Pass: p.Name, Fault: bug.Errorf("left an invalid graph: %w", errors.Join(errs...)),
				Before: before}
		}
		if m.Dump != nil {
			fail.Check(m.Dump(i+1, p, g))
		}
		if m.Check != nil {
			fail.Check(m.Check(p, before, g))
		}
	}
	return nil
}

// Apply runs the pass alone; what it records has its name.
func (p *Pass) Apply(c *Ctx, g *ir.Graph) error {
	c.pass = p.Name
	return fail.Caught(func() { p.Run(c, g) })
}

// Guard runs f, which is the stage called name, on a graph that was like
// before: a panic becomes a *Bug that says so.
func Guard(name string, c *Ctx, before *ir.Graph, f func() error) (err error) {
	c.pass, c.node = name, nil
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *Bug: // a part of the stage knew more
			if r.Before == nil {
				r.Before = before
			}
			err = r
		default:
			err = &Bug{Pass: name, Node: c.node, Fault: bug.Recovered(r), Stack: string(debug.Stack()), Before: before}
		}
		c.node = nil
	}()
	return f()
}

// Named is deferred by what works on a node outside of a pass: a panic there
// becomes a *Bug that names the stage and the node, and goes on as one.
func Named(stage string, n *ir.Node) {
	r := recover()
	if r == nil {
		return
	}
	if _, ok := r.(*Bug); !ok {
		r = &Bug{Pass: stage, Node: n, Fault: bug.Recovered(r), Stack: string(debug.Stack())}
	}
	panic(r)
}

// Find is the pass called name, or nil.
func Find(list []Pass, name string) *Pass {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

// Select picks passes by name, in the order of names; a name may repeat.
func Select(list []Pass, names ...string) ([]Pass, error) {
	var out []Pass
	for _, n := range names {
		p := Find(list, n)
		if p == nil {
			return nil, unknown(list, n)
		}
		out = append(out, *p)
	}
	return out, nil
}

func unknown(list []Pass, name string) error {
	names := lists.Map(list, func(p Pass) string { return p.Name })
	return &ir.Diag{Code: "unknown-pass", Node: "pass " + name, Msg: "there is no such pass", Hint: "passes are " +
		strings.Join(names, ", ")}
}
