package ir

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/ir/tensor"
)

// maxDepth bounds the nesting of bodies in the text form.
const maxDepth = 16

// Parse reads the text form that Graph.String writes. Operators come from
// lookup (nil for an unknown one). A node's output types may be left out; they
// are then inferred. Types that are given are taken as they stand: Parse
// checks the form of the text, Graph.Verify its meaning. Errors are
// *SyntaxError. No text makes Parse panic, and memory stays proportional to
// the text (up to 16 MB beyond it for splat and rand).
func Parse(src string, lookup func(domain, name string) *OpDef) (g *Graph, err error) {
	p := &parser{lexer: lexer{src: src}, lookup: lookup, budget: splatBudget}
	defer func() {
		if r := recover(); r != nil {
			se, ok := r.(*SyntaxError)
			if !ok {
				panic(r)
			}
			g, err = nil, se
		}
	}()
	p.advance()
	p.word("graph")
	g = p.graph(0)
	if p.tok.kind != tEOF {
		p.failf("%s after the graph", p.tok)
	}
	return g, nil
}

type parser struct {
	lexer
	tok    token
	lookup func(domain, name string) *OpDef
	budget int // elements that splat and rand may still make
}

func (p *parser) advance() { p.tok = p.next() }

func (p *parser) failf(format string, args ...any) { p.fail(p.tok.pos, format, args...) }

func (p *parser) is(punct string) bool { return p.tok.kind == tPunct && p.tok.text == punct }

func (p *parser) isWord(w string) bool { return p.tok.kind == tIdent && p.tok.text == w }

// accept skips one punctuation mark if it is there.
func (p *parser) accept(punct string) bool {
	if p.is(punct) {
		p.advance()
		return true
	}
	return false
}

func (p *parser) want(punct string) {
	if !p.accept(punct) {
		p.failf("found %s, want %q", p.tok, punct)
	}
}

func (p *parser) word(w string) {
	if !p.isWord(w) {
		p.failf("found %s, want %q", p.tok, w)
	}
	p.advance()
}

func (p *parser) take(k tokKind, what string) string {
	if p.tok.kind != k {
		p.failf("found %s, want %s", p.tok, what)
	}
	t := p.tok.text
	p.advance()
	return t
}

func (p *parser) int() int {
	pos := p.tok.pos
	v, err := strconv.Atoi(p.take(tNum, "an integer"))
	if err != nil {
		p.fail(pos, "malformed integer")
	}
	return v
}

// graph parses what follows the keyword graph or body.
func (p *parser) graph(depth int) *Graph {
	if depth > maxDepth {
		p.failf("bodies are nested more than %d deep", maxDepth)
	}
	g := New(p.take(tStr, "the graph's name as a string"))
	vals := map[string]*Value{}
	p.want("{")
	for !p.is("}") {
		switch {
		case p.tok.kind == tValue:
			p.node(g, vals, depth)
		case p.isWord("in"):
			p.advance()
			v := p.define(g, vals)
			p.want(":")
			v.Type = p.typ()
			g.In = append(g.In, v)
		case p.isWord("const"):
			p.advance()
			v := p.define(g, vals)
			p.want(":")
			v.Type = p.typ()
			p.want("=")
			v.Const = p.data(v.Type.DType, v.Type.Shape)
		case p.isWord("out"):
			p.advance()
			name := p.take(tStr, "the output's name as a string")
			p.want("=")
			g.AddOutput(name, p.use(vals))
		default:
			p.failf("found %s, want in, const, out, a node or }", p.tok)
		}
	}
	p.advance()
	return g
}

// define makes the value that the present token names.
func (p *parser) define(g *Graph, vals map[string]*Value) *Value {
	pos := p.tok.pos
	name := p.take(tValue, "a value such as %x")
	if vals[name] != nil {
		p.fail(pos, "%%%s is defined twice", name)
	}
	v := &Value{ID: g.id(), Name: name}
	g.names[name] = true
	vals[name] = v
	return v
}

func (p *parser) use(vals map[string]*Value) *Value {
	pos := p.tok.pos
	name := p.take(tValue, "a value such as %x")
	v := vals[name]
	if v == nil {
		p.fail(pos, "%%%s is not defined before this line", name)
	}
	return v
}

