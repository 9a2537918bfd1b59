// SPDX-License-Identifier: Apache-2.0

// Package convert makes graphs of TensorFlow Lite models: quantised tensors are integers
// with QuantizeLinear and DequantizeLinear around what computes on them; channels-last
// tensors stay as they are, with transpositions around operators that the IR has
// channels-first only. Values are pointers; names are labels that decide nothing.
package convert

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/frontend/onnx/importer"
	onnx "github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/tflite/model"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
)

// opset is the version of ONNX whose operators are used: the first with BitCast.
const opset = 26

// Source is a model as the importer reads it.
type Source struct{ m *model.Model }

// New gives a model to the importer, with an ONNX model that declares its inputs and outputs.
// The error is an importer.Errors.
func New(m *model.Model) (*pb.ModelProto, Source, error) {
	g := m.Graphs[0]
	out := &pb.GraphProto{Name: proto.String(g.Name)}
	if g.Name == "" {
		out.Name = proto.String("main")
	}
	var errs importer.Errors
	declare := func(what string, ts []*model.Tensor) (all []*pb.ValueInfoProto) {
		for i, t := range ts {
			switch {
			case t == nil:
				errs = append(errs, &diag.Diag{Code: "index", Node: what, Msg: "one is no tensor"})
				continue
			case what == inputs && slices.Contains(ts[:i], t):
				errs = append(errs, &diag.Diag{Code: "index", Node: what, Msg: fmt.Sprintf(
					"tensor %q is listed twice; want each input once", t.Name)})
			case what == inputs && t.Text:
				errs = append(errs, &diag.Diag{Code: "dtype-unsupported", Node: what, Msg: fmt.Sprintf(
					"tensor %q is text; want numbers: what makes them of text belongs in front of the model", t.Name)})
			}
			all = append(all, info(t, what == inputs))
		}
		return all
	}
	out.Input, out.Output = declare(inputs, g.Inputs), declare("the outputs of the graph", g.Outputs)
	if len(errs) > 0 {
		return nil, Source{}, errs
	}
	return &pb.ModelProto{IrVersion: proto.Int64(10), ProducerName: proto.String("TensorFlow Lite"),
		DocString: proto.String(m.Description), Graph: out,
		OpsetImport: []*pb.OperatorSetIdProto{{Domain: proto.String(""), Version: proto.Int64(opset)},
			{Domain: proto.String("nncc"), Version: proto.Int64(1)}}}, Source{m}, nil
}

const inputs = "the inputs of the graph"

func info(t *model.Tensor, input bool) *pb.ValueInfoProto {
	shape := &pb.TensorShapeProto{}
	if !input && len(t.Shape) == 0 {
		shape = nil // what it makes decides
	}
	for _, d := range t.Shape {
		shape.Dim = append(shape.Dim, &pb.TensorShapeProto_Dimension{
			Value: &pb.TensorShapeProto_Dimension_DimValue{DimValue: int64(d)}})
	}
	return &pb.ValueInfoProto{Name: proto.String(t.Name), Type: &pb.TypeProto{Value: &pb.TypeProto_TensorType{
		TensorType: &pb.TypeProto_Tensor{ElemType: proto.Int32(int32(t.DType.ONNXCode())), Shape: shape}}}}
}

// Nodes implements importer.Source.
func (s Source) Nodes(b *build.Builder, in []*ir.Value) (out []*ir.Value, state []onnx.State, err error) {
	g := s.m.Graphs[0]
	c := &converter{Builder: b, m: s.m, at: map[*model.Tensor]*place{}, taken: map[string]bool{},
		derived: map[derivation]*model.Tensor{}, vars: newVariables(), calls: &calls{}}
	for _, t := range g.Tensors { // the names of the model's tensors are theirs alone
		c.taken[t.Name] = true
		c.at[t] = &place{name: t.Name}
	}
	for i, t := range g.Inputs {
		c.at[t].v = in[i]
	}
	c.graph(g)
	for _, t := range g.Outputs {
		_ = c.try(func() { out = append(out, c.raw(t)) })
	}
	if len(c.errs) == 0 {
		_ = c.try(func() { state = c.state(&out) })
	}
	if len(c.errs) > 0 {
		return nil, nil, c.errs
	}
	return out, state, nil
}

type converter struct {
	*build.Builder
	m       *model.Model
	prefix  string // of the names of a copy
	at      map[*model.Tensor]*place
	taken   map[string]bool // names
	derived map[derivation]*model.Tensor
	vars    *variables
	calls   *calls
	errs    importer.Errors
}

type place struct {
	name        string
	v           *ir.Value // as it is stored: integers where it is quantised
	real        *ir.Value // as real numbers
	scale, zero *ir.Value
	first       *model.Tensor    // [N,H,W,C] in the order [N,C,H,W]
	later       func() *ir.Value // makes v, which nothing may read
	broken      bool             // what makes it was refused
}

