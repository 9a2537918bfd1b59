// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
)

// Extract is the part of the model between values, as a model of its own: the
// nodes from which outputs are computed when inputs are given, with the
// constants they read. The model itself stays.
func (m *Model) Extract(inputs, outputs []string) *Model {
	fail.If(len(outputs) == 0, "a part needs outputs")
	for i, s := range slices.Concat(inputs, outputs) {
		fail.Check(m.wantValue(s))
		list, what := inputs, "input"
		if i >= len(inputs) {
			list, what = outputs, "output"
			i -= len(inputs)
		}
		fail.If(slices.Contains(list[:i], s), "%s %s is listed twice", what, quote(s))
	}
	used, live := m.reach(inputs, outputs)
	p := m.Clone()
	g := p.graph()
	old := m.graph()
	g.Node = nil
	for i, n := range old.Node {
		if live[i] {
			g.Node = append(g.Node, proto.Clone(n).(*pb.NodeProto))
		}
	}
	given := setOf(inputs)
	g.Initializer = slices.DeleteFunc(g.Initializer, func(t *pb.TensorProto) bool {
		return !used[t.GetName()] ||
			given[t.GetName()]
	})
	g.SparseInitializer = slices.DeleteFunc(g.SparseInitializer,
		func(t *pb.SparseTensorProto) bool { return !used[t.GetValues().GetName()] })
	g.ValueInfo = slices.DeleteFunc(g.ValueInfo, func(v *pb.ValueInfoProto) bool {
		return !used[v.GetName()] || given[v.GetName()] || slices.Contains(outputs, v.GetName())
	})
	g.Input = nil
	for _, s := range inputs {
		fail.Under("input "+quote(s)+" of a part", func() { g.Input = append(g.Input, m.describe(s)) })
	}
	for _, v := range old.Input { // IR version 3 lists initializers
		if p.IsInitializer(v.GetName()) {
			g.Input = append(g.Input, proto.Clone(v).(*pb.ValueInfoProto))
		}
	}
	g.Output = nil
	for _, s := range outputs {
		v, err := fail.Try(func() *pb.ValueInfoProto { return m.describe(s) })
		if err != nil {
			v = &pb.ValueInfoProto{Name: proto.String(s)}
		}
		g.Output = append(g.Output, v)
	}
	return p
}

// reach walks from outputs back to inputs.
func (m *Model) reach(inputs, outputs []string) (used map[string]bool, live []bool) {
	g := m.graph()
	by := map[string]int{}
	for i, n := range g.Node {
		for _, o := range n.Output {
			if o != "" {
				by[o] = i
			}
		}
	}
	stop := setOf(inputs)
	used, live = map[string]bool{}, make([]bool, len(g.Node))
	todo := slices.Clone(outputs)
	var missing []string
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if s == "" || used[s] {
			continue
		}
		used[s] = true
		if stop[s] {
			continue
		}
		i, made := by[s]
		switch {
		case made && !live[i]:
			live[i] = true
			todo = append(todo, reads(g.Node[i])...)
		case !made && m.IsInput(s):
			missing = append(missing, s)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		fail.Errorf("the outputs %s also depend on %s, which are not among the inputs %s",
			quoted(outputs), quoted(missing), quoted(inputs))
	}
	for _, s := range inputs {
		fail.If(!used[s], "none of the outputs %s depends on input %s", quoted(outputs), quote(s))
	}
	return used, live
}

// describe is the declaration of a value for an interface: as the file has it
// for inputs and outputs, else inferred.
func (m *Model) describe(value string) *pb.ValueInfoProto {
	for _, v := range []*pb.ValueInfoProto{m.input(value), m.output(value)} {
		if _, shape, ok := declared(v); ok && shape != nil {
			return proto.Clone(v).(*pb.ValueInfoProto)
		}
	}
	if t, ok := m.Shapes().Type(value); ok {
		return &pb.ValueInfoProto{Name: proto.String(value), Type: tensorType(t.Elem, t.Shape)}
	}
	if v := valueInfo(m.graph().ValueInfo, value); v != nil {
		if _, shape, ok := declared(v); ok && shape != nil {
			return proto.Clone(v).(*pb.ValueInfoProto)
		}
	}
	fail.Check(m.noShape(value))
	return nil
}

