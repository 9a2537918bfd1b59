// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"

	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/lists"
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
	names = append(names, lists.Map(f.proto.AttributeProto, (*pb.AttributeProto).GetName)...)
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
			c.at(fmt.Sprintf("function %d", i), "").add("function", "", "a name", "has no name")
			continue
		}
		if own[f.id] {
			c.at(f.label, "").add("function", "", "each function once",
				"is defined twice (same domain, name and overload)")
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
				c.at(f.label, "").add("name", "", "a name", "input %d has an empty name", i)
				continue
			}
			s.define(in, &val{by: "an input of " + f.label}, f.label, "")
		}
		for _, a := range p.AttributeProto {
			at := &place{c: c, where: f.label}
			c.attrType(a, s, at)
			c.attrValue(a, s, at, 0)
		}
		if !c.body(p.Node, s, nil, 0) {
			return
		}
		for i, o := range p.Output {
			if s.vals[o] == nil {
				c.at(f.label, "").add("output-missing", o, "a node of the function that makes it",
					"output %d, %s, has no producer", i, model.Quote(o))
			}
		}
	}
}

func (c *checker) callArity(n *pb.NodeProto, f *function, at *place) {
	side := func(what string, have, most int) {
		if have > most {
			at.add("arity", "", fmt.Sprintf("at most %d for %s", most, f.label), "has %d %s", have, what)
		}
	}
	side("inputs", len(n.Input), len(f.proto.Input))
	side("outputs", len(n.Output), len(f.proto.Output))
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
		c.at("the model", "").add("too-many-nodes", "", fmt.Sprintf("at most %d", e.limit),
			"inlining its functions gives too many nodes (more than %d)", e.limit)
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
		e.c.at(f.label, "").add("recursion", "", "less nesting", "functions call each other more than %d deep",
			maxCallDepth)
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
			n += lists.Sum(model.Subgraphs(a), func(g *pb.GraphProto) int64 { return e.nodes(g.Node) })
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
	e.c.at(f.label, "").add("recursion", "", "functions without recursion, which cannot be inlined", "calls itself: "+
		"recursive chain %s", strings.Join(append(names, f.label), " → "))
}