// derivation is what one value that nncc makes of a tensor is for, and what else it follows
// from.
type derivation struct {
	of   *model.Tensor
	what string
}

const maxReported = 20

func (c *converter) try(f func()) error {
	_, err := (&build.Node{}).Run(func(*build.Node) []*ir.Value { f(); return nil })
	if err != nil && err != build.ErrReported && len(c.errs) < maxReported {
		c.errs = append(c.errs, err)
	}
	return err
}

func stop(code, node, format string, args ...any) {
	fail.Check(&diag.Diag{Code: code, Node: node, Msg: fmt.Sprintf(format, args...)})
}

// graph makes the nodes of a graph; operators behind one that was refused go on where they
// do not read its results.
func (c *converter) graph(g *model.Graph) {
	for _, o := range g.Ops {
		if c.TooMany {
			return
		}
		c.tryOp(o)
	}
}

func (c *converter) tryOp(o *model.Op) {
	defer pass.Named("import", &ir.Node{Name: o.String()})
	if c.try(func() { c.op(o) }) == nil {
		return
	}
	for _, t := range o.Out {
		if p := c.place(t); p.v == nil {
			p.broken = true
		}
	}
}

func (c *converter) op(o *model.Op) {
	r, ok := rows[o.Name]
	if !ok {
		hint := "convert the model without it, or compute it outside of the model"
		for begin, what := range foreign {
			if strings.HasPrefix(o.Name, begin) {
				hint = what
			}
		}
		stop("unsupported-op", o.String(), "nncc has no operator %s; %s", o.Name, hint)
	}
	if len(o.In) < r.in || len(o.Out) < r.out || slices.Contains(o.In[:r.in], nil) {
		stop("arity", o.String(), "%d inputs and %d outputs, want at least %d and %d", len(o.In), len(o.Out), r.in,
			r.out)
	}
	if t := handled(o); t != nil && !slices.Contains(variableOps, o.Name) {
		stop("handle", o.String(), "tensor %q names a variable, want one with elements", t.Name)
	}
	for _, t := range o.Out {
		c.define(t, o)
	}
	r.write(&node{c: c, o: o, row: r})
}

var variableOps = []string{"VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE"}

func handled(o *model.Op) *model.Tensor {
	return lists.Find(slices.Concat(o.In, o.Out), func(t *model.Tensor) bool { return t != nil && t.Handle })
}

func (c *converter) place(t *model.Tensor) *place {
	p := c.at[t]
	if p == nil {
		p = &place{name: c.free(c.prefix + t.Name)}
		c.at[t] = p
	}
	return p
}

func (c *converter) define(t *model.Tensor, o *model.Op) {
	switch p := c.place(t); {
	case t.Data != nil:
		stop("ssa", o.String(), "it makes tensor %q, for which the file has data; want one of them", t.Name)
	case p.v != nil || p.later != nil:
		stop("ssa", o.String(), "it makes tensor %q, which is an input or made before; want each tensor defined once",
			t.Name)
	}
}

// put makes a value what a tensor stores.
func (c *converter) put(t *model.Tensor, v *ir.Value) {
	if t.Text && c.Texts[v] == nil {
		stop("dtype-unsupported", "tensor "+onnx.Quote(t.Name),
			"it is text made of numbers; want the numbers, or texts chosen from constants")
	}
	if v.Type.DType != t.DType {
		stop("dtype", "tensor "+onnx.Quote(t.Name), "the file says that it is %s, its operator makes %s", t.DType,
			v.Type.DType)
	}
	c.place(t).v = v
}

// like is a tensor with the quantisation of another one, and another value.
func (c *converter) like(t *model.Tensor, v *ir.Value) *model.Tensor {
	at := *t
	at.Data, at.DType, at.Shape = nil, v.Type.DType, v.Type.Shape
	c.at[&at] = &place{name: v.Name, v: v}
	return &at
}

// derive is a constant that is made of a tensor for a purpose, once for what else it follows
// from: fill changes the tensor's type and gives the elements.
func (c *converter) derive(t *model.Tensor, what, from string, fill func(t *model.Tensor) *tensor.Dense) *model.Tensor {
	key := derivation{t, what + from}
	at := c.derived[key]
	if at == nil {
		made := *t
		d := fill(&made)
		at = c.like(&made, c.Const(c.free(c.place(t).name+"/"+what), d))
		c.derived[key] = at
	}
	return at
}

// raw is a tensor as it is stored, integers where it is quantised; nil where it is absent.
func (c *converter) raw(t *model.Tensor) *ir.Value {
	if t == nil {
		return nil
	}
	p := c.place(t)
	switch {
	case p.v != nil:
	case p.later != nil:
		p.v = p.later()
	case t.Texts != nil:
		p.v = c.Text(p.name, t.Shape, t.Texts)
	case t.Data != nil:
		d, err := t.Const()
		if err != nil {
			stop("data", "tensor "+onnx.Quote(t.Name), "%v", err)
		}
		p.v = c.Const(p.name, d)
	case p.broken:
		fail.Check(build.ErrReported)
	default:
		c.unmade(t)
	}
	return p.v
}