func (p *parser) node(g *Graph, vals map[string]*Value, depth int) {
	start := p.tok.pos
	n := &Node{ID: g.id(), Attrs: Attrs{}}
	infer := false
	outs := map[string]*Value{} // visible only after the node
	for {
		if vals[p.tok.text] != nil && p.tok.kind == tValue {
			p.failf("%s is defined twice", p.tok)
		}
		v := p.define(g, outs)
		v.Def, v.Index = n, len(n.Out)
		if p.accept(":") {
			v.Type = p.typ()
		} else {
			infer = true
		}
		n.Out = append(n.Out, v)
		if !p.accept(",") {
			break
		}
	}
	n.Name = n.Out[0].Name
	p.want("=")
	p.op(n)
	p.want("(")
	for !p.is(")") {
		if p.accept("-") {
			n.In = append(n.In, nil)
		} else {
			v := p.use(vals)
			v.uses = append(v.uses, Use{n, len(n.In)})
			n.In = append(n.In, v)
		}
		if !p.accept(",") {
			break
		}
	}
	p.want(")")
	for len(n.In) > 0 && n.In[len(n.In)-1] == nil {
		n.In = n.In[:len(n.In)-1]
	}
	if p.accept("{") {
		p.attrs(n)
	}
	if p.isWord("name") {
		p.advance()
		n.Name = p.take(tStr, "the node's name as a string")
	}
	if p.isWord("from") {
		p.advance()
		for {
			n.Origin = append(n.Origin, p.take(tStr, "an ONNX node's name as a string"))
			if !p.accept(",") {
				break
			}
		}
	}
	for p.isWord("body") {
		p.advance()
		n.Body = append(n.Body, p.graph(depth+1))
	}
	if infer {
		p.infer(n, start)
	}
	for name, v := range outs {
		vals[name] = v
	}
	g.Nodes = append(g.Nodes, n)
}

// op reads the operator: everything up to the last dot is the domain.
func (p *parser) op(n *Node) {
	pos := p.tok.pos
	name, domain := p.take(tIdent, "an operator"), ""
	if k := strings.LastIndexByte(name, '.'); k >= 0 {
		domain, name = name[:k], name[k+1:]
	}
	if n.Op = p.lookup(domain, name); n.Op == nil {
		if domain != "" {
			name = domain + "." + name
		}
		p.fail(pos, "no operator %s", name)
	}
}

// infer fills the output types that the text leaves out.
func (p *parser) infer(n *Node, pos int) {
	types, err := func() (t []Type, err error) {
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("BUG: inferring the types of %s: %v", n, r)
			}
		}()
		return InferNode(n)
	}()
	if err != nil {
		p.fail(pos, "%v", err)
	}
	for i, v := range n.Out {
		if v.Type.DType == tensor.Invalid {
			v.Type = types[i]
		}
	}
}

func (p *parser) attrs(n *Node) {
	for !p.is("}") {
		pos, name := p.tok.pos, p.tok.text
		if p.tok.kind != tIdent && p.tok.kind != tStr {
			p.failf("found %s, want an attribute's name", p.tok)
		}
		p.advance()
		if _, twice := n.Attrs[name]; twice {
			p.fail(pos, "attribute %s is given twice", name)
		}
		p.want("=")
		n.Attrs[name] = p.attr()
		if !p.accept(",") {
			break
		}
	}
	p.want("}")
}

// attr reads one attribute value; numbers with a point, an exponent, inf or
// nan are floats.
func (p *parser) attr() Attr {
	switch t := p.tok; {
	case t.kind == tStr:
		p.advance()
		return Attr{Kind: AttrString, String: t.text}
	case p.is("["):
		return p.attrList()
	case p.isWord("ints"), p.isWord("floats"), p.isWord("strings"):
		p.advance()
		p.want("[")
		p.want("]")
		switch t.text {
		case "ints":
			return Attr{Kind: AttrInts, Ints: []int64{}}
		case "floats":
			return Attr{Kind: AttrFloats, Floats: []float32{}}
		}
		return Attr{Kind: AttrStrings, Strings: []string{}}
	case p.isWord("none"):
		p.advance()
		return Attr{Kind: AttrTensor}
	case t.kind == tNum && isInteger(t.text):
		v, err := strconv.ParseInt(t.text, 10, 64)
		if err != nil {
			p.failf("integer %s does not fit 64 bits", t.text)
		}
		p.advance()
		return Attr{Kind: AttrInt, Int: v}
	case p.isFloat():
		return Attr{Kind: AttrFloat, Float: p.float32()}
	case t.kind == tIdent:
		ty := p.typ()
		if ty.Order != nil || ty.Quant != nil {
			p.fail(t.pos, "a tensor attribute has neither memory order nor quantisation")
		}
		return Attr{Kind: AttrTensor, Tensor: p.data(ty.DType, ty.Shape)}
	}
	p.failf("found %s, want an attribute's value", p.tok)
	panic("unreachable")
}

