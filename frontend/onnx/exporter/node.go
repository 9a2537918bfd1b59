// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/onnx/schema"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// outNode is one node of the IR on its way into the model: the ONNX names and
// the types with which its float (or plain integer) operator computes.
type outNode struct {
	*graphWriter
	n       *ir.Node
	in, out []string
	attrs   ir.Attrs
}

// onIntegers are operators that read or write integers as they are, also where
// these stand for reals.
func onIntegers(o *ir.OpDef) bool { return o.Quant == ir.QNone }

// writeNode writes a node with what surrounds it: DequantizeLinear in front of
// quantised inputs; the absorbed activation and QuantizeLinear behind.
func (w *graphWriter) writeNode(n *ir.Node) {
	w.node, w.made = n, 0
	x := &outNode{graphWriter: w, n: n, attrs: n.Attrs.Clone()}
	lo, hasLo := x.attrs["act_min"]
	hi, hasHi := x.attrs["act_max"]
	delete(x.attrs, "act_min")
	delete(x.attrs, "act_max")
	raw := onIntegers(n.Op)
	if n.Op == op.Requantize && n.In[0].Type.Quant != nil && n.Out[0].Type.Quant != nil {
		// Nothing is between the two.
		name := w.name(n.Out[0])
		w.describe(name, n.Out[0].Type)
		w.quantise(n.Out[0], w.dequantised(n.In[0]), name)
		return
	}
	x.operands(raw)
	behind := x.results(raw)
	act := ""
	if (hasLo || hasHi) && len(x.out) > 0 {
		act = x.out[0]
		x.out[0] = w.temp(act+"_linear", w.types[act])
	}
	write := exporters[n.Op.Name]
	if n.Op.Domain == "" && write == nil {
		write = (*outNode).plain
	}
	if write == nil {
		w.ownOperator(x)
	} else {
		write(x)
	}
	if act != "" {
		x.activation(x.out[0], act, lo, hasLo, hi, hasHi)
	}
	for _, a := range behind {
		w.quantise(a.v, a.real, a.name)
	}
}

// operands names what the operator reads: quantised values as reals unless raw.
func (x *outNode) operands(raw bool) {
	for _, v := range x.n.In {
		if v != nil && v.Type.Quant != nil && !raw {
			x.in = append(x.in, x.dequantised(v))
		} else {
			x.in = append(x.in, x.ref(v))
		}
	}
}

type realResult struct {
	v          *ir.Value
	real, name string
}

// results names what the operator makes, and gives what is to be quantised behind it.
// Optional results that nothing reads are left out.
func (x *outNode) results(raw bool) (behind []realResult) {
	n := x.n
	needed := n.Op.MinOut
	if sch := schema.Lookup(n.Op.Domain, n.Op.Name, int64(x.opset)); sch != nil {
		needed = max(needed, sch.MinOut)
	}
	for i, v := range n.Out {
		name := x.name(v)
		if i >= needed && len(v.Uses()) == 0 && !x.g.IsOutput(v) && n.Op.MaxOut >= 0 {
			x.out = append(x.out, "")
			continue
		}
		x.describe(name, v.Type)
		if v.Type.Quant != nil && !raw {
			reals := x.temp(name+"_real", ir.T(tensor.F32, v.Type.Shape...))
			behind = append(behind, realResult{v, reals, name})
			name = reals
		}
		x.out = append(x.out, name)
	}
	for len(x.out) > 0 && x.out[len(x.out)-1] == "" {
		x.out = x.out[:len(x.out)-1]
	}
	return behind
}

func (x *outNode) activation(in, out string, lo ir.Attr, hasLo bool, hi ir.Attr, hasHi bool) {
	if hasLo && lo.Float == 0 && (!hasHi || math.IsInf(float64(hi.Float), 1)) {
		x.emit("Relu", nil, []string{in}, []string{out})
		return
	}
	bound := func(a ir.Attr, has bool, suffix string) string {
		if !has || math.IsInf(float64(a.Float), 0) {
			return ""
		}
		return x.constant(out+suffix, tensor.FromFloats(x.types[in].DType, nil, []float64{float64(a.Float)}))
	}
	x.emit("Clip", nil, []string{in, bound(lo, hasLo, "_min"), bound(hi, hasHi, "_max")}, []string{out})
}

