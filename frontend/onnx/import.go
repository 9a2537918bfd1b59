package onnx

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// ImportOptions are the user's decisions about a model's open ends.
type ImportOptions struct {
	// Dims pins symbolic dimensions by name; "input.axis" names one that the
	// model leaves without a name.
	Dims map[string]int
	// Shapes gives whole input shapes (of input files), overriding symbols.
	Shapes map[string][]int
	// Set binds inputs to constants.
	Set map[string]*tensor.Dense
	// Functions are libraries of operator definitions beside the model's own.
	Functions []*pb.FunctionProto
	// Note receives remarks such as a batch dimension pinned to 1.
	Note func(string)
}

// Errors are all the reasons why a model was not imported.
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

// maxFoldElems bounds the size of constants computed at import, in elements.
const maxFoldElems = 1 << 22

// maxReported bounds how many errors one import lists.
const maxReported = 20

type importer struct {
	m      *Model
	g      *ir.Graph
	opt    ImportOptions
	opsets map[string]int // of the model, by domain
	funcs  map[string]*pb.FunctionProto
	inline []string // functions being expanded, outermost first
	errs   ImportErrors
	nodes  int
}

// scope maps ONNX names to values; outer is the enclosing graph's.
type scope struct {
	outer  *scope
	values map[string]*ir.Value
	bad    map[string]bool // outputs of nodes that were not imported
	prefix string          // of the names of inlined functions' nodes
}

func (s *scope) find(name string) (*ir.Value, bool) {
	for ; s != nil; s = s.outer {
		if v, ok := s.values[name]; ok {
			return v, true
		}
		if s.bad[name] {
			return nil, true
		}
	}
	return nil, false
}

func newScope(outer *scope, prefix string) *scope {
	return &scope{outer: outer, values: map[string]*ir.Value{}, bad: map[string]bool{}, prefix: prefix}
}

