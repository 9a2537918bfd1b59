package onnx

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/onnx/schema"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
)

// nodeCtx is one ONNX node on its way into the graph.
type nodeCtx struct {
	im     *importer
	p      *pb.NodeProto
	name   string
	opset  int // version of the node's own domain
	in     []*ir.Value
	attrs  ir.Attrs
	scope  *scope
	opsets map[string]int
	seqs   map[int]sequence // inputs that are sequences
	outSeq *sequence        // output 0, where it is one
}

func (c *nodeCtx) errf(code, format string, args ...any) error {
	name := c.p.GetOpType()
	if d := domain(c.p.GetDomain()); d != "" {
		name = d + "." + name
	}
	return &ir.Diag{Code: code, Node: plain(name) + " " + quote(c.name), Msg: fmt.Sprintf(format, args...)}
}

// nodeName is the name of a node, or one made from its operator and place.
func nodeName(n *pb.NodeProto, i int) string {
	if s := n.GetName(); s != "" {
		return s
	}
	return n.GetOpType() + "_" + strconv.Itoa(i)
}

// body imports nodes in order; one whose inputs failed is passed over.
func (im *importer) body(nodes liveNodes, s *scope, opsets map[string]int) {
	for _, n := range nodes {
		if im.tooMany {
			return
		}
		im.nodes++
		if most := im.lim.Nodes; im.nodes > most {
			im.tooMany = true
			where := "graph"
			if s.prefix != "" {
				where = "graph, in " + quote(strings.TrimSuffix(s.prefix, "/"))
			}
			im.report(&ir.Diag{Code: "too-many-nodes", Node: where, Msg: fmt.Sprintf("too many nodes: more than %d with functions and loops expanded", most), Hint: raise("nodes")})
			return
		}
		if err := im.node(n.p, n.index, s, opsets); err != nil {
			if err != errPoisoned {
				im.report(err)
			}
			s.poison(n.p.GetOutput(), errPoisoned)
		}
	}
}

// perNode is how many nodes of the graph one of the model makes, in the mean:
// some operators are expanded, and Loops and Scans unrolled.
const perNode = 4

// room counts a node of the graph, on behalf of one of the model.
func (im *importer) room(name string) error {
	if im.tooMany {
		return errPoisoned
	}
	if im.made++; im.made <= perNode*im.lim.Nodes {
		return nil
	}
	im.tooMany = true
	return &ir.Diag{Code: "too-many-nodes", Node: "graph, in " + quote(name), Hint: raise("nodes"),
		Msg: fmt.Sprintf("too many nodes: more than %d, four times the limit, after operators are written as others and loops unrolled", perNode*im.lim.Nodes)}
}

func (im *importer) node(n *pb.NodeProto, index int, s *scope, opsets map[string]int) error {
	dom := domain(n.GetDomain())
	c := &nodeCtx{im: im, p: n, name: joinName(s.prefix, nodeName(n, index)), scope: s, opsets: opsets}
	defer pass.Named("import", &ir.Node{Name: c.name, Origin: []string{n.GetOpType() + " " + quote(c.name)}})
	var poisoned error
	for i, name := range n.GetInput() {
		var v *ir.Value
		if name != "" {
			var err error
			v, err = im.read(s, name)
			seq, isSequence := err.(sequenceRead)
			switch {
			case err == nil:
			case isSequence:
				if c.seqs == nil {
					c.seqs = map[int]sequence{}
				}
				c.seqs[i] = seq.seq
			case err == errMissing:
				return c.errf("input-missing", "input %d is %s, which no node, input or initializer before it produces", i, quote(name))
			default:
				poisoned = err
			}
		}
		c.in = append(c.in, v)
	}
	if poisoned != nil {
		return poisoned
	}
	if err := c.takesSequences(); err != nil {
		return err
	}
	if f := im.funcs[funcKey(dom, n.GetOpType(), n.GetOverload())]; f != nil {
		return im.call(c, f)
	}
	if err := c.overBounds(); err != nil {
		return err
	}
	var ok bool
	if c.opset, ok = opsets[dom]; !ok {
		if dom == "" {
			return c.errf("opset", "the model imports no opset of the standard domain")
		}
		c.opset = 1
	}
	if dom == "" && c.opset < minOpset && schema.Lookup("", n.GetOpType(), int64(c.opset)) != schema.Lookup("", n.GetOpType(), minOpset) && veteran[n.GetOpType()] == nil {
		return c.errf("opset", "operator %s of opset %d is not supported, its form changed until opset %d; want opset %d or newer (onnx.version_converter converts models)", plain(n.GetOpType()), c.opset, minOpset, minOpset)
	}
	if err := c.readAttrs(); err != nil {
		return err
	}
	if up := veteran[n.GetOpType()]; up != nil && dom == "" && c.opset < minOpset {
		if err := up(c); err != nil {
			return err
		}
	}
	var out []*ir.Value
	var err error
	up := c.earlier()
	if up == nil {
		up = upgraders[opKey{dom, n.GetOpType()}]
	}
	if up != nil {
		out, err = up(c)
	} else {
		out, err = c.plain()
	}
	if err != nil {
		return c.hint(err)
	}
	return c.bindOutputs(out)
}

