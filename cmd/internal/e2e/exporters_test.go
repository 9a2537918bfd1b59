// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
)

// A form is how an exporter writes quantised tensors.
type form struct {
	name string
	// act quantises an activation, of which behind a Relu is not negative.
	act func(b *exported, x string, positive bool) string
	// weight gives weights with their output channels first.
	weight func(b *exported, w []float64, shape ...int) string
	bias   func(b *exported, v []float64) string // nil: floats
	matmul bool                                  // the last layer is MatMul of transposed weights, and Add
	float  string                                // what the reason for layers in float has in it; "" for none
}

// exported is an ONNX model that grows.
type exported struct {
	*rand.Rand
	g *pb.GraphProto
	n int
}

func (b *exported) tensor(t tensor.DType, shape []int, v ...float64) string {
	b.n++
	name := fmt.Sprintf("c%d", b.n)
	d := tensor.FromFloats(tensor.F32, shape, v)
	if !t.IsFloat() {
		d = tensor.New(t, shape)
		for i, x := range v {
			d.SetInt(i, int64(x))
		}
	}
	p := &pb.TensorProto{Name: proto.String(name), DataType: proto.Int32(int32(t.ONNXCode())), RawData: d.Bytes()}
	for _, k := range shape {
		p.Dims = append(p.Dims, int64(k))
	}
	b.g.Initializer = append(b.g.Initializer, p)
	return name
}

func (b *exported) scalar(t tensor.DType, v float64) string { return b.tensor(t, nil, v) }

// attr is an attribute: an integer, a list of integers, or text.
func attr(name string, v any) *pb.AttributeProto {
	a := &pb.AttributeProto{Name: proto.String(name)}
	switch v := v.(type) {
	case int:
		a.Type, a.I = pb.AttributeProto_INT.Enum(), proto.Int64(int64(v))
	case []int64:
		a.Type, a.Ints = pb.AttributeProto_INTS.Enum(), v
	case string:
		a.Type, a.S = pb.AttributeProto_STRING.Enum(), []byte(v)
	}
	return a
}

// op adds a node; "domain.Op" has a domain.
func (b *exported) op(name string, in []string, attrs ...*pb.AttributeProto) string {
	b.n++
	out, domain := fmt.Sprintf("v%d", b.n), ""
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		domain, name = name[:i], name[i+1:]
	}
	b.g.Node = append(b.g.Node, &pb.NodeProto{OpType: proto.String(name), Domain: proto.String(domain), Input: in,
		Output: []string{out}, Name: proto.String(fmt.Sprintf("%s_%d", name, b.n)), Attribute: attrs})
	return out
}

// qdq is QuantizeLinear, perhaps a Clip, and DequantizeLinear.
func (b *exported) qdq(x string, t tensor.DType, scale, zero []float64, axis int, clip ...float64) string {
	shape := []int{len(scale)}
	if len(scale) == 1 {
		shape = nil
	}
	s, z := b.tensor(tensor.F32, shape, scale...), b.tensor(t, shape, zero...)
	var attrs []*pb.AttributeProto
	if shape != nil {
		attrs = append(attrs, attr("axis", axis))
	}
	q := b.op("QuantizeLinear", []string{x, s, z}, attrs...)
	if clip != nil {
		q = b.op("Clip", []string{q, b.scalar(t, clip[0]), b.scalar(t, clip[1])})
	}
	return b.op("DequantizeLinear", []string{q, s, z}, attrs...)
}

// real draws weights for a sum of k products.
func (b *exported) real(n, k int) []float64 {
	w := make([]float64, n)
	for i := range w {
		w[i] = float64(float32(b.NormFloat64() / math.Sqrt(float64(k))))
	}
	return w
}

// scales are those of each output channel of weights, for integers up to top.
func scales(w []float64, outs int, top float64) []float64 {
	s, per := make([]float64, outs), len(w)/outs
	for i := range s {
		for _, x := range w[i*per : (i+1)*per] {
			s[i] = max(s[i], math.Abs(x))
		}
		s[i] = float64(float32(s[i] / top))
	}
	return s
}

// integers are weights over the scales of their channels.
func integers(w, s []float64) []float64 {
	q, per := make([]float64, len(w)), len(w)/len(s)
	for i, x := range w {
		q[i] = math.Round(x / s[i/per])
	}
	return q
}

