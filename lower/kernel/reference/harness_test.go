// SPDX-License-Identifier: Apache-2.0

package reference_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
	"github.com/nncc/nncc/lower/kernel/reference"
	"github.com/nncc/nncc/lower/kerneltest"
)

// kase is a small graph that is compiled to C, run, and compared with the
// interpreter.
type kase struct {
	name string
	src  string // graph in text form
	// order, when set, is the memory order forced upon the operands of Same
	// kernels that have its rank: "nhwc" or a list such as "2013".
	order string
	// tol bounds max|a-b| / max|b| of float outputs; 0: defaultTol, below 0: bit for bit.
	tol float64
	// in replaces the seeded inputs.
	in []*tensor.Dense
	// kernel, when set, is the row that the last node must be lowered by.
	kernel string
	// route, when set, is the function that the last node must call.
	route string
}

// defaultTol is a few ulp of the largest output.
const defaultTol = 1e-6

var table = kernel.NewTable(reference.Kernels)

// forced is the memory order that a case forces on values of the given rank.
func (k *kase) forced(rank int) []int {
	if k.order == "nhwc" {
		return ir.NHWC(rank)
	}
	if len(k.order) != rank {
		return nil
	}
	o := make([]int, rank)
	for i, c := range k.order {
		o[i] = int(c - '0')
	}
	return o
}

// compile is case i as a model.
func (k *kase) compile(t testing.TB, i int) *kerneltest.Model {
	t.Helper()
	g, err := ir.Parse("graph \"g\" {\n"+k.src+"\n}", op.Get)
	if err != nil {
		t.Fatalf("%s: %v\n%s", k.name, err, k.src)
	}
	last := g.Nodes[len(g.Nodes)-1]
	if c, err := table.Match(last, &kernel.Options{}); k.kernel != "" && (err != nil || c.Kernel.Name != k.kernel) {
		t.Fatalf("%s: kernel %v (%v), want %s", k.name, c.Kernel, err, k.kernel)
	}
	s := kerneltest.Setup{Name: k.name, Seed: uint64(i) + 1, In: k.in, Order: k.forced,
		Tol: max(cmp.Or(k.tol, defaultTol), 0)}
	m := s.Compile(t, table, fmt.Sprintf("m%03d", i), g)
	testenv.Check(t, k.route == "" || m.Funcs[k.route] != 0, "%s: no node calls %s", k.name, k.route)
	return m
}

// TestCases compares all cases with the interpreter.
func TestCases(t *testing.T) {
	runCases(t, slices.Concat(casesUnaryF32(), casesBinaryF32(), casesConvF32(), casesPoolF32(), casesMatrixF32(),
		casesAxisF32(), casesMacS8(), casesAxisS8(), casesBinaryS8(), casesNormF32(), casesResize(),
		casesSpaceAndRepeat(), casesIndex(), casesRecurrentF32(), casesCast(), casesNotInPlace(), casesMovement(),
		casesBorders(), casesSparse()))
}

// runCases compiles all cases into one program with the sanitizers, runs it
// once, and compares every output.
func runCases(t *testing.T, cases []kase) {
	t.Helper()
	var models []*kerneltest.Model
	for i := range cases {
		models = append(models, cases[i].compile(t, i))
	}
	kerneltest.RunHost(t, models)
}