// hint tells how to give a value at compile time that depends on inputs of the
// model: those must be bound.
func (c *nodeCtx) hint(err error) error {
	d, ok := err.(*ir.Diag)
	if !ok || d.Code != "dynamic" || d.Hint != "" {
		return err
	}
	for _, v := range c.in {
		if v != nil && strings.Contains(d.Msg, v.String()) {
			if hint := bindHint(v); hint != "" {
				h := *d
				h.Hint = hint
				return &h
			}
		}
	}
	return err
}

// dynamicf is an error about value v, which is wanted at compile time.
func (c *nodeCtx) dynamicf(code string, v *ir.Value, format string, args ...any) error {
	d := c.errf(code, format, args...).(*ir.Diag)
	d.Hint = bindHint(v)
	return d
}

// bindHint says which inputs of the model a value depends on, and how to bind
// them; "" where it depends on none.
func bindHint(v *ir.Value) string {
	var flags []string
	seen := map[*ir.Value]bool{}
	var walk func(v *ir.Value)
	walk = func(v *ir.Value) {
		if v == nil || v.Const != nil || seen[v] {
			return
		}
		seen[v] = true
		if v.IsInput() {
			flags = append(flags, "--set "+v.Name+"=VALUE")
			return
		}
		if v.Def != nil {
			for _, w := range v.Def.In {
				walk(w)
			}
		}
	}
	walk(v)
	switch {
	case len(flags) == 0:
		return ""
	case v.IsInput():
		return "it is an input of the model; bind it with " + flags[0]
	}
	return "it depends on inputs of the model; bind them with " + strings.Join(flags, " ")
}

type opKey struct{ domain, name string }

// bindOutputs names the results. One that an expansion does not give is an
// error for whatever reads it.
func (c *nodeCtx) bindOutputs(out []*ir.Value) error {
	for i, name := range c.p.GetOutput() {
		if name == "" {
			continue
		}
		if _, dup := c.scope.values[name]; dup {
			return c.errf("ssa", "output %s is already the name of another value", quote(name))
		}
		if i == 0 && c.outSeq != nil {
			c.scope.values[name] = &entry{seq: c.outSeq}
			continue
		}
		if i >= len(out) || out[i] == nil {
			c.scope.fail(name, c.errf("outputs", "output %d (%s) is not supported, but something reads it", i, quote(name)))
			continue
		}
		c.scope.set(name, out[i])
	}
	return nil
}

// readAttrs converts the attributes that the IR knows; subgraphs are read by
// the operators that have them.
func (c *nodeCtx) readAttrs() error {
	c.attrs = ir.Attrs{}
	for _, a := range c.p.GetAttribute() {
		v, ok, err := c.im.attr(a)
		if err != nil {
			code := "attr"
			if d := new(ir.Diag); errors.As(err, &d) {
				code = d.Code
			}
			return c.errf(code, "attribute %s: %v", quote(a.GetName()), err)
		}
		if ok {
			c.attrs[a.GetName()] = v
		}
	}
	return nil
}

