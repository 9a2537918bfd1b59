// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/check"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/tensor"
)

// Symbolic dimensions: pinned by the user, bound by given shapes, taken for a
// batch, or refused.
func TestDims(t *testing.T) {
	const two = `(float[N,3] a, float[3,N] b, float[N,T] c) => (float y, float z) { y = MatMul (a, b) z = Identity (c) }`
	for _, c := range []struct {
		name, text string
		opt        ImportOptions
		want       string // shapes of the inputs, or part of the error
		notes      string
	}{
		{"batch wherever it stands", two, ImportOptions{Dims: map[string]int{"T": 5}}, "[1 3] [3 1] [1 5]",
			`dimension "N" (the first of input "a", "c") is dynamic: taken for a batch and pinned to 1; --dim N=N`},
		{"pinned", two, ImportOptions{Dims: map[string]int{"T": 5, "N": 2}}, "[2 3] [3 2] [2 5]", ""},
		{"by place", two, ImportOptions{Dims: map[string]int{"c.1": 4, "N": 2}}, "[2 3] [3 2] [2 4]", ""},
		{"a size of -1", `(float[-1,2] x) => (float y) { y = Relu (x) }`, ImportOptions{}, "[1 2]", `"x.0"`},
		{"several left open", `(float[1,H,-1] x) => (float y) { y = Relu (x) }`, ImportOptions{},
			`(pin it with --dim H=N)`, ""},
		{"and the last of them", `(float[1,H,-1] x) => (float y) { y = Relu (x) }`, ImportOptions{},
			`(pin it with --dim x.2=N)`, ""},
		{"left open", two, ImportOptions{},
			`input "c": dimension 1 ("T") is dynamic, want a size known at compile time (pin it with --dim T=N)`, ""},
		{"given shapes", two, ImportOptions{Shapes: map[string][]int{"a": {4, 3}, "b": {3, 4}, "c": {4, 7}}},
			"[4 3] [3 4] [4 7]", ""},
		{"given shape of one", two, ImportOptions{Shapes: map[string][]int{"a": {4, 3}}, Dims: map[string]int{"T": 1}},
			"[4 3] [3 4] [4 1]", ""},
		{"given shapes disagree", two, ImportOptions{Shapes: map[string][]int{"a": {4, 3}, "b": {3, 5}, "c": {4, 7}}},
			`input "b": is given with shape [3 5], but dimension 1 ("N") is 4`, ""},
		{"given shape against a number", two, ImportOptions{Shapes: map[string][]int{"a": {4, 4}, "c": {4, 7}}},
			`input "a": is given with shape [4 4], but dimension 1 (3) is 3`, ""},
		{"given rank", two, ImportOptions{Shapes: map[string][]int{"a": {4}}}, `has rank 2`, ""},
		{"unknown name", two, ImportOptions{Dims: map[string]int{"M": 5, "T": 1}},
			"--dim M: the model has no such dimension (symbolic dimensions are N, T)", ""},
		{"negative", two, ImportOptions{Dims: map[string]int{"T": -5}}, "--dim T: the size is -5", ""},
		{"unnamed batch", `(float[?,2] x) => (float y) { y = Relu (x) }`, ImportOptions{}, "[1 2]", `"x.0"`},
		{"another batch size", `(float[1,2] x) => (float y) { y = Relu (x) }`,
			ImportOptions{Dims: map[string]int{"x.0": 3}}, "[3 2]", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var notes []string
			c.opt.Note = func(d *diag.Diag) { notes = append(notes, d.Error()) }
			g, err := OpenModel(textModel(t, 13, c.text), c.opt)
			got := ""
			if err != nil {
				got = err.Error()
				testenv.Check(t, strings.Contains(got, c.want), "error %q, want %q", got, c.want)
				return
			}
			for _, v := range g.In {
				got += fmt.Sprint(v.Type.Shape, " ")
			}
			if got = strings.TrimSpace(got); got != c.want {
				t.Errorf("shapes %s, want %s", got, c.want)
			}
			if s := strings.Join(notes, "\n"); !strings.Contains(s, c.notes) || (c.notes == "") != (s == "") {
				t.Errorf("notes %q, want %q", s, c.notes)
			}
		})
	}
}