func (w *graphWriter) temp(name string, t ir.Type) string {
	s := w.unique(name)
	w.describe(s, t)
	return s
}

func (w *graphWriter) constant(name string, d *tensor.Dense) string {
	s := w.unique(name)
	w.types[s] = ir.T(d.DType, d.Shape...)
	w.p.Initializer = append(w.p.Initializer, model.TensorProto(s, d))
	return s
}

func (w *graphWriter) quantParams(v *ir.Value) (scale, zero string, attrs ir.Attrs) {
	q := v.Type.Quant
	var shape []int
	if q.PerAxis() {
		shape = []int{len(q.Scale)}
		attrs = ir.Attrs{"axis": ir.Int(q.Axis)}
	}
	z := tensor.New(v.Type.DType, shape)
	zeros := true
	for i, k := range q.Zero {
		z.SetInt(i, int64(k))
		zeros = zeros && k == 0
	}
	name := w.name(v)
	scale = w.constant(name+"_scale", tensor.Of(shape, append([]float32{}, q.Scale...)))
	if v.Type.DType == tensor.I32 && zeros {
		return scale, "", attrs // DequantizeLinear of int32 has no zero point
	}
	return scale, w.constant(name+"_zero_point", z), attrs
}

func (w *graphWriter) dequantised(v *ir.Value) string {
	if s := w.real[v]; s != "" {
		return s
	}
	scale, zero, attrs := w.quantParams(v)
	s := w.temp(w.name(v)+"_dequantized", ir.T(tensor.F32, v.Type.Shape...))
	w.emit("DequantizeLinear", attrs, []string{w.ref(v), scale, zero}, []string{s})
	w.real[v] = s
	return s
}

func (w *graphWriter) quantise(v *ir.Value, reals, name string) {
	scale, zero, attrs := w.quantParams(v)
	w.emit("QuantizeLinear", attrs, []string{reals, scale, zero}, []string{name})
}

// emit writes a standard operator after it was checked that the opset has it,
// with these attributes and types. Attributes that the opset does not know are
// left out where they have their default.
func (w *graphWriter) emit(name string, attrs ir.Attrs, in, out []string) {
	for len(in) > 0 && in[len(in)-1] == "" {
		in = in[:len(in)-1]
	}
	sch := schema.Lookup("", name, int64(w.opset))
	if sch == nil || sch.Deprecated {
		w.cannot("operator %s does not exist", name)
		return
	}
	if len(in) < sch.MinIn || len(in) > sch.MaxIn() {
		w.cannot("operator %s has %d inputs, want %d to %d", name, len(in), sch.MinIn, sch.MaxIn())
	}
	domain, kept := "", ir.Attrs{}
	for _, k := range attrs.Names() {
		switch {
		case sch.Attr(k) != nil:
			kept[k] = attrs[k]
		case isDefault(name, k, attrs[k]):
		case w.opt.Custom && op.Get("", name).Declares(k):
			domain, kept[k] = ownDomain, attrs[k]
		default:
			w.cannot("operator %s has no attribute %s", name, k)
		}
	}
	w.custom = w.custom || domain != ""
	for len(out) < sch.MinOut { // outputs that the IR leaves out
		out = append(out, w.unique(out[0]+"_unused"))
	}
	bound := map[string]tensor.DType{} // by type variable
	w.checkTypes(sch, bound, "input", in, sch.Input)
	w.checkTypes(sch, bound, "output", out, sch.Output)
	w.append(domain, name, kept, in, out)
}

func (w *graphWriter) checkTypes(sch *schema.Schema, bound map[string]tensor.DType, what string, names []string,
	param func(int) *schema.Param) {
	for i, s := range names {
		p := param(i)
		if s == "" || p == nil {
			continue
		}
		t, ok := w.types[s]
		if !ok && what == "output" {
			continue
		} else if !ok {
			panic(bug.Errorf("export: %s has no type", s))
		}
		set, variable := sch.Allowed(p)
		if !set.HasTensor(int32(t.DType.ONNXCode())) {
			w.cannot("operator %s does not take %s as %s %d (%s)", sch.Name, t.DType.ONNXName(), what, i, p.Name)
		}
		if variable == "" || p.Opt == schema.Mixed {
			continue
		}
		if old, ok := bound[variable]; ok && old != t.DType {
			w.cannot("operator %s wants one type for its operands; %s %d (%s) is %s, another %s", sch.Name, what, i,
				p.Name, t.DType.ONNXName(), old.ONNXName())
		}
		bound[variable] = t.DType
	}
}

