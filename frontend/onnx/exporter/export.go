// SPDX-License-Identifier: Apache-2.0

// Package exporter writes graphs as ONNX models: opset 13, or the oldest newer one
// that expresses the graph.
package exporter

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/onnx/schema"
	"github.com/nncc/nncc/ir"
)

// Options of Export.
type Options struct {
	Producer string // producer_name; nncc if empty
	Version  string // producer_version
	Doc      string // doc_string of the graph
	// Opset to write; 0 takes the oldest from 13 on that expresses the graph.
	Opset int
	// Metadata becomes metadata_props.
	Metadata map[string]string
	// Custom keeps operators of nncc's own that ONNX cannot express, as nodes of
	// the domain nncc, for viewers; otherwise they are an error.
	Custom bool
}

// OldestOpset is the first that Export writes.
const OldestOpset = 13

// Export writes a graph as an ONNX model that Check accepts and ONNX Runtime
// runs. Names of inputs and outputs are kept, nodes are called after the ONNX
// nodes they come from, every value has its shape in value_info, constants are
// initializers with raw data. What the IR has beyond ONNX is written in
// standard operators: absorbed activations as Relu or Clip behind the node,
// quantised values as integers between QuantizeLinear and DequantizeLinear
// (QDQ form), newer operators composed of older ones. Memory orders are not
// written: shapes are logical. The same graph gives the same model.
func Export(g *ir.Graph, opt Options) (*pb.ModelProto, error) {
	if opt.Producer == "" {
		opt.Producer = "nncc"
	}
	first, last := OldestOpset, schema.MaxOpset("")
	if opt.Opset != 0 {
		if opt.Opset < OldestOpset || opt.Opset > last {
			return nil, fmt.Errorf("cannot export for opset %d; want %d to %d", opt.Opset, OldestOpset, last)
		}
		first, last = opt.Opset, opt.Opset
	}
	for v := first; ; v++ {
		e := &exporter{opt: opt, opset: v, taken: map[string]bool{}, nodeNames: map[string]bool{},
			next: map[string]int{}}
		gp := e.graph(g)
		if e.errs != nil {
			// The next opset may have what is missing.
			if v < last && !e.fatal {
				continue
			}
			return nil, errors.Join(e.errs...)
		}
		m := &pb.ModelProto{
			IrVersion:    proto.Int64(irVersion(v)),
			ProducerName: proto.String(opt.Producer),
			OpsetImport:  []*pb.OperatorSetIdProto{{Domain: proto.String(""), Version: proto.Int64(int64(v))}},
			Graph:        gp,
		}
		if e.custom {
			m.OpsetImport = append(m.OpsetImport, &pb.OperatorSetIdProto{Domain: proto.String(ownDomain),
				Version: proto.Int64(1)})
		}
		if opt.Version != "" {
			m.ProducerVersion = proto.String(opt.Version)
		}
		if opt.Doc != "" {
			gp.DocString = proto.String(opt.Doc)
		}
		for _, k := range slices.Sorted(maps.Keys(opt.Metadata)) {
			m.MetadataProps = append(m.MetadataProps, &pb.StringStringEntryProto{Key: proto.String(k),
				Value: proto.String(opt.Metadata[k])})
		}
		return m, nil
	}
}

const ownDomain = "nncc"

// Marshal gives the bytes of a model file: the same for the same model.
func Marshal(m *pb.ModelProto) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

// irVersion is the oldest IR version of the format from 8 on that belongs to an
// opset; old runtimes read the older ones only.
func irVersion(opset int) int64 {
	switch {
	case opset <= 18:
		return 8
	case opset <= 20:
		return 9
	}
	return 10
}

type exporter struct {
	opt       Options
	opset     int
	taken     map[string]bool // names of values, also those of subgraphs
	nodeNames map[string]bool
	next      map[string]int // numbers tried for repeated names
	custom    bool           // an operator of the domain nncc was written
	errs      []error
	fatal     bool // what went wrong would in any opset
}

// graphWriter writes one graph: the main one or a subgraph.
type graphWriter struct {
	*exporter
	g        *ir.Graph
	p        *pb.GraphProto
	names    map[*ir.Value]string
	types    map[string]ir.Type // of everything named
	outNames []string
	real     map[*ir.Value]string // DequantizeLinear of quantised values
	consts   map[*ir.Value]bool   // constants that are initializers already
	origins  map[string]int       // how many nodes come from an ONNX node
	node     *ir.Node             // being written
	made     int                  // nodes made for it so far
}

