// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/onnx/schema"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/lists"
)

// attributes checks a node's attributes by themselves and against the operator or
// function; subgraphs among them are checked within s.
func (c *checker) attributes(n *pb.NodeProto, sch *schema.Schema, fn *function, s *checkScope, at *place, depth int) {
	seen := map[string]bool{}
	for _, a := range n.Attribute {
		name := a.GetName()
		if name == "" {
			at.add("attribute", "", "a name", "has an attribute without a name")
			continue
		}
		if seen[name] {
			at.add("attribute", "", "each attribute once", "attribute %s appears twice", model.Quote(name))
			continue
		}
		seen[name] = true
		typ := c.attrType(a, s, at)
		switch {
		case sch != nil:
			c.attrSchema(a, typ, sch, at)
		case fn != nil:
			if !fn.attrs[name] {
				at.add("attribute", "", fn.wantAttrs(), "attribute %s is unknown to %s", model.Quote(name), fn.label)
			}
		}
		c.attrValue(a, s, at, depth)
	}
	if sch != nil {
		for i := range sch.Attrs {
			if d := &sch.Attrs[i]; d.Required && !seen[d.Name] {
				at.add("attribute", "", fmt.Sprintf("an attribute of type %s: %s-%d requires it", d.Type, sch.Name,
					sch.Since), "lacks the attribute %q", d.Name)
			}
		}
	}
	if fn != nil {
		for _, name := range fn.proto.Attribute {
			if !seen[name] {
				at.warn("attribute", "", "a value: "+fn.label+" has no default for it", "lacks the attribute %s",
					model.Quote(name))
			}
		}
	}
}

// attrType finds the type of an attribute from the fields that are filled and
// checks that it is the type that the attribute states.
func (c *checker) attrType(a *pb.AttributeProto, s *checkScope, at *place) schema.AttrType {
	name, stated := model.Quote(a.GetName()), schema.AttrType(a.GetType())
	filled := model.Filled(a)
	if a.GetRefAttrName() != "" {
		c.attrRef(a, len(filled) > 0, s, at)
		return stated
	}
	if int(stated) > int(schema.TypeProtos) {
		at.add("attribute", "", "a type that ONNX defines", "attribute %s has the unknown type %d", name, stated)
		return 0
	}
	if len(filled) > 1 {
		at.add("attribute", "", "exactly one value", "attribute %s has values of type %s and %s", name, filled[0],
			filled[1])
		return stated
	}
	switch {
	case stated == 0 && len(filled) == 1:
		// The type field came with IR version 2.
		if c.ir >= 2 {
			at.warn("attribute", "", filled[0].String(), "attribute %s does not state its type", name)
		}
		return filled[0]
	case stated == 0:
		at.add("attribute", "", "a value", "attribute %s has neither type nor value", name)
	case len(filled) == 0 && !isList(stated):
		// Writers with proto3 rules leave out zeros and empty text.
		if stated != schema.Float && stated != schema.Int && stated != schema.String {
			at.add("attribute", "", "a value", "attribute %s states type %s and has no value", name, stated)
		}
	case len(filled) == 1 && filled[0] != stated:
		at.add("attribute", "", "the same type", "attribute %s states type %s and has a value of type %s", name, stated,
			filled[0])
	}
	return stated
}

// attrRef checks an attribute that refers to one of the function around.
func (c *checker) attrRef(a *pb.AttributeProto, filled bool, s *checkScope, at *place) {
	name, ref := model.Quote(a.GetName()), a.GetRefAttrName()
	switch {
	case s.fn == nil:
		at.add("attribute", "", "a value", "attribute %s refers to %s of a function, outside of any function", name,
			model.Quote(ref))
	case !s.fn.attrs[ref]:
		at.add("attribute", "", s.fn.wantAttrs(), "attribute %s refers to %s, which %s does not have", name,
			model.Quote(ref), s.fn.label)
	case filled:
		at.add("attribute", "", "one of them", "attribute %s has a value and refers to %s", name, model.Quote(ref))
	}
}

func isList(t schema.AttrType) bool {
	return t >= schema.Floats && t <= schema.Graphs || t == schema.SparseTensors || t == schema.TypeProtos
}

func (c *checker) attrSchema(a *pb.AttributeProto, typ schema.AttrType, sch *schema.Schema, at *place) {
	d := sch.Attr(a.GetName())
	switch {
	case d == nil:
		names := lists.Map(sch.Attrs, func(a schema.Attr) string { return a.Name })
		want := "no attributes"
		if len(names) > 0 {
			want = "one of " + strings.Join(names, ", ")
		}
		f := diag.Diag{Code: "attribute", Node: at.where, Name: at.node,
			Msg:  fmt.Sprintf("attribute %s is unknown to %s-%d", model.Quote(a.GetName()), sch.Name, sch.Since),
			Want: want}
		if !schema.Closed(sch.Domain) || schema.IsEarly(sch) {
			f.Severity = diag.Warning // ONNX Runtime passes over them; such domains change without new versions
		}
		c.add(f)
	case typ != 0 && typ != d.Type:
		at.add("attribute", "", fmt.Sprintf("%s for %s-%d", d.Type, sch.Name, sch.Since), "attribute %s has type %s",
			model.Quote(a.GetName()), typ)
	}
}

func (c *checker) attrValue(a *pb.AttributeProto, s *checkScope, at *place, depth int) {
	what := fmt.Sprintf("%s, attribute %s", at.where, model.Quote(a.GetName()))
	for _, t := range append(a.Tensors[:len(a.Tensors):len(a.Tensors)], a.T) {
		if t != nil {
			c.tensor(t, what, at.node)
		}
	}
	for _, t := range append(a.SparseTensors[:len(a.SparseTensors):len(a.SparseTensors)], a.SparseTensor) {
		if t != nil {
			c.sparse(t, what, at.node)
		}
	}
	if !utf8.ValidString(a.GetName()) {
		at.add("name", "", "", "the attribute's name %s is not valid UTF-8", model.Quote(a.GetName()))
	}
	for _, g := range model.Subgraphs(a) {
		if depth+1 > c.lim.Depth {
			at.add("depth", "", "less nesting; "+model.Raise("depth"), "subgraphs are nested more than %d deep",
				c.lim.Depth)
			return
		}
		sub := &checkScope{c: c, up: s, label: fmt.Sprintf("%s of %s", model.Plain(a.GetName()), shortPlace(at)),
			vals: map[string]*val{}, opsets: s.opsets, fn: s.fn}
		c.graph(g, sub, depth+1)
	}
}

// shortPlace names a node without the chain of graphs around it: in deep nests
// the chain would grow with each level.
func shortPlace(at *place) string {
	if i := strings.Index(at.where, " in "); i > 0 {
		return at.where[:i]
	}
	return at.where
}
