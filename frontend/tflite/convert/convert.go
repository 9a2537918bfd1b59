// SPDX-License-Identifier: Apache-2.0

// Package convert writes TensorFlow Lite models as ONNX models that compute the same:
// quantised tensors as integers with QuantizeLinear and DequantizeLinear around what
// computes on them, channels-last tensors as they are, with transpositions around
// operators that ONNX has channels-first only.
package convert

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/frontend/onnx/importer"
	onnx "github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/tflite/model"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/tensor"
	"google.golang.org/protobuf/proto"
)

// opset is that of the models written: the first with BitCast.
const opset = 26

// ownDomain is that of operators that ONNX lacks.
const ownDomain = "nncc"

// ONNX writes a model as ONNX, with the pairs of outputs and inputs that are its state.
// The error is an importer.Errors with all reasons.
func ONNX(m *model.Model) (*pb.ModelProto, []onnx.State, error) {
	g := m.Graphs[0]
	name := g.Name
	if name == "" {
		name = "main"
	}
	c := newConverter(m, g, name)
	for _, t := range g.Inputs {
		if t == nil {
			c.fail("index", "the inputs of the graph", "one is no tensor")
			continue
		}
		c.out.Input = append(c.out.Input, c.info(t))
	}
	for _, o := range g.Ops {
		c.op(o)
	}
	for _, t := range g.Outputs {
		if t == nil {
			c.fail("index", "the outputs of the graph", "one is no tensor")
			continue
		}
		c.raw(t)
		c.out.Output = append(c.out.Output, c.info(t))
	}
	if len(c.errs) > 0 {
		return nil, nil, c.errs
	}
	state := c.state()
	return &pb.ModelProto{IrVersion: proto.Int64(10), ProducerName: proto.String("TensorFlow Lite"),
		DocString: proto.String(m.Description), Graph: c.out,
		OpsetImport: []*pb.OperatorSetIdProto{{Domain: proto.String(""), Version: proto.Int64(opset)},
			{Domain: proto.String(ownDomain), Version: proto.Int64(1)}}}, state, nil
}

// newConverter begins a graph: the names of its tensors are theirs alone.
func newConverter(m *model.Model, g *model.Graph, name string) *converter {
	c := &converter{m: m, g: g, out: &pb.GraphProto{Name: proto.String(name)}, taken: map[string]bool{},
		names: map[naming]string{}, data: map[string]bool{}, firsts: map[string]*model.Tensor{},
		later: map[string]func(){}, vars: newVariables(), calls: &calls{}}
	for _, t := range g.Tensors {
		c.taken[t.Name] = true
	}
	return c
}

// naming is what one value that nncc makes is: of a tensor, for a purpose, and what else
// it follows from.
type naming struct{ tensor, what, of string }

// converter is one graph being written.
type converter struct {
	m     *model.Model
	g     *model.Graph
	out   *pb.GraphProto
	taken map[string]bool   // names of values
	names map[naming]string // those that own gave
	data  map[string]bool   // constants that have been written
	// firsts are tensors [N,H,W,C] in the order [N,C,H,W], by name.
	firsts map[string]*model.Tensor
	// later writes values that nothing may read.
	later map[string]func()
	vars  *variables
	calls *calls
	at    *model.Op
	errs  importer.Errors
}

// maxReported bounds how many errors one conversion lists.
const maxReported = 20

func (c *converter) fail(code, node, format string, args ...any) {
	if len(c.errs) < maxReported {
		c.errs = append(c.errs, &diag.Diag{Code: code, Node: node, Msg: fmt.Sprintf(format, args...)})
	}
}

// op writes one operator.
func (c *converter) op(o *model.Op) {
	c.at = o
	r, ok := rows[o.Name]
	if !ok {
		c.fail("unsupported-op", o.String(), "nncc has no operator %s", o.Name)
		return
	}
	n := &operands{c: c, o: o, row: r}
	if len(o.In) < r.in || len(o.Out) < r.out || slices.Contains(o.In[:r.in], nil) {
		c.fail("arity", o.String(), "%d inputs and %d outputs, want at least %d and %d", len(o.In), len(o.Out), r.in,
			r.out)
		return
	}
	if t := handled(o); t != nil && !slices.Contains(variableOps, o.Name) {
		c.fail("handle", o.String(), "tensor %q names a variable, want one with elements", t.Name)
		return
	}
	if err := r.write(n); err != nil {
		c.errs = append(c.errs, &diag.Diag{Code: "unsupported", Node: o.String(), Msg: err.Error()})
	}
}

// variableOps are the operators that take or give names of variables.
var variableOps = []string{"VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE"}

// handled is an operand or result that is the name of a variable, nil where none is.
func handled(o *model.Op) *model.Tensor {
	for _, t := range slices.Concat(o.In, o.Out) {
		if t != nil && t.Handle {
			return t
		}
	}
	return nil
}

// info declares a tensor as an input or output.
func (c *converter) info(t *model.Tensor) *pb.ValueInfoProto {
	shape := &pb.TensorShapeProto{}
	for _, d := range t.Shape {
		shape.Dim = append(shape.Dim, &pb.TensorShapeProto_Dimension{
			Value: &pb.TensorShapeProto_Dimension_DimValue{DimValue: int64(d)}})
	}
	return &pb.ValueInfoProto{Name: proto.String(t.Name), Type: &pb.TypeProto{Value: &pb.TypeProto_TensorType{
		TensorType: &pb.TypeProto_Tensor{ElemType: proto.Int32(int32(t.DType.ONNXCode())), Shape: shape}}}}
}