func (w *graphWriter) cannot(format string, args ...any) {
	where := ""
	if w.node != nil {
		where = w.node.String() + ": "
	}
	w.fail(fmt.Errorf("%scannot be written for opset %d: %s", where, w.opset, fmt.Sprintf(format, args...)))
}

func (w *graphWriter) append(domain, name string, attrs ir.Attrs, in, out []string) *pb.NodeProto {
	n := &pb.NodeProto{Name: proto.String(w.nodeName(name)), OpType: proto.String(name), Input: in, Output: out}
	if domain != "" {
		n.Domain = proto.String(domain)
	}
	for _, k := range attrs.Names() {
		n.Attribute = append(n.Attribute, attrProto(k, attrs[k]))
	}
	w.p.Node = append(w.p.Node, n)
	return n
}

func isDefault(name, attr string, a ir.Attr) bool {
	if attr == "dilations" {
		return !slices.ContainsFunc(a.Ints, func(d int64) bool { return d != 1 })
	}
	d := op.Get("", name)
	if d == nil {
		return false
	}
	for _, s := range d.Attrs {
		if s.Name == attr {
			return s.Def != nil && a.Equal(*s.Def)
		}
	}
	return false
}

func (x *outNode) plain() {
	if len(x.n.Body) > 0 {
		x.withBodies()
		return
	}
	x.emit(x.n.Op.Name, x.attrs, x.in, x.out)
}

func (w *graphWriter) ownOperator(x *outNode) {
	if !w.opt.Custom {
		w.fatal = true
		w.fail(ir.Errf(x.n, "export", "operator %s of domain %s has no form in ONNX", x.n.Op.Name, x.n.Op.Domain))
		return
	}
	w.custom = true
	w.append(ownDomain, x.n.Op.Name, x.attrs, x.in, x.out)
}

func attrProto(name string, a ir.Attr) *pb.AttributeProto {
	p := &pb.AttributeProto{Name: proto.String(name)}
	switch a.Kind {
	case ir.AttrInt:
		p.Type, p.I = pb.AttributeProto_INT.Enum(), proto.Int64(a.Int)
	case ir.AttrFloat:
		p.Type, p.F = pb.AttributeProto_FLOAT.Enum(), proto.Float32(a.Float)
	case ir.AttrString:
		p.Type, p.S = pb.AttributeProto_STRING.Enum(), []byte(a.String)
	case ir.AttrInts:
		p.Type, p.Ints = pb.AttributeProto_INTS.Enum(), a.Ints
	case ir.AttrFloats:
		p.Type, p.Floats = pb.AttributeProto_FLOATS.Enum(), a.Floats
	case ir.AttrStrings:
		p.Type = pb.AttributeProto_STRINGS.Enum()
		p.Strings = lists.Map(a.Strings, func(s string) []byte { return []byte(s) })
	case ir.AttrTensor:
		p.Type, p.T = pb.AttributeProto_TENSOR.Enum(), model.TensorProto("", a.Tensor)
	default:
		panic(bug.Errorf("export: attribute %s is of kind %d", name, a.Kind))
	}
	return p
}

// withBodies writes a node with subgraphs. Those of the IR are closed: what
// they read of the graph around comes in as inputs, in ONNX by name. Only If
// is known, whose inputs behind the condition are all such.
func (x *outNode) withBodies() {
	names := []string{"then_branch", "else_branch"}
	if x.n.Op.Name != "If" || len(x.n.Body) != len(names) {
		x.fatal = true
		x.fail(ir.Errf(x.n, "export", "operator %s with %d subgraphs cannot be written", x.n.Op.Name, len(x.n.Body)))
		return
	}
	p := x.append("", x.n.Op.Name, x.attrs, x.in[:1], x.out)
	for i, b := range x.n.Body {
		s := x.exporter.writer(b)
		s.p.Name = proto.String(x.number(x.taken, b.Name))
		for k, v := range b.In {
			s.names[v] = x.in[1+k]
			s.types[x.in[1+k]] = v.Type
		}
		s.outputs()
		s.body()
		p.Attribute = append(p.Attribute, &pb.AttributeProto{Name: proto.String(names[i]),
			Type: pb.AttributeProto_GRAPH.Enum(), G: s.p})
	}
}