// Part is one piece of Split.
type Part struct {
	Name            string
	Inputs, Outputs []string
}

// Split cuts the model into parts. Every input of a part is an input of the
// model or an output of another part, and every output of the model is an
// output of a part: so that the parts together compute what the model does.
func (m *Model) Split(parts []Part) []*Model {
	outs := slices.Concat(lists.Map(parts, func(p Part) []string { return p.Outputs })...)
	var models []*Model
	for i, p := range parts {
		fail.If(p.Name == "" || slices.ContainsFunc(parts[:i], func(q Part) bool { return q.Name == p.Name }),
			"part %d has the name %s; want names that differ", i, quote(p.Name))
		for _, s := range p.Inputs {
			fail.If(!m.IsInput(s) && !slices.Contains(outs, s), "part %s: input %s is neither an input of the model "+
				"nor an output of another part%s", quote(p.Name), quote(s), near(s, append(m.InputNames(), outs...)))
		}
		fail.Under("part "+quote(p.Name), func() { models = append(models, m.Extract(p.Inputs, p.Outputs)) })
	}
	for _, s := range m.OutputNames() {
		fail.If(!slices.Contains(outs, s), "output %s of the model is no output of any part; the parts give %s",
			quote(s), quoted(outs))
	}
	return models
}

// MergeOptions of Merge.
type MergeOptions struct {
	// Names of the models, for messages; may be nil.
	Names []string `yaml:"models"`
	// Prefixes go in front of the names of each model's nodes, inner values and
	// constants; nil or "" for none.
	Prefixes []string
	// Connect maps outputs of earlier models to inputs of later ones, beside
	// those that have the same name.
	Connect map[string]string `yaml:"io_map"`
	// Outputs are the graph outputs of the result, in order; nil: every output
	// that no model reads.
	Outputs []string
}

// Merge puts models behind each other. Inputs that nothing is connected to stay
// inputs; one of the same name and type is shared. Constants of the same name
// and content are shared; other inner names that collide get a number.
func Merge(models []*Model, opt MergeOptions) *Model {
	fail.If(len(models) < 2, "merging %d models; want at least two", len(models))
	title := func(i int) string {
		if i < len(opt.Names) {
			return "model " + quote(opt.Names[i])
		}
		return fmt.Sprintf("model %d", i+1)
	}
	fail.If(len(opt.Prefixes) > 0 && len(opt.Prefixes) != len(models),
		"%d prefixes for %d models; want one for each", len(opt.Prefixes), len(models))
	mg := &merger{connected: map[string]bool{}, done: map[string]bool{}}
	for i, x := range models {
		fail.Under(title(i), func() {
			c := x.Clone()
			c.InferShapes() // edits may have outdated the outputs' declarations
			if len(opt.Prefixes) > 0 {
				c.Prefix(opt.Prefixes[i])
			}
			if mg.m != nil {
				mg.add(c, opt.Connect)
				return
			}
			mg.m = c
			mg.outputs = append(mg.outputs, c.graph().Output...)
		})
	}
	for _, o := range sortedKeys(opt.Connect) {
		fail.If(!mg.done[o],
			"connection %s → %s was not made: no model has such an output with a later model that has such an input",
			quote(o), quote(opt.Connect[o]))
	}
	mg.finish(opt.Outputs)
	mg.m.Sort()
	return mg.m
}

type merger struct {
	m         *Model
	outputs   []*pb.ValueInfoProto // of all models so far
	connected map[string]bool      // those that a model reads
	done      map[string]bool      // connections of the caller that were made
}