// promised are the operators that nncc compiles in float32 and in int8: T
// stands for the element type, Q for a quantisation, W for one of weights.
const promised = `
Conv: in x T[1,4,8,8] Q; const w T[6,4,3,3] W; T[1,6,6,6] Q = Conv(%x, %w)
Conv groups: in x T[1,4,8,8] Q; const w T[6,2,3,3] W; T[1,6,4,4] Q = Conv(%x, %w) {group=2, dilations=[2,2]}
Conv 1-D: in x T[1,4,8] Q; const w T[6,4,3] W; T[1,6,6] Q = Conv(%x, %w)
Conv depthwise: in x T[1,4,8,8] Q; const w T[8,1,3,3] W; T[1,8,6,6] Q = Conv(%x, %w) {group=4}
ConvTranspose: in x T[1,4,8,8] Q; const w T[4,6,2,2] W; T[1,6,16,16] Q = ConvTranspose(%x, %w) {strides=[2,2]}
Gemm: in x T[1,8] Q; const w T[8,4] W; T[1,4] Q = Gemm(%x, %w)
MatMul: in x T[3,8] Q; const w T[8,4] W; T[3,4] Q = MatMul(%x, %w)
MatMul dynamic: in x T[2,3,8] Q; in y T[2,8,4] Q; T[2,3,4] Q = MatMul(%x, %y)
Add: in x T[1,3,4,4] Q; in y T[1,3,4,4] Q; T[1,3,4,4] Q = Add(%x, %y)
Mul: in x T[1,3,4,4] Q; in y T[1,3,4,4] Q; T[1,3,4,4] Q = Mul(%x, %y)
Mul broadcast: in x T[1,3,4,4] Q; in y T[1,3,1,1] Q; T[1,3,4,4] Q = Mul(%x, %y)
Min: in x T[1,3,4,4] Q; in y T[1,3,4,4] Q; T[1,3,4,4] Q = Min(%x, %y)
Max: in x T[1,3,4,4] Q; in y T[4] Q; T[1,3,4,4] Q = Max(%x, %y)
AveragePool: in x T[1,3,7,7] Q; T[1,3,4,4] Q = AveragePool(%x) {kernel_shape=[2,2], strides=[2,2], ceil_mode=1}
AveragePool pads: in x T[1,3,7,7] Q; T[1,3,4,4] Q = AveragePool(%x) {kernel_shape=[3,3], strides=[2,2], pads=[0,1,2,1], count_include_pad=1}
MaxPool: in x T[1,3,7,7] Q; T[1,3,4,4] Q = MaxPool(%x) {kernel_shape=[3,3], strides=[2,2], pads=[0,1,2,1]}
GlobalAveragePool: in x T[1,3,7,7] Q; T[1,3,1,1] Q = GlobalAveragePool(%x)
GlobalMaxPool: in x T[1,3,7,7] Q; T[1,3,1,1] Q = GlobalMaxPool(%x)
Relu: in x T[1,3,4,4] Q; T[1,3,4,4] Q = Relu(%x)
Clip: in x T[1,3,4,4] Q; constf lo f32[]; constf hi f32[]; T[1,3,4,4] Q = Clip(%x, %lo, %hi)
Softmax: in x T[1,3,4,4] Q; T[1,3,4,4] q(0.00390625:-128) = Softmax(%x) {axis=1}
Concat: in x T[1,3,4,4] Q; in y T[1,5,4,4] Q; T[1,8,4,4] Q = Concat(%x, %y) {axis=1}
Pad: in x T[1,3,4,4] Q; ints p i64[8] {0,0,1,1,0,0,2,2}; T[1,3,7,7] Q = Pad(%x, %p)
Transpose: in x T[1,3,4,5] Q; T[1,5,3,4] Q = Transpose(%x) {perm=[0,3,1,2]}
Reshape: in x T[1,3,4,5] Q; ints s i64[2] {3,20}; T[3,20] Q = Reshape(%x, %s)
Flatten: in x T[1,3,4,5] Q; T[1,60] Q = Flatten(%x)
Squeeze: in x T[1,3,4,5] Q; T[3,4,5] Q = Squeeze(%x)
Unsqueeze: in x T[3,4] Q; ints s i64[1] {0}; T[1,3,4] Q = Unsqueeze(%x, %s)
Sub: in x T[1,3,4,4] Q; in y T[1,3,4,4] Q; T[1,3,4,4] Q = Sub(%x, %y)
Div: in x T[1,3,4,4] Q; in y T[1,3,4,4] Q; T[1,3,4,4] Q = Div(%x, %y)
Sigmoid: in x T[7] Q; T[7] Q = Sigmoid(%x)
Tanh: in x T[7] Q; T[7] Q = Tanh(%x)
HardSwish: in x T[7] Q; T[7] Q = HardSwish(%x)
HardSigmoid: in x T[7] Q; T[7] Q = HardSigmoid(%x)
LeakyRelu: in x T[7] Q; T[7] Q = LeakyRelu(%x)
PRelu: in x T[1,3,4,4] Q; constf k f32[3,1,1]; T[1,3,4,4] Q = PRelu(%x, %k)
Elu: in x T[7] Q; T[7] Q = Elu(%x)
Gelu: in x T[7] Q; T[7] Q = Gelu(%x)
Erf: in x T[7] Q; T[7] Q = Erf(%x)
Exp: in x T[7] Q; T[7] Q = Exp(%x)
Sqrt: in x T[7] Q; T[7] Q = Sqrt(%x)
Pow: in x T[7] Q; constf k f32[]; T[7] Q = Pow(%x, %k)
Slice: in x T[1,3,6,6] Q; ints s i64[1] {1}; ints e i64[1] {4}; T[1,3,3,6] Q = Slice(%x, %s, %e, %axis)
Split: in x T[1,6,4,4] Q; T[1,3,4,4] Q = Split(%x) {axis=1}
Resize nearest: in x T[1,3,4,4] Q; constf s f32[4] {1,1,2,2}; T[1,3,8,8] Q = Resize(%x, -, %s)
Resize linear: in x T[1,3,4,4] Q; constf s f32[4] {1,1,2,2}; T[1,3,8,8] Q = Resize(%x, -, %s) {mode="linear"}
DepthToSpace: in x T[1,8,4,4] Q; T[1,2,8,8] Q = DepthToSpace(%x) {blocksize=2}
SpaceToDepth: in x T[1,2,4,4] Q; T[1,8,2,2] Q = SpaceToDepth(%x) {blocksize=2}
ReduceMean: in x T[1,3,4,4] Q; ints a i64[2] {2,3}; T[1,3,1,1] Q = ReduceMean(%x, %a)
ReduceSum: in x T[1,3,4,4] Q; ints a i64[1] {1}; T[1,1,4,4] Q = ReduceSum(%x, %a)
ReduceMax: in x T[1,3,4,4] Q; ints a i64[1] {1}; T[1,1,4,4] Q = ReduceMax(%x, %a)
ArgMax: in x T[1,9] Q; i64[1,1] = ArgMax(%x) {axis=1}
Gather: in x T[4,9] Q; ints i i64[2] {1,3}; T[2,9] Q = Gather(%x, %i)
LayerNormalization: in x T[2,9] Q; constf s f32[9]; constf b f32[9]; T[2,9] Q = LayerNormalization(%x, %s, %b)
BatchNormalization: in x T[1,3,4,4] Q; constf s f32[3]; constf b f32[3]; constf m f32[3]; constf v f32[3] {1,2,3}; T[1,3,4,4] Q = BatchNormalization(%x, %s, %b, %m, %v)
`

