// SPDX-License-Identifier: Apache-2.0

// Package importer turns an ONNX model into a graph: names and scopes, functions
// and control flow taken apart, inputs bound; upgrade and expand say what each node
// becomes.
package importer

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/frontend/onnx/functions"
	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// Options are the user's decisions about a model's open ends.
type Options struct {
	// Dims pins symbolic dimensions by name; "input.axis" names any dimension
	// of an input by its place.
	Dims map[string]int
	// Shapes gives whole input shapes (of input files); they bind the symbols
	// of those inputs.
	Shapes map[string][]int
	// Set binds inputs to constants.
	Set map[string]*tensor.Dense
	// Functions are libraries of operator definitions beside the model's own
	// and those that nncc ships: the model's come first, then the later of these.
	Functions []*pb.FunctionProto
	// Note receives remarks such as a batch dimension pinned to 1; may be nil.
	Note func(*diag.Diag)
	// Declared, when set, receives declared shapes that are not those of the
	// values, which otherwise are remarks: the import ignores them.
	Declared func(*diag.Diag)
}

// Errors are all the reasons why a model was not imported.
type Errors []error

func (e Errors) Error() string {
	s := lists.Map(e, func(x error) string { return x.Error() })
	return strings.Join(s, "\n")
}

// Unwrap lets errors.As find the single ones.
func (e Errors) Unwrap() []error { return e }

const maxReported = 20

type importer struct {
	*build.Builder
	m       *model.Model
	opt     Options
	opsets  map[string]int // of the model, by domain
	funcs   map[model.FuncID]*pb.FunctionProto
	inline  []*pb.FunctionProto // being expanded, outermost first
	errs    Errors
	nodes   int
	live    map[*pb.GraphProto]liveNodes
	names   map[*pb.GraphProto]map[string]bool
	tensors map[*pb.TensorProto]*tensor.Dense
	decoded int64 // bytes of these
	outs    map[string]bool
	symbols map[string]int // symbolic dimensions and their sizes
}

// Import turns a model into a graph in the newest operators' form, with shapes
// inferred and everything folded that is known at compile time. Nodes whose
// results nothing reads are left out. The error is an Errors with all
// that is wrong, not the first problem only. Import relies on what check.Model has
// found to be right only as far as messages go: it never panics.
func Import(m *model.Model, opt Options) (*ir.Graph, error) {
	gp := m.Proto.GetGraph()
	if gp == nil {
		return nil, Errors{errors.New("the model has no graph")}
	}
	if opt.Note == nil {
		opt.Note = func(*diag.Diag) {}
	}
	name := gp.GetName()
	if name == "" {
		name = "model"
	}
	im := &importer{Builder: build.New(ir.New(name), m.Limits.OrDefault(), opt.Dims, opt.Note), m: m, opt: opt,
		opsets: versions(m.Proto.GetOpsetImport()), funcs: map[model.FuncID]*pb.FunctionProto{},
		live: map[*pb.GraphProto]liveNodes{}, names: map[*pb.GraphProto]map[string]bool{},
		tensors: map[*pb.TensorProto]*tensor.Dense{}, symbols: map[string]int{}, outs: map[string]bool{}}
	im.Rooms.Symbol = symbols(gp)
	for _, list := range [][]*pb.FunctionProto{functions.Default(), opt.Functions, m.Proto.GetFunctions()} {
		for _, f := range list {
			im.funcs[model.FunctionID(f)] = f
		}
	}
	s := newScope(nil, "")
	im.bindDims(gp)
	im.initializers(gp, s)
	im.inputs(gp, s)
	if src, ok := m.Source.(Source); ok {
		im.source(src, gp, s)
	} else {
		im.graph(gp, s)
	}
	im.NoteSelected()
	im.checkDims(gp)
	if len(im.errs) > 0 {
		return nil, im.errs
	}
	im.checkValueInfo(gp, s)
	im.AddCounts()
	if dead := im.Graph.RemoveDead(); m.Source != nil {
		im.noteDead(dead)
	}
	if im.checkSizes(); len(im.errs) > 0 {
		return nil, im.errs
	}
	return im.Graph, nil
}

func (im *importer) graph(gp *pb.GraphProto, s *scope) {
	live := im.liveNodes(gp)
	im.noteDead(len(gp.GetNode()) - len(live))
	im.body(live, s, im.opsets)
	im.outputs(gp, s)
}

// Source is a model of another format, of which the ONNX graph declares inputs and outputs.
type Source interface {
	// Nodes adds the operators: in and out are the values of inputs and outputs in order,
	// behind the outputs one for each state. The error is an Errors.
	Nodes(b *build.Builder, in []*ir.Value) (out []*ir.Value, state []model.State, err error)
}

