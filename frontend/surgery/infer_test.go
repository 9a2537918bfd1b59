// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
)

func vi(name string, shape ...int64) *pb.ValueInfoProto {
	return &pb.ValueInfoProto{Name: proto.String(name), Type: tensorType(1, Fixed(shape...))}
}

func TestStaleShapesGo(t *testing.T) {
	m := parse(t, chain)
	m.graph().ValueInfo = []*pb.ValueInfoProto{vi("a", 7, 7), vi("gone", 1), vi("b", 1, 4)}
	m.SetIOShape("y", 0, Fixed(9))
	changed := m.InferShapes()
	if len(changed) != 1 || !strings.Contains(changed[0], `output "y": declared float[9], is float[1,4]`) {
		t.Errorf("changed %q", changed)
	}
	var got []string
	for _, v := range m.graph().ValueInfo {
		_, s, _ := declared(v)
		got = append(got, v.GetName()+ShapeText(s))
	}
	testenv.Same(t, got, in("a[1,4]", "b[1,4]", "c[1,4]", "d[1,4]"), "value_info")
	n := m.ClearShapes()
	testenv.Check(t, n == 4 && len(m.graph().ValueInfo) == 0, "cleared %d", n)
}

func TestSymbolicShapesAreKept(t *testing.T) {
	m := parse(t, `g (float[N,T,4] x, int64[T] i) => (float[N,T,4] y, float[N,M] z, int64[T] u)
	{
	  a = Relu (x)
	  y = Neg (a)
	  k = Constant <value = int64[2] {0, -1}> ()
	  z = Reshape (a, k)
	  s = Shape (a)
	  p = Constant <value = int64[1] {1}> ()
	  t = Gather (s, p)
	  u = Add (i, t)
	  fixed = Shape (p)
	}`)
	s := m.Shapes()
	for v, want := range map[string]string{"a": "float[N,T,4]", "z": "float[N,?]", "t": "int64[1]", "u": "int64[T]",
		"x": "float[N,T,4]"} {
		got, ok := s.Type(v)
		testenv.Check(t, ok && got.String() == want, "%s is %v, want %s", v, got, want)
	}
	testenv.Check(t, s.Const("s") == nil && s.Const("t") == nil && s.Const("fixed") != nil,
		"what depends on a symbol is not constant, the rest is")
	ref := m.Clone()
	d := m.Simplify()
	testenv.Check(t, d.Folded == 3 && strings.Count(modelText(m), "\n") == 6, "%+v\n%s", d, modelText(m))
	valid(t, m)
	_, shape := m.IOShape("z")
	testenv.Equal(t, ShapeText(shape), "[N,M]", "z")
	for _, x := range []*Model{m, ref} {
		x.Dims = map[string]int{"N": 2, "T": 3}
	}
	same(t, m, ref, 0)
}

// Operators without a definition survive, and do not hide the rest.
func TestUnknownOperators(t *testing.T) {
	m := parse(t, `g (float[1,4] x) => (float[1,4] y, float[1,4] z)
	{
	  a = Relu (x)
	  b = x.y.Mystery <level = 3> (a)
	  y = Neg (b)
	  z = Identity (a)
	}`)
	m.graph().ValueInfo = []*pb.ValueInfoProto{vi("b", 1, 4), vi("a", 2)}
	s := m.Shapes()
	testenv.Check(t, len(s.Problems) == 0 && len(s.Unknown) == 1 && strings.Contains(s.Unknown[0].Error(), "Mystery"),
		"problems %v, unknown %v", s.Problems, s.Unknown)
	res := testenv.Must(run(t, m, `steps: [{remove: {nodes: {output: z}}}, {rename: {value: b, to: c}}, {simplify: }]`,
		RunOptions{}))(t)
	wantText(t, res.Model, "z = Relu(x)\nc = Mystery(z)\ny = Neg(c)")
	n := res.Model.Find(Query{Op: "Mystery", Domain: "x.y"})
	testenv.Check(t, len(n) == 1 && Attribute(n[0], "level").GetI() == 3, "%v", n)
	v := valueInfo(res.Model.graph().ValueInfo, "c")
	testenv.Check(t, v != nil, "what the file says behind an unknown operator must be kept")
	testenv.Check(t, len(res.Warnings) == 2 && res.Warnings[1].Code == "not-compared", "warnings %q", res.Warnings)
}

