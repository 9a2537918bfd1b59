// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// ValueType is what is known of a value: its ONNX element type and its shape.
type ValueType struct {
	Elem  int32
	Shape []Dim
}

func (t ValueType) String() string { return model.ElemTypeName(t.Elem) + ShapeText(t.Shape) }

// Shapes are the types of the values of a graph as far as they can be told,
// with the constants among them. A graph in the middle of an operation may be
// wrong in places: what does not depend on those is known all the same.
type Shapes struct {
	types  map[string]ValueType
	consts map[string]*tensor.Dense
	// Problems says which nodes do not fit their inputs, or read what nothing
	// makes.
	Problems []error
	// Unknown are the operators without a definition, and what they say.
	Unknown []error
}

// Type is what is known of a value; false if nothing is.
func (s *Shapes) Type(value string) (ValueType, bool) {
	t, ok := s.types[value]
	return t, ok
}

// Static is the shape of a value whose dimensions are all fixed.
func (s *Shapes) Static(value string) ([]int, bool) {
	t, ok := s.types[value]
	if !ok {
		return nil, false
	}
	shape := make([]int, len(t.Shape))
	for i, d := range t.Shape {
		if d.Size < 0 {
			return nil, false
		}
		shape[i] = int(d.Size)
	}
	return shape, true
}

// Const is the data of a value that can be computed from constants alone.
func (s *Shapes) Const(value string) *tensor.Dense { return s.consts[value] }

// Shapes infers the types of all values. Symbolic dimensions are inferred, too:
// the graph is looked at twice, with different sizes for every symbol, and what
// differs depends on it.
func (m *Model) Shapes() *Shapes {
	if m.types != nil {
		return m.types
	}
	a := m.probe(0)
	if len(a.symbols) > 0 {
		b := m.probe(1)
		a.merge(b)
	}
	m.types = &a.Shapes
	return m.types
}

// probe is one look at the graph.
type probe struct {
	Shapes
	symbols []symbol
}

// symbol is a dimension of an input without a size, and the one it got.
type symbol struct {
	name string // "" when it has none
	size int64
}

const (
	maxRounds = 40 // of finding out which nodes do not fit
	openMark  = "\u27e8"
	closeMark = "\u27e9"
)

var marked = regexp.MustCompile(openMark + `(\d+)` + closeMark)

// probe imports the graph with every value as an output. Nodes that do not fit
// are taken out, and what depends on them, until the rest can be imported.
func (m *Model) probe(variant int) *probe {
	p := &probe{Shapes: Shapes{types: map[string]ValueType{}, consts: map[string]*tensor.Dense{}}}
	g := &pb.GraphProto{Name: proto.String("probe")}
	usable := p.sources(m, g, variant)
	src := m.graph().Node
	dead := make([]bool, len(src))
	for range maxRounds {
		p.select_(m, g, usable, dead)
		mp := &pb.ModelProto{IrVersion: m.Proto.IrVersion, OpsetImport: m.Proto.OpsetImport,
			Functions: m.Proto.Functions,
			Graph:     g}
		res, err := onnx.Import(m.loaded(mp), onnx.ImportOptions{Functions: m.Functions})
		if err == nil {
			p.read(res)
			return p
		}
		if !p.blame(src, err, dead) {
			return p
		}
	}
	return p
}

// sources fills the inputs and initializers of g and gives the values that
// nodes can build on.
func (p *probe) sources(m *Model, g *pb.GraphProto, variant int) map[string]bool {
	usable := map[string]bool{"": true}
	for _, t := range m.graph().Initializer {
		if _, ok := tensor.FromONNX(int(t.GetDataType())); ok && !usable[t.GetName()] {
			g.Initializer = append(g.Initializer, t)
			usable[t.GetName()] = true
			p.types[t.GetName()] = ValueType{t.GetDataType(), Fixed(t.Dims...)}
		}
	}
	sizes := map[string]int64{}
	for _, v := range m.graph().Input {
		name := v.GetName()
		dt, shape, ok := declared(v)
		if _, computed := tensor.FromONNX(int(dt)); !ok || !computed || shape == nil || usable[name] {
			continue
		}
		shape = slices.Clone(shape)
		for i, d := range shape {
			if d.Size >= 0 {
				continue
			}
			size, seen := sizes[d.Symbol]
			if !seen || d.Symbol == "" {
				// A first dimension is a batch, which 1 always suits.
				k := int64(len(p.symbols))
				size = 1 + int64(variant)*(1+k)
				if i > 0 {
					size = 64 + int64(variant)*(32+k)
				}
				p.symbols = append(p.symbols, symbol{d.Symbol, size})
				sizes[d.Symbol] = size
			}
			shape[i] = Dim{Size: size}
		}
		g.Input = append(g.Input, &pb.ValueInfoProto{Name: v.Name, Type: tensorType(dt, shape)})
		usable[name] = true
	}
	return usable
}

