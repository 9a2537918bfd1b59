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
)

// attributes checks a node's attributes by themselves and against the operator or
// function; subgraphs among them are checked within s.
func (c *checker) attributes(n *pb.NodeProto, sch *schema.Schema, fn *function, s *checkScope, at *place, depth int) {
	seen := map[string]bool{}
	for _, a := range n.Attribute {
		name := a.GetName()
		if name == "" {
			at.add("attribute", "", "has an attribute without a name", "a name")
			continue
		}
		if seen[name] {
			at.add("attribute", "", fmt.Sprintf("attribute %s appears twice", model.Quote(name)), "each attribute once")
			continue
		}
		seen[name] = true
		typ := c.attrType(a, s, at)
		switch {
		case sch != nil:
			c.attrSchema(a, typ, sch, at)
		case fn != nil:
			if !fn.attrs[name] {
				at.add("attribute", "", fmt.Sprintf("attribute %s is unknown to %s", model.Quote(name), fn.label),
					fn.wantAttrs())
			}
		}
		c.attrValue(a, s, at, depth)
	}
	if sch != nil {
		for i := range sch.Attrs {
			if d := &sch.Attrs[i]; d.Required && !seen[d.Name] {
				at.add("attribute", "", fmt.Sprintf("lacks the attribute %q", d.Name),
					fmt.Sprintf("an attribute of type %s: %s-%d requires it", d.Type, sch.Name, sch.Since))
			}
		}
	}
	if fn != nil {
		for _, name := range fn.proto.Attribute {
			if !seen[name] {
				at.warn("attribute", fmt.Sprintf("lacks the attribute %s", model.Quote(name)),
					"a value: "+fn.label+" has no default for it")
			}
		}
	}
}

// attrType finds the type of an attribute from the fields that are filled and
// checks that it is the type that the attribute states.
func (c *checker) attrType(a *pb.AttributeProto, s *checkScope, at *place) schema.AttrType {
	name, stated := model.Quote(a.GetName()), schema.AttrType(a.GetType())
	var filled []schema.AttrType
	for _, f := range []struct {
		set bool
		typ schema.AttrType
	}{
		{a.F != nil, schema.Float}, {a.I != nil, schema.Int}, {a.S != nil, schema.String}, {a.T != nil, schema.Tensor},
		{a.G != nil, schema.Graph},
		{a.SparseTensor != nil, schema.SparseTensor}, {a.Tp != nil, schema.TypeProto},
		{len(a.Floats) > 0, schema.Floats}, {len(a.Ints) > 0, schema.Ints}, {len(a.Strings) > 0, schema.Strings},
		{len(a.Tensors) > 0, schema.Tensors},
		{len(a.Graphs) > 0, schema.Graphs}, {len(a.SparseTensors) > 0, schema.SparseTensors},
		{len(a.TypeProtos) > 0, schema.TypeProtos},
	} {
		if f.set {
			filled = append(filled, f.typ)
		}
	}
	if ref := a.GetRefAttrName(); ref != "" {
		switch {
		case s.fn == nil:
			at.add("attribute", "", fmt.Sprintf("attribute %s refers to %s of a function, outside of any function",
				name, model.Quote(ref)), "a value")
		case !s.fn.attrs[ref]:
			at.add("attribute", "", fmt.Sprintf("attribute %s refers to %s, which %s does not have", name,
				model.Quote(ref), s.fn.label), s.fn.wantAttrs())
		case len(filled) > 0:
			at.add("attribute", "", fmt.Sprintf("attribute %s has a value and refers to %s", name, model.Quote(ref)),
				"one of them")
		}
		return stated
	}
	if int(stated) > int(schema.TypeProtos) {
		at.add("attribute", "", fmt.Sprintf("attribute %s has the unknown type %d", name, stated),
			"a type that ONNX defines")
		return 0
	}
	if len(filled) > 1 {
		at.add("attribute", "", fmt.Sprintf("attribute %s has values of type %s and %s", name, filled[0], filled[1]),
			"exactly one value")
		return stated
	}
	switch {
	case stated == 0 && len(filled) == 1:
		// The type field came with IR version 2.
		if c.ir >= 2 {
			at.warn("attribute", fmt.Sprintf("attribute %s does not state its type", name), filled[0].String())
		}
		return filled[0]
	case stated == 0:
		at.add("attribute", "", fmt.Sprintf("attribute %s has neither type nor value", name), "a value")
	case len(filled) == 0 && !isList(stated):
		// Writers with proto3 rules leave out zeros and empty text.
		if stated != schema.Float && stated != schema.Int && stated != schema.String {
			at.add("attribute", "", fmt.Sprintf("attribute %s states type %s and has no value", name, stated),
				"a value")
		}
	case len(filled) == 1 && filled[0] != stated:
		at.add("attribute", "", fmt.Sprintf("attribute %s states type %s and has a value of type %s", name, stated,
			filled[0]), "the same type")
	}
	return stated
}

func isList(t schema.AttrType) bool {
	switch t {
	case schema.Floats, schema.Ints, schema.Strings, schema.Tensors, schema.Graphs, schema.SparseTensors,
		schema.TypeProtos:
		return true
	}
	return false
}

func (c *checker) attrSchema(a *pb.AttributeProto, typ schema.AttrType, sch *schema.Schema, at *place) {
	d := sch.Attr(a.GetName())
	switch {
	case d == nil:
		var names []string
		for i := range sch.Attrs {
			names = append(names, sch.Attrs[i].Name)
		}
		want := "no attributes"
		if len(names) > 0 {
			want = "one of " + strings.Join(names, ", ")
		}
		f := diag.Diag{Code: "attribute", Node: at.where, Name: at.node,
			Msg:  fmt.Sprintf("attribute %s is unknown to %s-%d", model.Quote(a.GetName()), sch.Name, sch.Since),
			Want: want}
		if !schema.Closed(sch.Domain) {
			f.Severity = diag.Warning // such domains change without new versions
		}
		c.add(f)
	case typ != 0 && typ != d.Type:
		at.add("attribute", "", fmt.Sprintf("attribute %s has type %s", model.Quote(a.GetName()), typ),
			fmt.Sprintf("%s for %s-%d", d.Type, sch.Name, sch.Since))
	}
}

func (c *checker) attrValue(a *pb.AttributeProto, s *checkScope, at *place, depth int) {
	what := fmt.Sprintf("%s, attribute %s", at.where, model.Quote(a.GetName()))
	if a.T != nil {
		c.tensor(a.T, what, at.node)
	}
	for _, t := range a.Tensors {
		c.tensor(t, what, at.node)
	}
	if a.SparseTensor != nil {
		c.sparse(a.SparseTensor, what, at.node)
	}
	for _, t := range a.SparseTensors {
		c.sparse(t, what, at.node)
	}
	if !utf8.ValidString(a.GetName()) {
		at.add("name", "", fmt.Sprintf("the attribute's name %s is not valid UTF-8", model.Quote(a.GetName())), "")
	}
	for _, g := range model.Subgraphs(a) {
		if depth+1 > c.lim.Depth {
			at.add("depth", "", fmt.Sprintf("subgraphs are nested more than %d deep", c.lim.Depth),
				"less nesting; "+model.Raise("depth"))
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
