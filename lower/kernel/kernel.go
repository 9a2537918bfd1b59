// SPDX-License-Identifier: Apache-2.0

// Package kernel turns operators into calls of kernels (ir/call): a Kernel row says
// which operator it implements, why it may refuse a node, which memory orders it
// needs and which C calls it makes. It knows no kernel library; those are the
// packages below it.
package kernel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/lower/cost"
	"github.com/nncc/nncc/lower/option"
	runtimec "github.com/nncc/nncc/runtime_c"
)

// Core is what kernel choice needs to know about a processor.
type Core struct {
	Name     string // as in boards, cortex-m4
	MVE, DSP bool
	Armv6M   bool // 16-bit Thumb only: Cortex-M0 and M0+
	FPU      bool
	Host     bool
	Order    Order       // of bodies that have several
	Memory   cost.Memory // how long it waits
}

// Order is the order and the length of a body's loop: the end of its name.
type Order string

// Orders that products have.
const (
	Fewest Order = ""       // the fewest instructions
	Ahead  Order = "_dual"  // words are loaded ahead: in the cycle of a product, or where they would come late
	Short  Order = "_short" // loads follow each other; half as many rounds, as a cache of 1 KiB holds more than a loop
)

// Options are the user's wishes that bear on kernel choice.
type Options struct {
	Core    Core
	Kernels option.Kernels // which may be chosen
	// Generic asks own kernels for the functions that accept layers of any shape,
	// which are slower than those for one, but shared by more layers.
	Generic bool
	// Without are rows, by name, that are not offered, so that those behind them can be measured.
	Without []string
	// Bound: constants are bound at run time, those of another training perhaps. Rules about their values refuse.
	Bound bool
	// Executes says which functions an accelerator has commands for, none of which
	// may read what it writes; nil on a core, which runs every portable kernel.
	Executes func(fn string) bool
	// Memo keeps what costs much to find and is asked for more than once in a
	// compilation; nil: nothing is kept.
	Memo map[any]any
}

// Has reports that the target runs a portable kernel.
func (o *Options) Has(fn string) bool { return !o.ForAccelerator() || o.Executes(fn) }

// ForAccelerator reports that what is lowered becomes commands of an accelerator.
func (o *Options) ForAccelerator() bool { return o != nil && o.Executes != nil }

// Memo is f(key), computed once in a compilation. Types of keys belong to one f.
func Memo[K comparable, V any](o *Options, key K, f func(K) V) V {
	if o == nil || o.Memo == nil {
		return f(key)
	}
	v, ok := o.Memo[key]
	if !ok {
		v = f(key)
		o.Memo[key] = v
	}
	return v.(V)
}

// Reason is one ground on which a kernel refuses a node.
type Reason struct {
	Code string // of the condition, stable, e.g. SPATIAL
	Text string // what was found and what is wanted
	Was  string // the code that reports had before conditions had their own, e.g. CMSIS-CONV-05; "" if there was none
}

// Unread is what a rule says of a node whose operands it cannot read: the rule
// about these operands has refused the node then. Where none has, Unread is a
// reason by itself, so that a node that was not read is never accepted.
const Unread = "the operands are not of the kind that this condition is about, and no other condition refuses them"

// Rule is a condition of kernels. Its code is the condition's, whichever kernels
// have it. Check returns "" when it holds, and Unread where it cannot be asked.
type Rule struct {
	Code, Doc string
	Check     func(n *Node) string
	// Proof marks a condition that costs much to prove: it is asked where no
	// other one refuses the node.
	Proof bool
	// Trained marks a condition that one training meets and another one does not.
	Trained bool
}

// Rules are conditions, in the order of the reasons in reports.
type Rules []Rule

// Conditions are a Rule or Rules.
type Conditions interface{ list() Rules }

func (r Rule) list() Rules  { return Rules{r} }
func (r Rules) list() Rules { return r }

// All are all the conditions.
func All(c ...Conditions) Rules {
	var all Rules
	for _, x := range c {
		all = append(all, x.list()...)
	}
	return all
}

// Kernel is one way to compute some operators. Rules, Layout and Lower read what
// they need of the node through facts (Fact), which are derived once.
type Kernel struct {
	Name    string
	Library string // "cmsis-nn", "nncc", or "nncc-" and an instruction set
	Doc     string
	Ops     []*ir.OpDef
	Rules   Rules
	Was     string               // prefix of the codes in reports before conditions had codes; goes with version 2
	Layout  func(n *Node) Layout // nil: Natural
	// Checks says that the kernel itself holds indices against their limits (ir.OpDef.Limits), while it
	// reads them. In front of other kernels, a call does.
	Checks bool
	// Lower makes the calls for a node that no rule refuses, once its values have
	// their final memory order.
	Lower func(n *Node) *call.Lowered
}

// IsOptimized reports a library of int8 kernels for an instruction set. Their layers
// are the segments of a Cortex-M program; the others are its fallback.
func IsOptimized(library string) bool {
	return library == "cmsis-nn" || strings.HasPrefix(library, "nncc-")
}