// A BatchNormalization for training of before opset 14 is read for inference, and says so.
func TestTrainingForm(t *testing.T) {
	const text = `(float[2,3] x) => (float y) { s = Constant <value = float[3] {1, 2, 3}> ()
		%s = BatchNormalization (x, s, s, s, s) }`
	for _, c := range []struct {
		out  string
		want int
	}{{"y", 0}, {"y, m, v, a, b", 1}} {
		var notes []string
		testenv.Must(OpenModel(textModel(t, 9, fmt.Sprintf(text, c.out)),
			ImportOptions{Note: func(d *diag.Diag) { notes = append(notes, d.Error()) }}))(t)
		testenv.Check(t, len(notes) == c.want && (c.want <= 0 || strings.Contains(notes[0], "5 outputs")),
			"%s: notes %q", c.out, notes)
	}
}

// Inputs bound to constants; initializers that are listed as inputs.
func TestSet(t *testing.T) {
	m := textModel(t, 13,
		`(float[2] x, int64[] k, float[2] w) => (float y) <float[2] w = {1, 2}> { a = Mul (x, w) f = Cast <to = 1> (k)
			y = Add (a, f) }`)
	run := func(set map[string]*tensor.Dense) []float64 {
		g := open(t, m, ImportOptions{Set: set})
		in := []*tensor.Dense{tensor.Of([]int{2}, []float32{10, 20})}
		for _, v := range g.In[1:] {
			in = append(in, tensor.New(v.Type.DType, v.Type.Shape))
		}
		return irtest.Run(t, g, in)[0].Floats()
	}
	g := open(t, m, ImportOptions{})
	testenv.Check(t, len(g.In) == 2, "inputs %v", g.In)
	testenv.Same(t, run(map[string]*tensor.Dense{"k": tensor.Scalar(int64(3))}), []float64{13, 43}, "k = 3")
	testenv.Same(t, run(map[string]*tensor.Dense{"k": tensor.Scalar(3.0), "w": tensor.Scalar(2.0)}), []float64{23, 43},
		"w = 2")
	for name, want := range map[string]string{"q": `inputs are "x", "k", "w"`,
		"x": "has 3 elements, the input needs 2"} {
		_, err := Import(m, ImportOptions{Set: map[string]*tensor.Dense{name: tensor.Ints(1, 2, 3)}})
		testenv.Refused(t, err, want)
	}
}

// All errors are reported, unknown operators among them, each once, without those that follow from others;
// what nothing reads does no harm.
func TestImportErrors(t *testing.T) {
	_, err := OpenModel(textModel(t, 13, `(float[2,3] x, float[2] w) => (float y, float z) {
	  a = MatMul (x, x)
	  r = Relu (a)
	  b = local.Odd (r)
	  c = Concat <axis = 0> (b, w)
	  d = Concat <axis = 5> (x, x)
	  y = Add (c, d)
	  z = Add (x, w)
	  dead = NonMaxSuppression (x, x)
	}`), ImportOptions{})
	var errs ImportErrors
	testenv.Require(t, errors.As(err, &errs) && len(errs) == 4, "errors %v", err)
	for i, want := range []string{`MatMul "MatMul_0": inputs of shapes [2 3] and [2 3]`, `local.Odd "Odd_2"`,
		`Concat "Concat_4"`, `Add "Add_6"`} {
		testenv.Check(t, strings.HasPrefix(errs[i].Error(), want), "error %d is %v, want %s", i, errs[i], want)
	}
}

