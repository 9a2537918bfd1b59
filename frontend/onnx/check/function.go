// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"

	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/diag"
)

type function struct {
	id     model.FuncID
	proto  *pb.FunctionProto
	label  string
	attrs  map[string]bool // names of its attributes
	opsets map[string]int64
	// During expansion: nodes after inlining everything (-1 while being counted).
	size    int64
	counted bool
}

func (f *function) wantAttrs() string {
	if len(f.attrs) == 0 {
		return "no attributes"
	}
	names := append([]string(nil), f.proto.Attribute...)
	for _, a := range f.proto.AttributeProto {
		names = append(names, a.GetName())
	}
	for i := range names {
		names[i] = model.Quote(names[i])
	}
	return "one of " + strings.Join(names, ", ")
}

func newFunction(p *pb.FunctionProto) *function {
	f := &function{id: model.FunctionID(p), proto: p, attrs: map[string]bool{}}
	f.label = fmt.Sprintf("function %s", model.Quote(strings.TrimPrefix(p.GetDomain()+"."+p.GetName(), ".")))
	for _, a := range p.Attribute {
		f.attrs[a] = true
	}
	for _, a := range p.AttributeProto {
		f.attrs[a.GetName()] = true
	}
	return f
}

func (c *checker) functions(libs []*pb.FunctionProto) {
	c.funcs = map[model.FuncID]*function{}
	for _, p := range libs {
		f := newFunction(p)
		c.funcs[f.id] = f
	}
	own := map[model.FuncID]bool{}
	for i, p := range c.m.Proto.Functions {
		f := newFunction(p)
		if p.GetName() == "" {
			c.add(diag.Diag{Code: "function", Node: fmt.Sprintf("function %d", i), Msg: "has no name", Want: "a name"})
			continue
		}
		if own[f.id] {
			c.add(diag.Diag{Code: "function", Node: f.label, Msg: "is defined twice (same domain, name and overload)",
				Want: "each function once"})
			continue
		}
		own[f.id] = true
		c.funcs[f.id] = f
	}
}

func (c *checker) functionBodies() {
	for _, p := range c.m.Proto.Functions {
		f := c.funcs[model.FunctionID(p)]
		if f == nil || f.proto != p {
			continue
		}
		f.opsets = c.imports(p.OpsetImport, f.label)
		if len(p.OpsetImport) == 0 {
			f.opsets = c.opsets
		}
		s := &checkScope{c: c, label: f.label, vals: map[string]*val{}, opsets: f.opsets, fn: f}
		for i, in := range p.Input {
			if in == "" {
				c.add(diag.Diag{Code: "name", Node: f.label, Msg: fmt.Sprintf("input %d has an empty name", i),
					Want: "a name"})
				continue
			}
			s.define(in, &val{by: "an input of " + f.label}, f.label, "")
		}
		for _, a := range p.AttributeProto {
			at := &place{c: c, where: f.label}
			c.attrType(a, s, at)
			c.attrValue(a, s, at, 0)
		}
		if c.nodes += len(p.Node); c.nodes > c.lim.Nodes {
			return
		}
		s.later = map[string]string{}
		for i, n := range p.Node {
			for _, o := range n.Output {
				if _, dup := s.later[o]; o != "" && !dup {
					s.later[o] = nodeLabel(n, i)
				}
			}
		}
		for _, i := range c.order(p.Node, s) {
			c.node(p.Node[i], i, s, nil, 0)
		}
		for i, o := range p.Output {
			if s.vals[o] == nil {
				c.add(diag.Diag{Code: "output-missing", Node: f.label, Tensor: o,
					Msg:  fmt.Sprintf("output %d, %s, has no producer", i, model.Quote(o)),
					Want: "a node of the function that makes it"})
			}
		}
	}
}

func (c *checker) callArity(n *pb.NodeProto, f *function, at *place) {
	if len(n.Input) > len(f.proto.Input) {
		at.add("arity", "", fmt.Sprintf("has %d inputs", len(n.Input)),
			fmt.Sprintf("at most %d for %s", len(f.proto.Input), f.label))
	}
	if len(n.Output) > len(f.proto.Output) {
		at.add("arity", "", fmt.Sprintf("has %d outputs", len(n.Output)),
			fmt.Sprintf("at most %d for %s", len(f.proto.Output), f.label))
	}
}

// expansion counts the nodes of the model with all functions inlined and reports
// recursion and models that would grow beyond the limit.
func (c *checker) expansion(g *pb.GraphProto) {
	e := &expander{c: c, limit: int64(c.lim.Nodes)}
	for _, p := range c.m.Proto.Functions {
		// Also those that nothing calls: recursion is an error anyway.
		if f := c.funcs[model.FunctionID(p)]; f != nil && f.proto == p {
			e.function(f)
		}
	}
	if n := e.nodes(g.Node); n > e.limit && !e.recursive {
		c.add(diag.Diag{Code: "too-many-nodes", Node: "the model",
			Msg:  fmt.Sprintf("inlining its functions gives too many nodes (more than %d)", e.limit),
			Want: fmt.Sprintf("at most %d", e.limit)})
	}
}

type expander struct {
	c         *checker
	limit     int64
	stack     []*function
	recursive bool
}

// function is the size of a function with its calls inlined, at most limit+1.
func (e *expander) function(f *function) int64 {
	if f.counted {
		if f.size < 0 {
			e.cycle(f)
			return 0
		}
		return f.size
	}
	f.counted, f.size = true, -1
	e.stack = append(e.stack, f)
	n := int64(0)
	if len(e.stack) > maxCallDepth {
		e.recursive = true
		e.c.add(diag.Diag{Code: "recursion", Node: f.label,
			Msg: fmt.Sprintf("functions call each other more than %d deep", maxCallDepth), Want: "less nesting"})
	} else {
		n = e.nodes(f.proto.Node)
	}
	e.stack = e.stack[:len(e.stack)-1]
	f.size = n
	return n
}

const maxCallDepth = 1000

func (e *expander) nodes(list []*pb.NodeProto) int64 {
	n := int64(0)
	for _, x := range list {
		n++
		if f := e.c.funcs[model.CallID(x)]; f != nil {
			n += e.function(f)
		}
		for _, a := range x.Attribute {
			for _, g := range model.Subgraphs(a) {
				n += e.nodes(g.Node)
			}
		}
		n = min(n, e.limit+1)
	}
	return n
}

// cycle reports the functions from f to the top of the stack, which calls f again.
func (e *expander) cycle(f *function) {
	e.recursive = true
	var names []string
	for i := len(e.stack) - 1; i >= 0; i-- {
		names = append([]string{e.stack[i].label}, names...)
		if e.stack[i] == f {
			break
		}
	}
	if len(names) > 8 {
		names = append(names[:8], "…")
	}
	e.c.add(diag.Diag{Code: "recursion", Node: f.label, Msg: "calls itself: recursive chain " +
		strings.Join(append(names, f.label), " → "), Want: "functions without recursion, which cannot be inlined"})
}
