// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/onnx/functions"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
)

// two is a model with two branches and a constant that both ends read.
func two(t testing.TB) *Model {
	b := build(t, 17)
	x := b.input("x", 1, 4)
	b.weights("w", 1, 4)
	v := b.node("Add", "/a", in(x, "w"), nil, "a")
	l := b.node("Relu", "/l", in(v), nil, "l")
	r := b.node("Neg", "/r", in(v), nil, "r")
	s := b.node("Mul", "/s", in(l, r), nil, "s")
	b.node("Add", "/y", in(s, "w"), nil, "y")
	b.node("Sub", "/z", in(s, b.constant("/k", tensor.Of([]int{1}, []float32{2}))), nil, "z")
	return b.output("y", "z")
}

var twoParts = []Part{{"head", in("x"), in("l", "r")}, {"tail", in("l", "r"), in("y", "z")}}

func TestExtract(t *testing.T) {
	m := two(t)
	valid(t, m)
	p := m.Extract(in("a"), in("s"))
	wantText(t, p, "l = Relu(a)\nr = Neg(a)\ns = Mul(l, r)")
	testenv.Check(t, len(p.graph().Initializer) == 0, "constants that the part does not read must go")
	valid(t, p)
	d := ir.Rand(1, tensor.F32, []int{1, 4})
	out := p.Run(map[string]*tensor.Dense{"a": d})
	testenv.Check(t, len(out) == 1 && out["s"] != nil, "outputs %v", out)
	for _, c := range []struct {
		in, out []string
		says    string
	}{
		{in("l"), in("s"), `also depend on "x"`}, {in("x", "y"), in("s"), `depends on input "y"`},
		{in("x"), in("q"), `no value "q"`},
		{in("x"), nil, "needs outputs"}, {in("x", "x"), in("s"), "listed twice"},
		{in("x"), in("s", "s"), `output "s" is listed twice`},
	} {
		err := fail.Caught(func() { m.Extract(c.in, c.out) })
		wantErr(t, err, c.says)
	}
	// A constant may become an input.
	p = m.Extract(in("x", "w"), in("a"))
	testenv.Check(t, !p.IsInitializer("w") && slices.Equal(p.InputNames(), in("x", "w")), "inputs %v", p.InputNames())
	valid(t, p)
}

func TestSplitMergeRoundTrip(t *testing.T) {
	m := two(t)
	parts := m.Split(twoParts)
	c := Cascade(m, parts, in("head", "tail"), CompareOptions{Equal: true, Count: 2})
	testenv.Check(t, c.OK() && len(c.Outputs) == 2, "%+v", c)
	// The order in which parts are named does not matter.
	c = Cascade(m, []*Model{parts[1], parts[0]}, in("tail", "head"), CompareOptions{Equal: true})
	testenv.Check(t, c.OK(), "%+v", c)
	whole := Merge(parts, MergeOptions{})
	same(t, whole, m, 0)
	testenv.Equal(t, len(whole.graph().Initializer), 1, "initializers: the shared one must be one")
	wantText(t, whole, `
		a = Add(x, w)
		l = Relu(a)
		r = Neg(a)
		s = Mul(l, r)
		y = Add(s, w)
		/k_output_0 = Constant()
		z = Sub(s, /k_output_0)`)
	for _, p := range [][]Part{
		{twoParts[0]},
		{twoParts[0], {"tail", in("l", "r"), in("y")}},
		{{"head", in("x"), in("l")}, twoParts[1]},
		{twoParts[0], {"head", in("l", "r"), in("y", "z")}},
	} {
		_, err := fail.Try(func() []*Model { return m.Split(p) })
		testenv.Check(t, err != nil, "parts %v: no error", p)
	}
}

// A cascade with a broken part is found, with the output that differs.
func TestCascadeFindsDifferences(t *testing.T) {
	m := two(t)
	parts := m.Split(twoParts)
	parts[1].ConvertInitializer("w", "", func(d *tensor.Dense) *tensor.Dense {
		return scaled(d, 1.001)
	})
	c := Cascade(m, parts, in("head", "tail"), CompareOptions{RTol: 1e-6})
	testenv.Check(t, c.Outputs[0].Mismatches != 0 && c.Outputs[1].Mismatches == 0, "%+v", c.Outputs)
	err := fail.Caught(func() { Cascade(m, parts[:1], in("head"), CompareOptions{}) })
	wantErr(t, err, `no part gives output "y"`)
	err = fail.Caught(func() { Cascade(m, parts[1:], in("tail"), CompareOptions{}) })
	wantErr(t, err, `part "tail" reads "l"`)
}

