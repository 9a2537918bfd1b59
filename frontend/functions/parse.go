package functions

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/onnx/schema"
)

// Parse reads functions in ONNX's text syntax, one after the other:
//
//	<
//	  domain: "my.domain",
//	  opset_import: ["" : 17]
//	>
//	Name <attribute, with_default: float = 1.5> (x, w) => (y)
//	{
//	  z = MatMul (x, w)
//	  y = LeakyRelu <alpha: float = @with_default> (z)
//	}
//
// A # starts a comment. Errors begin with line and column. Parse checks the
// syntax only; what the nodes say is checked with the model.
func Parse(text string) ([]*pb.FunctionProto, error) {
	p := &parser{lex: lexer{text: text}}
	p.advance()
	var out []*pb.FunctionProto
	for p.err == nil && p.tok.kind != end {
		out = append(out, p.function())
	}
	if p.err == nil && len(out) == 0 {
		p.fail("the text holds no function")
	}
	if p.err != nil {
		return nil, p.err
	}
	return out, nil
}

// parser keeps the first error; after it, every token is the end.
type parser struct {
	lex   lexer
	tok   token
	err   error
	depth int // of subgraphs
}

// maxNesting bounds subgraphs in attributes.
const maxNesting = 32

func (p *parser) advance() token {
	t := p.tok
	if p.err == nil {
		p.tok, p.err = p.lex.next()
	}
	if p.err != nil {
		p.tok = token{}
	}
	return t
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = p.lex.errorf(p.tok.pos, format, args...)
	}
	p.tok = token{}
}

func (p *parser) is(s string) bool { return p.tok.kind == punct && p.tok.text == s }

// got skips a punctuation mark if it is there.
func (p *parser) got(s string) bool {
	if p.is(s) {
		p.advance()
		return true
	}
	return false
}

func (p *parser) want(s string) {
	if !p.got(s) {
		p.fail("found %s, want %s", p.tok, s)
	}
}

// name is an identifier; names of values may also stand in quotes.
func (p *parser) name(what string) string {
	if p.tok.kind != ident && p.tok.kind != str || p.tok.text == "" {
		p.fail("found %s, want %s", p.tok, what)
		return ""
	}
	return p.advance().text
}

// list reads items separated by commas up to the closing mark.
func (p *parser) list(closing string, item func()) {
	for p.err == nil && !p.got(closing) {
		item()
		if !p.is(closing) {
			p.want(",")
		}
	}
}

func (p *parser) function() *pb.FunctionProto {
	f := &pb.FunctionProto{}
	if p.got("<") {
		p.list(">", func() { p.header(f) })
	}
	f.Name = proto.String(p.name("the name of a function"))
	if p.got("<") {
		p.list(">", func() { p.parameter(f) })
	}
	p.want("(")
	p.list(")", func() { f.Input = append(f.Input, p.formal()) })
	p.want("=>")
	p.want("(")
	p.list(")", func() { f.Output = append(f.Output, p.formal()) })
	if p.got("<") { // types of inner values: not needed
		p.list(">", func() { p.valueInfo() })
	}
	p.want("{")
	f.Node = p.nodes()
	return f
}

// formal is an input or output: a name, perhaps with a type in front.
func (p *parser) formal() string { return p.valueInfo().GetName() }

// header is one line of what stands before a function.
func (p *parser) header(f *pb.FunctionProto) {
	key := p.name("a keyword such as domain")
	p.want(":")
	text := func() *string {
		if p.tok.kind != str {
			p.fail("found %s, want text in quotes", p.tok)
		}
		return proto.String(p.advance().text)
	}
	switch key {
	case "domain":
		f.Domain = text()
	case "overload":
		f.Overload = text()
	case "doc_string":
		f.DocString = text()
	case "opset_import":
		p.want("[")
		p.list("]", func() {
			d := text()
			p.want(":")
			f.OpsetImport = append(f.OpsetImport, &pb.OperatorSetIdProto{Domain: d, Version: proto.Int64(p.integer())})
		})
	default:
		p.fail("the keyword %s is unknown here; want domain, opset_import, overload or doc_string", key)
	}
}

// parameter is an attribute of a function: a name, or an attribute with its
// default value.
func (p *parser) parameter(f *pb.FunctionProto) {
	name := p.name("the name of an attribute")
	if p.is("=") || p.is(":") {
		f.AttributeProto = append(f.AttributeProto, p.attribute(name, nil))
		return
	}
	f.Attribute = append(f.Attribute, name)
}

// nodes reads up to the closing brace.
func (p *parser) nodes() []*pb.NodeProto {
	var out []*pb.NodeProto
	for p.err == nil && !p.got("}") {
		out = append(out, p.node())
	}
	return out
}

