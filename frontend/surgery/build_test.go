// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// builder writes models node by node, as an exporter would.
type builder struct {
	t    testing.TB
	m    *Model
	seed uint64
}

func build(t testing.TB, opset int64) *builder {
	t.Helper()
	p := &pb.ModelProto{IrVersion: proto.Int64(8),
		OpsetImport: []*pb.OperatorSetIdProto{{Domain: proto.String(""), Version: proto.Int64(opset)}},
		Graph:       &pb.GraphProto{Name: proto.String("test")}}
	return &builder{t, &Model{Proto: p, lim: onnx.DefaultLimits}, 1}
}

func (b *builder) input(name string, shape ...int64) string {
	b.t.Helper()
	b.m.AddInput(name, 1, Fixed(shape...))
	return name
}

// weights are seeded, about as large as keeps sums near 1.
func (b *builder) weights(name string, shape ...int) string {
	b.seed++
	d := ir.Rand(b.seed, tensor.F32, shape)
	fan := 1
	for _, k := range shape[1:] {
		fan *= k
	}
	for i, n := 0, d.Len(); i < n; i++ {
		d.SetFloat(i, d.Float(i)/math.Sqrt(float64(fan)))
	}
	return b.init(name, d)
}

func (b *builder) init(name string, d *tensor.Dense) string {
	b.t.Helper()
	b.m.AddInitializer(model.TensorProto(name, d))
	return name
}

// constant is a Constant node /NAME with the output NAME_output_0.
func (b *builder) constant(name string, d *tensor.Dense) string {
	b.t.Helper()
	n := testenv.Must(fail.Try(func() *pb.NodeProto {
		return b.m.MakeNode(NodeSpec{Op: "Constant", Name: name, Outputs: []string{name + "_output_0"},
			Attributes: map[string]any{"value": d}})
	}))(b.t)
	b.m.graph().Node = append(b.m.graph().Node, n)
	return name + "_output_0"
}

// attrs of a node.
type attrs map[string]any

// node adds a node; outputs default to NAME_output_0.
func (b *builder) node(op, name string, in []string, a attrs, out ...string) string {
	b.t.Helper()
	if len(out) == 0 {
		out = []string{name + "_output_0"}
	}
	n := testenv.Must(fail.Try(func() *pb.NodeProto {
		return b.m.MakeNode(NodeSpec{Op: op, Name: name, Inputs: in, Outputs: out, Attributes: a})
	}))(b.t)
	b.m.graph().Node = append(b.m.graph().Node, n)
	b.m.Touch()
	return out[0]
}

func (b *builder) output(names ...string) *Model {
	b.t.Helper()
	for _, n := range names {
		b.m.AddOutput(n, 0, nil)
	}
	must(b.t, b.m.Checked())
	return b.m
}

func in(names ...string) []string { return names }

func must(t testing.TB, err error) {
	t.Helper()
	testenv.OK(t, err)
}

// refused expects f to end by an error with all the parts.
func refused(t *testing.T, f func(), parts ...string) {
	t.Helper()
	wantErr(t, fail.Caught(f), parts...)
}

// wantErr checks that an error says all of the words.
func wantErr(t testing.TB, err error, words ...string) {
	t.Helper()
	testenv.Require(t, err != nil, "no error; want one with %q", words)
	for _, w := range words {
		testenv.Check(t, strings.Contains(err.Error(), w), "error %q does not say %q", err, w)
	}
}

// node finds a node or fails.
func node(t testing.TB, m *Model, name string) *pb.NodeProto {
	t.Helper()
	n := m.Node(name)
	return n
}

// valid seals the model as a script's end does and checks it.
func valid(t testing.TB, m *Model) {
	t.Helper()
	m.InferShapes()
	must(t, m.Checked())
}

// same fails unless both models compute the same: to the bit, or within rtol.
func same(t testing.TB, got, ref *Model, rtol float64, change ...func(*CompareOptions)) *Comparison {
	t.Helper()
	valid(t, got)
	opt := CompareOptions{Equal: rtol == 0, RTol: rtol, Count: 2, Seed: 7}
	for _, f := range change {
		f(&opt)
	}
	c := Compare(got, ref, opt)
	testenv.Require(t, c.OK(), "%v", &DifferError{c})
	return c
}

func reshape(o *CompareOptions) { o.Reshape = true }

// text prints a graph for comparisons of structure.
func modelText(m *Model) string {
	var b strings.Builder
	for _, n := range m.graph().Node {
		fmt.Fprintf(&b, "%s = %s(%s)\n", strings.Join(n.Output, ", "), n.GetOpType(), strings.Join(n.Input, ", "))
	}
	return b.String()
}

func wantText(t testing.TB, m *Model, want string) {
	t.Helper()
	lines := lists.Map(strings.Split(strings.TrimSpace(want), "\n"), strings.TrimSpace)
	got := strings.TrimSpace(modelText(m))
	testenv.Check(t, got == strings.Join(lines, "\n"), "graph is\n%s\nwant\n%s", got, strings.Join(lines, "\n"))
}

// parse reads a model in ONNX's text syntax.
func parse(t testing.TB, src string) *Model {
	t.Helper()
	m := testenv.Must(onnx.Parse([]byte("<\n  ir_version: 8,\n  opset_import: [\"\" : 17, \"x.y\" : 1]\n>\n"+src),
		onnx.Limits{}))(t)
	s := testenv.Must(New(m))(t)
	return s
}

// run applies a script to a model.
func run(t testing.TB, m *Model, script string, opt RunOptions) (*Result, error) {
	t.Helper()
	sc, err := ParseScript("s.yaml", t.TempDir(), []byte(script))
	if err != nil {
		return nil, err
	}
	return sc.Run(m, opt)
}