// Plan is a node in the terms of a kernel that accepts it.
type Plan struct {
	Kernel *Kernel
	Layout Layout // the memory orders that the kernel demands
	node   *Node
	low    *call.Lowered
	layer  *cost.Layer
}

// Match is the kernel's plan for the node, or every reason against it.
func (k *Kernel) Match(n *Node) (*Plan, []Reason) {
	if r := k.CheckLegality(n); len(r) > 0 {
		return nil, r
	}
	p := &Plan{Kernel: k, node: n}
	if k.Layout != nil {
		p.Layout = k.Layout(n)
	}
	return p, nil
}

// CheckLegality is every reason against the kernel; none means that it accepts the node.
func (k *Kernel) CheckLegality(n *Node) []Reason {
	var r, unread []Reason
	ask := func(proof bool) {
		for i, rule := range k.Rules {
			if rule.Proof != proof {
				continue
			}
			s := "another training may not meet it, and --weights-file takes any"
			if !rule.Trained || n.Options == nil || !n.Options.Bound {
				s = rule.Check(n)
			}
			switch s {
			case "":
			case Unread:
				unread = append(unread, Reason{rule.Code, s, k.was(i)})
			default:
				r = append(r, Reason{rule.Code, s, k.was(i)})
			}
		}
	}
	if ask(false); len(r) == 0 {
		ask(true)
	}
	if len(r) == 0 {
		return unread
	}
	return r
}

// was is the code that rule i had: its number in the row. The core was number 0.
func (k *Kernel) was(i int) string {
	if k.Was == "" {
		return ""
	}
	if !strings.HasPrefix(k.Library, "nncc-") {
		i++
	}
	return fmt.Sprintf("%s-%02d", k.Was, i)
}

// Lower makes the calls, once: the node's values have their final memory order.
func (p *Plan) Lower() *call.Lowered {
	if p.low == nil {
		p.low = p.Kernel.Lower(p.node)
		p.low.Apart = p.node.Options != nil && p.node.Options.Bound
		if !p.Kernel.Checks {
			checkLimits(p.node.Node, p.low)
		}
		if slices.ContainsFunc(p.low.Functions(), runtimec.IsCMSIS) {
			p.low.Headers = append(p.low.Headers, runtimec.CMSISHeader)
		}
	}
	return p.low
}

// Generic is the plan with functions that accept layers of any shape
// (Options.Generic). What was derived of the node serves both.
func (p *Plan) Generic() *Plan {
	o := *p.node.Options
	o.Generic = true
	return &Plan{Kernel: p.Kernel, Layout: p.Layout, node: &Node{p.node.Node, &o, p.node.facts, p.node.diags}}
}

// LayoutKind says what a kernel asks of the memory orders of its operands.
type LayoutKind uint8

const (
	// Natural is every operand in logical order.
	Natural LayoutKind = iota
	// Same is every run-time operand of the output's rank in one and the same
	// order, whichever it is; operands of lower rank are natural. Those that are
	// broadcast have the output's rank (lower/layout).
	Same
	// Fixed is the orders given.
	Fixed
	// ViewTranspose lets the output order follow from the input's by the permutation.
	ViewTranspose
	// ViewReshape lets dimensions of size 1 come and go, or wants both sides natural.
	ViewReshape
	// AnyToAny copies between orders (Relayout).
	AnyToAny
	// Strided accepts every operand in whichever order it has; results have any order
	// whose innermost dimension is the last one. Lower reads the strides.
	Strided
)

// Layout is a kernel's demand. In and Out hold one order per operand when
// Fixed (nil: natural).
type Layout struct {
	Kind    LayoutKind
	In, Out [][]int
	Perm    []int // ViewTranspose
	// Prefer is the order a Same kernel likes best, nil: none.
	Prefer []int
}

// AnyLayout is the demand of kernels that copy between any orders.
func AnyLayout(*Node) Layout { return Layout{Kind: AnyToAny} }

// SpatialLayout is the demand of a kernel whose input 0 and output 0 are
// channels-last feature maps.
func SpatialLayout(n *Node) Layout {
	l := Layout{Kind: Fixed, In: make([][]int, len(n.In)), Out: make([][]int, len(n.Out))}
	l.In[0] = ir.NHWC(n.In[0].Type.Rank())
	l.Out[0] = ir.NHWC(n.Out[0].Type.Rank())
	return l
}

// NaturalLayout and SameLayout are those of kernels that want all operands so.
func NaturalLayout(*Node) Layout { return Layout{Kind: Natural} }

// SameLayout is the demand of kernels that accept any order, the same for all operands.
func SameLayout(*Node) Layout { return Layout{Kind: Same} }

// Choice is the plan made for a node and why better kernels refused it.
type Choice struct {
	*Plan
	Rejected []Rejection
}

// Rejection is one refusing kernel with its reasons.
type Rejection struct {
	Kernel  string
	Library string
	Reasons []Reason
}

// Table maps operators to kernels, best first.
type Table map[*ir.OpDef][]*Kernel