// attrKind is the type of an attribute: as stated, or (IR version 1) by the
// field that is filled.
func attrKind(a *pb.AttributeProto) pb.AttributeProto_AttributeType {
	switch {
	case a.GetType() != pb.AttributeProto_UNDEFINED:
		return a.GetType()
	case a.F != nil:
		return pb.AttributeProto_FLOAT
	case a.I != nil:
		return pb.AttributeProto_INT
	case a.S != nil:
		return pb.AttributeProto_STRING
	case a.T != nil:
		return pb.AttributeProto_TENSOR
	case a.G != nil:
		return pb.AttributeProto_GRAPH
	case len(a.Floats) > 0:
		return pb.AttributeProto_FLOATS
	case len(a.Ints) > 0:
		return pb.AttributeProto_INTS
	case len(a.Strings) > 0:
		return pb.AttributeProto_STRINGS
	}
	return pb.AttributeProto_UNDEFINED
}

func (im *importer) attr(a *pb.AttributeProto) (ir.Attr, bool, error) {
	switch k := attrKind(a); k {
	case pb.AttributeProto_INT:
		return ir.Attr{Kind: ir.AttrInt, Int: a.GetI()}, true, nil
	case pb.AttributeProto_FLOAT:
		return ir.Float(a.GetF()), true, nil
	case pb.AttributeProto_STRING:
		return ir.Str(string(a.GetS())), true, nil
	case pb.AttributeProto_INTS:
		return ir.Attr{Kind: ir.AttrInts, Ints: append([]int64{}, a.GetInts()...)}, true, nil
	case pb.AttributeProto_FLOATS:
		return ir.Attr{Kind: ir.AttrFloats, Floats: append([]float32{}, a.GetFloats()...)}, true, nil
	case pb.AttributeProto_STRINGS:
		var s []string
		for _, b := range a.GetStrings() {
			s = append(s, string(b))
		}
		return ir.Attr{Kind: ir.AttrStrings, Strings: s}, true, nil
	case pb.AttributeProto_TENSOR:
		if a.GetT() == nil {
			return ir.Attr{}, false, fmt.Errorf("holds no tensor")
		}
		d, err := im.tensor(a.GetT())
		if err != nil {
			return ir.Attr{}, false, err
		}
		return ir.Tens(d), true, nil
	case pb.AttributeProto_GRAPH, pb.AttributeProto_GRAPHS:
		return ir.Attr{}, false, nil
	case pb.AttributeProto_SPARSE_TENSOR, pb.AttributeProto_SPARSE_TENSORS:
		return ir.Attr{}, false, &ir.Diag{Code: "sparse", Msg: "sparse tensors are not supported; want a dense tensor"}
	default:
		return ir.Attr{}, false, &ir.Diag{Code: "sequence", Msg: fmt.Sprintf("values of type %s are not supported", schema.AttrType(k))}
	}
}

// take removes an attribute that an expansion has dealt with.
func (c *nodeCtx) take(name string) (ir.Attr, bool) {
	a, ok := c.attrs[name]
	delete(c.attrs, name)
	return a, ok
}

// takeInt, takeFloat and takeStr are take with the kind checked and a default.
func (c *nodeCtx) takeInt(name string, def int64) (int64, error) {
	a, ok := c.take(name)
	if !ok {
		return def, nil
	}
	return a.Int, c.kind(name, a, ir.AttrInt, "an integer")
}

func (c *nodeCtx) takeFloat(name string, def float32) (float32, error) {
	a, ok := c.take(name)
	if !ok {
		return def, nil
	}
	return a.Float, c.kind(name, a, ir.AttrFloat, "a float")
}

func (c *nodeCtx) takeStr(name, def string) (string, error) {
	a, ok := c.take(name)
	if !ok {
		return def, nil
	}
	return a.String, c.kind(name, a, ir.AttrString, "a string")
}

// takeInts is nil where the attribute is absent.
func (c *nodeCtx) takeInts(name string) ([]int64, error) {
	a, ok := c.take(name)
	if !ok {
		return nil, nil
	}
	return append([]int64{}, a.Ints...), c.kind(name, a, ir.AttrInts, "a list of integers")
}

func (c *nodeCtx) kind(name string, a ir.Attr, k ir.AttrKind, want string) error {
	if a.Kind != k {
		return c.errf("attr-kind", "attribute %s has the wrong type, want %s", quote(name), want)
	}
	return nil
}