func (b *exported) conv(f *form, x string, in, out, group, stride int) string {
	k := in / group * 9
	ins := []string{x, f.weight(b, b.real(out*k, k), out, in/group, 3, 3)}
	v := b.real(out, 100)
	if f.bias != nil {
		ins = append(ins, f.bias(b, v))
	} else {
		ins = append(ins, b.tensor(tensor.F32, []int{out}, v...))
	}
	return b.op("Conv", ins, attr("kernel_shape", []int64{3, 3}), attr("pads", []int64{1, 1, 1, 1}),
		attr("strides", []int64{int64(stride), int64(stride)}), attr("group", group))
}

// network is a convolution, a depthwise one, a residual sum, a mean, a product.
func network(f *form) *pb.ModelProto {
	b := &exported{Rand: rand.New(rand.NewPCG(1, 2)), g: &pb.GraphProto{Name: proto.String("g")}}
	x := f.act(b, "x", false)
	x = f.act(b, b.op("Relu", []string{b.conv(f, x, 3, 8, 1, 2)}), true)
	y := f.act(b, b.conv(f, x, 8, 8, 8, 1), false)
	y = f.act(b, b.op("Add", []string{x, y}), false)
	y = f.act(b, b.op("GlobalAveragePool", []string{y}), false)
	y = b.op("Flatten", []string{y})
	w, bias := f.weight(b, b.real(40, 8), 5, 8), b.tensor(tensor.F32, []int{5}, b.real(5, 100)...)
	if f.matmul {
		w = b.op("Transpose", []string{w}, attr("perm", []int64{1, 0}))
		y = b.op("Add", []string{b.op("MatMul", []string{y, w}), bias})
	} else {
		y = b.op("Gemm", []string{y, w, bias}, attr("transB", 1))
	}
	y = f.act(b, y, false)
	return b.model([]int64{1, 3, 9, 10}, y, []int64{1, 5})
}

// model is the model from the input x to y.
func (b *exported) model(in []int64, y string, out []int64) *pb.ModelProto {
	value := func(name string, shape []int64) *pb.ValueInfoProto {
		var dims []*pb.TensorShapeProto_Dimension
		for _, d := range shape {
			dims = append(dims, &pb.TensorShapeProto_Dimension{
				Value: &pb.TensorShapeProto_Dimension_DimValue{DimValue: d}})
		}
		return &pb.ValueInfoProto{Name: proto.String(name), Type: &pb.TypeProto{Value: &pb.TypeProto_TensorType{
			TensorType: &pb.TypeProto_Tensor{ElemType: proto.Int32(1), Shape: &pb.TensorShapeProto{Dim: dims}}}}}
	}
	b.g.Input, b.g.Output = []*pb.ValueInfoProto{value("x", in)}, []*pb.ValueInfoProto{value(y, out)}
	m := &pb.ModelProto{IrVersion: proto.Int64(10), Graph: b.g}
	for _, d := range []struct {
		domain  string
		version int64
	}{{"", 21}, {"com.microsoft", 1}, {"qonnx.custom_op.general", 1}} {
		m.OpsetImport = append(m.OpsetImport, &pb.OperatorSetIdProto{Domain: proto.String(d.domain),
			Version: proto.Int64(d.version)})
	}
	return m
}

// step is the scale of activations of 8 bits.
const step = 0.04

// acts quantises activations with one scale and a zero point for signed ones.
func acts(t tensor.DType, scale, zero, positiveZero float64) func(b *exported, x string, positive bool) string {
	return func(b *exported, x string, positive bool) string {
		z := zero
		if positive {
			z = positiveZero
		}
		return b.qdq(x, t, []float64{scale}, []float64{z}, 0)
	}
}

// clipped are activations of fewer bits, in bytes.
func clipped(bits int) func(b *exported, x string, positive bool) string {
	return func(b *exported, x string, positive bool) string {
		lo, hi, t := -math.Exp2(float64(bits-1)), math.Exp2(float64(bits-1))-1, tensor.I8
		if positive {
			lo, hi, t = 0, math.Exp2(float64(bits))-1, tensor.U8
		}
		return b.qdq(x, t, []float64{step * math.Exp2(float64(8-bits))}, []float64{0}, 0, lo, hi)
	}
}

// stored are weights as integers behind DequantizeLinear.
func stored(b *exported, w []float64, shape ...int) string {
	s := scales(w, shape[0], 127)
	return b.op("DequantizeLinear", []string{b.tensor(tensor.I8, shape, integers(w, s)...),
		b.tensor(tensor.F32, shape[:1], s...), b.tensor(tensor.I8, shape[:1], make([]float64, len(s))...)},
		attr("axis", 0))
}

