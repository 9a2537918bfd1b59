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
			at.add("name", "", fmt.Sprintf("the name %s is not valid UTF-8", model.Quote(text)), "")
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
				at.add("type", name, fmt.Sprintf("output %s is declared as %s but is %s", model.Quote(name), d, t),
					"the same type")
			}
			if !t.known() {
				t = d
			}
		}
		s.define(name, &val{typ: t, by: label}, at.where, at.node)
	}
}

type place struct {
	c           *checker
	where, node string
}

func (p *place) add(code, tensor, found, want string) {
	p.c.add(diag.Diag{Code: code, Node: p.where, Name: p.node, Tensor: tensor, Msg: found, Want: want})
}

func (p *place) warn(code, found, want string) {
	p.c.add(diag.Diag{Severity: diag.Warning, Code: code, Node: p.where, Name: p.node, Msg: found, Want: want})
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
				at.add("order", name, fmt.Sprintf("reads %s before %s makes it", model.Quote(name), by),
					"nodes in topological order, without cycles")
				name = ""
				break
			}
		}
		if name != "" {
			at.add("input-missing", name, fmt.Sprintf("input %d is %s, which no node makes and which is no graph "+
				"input or initializer", k, model.Quote(name)), "a value that exists")
		}
	}
	return in
}

const ownDomain = "nncc"

// operator finds what a node calls: a function of the model or a schema; neither
// where nothing is known, which is then reported.
func (c *checker) operator(n *pb.NodeProto, s *checkScope, at *place) (*function, *schema.Schema) {
	op, domain := n.GetOpType(), schema.Domain(n.GetDomain())
	if op == "" {
		at.add("no-op", "", "has no operator (op_type is empty)", "the name of an operator")
		return nil, nil
	}
	if fn := c.funcs[model.CallID(n)]; fn != nil {
		return fn, nil
	}
	version, imported := s.opsets[domain]
	if newest := int64(schema.MaxOpset(domain)); !imported && domain != "" && newest > 0 { // runtimes take them
		if version, imported = newest, true; !c.unknown[domain] {
			c.unknown[domain] = true
			at.warn("domain", fmt.Sprintf("uses the domain %s, of which no opset is imported; it is read as opset %d",
				model.Quote(schema.DisplayDomain(domain)), version), "")
		}
	}
	if !imported {
		at.add("domain", "", fmt.Sprintf("uses the domain %s, of which no opset is imported",
			model.Quote(schema.DisplayDomain(domain))), "an opset_import for the domain")
		return nil, nil
	}
	newest := int64(schema.MaxOpset(domain))
	if newest == 0 || !schema.Closed(domain) && len(schema.Versions(domain, op)) == 0 {
		key := domain + "\x00" + op
		if domain != ownDomain && !c.unknown[key] {
			c.unknown[key] = true
			at.warn("custom-op", fmt.Sprintf("operator %s of domain %s has no definition here; its use is not checked",
				model.Plain(op), model.Quote(domain)), "")
		}
		return nil, nil
	}
	if version < 1 {
		return nil, nil // reported with the imports
	}
	if version > newest && schema.Closed(domain) {
		version = newest // reported as well
	}
	f := schema.Lookup(domain, op, version)
	if f == nil && domain == "" {
		if f = schema.Early(op, version); f != nil {
			if key := domain + "\x00" + op; !c.unknown[key] {
				c.unknown[key] = true
				at.warn("op", fmt.Sprintf("opset %d of ai.onnx has no operator %s; it is read as ONNX Runtime reads it",
					version, model.Plain(op)), "")
			}
			return nil, f
		}
	}
	if f == nil {
		found := fmt.Sprintf("there is no operator %s in %s", model.Plain(op), schema.DisplayDomain(domain))
		want := "an operator that ONNX defines, or a function of the model"
		if v := schema.Versions(domain, op); len(v) > 0 {
			found = fmt.Sprintf("operator %s came with opset %d of %s; the model imports opset %d", op, v[0].Since,
				schema.DisplayDomain(domain), version)
			want = fmt.Sprintf("opset %d or newer", v[0].Since)
		} else if near := schema.Near(domain, op); near != "" {
			want = fmt.Sprintf("an operator that ONNX defines; perhaps %s", near)
		}
		at.add("op", "", found, want)
		return nil, nil
	}
	if f.Deprecated && f == schema.Versions(domain, op)[0] {
		// Defined and deprecated at once, with a successor of the same name.
		at.warn("op", fmt.Sprintf("operator %s-%d is deprecated", op, f.Since), "the newer form of the operator")
		return nil, nil
	}
	if f.Deprecated {
		at.add("op", "", fmt.Sprintf("operator %s was removed in opset %d of %s", op, f.Since,
			schema.DisplayDomain(domain)), "its successor, or an older opset")
		return nil, nil
	}
	return nil, f
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
			at.add("arity", "", fmt.Sprintf("has %d %ss", have, what), fmt.Sprintf("%s for %s-%d", limit, sch.Name,
				sch.Since))
		}
		for k, name := range names {
			if p := param(k); name == "" && k < least && p != nil && p.Opt == schema.Single {
				at.add("arity", "", fmt.Sprintf("%s %d (%s) is left out (its name is empty)", what, k, p.Name),
					fmt.Sprintf("a value: %s-%d requires it", sch.Name, sch.Since))
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
			at.add("type", n.Input[k], fmt.Sprintf("input %d (%s) is %s of type %s", k, p.Name, model.Quote(n.Input[k]),
				v.typ), fmt.Sprintf("%s for %s-%d", set, sch.Name, sch.Since))
			continue
		}
		if variable == "" || p.Opt == schema.Mixed {
			continue
		}
		if old, ok := bound[variable]; !ok {
			bound[variable], by[variable] = v.typ, k
		} else if old != v.typ {
			at.add("type", n.Input[k], fmt.Sprintf("input %d (%s) has type %s, input %d has type %s", k, p.Name, v.typ,
				by[variable], old), "the same type for both")
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
