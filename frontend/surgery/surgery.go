// SPDX-License-Identifier: Apache-2.0

// Package surgery edits ONNX models by hand: what `nncc surgery` does from a
// YAML script, and the same as a Go API.
//
// It works on the ModelProto, not on nncc's own graphs: names, order,
// operators and attributes that nncc does not know stay as the file has them,
// which is what people see in Netron. The graphs of package ir serve where
// something must be computed: shapes, constants, outputs to compare.
//
// Edits keep three promises: every reader of a value follows when the value is
// replaced, readers in subgraphs and graph outputs included; nodes stay in
// topological order; an edit that fails has changed nothing that a caller may
// rely on and says which node it was, what was found and what is wanted.
package surgery

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/onnx/schema"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
)

// Model is an ONNX model being edited. Proto may be changed directly; Touch
// must then be called before the next method.
type Model struct {
	Proto *pb.ModelProto
	// Functions are definitions of custom operators beside the model's own and
	// those that nncc ships; inference and verification expand them.
	Functions []*pb.FunctionProto
	// Dims pins symbolic dimensions where outputs are computed (Run, Compare).
	Dims map[string]int

	lim   onnx.Limits
	types *Shapes // of the graph as it is now; nil: not computed
}

// Load reads a model file. External data become part of the model, so that it
// can be written anywhere.
func Load(path string, lim onnx.Limits) (_ *Model, err error) {
	defer fail.Catch(&err)
	m := fail.Must(onnx.Load(path, lim))
	s, err := New(m)
	fail.If(err != nil, "%s: %w", path, err)
	return s, nil
}

// New edits a loaded model; the loaded one is not changed. One of another format becomes
// the ONNX model that its graph is.
func New(m *onnx.Model) (_ *Model, err error) {
	defer fail.Catch(&err)
	if m.Source != nil {
		g := fail.Must(onnx.OpenModel(m, onnx.ImportOptions{}))
		p := fail.Must(onnx.Export(g, onnx.ExportOptions{Custom: true, Producer: m.Proto.GetProducerName()}))
		m = &onnx.Model{Proto: p, Limits: m.Limits}
	}
	fail.If(m.Proto.GetGraph() == nil, "the model has no graph; want a ModelProto with a graph")
	s := &Model{Proto: proto.Clone(m.Proto).(*pb.ModelProto), lim: m.Limits}
	s.internalise(m.Dir)
	return s, nil
}

// Clone is an independent copy.
func (m *Model) Clone() *Model {
	c := *m
	c.Proto = proto.Clone(m.Proto).(*pb.ModelProto)
	c.Dims = maps.Clone(m.Dims)
	c.types = nil
	return &c
}

// Touch says that Proto was changed from outside.
func (m *Model) Touch() { m.types = nil }

// Bytes is the model as a file: the same for the same model.
func (m *Model) Bytes() ([]byte, error) { return onnx.Marshal(m.Proto) }

// loaded is the model as the frontend takes it.
func (m *Model) loaded(p *pb.ModelProto) *onnx.Model { return &onnx.Model{Proto: p, Limits: m.lim} }

func (m *Model) graph() *pb.GraphProto { return m.Proto.Graph }

// Check lists everything that is wrong with the model.
func (m *Model) Check() diag.List { return onnx.Check(m.loaded(m.Proto), m.Functions...) }

// Opset is the version of an operator domain ("" is ai.onnx) that the model
// imports, 0 when it imports none.
func (m *Model) Opset(domain string) int64 {
	for _, o := range m.Proto.OpsetImport {
		if schema.Domain(o.GetDomain()) == schema.Domain(domain) {
			return o.GetVersion()
		}
	}
	return 0
}

// quote prints a name from a model or script: escaped, and cut when it is long.
func quote(s string) string { return model.Quote(s) }

// label names a node in messages: by its name, or by its first output.
func label(n *pb.NodeProto) string {
	op := model.Plain(strings.TrimPrefix(schema.Domain(n.GetDomain())+"."+n.GetOpType(), "."))
	if n.GetName() != "" {
		return fmt.Sprintf("node %s (%s)", quote(n.GetName()), op)
	}
	for _, o := range n.Output {
		if o != "" {
			return fmt.Sprintf("the node without a name that makes %s (%s)", quote(o), op)
		}
	}
	return fmt.Sprintf("a node without name and outputs (%s)", op)
}

// nodeErr is an error about a node.
func nodeErr(n *pb.NodeProto, format string, args ...any) error {
	return fmt.Errorf("%s: %s", label(n), fmt.Sprintf(format, args...))
}

// refuse ends a function where something is so with an error about a node.
func refuse(is bool, n *pb.NodeProto, format string, args ...any) {
	if is {
		fail.Check(nodeErr(n, format, args...))
	}
}

// ofNode says of an error that ends f which node it is about, behind what is said of it.
func ofNode(n *pb.NodeProto, what string, f func()) {
	if err := fail.Caught(f); err != nil {
		fail.Check(nodeErr(n, "%s%v", what, err))
	}
}

// quoted lists names for a message, the first ones of many.
func quoted(names []string) string {
	const most = 12
	var q []string
	for i, n := range names {
		if i == most {
			q = append(q, fmt.Sprintf("… (%d in all)", len(names)))
			break
		}
		q = append(q, quote(n))
	}
	return strings.Join(q, ", ")
}

// near suggests a name that was perhaps meant: "" or `; did you mean "x"?`.
func near(name string, all []string) string {
	best := text.Nearest(name, all)
	if best == "" {
		return ""
	}
	return "; did you mean " + quote(best) + "?"
}

// sortedKeys are the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