// rounded are float weights behind QuantizeLinear and DequantizeLinear, and a Clip below 8 bits.
func rounded(bits int) func(b *exported, w []float64, shape ...int) string {
	top := math.Exp2(float64(bits-1)) - 1
	return func(b *exported, w []float64, shape ...int) string {
		x, zero := b.tensor(tensor.F32, shape, w...), make([]float64, shape[0])
		return b.qdq(x, tensor.I8, scales(w, shape[0], top), zero, 0, -top, top)
	}
}

// quant is QONNX's operator, whose zero point and bits are reals or, as QKeras writes them, integers.
func (b *exported) quant(x string, s []float64, zero float64, rank, bits, signed, narrow int, mode string) string {
	shape := slices.Repeat([]int{1}, rank)
	if len(s) > 1 {
		shape[0] = len(s)
	}
	t := []tensor.DType{tensor.F32, tensor.I64}[bits%2]
	return b.op("qonnx.custom_op.general.Quant", []string{x, b.tensor(tensor.F32, shape, s...), b.scalar(t, zero),
		b.scalar(t, float64(bits))}, attr("signed", signed), attr("narrow", narrow), attr("rounding_mode", mode))
}

func quantActs(bits int, mode string) func(b *exported, x string, positive bool) string {
	return func(b *exported, x string, positive bool) string {
		signed := 1
		if positive {
			signed = 0
		}
		return b.quant(x, []float64{step * math.Exp2(float64(8-bits))}, 0, 0, bits, signed, 0, mode)
	}
}

func quantWeights(bits int) func(b *exported, w []float64, shape ...int) string {
	return func(b *exported, w []float64, shape ...int) string {
		s := scales(w, shape[0], math.Exp2(float64(bits-1))-1)
		return b.quant(b.tensor(tensor.F32, shape, w...), s, 0, len(shape), bits, 1, 1, "ROUND")
	}
}

// storedBias is an int32 bias with a scale of its own for all channels.
func storedBias(b *exported, v []float64) string {
	s := make([]float64, len(v))
	for i := range s {
		s[i] = step * 0.003
	}
	return b.op("DequantizeLinear", []string{b.tensor(tensor.I32, []int{len(v)}, integers(v, s)...),
		b.tensor(tensor.F32, []int{len(v)}, s...)}, attr("axis", 0))
}

// wide are activations of 16 bits under ONNX Runtime's domain.
func contrib16(b *exported, x string, _ bool) string {
	s, z := b.scalar(tensor.F32, step/256), b.scalar(tensor.I16, 0)
	q := b.op("com.microsoft.QuantizeLinear", []string{x, s, z})
	return b.op("com.microsoft.DequantizeLinear", []string{q, s, z})
}

// perChannel are activations with a scale for each channel behind the first convolution.
func perChannel(b *exported, x string, positive bool) string {
	if !positive {
		return acts(tensor.I8, step, 0, 0)(b, x, positive)
	}
	s := make([]float64, 8)
	for i := range s {
		s[i] = step * float64(i+8) / 16
	}
	return b.qdq(x, tensor.I8, s, make([]float64, 8), 1)
}

// forms are those of exporters, as they and ONNX Runtime document them.
var forms = []form{
	{name: "pt2e", act: acts(tensor.I8, step, 0, -128), weight: stored},
	{name: "pt2e dynamo", act: acts(tensor.I8, step, 0, -128), weight: stored, matmul: true},
	{name: "fake quantised", act: acts(tensor.U8, step, 128, 0), weight: rounded(8)},
	{name: "Brevitas 8", act: clipped(8), weight: rounded(8), bias: storedBias},
	{name: "Brevitas 6", act: clipped(6), weight: rounded(6), bias: storedBias},
	{name: "Brevitas 4", act: clipped(4), weight: rounded(4), bias: storedBias, matmul: true},
	{name: "QONNX 8", act: quantActs(8, "ROUND"), weight: quantWeights(8)},
	{name: "QONNX 4", act: quantActs(4, "ROUND"), weight: quantWeights(4), matmul: true},
	{name: "QONNX 2", act: quantActs(2, "ROUND"), weight: quantWeights(2)},
	{name: "int16", act: acts(tensor.I16, step/256, 0, 0), weight: stored},
	{name: "uint16", act: acts(tensor.U16, step/256, 1<<15, 1<<15), weight: stored},
	{name: "int16 of ONNX Runtime", act: contrib16, weight: stored, matmul: true},
	{name: "uint16 off the middle", act: acts(tensor.U16, step/256, 30000, 30000), weight: stored,
		float: "zero point 30000 (want 32768"},
	{name: "activations by channel", act: perChannel, weight: stored, float: "a scale for each place along axis 1"},
}

