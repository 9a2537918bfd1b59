package onnx

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nncc/nncc/frontend/onnx/functions"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// ImportOptions are the user's decisions about a model's open ends.
type ImportOptions struct {
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
	Note func(string)
	// Declared, when set, receives declared shapes that are not those of the
	// values, which otherwise are remarks: the import ignores them.
	Declared func(Finding)
}

// ImportErrors are all the reasons why a model was not imported.
type ImportErrors []error

func (e ImportErrors) Error() string {
	s := make([]string, len(e))
	for i, x := range e {
		s[i] = x.Error()
	}
	return strings.Join(s, "\n")
}

// Unwrap lets errors.As find the single ones.
func (e ImportErrors) Unwrap() []error { return e }

// minOpset is the oldest opset of which every operator is read: before it,
// broadcasting was a matter of attributes and many operators had training modes.
const minOpset = 7

// maxReported bounds how many errors one import lists.
const maxReported = 20

type importer struct {
	m       *Model
	lim     Limits
	g       *ir.Graph
	opt     ImportOptions
	opsets  map[string]int // of the model, by domain
	funcs   map[string]*pb.FunctionProto
	inline  []string // functions being expanded, outermost first
	errs    ImportErrors
	nodes   int
	made    int // nodes of the graph, of which one of the model may become many
	tooMany bool
	budget  budget
	// selected are the If nodes of which both branches are computed.
	selected  []string
	taken     map[string]int // how often a name was given to a value
	live      map[*pb.GraphProto]liveNodes
	names     map[*pb.GraphProto]map[string]bool
	tensors   map[*pb.TensorProto]*tensor.Dense
	decoded   int64              // bytes of these
	sequenced int                // lengths of all sequences
	symbols   map[string]int     // symbolic dimensions and their sizes
	bounded   map[*ir.Value]bool // values with room for more than the data may have
	counts    []countOf          // how many those are
}

// Import turns a model into a graph in the newest operators' form, with shapes
// inferred and everything folded that is known at compile time. Nodes whose
// results nothing reads are left out. The error is an ImportErrors with all
// that is wrong, not the first problem only. Import relies on what Check has
// found to be right only as far as messages go: it never panics.
func Import(m *Model, opt ImportOptions) (*ir.Graph, error) {
	lim := m.Limits.orDefault()
	im := &importer{m: m, lim: lim, opt: opt, opsets: map[string]int{}, funcs: map[string]*pb.FunctionProto{}, taken: map[string]int{},
		budget: budget{lim.FoldWork, lim.FoldBytes}, live: map[*pb.GraphProto]liveNodes{}, names: map[*pb.GraphProto]map[string]bool{}, tensors: map[*pb.TensorProto]*tensor.Dense{}, symbols: map[string]int{}, bounded: map[*ir.Value]bool{}}
	if im.opt.Note == nil {
		im.opt.Note = func(string) {}
	}
	gp := m.Proto.GetGraph()
	if gp == nil {
		return nil, ImportErrors{errors.New("the model has no graph")}
	}
	for _, o := range m.Proto.GetOpsetImport() {
		im.opsets[domain(o.GetDomain())] = int(o.GetVersion())
	}
	for _, f := range append(functions.Default(), opt.Functions...) {
		im.funcs[funcKey(f.GetDomain(), f.GetName(), f.GetOverload())] = f
	}
	for _, f := range m.Proto.GetFunctions() {
		im.funcs[funcKey(f.GetDomain(), f.GetName(), f.GetOverload())] = f
	}
	name := gp.GetName()
	if name == "" {
		name = "model"
	}
	im.g = ir.New(name)
	s := newScope(nil, "")
	im.bindDims(gp)
	im.initializers(gp, s)
	im.inputs(gp, s)
	live := im.liveNodes(gp)
	if dead := len(gp.GetNode()) - len(live); dead > 0 {
		im.opt.Note(fmt.Sprintf("nodes whose results nothing reads are left out: %d", dead))
	}
	im.body(live, s, im.opsets)
	im.noteSelected()
	im.outputs(gp, s)
	if len(im.errs) > 0 {
		return nil, im.errs
	}
	im.checkValueInfo(gp, s)
	im.addCounts()
	im.g.RemoveDead()
	if im.checkSizes(); len(im.errs) > 0 {
		return nil, im.errs
	}
	return im.g, nil
}

func domain(d string) string {
	if d == "ai.onnx" {
		return ""
	}
	return d
}

func funcKey(dom, name, overload string) string {
	return domain(dom) + "\x00" + name + "\x00" + overload
}

func (im *importer) report(err error) {
	if len(im.errs) < maxReported {
		im.errs = append(im.errs, err)
	}
}