// Single faults that only an importer sees.
func TestImportFaults(t *testing.T) {
	x := "(float[2] x) => (float y) "
	for _, c := range []struct {
		name  string
		opset int
		text  string
		want  string
	}{
		{"custom operator", 13, x + `{ y = local.Odd (x) }`,
			`local.Odd "Odd_0": operator Odd of domain "local" is unknown; define it by an ONNX function`},
		{"operator without meaning here", 13, x + `{ y = Bernoulli (x) }`, "Bernoulli"},
		{"old opset", 5,
			x + `{ n = Constant <value = float[1] {2}> () a = Constant <value = float[1] {0}> () y = Tile (x, n, a) }`,
			"opset 7 or newer"},
		{"old operands of two shapes", 6, `(float[2,3] x, float[3] b) => (float y) { y = Add (x, b) }`,
			"without the attribute broadcast"},
		{"old axis out of range", 6,
			`(float[2,3] x, float[3] b) => (float y) { y = Add <broadcast = 1, axis = 7> (x, b) }`, "axis 7"},
		{"attention without heads", 23, `(float[1,2,8] x) => (float y) { y = Attention (x, x, x) }`,
			"does not divide into 0 heads"},
		{"attention of other sizes", 23,
			`(float[1,1,2,8] q, float[1,1,2,4] k) => (float y) { y = Attention (q, k, k) }`, "do not belong together"},
		{"attention without queries", 23, `(float[1,1,2,8] k) => (float y) { y = Attention ("", k, k) }`, "input 0"},
		{"unbounded scan", 27,
			`(float[1,100000,4] x) => (float y, float s) { y, s = LinearAttention <q_num_heads = 1, kv_num_heads = 1,
				update_rule = "linear"> (x, x, x) }`, "positions"},
		{"transform along no axis", 19, `(float[1,8,1] x) => (float y) { y = DFT <axis = 9> (x) }`, "axis 9"},
		{"frames that do not fit", 17,
			`(float[1,8,1] x) => (float y) { s = Constant <value_int = 2> () l = Constant <value_int = 9> ()
				y = STFT (x, s, "", l) }`, "frames that fit"},
		{"size at run time", 20, `(float[1,2,3] t, int64[4] s) => (float y) { y = AffineGrid (t, s) }`,
			"--set s=VALUE"},
		{"huge window", 17,
			`(float[1] x) => (float y) { n = Constant <value_int = 100000000000> () w = HannWindow (n) y = Add (x, w) }`,
			"2^24"},
		{"boxes without a limit known", 13,
			`(float[1,4,4] b, float[1,1,4] s, int64[1] k) => (int64 y) { y = NonMaxSuppression (b, s, k) }`,
			"--set k=VALUE"},
		{"trees with a wrong child", 13,
			`(float[2,1] x) => (float y) { y = ai.onnx.ml.TreeEnsembleRegressor <nodes_treeids = [0], nodes_nodeids = [0],
				nodes_featureids = [0], nodes_values = [0.5], nodes_modes = ["BRANCH_LEQ"],
			nodes_truenodeids = [1], nodes_falsenodeids = [2], target_treeids = [0], target_nodeids = [1],
				target_ids = [0],
			target_weights = [1.0], n_targets = 1> (x) }`, "node 2 of tree 0"},
		{"keys of text", 13,
			`(int64[2] x) => (int64 y) {
				y = ai.onnx.ml.LabelEncoder <keys_strings = ["a", "b"], values_int64s = [1, 2]> (x) }`,
			"texts for texts"},
		{"computing with text", 13, `(int64[2] x) => (int64 y)
			{ t = ai.onnx.ml.LabelEncoder <keys_int64s = [1, 2], values_strings = ["a", "b"]> (x) y = Neg (t) }`,
			"firmware moves text"},
		{"a branch that cannot be", 13,
			`(float[4] x, bool[1] c) => (float y) { y = If (c) <then_branch = a () => (p) { p = Neg (x) },
				else_branch = b () => (p) { s = Constant <value_ints = [3]> () p = Reshape (x, s) }> }`,
			`the condition of If "If_0" decides whether this is computed; it is an input of the model; bind it with ` +
				`--set c=VALUE`},
		{"a sequence that leaves", 13, x + `{ y = SequenceConstruct (x, x) }`,
			`value "y": is a sequence of tensors, which cannot leave a graph`},
		{"a sequence for a tensor", 13, x + `{ s = SequenceConstruct (x, x) y = Neg (s) }`,
			`Neg "Neg_1": input 0 ("s") is a sequence of tensors`},
		{"a tensor for a sequence", 13, x + `{ n = Constant <value_int = 0> () y = SequenceAt (x, n) }`,
			"want seq(float)"},
		{"a place at run time", 13,
			`(float[2] x, int64[] i) => (float y) { s = SequenceConstruct (x, x) y = SequenceAt (s, i) }`,
			"--set i=VALUE"},
		{"a place out of range", 13,
			x + `{ s = SequenceConstruct (x, x) n = Constant <value_int = 2> () y = SequenceAt (s, n) }`,
			"position 2 is out of range for a sequence of 2"},
		{"nothing to join", 13, x + `{ s = SequenceEmpty () y = ConcatFromSequence <axis = 0> (s) }`, "is empty"},
		{"an image in a file", 20, `(uint8[10] x) => (uint8 y) { y = ImageDecoder (x) }`, "ImageDecoder"},
		{"same form in old opsets", 6, `(bool[2] x) => (bool y) { y = Not (x) }`, ""},
		{"run-time scale", 13, `(float[2] x, float[] s) => (uint8 y) { y = QuantizeLinear (x, s) }`,
			`the scale "s" is an input of the model`},
		{"infinite scale", 13,
			`(float[2] x) => (uint8 y) { s = Constant <value = float {inf}> () y = QuantizeLinear (x, s) }`,
			`the scale "s" holds +Inf`},
		{"negative scale", 13,
			`(int8[2] x) => (float y) { s = Constant <value = float {-1}> () y = DequantizeLinear (x, s) }`,
			"want a positive number"},
		{"computed scale", 13,
			x + `{ s = ReduceMax <keepdims = 0> (x) q = QuantizeLinear (x, s) y = DequantizeLinear (q, s) }`, ""},
		{"an output that inference does not give", 13,
			`(float[1,2,2] x) => (float m) { s = Constant <value_floats = [1.0, 1.0]> ()
				y, m = SimplifiedLayerNormalization (x, s) }`, ""},
		{"outputs that nothing reads", 17,
			`(float[1,2,2] x) => (float y) { s = Constant <value_floats = [1.0, 1.0]> () y, m, d = LayerNormalization (x, s) }`,
			""},
		{"branches of different shapes", 13,
			x +
				`{ s = ReduceSum <keepdims = 0> (x) c = Cast <to = 9> (s)
					y = If (c) <then_branch = a () => (p) { p = Concat <axis = 0> (x, x) }, else_branch = b () => (p) {
					p = Neg (x) }> }`, "in one branch"},
		{"trip count at run time", 13,
			`(float[2] x, int64[] n) => (float y) { y = Loop (n, "", x) <body = b (int64 i, bool c, float v) => (c, w) {
				w = Add (v, v) }> }`, `the trip count of this Loop ("n") is not known`},
		{"endless loop", 13,
			x + `{ y = Loop ("", "", x) <body = b (int64 i, bool c, float v) => (c, w) { w = Identity (v) }> }`,
			"more than 4096 times"},
		{"scan output of unknown length", 13,
			x +
				`{ n = Constant <value_int = 2> () z = Constant <value_float = 0.0> ()
					l, u = Loop (n, "", x) <body = b (int64 i, bool c, float v) => (d, w, r) { w = Add (v, v)
					s = ReduceSum <keepdims = 0> (v) d = Greater (s,
						z) r = Neg (v) }> k = Constant <value_ints = [4]> ()
					y = Reshape (u, k) }`, "the length of scan output 0"},
		{"condition at run time", 13,
			x +
				`{ y = Loop ("", "", x) <body = b (int64 i, bool c, float v) => (d, w) { s = ReduceSum <keepdims = 0> (v)
					d = Cast <to = 9> (s) w = Add (v, v) }> }`, "computes its condition at run time"},
		{"no trips, results of every trip", 13,
			x +
				`{ n = Constant <value_int = 0> () l, y = Loop (n, "", x) <body = b (int64 i, bool c, float v) => (c, w, u) {
					w = Add (v, v) u = Neg (v) }> }`, "runs 0 times"},
		{"sequence input of an unsupported kind", 13, `(float16[2] x, complex64[1] c) => (float16 y) { y = Relu (x) }`,
			"complex64"},
		{"unknown activation", 13,
			`(float[2,2] x) => (float y) { y = com.microsoft.FusedGemm <activation = "Boom"> (x, x) }`,
			`activation "Boom"`},
		{"large fold stays a node", 13,
			`(float[1] x) => (float y) { s = Constant <value_ints = [50000000]> () k = ConstantOfShape (s) m = ReduceSum (k)
				y = Add (x, m) }`, ""},
		{"huge constant", 13,
			`(float[1] x) => (float y) { s = Constant <value_ints = [100000, 100000]> () k = ConstantOfShape (s)
				m = ReduceSum (k) y = Add (x, m) }`, "too large"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := OpenModel(textModel(t, c.opset, c.text), ImportOptions{})
			switch {
			case c.want == "" && c.name == "an output that inference does not give":
				testenv.Check(t, err != nil, "no error")
			case c.want == "":
				testenv.Check(t, err == nil, "%v", err)
			case err == nil:
				t.Errorf("no error, want %q", c.want)
			case !strings.Contains(err.Error(), c.want):
				t.Errorf("error %q, want %q", err, c.want)
			}
		})
	}
}

