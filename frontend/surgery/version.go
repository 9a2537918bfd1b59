// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"errors"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/onnx/schema"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
)

// SetVersion sets the IR version (0 leaves it) and the opset of a domain (0
// leaves it). Operators are not converted: a node that the other opset does not
// have, has in another form, or gives another meaning is an error.
func (m *Model) SetVersion(ir int64, domain string, opset int64) {
	fail.If(ir < 0 || ir > int64(schema.MaxIR), "IR version %d; want 1 to %d", ir, schema.MaxIR)
	if ir != 0 {
		m.Proto.IrVersion = proto.Int64(ir)
	}
	if opset != 0 {
		m.sameMeaning(domain, opset)
		set := false
		for _, o := range m.Proto.OpsetImport {
			if schema.Domain(o.GetDomain()) == schema.Domain(domain) {
				o.Version, set = proto.Int64(opset), true
			}
		}
		if !set {
			m.Proto.OpsetImport = append(m.Proto.OpsetImport,
				&pb.OperatorSetIdProto{Domain: proto.String(domain), Version: proto.Int64(opset)})
		}
	}
	m.Touch()
	fail.Check(m.Checked())
}

// Checked is an error that lists everything that is wrong with the model.
func (m *Model) Checked() error {
	var errs []error
	for _, f := range m.Check() {
		if f.Severity == diag.Error {
			errs = append(errs, f)
		}
	}
	return errors.Join(errs...)
}

// changes are opsets from which on a node of the same form means something
// else; a form that is no longer valid is Check's to find. same says that this
// node is not concerned.
var changes = map[string]struct {
	opset int64
	what  string
	same  func(m *Model, n *pb.NodeProto) bool
}{
	"Softmax":    {13, "it joined all dimensions from axis on", lastAxis},
	"LogSoftmax": {13, "it joined all dimensions from axis on", lastAxis},
	"Hardmax":    {13, "it joined all dimensions from axis on", lastAxis},
	"Resize":     {11, "its second input became roi", nil},
	"Split": {18, "num_outputs must be given", func(m *Model, n *pb.NodeProto) bool {
		return at(n.Input, 1) != "" || Attribute(n, "num_outputs") != nil
	}},
	"GroupNormalization": {21, "scale and bias went from groups to channels", nil},
	"GridSample": {20, "its modes got other names",
		func(m *Model, n *pb.NodeProto) bool { return Attribute(n, "mode") == nil }},
}

// lastAxis: along the last dimension, said explicitly, old and new agree.
func lastAxis(m *Model, n *pb.NodeProto) bool {
	a := Attribute(n, "axis")
	if a == nil {
		return false
	}
	t, ok := m.Shapes().Type(at(n.Input, 0))
	return a.GetI() == -1 || ok && a.GetI() == int64(len(t.Shape))-1
}

func (m *Model) sameMeaning(domain string, opset int64) {
	if schema.Domain(domain) != "" {
		return
	}
	old := m.Opset(domain)
	var errs []error
	var walk func(g *pb.GraphProto)
	walk = func(g *pb.GraphProto) {
		for _, n := range g.Node {
			c, ok := changes[n.GetOpType()]
			if ok && n.GetDomain() == "" && (old < c.opset) != (opset < c.opset) && (c.same == nil || !c.same(m, n)) {
				errs = append(errs, nodeErr(n, "means something else from opset %d on (%s); the model goes from %d "+
					"to %d: convert it with onnx.version_converter, or replace the node", c.opset, c.what, old, opset))
			}
			for _, s := range subgraphs(n) {
				walk(s)
			}
		}
	}
	walk(m.graph())
	fail.Check(errors.Join(errs...))
}