// TestExporters: what exporters write becomes a program on integers, or the reason
// stands beside the node; it computes what the model says.
func TestExporters(t *testing.T) {
	for i := range forms {
		f := &forms[i]
		t.Run(f.name, func(t *testing.T) {
			b := testenv.Must(onnx.Marshal(network(f)))(t)
			m, g := imported(t, b)
			c := driver.Defaults()
			c.Board, c.Name, c.Cases = "host", "net", 4
			spec := mustLoad(t, c.Board)
			o := testenv.Must(c.CompileGraph(m, g, spec))(t)
			said := strings.Join(c.Diags.Texts(diag.Warning), "\n")
			inFloat := strings.Contains(said, "computed in float") || o.Lowered.Precision == option.Float32.String()
			testenv.Check(t, inFloat == (f.float != "") && strings.Contains(said, f.float),
				"precision %s, said %q, want %q", o.Lowered.Precision, said, f.float)
			for _, v := range o.Lowered.Reference.In {
				testenv.Check(t, !v.Type.DType.IsFloat() || inFloat, "input %s is %s", v, v.Type)
			}
			if v := faithful(t, o); v.Differs() {
				t.Error(v.Text())
			}
		})
	}
}

// TestQuant: QONNX's Quant, of activations and of constants, is what its
// documentation says, in every rounding.
func TestQuant(t *testing.T) {
	modes := map[string]func(x float64) float64{"ROUND": math.RoundToEven, "CEIL": math.Ceil, "FLOOR": math.Floor,
		"ROUND_TO_ZERO": math.Trunc, "DOWN": math.Trunc,
		"UP":        func(x float64) float64 { return math.Copysign(math.Ceil(math.Abs(x)), x) },
		"HALF_UP":   func(x float64) float64 { return math.Floor(x + 0.5) },
		"HALF_DOWN": func(x float64) float64 { return math.Ceil(x - 0.5) }}
	r := rand.New(rand.NewPCG(3, 4))
	for mode, round := range modes {
		for range 12 {
			bits, signed, narrow, constant := 2+r.IntN(15), r.IntN(2), r.IntN(2), r.IntN(2) == 1
			lo, hi := 0.0, math.Exp2(float64(bits))-1-float64(narrow)
			if signed == 1 {
				lo, hi = -math.Exp2(float64(bits-1))+float64(narrow), math.Exp2(float64(bits-1))-1
			}
			zero := []float64{0, 1, 3}[r.IntN(3)]
			s := []float64{0.25}
			if r.IntN(2) == 1 {
				s = []float64{0.25, 0.5, 0.125}
			}
			x := tensor.New(tensor.F32, []int{3, 4, 5})
			for i := range x.Len() {
				x.SetFloat(i, math.Round(r.NormFloat64()*hi)/8) // ties among them
			}
			b := &exported{Rand: r, g: &pb.GraphProto{Name: proto.String("g")}}
			y := ""
			if constant {
				c := b.tensor(tensor.F32, x.Shape, x.Floats()...)
				y = b.op("Add", []string{b.quant(c, s, zero, 3, bits, signed, narrow, mode), "x"})
			} else {
				y = b.quant("x", s, zero, 3, bits, signed, narrow, mode)
			}
			m := testenv.Must(onnx.Marshal(b.model([]int64{3, 4, 5}, y, []int64{3, 4, 5})))(t)
			_, g := imported(t, m)
			in := x
			if constant {
				in = tensor.New(tensor.F32, x.Shape)
			}
			got := irtest.Run(t, g, []*tensor.Dense{in})[0]
			for i := range x.Len() {
				k := s[i/20%len(s)]
				if want := (round(min(max(x.Float(i)/k+zero, lo), hi)) - zero) * k; got.Float(i) != want {
					t.Fatalf("%s, %d bits, signed %d, narrow %d, constant %t, scale %v, zero %v: %v gives %v, "+
						"want %v", mode, bits, signed, narrow, constant, k, zero, x.Float(i), got.Float(i), want)
				}
			}
		}
	}
}