// Bombs in few bytes end with an error before they hurt.
func TestImportBombs(t *testing.T) {
	// 30 functions, each calling the next twice.
	var b strings.Builder
	b.WriteString(`(float[2] x) => (float y) { y = local.F0 (x) }`)
	for i := range 30 {
		fmt.Fprintf(&b, "\n<domain: \"local\", opset_import: [\"\" : 13, \"local\" : 1]> F%d (a) => (c) { b = "+
			"local.F%d (a) c = local.F%d (b) }", i, i+1, i+1)
	}
	b.WriteString("\n<domain: \"local\", opset_import: [\"\" : 13]> F30 (a) => (c) { c = Relu (a) }")
	functions := b.String()
	// Loops within loops.
	loops := `(float[2] x) => (float y) { n = Constant <value_int = 4000> ()
		y = Loop (n, "", x) <body = o (int64 i, bool c, float v) => (c, w) { w = Loop (n, "", v) <body = p (int64 j,
			bool d,
		float s) => (d, u) { u = Add (s, s) }> }> }`
	// A chain of multiplications of constants.
	b.Reset()
	b.WriteString(`(float[1] x) => (float y) { s = Constant <value_ints = [1000, 1000]> () a0 = ConstantOfShape (s)`)
	for i := range 2000 {
		fmt.Fprintf(&b, " a%d = MatMul (a%d, a%d)", i+1, i, i)
	}
	b.WriteString(" r = ReduceSum (a2000) y = Add (x, r) }")
	folds := b.String()
	// Nested conditions at run time, both branches again a condition.
	nest := "p = Relu (x)"
	for i := range 40 {
		nest = fmt.Sprintf("p = If (c) <then_branch = t () => (q%d) { %s q%d = Neg (p) }, else_branch = e () => "+
			"(q%d) { %s q%d = Abs (p) }>", i, nest, i, i, nest, i)
		if len(nest) > 1<<18 {
			break
		}
	}
	for name, c := range map[string]struct{ text, want string }{
		"functions": {functions, "too many nodes"},
		"loops":     {loops, "too many nodes"},
		"folds":     {folds, "limit fold-work"},
		"branches":  {`(float[2] x, bool[] c) => (float y) { ` + nest + ` y = Identity (p) }`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := Parse(fmt.Appendf(nil, `<ir_version: 8, opset_import: ["" : 13, "local" : 1]> g %s`, c.text),
				Limits{Nodes: 20000})
			if err == nil {
				_, err = OpenModel(m, ImportOptions{})
			}
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %.300v, want %q", err, c.want)
			}
		})
	}
}

