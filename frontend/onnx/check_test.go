// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/diag"
)

// checkAll runs a built model through its serialised form.
func checkAll(t *testing.T, p *pb.ModelProto, lim Limits) diag.List {
	t.Helper()
	m := testenv.Must(Parse(tBytes(p), lim))(t)
	return Check(m)
}

func TestCheckFindings(t *testing.T) {
	relu := func() *pb.ModelProto { return tModel(tNode("r", "Relu", "x", ">", "y")) }
	edit := func(f func(*pb.ModelProto)) *pb.ModelProto { m := relu(); f(m); return m }
	g := func(f func(*pb.GraphProto)) *pb.ModelProto { m := relu(); f(m.Graph); return m }
	init := func(ts ...*pb.TensorProto) *pb.ModelProto {
		m := tModel(tNode("a", "Add", "x", "k", ">", "y"))
		m.Graph.Initializer = ts
		return m
	}
	branch := func(nodes ...*pb.NodeProto) *pb.GraphProto {
		return &pb.GraphProto{Name: proto.String("b"), Node: nodes, Output: []*pb.ValueInfoProto{tValue("s", 1, 1, 4)}}
	}
	ifModel := func(then, els *pb.GraphProto) *pb.ModelProto {
		m := tModel(tWith(tNode("if", "If", "c", ">", "y"), tGraphAttr("then_branch", then),
			tGraphAttr("else_branch", els)))
		m.Graph.Input = append(m.Graph.Input, tValue("c", 9))
		return m
	}
	withFuncs := func(call *pb.NodeProto, fs ...*pb.FunctionProto) *pb.ModelProto {
		m := tModel(tDomain(call, "local"))
		m.OpsetImport = append(m.OpsetImport, tOpset("local", 1))
		m.Functions = fs
		return m
	}
	long := strings.Repeat("n", 5000)

	cases := []struct {
		name string
		m    *pb.ModelProto
		want []string // one finding each, in order: "code|part of the message|…"
	}{
		{"good", relu(), nil},
		{"ir absent", edit(func(m *pb.ModelProto) { m.IrVersion = nil }), []string{"ir-version|ir_version is 0"}},
		{"ir future", edit(func(m *pb.ModelProto) { m.IrVersion = proto.Int64(99) }), []string{"ir-version|99"}},
		{"opset 0", edit(func(m *pb.ModelProto) { m.OpsetImport[0].Version = proto.Int64(0) }),
			[]string{"opset|version 0"}},
		{"opset future", edit(func(m *pb.ModelProto) { m.OpsetImport[0].Version = proto.Int64(999) }),
			[]string{"opset|999"}},
		{"opset twice", edit(func(m *pb.ModelProto) { m.OpsetImport = append(m.OpsetImport, tOpset("ai.onnx", 14)) }),
			[]string{"opset|opset 13 and opset 14 of \"ai.onnx\"; the last holds"}},
		{"attribute that ONNX Runtime passes over",
			tModel(tWith(tNode("a", "LayerNormalization", "x", "x", ">", "y"), tInt("flux", 1))),
			[]string{"op|as ONNX Runtime reads it", `attribute|"flux" is unknown`}},
		{"opset repeated",
			edit(func(m *pb.ModelProto) { m.OpsetImport = append(m.OpsetImport, tOpset("ai.onnx", 13)) }), nil},
		{"no opset", edit(func(m *pb.ModelProto) { m.OpsetImport = nil }), []string{"no-opset|opset"}},
		{"no opset, IR 2", edit(func(m *pb.ModelProto) { m.OpsetImport, m.IrVersion = nil, proto.Int64(2) }), nil},
		{"no graph", edit(func(m *pb.ModelProto) { m.Graph = nil }), []string{"no-graph|graph"}},
		{"no outputs", g(func(g *pb.GraphProto) { g.Output = nil }), []string{"no-outputs|no outputs"}},
		{"output missing", g(func(g *pb.GraphProto) { g.Output[0].Name = proto.String("q") }),
			[]string{`output-missing|output "q"`}},
		{"output twice", g(func(g *pb.GraphProto) { g.Output = append(g.Output, g.Output[0]) }),
			[]string{"output-twice|twice"}},
		{"input twice", g(func(g *pb.GraphProto) { g.Input = append(g.Input, g.Input[0]) }),
			[]string{`not-ssa|defines "x"`}},
		{"input without type", g(func(g *pb.GraphProto) { g.Input[0].Type = nil }), []string{`no-type|input "x"`}},
		{"input negative", g(func(g *pb.GraphProto) { g.Input[0] = tValue("x", 1, 1, -4) }),
			[]string{"shape|negative (-4)"}},
		{"input of any size", g(func(g *pb.GraphProto) { g.Input[0] = tValue("x", 1, 1, -1) }), nil},
		{"input overflow", g(func(g *pb.GraphProto) { g.Input[0] = tValue("x", 1, 1<<32, 1<<32) }),
			[]string{"shape|too large"}},
		{"input overflow behind zero", g(func(g *pb.GraphProto) { g.Input[0] = tValue("x", 1, 1<<62, 1<<62, 0) }), nil},
		{"input elem type", g(func(g *pb.GraphProto) { g.Input[0] = tValue("x", 99, 1) }), []string{"elem-type|99"}},
		{"empty names", g(func(g *pb.GraphProto) {
			g.Input[0].Name, g.Node[0].Input[0], g.Output[0].Name = nil, "", proto.String("")
		}), []string{"name|input 0", "arity|input 0 (X) is left out", "name|output 0"}},
		{"not UTF-8", g(func(g *pb.GraphProto) {
			g.Input[0].Name, g.Node[0].Input[0] = proto.String("x\xff"), "x\xff"
		}), []string{`name|"x\xff" is not valid UTF-8`}},
		{"long name", g(func(g *pb.GraphProto) { g.Node[0].Input[0] = long }), []string{"input-missing|(5000 bytes)"}},
		{"dangling", g(func(g *pb.GraphProto) { g.Node[0].Input[0] = "zz" }),
			[]string{`input-missing|node "r" (Relu): input 0 is "zz"`}},
		{"order", tModel(tNode("b", "Relu", "t", ">", "y"), tNode("a", "Relu", "x", ">", "t")),
			[]string{`order|node "b" (Relu): is listed before node "a" (Relu), which makes what it reads`}},
		{"cycle", tModel(tNode("a", "Add", "x", "y", ">", "y")), []string{`order|reads "y"`}},
		{"output defined twice", tModel(tNode("a", "Relu", "x", ">", "y"), tNode("b", "Relu", "x", ">", "y")),
			[]string{`not-ssa|node "b" (Relu): defines "y", which node "a" (Relu) has defined`}},
		{"all at once", tModel(tNode("a", "Reluu", "x", ">", "t"), tNode("b", "Conv", "x", ">", "u"),
			tNode("", "Relu", "nix", ">", "v")),
			[]string{"op|perhaps Relu", "arity|has 1 inputs; want 2 to 3", `input-missing|node 2 (Relu, makes "v")`,
				"output-missing|y"}},
		{"op empty", tModel(tNode("a", "", "x", ">", "y")), []string{"no-op|op_type"}},
		{"op too new", tModel(tNode("a", "Swish", "x", ">", "y")), []string{"op|came with opset 24"}},
		{"op removed", tModel(tNode("a", "Upsample", "x", "x", ">", "y")), []string{"op|removed in opset 10"}},
		{"domain not imported", tModel(tDomain(tNode("a", "QLinearSoftmaxx", "x", ">", "y"), "com.microsoft")),
			[]string{"domain|read as opset 1", "custom-op|com.microsoft"}},
		{"domain of nobody", tModel(tDomain(tNode("a", "Conv", "x", ">", "y"), "ours")),
			[]string{"domain|read as opset 1", "custom-op|ours"}},
		{"custom operator", withFuncs(tNode("a", "Reorg", "x", ">", "y")), []string{"custom-op|local"}},
		{"arity, too many", tModel(tNode("a", "Relu", "x", "x", ">", "y")), []string{"arity|has 2 inputs; want 1"}},
		{"arity, optional in the middle", tModel(tNode("a", "Clip", "x", "", "x", ">", "y")), nil},
		{"attribute unknown", tModel(tWith(tNode("a", "Relu", "x", ">", "y"), tInt("flux", 1))),
			[]string{`attribute|"flux" is unknown to Relu-13; want no attributes`}},
		{"attribute type", tModel(tWith(tNode("a", "Softmax", "x", ">", "y"), tInts("axis", 1))),
			[]string{`attribute|"axis" has type INTS; want INT`}},
		{"attribute twice", tModel(tWith(tNode("a", "Softmax", "x", ">", "y"), tInt("axis", 1), tInt("axis", 1))),
			[]string{"attribute|twice"}},
		{"attribute missing", tModel(tNode("a", "Concat", "x", ">", "y")),
			[]string{`attribute|lacks the attribute "axis"`}},
		{"attribute says another type",
			tModel(tWith(tNode("a", "Softmax", "x", ">", "y"), &pb.AttributeProto{Name: proto.String("axis"),
				Type: pb.AttributeProto_FLOAT.Enum(), I: proto.Int64(1)})),
			[]string{"attribute|states type FLOAT", "attribute|has type FLOAT; want INT"}},
		{"attribute without type",
			tModel(tWith(tNode("a", "Softmax", "x", ">", "y"), &pb.AttributeProto{Name: proto.String("axis"),
				I: proto.Int64(1)})), []string{"attribute|does not state"}},
		{"attribute zero left out",
			tModel(tWith(tNode("a", "Softmax", "x", ">", "y"), &pb.AttributeProto{Name: proto.String("axis"),
				Type: pb.AttributeProto_INT.Enum()})), nil},
		{"attribute reference outside",
			tModel(tWith(tNode("a", "Softmax", "x", ">", "y"), &pb.AttributeProto{Name: proto.String("axis"),
				Type: pb.AttributeProto_INT.Enum(), RefAttrName: proto.String("q")})),
			[]string{"attribute|outside of any function"}},
		{"type", g(func(g *pb.GraphProto) { g.Input[0] = tValue("x", 9, 1, 4) }), []string{"type|of type bool"}},
		{"types differ", tModel(tWith(tNode("c", "Cast", "x", ">", "t"), tInt("to", 7)),
			tNode("a", "Add", "x", "t", ">", "y")),
			[]string{"type|input 1 (B) has type int64, input 0 has type float"}},

		{"data short", init(tFloats("k", []int64{1, 4}, 1, 2)),
			[]string{`tensor|initializer "k": float_data has a size of 2 values; want 4`}},
		{"no data", init(tFloats("k", []int64{4})), []string{"tensor|holds no data"}},
		{"zero size", init(tFloats("k", []int64{1, 0})), nil},
		{"negative", init(tFloats("k", []int64{-4}, 1)), []string{"tensor|negative"}},
		{"overflow", init(tFloats("k", []int64{1 << 31, 1 << 31, 4}, 1)), []string{"tensor|too large"}},
		{"twice", init(tFloats("k", nil, 1), tFloats("k", nil, 1)), []string{"not-ssa|is listed twice"}},
		{"no name", init(tFloats("k", nil, 1), tFloats("", nil, 1)), []string{"name|initializer 1"}},
		{"no type", init(&pb.TensorProto{Name: proto.String("k")}), []string{"tensor|data type 0"}},

		{"branches", ifModel(branch(tNode("r", "Relu", "x", ">", "s")), branch(tNode("n", "Neg", "x", ">", "s"))), nil},
		{"outer value handed on", ifModel(&pb.GraphProto{Output: []*pb.ValueInfoProto{tValue("x", 1, 1, 4)}},
			branch(tNode("n", "Neg", "x", ">", "s"))), nil},
		{"branch reads later", ifModel(branch(tNode("r", "Relu", "y", ">", "s")),
			branch(tNode("n", "Neg", "x", ">", "s"))),
			[]string{`order|node "r" (Relu) in then_branch of node "if" (If): reads "y" before`}},
		{"inner value outside", func() *pb.ModelProto {
			m := ifModel(branch(tNode("r", "Relu", "x", ">", "s")), branch(tNode("n", "Neg", "x", ">", "s")))
			m.Graph.Output[0].Name = proto.String("s")
			return m
		}(), []string{`output-missing|"s"`}},
		{"shadow", ifModel(branch(tNode("r", "Relu", "x", ">", "s"), tNode("q", "Relu", "x", ">", "x")),
			branch(tNode("n", "Neg", "x", ">", "s"))), []string{"shadow|outside"}},

		{"function", withFuncs(tNode("f", "F", "x", ">", "y"), tFunc("local", "F", []string{"a"}, []string{"b"},
			tNode("r", "Relu", "a", ">", "b"))), nil},
		{"function body", withFuncs(tNode("f", "F", "x", ">", "y"), tFunc("local", "F", []string{"a"}, []string{"b"},
			tNode("r", "Relu", "x", ">", "t"))),
			[]string{`input-missing|node "r" (Relu) in function "local.F"`,
				`output-missing|function "local.F": output 0, "b"`}},
		{"function twice", withFuncs(tNode("f", "F", "x", ">", "y"), tFunc("local", "F", []string{"a"}, []string{"b"},
			tNode("r", "Relu", "a", ">", "b")), tFunc("local", "F", nil, nil)), []string{"function|twice"}},
		{"function arity", withFuncs(tNode("f", "F", "x", "x", ">", "y", "z"), tFunc("local", "F", []string{"a"},
			[]string{"b"}, tNode("r", "Relu", "a", ">", "b"))), []string{"arity|at most 1", "arity|has 2 outputs"}},
		{"function attribute", withFuncs(tWith(tNode("f", "F", "x", ">", "y"), tInt("w", 1)),
			tFunc("local", "F", []string{"a"}, []string{"b"}, tNode("r", "Relu", "a", ">", "b"))),
			[]string{`attribute|"w" is unknown to function`}},
		{"recursion", withFuncs(tNode("f", "F", "x", ">", "y"), tFunc("local", "F", []string{"a"}, []string{"b"},
			tDomain(tNode("h", "H", "a", ">", "b"), "local")),
			tFunc("local", "H", []string{"a"}, []string{"b"}, tDomain(tNode("f", "F", "a", ">", "b"), "local"))),
			[]string{`recursion|function "local.F" → function "local.H" → function "local.F"`}},
	}
	for _, c := range cases {
		got := checkAll(t, c.m, Limits{})
		if len(got) != len(c.want) {
			t.Errorf("%s: %d findings, want %d: %q", c.name, len(got), len(c.want), got)
			continue
		}
		for i, w := range c.want {
			code, text, _ := strings.Cut(w, "|")
			if got[i].Code != code || !strings.Contains(got[i].Full(), text) {
				t.Errorf("%s: %s, want [%s] with %q", c.name, got[i].String(), code, text)
			}
			testenv.Check(t, len(got[i].Full()) <= 1000, "%s: a message of %d bytes", c.name, len(got[i].Full()))
		}
	}
}

