// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/frontend/onnx/functions"
	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/onnx/schema"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
)

const maxInline = 32

// function inlines a call of a function: its nodes, with the call's inputs and
// attributes in place of the formal ones.
func (c *nodeImport) function(f *pb.FunctionProto) []*ir.Value {
	im := c.im
	label := model.Quote(strings.TrimPrefix(f.GetDomain()+"."+f.GetName(), "."))
	c.Want(!slices.Contains(im.inline, f), "function-recursion",
		"function %s calls itself, directly or through others: recursion cannot be expanded", label)
	c.Want(len(im.inline) < maxInline, "function-depth", "function %s: functions call each other more than %d deep",
		label, maxInline)
	im.inline = append(im.inline, f)
	defer func() { im.inline = im.inline[:len(im.inline)-1] }()

	c.Want(len(c.In) <= len(f.GetInput()), "arity", "has %d inputs, function %s takes %d", len(c.In), label,
		len(f.GetInput()))
	c.Want(len(c.Out) <= len(f.GetOutput()), "arity", "has %d outputs, function %s gives %d", len(c.Out), label,
		len(f.GetOutput()))
	c.SpendCopy("a copy of function "+label,
		len(f.GetInput())+len(f.GetOutput())+len(f.GetAttributeProto())+len(f.GetNode()))
	inner := newScope(nil, model.Shorten(c.Name)+"/")
	inner.origin = cmp.Or(c.origin, c.scope.origin)
	for i, name := range f.GetInput() {
		inner.values[name] = &entry{v: c.Input(i)} // nil where the call leaves it out
	}
	var used []string
	for i, name := range f.GetOutput()[:len(c.Out)] {
		inner.names[name] = c.Out[i]
		if c.Out[i] != "" {
			used = append(used, name)
		}
	}
	opsets := c.opsets
	if len(f.GetOpsetImport()) > 0 {
		opsets = versions(f.GetOpsetImport())
	}
	given := c.given(f, label)
	nodes := lists.Map(f.GetNode(), func(n *pb.NodeProto) *pb.NodeProto { return substitute(n, given) })
	before := len(im.errs)
	im.body(needed(nodes, used), inner, opsets)
	if len(im.errs) > before || im.TooMany {
		fail.Check(build.ErrReported)
	}
	out := make([]*ir.Value, len(c.Out))
	for i, name := range f.GetOutput()[:len(c.Out)] {
		if c.Out[i] == "" {
			continue
		}
		v, err := im.read(inner, name)
		c.Want(err != errMissing && (err != nil || v != nil), "function-output",
			"function %s does not produce its output %s", label, model.Quote(name))
		fail.Check(err)
		out[i] = v
	}
	return out
}

// definition is the text by which the node's operator is defined, nil where there is
// none or its opset has no such operator.
func (c *nodeImport) definition() *pb.FunctionProto {
	f := functions.Operator(c.Domain, c.Op)
	if opset := int64(c.Opset); f != nil && schema.Lookup(c.Domain, c.Op, opset) == nil &&
		schema.Early(c.Op, opset) == nil {
		return nil
	}
	return f
}

// operator is function for an operator that a model's author does not know as one:
// the nodes within come from the operator's node, and so do errors about them.
func (c *nodeImport) operator(f *pb.FunctionProto) []*ir.Value {
	for _, a := range f.GetAttribute() {
		_, given := c.Attrs[a]
		c.Want(given, "attr", "attribute %s is missing: the operator has no default for it", a)
	}
	before := len(c.im.errs)
	c.origin = c.Origin
	out, err := c.Run(func(*build.Node) []*ir.Value { return c.function(f) })
	for i, e := range c.im.errs[before:] {
		if d := new(ir.Diag); errors.As(e, &d) {
			c.im.errs[before+i] = &ir.Diag{Code: d.Code, Node: c.String(), Msg: "its " + d.Node + " " + d.Msg,
				Hint: d.Hint}
		}
	}
	fail.Check(err)
	return out
}

func (c *nodeImport) given(f *pb.FunctionProto, label string) map[string]*pb.AttributeProto {
	given := map[string]*pb.AttributeProto{}
	for _, a := range f.GetAttributeProto() {
		given[a.GetName()] = a // defaults
	}
	for _, a := range c.p.GetAttribute() {
		_, known := given[a.GetName()]
		c.Want(known || slices.Contains(f.GetAttribute(), a.GetName()), "attr-unknown",
			"attribute %s is unknown to function %s", model.Quote(a.GetName()), label)
		given[a.GetName()] = a
	}
	return given
}

func versions(list []*pb.OperatorSetIdProto) map[string]int {
	out := map[string]int{}
	for _, o := range list {
		out[schema.Domain(o.GetDomain())] = int(o.GetVersion())
	}
	return out
}

// substitute replaces references to the function's attributes by the call's,
// in subgraphs too. An attribute that refers to one which the call leaves out
// and which has no default disappears.
func substitute(n *pb.NodeProto, given map[string]*pb.AttributeProto) *pb.NodeProto {
	if !refers(n) {
		return n
	}
	inGraph := func(g *pb.GraphProto) *pb.GraphProto {
		if g == nil || !slices.ContainsFunc(g.GetNode(), refers) {
			return g
		}
		nodes := lists.Map(g.Node, func(m *pb.NodeProto) *pb.NodeProto { return substitute(m, given) })
		return &pb.GraphProto{Name: g.Name, Node: nodes, Input: g.Input, Output: g.Output, Initializer: g.Initializer,
			SparseInitializer: g.SparseInitializer, ValueInfo: g.ValueInfo}
	}
	var attrs []*pb.AttributeProto
	for _, a := range n.GetAttribute() {
		if a.GetRefAttrName() != "" {
			if v := given[a.GetRefAttrName()]; v != nil {
				attrs = append(attrs, named(v, a.Name))
			}
			continue
		}
		if a.GetG() != nil || len(a.GetGraphs()) > 0 {
			g, graphs := inGraph(a.GetG()), make([]*pb.GraphProto, len(a.GetGraphs()))
			for i := range graphs {
				graphs[i] = inGraph(a.Graphs[i])
			}
			a = named(a, a.Name)
			a.G, a.Graphs = g, graphs
		}
		attrs = append(attrs, a)
	}
	return &pb.NodeProto{Name: n.Name, OpType: n.OpType, Domain: n.Domain, Overload: n.Overload, Input: n.Input,
		Output: n.Output, Attribute: attrs}
}

// named is an attribute under another name, its data shared: a large tensor is
// not to be copied, and decoded, for every call.
func named(a *pb.AttributeProto, name *string) *pb.AttributeProto {
	return &pb.AttributeProto{Name: name, Type: a.Type, F: a.F, I: a.I, S: a.S, T: a.T, G: a.G,
		SparseTensor: a.SparseTensor, Tp: a.Tp, TypeProtos: a.TypeProtos, Floats: a.Floats, Ints: a.Ints,
		Strings: a.Strings, Tensors: a.Tensors, Graphs: a.Graphs, SparseTensors: a.SparseTensors}
}

// refers reports whether a node, or one in its subgraphs, refers to an
// attribute of a function.
func refers(n *pb.NodeProto) bool {
	return slices.ContainsFunc(n.GetAttribute(), func(a *pb.AttributeProto) bool {
		return a.GetRefAttrName() != "" || slices.ContainsFunc(model.Subgraphs(a), func(g *pb.GraphProto) bool {
			return slices.ContainsFunc(g.GetNode(), refers)
		})
	})
}