func (im *importer) source(src Source, gp *pb.GraphProto, s *scope) {
	if len(im.errs) > 0 {
		return
	}
	in := lists.Map(gp.GetInput(), func(vi *pb.ValueInfoProto) *ir.Value { return s.values[vi.GetName()].v })
	out, state, err := src.Nodes(im.Builder, in)
	if err != nil {
		for _, e := range err.(Errors) {
			im.report(e)
		}
		return
	}
	for i, vi := range gp.GetOutput() {
		im.checkDeclared("output "+model.Quote(vi.GetName()), vi, out[i])
		im.output(vi.GetName(), out[i])
	}
	for i, st := range state {
		im.Graph.AddOutput(st.Out, out[len(gp.GetOutput())+i])
	}
	im.m.State = state
}

func (im *importer) noteDead(nodes int) {
	if nodes > 0 {
		im.Note(diag.Warnf("dead-nodes", "", "nodes whose results nothing reads are left out: %d", nodes))
	}
}

func (im *importer) report(err error) {
	if len(im.errs) < maxReported {
		im.errs = append(im.errs, err)
	}
}

func (im *importer) initializers(gp *pb.GraphProto, s *scope) {
	read := im.readNames(gp)
	for _, t := range gp.GetInitializer() {
		name := t.GetName()
		if !read[name] {
			continue
		}
		v, err := im.constant(t, s.valueName(name))
		if err != nil {
			s.fail(name, err)
			continue
		}
		s.set(name, v)
	}
	for _, t := range gp.GetSparseInitializer() {
		name := t.GetValues().GetName()
		if !read[name] {
			continue
		}
		d, err := im.dense(t)
		if err != nil {
			s.fail(name, err)
			continue
		}
		s.set(name, im.Const(s.valueName(name), d))
	}
}

func (im *importer) constant(t *pb.TensorProto, name string) (_ *ir.Value, err error) {
	defer fail.Catch(&err)
	if model.IsText(t) {
		fail.Check(im.m.CheckTensor(t))
		return im.Text(name, lists.Map(t.Dims, func(d int64) int { return int(d) }), model.Texts(t)), nil
	}
	d := fail.Must(im.tensor(t))
	return im.Const(name, d), nil
}

// dense decodes a sparse constant.
func (im *importer) dense(t *pb.SparseTensorProto) (_ *tensor.Dense, err error) {
	defer fail.Catch(&err)
	d := fail.Must(im.m.Sparse(t))
	return d, im.decode(t.GetValues().GetName(), d)
}

// tensor decodes a constant; those of loops and functions are met repeatedly.
func (im *importer) tensor(t *pb.TensorProto) (_ *tensor.Dense, err error) {
	defer fail.Catch(&err)
	if d := im.tensors[t]; d != nil {
		return d, nil
	}
	d := fail.Must(im.m.Tensor(t))
	im.tensors[t] = d
	return d, im.decode(t.GetName(), d)
}

// decode counts a constant's bytes. Many may share one external file, or be sparse: the model's
// size says nothing.
func (im *importer) decode(name string, d *tensor.Dense) error {
	if im.decoded += int64(d.Len() * d.DType.Size()); im.decoded > im.Limits.MemoryBytes {
		return &ir.Diag{Code: "too-large", Node: "constant " + model.Quote(name),
			Msg:  fmt.Sprintf("too large: the constants up to this one have more than %d bytes", im.Limits.MemoryBytes),
			Hint: model.Raise("memory")}
	}
	return nil
}

func (im *importer) outputs(gp *pb.GraphProto, s *scope) {
	if len(gp.GetOutput()) == 0 {
		im.report(&ir.Diag{Code: "no-outputs", Node: "graph " + model.Quote(gp.GetName()), Msg: "has no outputs"})
	}
	for _, vi := range gp.GetOutput() {
		v, err := im.read(s, vi.GetName())
		switch {
		case err == errMissing:
			im.report(&ir.Diag{Code: "output-missing", Node: "output " + model.Quote(vi.GetName()),
				Msg: "no node, input or initializer of the graph produces it"})
		case err == build.ErrReported:
		case err != nil:
			im.report(err)
		case v == nil:
			panic(bug.Errorf("an absent value in the main graph"))
		default:
			im.checkDeclared("output "+model.Quote(vi.GetName()), vi, v)
			im.output(vi.GetName(), v)
		}
	}
}

// output adds an output, which may be there twice. Where it stands for texts, the model has them.
func (im *importer) output(name string, v *ir.Value) {
	if im.outs[name] {
		name = im.Unique(name)
	}
	im.outs[name] = true
	im.Graph.AddOutput(name, v)
	texts := im.Texts[v]
	if texts == nil {
		return
	}
	if im.m.Classes == nil {
		im.m.Classes = map[string][]string{}
	}
	im.m.Classes[name] = texts
	var list []string
	for i, s := range texts[:min(len(texts), 10)] {
		list = append(list, fmt.Sprintf("%d is %s", i, model.Quote(s)))
	}
	if len(texts) > len(list) {
		list = append(list, fmt.Sprintf("... (%d in all)", len(texts)))
	}
	im.Note(diag.Notef("classes", "output "+model.Quote(name), "output %s: classes are numbers: %s", model.Quote(name),
		strings.Join(list, ", ")))
}