// select_ fills the nodes and outputs of g: the nodes that are alive and build
// on usable values. The names of nodes become their places, for blame.
func (p *probe) select_(m *Model, g *pb.GraphProto, usable map[string]bool, dead []bool) {
	g.Node, g.Output = g.Node[:0], g.Output[:0]
	have := make(map[string]bool, len(usable))
	for s := range usable {
		have[s] = true
		if s != "" {
			g.Output = append(g.Output, &pb.ValueInfoProto{Name: proto.String(s)})
		}
	}
	slices.SortFunc(g.Output, func(a, b *pb.ValueInfoProto) int {
		if a.GetName() < b.GetName() {
			return -1
		}
		return 1
	})
	for i, n := range m.graph().Node {
		live := !dead[i]
		for _, s := range reads(n) {
			live = live && have[s]
		}
		for _, o := range n.Output {
			live = live && (o == "" || !have[o])
		}
		if !live {
			continue
		}
		g.Node = append(g.Node, &pb.NodeProto{Name: proto.String(openMark + strconv.Itoa(i) + closeMark),
			OpType:   n.OpType,
			Domain:   n.Domain,
			Overload: n.Overload, Input: n.Input, Output: n.Output, Attribute: n.Attribute})
		for _, o := range n.Output {
			if o != "" {
				have[o] = true
				g.Output = append(g.Output, &pb.ValueInfoProto{Name: proto.String(o)})
			}
		}
	}
}

// blame marks the nodes that an import failed on as dead; false if it cannot
// tell which.
func (p *probe) blame(nodes []*pb.NodeProto, err error, dead []bool) bool {
	var all onnx.ImportErrors
	if !errors.As(err, &all) {
		all = onnx.ImportErrors{err}
	}
	found := false
	for _, e := range all {
		var d *ir.Diag
		msg, code := e.Error(), ""
		if errors.As(e, &d) {
			msg, code = d.Msg, d.Code
			if d.Hint != "" {
				msg += " (" + d.Hint + ")"
			}
		}
		at := marked.FindStringSubmatch(e.Error())
		if at == nil {
			continue
		}
		i, convErr := strconv.Atoi(at[1])
		if convErr != nil || i >= len(nodes) || dead[i] {
			continue
		}
		dead[i], found = true, true
		note := nodeErr(nodes[i], "%s", msg)
		switch code {
		case "op-custom", "op-unsupported", "op-unknown":
			p.Unknown = append(p.Unknown, note)
		default:
			p.Problems = append(p.Problems, note)
		}
	}
	if found {
		return true
	}
	// Subgraphs have names of their own: those nodes are left out.
	for i, n := range nodes {
		if !dead[i] && len(subgraphs(n)) > 0 {
			dead[i], found = true, true
			p.Problems = append(p.Problems, nodeErr(n, "%v", all[0]))
		}
	}
	if !found {
		p.Problems = append(p.Problems, all[0])
	}
	return found
}

// read takes the types of an imported graph.
func (p *probe) read(g *ir.Graph) {
	for i, v := range g.Out {
		name := g.OutNames[i]
		p.types[name] = ValueType{int32(v.Type.DType.ONNXCode()), ints(v.Type.Shape)}
		if v.Const != nil {
			p.consts[name] = v.Const
		}
	}
}