// sample is the graph of a promised operator in float32 or int8.
func sample(t *testing.T, line, dtype string) *ir.Graph {
	_, body, _ := strings.Cut(line, ": ")
	q, w := "", ""
	if dtype == "i8" {
		q, w = "q(0.05:3)", "q(0.02:0)"
	}
	fill := func(s string) string {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "T[", dtype+"["), " W", " "+w)
		s = strings.ReplaceAll(s, " Q", " "+q)
		if dtype == "f32" {
			s = strings.ReplaceAll(s, "q(0.00390625:-128)", "")
		}
		return s
	}
	src := ""
	parts := strings.Split(body, "; ")
	for _, p := range parts[:len(parts)-1] {
		f := strings.SplitN(fill(p), " ", 3)
		typ, data, _ := strings.Cut(f[2], " {")
		switch {
		case f[0] == "in":
			src += "in %" + f[1] + " : " + f[2] + "\n"
		case data != "":
			src += "const %" + f[1] + " : " + typ + " = {" + data + "\n"
		default:
			src += "const %" + f[1] + " : " + typ + " = rand 3\n"
		}
	}
	typ, node, _ := strings.Cut(fill(parts[len(parts)-1]), " = ")
	outs := "%o : " + typ
	if strings.HasPrefix(node, "Split") {
		outs += ", %p : " + typ
	}
	src += "const %axis : i64[1] = {2}\n" + outs + " = " + node + "\nout \"o\" = %o"
	g, err := ir.Parse("graph \"g\" {\n"+src+"\n}", op.Get)
	testenv.Require(t, err == nil, "%s: %v\n%s", line, err, src)
	return g
}

