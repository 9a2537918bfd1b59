// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"unicode/utf8"

	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/onnx/schema"
	"github.com/nncc/nncc/ir/lists"
)

type val struct {
	typ vtype
	by  string // what defines it, for messages
}

// checkScope is a graph or function body during the walk over its nodes. A subgraph
// sees the values of the graphs around its node that are defined so far.
type checkScope struct {
	c      *checker
	up     *checkScope
	label  string // how messages call it
	vals   map[string]*val
	later  map[string]string // outputs of all nodes of this graph → node label
	opsets map[string]int64
	fn     *function // the function whose body this is in, nil in the main graph
}

func (s *checkScope) find(name string) *val {
	for ; s != nil; s = s.up {
		if v := s.vals[name]; v != nil {
			return v
		}
	}
	return nil
}

// in adds the graph to a message's place when it is not the main one.
func (s *checkScope) in(where string) string {
	if s.up == nil && s.fn == nil {
		return where
	}
	return where + " in " + s.label
}

// define adds a value; a second definition breaks single assignment.
func (s *checkScope) define(name string, v *val, where, node string) {
	if !utf8.ValidString(name) {
		s.c.at(where, node).add("name", name, "", "the name %s is not valid UTF-8", model.Quote(name))
	}
	if old := s.vals[name]; old != nil {
		s.c.at(where, node).add("not-ssa", name, "each value defined once", "defines %s, which %s has defined",
			model.Quote(name), old.by)
		return
	}
	if s.up != nil {
		if old := s.up.find(name); old != nil {
			s.c.at(where, node).warn("shadow", name, "names that differ from those of outer graphs",
				"defines %s, which %s has defined outside", model.Quote(name), old.by)
		}
	}
	s.vals[name] = v
}

func (c *checker) graph(g *pb.GraphProto, s *checkScope, depth int) {
	main := s.up == nil
	c.inputs(g, s, main)
	c.initializers(g, s)
	for _, v := range g.ValueInfo {
		c.valueType(v, s.in(fmt.Sprintf("value_info of %s", model.Quote(v.GetName()))), false)
	}
	if c.body(g.Node, s, declaredTypes(g), depth) {
		c.outputs(g, s, main)
	}
}

// body checks nodes; false where there are too many, as Model says.
func (c *checker) body(nodes []*pb.NodeProto, s *checkScope, declared map[string]vtype, depth int) bool {
	if c.nodes += len(nodes); c.nodes > c.lim.Nodes {
		return false
	}
	s.later = map[string]string{}
	for i, n := range nodes {
		for _, o := range n.Output {
			if _, dup := s.later[o]; o != "" && !dup {
				s.later[o] = nodeLabel(n, i)
			}
		}
	}
	for _, i := range c.order(nodes, s) {
		c.node(nodes[i], i, s, declared, depth)
	}
	return true
}

// order is the order in which to look at nodes: theirs, or where that is not
// topological, as ONNX wants it, one that is. Cycles are found by the nodes.
func (c *checker) order(nodes []*pb.NodeProto, s *checkScope) []int {
	order := model.Topological(nodes)
	if order == nil {
		order = lists.Make(len(nodes), func(i int) int { return i })
		return order
	}
	at, by, _ := model.FirstEarly(nodes, model.Makers(nodes))
	p := &place{c: c, where: s.in(nodeLabel(nodes[at], at)), node: nodes[at].GetName()}
	p.warn("order", "", "nodes in topological order", "is listed before %s, which makes what it reads",
		nodeLabel(nodes[by], by))
	return order
}

func (c *checker) inputs(g *pb.GraphProto, s *checkScope, main bool) {
	for i, in := range g.Input {
		name := in.GetName()
		where := s.in(fmt.Sprintf("input %s", model.Quote(name)))
		if name == "" {
			c.at(s.in(fmt.Sprintf("input %d", i)), "").add("name", "", "a name", "has an empty name")
			continue
		}
		c.valueType(in, where, main)
		s.define(name, &val{typ: typeOf(in.GetType()), by: where}, where, "")
	}
}

