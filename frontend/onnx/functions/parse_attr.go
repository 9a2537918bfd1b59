// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/onnx/schema"
	"github.com/nncc/nncc/ir/lists"
)

var attrTypes = map[string]pb.AttributeProto_AttributeType{
	"int": pb.AttributeProto_INT, "float": pb.AttributeProto_FLOAT, "string": pb.AttributeProto_STRING,
	"tensor": pb.AttributeProto_TENSOR, "graph": pb.AttributeProto_GRAPH,
	"ints": pb.AttributeProto_INTS, "floats": pb.AttributeProto_FLOATS, "strings": pb.AttributeProto_STRINGS,
}

// attribute is what follows an attribute's name: = value, or : type = value.
// Without a stated type, the operator's definition decides (sch, nil where
// there is none), then the value's form.
func (p *parser) attribute(name string, sch *schema.Schema) *pb.AttributeProto {
	a := &pb.AttributeProto{Name: proto.String(name)}
	typ := pb.AttributeProto_UNDEFINED
	if p.got(":") {
		ok := false
		if typ, ok = attrTypes[p.tok.text]; !ok || p.tok.kind != ident {
			p.fail("found %s, want the type of an attribute: int, float, string, tensor, graph, ints, floats or "+
				"strings", p.tok)
		}
		p.advance()
	} else if sch != nil {
		if d := sch.Attr(name); d != nil {
			typ = pb.AttributeProto_AttributeType(d.Type)
		}
	}
	p.want("=")
	at := p.tok.pos
	switch {
	case p.got("@"):
		a.RefAttrName = proto.String(p.name("the name of the function's attribute"))
		if typ != pb.AttributeProto_UNDEFINED {
			a.Type = typ.Enum()
		}
		return a
	case p.got("["):
		p.elements(a, typ)
	default:
		p.single(a, typ)
	}
	if got := a.GetType(); p.err == nil && typ != pb.AttributeProto_UNDEFINED && got != typ {
		p.err = p.lex.errorf(at, "attribute %s is of type %s, its value of type %s", name,
			strings.ToLower(typ.String()), describe(a))
	}
	return a
}

func (p *parser) elements(a *pb.AttributeProto, typ pb.AttributeProto_AttributeType) {
	var reals []float64
	whole := true
	p.list("]", func() {
		switch {
		case p.tok.kind == str:
			a.Strings = append(a.Strings, []byte(p.advance().text))
		default:
			if v, err := strconv.ParseInt(p.tok.text, 10, 64); err == nil && p.tok.kind == number {
				a.Ints = append(a.Ints, v)
			} else {
				whole = false
			}
			reals = append(reals, p.real())
		}
	})
	switch {
	case len(a.Strings) > 0 && len(reals) > 0:
		p.fail("a list holds text and numbers")
	case len(a.Strings) > 0:
		a.Type = pb.AttributeProto_STRINGS.Enum()
	case len(reals) == 0 && typ != pb.AttributeProto_UNDEFINED:
		a.Type = typ.Enum() // an empty list
	case whole && typ != pb.AttributeProto_FLOATS:
		a.Type = pb.AttributeProto_INTS.Enum()
	default:
		a.Ints = nil
		a.Type = pb.AttributeProto_FLOATS.Enum()
		a.Floats = lists.Map(reals, func(v float64) float32 { return float32(v) })
	}
}

func (p *parser) single(a *pb.AttributeProto, typ pb.AttributeProto_AttributeType) {
	switch t := p.tok; {
	case t.kind == str:
		a.Type, a.S = pb.AttributeProto_STRING.Enum(), []byte(p.advance().text)
	case t.kind == number, t.text == "inf", t.text == "nan":
		if v, err := strconv.ParseInt(t.text, 10, 64); err == nil && typ != pb.AttributeProto_FLOAT {
			a.Type, a.I = pb.AttributeProto_INT.Enum(), proto.Int64(v)
			p.advance()
			return
		}
		a.Type, a.F = pb.AttributeProto_FLOAT.Enum(), proto.Float32(float32(p.real()))
	case t.kind == ident && schema.ElemNumber(t.text) != 0:
		a.Type, a.T = pb.AttributeProto_TENSOR.Enum(), p.tensor()
	case t.kind == ident:
		a.Type, a.G = pb.AttributeProto_GRAPH.Enum(), p.graph(p.advance().text)
	default:
		p.fail("found %s, want a value: a number, text, [list], tensor or graph", t)
	}
}

// tensor is a type, perhaps a name, and data: int64[2] {3, 4}, float {1.5}.
func (p *parser) tensor() *pb.TensorProto {
	t := &pb.TypeProto_Tensor{ElemType: proto.Int32(p.dataType())}
	if p.got("[") {
		t.Shape = &pb.TensorShapeProto{}
		p.list("]", func() { t.Shape.Dim = append(t.Shape.Dim, p.dim()) })
	}
	name := ""
	if p.tok.kind == ident {
		name = p.advance().text
	}
	p.got("=")
	d := p.tensorData(t)
	if name != "" {
		d.Name = proto.String(name)
	}
	return d
}

// tensorData is the data of a tensor: {values}.
func (p *parser) tensorData(t *pb.TypeProto_Tensor) *pb.TensorProto {
	d := &pb.TensorProto{DataType: proto.Int32(t.GetElemType())}
	count := int64(1)
	for _, x := range t.GetShape().GetDim() {
		v, ok := x.GetValue().(*pb.TensorShapeProto_Dimension_DimValue)
		if !ok || v.DimValue < 0 || v.DimValue > 1<<20 || count*v.DimValue > 1<<20 {
			p.fail("the shape of a tensor with data must have numbers, at most %d elements", 1<<20)
			return d
		}
		count *= v.DimValue
		d.Dims = append(d.Dims, v.DimValue)
	}
	n := int64(0)
	p.want("{")
	p.list("}", func() {
		n++
		switch pb.TensorProto_DataType(t.GetElemType()) {
		case pb.TensorProto_FLOAT:
			d.FloatData = append(d.FloatData, float32(p.real()))
		case pb.TensorProto_DOUBLE:
			d.DoubleData = append(d.DoubleData, p.real())
		case pb.TensorProto_INT64:
			d.Int64Data = append(d.Int64Data, p.integer())
		case pb.TensorProto_UINT32, pb.TensorProto_UINT64:
			v := p.integer()
			if v < 0 {
				p.fail("%d does not fit the type", v)
			}
			d.Uint64Data = append(d.Uint64Data, uint64(v))
		case pb.TensorProto_INT8, pb.TensorProto_INT16, pb.TensorProto_INT32, pb.TensorProto_UINT8,
			pb.TensorProto_UINT16, pb.TensorProto_BOOL:
			v := p.integer()
			if v != int64(int32(v)) {
				p.fail("%d does not fit the type", v)
			}
			d.Int32Data = append(d.Int32Data, int32(min(max(v, math.MinInt32), math.MaxInt32)))
		default:
			p.fail("tensors of type %s cannot be written as text; want float, double, bool or an integer type of 8 "+
				"to 64 bits", schema.ElemName(t.GetElemType()))
		}
	})
	if p.err == nil && n != count {
		p.fail("a tensor of %d elements holds %d values", count, n)
	}
	return d
}