func (c *converter) unmade(t *model.Tensor) {
	node := "tensor " + onnx.Quote(t.Name)
	for _, g := range c.m.Graphs {
		for _, o := range g.Ops {
			if slices.Contains(o.Out, t) {
				stop("order", node, "it is read before %s makes it; want operators in the order in which they run", o)
			}
		}
	}
	stop("order", node, "no operator makes it, and it is no input and has no data; want a constant, or an "+
		"operator that makes it")
}

func (c *converter) real(t *model.Tensor) *ir.Value {
	if t == nil || !t.Quantized() {
		return c.raw(t)
	}
	p := c.place(t)
	if p.real == nil {
		op := "DequantizeLinear"
		if t.DType == tensor.I64 { // ONNX has none of them
			op = "nncc.DequantizeLinear"
		}
		name := c.free(p.name + "/real")
		p.real = c.add(op, []string{name}, c.quantized(c.raw(t), t), axis(t)...)[0]
	}
	return p.real
}

// quantized are the operands of QuantizeLinear and DequantizeLinear of a tensor.
func (c *converter) quantized(x *ir.Value, t *model.Tensor) vals {
	p := c.place(t)
	if p.scale == nil {
		shape := []int{}
		if len(t.Scale) > 1 {
			shape = []int{len(t.Scale)}
		}
		zero := tensor.New(t.DType, shape)
		for i, z := range t.Zero {
			zero.SetInt(i, z)
		}
		p.scale = c.Const(c.free(p.name+"/scale"), tensor.Of(shape, t.Scale))
		p.zero = c.Const(c.free(p.name+"/zero"), zero)
	}
	return vals{x, p.scale, p.zero}
}

func axis(t *model.Tensor) []attr {
	if len(t.Scale) > 1 {
		if t.Axis < 0 {
			stop("quantization", "tensor "+onnx.Quote(t.Name),
				"%d scales of a tensor of shape %v, of which the file does "+
					"not say the dimension; want the dimension that they are of", len(t.Scale), t.Shape)
		}
		return []attr{intAttr("axis", t.Axis)}
	}
	return nil
}

func (c *converter) store(t *model.Tensor, v *ir.Value) {
	if t.Quantized() {
		v = c.add("QuantizeLinear", []string{c.place(t).name}, c.quantized(v, t), axis(t)...)[0]
	}
	c.put(t, v)
}

// realName is the label of a tensor's real numbers, of which store makes it.
func (c *converter) realName(t *model.Tensor) string {
	if name := c.place(t).name; !t.Quantized() {
		return name
	}
	return c.free(c.place(t).name + "/result")
}

// free is a label that no value has: the one given, or one with a number behind it.
func (c *converter) free(base string) string {
	name := base
	for i := 2; c.taken[name]; i++ {
		name = base + strconv.Itoa(i)
	}
	c.taken[name] = true
	return name
}

// vals are operands; nil is one that is left out.
type vals = []*ir.Value

type attr struct {
	name string
	ir.Attr
}

func intAttr(name string, v int) attr       { return attr{name, ir.Int(v)} }
func intsAttr(name string, v ...int) attr   { return attr{name, ir.Ints(v...)} }
func floatAttr(name string, v float32) attr { return attr{name, ir.Float(v)} }
func textAttr(name, v string) attr          { return attr{name, ir.Str(v)} }
func to(d tensor.DType) attr                { return intAttr("to", d.ONNXCode()) }

func flag(name string, v bool) attr {
	if v {
		return intAttr(name, 1)
	}
	return intAttr(name, 0)
}

// add adds the operator op, with its domain in front where that is not ONNX's; its results
// have the labels given.
func (c *converter) add(op string, labels []string, in vals, attrs ...attr) vals {
	return c.addFrom(labels[0], op, labels, in, attrs...)
}

// addFrom is add for a part of the operator whose first result has the name origin.
func (c *converter) addFrom(origin, op string, labels []string, in vals, attrs ...attr) vals {
	domain, name, own := strings.Cut(op, ".")
	if !own {
		domain, name = "", op
	}
	n := &build.Node{Builder: c.Builder, Domain: domain, Op: name, Name: labels[0], Origin: origin, Opset: opset,
		In: slices.Clone(in), Out: labels, Attrs: ir.Attrs{}}
	for _, a := range attrs {
		n.Attrs[a.name] = a.Attr
	}
	out := fail.Must(n.Run(importer.Operator))
	return slices.Clone(out) // they are the node's own list
}
