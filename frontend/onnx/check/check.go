// SPDX-License-Identifier: Apache-2.0

// Package check says what is wrong with an ONNX model as far as it can be said
// without computing shapes. It gives findings, all of them, in the order of the file.
package check

import (
	"fmt"
	"unicode/utf8"

	"github.com/nncc/nncc/frontend/onnx/functions"
	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/onnx/schema"
	"github.com/nncc/nncc/ir/diag"
	"google.golang.org/protobuf/proto"
)

// Model reports everything that is wrong with a model as far as it can be said
// without computing shapes: versions, graph structure (names, single assignment,
// order, dangling inputs), operators, arity, attributes and element types against
// the operator schemas, constants and their external data, subgraphs, functions.
// All findings are reported, in the order of the file, up to Limits.Findings.
// libs are functions beside the model's own and those that nncc ships; calls of
// them are checked, they themselves are not (Functions does that).
func Model(m *model.Model, libs ...*pb.FunctionProto) diag.List {
	c := &checker{m: m, lim: m.Limits.OrDefault(), ir: m.Proto.GetIrVersion(), unknown: map[string]bool{}}
	c.functions(append(functions.Default(), libs...))
	c.header()
	if m.Proto.Graph == nil {
		c.at("the model", "").add("no-graph", "", "a ModelProto with a graph", "has no graph")
		return c.out
	}
	c.functionBodies()
	g := m.Proto.Graph
	root := &checkScope{c: c, label: "the graph", vals: map[string]*val{}, opsets: c.opsets}
	c.graph(g, root, 0)
	if c.nodes > c.lim.Nodes {
		c.at("the model", "").add("too-many-nodes", "", fmt.Sprintf("at most %d; %s", c.lim.Nodes,
			model.Raise("nodes")), "too many nodes: %d", c.nodes)
	} else {
		c.expansion(g)
	}
	return c.out
}

// Functions reports what is wrong with functions by themselves, as Check
// does for those of a model.
func Functions(fs []*pb.FunctionProto, lim model.Limits) diag.List {
	m := &model.Model{Proto: &pb.ModelProto{IrVersion: proto.Int64(10), Functions: fs}, Limits: lim}
	c := &checker{m: m, lim: m.Limits.OrDefault(), ir: 10, unknown: map[string]bool{}, opsets: map[string]int64{}}
	c.functions(functions.Default())
	c.functionBodies()
	c.expansion(&pb.GraphProto{})
	return c.out
}

type checker struct {
	m       *model.Model
	lim     model.Limits
	ir      int64
	opsets  map[string]int64 // of the model, by domain ("" is ai.onnx)
	funcs   map[model.FuncID]*function
	unknown map[string]bool // operators without a schema that were reported
	nodes   int
	full    bool // Limits.Findings was reached
	out     diag.List
}

// add keeps a finding; the last one that fits says that more may follow.
func (c *checker) add(f diag.Diag) {
	if c.full {
		return
	}
	if len(c.out) >= c.lim.Findings {
		c.full = true
		f = diag.Diag{Severity: f.Severity, Code: "more", Node: "the model",
			Msg: fmt.Sprintf("more than %d problems; the rest are not shown", c.lim.Findings)}
	}
	c.out = append(c.out, &f)
}

func (c *checker) header() {
	p := c.m.Proto
	switch {
	case p.IrVersion == nil || c.ir <= 0:
		c.at("the model", "").add("ir-version", "", fmt.Sprintf("an IR version of 1 to %d", schema.MaxIR),
			"ir_version is %d", c.ir)
	case c.ir > schema.MaxIR:
		c.at("the model", "").add("ir-version", "", fmt.Sprintf("at most IR version %d; export with an older ONNX or "+
			"for an older opset", schema.MaxIR), "ir_version is %d, newer than nncc knows", c.ir)
	}
	c.opsets = c.imports(p.OpsetImport, "the model")
	if len(p.OpsetImport) == 0 {
		if c.ir >= 3 {
			c.at("the model", "").add("no-opset", "", "opset_import with the version of ai.onnx", "imports no opset")
		}
		// Before IR version 3 there was only one operator set.
		c.opsets[""] = 1
	}
	if len(p.Functions) > 0 && c.ir > 0 && c.ir < 8 {
		c.at("the model", "").warn("ir-version", "", "IR version 8 or newer",
			"has functions, which IR version %d does not know", c.ir)
	}
	for _, s := range []struct{ what, text string }{{"producer_name", p.GetProducerName()}, {"domain", p.GetDomain()}} {
		if !utf8.ValidString(s.text) {
			c.at("the model", "").add("text", "", "", "%s", s.what+" is not valid UTF-8")
		}
	}
}

func (c *checker) imports(list []*pb.OperatorSetIdProto, where string) map[string]int64 {
	m := map[string]int64{}
	for _, o := range list {
		d, v := schema.Domain(o.GetDomain()), o.GetVersion()
		name := schema.DisplayDomain(o.GetDomain())
		if old, ok := m[d]; ok {
			if old == v {
				continue
			}
			c.at(where, "").warn("opset", "", "one version of a domain",
				"imports opset %d and opset %d of %s; the last holds",
				old, v, model.Quote(name))
		}
		m[d] = v
		newest := int64(schema.MaxOpset(d))
		switch {
		case v < 1:
			c.at(where, "").add("opset", "", "a version of at least 1", "imports opset version %d of %s", v,
				model.Quote(name))
		case newest > 0 && v > newest && schema.Closed(d):
			c.at(where, "").add("opset", "", fmt.Sprintf("at most opset %d; export for an older opset", newest),
				"imports opset %d of %s, newer than nncc knows", v, model.Quote(name))
		}
	}
	return m
}

// nodeLabel names a node for people: by its name, else by its place and output.
func nodeLabel(n *pb.NodeProto, i int) string {
	op := n.GetOpType()
	if d := n.GetDomain(); schema.Domain(d) != "" {
		op = d + "." + op
	}
	if n.GetName() != "" {
		return fmt.Sprintf("node %s (%s)", model.Quote(n.GetName()), model.Plain(op))
	}
	for _, o := range n.Output {
		if o != "" {
			return fmt.Sprintf("node %d (%s, makes %s)", i, model.Plain(op), model.Quote(o))
		}
	}
	return fmt.Sprintf("node %d (%s)", i, model.Plain(op))
}
