package onnx

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir"
)

// maxInline bounds functions within functions.
const maxInline = 32

// call inlines a model-local or library function: its nodes, with the call's
// inputs and attributes in place of the formal ones.
func (im *importer) call(c *nodeCtx, f *pb.FunctionProto) error {
	key := funcKey(f.GetDomain(), f.GetName(), f.GetOverload())
	if slices.Contains(im.inline, key) || len(im.inline) >= maxInline {
		return c.errf("function-recursion", "function %s calls itself, directly or through others: recursion cannot be expanded", quote(f.GetName()))
	}
	im.inline = append(im.inline, key)
	defer func() { im.inline = im.inline[:len(im.inline)-1] }()

	given := map[string]*pb.AttributeProto{}
	for _, a := range f.GetAttributeProto() {
		given[a.GetName()] = a // defaults
	}
	for _, a := range c.p.GetAttribute() {
		given[a.GetName()] = a
	}
	inner := newScope(nil, c.name+"/")
	for i, name := range f.GetInput() {
		if i < len(c.in) && c.in[i] != nil {
			inner.values[name] = c.in[i]
		}
	}
	if len(c.in) > len(f.GetInput()) {
		return c.errf("arity", "has %d inputs, function %s takes %d", len(c.in), quote(f.GetName()), len(f.GetInput()))
	}
	opsets := map[string]int{}
	for _, o := range f.GetOpsetImport() {
		opsets[domain(o.GetDomain())] = int(o.GetVersion())
	}
	if len(opsets) == 0 {
		opsets = c.opsets
	}
	before := len(im.errs)
	for i, n := range f.GetNode() {
		n, err := substitute(n, given)
		if err != nil {
			return c.errf("function-attr", "in function %s: %v", quote(f.GetName()), err)
		}
		// Inputs of the function that the call leaves out are absent inside, too.
		n = dropAbsent(n, f, inner)
		im.body([]*pb.NodeProto{named(n, i)}, inner, opsets)
	}
	if len(im.errs) > before {
		return errPoisoned
	}
	out := make([]*ir.Value, len(f.GetOutput()))
	for i, name := range f.GetOutput() {
		v, ok := inner.find(name)
		if !ok {
			return c.errf("function-output", "function %s does not produce its output %s", quote(f.GetName()), quote(name))
		}
		if v == nil {
			return errPoisoned
		}
		out[i] = v
	}
	return c.bindOutputs(out)
}

// named gives nodes without a name one from their place in the function.
func named(n *pb.NodeProto, i int) *pb.NodeProto {
	if n.GetName() == "" {
		n = proto.Clone(n).(*pb.NodeProto)
		s := nodeName(n, i)
		n.Name = &s
	}
	return n
}

// substitute replaces references to the function's attributes by the call's.
// An attribute that the call leaves out and that has no default disappears.
func substitute(n *pb.NodeProto, given map[string]*pb.AttributeProto) (*pb.NodeProto, error) {
	refs := false
	for _, a := range n.GetAttribute() {
		refs = refs || a.GetRefAttrName() != "" || a.GetG() != nil
	}
	if !refs {
		return n, nil
	}
	n = proto.Clone(n).(*pb.NodeProto)
	var attrs []*pb.AttributeProto
	for _, a := range n.GetAttribute() {
		if g := a.GetG(); g != nil {
			for i, inner := range g.GetNode() {
				s, err := substitute(inner, given)
				if err != nil {
					return nil, err
				}
				g.Node[i] = s
			}
		}
		if a.GetRefAttrName() == "" {
			attrs = append(attrs, a)
			continue
		}
		if v := given[a.GetRefAttrName()]; v != nil {
			v = proto.Clone(v).(*pb.AttributeProto)
			name := a.GetName()
			v.Name = &name
			attrs = append(attrs, v)
		}
	}
	n.Attribute = attrs
	return n, nil
}

// dropAbsent blanks references to formal inputs that the call did not give.
func dropAbsent(n *pb.NodeProto, f *pb.FunctionProto, s *scope) *pb.NodeProto {
	absent := func(name string) bool {
		return name != "" && slices.Contains(f.GetInput(), name) && s.values[name] == nil
	}
	if !slices.ContainsFunc(n.GetInput(), absent) {
		return n
	}
	n = proto.Clone(n).(*pb.NodeProto)
	for i, name := range n.Input {
		if absent(name) {
			n.Input[i] = ""
		}
	}
	return n
}

// Functions lists the model-local functions, as domain::name.
func (m *Model) Functions() []string {
	var s []string
	for _, f := range m.Proto.GetFunctions() {
		s = append(s, strings.TrimPrefix(f.GetDomain()+"::"+f.GetName(), "::"))
	}
	return s
}
