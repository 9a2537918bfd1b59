// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

const chain = `g (float[1,4] x) => (float[1,4] y, float[1,4] z)
{
  a = Relu (x)
  b = Identity (a)
  c = Neg (b)
  d = Add (b, c)
  y = Mul (b, d)
  z = Sub (d, b)
}`

func byOutput(t testing.TB, m *Model, out string) *pb.NodeProto {
	t.Helper()
	n := m.one(Query{Output: out})
	return n
}

// Observed elsewhere: only the first consumer of a removed node is re-wired.
func TestRemoveRewiresEveryConsumer(t *testing.T) {
	m := parse(t, chain)
	ref := m.Clone()
	m.Remove([]*pb.NodeProto{byOutput(t, m, "b")}, RemoveOptions{Input: -1})
	wantText(t, m, `
		a = Relu(x)
		c = Neg(a)
		d = Add(a, c)
		y = Mul(a, d)
		z = Sub(d, a)`)
	same(t, m, ref, 0)
}

// Observed elsewhere: deleting while iterating leaves every second neighbour.
func TestRemoveNeighbours(t *testing.T) {
	var src strings.Builder
	src.WriteString("g (float[1,4] x) => (float[1,4] y)\n{\n  v0 = Relu (x)\n")
	for i := 1; i <= 9; i++ {
		fmt.Fprintf(&src, "  v%d = Identity (v%d)\n", i, i-1)
	}
	src.WriteString("  y = Neg (v9)\n}")
	m := parse(t, src.String())
	ref := m.Clone()
	for i, n := range m.graph().Node {
		n.Name = &[]string{fmt.Sprintf("n%d", i)}[0]
	}
	res := testenv.Must(run(t, m, `steps: [{remove: {nodes: [n1, n2, n3, n4, n5, n6, n7, n8, n9]}}]`, RunOptions{}))(t)
	wantText(t, res.Model, "v0 = Relu(x)\ny = Neg(v0)")
	same(t, res.Model, ref, 0)
}

func TestRemoveAtTheBorder(t *testing.T) {
	m := parse(t, `g (float[1,4] x) => (float[1,4] y, float[1,4] z, float[1,4] w)
	{
	  a = Relu (x)
	  y = Identity (a)
	  z = Identity (a)
	  w = Identity (x)
	  u = Neg (a)
	}`)
	ref := m.Clone()
	m.Remove([]*pb.NodeProto{byOutput(t, m, "y")}, RemoveOptions{Input: -1})
	// y keeps its name, and all who read a read it under that name.
	wantText(t, m, `
		y = Relu(x)
		z = Identity(y)
		w = Identity(x)
		u = Neg(y)`)
	// Two outputs cannot be one value, nor an output an input: Identity stays.
	m.Remove([]*pb.NodeProto{byOutput(t, m, "z"), byOutput(t, m, "w")}, RemoveOptions{Input: -1})
	testenv.Same(t, m.OutputNames(), in("y", "z", "w"), "outputs")
	same(t, m, ref, 0)
}

func TestRemoveRewiresSubgraphs(t *testing.T) {
	m := parse(t, `g (bool[1] c, float[4] x) => (float[4] y)
	{
	  a = Relu (x)
	  b = Identity (a)
	  y = If (c) <then_branch = g1 () => (float[4] p) { p = Neg (b) }, else_branch = g2 () => (float[4] q) { q = Add (b,
	  b) }>
	}`)
	ref := m.Clone()
	m.Remove([]*pb.NodeProto{byOutput(t, m, "b")}, RemoveOptions{Input: -1})
	same(t, m, ref, 0)
	got := m.Consumers("a")
	testenv.Check(t, len(got) == 1 && got[0].Index == -1, "readers of a: %v", got)
	// A name that a subgraph defines itself is not the outer one.
	m.RenameValue("a", "q2")
	same(t, m, ref, 0)
}

