// SPDX-License-Identifier: Apache-2.0

// Package model reads TensorFlow Lite files: bytes to tensors and operators, checked.
//
// A model is untrusted input: nothing in a file that Parse accepts leads outside of it,
// every index names a tensor, every constant has the bytes of its shape.
package model

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/nncc/nncc/frontend/onnx/importer"
	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/tensor"
)

// Model is a decoded file.
type Model struct {
	Description string
	Graphs      []*Graph
}

// Graph is a subgraph: tensors, and operators in the order in which they run.
type Graph struct {
	Name            string
	Tensors         []*Tensor
	Inputs, Outputs []*Tensor
	Ops             []*Op
}

// Tensor is a value of a graph.
type Tensor struct {
	Name  string // unique in its graph
	DType tensor.DType
	// Handle says that the value names a variable, and is no tensor.
	Handle bool
	Shape  []int
	// Text says that its integers stand for texts, of which those of a constant are Texts.
	Text  bool
	Texts []string
	// Unknown says which dimensions the file leaves open; Shape has 1 there.
	Unknown []bool
	// Data is a constant, little-endian, int4 in halves of bytes, the first in the lower
	// one; nil where the tensor is none.
	Data []byte
	// Scale and Zero are the quantisation, one or one for each index of dimension Axis;
	// no Scale means none. One of many may be 0: all of its numbers are. Axis is -1 where the file's
	// has another size.
	Scale []float32
	Zero  []int64
	Axis  int
	// Variable keeps its value from one run to the next.
	Variable bool
	// Offset is where it lies in the arena, where the file says so; -1 elsewhere.
	Offset int
}

// Quantized reports that a tensor's integers stand for real numbers.
func (t *Tensor) Quantized() bool { return len(t.Scale) > 0 }