// merge keeps what both looks agree on; sizes that follow a symbol become it.
func (p *probe) merge(b *probe) {
	for name, t := range p.types {
		u, ok := b.types[name]
		if !ok || len(u.Shape) != len(t.Shape) || u.Elem != t.Elem {
			delete(p.types, name)
			continue
		}
		for i := range t.Shape {
			if t.Shape[i].Size != u.Shape[i].Size {
				t.Shape[i] = Dim{-1, p.symbolOf(b, t.Shape[i].Size, u.Shape[i].Size)}
			}
		}
	}
	for name, d := range p.consts {
		if e := b.consts[name]; e == nil || !tensor.Equal(d, e) {
			delete(p.consts, name)
		}
	}
	p.Problems = append(p.Problems, b.Problems...)
	p.Problems = slices.CompactFunc(p.Problems, func(x, y error) bool { return x.Error() == y.Error() })
}

// symbolOf is the symbol that had both sizes, "" if none or several had.
func (p *probe) symbolOf(b *probe, x, y int64) string {
	found := ""
	for i, s := range p.symbols {
		if s.size == x && b.symbols[i].size == y {
			if found != "" {
				return ""
			}
			found = s.name
		}
	}
	return found
}

// ClearShapes drops all inferred shapes (value_info) from the file.
func (m *Model) ClearShapes() int {
	n := len(m.graph().ValueInfo)
	m.graph().ValueInfo = nil
	m.Touch()
	return n
}

// InferShapes drops what the file says of inner values and writes what is
// inferred, for the graph outputs, too; outputs whose declaration changed are
// reported. Declarations behind operators without a definition are kept:
// nothing better is known. The error lists the nodes that do not fit their inputs.
func (m *Model) InferShapes() (changed []string) {
	m.undefined()
	s := m.Shapes()
	if len(s.Problems) > 0 {
		fail.Check(errors.Join(s.Problems...))
	}
	g := m.graph()
	old := map[string]*pb.ValueInfoProto{}
	for _, v := range g.ValueInfo {
		old[v.GetName()] = v
	}
	g.ValueInfo = nil
	outs := setOf(names(g.Output))
	for _, n := range g.Node {
		for _, o := range n.Output {
			if o == "" || outs[o] {
				continue
			}
			if t, ok := s.types[o]; ok {
				g.ValueInfo = append(g.ValueInfo, &pb.ValueInfoProto{Name: proto.String(o),
					Type: tensorType(t.Elem, t.Shape)})
			} else if v := old[o]; v != nil {
				g.ValueInfo = append(g.ValueInfo, v)
			}
		}
	}
	for _, v := range g.Output {
		if t, ok := s.types[v.GetName()]; ok {
			if was := redeclare(v, t); was != "" {
				changed = append(changed, fmt.Sprintf("output %s: declared %s, is %s", quote(v.GetName()), was, t))
			}
		}
	}
	return changed
}

// redeclare writes what was inferred of an output. Open dimensions that agree keep their
// symbols; of other declarations it gives what stood there.
func redeclare(v *pb.ValueInfoProto, t ValueType) (was string) {
	dt, shape, had := declared(v)
	if had && dt == t.Elem && shape != nil && agree(shape, t.Shape) {
		for i, d := range t.Shape {
			if d.Size >= 0 || d.Symbol != "" {
				shape[i] = d
			}
		}
		v.Type = tensorType(dt, shape)
		return ""
	}
	v.Type = tensorType(t.Elem, t.Shape)
	if had && shape != nil {
		was = ValueType{dt, shape}.String()
	}
	return was
}

// agree compares shapes; an open dimension agrees with any size.
func agree(decl, is []Dim) bool {
	if len(decl) != len(is) {
		return false
	}
	for i, d := range decl {
		if d.Size >= 0 && d.Size != is[i].Size && is[i].Size >= 0 {
			return false
		}
	}
	return true
}

// undefined is an error when something reads a value that nothing makes.
func (m *Model) undefined() {
	all := m.valueNames()
	have := setOf(all, []string{""})
	var errs []error
	for _, n := range m.graph().Node {
		for _, s := range reads(n) {
			if !have[s] && len(errs) < 20 {
				errs = append(errs, nodeErr(n, "reads %s, which no node, input or initializer makes%s", quote(s),
					near(s, all)))
			}
		}
	}
	for _, v := range m.graph().Output {
		if !have[v.GetName()] && len(errs) < 20 {
			errs = append(errs, fmt.Errorf("graph output %s is made by no node%s", quote(v.GetName()),
				near(v.GetName(), all)))
		}
	}
	fail.Check(errors.Join(errs...))
}
