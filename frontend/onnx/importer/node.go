// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/frontend/onnx/expand"
	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/onnx/schema"
	"github.com/nncc/nncc/frontend/onnx/upgrade"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/pass"
)

func nodeName(n *pb.NodeProto, i int) string {
	if s := n.GetName(); s != "" {
		return s
	}
	return n.GetOpType() + "_" + strconv.Itoa(i)
}

// body imports nodes in order; one whose inputs failed is passed over.
func (im *importer) body(nodes liveNodes, s *scope, opsets map[string]int) {
	for _, n := range nodes {
		if im.TooMany {
			return
		}
		im.nodes++
		if most := im.Limits.Nodes; im.nodes > most {
			im.TooMany = true
			where := "graph"
			if s.prefix != "" {
				where = "graph, in " + model.Quote(strings.TrimSuffix(s.prefix, "/"))
			}
			im.report(&ir.Diag{Code: "too-many-nodes", Node: where, Hint: model.Raise("nodes"),
				Msg: fmt.Sprintf("too many nodes: more than %d with functions and loops expanded", most)})
			return
		}
		if err := im.node(n.p, n.index, s, opsets); err != nil {
			if err != build.ErrReported {
				im.report(err)
			}
			s.poison(n.p.GetOutput(), build.ErrReported)
		}
	}
}

// nodeImport is one node on its way into the graph, with what only the importer
// knows of it: subgraphs and names.
type nodeImport struct {
	*build.Node
	im     *importer
	p      *pb.NodeProto
	scope  *scope
	opsets map[string]int
	origin string // of the nodes of its definition
}

func (im *importer) node(p *pb.NodeProto, index int, s *scope, opsets map[string]int) error {
	name := joinName(s.prefix, nodeName(p, index))
	n := &build.Node{Builder: im.Builder, Domain: schema.Home(p.GetDomain(), p.GetOpType(), int64(opsets[""])),
		Op:     p.GetOpType(),
		Name:   name,
		Origin: cmp.Or(s.origin, name), InNames: p.GetInput(), Out: s.valueNames(p.GetOutput())}
	defer pass.Named("import", &ir.Node{Name: name, Origin: []string{p.GetOpType() + " " + model.Quote(name)}})
	c := &nodeImport{Node: n, im: im, p: p, scope: s, opsets: opsets}
	if err := im.operands(n, s); err != nil {
		return c.unknown(err)
	}
	out, err := n.Run(func(*build.Node) []*ir.Value { return c.results() })
	if err != nil {
		return err
	}
	return c.bindOutputs(out)
}

func (im *importer) operands(n *build.Node, s *scope) error {
	var failed error
	for i, name := range n.InNames {
		var v *ir.Value
		if name != "" {
			var err error
			v, err = im.read(s, name)
			seq, isSequence := err.(sequenceRead)
			switch {
			case err == nil:
			case isSequence:
				if n.Seqs == nil {
					n.Seqs = map[int]build.Sequence{}
				}
				n.Seqs[i] = seq.seq
			case err == errMissing:
				return n.Errf("input-missing", "input %d is %s, which no node, input or initializer before it produces",
					i, model.Quote(name))
			default:
				failed = err
			}
		}
		n.In = append(n.In, v)
	}
	return failed
}

// unknown is, of a node that is passed over, that nothing defines its operator: all such operators are told at once.
func (c *nodeImport) unknown(err error) error {
	c.Opset = max(1, c.opsets[c.Domain])
	if err != build.ErrReported || c.im.funcs[model.CallID(c.p)] != nil || flow[c.Op] != nil || rule(c.Node) != nil ||
		c.definition() != nil {
		return err
	}
	_, unknown := c.Definition()
	return cmp.Or(unknown, err)
}

// flow are the operators with subgraphs, which are taken apart at compile time.
var flow map[string]func(c *nodeImport) []*ir.Value

func init() {
	flow = map[string]func(c *nodeImport) []*ir.Value{
		"If": (*nodeImport).ifElse, "Loop": (*nodeImport).loop, "Scan": (*nodeImport).scan,
	}
}

// results are the values of a node: a function is inlined; the form of an old opset
// becomes the newest, which may be expanded.
func (c *nodeImport) results() []*ir.Value {
	expand.WantTensors(c.Node)
	if f := c.im.funcs[model.CallID(c.p)]; f != nil {
		return c.function(f)
	}
	expand.OverBounds(c.Node)
	var imported bool
	if c.Opset, imported = c.opsets[c.Domain]; !imported {
		c.Want(c.Domain != "", "opset", "the model imports no opset of the standard domain")
		c.Opset = 1
	}
	c.readAttrs()
	if c.Domain == "" {
		if s := schema.Early(c.Op, int64(c.Opset)); s != nil { // ONNX Runtime passes over what this does not have
			maps.DeleteFunc(c.Attrs, func(name string, _ ir.Attr) bool { return s.Attr(name) == nil })
		}
		upgrade.PreOpset7(c.Node)
		if f := flow[c.Op]; f != nil {
			return f(c)
		}
	}
	if r := rule(c.Node); r != nil {
		return r(c.Node)
	}
	if f := c.definition(); f != nil {
		return c.operator(f)
	}
	return c.Plain()
}