func (p *parser) attrList() Attr {
	p.want("[")
	a := p.attr()
	switch a.Kind {
	case AttrInt:
		a = Attr{Kind: AttrInts, Ints: []int64{a.Int}}
	case AttrFloat:
		a = Attr{Kind: AttrFloats, Floats: []float32{a.Float}}
	case AttrString:
		a = Attr{Kind: AttrStrings, Strings: []string{a.String}}
	default:
		p.failf("lists hold integers, floats or strings")
	}
	for p.accept(",") {
		pos := p.tok.pos
		b := p.attr()
		switch {
		case b.Kind == AttrInt && a.Kind == AttrInts:
			a.Ints = append(a.Ints, b.Int)
		case b.Kind == AttrFloat && a.Kind == AttrFloats:
			a.Floats = append(a.Floats, b.Float)
		case b.Kind == AttrString && a.Kind == AttrStrings:
			a.Strings = append(a.Strings, b.String)
		default:
			p.fail(pos, "the list mixes kinds")
		}
	}
	p.want("]")
	return a
}

// typ reads what Type.String writes.
func (p *parser) typ() Type {
	pos := p.tok.pos
	name := p.take(tIdent, "a type such as f32[1,3]")
	dt, ok := tensor.ParseDType(name)
	if !ok {
		p.fail(pos, "no element type %q", name)
	}
	t := Type{DType: dt, Shape: []int{}}
	p.want("[")
	for !p.is("]") {
		t.Shape = append(t.Shape, p.int())
		if !p.accept(",") {
			break
		}
	}
	p.want("]")
	if len(t.Shape) > 64 {
		p.fail(pos, "%d dimensions, at most 64 are possible", len(t.Shape))
	}
	if _, err := tensor.Elems(t.Shape); err != nil {
		p.fail(pos, "%v", err)
	}
	if p.tok.kind == tOrder {
		t.Order = []int{}
		for _, s := range strings.Split(p.tok.text, ".") {
			v, err := strconv.Atoi(s)
			if p.tok.text == "" && len(t.Shape) == 0 {
				break
			}
			if err != nil || v >= len(t.Shape) || slices.Contains(t.Order, v) {
				p.failf("memory order %s is no permutation of %d dimensions", p.tok, len(t.Shape))
			}
			t.Order = append(t.Order, v)
		}
		if len(t.Order) != len(t.Shape) {
			p.failf("memory order %s is no permutation of %d dimensions", p.tok, len(t.Shape))
		}
		p.advance()
	}
	if p.isWord("q") {
		p.advance()
		t.Quant = p.quant(t)
	}
	return t
}

func (p *parser) quant(t Type) *Quant {
	pos := p.tok.pos
	q := &Quant{Axis: -1}
	want := 1
	p.want("(")
	if p.isWord("axis") {
		p.advance()
		p.want("=")
		if q.Axis = p.int(); q.Axis < 0 || q.Axis >= len(t.Shape) {
			p.fail(pos, "quantisation axis %d of rank %d", q.Axis, len(t.Shape))
		}
		want = t.Shape[q.Axis]
		p.accept(",")
	}
	for !p.is(")") {
		q.Scale = append(q.Scale, p.float32())
		p.want(":")
		zp := p.tok.pos
		z := p.int()
		if int(int32(z)) != z {
			p.fail(zp, "zero point %d does not fit 32 bits", z)
		}
		q.Zero = append(q.Zero, int32(z))
		if !p.accept(",") {
			break
		}
	}
	p.want(")")
	if len(q.Scale) != want {
		p.fail(pos, "%d scales, want %d", len(q.Scale), want)
	}
	return q
}