func (g *merger) add(c *Model, connect map[string]string) {
	g.header(c)
	res, src := g.m.graph(), c.graph()
	from := map[string]string{} // input of c → output that feeds it
	for _, in := range c.InputNames() {
		for _, o := range g.outputs {
			if connect[o.GetName()] == in {
				from[in] = o.GetName()
				g.done[o.GetName()] = true
			}
		}
		if _, ok := from[in]; !ok && valueInfo(g.outputs, in) != nil {
			from[in] = in
		}
		if o := from[in]; o != "" {
			err := compatible(valueInfo(g.outputs, o), c.input(in))
			fail.If(err != nil, "connecting output %s to input %s: %w", quote(o), quote(in), err)
		}
	}
	g.collisions(c, from)
	for _, in := range sortedKeys(from) {
		o := from[in]
		g.connected[o] = true
		src.Input = slices.DeleteFunc(src.Input, func(v *pb.ValueInfoProto) bool { return v.GetName() == in })
		if o != in {
			c.renameValue(in, o)
		}
	}
	res.Node = append(res.Node, src.Node...)
	res.Initializer = append(res.Initializer, lists.Filter(src.Initializer,
		func(t *pb.TensorProto) bool { return !g.m.IsInitializer(t.GetName()) })...)
	res.SparseInitializer = append(res.SparseInitializer, src.SparseInitializer...)
	res.Input = append(res.Input, lists.Filter(src.Input,
		func(v *pb.ValueInfoProto) bool { return g.m.input(v.GetName()) == nil })...)
	res.ValueInfo = append(res.ValueInfo, src.ValueInfo...)
	res.QuantizationAnnotation = append(res.QuantizationAnnotation, src.QuantizationAnnotation...)
	for _, v := range src.Output {
		if valueInfo(g.outputs, v.GetName()) == nil {
			g.outputs = append(g.outputs, v)
		}
	}
	g.m.Touch()
}

// header merges versions, operator sets and functions.
func (g *merger) header(c *Model) {
	p, q := g.m.Proto, c.Proto
	if q.GetIrVersion() > p.GetIrVersion() {
		p.IrVersion = q.IrVersion
	}
	for _, o := range q.OpsetImport {
		switch old := g.m.Opset(o.GetDomain()); old {
		case o.GetVersion():
		case 0:
			p.OpsetImport = append(p.OpsetImport, o)
		default:
			fail.Errorf("imports opset %d of domain %s, the models before it import %d; convert them to one "+
				"version (set_version)", o.GetVersion(), quote(o.GetDomain()), old)
		}
	}
	for _, f := range q.Functions {
		known := false
		for _, h := range p.Functions {
			if h.GetDomain() == f.GetDomain() && h.GetName() == f.GetName() && h.GetOverload() == f.GetOverload() {
				fail.If(!proto.Equal(f, h), "function %s is defined differently by a model before it",
					quote(f.GetDomain()+"."+f.GetName()))
				known = true
			}
		}
		if !known {
			p.Functions = append(p.Functions, f)
		}
	}
}

// collisions renames what c and the result both have.
func (g *merger) collisions(c *Model, from map[string]string) {
	mine := setOf(g.m.valueNames())
	taken := setOf(g.m.valueNames(), c.valueNames(), []string{""})
	innerNames(g.m.graph(), mine)
	innerNames(g.m.graph(), taken)
	innerNames(c.graph(), taken)
	uniquifyInner(c.graph(), mine, taken)
	rename := map[string]string{}
	for _, s := range c.valueNames() {
		if _, wired := from[s]; wired || !mine[s] {
			continue
		}
		if g.shares(c, s) {
			continue
		}
		rename[s] = number(taken, s)
		taken[rename[s]] = true
	}
	c.renameAll(func(s string) string {
		if r, ok := rename[s]; ok {
			return r
		}
		return s
	})
	have := setOf(names(g.m.graph().Node))
	nodes := setOf(names(g.m.graph().Node), names(c.graph().Node), []string{""})
	for _, n := range c.graph().Node {
		if n.GetName() != "" && have[n.GetName()] {
			n.Name = proto.String(number(nodes, n.GetName()))
			nodes[n.GetName()] = true
		}
	}
}