// Long names are not repeated by functions and loops.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("n", 1<<16)
	m := textModel(t, 13,
		fmt.Sprintf(
			`(float[2] x) => (float y) { n = Constant <value_int = 3000> () [%s] y = Loop (n, "", x) <body = b (int64 i, bool c,
				float v) => (c, w) { w = Add (v, v) }> }`, long))
	g := open(t, m, ImportOptions{})
	size := 0
	for _, n := range g.Nodes {
		size += len(n.Name) + len(n.Out[0].Name)
	}
	testenv.Check(t, size <= 4<<20, "names of %d bytes", size)
	// Names of the model itself stay as they are.
	testenv.Check(t, g.Nodes[0].Op.Name == "Add" && len(g.In[0].Name) == 1, "%s", g.Nodes[0])
}

// Libraries come as text or as a binary model; their faults are named.
func TestLoadFunctions(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		p := filepath.Join(dir, name)
		testenv.OK(t, os.WriteFile(p, b, 0o644))
		return p
	}
	text := `<domain: "my", opset_import: ["" : 13]> Twice (a) => (b) { b = Add (a, a) }`
	lib := textModel(t, 13, "(float[1] x) => (float y) { y = Relu (x) }\n"+text).Proto
	model := textModel(t, 13, `(float[2] x) => (float y) { y = my.Twice (x) }`)
	model.Proto.OpsetImport = append(model.Proto.OpsetImport, &pb.OperatorSetIdProto{Domain: proto.String("my"),
		Version: proto.Int64(1)})
	for _, p := range []string{write("f.txt", []byte(text)), write("f.onnx", tBytes(lib))} {
		fs := testenv.Must(LoadFunctions(p, Limits{}))(t)
		g := open(t, model, ImportOptions{Functions: fs, Note: func(d *diag.Diag) { t.Error(d) }})
		testenv.Equal(t, g.Nodes[0].Op.Name, "Add", g)
	}
	for _, c := range []struct{ text, want string }{
		{`<opset_import: ["" : 13]> F (a) => (b) { b = Add (a) }`, "has 1 inputs"},
		{`<domain: "d", opset_import: ["" : 13, "d" : 1]> F (a) => (b) { b = d.F (a) }`, "calls itself"},
		{`<domain: "d", opset_import: ["" : 13]> F (a) => (b, c) { b = Relu (a) }`, "has no producer"},
		{"F (a) => (b) {", "line 1, column 15"},
		{"", "empty"},
	} {
		_, err := LoadFunctions(write("bad.txt", []byte(c.text)), Limits{})
		testenv.Refused(t, err, c.want)
	}
	_, err := LoadFunctions(filepath.Join(dir, "absent"), Limits{})
	testenv.Check(t, err != nil, "no error for an absent file")
	fs := check.Functions(lib.Functions, Limits{})
	testenv.Check(t, len(fs) <= 0, "%v", fs)
}