func TestProblemsAreNamed(t *testing.T) {
	m := parse(t, chain)
	for i, n := range m.graph().Node {
		n.Name = proto.String([]string{"na", "nb", "nc", "nd", "ny", "nz"}[i])
	}
	_, err := run(t, m, "steps:\n  - insert_after: {value: b, new: {op: Conv, name: bad, inputs: [$, a]}}\n",
		RunOptions{})
	wantErr(t, err, `step end (check)`, `node "bad" (Conv)`)
	_, err = run(t, m, "steps:\n  - remove: {nodes: nd, only: true}\n  - check:\n", RunOptions{})
	wantErr(t, err, "s.yaml:3: step 2 (check)", `node "ny" (Mul): reads "d"`, `node "nz" (Sub): reads "d"`)
	_, err = run(t, m, "steps:\n  - remove: {nodes: ny, only: true}\n  - check:\n", RunOptions{})
	wantErr(t, err, `graph output "y" is made by no node`)
	// What does not depend on a broken place is known.
	c := m.Clone()
	c.Remove(c.Find(Query{Name: "nc"}), RemoveOptions{Only: true})
	s := c.Shapes()
	_, ok := s.Type("b")
	testenv.Check(t, ok, "b does not depend on what is missing")
	if _, ok := s.Type("d"); ok {
		t.Error("d does")
	}
}

func TestSimplify(t *testing.T) {
	b := build(t, 17)
	x := b.input("x", 1, 2, 3, 4)
	num := func(v ...int) string { return b.constant(b.m.UniqueNode("/n"), tensor.Ints(v...)) }
	v := b.node("Identity", "/id", in(x), nil)
	v = b.node("Cast", "/cast", in(v), attrs{"to": 1})
	v = b.node("Transpose", "/t1", in(v), attrs{"perm": []int{0, 2, 3, 1}})
	v = b.node("Transpose", "/t2", in(v), attrs{"perm": []int{0, 3, 1, 2}})
	v = b.node("Reshape", "/r1", in(v, num(2, 12)), nil)
	v = b.node("Reshape", "/r2", in(v, num(1, 2, 3, 4)), nil)
	v = b.node("Dropout", "/drop", in(v), nil)
	v = b.node("Pad", "/pad", in(v, num(0, 0, 0, 0, 0, 0, 0, 0)), nil)
	v = b.node("Slice", "/all", in(v, num(0), num(99), num(1)), nil)
	v = b.node("Slice", "/flip", in(v, num(-1), num(-99), num(3), num(-1)), nil) // same shape, but not a no-op
	v = b.node("Pad", "/shift", in(v, num(0, 0, 0, 1, 0, 0, 0, -1)), nil)        // likewise
	v = b.node("Concat", "/one", in(v), attrs{"axis": 1})
	k := b.node("Add", "/k", in(b.weights("p", 1, 2, 1, 1), b.weights("q", 1, 2, 1, 1)), nil)
	v = b.node("Mul", "/mul", in(v, k), nil)
	b.node("Relu", "/dead", in(v), nil)
	m := b.output(b.node("Identity", "/out", in(v), nil))
	ref := m.Clone()
	d := m.Simplify()
	got := strings.Count(modelText(m), "\n")
	testenv.Check(t, got == 3, "%+v leaves %d nodes:\n%s", d, got, modelText(m))
	same(t, m, ref, 0)
	testenv.Same(t, m.OutputNames(), in("/out_output_0"), "outputs")
	again := m.Simplify()
	testenv.Equal(t, again, (Simplified{}), "a second time")
}

func TestSetVersion(t *testing.T) {
	b := build(t, 11)
	x := b.input("x", 2, 3, 4)
	v := b.node("Relu", "/relu", in(x), nil)
	v = b.node("Softmax", "/last", in(v), attrs{"axis": 2})
	m := b.output(b.node("Softmax", "/soft", in(v), attrs{"axis": 1}))
	err := fail.Caught(func() { m.Clone().SetVersion(8, "", 17) })
	wantErr(t, err, `node "/soft" (Softmax)`, "from opset 13 on", "from 11 to 17")
	testenv.Check(t, !strings.Contains(err.Error(), "/last"), "along the last axis nothing changes")
	m.SetAttribute(node(t, m, "/soft"), "axis", 2)
	ref := m.Clone()
	m.SetVersion(8, "", 17)
	if m.Opset("") != 17 || m.Proto.GetIrVersion() != 8 {
		t.Errorf("opset %d, IR %d", m.Opset(""), m.Proto.GetIrVersion())
	}
	same(t, m, ref, 0)
	refused(t, func() { m.SetVersion(99, "", 0) }, "IR version 99")
	refused(t, func() { m.Clone().SetVersion(0, "", 9999) }, "opset")
	m.SetVersion(0, "my.domain", 2)
	testenv.Check(t, m.Opset("my.domain") == 2, "a new domain was not imported")
	b = build(t, 11)
	m = b.output(b.node("Squeeze", "/squeeze", in(b.input("x", 1, 3)), attrs{"axes": []int{0}}))
	refused(t, func() { m.SetVersion(0, "", 13) }, "/squeeze", "axes")
}