// NewTable collects libraries in order of preference.
func NewTable(libs ...[]*Kernel) Table {
	t := Table{}
	for _, lib := range libs {
		for _, k := range lib {
			for _, op := range k.Ops {
				t[op] = append(t[op], k)
			}
		}
	}
	return t
}

// Nearest are the refusals with the fewest reasons first: what keeps a
// node from its nearest kernel is what a user wants to read first.
func (c Choice) Nearest() []Rejection {
	rs := slices.Clone(c.Rejected)
	lists.Sort(rs, func(a, b Rejection) int { return len(a.Reasons) - len(b.Reasons) })
	return rs
}

// LowerPriority are plans of the kernels behind that of a plan which pass a test
// and accept the node.
func (t Table) LowerPriority(p *Plan, wanted func(k *Kernel) bool) []*Plan {
	var out []*Plan
	rows := t[p.node.Op]
	for _, k := range rows[min(slices.Index(rows, p.Kernel)+1, len(rows)):] {
		if !wanted(k) {
			continue
		}
		if q, _ := k.Match(p.node); q != nil {
			out = append(out, q)
		}
	}
	return out
}

// Match is the plan of the first kernel that accepts the node.
func (t Table) Match(n *ir.Node, o *Options) (Choice, error) {
	defer pass.Named("kernel choice", n)
	var c Choice
	x := NewNode(n, o)
	for _, k := range t[n.Op] {
		p, r := k.Match(x)
		if p != nil {
			c.Plan = p
			return c, nil
		}
		c.Rejected = append(c.Rejected, Rejection{k.Name, k.Library, r})
	}
	if len(c.Rejected) == 1 && len(c.Rejected[0].Reasons) == 1 {
		if d := x.diags[c.Rejected[0].Reasons[0].Text]; d != nil {
			return c, d // the only reason is a diagnosis
		}
	}
	msg := "no kernel implements this operator"
	if len(c.Rejected) > 0 {
		msg = "no kernel takes this node"
		for _, r := range c.Nearest() {
			for _, x := range r.Reasons {
				msg += fmt.Sprintf("; %s: %s", r.Kernel, x.Text)
			}
		}
	}
	return c, ir.Errf(n, "no-kernel", "%s (input types %s)", msg, inTypes(n))
}

func inTypes(n *ir.Node) string {
	s := ""
	for i, v := range n.In {
		if i > 0 {
			s += ", "
		}
		if v == nil {
			s += "-"
		} else {
			s += v.Type.String()
		}
	}
	return s
}

// Plans are the plans of a graph's nodes, each made when it is first asked for
// and kept.
type Plans struct {
	table   Table
	options *Options
	of      map[*ir.Node]planned
}

type planned struct {
	Choice
	err error
}

// Plans of a table, none made.
func (t Table) Plans(o *Options) *Plans { return &Plans{t, o, map[*ir.Node]planned{}} }

// Of is the plan of a node, with the refusals of better kernels.
func (p *Plans) Of(n *ir.Node) (Choice, error) {
	x, ok := p.of[n]
	if !ok {
		x.Choice, x.err = p.table.Match(n, p.options)
		p.of[n] = x
	}
	return x.Choice, x.err
}

// Layout is the demand of a node's plan; that of a node without one is Natural.
func (p *Plans) Layout(n *ir.Node) Layout {
	c, err := p.Of(n)
	if err != nil {
		return Layout{}
	}
	return c.Layout
}

// Lowered are the calls of all nodes, whose values have their memory orders. The
// error is that of the first node without a plan.
func (p *Plans) Lowered(nodes []*ir.Node) (map[*ir.Node]*call.Lowered, error) {
	low := map[*ir.Node]*call.Lowered{}
	for _, n := range nodes {
		c, err := p.Of(n)
		if err != nil {
			return nil, err
		}
		low[n] = c.Lower()
	}
	return low, nil
}

// checkLimits puts the check of inputs that are computed at run time and have limits in front of the
// calls of a node. Constants are within (ir.InferNode).
func checkLimits(n *ir.Node, low *call.Lowered) {
	var checks []call.Call
	for _, l := range ir.LimitsOf(n) {
		t := n.In[l.Input].Type
		if n.In[l.Input].Const != nil || t.Elems() == 0 {
			continue
		}
		limits := &call.Array{Type: "nncc_limit", Bytes: 8}
		for k := range l.Least {
			limits.Elems = append(limits.Elems,
				call.Nested{Fields: []call.Field{call.FI("least", l.Least[k]), call.FI("most", l.Most[k])}})
		}
		checks = append(checks, call.Call{Func: "nncc_check_indices", Status: call.NNCCStatus, Args: []call.Arg{
			call.In{I: l.Input, CType: "uint8_t"}, call.I32(t.DType.Size()), call.I32(t.Elems()), limits,
			call.I32(len(l.Least))}})
		low.Unused = slices.DeleteFunc(low.Unused, func(i int) bool { return i == l.Input })
	}
	if checks == nil {
		return
	}
	low.Headers = append(low.Headers, "nncc_limit.h")
	if low.Calls = slices.Concat(checks, low.Calls); low.RowCalls != nil {
		low.RowCalls = slices.Concat(checks, low.RowCalls)
	}
}