func (e *exporter) fail(err error) { e.errs = append(e.errs, err) }

func (e *exporter) graph(g *ir.Graph) *pb.GraphProto {
	w := e.writer(g)
	if w.p.Name = proto.String(g.Name); g.Name == "" {
		w.p.Name = proto.String("graph")
	}
	// Names that must be kept come first.
	for _, v := range g.In {
		w.names[v] = v.Name
		e.taken[v.Name] = true
		w.types[v.Name] = v.Type
		w.p.Input = append(w.p.Input, valueInfo(v.Name, v.Type))
	}
	w.outputs()
	w.body()
	return w.p
}

func (e *exporter) writer(g *ir.Graph) *graphWriter {
	w := &graphWriter{exporter: e, g: g, p: &pb.GraphProto{}, names: map[*ir.Value]string{},
		types: map[string]ir.Type{},
		real:  map[*ir.Value]string{}, consts: map[*ir.Value]bool{}, origins: map[string]int{}}
	for _, n := range g.Nodes {
		if len(n.Origin) > 0 {
			w.origins[n.Origin[0]]++
		}
	}
	return w
}

func (w *graphWriter) outputs() {
	for i, v := range w.g.Out {
		name := w.g.OutNames[i]
		if w.names[v] != name { // else an input that is an output, too
			name = w.unique(name)
			if w.names[v] == "" {
				w.names[v] = name
			}
		}
		w.outNames = append(w.outNames, name)
	}
}

func (w *graphWriter) body() {
	for _, n := range w.g.Nodes {
		for _, v := range n.Out {
			w.name(v)
		}
	}
	for _, n := range w.g.Nodes {
		w.writeNode(n)
	}
	w.node, w.made = nil, 0
	for i, v := range w.g.Out {
		name := w.outNames[i]
		if src := w.ref(v); src != name {
			w.types[name] = v.Type
			w.emit("Identity", nil, []string{src}, []string{name})
		}
		w.p.Output = append(w.p.Output, valueInfo(name, v.Type))
	}
}

func (w *graphWriter) name(v *ir.Value) string {
	if s := w.names[v]; s != "" {
		return s
	}
	s := w.unique(v.Name)
	w.names[v] = s
	return s
}

func (w *graphWriter) describe(name string, t ir.Type) {
	w.types[name] = t
	if !slices.Contains(w.outNames, name) { // those are described as outputs
		w.p.ValueInfo = append(w.p.ValueInfo, valueInfo(name, t))
	}
}

// ref is name for a value that is read: constants become initializers.
func (w *graphWriter) ref(v *ir.Value) string {
	if v == nil {
		return ""
	}
	s := w.name(v)
	w.types[s] = v.Type
	if v.Const != nil && !w.consts[v] {
		w.consts[v] = true
		w.p.Initializer = append(w.p.Initializer, model.TensorProto(s, v.Const))
	}
	return s
}

func (e *exporter) unique(name string) string {
	if name == "" {
		name = "value"
	}
	return e.number(e.taken, name)
}

func (e *exporter) number(taken map[string]bool, name string) string {
	s := name
	for taken[s] {
		e.next[name]++
		s = fmt.Sprintf("%s_%d", name, e.next[name])
	}
	taken[s] = true
	return s
}

// nodeName is a name for the next node written: that of the ONNX node it comes
// from, or the IR's where several come from one.
func (w *graphWriter) nodeName(op string) string {
	n := w.node
	base := op
	if n != nil {
		switch {
		case len(n.Origin) > 0 && n.Origin[0] != "" && w.origins[n.Origin[0]] == 1:
			base = n.Origin[0]
		case n.Name != "":
			base = n.Name
		}
		if w.made > 0 {
			base += "/" + op
		}
	}
	w.made++
	return w.number(w.nodeNames, base)
}

func valueInfo(name string, t ir.Type) *pb.ValueInfoProto {
	s := &pb.TensorShapeProto{}
	for _, d := range t.Shape {
		s.Dim = append(s.Dim, &pb.TensorShapeProto_Dimension{
			Value: &pb.TensorShapeProto_Dimension_DimValue{DimValue: int64(d)}})
	}
	return &pb.ValueInfoProto{Name: proto.String(name), Type: &pb.TypeProto{Value: &pb.TypeProto_TensorType{
		TensorType: &pb.TypeProto_Tensor{ElemType: proto.Int32(int32(t.DType.ONNXCode())), Shape: s}}}}
}