// constant adds an initializer, once for a name.
func (c *converter) constant(name string, d *tensor.Dense) string {
	if !c.data[name] {
		c.data[name] = true
		c.out.Initializer = append(c.out.Initializer, onnx.TensorProto(name, d))
	}
	return name
}

// node adds a node with one result, and gives its name.
func (c *converter) node(op, result string, in []string, attrs ...*pb.AttributeProto) string {
	c.nodes(op, []string{result}, in, attrs...)
	return result
}

// nodes adds a node of the operator op, with its domain in front where that is not ONNX's.
func (c *converter) nodes(op string, out, in []string, attrs ...*pb.AttributeProto) {
	domain, name, own := strings.Cut(op, ".")
	if !own {
		domain, name = "", op
	}
	c.out.Node = append(c.out.Node, &pb.NodeProto{OpType: proto.String(name), Domain: proto.String(domain),
		Name: proto.String(out[0]), Input: in, Output: out, Attribute: attrs})
}

// raw is a tensor as it is stored: integers where it is quantised.
func (c *converter) raw(t *model.Tensor) string {
	if t == nil {
		return ""
	}
	if write := c.later[t.Name]; write != nil {
		delete(c.later, t.Name)
		write()
	}
	if t.Data != nil && !c.data[t.Name] {
		d, err := t.Const()
		if err != nil {
			c.fail("data", c.at.String(), "%v", err)
			return t.Name
		}
		c.constant(t.Name, d)
	}
	return t.Name
}

// real is a tensor as real numbers.
func (c *converter) real(t *model.Tensor) string {
	if t == nil || !t.Quantized() {
		return c.raw(t)
	}
	name, made := c.own(t.Name, "real", "")
	if !made {
		op := "DequantizeLinear"
		if t.DType == tensor.I64 { // ONNX has none of them
			op = "nncc.DequantizeLinear"
		}
		c.node(op, name, c.quantized(c.raw(t), t), axis(t)...)
	}
	return name
}

// first is a tensor [N,H,W,C] in the order [N,C,H,W]; nil where there is none yet.
func (c *converter) first(t *model.Tensor) *model.Tensor { return c.firsts[t.Name] }

// quantized are the operands of QuantizeLinear and DequantizeLinear of a tensor.
func (c *converter) quantized(x string, t *model.Tensor) []string {
	shape := []int{}
	if len(t.Scale) > 1 {
		shape = []int{len(t.Scale)}
	}
	zero := tensor.New(t.DType, shape)
	for i, z := range t.Zero {
		zero.SetInt(i, z)
	}
	scaleName, _ := c.own(t.Name, "scale", "")
	zeroName, _ := c.own(t.Name, "zero", "")
	return []string{x, c.constant(scaleName, tensor.Of(shape, t.Scale)), c.constant(zeroName, zero)}
}

func axis(t *model.Tensor) []*pb.AttributeProto {
	if len(t.Scale) > 1 {
		return []*pb.AttributeProto{intAttr("axis", t.Axis)}
	}
	return nil
}

// realOut is the name under which an operator has to leave the real numbers of a
// tensor; store makes the tensor of them.
func (c *converter) realOut(t *model.Tensor) string {
	if !t.Quantized() {
		return t.Name
	}
	name, _ := c.own(t.Name, "result", "")
	return name
}

func (c *converter) store(t *model.Tensor) {
	if t.Quantized() {
		c.node("QuantizeLinear", t.Name, c.quantized(c.realOut(t), t), axis(t)...)
	}
}

// fresh is a name for a value beside a tensor.
func (c *converter) fresh(t *model.Tensor, what string) string { return c.free(t.Name + "/" + what) }

// free is a name that no value has: the one given, or one with a number behind it.
func (c *converter) free(base string) string {
	name := base
	for i := 2; c.taken[name]; i++ {
		name = base + strconv.Itoa(i)
	}
	c.taken[name] = true
	return name
}

// own is the name of the one value that is made of a tensor for a purpose, and whether it was
// asked for before; of is what else the value follows from.
func (c *converter) own(tensor, what, of string) (name string, before bool) {
	key := naming{tensor, what, of}
	if name, before = c.names[key]; !before {
		name = c.free(tensor + "/" + what)
		c.names[key] = name
	}
	return name, before
}

func intAttr(name string, v int) *pb.AttributeProto {
	return &pb.AttributeProto{Name: proto.String(name), Type: pb.AttributeProto_INT.Enum(), I: proto.Int64(int64(v))}
}

func intsAttr(name string, v ...int) *pb.AttributeProto {
	a := &pb.AttributeProto{Name: proto.String(name), Type: pb.AttributeProto_INTS.Enum()}
	for _, x := range v {
		a.Ints = append(a.Ints, int64(x))
	}
	return a
}

func floatAttr(name string, v float32) *pb.AttributeProto {
	return &pb.AttributeProto{Name: proto.String(name), Type: pb.AttributeProto_FLOAT.Enum(), F: proto.Float32(v)}
}

func textAttr(name, v string) *pb.AttributeProto {
	return &pb.AttributeProto{Name: proto.String(name), Type: pb.AttributeProto_STRING.Enum(), S: []byte(v)}
}