// shares reports a name that stands for the same in c and in the result: an equal
// constant, or an input of the same type. The other names get a number, but those of
// the interface of c, which are an error.
func (g *merger) shares(c *Model, s string) bool {
	in, both := c.input(s), g.m.input(s)
	a, b := c.initializer(s), g.m.initializer(s)
	switch {
	case a != nil && b != nil:
		x := contents(a)
		if x == contents(b) {
			return true
		}
	case in != nil && both != nil:
		err := compatible(both, in)
		fail.If(err != nil, "input %s is also an input of a model before it: %w", quote(s), err)
		return true
	case in != nil:
		fail.Errorf("input %s is the name of an inner value of a model before it; rename one of them, or "+
			"give prefixes", quote(s))
	case c.IsOutput(s):
		fail.Errorf("output %s exists in a model before it; rename one of them (rename)", quote(s))
	}
	return false
}

// finish chooses the graph outputs.
func (g *merger) finish(want []string) {
	var outs []*pb.ValueInfoProto
	if want == nil {
		outs = lists.Filter(g.outputs, func(v *pb.ValueInfoProto) bool { return !g.connected[v.GetName()] })
		fail.If(len(outs) == 0, "every output is read by another model; say which are outputs of the result (outputs)")
	}
	for _, s := range want {
		v := valueInfo(g.outputs, s)
		fail.If(v == nil, "output %s is an output of none of the models; they have %s", quote(s),
			quoted(names(g.outputs)))
		outs = append(outs, v)
	}
	g.m.graph().Output = outs
	g.m.Touch()
}

// compatible compares the declarations of two ends of a connection, as far as
// both say something.
func compatible(a, b *pb.ValueInfoProto) (err error) {
	defer fail.Catch(&err)
	x, s, ok1 := declared(a)
	y, t, ok2 := declared(b)
	if !ok1 || !ok2 {
		return nil
	}
	fail.If(x != y, "element types %s and %s differ", model.ElemTypeName(x), model.ElemTypeName(y))
	if s == nil || t == nil {
		return nil
	}
	bad := len(s) != len(t)
	for i := 0; !bad && i < len(s); i++ {
		bad = s[i].Size >= 0 && t[i].Size >= 0 && s[i].Size != t[i].Size
	}
	fail.If(bad, "shapes %s and %s differ", ShapeText(s), ShapeText(t))
	return nil
}

// Prefix puts a prefix in front of the names of nodes, inner values and
// constants that do not have it; graph inputs and outputs keep theirs.
func (m *Model) Prefix(p string) {
	if p == "" {
		return
	}
	g := m.graph()
	keep := setOf(m.InputNames(), m.OutputNames(), []string{""})
	mine := setOf(m.valueNames())
	m.renameAll(func(s string) string {
		if keep[s] || !mine[s] || strings.HasPrefix(s, p) {
			return s
		}
		return p + s
	})
	for _, n := range g.Node {
		if n.GetName() != "" && !strings.HasPrefix(n.GetName(), p) {
			n.Name = proto.String(p + n.GetName())
		}
	}
}

// uniquifyInner renames what subgraphs define under a name of another model.
func uniquifyInner(g *pb.GraphProto, others, taken set) {
	for _, n := range g.Node {
		for _, s := range subgraphs(n) {
			for _, name := range defined(s) {
				if !others[name] {
					continue
				}
				fresh := number(taken, name)
				taken[fresh] = true
				(&Model{Proto: &pb.ModelProto{Graph: s}}).renameValue(name, fresh)
			}
			uniquifyInner(s, others, taken)
		}
	}
}
