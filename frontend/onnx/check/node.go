// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"unicode/utf8"

	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/onnx/schema"
	"github.com/nncc/nncc/ir/diag"
)

func (c *checker) node(n *pb.NodeProto, i int, s *checkScope, declared map[string]vtype, depth int) {
	label := nodeLabel(n, i)
	at := &place{c: c, where: s.in(label), node: n.GetName()}
	if at.node == "" && len(n.Output) > 0 {
		at.node = n.Output[0]
	}
	for _, text := range []string{n.GetName(), n.GetOpType(), n.GetDomain()} {
		if !utf8.ValidString(text) {
			at.add("name", "", "", "the name %s is not valid UTF-8", model.Quote(text))
		}
	}
	in := c.operands(n, s, at)
	fn, sch := c.operator(n, s, at)
	types := map[string]vtype{}
	switch {
	case fn != nil:
		c.callArity(n, fn, at)
	case sch != nil:
		c.arity(n, sch, at)
		types = c.inTypes(n, sch, in, at)
	}
	c.attributes(n, sch, fn, s, at, depth)

	for k, name := range n.Output {
		if name == "" {
			continue
		}
		t := vtype{}
		if sch != nil {
			if p := sch.Output(k); p != nil {
				t = outType(sch, p, types)
			}
		}
		if !t.known() {
			t = inferElem(n)
		}
		if d := declared[name]; d.known() {
			if t.known() && t != d && t.kind == kTensor {
				at.add("type", name, "the same type", "output %s is declared as %s but is %s", model.Quote(name), d, t)
			}
			if !t.known() {
				t = d
			}
		}
		s.define(name, &val{typ: t, by: label}, at.where, at.node)
	}
}

// place is where findings belong: how messages call it, and the name of the node, if it is one.
type place struct {
	c           *checker
	where, node string
}

func (c *checker) at(where, node string) *place { return &place{c, where, node} }

// add adds an error, of a tensor where one has a name, with what is wanted and what was found; warn adds a warning.
func (p *place) add(code, tensor, want, format string, args ...any) {
	p.c.add(diag.Diag{Code: code, Node: p.where, Name: p.node, Tensor: tensor, Msg: fmt.Sprintf(format, args...),
		Want: want})
}

func (p *place) warn(code, tensor, want, format string, args ...any) {
	p.c.add(diag.Diag{Severity: diag.Warning, Code: code, Node: p.where, Name: p.node, Tensor: tensor,
		Msg: fmt.Sprintf(format, args...), Want: want})
}

func (c *checker) operands(n *pb.NodeProto, s *checkScope, at *place) []*val {
	in := make([]*val, len(n.Input))
	for k, name := range n.Input {
		if name == "" {
			continue
		}
		if in[k] = s.find(name); in[k] != nil {
			continue
		}
		for o := s; o != nil; o = o.up {
			if by := o.later[name]; by != "" {
				at.add("order", name, "nodes in topological order, without cycles", "reads %s before %s makes it",
					model.Quote(name), by)
				name = ""
				break
			}
		}
		if name != "" {
			at.add("input-missing", name, "a value that exists", "input %d is %s, which no node makes and which is no "+
				"graph input or initializer", k, model.Quote(name))
		}
	}
	return in
}

const ownDomain = "nncc"

// operator finds what a node calls: a function of the model or a schema; neither
// where nothing is known, which is then reported.
func (c *checker) operator(n *pb.NodeProto, s *checkScope, at *place) (*function, *schema.Schema) {
	op, domain := n.GetOpType(), schema.Home(n.GetDomain(), n.GetOpType(), s.opsets[""])
	if op == "" {
		at.add("no-op", "", "the name of an operator", "has no operator (op_type is empty)")
		return nil, nil
	}
	if fn := c.funcs[model.CallID(n)]; fn != nil {
		return fn, nil
	}
	version, ok := c.version(n, s, at)
	if !ok {
		return nil, nil
	}
	f := schema.Lookup(domain, op, version)
	if f == nil && domain == "" {
		if f = schema.Early(op, version); f != nil {
			if c.first(domain, op) {
				at.warn("op", "", "", "opset %d of ai.onnx has no operator %s; it is read as ONNX Runtime reads it",
					version,
					model.Plain(op))
			}
			return nil, f
		}
	}
	switch {
	case f == nil:
		unknownOp(domain, op, version, at)
	case f.Deprecated && f == schema.Versions(domain, op)[0]:
		// Defined and deprecated at once, with a successor of the same name.
		at.warn("op", "", "the newer form of the operator", "operator %s-%d is deprecated", op, f.Since)
	case f.Deprecated:
		at.add("op", "", "its successor, or an older opset", "operator %s was removed in opset %d of %s", op, f.Since,
			schema.DisplayDomain(domain))
	default:
		return nil, f
	}
	return nil, nil
}

