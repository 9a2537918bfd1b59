// SPDX-License-Identifier: Apache-2.0

package ir

import (
	"maps"
	"strconv"
	"strings"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/syntax"
	"github.com/nncc/nncc/ir/tensor"
)

// maxDepth bounds the nesting of bodies in the text form.
const maxDepth = 16

// Parse reads the text form that Graph.String writes. Operators come from
// lookup (nil for an unknown one). A node's output types may be left out; they
// are then inferred. Types that are given are taken as they are: Parse
// checks the form of the text, Graph.Verify its meaning. Errors are
// *syntax.Error. No text makes Parse panic, and memory stays proportional to
// the text (up to 16 MB beyond it for splat and rand).
func Parse(src string, lookup func(domain, name string) *OpDef) (g *Graph, err error) {
	defer fail.Catch(&err)
	p := &parser{Parser: syntax.NewParser(src), lookup: lookup}
	fail.Check(p.Run("graph", func() {
		p.Word("graph")
		g = p.graph(0)
	}))
	return g, nil
}

type parser struct {
	*syntax.Parser
	lookup func(domain, name string) *OpDef
}

// graph parses what follows the keyword graph or body.
func (p *parser) graph(depth int) *Graph {
	p.Refuse(depth > maxDepth, "bodies are nested more than %d deep", maxDepth)
	g := New(p.Take(syntax.String, "the graph's name as a string"))
	vals := map[string]*Value{}
	p.Want("{")
	for !p.Is("}") {
		switch {
		case p.Tok.Kind == syntax.Value:
			p.node(g, vals, depth)
		case p.IsWord("in"):
			p.Advance()
			v := p.define(g, vals)
			p.Want(":")
			v.Type = p.Type()
			g.In = append(g.In, v)
		case p.IsWord("const"):
			p.Advance()
			v := p.define(g, vals)
			p.Want(":")
			v.Type = p.Type()
			p.Want("=")
			v.Const = p.Data(v.Type.DType, v.Type.Shape)
		case p.IsWord("out"):
			p.Advance()
			name := p.Take(syntax.String, "the output's name as a string")
			p.Want("=")
			g.AddOutput(name, p.use(vals))
		default:
			p.Failf("found %s, want in, const, out, a node or }", p.Tok)
		}
	}
	p.Advance()
	return g
}

// define makes the value that the present Token names.
func (p *parser) define(g *Graph, vals map[string]*Value) *Value {
	pos := p.Tok.Pos
	name := p.Take(syntax.Value, "a value such as %x")
	p.RefuseAt(vals[name] != nil, pos, "%%%s is defined twice", name)
	v := &Value{ID: g.id(), Name: name}
	g.names[name] = true
	vals[name] = v
	return v
}

func (p *parser) use(vals map[string]*Value) *Value {
	pos := p.Tok.Pos
	name := p.Take(syntax.Value, "a value such as %x")
	v := vals[name]
	p.RefuseAt(v == nil, pos, "%%%s is not defined before this line", name)
	return v
}

func (p *parser) node(g *Graph, vals map[string]*Value, depth int) {
	start := p.Tok.Pos
	n := &Node{ID: g.id(), Attrs: Attrs{}}
	infer := false
	outs := map[string]*Value{} // visible only after the node
	for more := true; more; more = p.Accept(",") {
		p.Refuse(vals[p.Tok.Text] != nil && p.Tok.Kind == syntax.Value, "%s is defined twice", p.Tok)
		v := p.define(g, outs)
		v.Def, v.Index = n, len(n.Out)
		if p.Accept(":") {
			v.Type = p.Type()
		} else {
			infer = true
		}
		n.Out = append(n.Out, v)
	}
	n.Name = n.Out[0].Name
	p.Want("=")
	p.op(n)
	p.Want("(")
	p.List(")", func() {
		if p.Accept("-") {
			n.In = append(n.In, nil)
		} else {
			v := p.use(vals)
			v.uses = append(v.uses, Use{n, len(n.In)})
			n.In = append(n.In, v)
		}
	})
	n.dropAbsent()
	if p.Accept("{") {
		p.attrs(n)
	}
	for _, x := range []struct {
		word string
		to   *string
	}{{"name", &n.Name}, {"series", &n.Series}, {"chain", &n.Chain}} {
		if p.IsWord(x.word) {
			p.Advance()
			*x.to = p.Take(syntax.String, "the "+x.word+" of the node as a string")
		}
	}
	if p.IsWord("from") {
		p.Advance()
		for more := true; more; more = p.Accept(",") {
			n.Origin = append(n.Origin, p.Take(syntax.String, "an ONNX node's name as a string"))
		}
	}
	for p.IsWord("body") {
		p.Advance()
		n.Body = append(n.Body, p.graph(depth+1))
	}
	if infer {
		p.infer(n, start)
	}
	maps.Copy(vals, outs)
	g.Nodes = append(g.Nodes, n)
}