// Import turns a model into a graph in the newest operators' form, with shapes
// inferred and everything folded that is known at compile time. The error is
// an ImportErrors with all that is wrong, not the first problem only.
func Import(m *Model, opt ImportOptions) (*ir.Graph, error) {
	im := &importer{m: m, opt: opt, opsets: map[string]int{}, funcs: map[string]*pb.FunctionProto{}}
	if im.opt.Note == nil {
		im.opt.Note = func(string) {}
	}
	for _, o := range m.Proto.GetOpsetImport() {
		im.opsets[domain(o.GetDomain())] = int(o.GetVersion())
	}
	for _, f := range opt.Functions {
		im.funcs[funcKey(f.GetDomain(), f.GetName(), f.GetOverload())] = f
	}
	for _, f := range m.Proto.GetFunctions() {
		im.funcs[funcKey(f.GetDomain(), f.GetName(), f.GetOverload())] = f
	}
	gp := m.Proto.GetGraph()
	if gp == nil {
		return nil, ImportErrors{errors.New("the model has no graph")}
	}
	name := gp.GetName()
	if name == "" {
		name = "model"
	}
	im.g = ir.New(name)
	s := newScope(nil, "")
	im.initializers(gp, s)
	im.inputs(gp, s)
	im.body(gp.GetNode(), s, im.opsets)
	im.outputs(gp, s)
	if len(im.errs) > 0 {
		return nil, im.errs
	}
	im.g.RemoveDead()
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

func (im *importer) fail(err error) {
	if len(im.errs) < maxReported {
		im.errs = append(im.errs, err)
	}
}

func (im *importer) initializers(gp *pb.GraphProto, s *scope) {
	for _, t := range gp.GetInitializer() {
		if err := im.initializer(t, s); err != nil {
			im.fail(err)
			s.bad[t.GetName()] = true
		}
	}
	for _, t := range gp.GetSparseInitializer() {
		name := t.GetValues().GetName()
		im.fail(&ir.Diag{Code: "sparse", Node: "initializer " + quote(name), Msg: "sparse tensors are not supported", Hint: "store it as a dense tensor"})
		s.bad[name] = true
	}
}

func (im *importer) initializer(t *pb.TensorProto, s *scope) error {
	d, err := im.m.Tensor(t)
	if err != nil {
		return err
	}
	s.values[t.GetName()] = im.g.AddConst(t.GetName(), d)
	return nil
}

func (im *importer) inputs(gp *pb.GraphProto, s *scope) {
	known := map[string]bool{}
	for _, vi := range gp.GetInput() {
		name := vi.GetName()
		if _, ok := s.values[name]; ok || s.bad[name] {
			continue // an initializer that is listed as an input, as IR version 3 wants it
		}
		known[name] = true
		t, err := im.inputType(vi)
		if err != nil {
			im.fail(err)
			s.bad[name] = true
			continue
		}
		if d := im.opt.Set[name]; d != nil {
			c, err := bind(name, d, t)
			if err != nil {
				im.fail(err)
				s.bad[name] = true
				continue
			}
			s.values[name] = im.g.AddConst(name, c)
			continue
		}
		s.values[name] = im.g.AddInput(name, t)
	}
	var unknown []string
	for name := range im.opt.Set {
		if !known[name] {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		im.fail(&ir.Diag{Code: "set-unknown", Node: "--set " + name, Msg: "the model has no such input", Hint: "inputs are " + strings.Join(inputNames(gp), ", ")})
	}
}

func inputNames(gp *pb.GraphProto) []string {
	var s []string
	for _, vi := range gp.GetInput() {
		s = append(s, quote(vi.GetName()))
	}
	return s
}

// bind converts a value given for an input to the input's type and shape.
func bind(name string, d *tensor.Dense, t ir.Type) (*tensor.Dense, error) {
	c := d.Cast(t.DType)
	want := t.Elems()
	switch {
	case c.Len() == want:
		return c.Reshaped(t.Shape), nil
	case c.Len() == 1:
		out := tensor.New(t.DType, t.Shape)
		for i := 0; i < want; i++ {
			out.SetFloat(i, c.Float(0))
			if !t.DType.IsFloat() {
				out.SetInt(i, c.Int(0))
			}
		}
		return out, nil
	}
	return nil, &ir.Diag{Code: "set-shape", Node: "--set " + name, Msg: fmt.Sprintf("has %d elements, the input needs %d (shape %v)", c.Len(), want, t.Shape)}
}

func (im *importer) outputs(gp *pb.GraphProto, s *scope) {
	if len(gp.GetOutput()) == 0 {
		im.fail(&ir.Diag{Code: "no-outputs", Node: "graph " + quote(gp.GetName()), Msg: "has no outputs"})
	}
	for _, vi := range gp.GetOutput() {
		v, ok := s.find(vi.GetName())
		if !ok {
			im.fail(&ir.Diag{Code: "output-missing", Node: "output " + quote(vi.GetName()), Msg: "no node, input or initializer of the graph produces it"})
			continue
		}
		if v == nil {
			continue // reported where it went wrong
		}
		im.checkDeclared(vi, v)
		im.g.AddOutput(vi.GetName(), v)
	}
}

// checkDeclared compares an output's declaration with what was inferred.
func (im *importer) checkDeclared(vi *pb.ValueInfoProto, v *ir.Value) {
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
		im.opt.Note(fmt.Sprintf("output %s is declared with shape [%s], but its shape is %v: the declaration is ignored", quote(vi.GetName()), strings.Join(decl, ","), v.Type.Shape))
	}
}

// body imports nodes in order; a node whose inputs failed is passed over.
func (im *importer) body(nodes []*pb.NodeProto, s *scope, opsets map[string]int) {
	for i, n := range nodes {
		im.nodes++
		if im.nodes > im.m.Limits.orDefault().Nodes {
			im.fail(&ir.Diag{Code: "too-many-nodes", Node: "graph", Msg: fmt.Sprintf("too many nodes: more than %d with functions and loops expanded", im.m.Limits.orDefault().Nodes)})
			return
		}
		if err := im.node(n, i, s, opsets); err != nil {
			if err != errPoisoned {
				im.fail(err)
			}
			for _, o := range n.GetOutput() {
				if o != "" {
					s.bad[o] = true
				}
			}
		}
	}
}

// errPoisoned: an input of the node was not imported; that was reported.
var errPoisoned = errors.New("an input failed")