// Elems is the number of elements.
func (t *Tensor) Elems() int {
	n := 1
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// Const is the tensor's data; an error where it has none.
func (t *Tensor) Const() (*tensor.Dense, error) {
	if t.Data == nil {
		return nil, fmt.Errorf("tensor %q is computed at run time, want a constant", t.Name)
	}
	return model.FromRaw(t.DType, t.Shape, t.Data)
}

// Op is an operator.
type Op struct {
	Index int
	Code  int32  // fb.Custom for those with a name of their own
	Name  string // "CONV_2D", or the name of a custom operator
	// In has nil where an input is absent. Intermediates are tensors that hold
	// quantisation only.
	In, Out, Intermediates []*Tensor
	Custom                 []byte
	options                *fb.Unread
	kind                   int // of the options
	file                   []byte
}

// Options are the operator's options, a table of the schema by that name; ok is false
// where it has none.
func (o *Op) Options(name string) (t flatbuffers.Table, ok bool, err error) {
	if o.options == nil {
		return t, false, nil
	}
	if !fb.OptionsAre(o.kind, name) {
		return t, false, fmt.Errorf("damaged options: they are of kind %d, which is no %s", o.kind, name)
	}
	t = o.options.Table()
	if err := fb.VerifyTable(o.file, name, uint32(t.Pos)); err != nil {
		return t, false, fmt.Errorf("damaged options: %w", err)
	}
	return t, true, nil
}

// String names the operator as messages do.
func (o *Op) String() string { return fmt.Sprintf("%s (operator %d)", o.Name, o.Index) }

type parser struct {
	b    []byte
	file *fb.Model
	lim  model.Limits
	errs importer.Errors
	left int64 // bytes of constants that may still be decoded
}

func (p *parser) fail(code, node, format string, args ...any) {
	if len(p.errs) < p.lim.Findings {
		p.errs = append(p.errs, &diag.Diag{Code: code, Node: node, Msg: fmt.Sprintf(format, args...)})
	}
}

// Is reports that the bytes are those of a TensorFlow Lite file.
func Is(b []byte) bool { return len(b) >= 8 && string(b[4:8]) == fb.Identifier }

// Parse decodes a file. The error has all that is wrong with it, as findings.
func Parse(b []byte, lim model.Limits) (*Model, error) {
	lim = lim.OrDefault()
	if err := fb.Verify(b); err != nil {
		return nil, fmt.Errorf("damaged, or not a TensorFlow Lite model: %w", err)
	}
	p := &parser{b: b, file: fb.GetRootAsModel(b, 0), lim: lim, left: lim.MemoryBytes}
	m := &Model{Description: string(p.file.Description())}
	if v := p.file.Version(); v != 3 {
		p.fail("version", "", "the file has format version %d, want 3", v)
	}
	if p.file.SubgraphsLength() == 0 {
		p.fail("no-graph", "", "the file has no graph")
	}
	var g fb.SubGraph
	nodes := 0
	for i := range p.file.SubgraphsLength() {
		p.file.Subgraphs(&g, i)
		if nodes += g.OperatorsLength() + g.TensorsLength(); nodes > 4*lim.Nodes {
			p.fail("too-large", "", "more than %d operators and tensors; %s", 4*lim.Nodes, model.Raise("nodes"))
			break
		}
		m.Graphs = append(m.Graphs, p.graph(&g))
	}
	if p.offsets(m); len(p.errs) > 0 {
		return nil, p.errs
	}
	return m, nil
}

// offsets reads where tensors of the first graph lie in the arena: version, graph and number of them in front.
func (p *parser) offsets(m *Model) {
	var md fb.Metadata
	for i := range p.file.MetadataLength() {
		if p.file.Metadata(&md, i); string(md.Name()) != "OfflineMemoryAllocation" {
			continue
		}
		b, ok := p.buffer(md.Buffer(), "the plan of the arena")
		if n := len(m.Graphs[0].Tensors); ok && len(b) < 4*(3+n) {
			p.fail("data", "the plan of the arena", "it has %d bytes for %d tensors, want %d", len(b), n, 4*(3+n))
			continue
		}
		for j, t := range m.Graphs[0].Tensors {
			if ok {
				t.Offset = int(int32(binary.LittleEndian.Uint32(b[4*(3+j):])))
			}
		}
	}
}

func (p *parser) graph(g *fb.SubGraph) *Graph {
	out := &Graph{Name: string(g.Name())}
	names := map[string]bool{}
	var t fb.Tensor
	for i := range g.TensorsLength() {
		g.Tensors(&t, i)
		out.Tensors = append(out.Tensors, p.tensor(&t, uniqueName(string(t.Name()), i, names)))
	}
	out.Inputs = p.list(out, "the inputs of the graph", g.InputsLength(), g.Inputs)
	out.Outputs = p.list(out, "the outputs of the graph", g.OutputsLength(), g.Outputs)
	var o fb.Operator
	for i := range g.OperatorsLength() {
		g.Operators(&o, i)
		out.Ops = append(out.Ops, p.op(out, &o, i))
	}
	return out
}

// uniqueName is the name of tensor i: its own, if it has one that no other has.
func uniqueName(name string, i int, taken map[string]bool) string {
	if name == "" {
		name = "tensor_" + strconv.Itoa(i)
	}
	for taken[name] {
		name += "_" + strconv.Itoa(i)
	}
	taken[name] = true
	return name
}

func (p *parser) list(g *Graph, what string, n int, at func(j int) int32) []*Tensor {
	out := make([]*Tensor, n)
	for j := range out {
		i := at(j)
		switch {
		case i == -1:
		case i < 0 || int(i) >= len(g.Tensors):
			p.fail("index", what, "number %d is tensor %d, there are %d", j, i, len(g.Tensors))
		default:
			out[j] = g.Tensors[i]
		}
	}
	return out
}

func (p *parser) op(g *Graph, o *fb.Operator, i int) *Op {
	out := &Op{Index: i, file: p.b, options: o.Options(nil),
		kind: int(o.OptionsType()), Custom: bytes.Clone(o.CustomOptionsBytes())}
	if out.options == nil {
		out.options, out.kind = o.Options2(nil), fb.Options2+int(o.Options2Type())
	}
	var code fb.OperatorCode
	if c := int64(o.OpcodeIndex()); c >= int64(p.file.OperatorCodesLength()) {
		p.fail("index", fmt.Sprintf("operator %d", i), "it is of kind %d, the file has %d", c,
			p.file.OperatorCodesLength())
		return out
	}
	p.file.OperatorCodes(&code, int(o.OpcodeIndex()))
	// Writers before 2.4 know the narrow field only, later ones fill in both.
	out.Code = max(code.BuiltinCode(), int32(code.DeprecatedBuiltinCode()))
	if out.Name = fb.OperatorName(out.Code); out.Code == fb.Custom {
		out.Name = string(code.CustomCode())
	}
	out.In = p.list(g, "the inputs of "+out.String(), o.InputsLength(), o.Inputs)
	out.Out = p.list(g, "the outputs of "+out.String(), o.OutputsLength(), o.Outputs)
	out.Intermediates = p.list(g, "the intermediates of "+out.String(), o.IntermediatesLength(), o.Intermediates)
	for j, t := range out.Out {
		if t == nil {
			p.fail("index", out.String(), "output %d is no tensor", j)
		}
	}
	return out
}
