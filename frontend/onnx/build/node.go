// SPDX-License-Identifier: Apache-2.0

package build

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/schema"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// Node is one node of a model on its way into the graph: what a rule reads. Rules
// may change Op, In and Attrs.
type Node struct {
	*Builder
	Domain, Op string
	Name       string // in the graph
	Origin     string // what nodes made for it are said to come from
	Opset      int    // version of its domain
	In         []*ir.Value
	InNames    []string         // the model's names of the inputs, for messages
	Seqs       map[int]Sequence // inputs that are sequences: In has nil there
	Out        []string         // names of the results in the graph; "" where nothing reads one
	OutSeq     *Sequence        // set where output 0 is a sequence
	Attrs      ir.Attrs         // without subgraphs
	count      int              // of constants and nodes made by Do
}

// Sequence is a list of tensors within a model, as exporters write for split and
// stack: its length and all positions must be known at compile time, so that
// nothing of it is left in the graph.
type Sequence []*ir.Value

// Rule gives the results of a node; what is nil among them is not computed. A rule
// ends at once, by way of fail, where a method of Node meets an error; Run hands that on.
type Rule func(n *Node) []*ir.Value

// ErrReported is the error of a node of which what is wrong has been reported.
var ErrReported = errors.New("an input failed")

// Run applies a rule to a node.
func (n *Node) Run(r Rule) (out []*ir.Value, err error) {
	out, err = fail.Try(func() []*ir.Value { return r(n) })
	return out, n.hint(err)
}

// Errf is an error about the node.
func (n *Node) Errf(code, format string, args ...any) *ir.Diag {
	return &ir.Diag{Code: code, Node: n.String(), Msg: fmt.Sprintf(format, args...)}
}

// String is the operator and the name of the node, for messages.
func (n *Node) String() string {
	name := n.Op
	if n.Domain != "" {
		name = n.Domain + "." + name
	}
	return model.Plain(name) + " " + model.Quote(n.Name)
}

// Want fails with a message unless the condition holds.
func (n *Node) Want(ok bool, code, format string, args ...any) {
	if !ok {
		fail.Check(n.Errf(code, format, args...))
	}
}

// WantKnown is Want about value v, which is wanted at compile time.
func (n *Node) WantKnown(ok bool, code string, v *ir.Value, format string, args ...any) {
	if !ok {
		fail.Check(n.Dynamicf(code, v, format, args...))
	}
}

// Dynamicf is an error about value v, which is wanted at compile time.
func (n *Node) Dynamicf(code string, v *ir.Value, format string, args ...any) *ir.Diag {
	d := n.Errf(code, format, args...)
	d.Hint = BindHint(v)
	return d
}

// hint tells how to give a value at compile time that depends on inputs of the
// model: those must be bound.
func (n *Node) hint(err error) error {
	d, ok := err.(*ir.Diag)
	if !ok || d.Code != "dynamic" || d.Hint != "" {
		return err
	}
	for _, v := range n.In {
		if v != nil && v.Name == d.Tensor {
			if hint := BindHint(v); hint != "" {
				h := *d
				h.Hint = hint
				return &h
			}
		}
	}
	return err
}

// BindHint says which inputs of the model a value depends on, and how to bind
// them; "" where it depends on none.
func BindHint(v *ir.Value) string {
	var flags []string
	seen := map[*ir.Value]bool{}
	var walk func(v *ir.Value)
	walk = func(v *ir.Value) {
		if v == nil || v.Const != nil || seen[v] {
			return
		}
		seen[v] = true
		if v.IsInput() {
			flags = append(flags, "--set "+v.Name+"=VALUE")
			return
		}
		if v.Def != nil {
			for _, w := range v.Def.In {
				walk(w)
			}
		}
	}
	walk(v)
	switch {
	case len(flags) == 0:
		return ""
	case v.IsInput():
		return "it is an input of the model; bind it with " + flags[0]
	}
	return "it depends on inputs of the model; bind them with " + strings.Join(flags, " ")
}

const ownDomain = "nncc"

// Plain is the rule of most operators: the node as the operator of the same name. A standard
// operator with attributes that ONNX lacks has nncc's domain.
func (n *Node) Plain() []*ir.Value {
	o := fail.Must(n.Definition())
	nout := len(n.Out)
	if o.MaxOut >= 0 {
		nout = min(nout, o.MaxOut)
	}
	return n.Results(o, n.Attrs, nout, n.In...)
}

// Definition is the operator of a node that is taken as it is.
func (n *Node) Definition() (*ir.OpDef, error) {
	o := op.Get(n.Domain, n.Op)
	if o == nil && n.Domain == ownDomain {
		o = op.Get("", n.Op)
	}
	name := model.Plain(n.Op)
	switch {
	case o != nil:
		return o, nil
	case schema.Lookup(n.Domain, n.Op, int64(n.Opset)) != nil:
		return nil, n.Errf("op-unsupported", "operator %s is not supported; replace it in the model, "+
			"or define it by an ONNX function in a file given with --functions", name)
	case n.Domain == "":
		return nil, n.Errf("op-unknown", "ONNX opset %d has no operator %s", n.Opset, name)
	}
	return nil, n.Errf("op-custom", "operator %s of domain %s is unknown; define it by an ONNX function "+
		"(in the model, or in a file given with --functions)", name, model.Quote(n.Domain))
}