// Names of values and nodes are those of the model; results of control flow and
// functions carry the outer name.
func TestNames(t *testing.T) {
	g := open(t, textModel(t, 13, `(float[2] x) => (float y) {
	  c = Constant <value = bool {1}> ()
	  [branch] mid = If (c) <then_branch = a () => (inner) { [neg] inner = Neg (x) }, else_branch = b () => (inner) {
	  inner = Abs (x) }>
	  [last] y = Relu (mid)
	}`), ImportOptions{})
	var got []string
	for _, n := range g.Nodes {
		got = append(got, n.Origin[0]+">"+n.Out[0].Name)
	}
	testenv.Equal(t, strings.Join(got, " "), "branch/neg>mid last>y", "names")
}

// Nodes in another than topological order are brought into one, with a note.
func TestOrder(t *testing.T) {
	note := ""
	g := open(t, textModel(t, 13, `(float[2] x) => (float y) {
	  y = Mul (b, a)
	  b = If (c) <then_branch = t () => (p) { p = Neg (a) }, else_branch = e () => (p) { p = Abs (a) }>
	  a = Relu (x)
	  c = Constant <value = bool {1}> ()
	}`), ImportOptions{Note: func(d *diag.Diag) { note += d.Error() }})
	out := irtest.Run(t, g, []*tensor.Dense{tensor.Of([]int{2}, []float32{2, -1})})[0].Floats()
	testenv.Check(t, out[0] == -4, "y is %v", out)
	testenv.Check(t, strings.Contains(note, `is listed before node 1 (If, makes "b"), which makes what it reads`),
		"note %q", note)
	_, err := OpenModel(textModel(t, 13, `(float[2] x) => (float y) { y = Mul (a, x) a = Relu (b) b = Neg (a) }`),
		ImportOptions{})
	testenv.Refused(t, err, "cycle")
}