func TestRemoveOnlyAndChoice(t *testing.T) {
	m := parse(t, chain)
	err := fail.Caught(func() { m.Clone().Remove([]*pb.NodeProto{byOutput(t, m, "d")}, RemoveOptions{Input: -1}) })
	wantErr(t, err, "is not in the graph")
	c := m.Clone()
	refused(t, func() { c.Remove([]*pb.NodeProto{byOutput(t, c, "d")}, RemoveOptions{Input: -1}) },
		`makes "d" (Add)`, `"b", "c"`,
		"input: N")
	c.Remove([]*pb.NodeProto{byOutput(t, c, "d")}, RemoveOptions{Input: 1})
	testenv.Check(t, strings.Contains(modelText(c), "y = Mul(b, c)\nz = Sub(c, b)"), "graph is\n%s", modelText(c))
	m.Remove([]*pb.NodeProto{byOutput(t, m, "d")}, RemoveOptions{Only: true})
	err = fail.Caught(func() { m.InferShapes() })
	wantErr(t, err, `reads "d", which no node`)
}

func TestRemoveTakesConstantsAlong(t *testing.T) {
	b := build(t, 17)
	x := b.input("x", 1, 4)
	w, s := b.weights("w", 1, 4), b.weights("shared", 1, 4)
	k := b.constant("/k", ir4())
	v := b.node("Add", "/add", in(x, w), nil)
	v = b.node("Reshape", "/reshape", in(v, k), nil)
	v = b.node("Mul", "/mul", in(v, s), nil)
	m := b.output(b.node("Mul", "/mul2", in(v, s), nil))
	m.Remove([]*pb.NodeProto{node(t, m, "/add"), node(t, m, "/reshape"), node(t, m, "/mul")},
		RemoveOptions{Input: -1})
	wantText(t, m, "/mul2_output_0 = Mul(x, shared)")
	testenv.Check(t, !m.IsInitializer("w") && m.IsInitializer("shared"), "w must go and shared stay")
	valid(t, m)
}

func TestFind(t *testing.T) {
	b := build(t, 17)
	x := b.input("x", 1, 4)
	b.node("Relu", "/a", in(x), nil)
	b.node("Relu", "/twice", in("/a_output_0"), nil, "t1")
	b.node("Neg", "/twice", in("/a_output_0"), nil, "t2")
	m := b.output(b.node("Add", "", in("t1", "t2"), nil, "sum"))
	for _, c := range []struct {
		q    Query
		want int
	}{
		{Query{Op: "Relu"}, 2}, {Query{Name: "/twice"}, 2}, {Query{Input: "/a_output_0"}, 2}, {Query{Output: "sum"}, 1},
		{Query{Regex: regexp.MustCompile("^/t")}, 2}, {Query{Op: "Relu", Input: x}, 1},
		{Query{Op: "Relu", Domain: "x.y"}, 0},
	} {
		if got := m.Find(c.q); len(got) != c.want {
			t.Errorf("%s: %d nodes, want %d", c.q.String(), len(got), c.want)
		}
	}
	err := fail.Caught(func() { m.Node("/twice") })
	wantErr(t, err, "2 nodes", "/twice", "t1", "t2")
	err = fail.Caught(func() { m.Node("/b") })
	wantErr(t, err, `no node with name "/b"`, `did you mean "/a"?`)
	op := m.Find(Query{})[0].GetOpType()
	err = fail.Caught(func() { m.one(Query{Op: op + "u"}) })
	wantErr(t, err, `no node with op "`+op+`u"`, `did you mean "`+op+`"?`)
	err = fail.Caught(func() { m.Node("sum") })
	wantErr(t, err, "a value has that name", "choose it by output")
	u := m.Consumers("/a_output_0")
	testenv.Check(t, len(u) == 2 && u[1].Node.GetOpType() == "Neg" && u[1].Index == 0, "consumers %v", u)
}