// initializers adds the constants of a graph that something reads.
func (im *importer) initializers(gp *pb.GraphProto, s *scope) {
	read := im.readNames(gp)
	for _, t := range gp.GetInitializer() {
		name := t.GetName()
		if !read[name] {
			continue
		}
		d, err := im.tensor(t)
		if err != nil {
			s.fail(name, err)
			continue
		}
		s.set(name, im.addConst(s.valueName(name), d))
	}
	for _, t := range gp.GetSparseInitializer() {
		name := t.GetValues().GetName()
		s.fail(name, &ir.Diag{Code: "sparse", Node: "initializer " + quote(name), Msg: "sparse tensors are not supported", Hint: "store it as a dense tensor"})
	}
}

// tensor decodes a constant; those of loops and functions are met repeatedly.
func (im *importer) tensor(t *pb.TensorProto) (*tensor.Dense, error) {
	if d := im.tensors[t]; d != nil {
		return d, nil
	}
	d, err := im.m.Tensor(t)
	if err != nil {
		return nil, err
	}
	// Many constants may share one external file: the model's size says nothing.
	if im.decoded += int64(d.Len() * d.DType.Size()); im.decoded > im.lim.MemoryBytes {
		return nil, &ir.Diag{Code: "too-large", Node: "constant " + quote(t.GetName()), Msg: fmt.Sprintf("too large: the constants up to this one have more than %d bytes", im.lim.MemoryBytes), Hint: raise("memory")}
	}
	im.tensors[t] = d
	return d, nil
}

// addConst adds a constant under a name like the given one.
func (im *importer) addConst(name string, d *tensor.Dense) *ir.Value {
	return im.g.AddConst(im.unique(name), d)
}

// unique gives repeated names a number. ir.Graph would, too, but by trying all
// numbers from the first.
func (im *importer) unique(name string) string {
	k := im.taken[name]
	im.taken[name]++
	if k == 0 {
		return name
	}
	return fmt.Sprintf("%s.%d", name, k)
}

func (im *importer) outputs(gp *pb.GraphProto, s *scope) {
	if len(gp.GetOutput()) == 0 {
		im.report(&ir.Diag{Code: "no-outputs", Node: "graph " + quote(gp.GetName()), Msg: "has no outputs"})
	}
	for _, vi := range gp.GetOutput() {
		v, err := im.read(s, vi.GetName())
		switch {
		case err == errMissing:
			im.report(&ir.Diag{Code: "output-missing", Node: "output " + quote(vi.GetName()), Msg: "no node, input or initializer of the graph produces it"})
		case err == errPoisoned:
		case err != nil:
			im.report(err)
		case v == nil:
			panic("BUG: an absent value in the main graph")
		default:
			im.checkDeclared("output "+quote(vi.GetName()), vi, v)
			im.g.AddOutput(vi.GetName(), v)
		}
	}
}

// checkValueInfo compares the shapes that the model states for inner values.
func (im *importer) checkValueInfo(gp *pb.GraphProto, s *scope) {
	for _, vi := range gp.GetValueInfo() {
		if e, ok := s.values[vi.GetName()]; ok && e.v != nil && e.v.Def != nil {
			im.checkDeclared("value_info of "+quote(vi.GetName()), vi, e.v)
		}
	}
}

// dataSized are operators that make as many elements as the data have, of which
// nncc keeps room for the most there can be.
var dataSized = map[string]bool{"Unique": true, "NonZero": true, "NonMaxSuppression": true, "Compress": true}

// openSizes reports a graph with sizes that only the user or the data know.
func openSizes(g *pb.GraphProto) bool {
	for _, vi := range g.GetInput() {
		for _, d := range vi.GetType().GetTensorType().GetShape().GetDim() {
			if _, ok := d.GetValue().(*pb.TensorShapeProto_Dimension_DimValue); !ok {
				return true
			}
		}
	}
	return slices.ContainsFunc(g.GetNode(), func(n *pb.NodeProto) bool { return dataSized[n.GetOpType()] })
}

// checkDeclared compares a declaration with what was inferred.
func (im *importer) checkDeclared(what string, vi *pb.ValueInfoProto, v *ir.Value) {
	tt := vi.GetType().GetTensorType()
	if tt == nil || tt.GetShape() == nil {
		return
	}
	dims := tt.GetShape().GetDim()
	bad := len(dims) != len(v.Type.Shape)
	for i := 0; !bad && i < len(dims); i++ {
		if d, ok := dims[i].GetValue().(*pb.TensorShapeProto_Dimension_DimValue); ok && d.DimValue != int64(v.Type.Shape[i]) {
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
			im.opt.Declared(Finding{Code: "declared-shape", Where: what, Tensor: vi.GetName(), Found: fmt.Sprintf("is declared with shape [%s], its node makes %v", shape, v.Type.Shape), Want: "the shape of the value, or none"})
			return
		}
		im.opt.Note(fmt.Sprintf("%s: the declared shape [%s] is not that of the value, %v: the declaration is ignored", what, shape, v.Type.Shape))
	}
}