// What must be known at compile time and is an input says how to bind it.
func TestHint(t *testing.T) {
	_, err := OpenModel(textModel(t, 13, `(float[2] x, int64[1] s) => (float y) { y = Reshape (x, s) }`),
		ImportOptions{})
	testenv.Refused(t, err, "bind it with --set s=VALUE")
}

// A model from memory cannot reach files.
func TestNoFolder(t *testing.T) {
	m := textModel(t, 13, `(float[4] x) => (float y) { y = Add (x, k) }`)
	m.Proto.Graph.Initializer = append(m.Proto.Graph.Initializer, tExternal("k", "location", "w.bin"))
	testenv.Refused(t, testenv.Err(OpenModel(m, ImportOptions{})), "external")
	_, err := Import(m, ImportOptions{})
	testenv.Check(t, err != nil, "imported")
}

// TestOutputTwice: a value may be an output twice; both have names of their own.
func TestOutputTwice(t *testing.T) {
	g := open(t, textModel(t, 13, `(float[2] x) => (float y, float y) { y = Neg (x) }`), ImportOptions{})
	testenv.Check(t, len(g.Out) == 2 && g.Out[0] == g.Out[1] && g.OutNames[0] == "y" && g.OutNames[1] != "y",
		"outputs %v are called %q", g.Out, g.OutNames)
}

// TestInputWithoutShape: an input without a shape gets the one that --dim gives by places.
func TestInputWithoutShape(t *testing.T) {
	m, err := Parse([]byte(`<ir_version: 10, opset_import: ["" : 20]>
		g (float[a, b] x) => (float[a, b] y) { y = Relu (x) }`), Limits{})
	testenv.OK(t, err)
	for _, v := range append(m.Proto.Graph.Input, m.Proto.Graph.Output...) {
		v.Type.GetTensorType().Shape = nil
	}
	if _, err = OpenModel(m, ImportOptions{}); err == nil || !strings.Contains(err.Error(), "--dim x.0=N") {
		t.Errorf("without --dim: %v", err)
	}
	g := testenv.Must(OpenModel(m, ImportOptions{Dims: map[string]int{"x.0": 2, "x.1": 3}}))(t)
	testenv.Same(t, g.Out[0].Type.Shape, []int{2, 3}, "shape")
	if _, err = OpenModel(m, ImportOptions{Dims: map[string]int{"x.0": 2, "x.2": 3}}); err == nil {
		t.Error("a dimension behind one that is not given is taken")
	}
}