func TestInsert(t *testing.T) {
	m := parse(t, chain)
	ref := m.Clone()
	mk := func(op string) *pb.NodeProto {
		n := m.MakeNode(NodeSpec{Op: op, Name: "new_" + op})
		return n
	}
	m.InsertAfter("b", mk("Identity"), 0)
	m.InsertBefore(byOutput(t, m, "d"), 1, mk("Abs"), 0)
	m.InsertAfter("y", mk("Neg"), 0)
	wantText(t, m, `
		a = Relu(x)
		b = Identity(a)
		new_Identity_output_0 = Identity(b)
		c = Neg(new_Identity_output_0)
		new_Abs_output_0 = Abs(c)
		d = Add(new_Identity_output_0, new_Abs_output_0)
		y_inner = Mul(new_Identity_output_0, d)
		y = Neg(y_inner)
		z = Sub(d, new_Identity_output_0)`)
	valid(t, m)
	c := Compare(m, ref, CompareOptions{Equal: true})
	testenv.Check(t, !c.OK(), "another model must not compare equal")
	refused(t, func() { m.InsertAfter("nothing", mk("Relu"), 0) }, `no value "nothing"`)
	refused(t, func() { m.InsertBefore(byOutput(t, m, "d"), 2, mk("Relu"), 0) }, "has no input 2")
}

func TestConnectAndCycles(t *testing.T) {
	m := parse(t, chain)
	m.Connect("c", byOutput(t, m, "y"), 0)
	m.Connect("z", byOutput(t, m, "y"), 1) // z stands behind y
	wantText(t, m, `
		a = Relu(x)
		b = Identity(a)
		c = Neg(b)
		d = Add(b, c)
		z = Sub(d, b)
		y = Mul(c, z)`)
	valid(t, m)
	refused(t, func() { m.Connect("y", byOutput(t, m, "a"), 0) }, "cycle", `makes "a" (Relu)`, `makes "y" (Mul)`)
}

func TestChangeOutput(t *testing.T) {
	m := parse(t, chain)
	refused(t, func() { m.ChangeOutput(byOutput(t, m, "d"), 0, "y", true) },
		`which the node without a name that makes "y" (Mul) makes`)
	refused(t, func() { m.ChangeOutput(byOutput(t, m, "d"), 0, "x", true) }, "graph input")
	m.Remove([]*pb.NodeProto{byOutput(t, m, "y")}, RemoveOptions{Only: true})
	m.ChangeOutput(byOutput(t, m, "d"), 0, "y", true)
	wantText(t, m, `
		a = Relu(x)
		b = Identity(a)
		c = Neg(b)
		y = Add(b, c)
		z = Sub(y, b)`)
	valid(t, m)
}

func TestReplace(t *testing.T) {
	m := parse(t, chain)
	n := m.MakeNode(NodeSpec{Op: "LeakyRelu", Inputs: in("x"), Attributes: attrs{"alpha": 0}})
	m.Replace([]*pb.NodeProto{byOutput(t, m, "a"), byOutput(t, m, "b")}, []*pb.NodeProto{n})
	wantText(t, m, `
		b = LeakyRelu(x)
		c = Neg(b)
		d = Add(b, c)
		y = Mul(b, d)
		z = Sub(d, b)`)
	same(t, m, parse(t, chain), 1e-9)
	n = m.MakeNode(NodeSpec{Op: "Relu", Inputs: in("x"), Outputs: in("other")})
	refused(t, func() { m.Replace([]*pb.NodeProto{byOutput(t, m, "d")}, []*pb.NodeProto{n}) },
		`leaves "d" without a producer`)
}

func TestRenameValue(t *testing.T) {
	m := parse(t, chain)
	m.RenameValue("x", "image")
	m.RenameValue("y", "left")
	m.RenameValue("b", "inner")
	refused(t, func() { m.RenameValue("inner", "left") }, "is taken", "Mul")
	refused(t, func() { m.RenameValue("imag", "q") }, `did you mean "image"?`)
	same(t, m, parse(t, chain), 0, func(o *CompareOptions) {
		o.Inputs, o.Outputs = map[string]string{"image": "x"}, map[string]string{"left": "y"}
	})
}
