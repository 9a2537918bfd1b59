package onnx

import (
	"fmt"
	"strconv"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/onnx/schema"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// nodeCtx is one ONNX node on its way into the graph.
type nodeCtx struct {
	im     *importer
	p      *pb.NodeProto
	name   string
	opset  int // version of the node's own domain
	onnx   int // version of ai.onnx, for expansions into standard operators
	in     []*ir.Value
	attrs  ir.Attrs
	scope  *scope
	opsets map[string]int
}

func (c *nodeCtx) errf(code, format string, args ...any) error {
	return &ir.Diag{Code: code, Node: c.p.GetOpType() + " " + strconv.Quote(c.name), Msg: fmt.Sprintf(format, args...)}
}

// nodeName is the name of a node, or one made from its operator and place.
func nodeName(n *pb.NodeProto, i int) string {
	if s := n.GetName(); s != "" {
		return s
	}
	return n.GetOpType() + "_" + strconv.Itoa(i)
}

func (im *importer) node(n *pb.NodeProto, index int, s *scope, opsets map[string]int) error {
	dom := domain(n.GetDomain())
	c := &nodeCtx{im: im, p: n, name: s.prefix + nodeName(n, index), scope: s, opsets: opsets, onnx: opsets[""]}
	var ok bool
	if c.opset, ok = opsets[dom]; !ok {
		c.opset = 1
		if dom == "" {
			return c.errf("opset", "the model imports no opset of the standard domain")
		}
	}
	for _, name := range n.GetInput() {
		if name == "" {
			c.in = append(c.in, nil)
			continue
		}
		v, ok := s.find(name)
		if !ok {
			return c.errf("input-missing", "input %s is produced by no node, input or initializer before it", quote(name))
		}
		if v == nil {
			return errPoisoned
		}
		c.in = append(c.in, v)
	}
	if f := im.funcs[funcKey(dom, n.GetOpType(), n.GetOverload())]; f != nil {
		return im.call(c, f)
	}
	if err := c.readAttrs(); err != nil {
		return err
	}
	var out []*ir.Value
	var err error
	if up := upgraders[opKey{dom, n.GetOpType()}]; up != nil {
		out, err = up(c)
	} else {
		out, err = c.plain()
	}
	if err != nil {
		return err
	}
	return c.bindOutputs(out)
}

type opKey struct{ domain, name string }

func (c *nodeCtx) bindOutputs(out []*ir.Value) error {
	for i, name := range c.p.GetOutput() {
		if name == "" {
			continue
		}
		if i >= len(out) || out[i] == nil {
			return c.errf("outputs", "output %d (%s) is not supported", i, quote(name))
		}
		if _, dup := c.scope.values[name]; dup {
			return c.errf("ssa", "output %s is already the name of another value", quote(name))
		}
		c.scope.values[name] = out[i]
	}
	return nil
}

// readAttrs converts the attributes that the IR knows; subgraphs are read by
// the operators that have them.
func (c *nodeCtx) readAttrs() error {
	c.attrs = ir.Attrs{}
	for _, a := range c.p.GetAttribute() {
		v, ok, err := c.im.attr(a)
		if err != nil {
			return c.errf("attr", "attribute %s: %v", quote(a.GetName()), err)
		}
		if ok {
			c.attrs[a.GetName()] = v
		}
	}
	return nil
}

func (im *importer) attr(a *pb.AttributeProto) (ir.Attr, bool, error) {
	switch a.GetType() {
	case pb.AttributeProto_INT:
		return ir.Attr{Kind: ir.AttrInt, Int: a.GetI()}, true, nil
	case pb.AttributeProto_FLOAT:
		return ir.Float(a.GetF()), true, nil
	case pb.AttributeProto_STRING:
		return ir.Str(string(a.GetS())), true, nil
	case pb.AttributeProto_INTS:
		return ir.Attr{Kind: ir.AttrInts, Ints: append([]int64{}, a.GetInts()...)}, true, nil
	case pb.AttributeProto_FLOATS:
		return ir.Attr{Kind: ir.AttrFloats, Floats: append([]float32{}, a.GetFloats()...)}, true, nil
	case pb.AttributeProto_STRINGS:
		var s []string
		for _, b := range a.GetStrings() {
			s = append(s, string(b))
		}
		return ir.Attr{Kind: ir.AttrStrings, Strings: s}, true, nil
	case pb.AttributeProto_TENSOR:
		d, err := im.m.Tensor(a.GetT())
		if err != nil {
			return ir.Attr{}, false, err
		}
		return ir.Tens(d), true, nil
	case pb.AttributeProto_GRAPH, pb.AttributeProto_GRAPHS:
		return ir.Attr{}, false, nil
	case pb.AttributeProto_SPARSE_TENSOR, pb.AttributeProto_SPARSE_TENSORS:
		return ir.Attr{}, false, fmt.Errorf("sparse tensors are not supported")
	}
	return ir.Attr{}, false, fmt.Errorf("type %v is not supported", a.GetType())
}

// plain is the node as the operator of the same name.
func (c *nodeCtx) plain() ([]*ir.Value, error) {
	o := op.Get(domain(c.p.GetDomain()), c.p.GetOpType())
	if o == nil {
		if d := c.p.GetDomain(); d == "com.microsoft" || d == "" {
			o = op.Get("", c.p.GetOpType()) // contributed before it was standard
		}
	}
	if o == nil {
		return nil, c.unsupported()
	}
	return c.build(o, c.attrs, len(c.p.GetOutput()), c.in...)
}

func (c *nodeCtx) unsupported() error {
	d := domain(c.p.GetDomain())
	if schema.Lookup(d, c.p.GetOpType(), int64(c.opset)) == nil {
		if d == "" {
			return c.errf("op-unknown", "ONNX opset %d has no operator %s", c.opset, c.p.GetOpType())
		}
		return c.errf("op-custom", "operator %s of domain %s is unknown; define it by an ONNX function (in the model, or in a file given with --functions)", c.p.GetOpType(), quote(d))
	}
	return c.errf("op-unsupported", "operator %s is not supported", c.p.GetOpType())
}

// build adds a node for operator o, folds it when everything is known, and
// returns its outputs.
func (c *nodeCtx) build(o *ir.OpDef, attrs ir.Attrs, nout int, in ...*ir.Value) ([]*ir.Value, error) {
	if err := c.checkAttrs(o, attrs); err != nil {
		return nil, err
	}
	for len(in) > 0 && in[len(in)-1] == nil {
		in = in[:len(in)-1]
	}
	n := &ir.Node{Name: c.name, Op: o, Attrs: attrs, In: in, Origin: []string{c.name}, Out: make([]*ir.Value, max(nout, 1))}
	names := make([]string, len(n.Out))
	for i := range names {
		if i < len(c.p.GetOutput()) {
			names[i] = c.p.GetOutput()[i]
		}
		if names[i] == "" {
			names[i] = c.name + "." + strconv.Itoa(i)
		}
	}
	if out, ok, err := c.im.fold(n, names); ok || err != nil {
		return out, err
	}
	if err := c.im.g.AddNode(n, names); err != nil {
		return nil, err
	}
	return n.Out, nil
}

// sub is build for the inner nodes of an expansion: one output, own name.
func (c *nodeCtx) sub(o *ir.OpDef, suffix string, attrs ir.Attrs, in ...*ir.Value) (*ir.Value, error) {
	if attrs == nil {
		attrs = ir.Attrs{}
	}
	n := &ir.Node{Name: c.name + suffix, Op: o, Attrs: attrs, In: in, Origin: []string{c.name}, Out: make([]*ir.Value, 1)}
	names := []string{c.name + suffix}
	if out, ok, err := c.im.fold(n, names); ok || err != nil {
		if err != nil {
			return nil, err
		}
		return out[0], nil
	}
	if err := c.im.g.AddNode(n, names); err != nil {
		return nil, err
	}
	return n.Out[0], nil
}

// constant adds a constant that an expansion needs.
func (c *nodeCtx) constant(suffix string, d *tensor.Dense) *ir.Value {
	return c.im.g.AddConst(c.name+suffix, d)
}

// checkAttrs refuses attributes that the operator does not have.
func (c *nodeCtx) checkAttrs(o *ir.OpDef, attrs ir.Attrs) error {
	for _, name := range attrs.Names() {
		known := false
		for _, s := range o.Attrs {
			known = known || s.Name == name
		}
		if known {
			continue
		}
		sc := schema.Lookup(domain(c.p.GetDomain()), c.p.GetOpType(), int64(c.opset))
		if sc != nil {
			for _, a := range sc.Attrs {
				if a.Name == name {
					known = true
				}
			}
			if !known {
				return c.errf("attr-unknown", "attribute %s is not defined for this operator in opset %d", quote(name), c.opset)
			}
		}
		// A standard attribute without meaning for the result.
		delete(attrs, name)
	}
	return nil
}

// fold evaluates a node whose inputs are all constants, and Shape and Size of
// any value: shapes are static here.
func (im *importer) fold(n *ir.Node, names []string) ([]*ir.Value, bool, error) {
	in := make([]*tensor.Dense, len(n.In))
	shapeOnly := n.Op == op.Shape || n.Op == op.Size
	for i, v := range n.In {
		switch {
		case v == nil:
		case v.Const != nil:
			in[i] = v.Const
		case shapeOnly:
			in[i] = &tensor.Dense{DType: v.Type.DType, Shape: v.Type.Shape}
		default:
			return nil, false, nil
		}
	}
	if n.Op.Impure || n.Op.Eval == nil || len(n.Body) > 0 || n.Op == op.DequantizeLinear {
		return nil, false, nil // a DequantizeLinear of constants says how they are quantised
	}
	types, err := ir.InferNode(n)
	if err != nil {
		return nil, false, err
	}
	for i := range n.Out {
		if k, err := tensor.Elems(types[i].Shape); err != nil || k > maxFoldElems {
			return nil, false, ir.Errf(n, "fold-large", "would compute a constant of shape %v: too large, more memory than any target has", types[i].Shape)
		}
	}
	out, err := ir.EvalNode(n, in)
	if err != nil {
		return nil, false, err
	}
	vs := make([]*ir.Value, len(n.Out))
	for i := range vs {
		if i < len(out) && out[i] != nil {
			vs[i] = im.g.AddConst(names[i], out[i])
		}
	}
	return vs, true, nil
}