// op reads the operator: everything up to the last dot is the domain.
func (p *parser) op(n *Node) {
	pos := p.Tok.Pos
	name, domain := p.Take(syntax.Ident, "an operator"), ""
	if k := strings.LastIndexByte(name, '.'); k >= 0 {
		domain, name = name[:k], name[k+1:]
	}
	if n.Op = p.lookup(domain, name); n.Op == nil {
		if domain != "" {
			name = domain + "." + name
		}
		p.FailAt(pos, "no operator %s", name)
	}
}

// infer fills the output types that the text leaves out.
func (p *parser) infer(n *Node, pos int) {
	types, err := func() (t []Type, err error) {
		defer func() {
			if r := recover(); r != nil {
				err = bug.Errorf("inferring the types of %s: %v", n, r)
			}
		}()
		return InferNode(n)
	}()
	p.RefuseAt(err != nil, pos, "%v", err)
	for i, v := range n.Out {
		if v.Type.DType == tensor.Invalid {
			v.Type = types[i]
		}
	}
}

func (p *parser) attrs(n *Node) {
	p.List("}", func() {
		pos, name := p.Tok.Pos, p.Tok.Text
		p.Refuse(p.Tok.Kind != syntax.Ident && p.Tok.Kind != syntax.String, "found %s, want an attribute's name", p.Tok)
		p.Advance()
		_, twice := n.Attrs[name]
		p.RefuseAt(twice, pos, "attribute %s is given twice", name)
		p.Want("=")
		n.Attrs[name] = p.attr()
	})
}

// attr reads one attribute value; numbers with a point, an exponent, inf or
// nan are floats.
func (p *parser) attr() Attr {
	switch t := p.Tok; {
	case t.Kind == syntax.String:
		p.Advance()
		return Attr{Kind: AttrString, String: t.Text}
	case p.Is("["):
		return p.attrList()
	case p.IsWord("ints"), p.IsWord("floats"), p.IsWord("strings"):
		p.Advance()
		p.Want("[")
		p.Want("]")
		switch t.Text {
		case "ints":
			return Attr{Kind: AttrInts, Ints: []int64{}}
		case "floats":
			return Attr{Kind: AttrFloats, Floats: []float32{}}
		}
		return Attr{Kind: AttrStrings, Strings: []string{}}
	case p.IsWord("none"):
		p.Advance()
		return Attr{Kind: AttrTensor}
	case t.Kind == syntax.Number && syntax.IsInteger(t.Text):
		v, err := strconv.ParseInt(t.Text, 10, 64)
		p.Refuse(err != nil, "integer %s does not fit 64 bits", t.Text)
		p.Advance()
		return Attr{Kind: AttrInt, Int: v}
	case p.IsFloat():
		return Attr{Kind: AttrFloat, Float: p.Float32()}
	case t.Kind == syntax.Ident:
		ty := p.Type()
		p.RefuseAt(ty.Order != nil || ty.Quant != nil, t.Pos,
			"a tensor attribute has neither memory order nor quantisation")
		return Attr{Kind: AttrTensor, Tensor: p.Data(ty.DType, ty.Shape)}
	}
	p.Failf("found %s, want an attribute's value", p.Tok)
	panic("unreachable")
}

func (p *parser) attrList() Attr {
	p.Want("[")
	a := p.attr()
	switch a.Kind {
	case AttrInt:
		a = Attr{Kind: AttrInts, Ints: []int64{a.Int}}
	case AttrFloat:
		a = Attr{Kind: AttrFloats, Floats: []float32{a.Float}}
	case AttrString:
		a = Attr{Kind: AttrStrings, Strings: []string{a.String}}
	default:
		p.Failf("lists hold integers, floats or strings")
	}
	for p.Accept(",") {
		pos := p.Tok.Pos
		b := p.attr()
		switch {
		case b.Kind == AttrInt && a.Kind == AttrInts:
			a.Ints = append(a.Ints, b.Int)
		case b.Kind == AttrFloat && a.Kind == AttrFloats:
			a.Floats = append(a.Floats, b.Float)
		case b.Kind == AttrString && a.Kind == AttrStrings:
			a.Strings = append(a.Strings, b.String)
		default:
			p.FailAt(pos, "the list mixes kinds")
		}
	}
	p.Want("]")
	return a
}