// rule says what a node becomes that is not taken as it is; nil where it is.
func rule(n *build.Node) build.Rule {
	if n.Domain == "" {
		if r := upgrade.Rule(n.Op, n.Opset); r != nil {
			return r
		}
	}
	return expand.Rule(n.Domain, n.Op)
}

// Operator is the rule of a node without subgraphs that no ONNX file holds.
func Operator(n *build.Node) []*ir.Value {
	expand.OverBounds(n)
	if r := rule(n); r != nil {
		return r(n)
	}
	return n.Plain()
}

// bindOutputs names the results. One that an expansion does not give is an
// error for whatever reads it.
func (c *nodeImport) bindOutputs(out []*ir.Value) error {
	for i, name := range c.p.GetOutput() {
		if name == "" {
			continue
		}
		if _, dup := c.scope.values[name]; dup {
			return c.Errf("ssa", "output %s is already the name of another value", model.Quote(name))
		}
		switch {
		case i == 0 && c.OutSeq != nil:
			c.scope.values[name] = &entry{seq: c.OutSeq}
		case i >= len(out) || out[i] == nil:
			c.scope.fail(name, c.Errf("outputs", "output %d (%s) is not supported, but something reads it; want the "+
				"model without what reads it", i,
				model.Quote(name)))
		default:
			c.scope.set(name, out[i])
		}
	}
	return nil
}

// readAttrs converts the attributes that the IR knows; subgraphs are read by
// the operators that have them.
func (c *nodeImport) readAttrs() {
	c.Attrs = ir.Attrs{}
	for _, a := range c.p.GetAttribute() {
		v, ok, err := c.im.attr(a)
		if err != nil {
			code := "attr"
			if d := new(ir.Diag); errors.As(err, &d) {
				code = d.Code
			}
			c.Want(false, code, "attribute %s: %v", model.Quote(a.GetName()), err)
		}
		if ok {
			c.Attrs[a.GetName()] = v
		}
	}
}

// attrKind is the type of an attribute: as stated, or (IR version 1) by the
// field that is filled.
func attrKind(a *pb.AttributeProto) schema.AttrType {
	if stated := a.GetType(); stated != pb.AttributeProto_UNDEFINED {
		return schema.AttrType(stated)
	}
	for _, t := range model.Filled(a) {
		return t
	}
	return 0
}

func (im *importer) attr(a *pb.AttributeProto) (_ ir.Attr, _ bool, err error) {
	defer fail.Catch(&err)
	switch k := attrKind(a); k {
	case schema.Int:
		return ir.Attr{Kind: ir.AttrInt, Int: a.GetI()}, true, nil
	case schema.Float:
		return ir.Float(a.GetF()), true, nil
	case schema.String:
		return ir.Str(string(a.GetS())), true, nil
	case schema.Ints:
		return ir.Attr{Kind: ir.AttrInts, Ints: append([]int64{}, a.GetInts()...)}, true, nil
	case schema.Floats:
		return ir.Attr{Kind: ir.AttrFloats, Floats: append([]float32{}, a.GetFloats()...)}, true, nil
	case schema.Strings:
		s := lists.Map(a.GetStrings(), func(b []byte) string { return string(b) })
		return ir.Attr{Kind: ir.AttrStrings, Strings: s}, true, nil
	case schema.Tensor:
		if a.GetT() == nil {
			return ir.Attr{}, false, fmt.Errorf("holds no tensor")
		}
		if t := a.GetT(); model.IsText(t) {
			return ir.Attr{Kind: ir.AttrStrings, Strings: model.Texts(t), Ints: t.Dims}, true, nil
		}
		d := fail.Must(im.tensor(a.GetT()))
		return ir.Tens(d), true, nil
	case schema.Graph, schema.Graphs:
		return ir.Attr{}, false, nil
	case schema.SparseTensor:
		d := fail.Must(im.dense(a.GetSparseTensor()))
		return ir.Tens(d), true, nil
	default:
		return ir.Attr{}, false, &ir.Diag{Code: "sequence",
			Msg: fmt.Sprintf("values of type %s are not supported", k)}
	}
}
