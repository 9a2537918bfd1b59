// SPDX-License-Identifier: Apache-2.0

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

// ParseModel reads a model in ONNX's text syntax: a graph, then functions, each
// with a header in front:
//
//	<
//	  ir_version: 8,
//	  opset_import: ["" : 17]
//	>
//	name (float[1,4] x) => (float[1,4] y) <float[4] w = {1, 2, 3, 4}>
//	{
//	  y = Add (x, w)
//	}
//
// As in Parse, only the syntax is checked.
func ParseModel(text string) (*pb.ModelProto, error) {
	p := &parser{lex: lexer{text: text}}
	p.advance()
	m := &pb.ModelProto{}
	p.want("<")
	p.list(">", func() { p.modelHeader(m) })
	m.Graph = p.graph(p.name("the name of the graph"))
	for p.err == nil && p.tok.kind != end {
		m.Functions = append(m.Functions, p.function())
	}
	if p.err != nil {
		return nil, p.err
	}
	return m, nil
}

// parser keeps the first error; after it, every token is the end.
type parser struct {
	lex   lexer
	tok   token
	err   error
	depth int // of subgraphs
}

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

func (p *parser) name(what string) string {
	if p.tok.kind != ident && p.tok.kind != str || p.tok.text == "" {
		p.fail("found %s, want %s", p.tok, what)
		return ""
	}
	return p.advance().text
}

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

func (p *parser) header(f *pb.FunctionProto) {
	key := p.name("a keyword such as domain")
	p.want(":")
	switch key {
	case "domain":
		f.Domain = p.text()
	case "overload":
		f.Overload = p.text()
	case "doc_string":
		f.DocString = p.text()
	case "opset_import":
		f.OpsetImport = p.opsets()
	default:
		p.fail("the keyword %s is unknown here; want domain, opset_import, overload or doc_string", key)
	}
}

func (p *parser) modelHeader(m *pb.ModelProto) {
	key := p.name("a keyword such as ir_version")
	p.want(":")
	switch key {
	case "ir_version":
		m.IrVersion = proto.Int64(p.integer())
	case "model_version":
		m.ModelVersion = proto.Int64(p.integer())
	case "producer_name":
		m.ProducerName = p.text()
	case "producer_version":
		m.ProducerVersion = p.text()
	case "domain":
		m.Domain = p.text()
	case "doc_string":
		m.DocString = p.text()
	case "opset_import":
		m.OpsetImport = p.opsets()
	case "metadata_props":
		p.want("[")
		p.list("]", func() {
			k := p.text()
			p.want(":")
			m.MetadataProps = append(m.MetadataProps, &pb.StringStringEntryProto{Key: k, Value: p.text()})
		})
	default:
		p.fail("the keyword %s is unknown here; want ir_version, opset_import, producer_name, producer_version, "+
			"model_version, domain, doc_string or metadata_props", key)
	}
}

func (p *parser) text() *string {
	if p.tok.kind != str {
		p.fail("found %s, want text in quotes", p.tok)
	}
	return proto.String(p.advance().text)
}

func (p *parser) opsets() (out []*pb.OperatorSetIdProto) {
	p.want("[")
	p.list("]", func() {
		d := p.text()
		p.want(":")
		out = append(out, &pb.OperatorSetIdProto{Domain: d, Version: proto.Int64(p.integer())})
	})
	return out
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
			p.list(">",
				func() { n.Attribute = append(n.Attribute, p.attribute(p.name("the name of an attribute"), sch)) })
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

// operand is a name; an empty one, "" or nothing before a comma, leaves an
// optional value out.
func (p *parser) operand(what string) string {
	if p.is(",") {
		return ""
	}
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
	return &pb.TensorShapeProto_Dimension{Value: &pb.TensorShapeProto_Dimension_DimParam{DimParam: p.name(
		"a dimension")}}
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

func describe(a *pb.AttributeProto) string {
	return strings.ToLower(fmt.Sprint(a.GetType()))
}