// TestCheckLimits: what grows without bound is stopped.
func TestCheckLimits(t *testing.T) {
	// Thirty functions that each call the next one twice: 2^30 nodes.
	m := tModel(tDomain(tNode("f", "F0", "x", ">", "y"), "local"))
	m.OpsetImport = append(m.OpsetImport, tOpset("local", 1))
	for i := range 30 {
		next := fmt.Sprint("F", i+1)
		m.Functions = append(m.Functions, tFunc("local", fmt.Sprint("F", i), []string{"a"}, []string{"b"},
			tDomain(tNode("p", next, "a", ">", "t"), "local"), tDomain(tNode("q", next, "t", ">", "b"), "local")))
	}
	m.Functions = append(m.Functions, tFunc("local", "F30", []string{"a"}, []string{"b"},
		tNode("r", "Relu", "a", ">", "b")))
	if got := checkAll(t, m, Limits{}); len(got) != 1 || got[0].Code != "too-many-nodes" {
		t.Error("functions that double:", got)
	}

	m = tModel()
	for i := range 50 {
		m.Graph.Node = append(m.Graph.Node, tNode("", "Relu", "nix", ">", fmt.Sprint("t", i)))
	}
	if got := checkAll(t, m, Limits{Nodes: 49}); got[len(got)-1].Code != "too-many-nodes" ||
		!strings.Contains(got[len(got)-1].Error(), "50") {
		t.Error("many nodes:", got)
	}
	if got := checkAll(t, m, Limits{Findings: 5}); len(got) != 6 || got[5].Code != "more" {
		t.Error("many findings:", got)
	}

	leaf := &pb.GraphProto{Node: []*pb.NodeProto{tNode("r", "Relu", "x", ">", "s0")},
		Output: []*pb.ValueInfoProto{tValue("s0", 1, 1, 4)}}
	deep := leaf
	for i := 1; i <= 70; i++ {
		s := fmt.Sprint("s", i)
		other := &pb.GraphProto{Node: []*pb.NodeProto{tNode("r", "Relu", "x", ">", s+"e")},
			Output: []*pb.ValueInfoProto{tValue(s+"e", 1, 1, 4)}}
		deep = &pb.GraphProto{Node: []*pb.NodeProto{tWith(tNode("i", "If", "c", ">", s),
			tGraphAttr("then_branch", deep), tGraphAttr("else_branch", other))},
			Output: []*pb.ValueInfoProto{tValue(s, 1, 1, 4)}}
	}
	m = tModel(deep.Node...)
	m.Graph.Output = deep.Output
	m.Graph.Input = append(m.Graph.Input, tValue("c", 9))
	if got := checkAll(t, m, Limits{}); len(got) != 2 || got[0].Code != "depth" || len(got[0].Error()) > 500 {
		t.Error("deep nest:", got)
	}
	if got := checkAll(t, m, Limits{Depth: 70}); len(got) != 0 {
		t.Error("deep nest that is allowed:", got)
	}
}
