package onnx

import (
	"slices"
	"strings"

	"github.com/nncc/nncc/frontend/onnx/pb"
)

// maxInline bounds functions within functions.
const maxInline = 32

// call inlines a model-local or library function: its nodes, with the call's
// inputs and attributes in place of the formal ones.
func (im *importer) call(c *nodeCtx, f *pb.FunctionProto) error {
	label := quote(strings.TrimPrefix(f.GetDomain()+"."+f.GetName(), "."))
	key := funcKey(f.GetDomain(), f.GetName(), f.GetOverload())
	if slices.Contains(im.inline, key) {
		return c.errf("function-recursion", "function %s calls itself, directly or through others: recursion cannot be expanded", label)
	}
	if len(im.inline) >= maxInline {
		return c.errf("function-depth", "function %s: functions call each other more than %d deep", label, maxInline)
	}
	im.inline = append(im.inline, key)
	defer func() { im.inline = im.inline[:len(im.inline)-1] }()

	if len(c.in) > len(f.GetInput()) {
		return c.errf("arity", "has %d inputs, function %s takes %d", len(c.in), label, len(f.GetInput()))
	}
	if len(c.p.GetOutput()) > len(f.GetOutput()) {
		return c.errf("arity", "has %d outputs, function %s gives %d", len(c.p.GetOutput()), label, len(f.GetOutput()))
	}
	if err := c.expand("a copy of function "+label, len(f.GetInput())+len(f.GetOutput())+len(f.GetAttributeProto())+len(f.GetNode())); err != nil {
		return err
	}
	given := map[string]*pb.AttributeProto{}
	for _, a := range f.GetAttributeProto() {
		given[a.GetName()] = a // defaults
	}
	for _, a := range c.p.GetAttribute() {
		if _, ok := given[a.GetName()]; !ok && !slices.Contains(f.GetAttribute(), a.GetName()) {
			return c.errf("attr-unknown", "attribute %s is unknown to function %s", quote(a.GetName()), label)
		}
		given[a.GetName()] = a
	}
	inner := newScope(nil, shorten(c.name)+"/")
	for i, name := range f.GetInput() {
		e := &entry{}
		if i < len(c.in) {
			e.v = c.in[i] // nil where the call leaves it out
		}
		inner.values[name] = e
	}
	for i, name := range f.GetOutput() {
		if i < len(c.p.GetOutput()) {
			inner.names[name] = c.scope.valueName(c.p.GetOutput()[i])
		}
	}
	opsets := map[string]int{}
	for _, o := range f.GetOpsetImport() {
		opsets[domain(o.GetDomain())] = int(o.GetVersion())
	}
	if len(opsets) == 0 {
		opsets = c.opsets
	}
	var used []string
	for i, name := range f.GetOutput() {
		if i < len(c.p.GetOutput()) && c.p.GetOutput()[i] != "" {
			used = append(used, name)
		}
	}
	nodes := make([]*pb.NodeProto, len(f.GetNode()))
	for i, n := range f.GetNode() {
		nodes[i] = substitute(n, given)
	}
	before := len(im.errs)
	im.body(needed(nodes, used), inner, opsets)
	if len(im.errs) > before || im.tooMany {
		return errPoisoned
	}
	for i, name := range f.GetOutput() {
		if i >= len(c.p.GetOutput()) || c.p.GetOutput()[i] == "" {
			continue
		}
		outer := c.p.GetOutput()[i]
		if _, dup := c.scope.values[outer]; dup {
			return c.errf("ssa", "output %s is already the name of another value", quote(outer))
		}
		v, err := im.read(inner, name)
		switch {
		case err == errMissing || err == nil && v == nil:
			return c.errf("function-output", "function %s does not produce its output %s", label, quote(name))
		case err != nil:
			return err
		}
		c.scope.set(outer, v)
	}
	return nil
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
		nodes := make([]*pb.NodeProto, len(g.Node))
		for i, m := range g.Node {
			nodes[i] = substitute(m, given)
		}
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
	return &pb.NodeProto{Name: n.Name, OpType: n.OpType, Domain: n.Domain, Overload: n.Overload, Input: n.Input, Output: n.Output, Attribute: attrs}
}

// named is an attribute under another name, its data shared: a large tensor is
// not to be copied, and decoded, for every call.
func named(a *pb.AttributeProto, name *string) *pb.AttributeProto {
	return &pb.AttributeProto{Name: name, Type: a.Type, F: a.F, I: a.I, S: a.S, T: a.T, G: a.G, SparseTensor: a.SparseTensor, Tp: a.Tp, TypeProtos: a.TypeProtos,
		Floats: a.Floats, Ints: a.Ints, Strings: a.Strings, Tensors: a.Tensors, Graphs: a.Graphs, SparseTensors: a.SparseTensors}
}

// refers reports whether a node, or one in its subgraphs, refers to an
// attribute of a function.
func refers(n *pb.NodeProto) bool {
	for _, a := range n.GetAttribute() {
		if a.GetRefAttrName() != "" {
			return true
		}
		graphs := a.GetGraphs()
		if a.GetG() != nil {
			graphs = append([]*pb.GraphProto{a.GetG()}, graphs...)
		}
		for _, g := range graphs {
			if slices.ContainsFunc(g.GetNode(), refers) {
				return true
			}
		}
	}
	return false
}