func TestMergeNames(t *testing.T) {
	// Two models of different origin with the same inner names.
	mk := func(op, x, y string, seed uint64) *Model {
		b := build(t, 17)
		b.input(x, 1, 4)
		b.init("w", ir.Rand(seed, tensor.F32, []int{1, 4}))
		b.node("Mul", "/n", in(x, "w"), nil, "h")
		return b.output(b.node(op, "/m", in("h"), nil, y))
	}
	a, b := mk("Relu", "x", "y", 1), mk("Neg", "image", "scores", 2)
	io := map[string]string{"y": "image"}
	m := Merge([]*Model{a, b}, MergeOptions{Connect: io})
	valid(t, m)
	wantText(t, m, "h = Mul(x, w)\ny = Relu(h)\nh_1 = Mul(y, w_1)\nscores = Neg(h_1)")
	testenv.Equal(t, m.graph().Node[2].GetName(), "/n_1", "node")
	p := Merge([]*Model{a, b}, MergeOptions{Connect: io, Prefixes: in("a/", "b/"), Outputs: in("scores", "y")})
	wantText(t, p, "a/h = Mul(x, a/w)\ny = Relu(a/h)\nb/h = Mul(y, b/w)\nscores = Neg(b/h)")
	if p.graph().Node[0].GetName() != "a//n" || !slices.Equal(p.OutputNames(), in("scores", "y")) {
		t.Errorf("node %s, outputs %v", p.graph().Node[0].GetName(), p.OutputNames())
	}
	same(t, p, m, 0, func(o *CompareOptions) { o.Partial = true })
	// Against running one after the other.
	d := ir.Rand(4, tensor.F32, []int{1, 4})
	mid := a.Run(map[string]*tensor.Dense{"x": d})
	want := b.Run(map[string]*tensor.Dense{"image": mid["y"]})
	got := m.Run(map[string]*tensor.Dense{"x": d})
	testenv.Check(t, tensor.Equal(got["scores"], want["scores"]), "merged model differs from the cascade")
}

func TestMergeErrors(t *testing.T) {
	a, b := two(t), two(t)
	b.RenameValue("x", "u")
	b.RenameValue("y", "y2")
	b.RenameValue("z", "z2")
	try := func(opt MergeOptions, change func(a, b *Model), says ...string) {
		t.Helper()
		x, y := a.Clone(), b.Clone()
		if change != nil {
			change(x, y)
		}
		opt.Names = in("first", "second")
		err := fail.Caught(func() { Merge([]*Model{x, y}, opt) })
		wantErr(t, err, says...)
	}
	ok := map[string]string{"y": "u"}
	Merge([]*Model{a, b}, MergeOptions{Connect: ok})
	try(MergeOptions{Connect: map[string]string{"y": "v"}}, nil, `"y" → "v" was not made`)
	try(MergeOptions{Connect: ok, Outputs: in("q")}, nil, `output "q" is an output of none`)
	try(MergeOptions{Connect: ok, Prefixes: in("a")}, nil, "1 prefixes for 2 models")
	try(MergeOptions{Connect: ok}, func(a, b *Model) { b.RenameValue("z2", "z") }, `model "second"`,
		`output "z" exists`)
	try(MergeOptions{Connect: ok}, func(a, b *Model) { b.SetIOShape("u", 0, Fixed(1, 1)) }, `model "second"`,
		`"y" to input "u"`, "[1,4] and [1,1]")
	try(MergeOptions{Connect: ok}, func(a, b *Model) { b.Proto.OpsetImport[0].Version = proto.Int64(16) },
		"imports opset 16", "17")
	try(MergeOptions{}, func(a, b *Model) {
		b.RenameValue("u", "s2")
		b.RenameValue("s", "q")
		b.RenameValue("s2", "s")
	}, `input "s" is the name of an inner value`)
	err := fail.Caught(func() { Merge([]*Model{a}, MergeOptions{}) })
	wantErr(t, err, "at least two")
	// An input of the same name and type is shared.
	b.RenameValue("u", "x")
	m := Merge([]*Model{a, b}, MergeOptions{})
	valid(t, m)
	testenv.Check(t, slices.Equal(m.InputNames(), in("x")) && len(m.OutputNames()) == 4, "inputs %v, outputs %v",
		m.InputNames(), m.OutputNames())
}