// valueType checks a declared type, which must be there for the main graph's inputs
// (required); elsewhere inference finds it.
func (c *checker) valueType(v *pb.ValueInfoProto, where string, required bool) {
	bad := func(code, found, want string) {
		c.at(where, "").add(code, v.GetName(), want, "%s", found)
	}
	t := v.GetType()
	if t == nil || t.Value == nil {
		if required {
			bad("no-type", "has no type", "an element type and a shape")
		}
		return
	}
	tt := t.GetTensorType()
	if tt == nil {
		return // sequences and the like: the importer decides
	}
	if schema.ElemName(tt.GetElemType()) == "" {
		bad("elem-type", fmt.Sprintf("has element type %d", tt.GetElemType()), "a data type that ONNX defines")
		return
	}
	dims := make([]int64, len(tt.GetShape().GetDim())) // without a shape, the importer decides
	for i, d := range tt.GetShape().GetDim() {
		dims[i] = 1
		if x, ok := d.Value.(*pb.TensorShapeProto_Dimension_DimValue); ok && x.DimValue != -1 { // a size that is open
			dims[i] = x.DimValue
		}
	}
	if err := model.CheckShape(dims, tt.GetElemType(), c.lim); err != nil {
		bad("shape", err.Error(), "")
	}
}

func (c *checker) initializers(g *pb.GraphProto, s *checkScope) {
	seen := map[string]bool{}
	add := func(t *pb.TensorProto, kind uint8, i int) {
		name := t.GetName()
		where := s.in(fmt.Sprintf("initializer %s", model.Quote(name)))
		switch {
		case name == "":
			c.at(s.in(fmt.Sprintf("initializer %d", i)), "").add("name", "", "a name", "has an empty name")
			return
		case seen[name]:
			c.at(where, "").add("not-ssa", name, "each initializer once", "is listed twice")
			return
		}
		seen[name] = true
		typ := vtype{kind, t.GetDataType()}
		// An initializer may give an input its default value: not a second definition.
		if in := s.vals[name]; in != nil {
			if in.typ.known() && in.typ != typ {
				c.at(where, "").add("type", name, "the same type", "has type %s, the input of that name %s", typ,
					in.typ)
			}
			return
		}
		s.define(name, &val{typ: typ, by: where}, where, "")
	}
	for i, t := range g.Initializer {
		add(t, kTensor, i)
		c.tensor(t, s.in(fmt.Sprintf("initializer %s", model.Quote(t.GetName()))), "")
	}
	for i, t := range g.SparseInitializer {
		add(t.GetValues(), kTensor, i)
		c.sparse(t, s.in(fmt.Sprintf("sparse initializer %s", model.Quote(t.GetValues().GetName()))), "")
	}
}

func (c *checker) tensor(t *pb.TensorProto, where, node string) {
	if err := c.m.CheckTensor(t); err != nil {
		c.at(where, node).add("tensor", t.GetName(), "", "%s", err.Error())
	}
}

// sparse checks a sparse constant's parts: one index for every value, in range,
// ascending, each once (SparseTensorProto in the ONNX specification). Constants
// of no values need no indices.
func (c *checker) sparse(t *pb.SparseTensorProto, where, node string) {
	before := len(c.out)
	for i, part := range []*pb.TensorProto{t.Values, t.Indices} {
		if part != nil {
			c.tensor(part, where+[]string{" (values)", " (indices)"}[i], node)
		}
	}
	if len(c.out) > before {
		return
	}
	if _, found, want := model.Places(t, c.m.Dir, c.lim); found != "" {
		c.at(where, node).add("tensor", t.GetValues().GetName(), want, "%s", found)
	}
}

func declaredTypes(g *pb.GraphProto) map[string]vtype {
	m := map[string]vtype{}
	for _, list := range [][]*pb.ValueInfoProto{g.ValueInfo, g.Output} {
		for _, v := range list {
			if t := typeOf(v.GetType()); t.known() {
				m[v.GetName()] = t
			}
		}
	}
	return m
}

func (c *checker) outputs(g *pb.GraphProto, s *checkScope, main bool) {
	if main && len(g.Output) == 0 {
		c.at(s.label, "").add("no-outputs", "", "at least one output", "has no outputs")
	}
	seen := map[string]bool{}
	for i, o := range g.Output {
		name := o.GetName()
		where := s.in(fmt.Sprintf("output %s", model.Quote(name)))
		if name == "" {
			c.at(s.in(fmt.Sprintf("output %d", i)), "").add("name", "", "a name", "has an empty name")
			continue
		}
		if seen[name] && !main { // which is a place of the node's
			continue
		}
		if seen[name] {
			c.at(where, "").warn("output-twice", name, "each output once", "is listed twice among the outputs")
			continue
		}
		seen[name] = true
		c.valueType(o, where, false)
		v := s.vals[name]
		if v == nil && !main {
			v = s.up.find(name) // a branch may hand on an outer value
		}
		if v == nil {
			c.at(where, "").add("output-missing", name, "a producer",
				"no node makes it and it is no input or initializer")
		} else if t := typeOf(o.GetType()); t.known() && v.typ.known() && t != v.typ {
			c.at(where, "").add("type", name, "the same type", "is declared as %s; %s makes it %s", t, v.by, v.typ)
		}
	}
}