// first reports an operator, or a domain, of which nothing was said yet.
func (c *checker) first(domain, op string) bool {
	key := domain + "\x00" + op
	said := c.unknown[key]
	c.unknown[key] = true
	return !said
}

// version is the opset of a node's domain; false where its operators are not known, as is then reported.
func (c *checker) version(n *pb.NodeProto, s *checkScope, at *place) (version int64, known bool) {
	op, domain := n.GetOpType(), schema.Home(n.GetDomain(), n.GetOpType(), s.opsets[""])
	version, imported := s.opsets[domain]
	newest, closed := int64(schema.MaxOpset(domain)), schema.Closed(domain)
	switch {
	case imported:
	case domain != "": // runtimes take them
		if version = max(newest, 1); c.first(domain, "") {
			at.warn("domain", "", "", "uses the domain %s, of which no opset is imported; it is read as opset %d",
				model.Quote(schema.DisplayDomain(domain)), version)
		}
	default:
		at.add("domain", "", "an opset_import for the domain", "uses the domain %s, of which no opset is imported",
			model.Quote(schema.DisplayDomain(domain)))
		return 0, false
	}
	if newest == 0 || !closed && len(schema.Versions(domain, op)) == 0 {
		if domain != ownDomain && c.first(domain, op) {
			at.warn("custom-op", "", "", "operator %s of domain %s has no definition here; its use is not checked",
				model.Plain(op), model.Quote(domain))
		}
		return 0, false
	}
	if closed { // what is beyond is reported with the imports
		version = min(version, newest)
	}
	return version, version >= 1
}

// unknownOp reports an operator that an opset does not have.
func unknownOp(domain, op string, version int64, at *place) {
	want := "an operator that ONNX defines, or its definition as an ONNX function, in the model or in a file given " +
		"with --functions"
	if v := schema.Versions(domain, op); len(v) > 0 {
		at.add("op", "", fmt.Sprintf("opset %d or newer", v[0].Since),
			"operator %s came with opset %d of %s; the model "+
				"imports opset %d", op, v[0].Since, schema.DisplayDomain(domain), version)
		return
	}
	if near := schema.Near(domain, op); near != "" {
		want = fmt.Sprintf("an operator that ONNX defines; perhaps %s", near)
	}
	at.add("op", "", want, "there is no operator %s in %s", model.Plain(op), schema.DisplayDomain(domain))
}

func (c *checker) arity(n *pb.NodeProto, sch *schema.Schema, at *place) {
	side := func(what string, names []string, least, most int, param func(int) *schema.Param) {
		have := len(names)
		limit := fmt.Sprintf("%d to %d", least, most)
		switch {
		case most == schema.Unlimited:
			limit = fmt.Sprintf("at least %d", least)
		case least == most:
			limit = fmt.Sprint(least)
		}
		if have < least || have > most {
			at.add("arity", "", fmt.Sprintf("%s for %s-%d", limit, sch.Name, sch.Since), "has %d %ss", have, what)
		}
		for k, name := range names {
			if p := param(k); name == "" && k < least && p != nil && p.Opt == schema.Single {
				at.add("arity", "", fmt.Sprintf("a value: %s-%d requires it", sch.Name, sch.Since),
					"%s %d (%s) is left out (its name is empty)", what, k, p.Name)
			}
		}
	}
	side("input", n.Input, sch.MinIn, sch.MaxIn(), sch.Input)
	side("output", n.Output, sch.MinOut, sch.MaxOut(), sch.Output)
}

func (c *checker) inTypes(n *pb.NodeProto, sch *schema.Schema, in []*val, at *place) map[string]vtype {
	bound := map[string]vtype{}
	by := map[string]int{}
	for k, v := range in {
		p := sch.Input(k)
		if v == nil || p == nil || !v.typ.known() {
			continue
		}
		set, variable := sch.Allowed(p)
		if !allows(set, v.typ) {
			at.add("type", n.Input[k], fmt.Sprintf("%s for %s-%d", set, sch.Name, sch.Since),
				"input %d (%s) is %s of type %s", k, p.Name, model.Quote(n.Input[k]), v.typ)
			continue
		}
		if variable == "" || p.Opt == schema.Mixed {
			continue
		}
		if old, ok := bound[variable]; !ok {
			bound[variable], by[variable] = v.typ, k
		} else if old != v.typ {
			at.add("type", n.Input[k], "the same type for both", "input %d (%s) has type %s, input %d has type %s", k,
				p.Name, v.typ, by[variable], old)
		}
	}
	return bound
}

// outType is the type of an output as far as the schema and the inputs fix it.
func outType(sch *schema.Schema, p *schema.Param, bound map[string]vtype) vtype {
	set, variable := sch.Allowed(p)
	if variable != "" && p.Opt != schema.Mixed {
		if t, ok := bound[variable]; ok {
			return t
		}
	}
	return only(set)
}
