// SPDX-License-Identifier: Apache-2.0

package cnn

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/cmd/nncc/examples/digits"
	"github.com/nncc/nncc/cmd/nncc/examples/digits/draw"
	"github.com/nncc/nncc/frontend/onnx/pb"
)

// Opset is the version of the ONNX operators that Export uses.
const Opset = 17

// outputName is that of the model's output [1, 10].
const outputName = "output"

// Export writes the network as PyTorch's exporter would: channels before rows
// and columns, batch normalisation left as nodes of its own, a softmax at the
// end, and names that follow the parts of the network.
func (n *Net) Export() *pb.ModelProto {
	e := &exporter{g: &pb.GraphProto{Name: proto.String("digits")}}
	e.g.Input = []*pb.ValueInfoProto{valueInfo(digits.InputName, 1, 1, draw.Size, draw.Size)}
	e.g.Output = []*pb.ValueInfoProto{valueInfo(outputName, 1, draw.Classes)}
	v := digits.InputName
	for _, l := range n.layers {
		v = l.export(e, v)
	}
	e.named(outputName, "softmax", "Softmax", []string{v}, intAttr("axis", 1))
	return &pb.ModelProto{
		IrVersion:       proto.Int64(8),
		ProducerName:    proto.String("nncc digits example"),
		ProducerVersion: proto.String("1"),
		OpsetImport:     []*pb.OperatorSetIdProto{{Domain: proto.String(""), Version: proto.Int64(Opset)}},
		Graph:           e.g,
	}
}

// exporter builds the ONNX graph.
type exporter struct{ g *pb.GraphProto }

// node appends a node for a part of the network and returns its output's name.
func (e *exporter) node(part, op string, in []string, attrs ...*pb.AttributeProto) string {
	return e.named(path(part)+"/"+op+"_output_0", part, op, in, attrs...)
}

// named is node with the name of the output given.
func (e *exporter) named(out, part, op string, in []string, attrs ...*pb.AttributeProto) string {
	e.g.Node = append(e.g.Node, &pb.NodeProto{
		Name: proto.String(path(part) + "/" + op), OpType: proto.String(op),
		Input: in, Output: []string{out}, Attribute: attrs,
	})
	return out
}

// path turns "res1.dw.conv" into "/res1/dw/conv".
func path(part string) string {
	b := []byte("/" + part)
	for i := range b {
		if b[i] == '.' {
			b[i] = '/'
		}
	}
	return string(b)
}

// tensor adds a constant and returns its name. Bytes are little-endian.
func (e *exporter) tensor(name string, v []float32, dims ...int64) string {
	raw := make([]byte, 0, 4*len(v))
	for _, f := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(f))
	}
	e.g.Initializer = append(e.g.Initializer, &pb.TensorProto{
		Name: proto.String(name), DataType: proto.Int32(int32(pb.TensorProto_FLOAT)), Dims: dims, RawData: raw,
	})
	return name
}

func valueInfo(name string, dims ...int64) *pb.ValueInfoProto {
	shape := &pb.TensorShapeProto{}
	for _, d := range dims {
		shape.Dim = append(shape.Dim,
			&pb.TensorShapeProto_Dimension{Value: &pb.TensorShapeProto_Dimension_DimValue{DimValue: d}})
	}
	return &pb.ValueInfoProto{Name: proto.String(name), Type: &pb.TypeProto{Value: &pb.TypeProto_TensorType{
		TensorType: &pb.TypeProto_Tensor{ElemType: proto.Int32(int32(pb.TensorProto_FLOAT)), Shape: shape}}}}
}

func intAttr(name string, v int64) *pb.AttributeProto {
	return &pb.AttributeProto{Name: proto.String(name), Type: pb.AttributeProto_INT.Enum(), I: proto.Int64(v)}
}

func intsAttr(name string, v ...int64) *pb.AttributeProto {
	return &pb.AttributeProto{Name: proto.String(name), Type: pb.AttributeProto_INTS.Enum(), Ints: v}
}

func floatAttr(name string, v float32) *pb.AttributeProto {
	return &pb.AttributeProto{Name: proto.String(name), Type: pb.AttributeProto_FLOAT.Enum(), F: proto.Float32(v)}
}

// export writes weights as [out][in/group][kh][kw].
func (c *conv) export(e *exporter, in string) string {
	k, group, perGroup := c.k*c.k, 1, c.in
	if c.depthwise {
		group, perGroup = c.in, 1
	}
	w := make([]float32, 0, len(c.w.v))
	for o := range c.out {
		for i := range perGroup {
			for t := range k {
				w = append(w, c.w.v[(t*perGroup+i)*c.out+o])
			}
		}
	}
	n, s, p := int64(c.k), int64(c.stride), int64(c.k/2)
	name := e.tensor(c.name+".weight", w, int64(c.out), int64(perGroup), n, n)
	return e.node(c.name, "Conv", []string{in, name}, intsAttr("dilations", 1, 1), intAttr("group", int64(group)),
		intsAttr("kernel_shape", n, n), intsAttr("pads", p, p, p, p), intsAttr("strides", s, s))
}

func (b *batchNorm) export(e *exporter, in string) string {
	c := int64(len(b.mean))
	return e.node(b.name, "BatchNormalization", []string{in,
		e.tensor(b.name+".weight", b.gain.v, c), e.tensor(b.name+".bias", b.off.v, c),
		e.tensor(b.name+".running_mean", b.mean, c), e.tensor(b.name+".running_var", b.vr, c)},
		floatAttr("epsilon", bnEpsilon), floatAttr("momentum", 1-bnMomentum), intAttr("training_mode", 0))
}

func (r *relu) export(e *exporter, in string) string {
	return e.node(r.name, "Relu", []string{in})
}

func (r *residual) export(e *exporter, in string) string {
	v := in
	for _, l := range r.body {
		v = l.export(e, v)
	}
	return e.node(r.name, "Add", []string{v, in})
}

func (p *pool) export(e *exporter, in string) string {
	v := e.node(p.name, "GlobalAveragePool", []string{in})
	return e.node("flatten", "Flatten", []string{v}, intAttr("axis", 1))
}

// export writes weights as [out][in].
func (d *dense) export(e *exporter, in string) string {
	w := e.tensor(d.name+".weight", transpose(d.w.v, d.in, d.out), int64(d.out), int64(d.in))
	b := e.tensor(d.name+".bias", d.b.v, int64(d.out))
	return e.node(d.name, "Gemm", []string{in, w, b}, floatAttr("alpha", 1), floatAttr("beta", 1), intAttr("transB", 1))
}