func (im *importer) checkValueInfo(gp *pb.GraphProto, s *scope) {
	for _, vi := range gp.GetValueInfo() {
		if e, ok := s.values[vi.GetName()]; ok && e.v != nil && e.v.Def != nil {
			im.checkDeclared("value_info of "+model.Quote(vi.GetName()), vi, e.v)
		}
	}
}

func openSizes(g *pb.GraphProto) bool {
	for _, vi := range g.GetInput() {
		for _, d := range vi.GetType().GetTensorType().GetShape().GetDim() {
			if _, ok := d.GetValue().(*pb.TensorShapeProto_Dimension_DimValue); !ok {
				return true
			}
		}
	}
	return slices.ContainsFunc(g.GetNode(), func(n *pb.NodeProto) bool { return dataSized(n.GetOpType()) })
}

func (im *importer) checkDeclared(what string, vi *pb.ValueInfoProto, v *ir.Value) {
	tt := vi.GetType().GetTensorType()
	if tt == nil || tt.GetShape() == nil {
		return
	}
	dims := tt.GetShape().GetDim()
	bad := len(dims) != len(v.Type.Shape)
	for i := 0; !bad && i < len(dims); i++ {
		if d, ok := dims[i].GetValue().(*pb.TensorShapeProto_Dimension_DimValue); ok &&
			d.DimValue != int64(v.Type.Shape[i]) {
			bad = true
		}
	}
	if bad {
		var decl []string
		for _, d := range dims {
			if p := d.GetDimParam(); p != "" {
				decl = append(decl, p)
			} else {
				decl = append(decl, fmt.Sprint(d.GetDimValue()))
			}
		}
		shape := strings.Join(decl, ",")
		if im.opt.Declared != nil && (len(dims) != len(v.Type.Shape) || !openSizes(im.m.Proto.Graph)) {
			im.opt.Declared(&diag.Diag{Code: "declared-shape", Node: what, Tensor: vi.GetName(),
				Msg:  fmt.Sprintf("is declared with shape [%s], its node makes %v", shape, v.Type.Shape),
				Want: "the shape of the value, or none"})
			return
		}
		im.Note(diag.Warnf("declared-shape", what,
			"%s: the declared shape [%s] is not that of the value, %v: the declaration is ignored", what,
			shape, v.Type.Shape))
	}
}

// checkSizes refuses graphs that no microcontroller runs and that calibration
// and the interpreter would take hours and gigabytes for: values of too many
// elements, and too much work in all. It names every such value, and the
// nodes with the most work.
func (im *importer) checkSizes() {
	large := func(where, what string, v *ir.Value) {
		if n := int64(v.Type.Elems()); n > im.Limits.Elements {
			im.report(&ir.Diag{Code: "too-large", Node: where, Hint: model.Raise("elements"),
				Msg: fmt.Sprintf("too large: %s has shape %v, %d elements, more than %d", what, v.Type.Shape, n,
					im.Limits.Elements)})
		}
	}
	for _, v := range im.Graph.In {
		large("input "+model.Quote(v.Name), "it", v)
	}
	sum, most := int64(0), int64(-1)
	var worst *ir.Node
	for _, n := range im.Graph.Nodes {
		work := int64(0)
		if n.Op.MACs != nil {
			work = max(0, n.Op.MACs(n))
		}
		if n.Op.Work != nil {
			work = max(work, n.Op.Work(n))
		}
		for i, v := range n.Out {
			if v != nil {
				large(n.String(), fmt.Sprintf("output %d", i), v)
				work += min(int64(v.Type.Elems()), math.MaxInt64-work)
			}
		}
		if sum += work; sum < 0 {
			sum = math.MaxInt64
		}
		if work > most {
			most, worst = work, n
		}
	}
	if sum > im.Limits.Work {
		im.report(&ir.Diag{Code: "too-large", Node: worst.String(), Hint: model.Raise("work"),
			Msg: fmt.Sprintf("too large: one inference takes %d elements and multiplications, more than %d; most of "+
				"them, %d, are this node's", sum, im.Limits.Work, most)})
	}
}

// limitCodes are the codes of import errors about what ONNX allows and nncc does
// not: sizes and counts known only at run time, operators and types that
// it does not have, bounds on untrusted models.
var limitCodes = map[string]bool{
	"dim-dynamic": true, "no-shape": true, "dynamic": true, "flow-dynamic": true, "flow-types": true,
	"flow-trips":    true,
	"flow-empty":    true,
	"scale-dynamic": true, "training": true, "nesting": true, "too-large": true,
	"too-many-nodes": true,
	"op-unsupported": true, "op-custom": true, "dtype-unsupported": true, "sparse": true, "sequence": true,
}

// Findings are the errors of Import as check reports them, limits told from
// errors of the model; nil where err is none of those.
func Findings(err error) diag.List {
	errs, _ := err.(Errors)
	var fs diag.List
	for _, err := range errs {
		f := diag.Diag{Code: "import", Msg: err.Error()}
		if d := new(diag.Diag); errors.As(err, &d) {
			f = *d
			if limitCodes[d.Code] {
				f.Severity = diag.Limit
			}
		}
		fs = append(fs, &f)
	}
	return fs
}