// TestEveryPromisedOperator asserts a row for every operator of the main job:
// of this package in float32, of either library in int8.
func TestEveryPromisedOperator(t *testing.T) {
	for _, lib := range []struct {
		dtype string
		table kernel.Table
	}{{"f32", kernel.NewTable(reference.Kernels)}, {"i8", kernel.NewTable(cmsisnn.Kernels, reference.Kernels)}} {
		for _, line := range strings.Split(strings.TrimSpace(promised), "\n") {
			g := sample(t, line, lib.dtype)
			n := g.Nodes[len(g.Nodes)-1]
			_, err := lib.table.Match(n, &kernel.Options{})
			testenv.Check(t, err == nil, "%s: %v", lib.dtype, err)
		}
	}
}

// TestRows checks that rows have what lists print and compilations need.
func TestRows(t *testing.T) {
	for _, k := range reference.Kernels {
		if k.Name == "" || k.Doc == "" || k.Library == "" || len(k.Ops) == 0 || k.Layout == nil || k.Lower == nil {
			t.Errorf("kernel %q lacks a field", k.Name)
		}
	}
}

// TestRefusals checks that what has no kernel is refused with what was found
// and what is wanted.
func TestRefusals(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"in %x : i32[3]\nin %y : i32[3]\n%o = Add(%x, %y)", "input 0 is int32, want float32"},
		{"in %x : f32[1,2,3,3,3]\nconst %w : f32[2,2,2,2,2] = rand 1\n%o = Conv(%x, %w)",
			"3 spatial dimensions, want 1 or 2"},
		{"in %x : f32[1,2,4,4]\n%o, %i = MaxPool(%x) {kernel_shape=[2,2]}", "want output 0 only"},
		{"in %x : i8[4] q(0.1:0)\n%o : i16[4] q(0.001:0) = Sigmoid(%x)", "want one byte an element and one scale"},
		{"in %x : f32[3]\nin %y : f32[3]\n%o = Mod(%x, %y) {fmod=1}", ""},
		{"in %x : f32[0,3]\n%o = Neg(%x)", "want no dimension of size 0"},
		{"in %x : f32[3,4]\nin %s : f32[]\n%o = QuantizeLinear(%x, %s)", "computed at run time, want a constant"},
		{"in %x : f32[2,2,2,2,2,2,2,2,2]\n%o = Transpose(%x)", "9 runs of dimensions move apart, want at most 8"},
		{"in %x : f32[2,2,2,2,2,2,2,2,2]\n%o = Transpose(%x) {perm=[1,0,2,3,4,5,6,7,8]}", ""},
		{"in %x : f32[1,2,4,4]\nconst %s : f32[4] = {1,2,1,1}\n%o = Resize(%x, -, %s)", "resamples batch or channels"},
	} {
		g, err := ir.Parse("graph \"g\" {\n"+c.src+"\nout \"o\" = %o\n}", op.Get)
		testenv.OK(t, err)
		_, err = table.Match(g.Nodes[0], &kernel.Options{})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.src, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want ...%s", c.src, err, c.want)
		}
	}
}