func TestSplitInScript(t *testing.T) {
	m := two(t)
	res := testenv.Must(run(t, m, `
steps:
  - split:
      parts:
        - {name: head, inputs: [x], outputs: [l, r], file: parts/head.onnx}
        - {name: tail, inputs: [l, r], outputs: [y, z]}
  - verify_split: {parts: [tail, head], equal: true}
  - use: {model: head}
  - insert_after: {value: l, new: {op: Identity}}
  - verify: {equal: true}
  - save: {file: parts/head2.onnx}
  - merge: {models: [head, tail], prefixes: ["", "tail/"], outputs: [z, y]}
verify: {equal: true}
`, RunOptions{}))(t)
	testenv.Check(t, len(res.Files) == 2 && res.Files[0].Path == "parts/head.onnx" && len(res.Verified) == 3, "%v %v",
		res.Files, res.Verified)
	if !strings.Contains(modelText(res.Model), "Identity") || !slices.Equal(res.Model.OutputNames(), in("z", "y")) {
		t.Errorf("%s", modelText(res.Model))
	}
	for script, says := range map[string]string{
		`{save: {file: ../x.onnx}}`:                   "within the folder of the result",
		`{save: {file: /x.onnx}}`:                     "within the folder of the result",
		`{use: {model: hed}}`:                         `no model is called "hed"`,
		`{merge: {models: [original]}}`:               "at least two",
		`{verify_split: {parts: []}}`:                 "no parts",
		`{split: {parts: []}}`:                        "no parts",
		`{extract: {inputs: [x], outputs: [y2]}}`:     `no value "y2" in the graph; did you mean "y"?`,
		`{load: {file: none.onnx, as: other}}`:        "none.onnx",
		`{load: {file: none.onnx, as: original}}`:     "a name that no model has",
		`{set_version: {opset: 5}}`:                   "opset",
		`{verify: {against: other}}`:                  `no model is called "other"`,
		`{verify: {equal: true, rtol: 1}}`:            "leaves no room",
		`{verify: {rtol: -1}}`:                        "tolerance -1",
		`{verify: {outputs: {y: q}}}`:                 `the reference has no output "q"`,
		`{verify: {data: [none.npz]}}`:                "none.npz",
		`{verify: {restore: [{remove: {nodes: q}}]}}`: `step 1.restore.1 (remove): no node with name "q"`,
	} {
		_, err := run(t, m, "steps: ["+script+"]", RunOptions{})
		wantErr(t, err, says)
	}
}

func TestExtractInScriptIsComparedWithThePart(t *testing.T) {
	res := testenv.Must(run(t, two(t), `
steps:
  - extract: {inputs: [a], outputs: [s]}
  - insert_before: {node: /l, new: {op: Identity}}
`, RunOptions{}))(t)
	testenv.Check(t, len(res.Verified) == 1 && res.Verified[0].Against != mainName && res.Verified[0].OK(), "%+v",
		res.Verified)
}

// Subgraphs keep their meaning when models are merged and prefixed, and no name
// is defined twice.
func TestMergeSubgraphs(t *testing.T) {
	mk := func(x, y string) *Model {
		m := parse(t, `g (bool[1] c, float[4] x) => (float[4] y)
		{
		  a = Relu (x)
		  y = If (c) <then_branch = g1 () => (float[4] p) { p = Neg (a) }, else_branch = g2 () => (float[4] q) { r = Abs (a)
		  q = Add (r, r) }>
		}`)
		m.RenameValue("x", x)
		m.RenameValue("y", y)
		return m
	}
	a, b := mk("x", "m"), mk("m", "y")
	for _, prefixes := range [][]string{nil, in("a/", "b/"), in("", "p")} {
		m := Merge([]*Model{a, b}, MergeOptions{Prefixes: prefixes})
		valid(t, m)
		for _, f := range m.Check() {
			t.Errorf("%v: %v", prefixes, f)
		}
		c := Cascade(m, []*Model{a, b}, in("a", "b"), CompareOptions{Equal: true, Count: 4})
		testenv.Check(t, c.OK(), "%v: %v", prefixes, &DifferError{c})
	}
}