// node is [label] outputs = operator <attributes> (inputs), the attributes in
// front of the inputs or behind them.
func (p *parser) node() *pb.NodeProto {
	n := &pb.NodeProto{}
	if p.got("[") {
		n.Name = proto.String(p.name("the name of a node"))
		p.want("]")
	}
	if !p.is("=") {
		for {
			n.Output = append(n.Output, p.operand("the name of a value"))
			if p.err != nil || !p.got(",") {
				break
			}
		}
	}
	p.want("=")
	op := p.name("an operator")
	for p.got(".") {
		n.Domain = proto.String(strings.TrimPrefix(n.GetDomain()+"."+op, "."))
		op = p.name("an operator")
	}
	n.OpType = proto.String(op)
	if p.got(":") {
		n.Overload = proto.String(p.name("an overload"))
	}
	sch := schema.Lookup(n.GetDomain(), op, math.MaxInt64)
	attrs := func() {
		if p.got("<") {
			p.list(">", func() { n.Attribute = append(n.Attribute, p.attribute(p.name("the name of an attribute"), sch)) })
		}
	}
	attrs()
	p.want("(")
	p.list(")", func() { n.Input = append(n.Input, p.operand("the name of a value")) })
	if len(n.Attribute) == 0 {
		attrs()
	}
	return n
}

// operand is a name; an empty one ("") leaves an optional value out.
func (p *parser) operand(what string) string {
	if p.tok.kind == str && p.tok.text == "" {
		p.advance()
		return ""
	}
	return p.name(what)
}

func (p *parser) integer() int64 {
	v, err := strconv.ParseInt(p.tok.text, 10, 64)
	if p.tok.kind != number || err != nil {
		p.fail("found %s, want a whole number", p.tok)
		return 0
	}
	p.advance()
	return v
}

func (p *parser) real() float64 {
	s := p.tok.text
	v, err := strconv.ParseFloat(s, 64)
	named := p.tok.kind == ident && (s == "inf" || s == "nan")
	if p.tok.kind != number && !named || err != nil {
		p.fail("found %s, want a number", p.tok)
		return 0
	}
	p.advance()
	return v
}

// dataType is the name of an element type.
func (p *parser) dataType() int32 {
	if n := schema.ElemNumber(p.tok.text); p.tok.kind == ident && n != 0 {
		p.advance()
		return n
	}
	p.fail("found %s, want an element type such as float or int64", p.tok)
	return 0
}

// valueInfo is a name with or without a type in front: x, float x, float[N,3] x.
func (p *parser) valueInfo() *pb.ValueInfoProto {
	v := &pb.ValueInfoProto{}
	if first := p.tok; first.kind == ident && schema.ElemNumber(first.text) != 0 {
		p.advance()
		if p.is(",") || p.is(")") || p.is(">") { // a value that is called like a type
			v.Name = proto.String(first.text)
			return v
		}
		t := &pb.TypeProto_Tensor{ElemType: proto.Int32(schema.ElemNumber(first.text))}
		if p.got("[") {
			t.Shape = &pb.TensorShapeProto{}
			p.list("]", func() { t.Shape.Dim = append(t.Shape.Dim, p.dim()) })
		}
		v.Type = &pb.TypeProto{Value: &pb.TypeProto_TensorType{TensorType: t}}
	}
	v.Name = proto.String(p.name("the name of a value"))
	return v
}

func (p *parser) dim() *pb.TensorShapeProto_Dimension {
	switch {
	case p.got("?"):
		return &pb.TensorShapeProto_Dimension{}
	case p.tok.kind == number:
		return &pb.TensorShapeProto_Dimension{Value: &pb.TensorShapeProto_Dimension_DimValue{DimValue: p.integer()}}
	}
	return &pb.TensorShapeProto_Dimension{Value: &pb.TensorShapeProto_Dimension_DimParam{DimParam: p.name("a dimension")}}
}

// graph is a subgraph behind its name: (inputs) => (outputs) { nodes }.
func (p *parser) graph(name string) *pb.GraphProto {
	if p.depth++; p.depth > maxNesting {
		p.fail("subgraphs are nested more than %d deep", maxNesting)
	}
	defer func() { p.depth-- }()
	g := &pb.GraphProto{Name: proto.String(name)}
	p.want("(")
	p.list(")", func() { g.Input = append(g.Input, p.valueInfo()) })
	p.want("=>")
	p.want("(")
	p.list(")", func() { g.Output = append(g.Output, p.valueInfo()) })
	if p.got("<") {
		p.list(">", func() {
			v := p.valueInfo()
			if p.got("=") {
				t := p.tensorData(v.GetType().GetTensorType())
				t.Name = v.Name
				g.Initializer = append(g.Initializer, t)
				return
			}
			g.ValueInfo = append(g.ValueInfo, v)
		})
	}
	p.want("{")
	g.Node = p.nodes()
	return g
}

// describe says what an attribute's value is, for messages.
func describe(a *pb.AttributeProto) string {
	return strings.ToLower(fmt.Sprint(a.GetType()))
}