// Renamed is the rule that takes a node for the standard operator of another name.
func Renamed(name string) Rule {
	return func(n *Node) []*ir.Value { return n.Results(op.Get("", name), n.Attrs, len(n.Out), n.In...) }
}

// Result adds a standard operator that gives the node's only result.
func (n *Node) Result(name string, attrs ir.Attrs, in ...*ir.Value) []*ir.Value {
	return n.Results(op.Get("", name), attrs, 1, in...)
}

// Results adds an operator whose outputs are the node's, under their names.
func (n *Node) Results(o *ir.OpDef, attrs ir.Attrs, nout int, in ...*ir.Value) []*ir.Value {
	names := make([]string, nout)
	if o != nil {
		names = make([]string, max(nout, o.MinOut))
	}
	for i := range names {
		if i < len(n.Out) {
			names[i] = n.Out[i]
		}
		if names[i] == "" {
			names[i] = n.Name + "." + strconv.Itoa(i)
		}
	}
	return n.Add(o, n.Name, names, attrs, in...)
}

// Sub adds a standard operator with one output, named after the node.
func (n *Node) Sub(name, suffix string, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
	s := model.Shorten(n.Name) + suffix
	return n.Add(op.Get("", name), s, []string{s}, attrs, in...)[0]
}

// Do is Sub with a name made of the operator's and a number.
func (n *Node) Do(name string, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
	return n.DoOp(op.Get("", name), attrs, in...)
}

// DoOp is Do for an operator of any domain.
func (n *Node) DoOp(o *ir.OpDef, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
	n.Want(o != nil, "op-unsupported", "needs an operator that is not supported")
	n.count++
	s := model.Shorten(n.Name) + "." + o.Name + strconv.Itoa(n.count)
	return n.Add(o, s, []string{s}, attrs, in...)[0]
}

// Add adds an operator with outputs of the given names, or folds it where everything
// is known.
func (n *Node) Add(o *ir.OpDef, name string, names []string, attrs ir.Attrs, in ...*ir.Value) []*ir.Value {
	n.Want(o != nil, "op-unsupported", "needs an operator that is not supported")
	if attrs == nil {
		attrs = ir.Attrs{}
	}
	n.checkAttrs(o, attrs)
	for len(in) > 0 && in[len(in)-1] == nil {
		in = in[:len(in)-1]
	}
	for i := range names {
		names[i] = n.Unique(names[i])
	}
	x := &ir.Node{Name: name, Op: o, Attrs: attrs, In: in, Origin: []string{n.Origin},
		Out: make([]*ir.Value, len(names))}
	texts := n.moved(x)
	out, ok, err := n.fold(x, names)
	fail.Check(err)
	if !ok {
		fail.Check(n.addedFor(n.Name))
		fail.Check(n.Graph.AddNode(x, names))
		out = x.Out
	}
	if texts != nil {
		n.Texts[out[0]] = texts
	}
	if slices.ContainsFunc(in, n.Rooms.Has) {
		n.Rooms.mark(out...)
	}
	return out
}

// withoutMeaning are attributes of the standard that do not change results here.
var withoutMeaning = map[string]bool{"Range.stash_type": true}

func (n *Node) checkAttrs(o *ir.OpDef, attrs ir.Attrs) {
	for _, name := range attrs.Names() {
		i := slices.IndexFunc(o.Attrs, func(s ir.AttrSpec) bool { return s.Name == name })
		switch {
		case i >= 0 && o.Attrs[i].ElemType && o.Attrs[i].Def != nil && attrs[name].Int == 0: // 0 names no type
			delete(attrs, name)
		case i >= 0:
		case withoutMeaning[o.Name+"."+name]:
			delete(attrs, name)
		default:
			n.Want(false, "attr-unknown", "attribute %s is not supported for %s of opset %d", model.Quote(name), o.Name,
				n.Opset)
		}
	}
}

// Constant adds a constant, named after the node.
func (n *Node) Constant(suffix string, d *tensor.Dense) *ir.Value {
	return n.Const(model.Shorten(n.Name)+suffix, d)
}

// Spend takes work for the node from the budget: what is its result, for the message.
func (n *Node) Spend(what string, work, bytes int64) {
	fail.Check(n.spend(n.String(), what, work, bytes))
}

// expandWork is what a graph costs that is put in place of a node, an iteration
// of a Loop or a call, whatever it holds: scopes, names and constants, in
// elements. Its nodes count for themselves.
const expandWork = 512

// SpendCopy takes a copy of a subgraph or function with so many names from the budget.
func (n *Node) SpendCopy(what string, names int) { n.Spend(what, expandWork*int64(1+names), 0) }