func TestMergeFunctions(t *testing.T) {
	mk := func(body, x, y string) *Model {
		fs, err := functions.Parse(`<domain: "my.own", opset_import: ["" : 17]> Twice (x) => (y) { ` + body + ` }`)
		must(t, err)
		m := parse(t, "g (float[4] x) => (float[4] y) { y = my.own.Twice (x) }")
		m.Proto.Functions = fs
		m.SetVersion(0, "my.own", 1)
		m.RenameValue("x", x)
		m.RenameValue("y", y)
		return m
	}
	a := mk("y = Add (x, x)", "x", "m")
	m := Merge([]*Model{a, mk("y = Add (x, x)", "m", "y")}, MergeOptions{})
	valid(t, m)
	testenv.Check(t, len(m.Proto.Functions) == 1, "%d functions", len(m.Proto.Functions))
	out := m.Run(map[string]*tensor.Dense{"x": tensor.Of([]int{4}, []float32{1, 2, 3, 4})})
	testenv.Same(t, out["y"].Floats(), []float64{4, 8, 12, 16})
	err := fail.Caught(func() { Merge([]*Model{a, mk("y = Mul (x, x)", "m", "y")}, MergeOptions{}) })
	wantErr(t, err, "model 2", `function "my.own.Twice" is defined differently`)
	// A library beside the models serves, too.
	a.Functions, a.Proto.Functions = a.Proto.Functions, nil
	valid(t, a)
	got, ok := a.Shapes().Type("m")
	testenv.Check(t, ok && got.String() == "float[4]", "m is %v", got)
}

// Models and data from files.
func TestLoadAndData(t *testing.T) {
	dir := t.TempDir()
	m := two(t)
	parts := m.Split(twoParts)
	b := testenv.Must(parts[1].Bytes())(t)
	must(t, os.WriteFile(filepath.Join(dir, "tail.onnx"), b, 0o666))
	x := ir.Rand(3, tensor.F32, []int{1, 4})
	must(t, npz.WriteNpyFile(filepath.Join(dir, "x.npy"), npz.FromTensor(x)))
	must(t, npz.WriteNpzFile(filepath.Join(dir, "x.npz"), []npz.Entry{{Name: "x", Array: npz.FromTensor(x)},
		{Name: "other", Array: npz.FromTensor(x)}}))
	sc := testenv.Must(ParseScript("s.yaml", dir, []byte(`
steps:
  - extract: {inputs: [x], outputs: [l, r], as: head}
  - load: {file: tail.onnx, as: tail}
  - verify_split: {parts: [head, tail], equal: true, data: [x=x.npy], cases: 1}
  - prefix_names: {prefix: "head/"}
  - merge: {models: [head, tail]}
verify: {equal: true, data: [x.npz], cases: 1}
`)))(t)
	res := testenv.Must(sc.Run(m, RunOptions{}))(t)
	testenv.Check(t, len(res.Verified) == 2 && res.Verified[0].Cases == 1 && res.Verified[1].Cases == 1, "%+v",
		res.Verified)
	if res.Model.Producer("head/a") == nil {
		t.Errorf("%s", modelText(res.Model))
	}
	for data, says := range map[string]string{"y=x.npy": `nothing for input "x"`, "x=none.npy": "none.npy",
		"none.npz": "none.npz", "x.npy": "x.npy"} {
		sc, err := ParseScript("s.yaml", dir, []byte("steps: [{verify: {data: ["+data+"]}}]"))
		must(t, err)
		_, err = sc.Run(m, RunOptions{})
		wantErr(t, err, "s.yaml:1: step 1 (verify)", says)
	}
}