// plain is the node as the operator of the same name.
func (c *nodeCtx) plain() ([]*ir.Value, error) {
	o := op.Get(domain(c.p.GetDomain()), c.p.GetOpType())
	if o == nil {
		return nil, c.unsupported()
	}
	nout := len(c.p.GetOutput())
	if o.MaxOut >= 0 {
		nout = min(nout, o.MaxOut)
	}
	return c.build(o, c.attrs, nout, c.in...)
}

func (c *nodeCtx) unsupported() error {
	d := domain(c.p.GetDomain())
	name := plain(c.p.GetOpType())
	if schema.Lookup(d, c.p.GetOpType(), int64(c.opset)) == nil {
		if d == "" {
			return c.errf("op-unknown", "ONNX opset %d has no operator %s", c.opset, name)
		}
		return c.errf("op-custom", "operator %s of domain %s is unknown; define it by an ONNX function (in the model, or in a file given with --functions)", name, quote(d))
	}
	return c.errf("op-unsupported", "operator %s is not supported; replace it in the model, or define it by an ONNX function in a file given with --functions", name)
}

// build adds a node for operator o, folds it when everything is known, and
// returns its outputs, which carry the ONNX node's names.
func (c *nodeCtx) build(o *ir.OpDef, attrs ir.Attrs, nout int, in ...*ir.Value) ([]*ir.Value, error) {
	names := make([]string, max(nout, o.MinOut))
	for i := range names {
		if i < len(c.p.GetOutput()) {
			names[i] = c.scope.valueName(c.p.GetOutput()[i])
		}
		if names[i] == "" {
			names[i] = c.name + "." + strconv.Itoa(i)
		}
	}
	return c.add(o, c.name, names, attrs, in)
}

// sub is build for the inner nodes of an expansion: one output, own name.
func (c *nodeCtx) sub(o *ir.OpDef, suffix string, attrs ir.Attrs, in ...*ir.Value) (*ir.Value, error) {
	name := shorten(c.name) + suffix
	out, err := c.add(o, name, []string{name}, attrs, in)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

func (c *nodeCtx) add(o *ir.OpDef, name string, names []string, attrs ir.Attrs, in []*ir.Value) ([]*ir.Value, error) {
	if o == nil {
		return nil, c.errf("op-unsupported", "needs an operator that is not supported")
	}
	if attrs == nil {
		attrs = ir.Attrs{}
	}
	if err := c.checkAttrs(o, attrs); err != nil {
		return nil, err
	}
	for len(in) > 0 && in[len(in)-1] == nil {
		in = in[:len(in)-1]
	}
	for i := range names {
		names[i] = c.im.unique(names[i])
	}
	n := &ir.Node{Name: name, Op: o, Attrs: attrs, In: in, Origin: []string{c.name}, Out: make([]*ir.Value, len(names))}
	if out, ok, err := c.im.foldNode(n, names); ok || err != nil {
		return out, err
	}
	if err := c.im.room(c.name); err != nil {
		return nil, err
	}
	if err := c.im.g.AddNode(n, names); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(in, func(v *ir.Value) bool { return c.im.bounded[v] }) {
		for _, v := range n.Out {
			c.im.bounded[v] = true
		}
	}
	return n.Out, nil
}

// constant adds a constant that an expansion needs.
func (c *nodeCtx) constant(suffix string, d *tensor.Dense) *ir.Value {
	return c.im.addConst(shorten(c.name)+suffix, d)
}

// withoutMeaning are attributes of the standard that do not change results here.
var withoutMeaning = map[string]bool{"Range.stash_type": true}

// checkAttrs refuses attributes that the operator does not have.
func (c *nodeCtx) checkAttrs(o *ir.OpDef, attrs ir.Attrs) error {
	for _, name := range attrs.Names() {
		known := false
		for _, s := range o.Attrs {
			known = known || s.Name == name
		}
		switch {
		case known:
		case withoutMeaning[o.Name+"."+name]:
			delete(attrs, name)
		default:
			return c.errf("attr-unknown", "attribute %s is not supported for %s of opset %d", quote(name), o.Name, c.opset)
		}
	}
	return nil
}
