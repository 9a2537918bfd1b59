// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
)

// gemm is a model x[N,C,R,S] → Flatten or Reshape → Gemm → Relu.
func gemm(t testing.TB, r *rand.Rand, n, c, rr, s, k int) *Model {
	b := build(t, 17)
	x := b.input("x", int64(n), int64(c), int64(rr), int64(s))
	v := b.node("Neg", "/map", in(x), nil)
	switch r.IntN(3) {
	case 0:
		v = b.node("Flatten", "/flatten", in(v), nil)
	case 1:
		v = b.node("Reshape", "/reshape", in(v, b.constant("/shape", tensor.Ints(n, -1))), nil)
	default:
		v = b.node("Reshape", "/reshape", in(v, b.init("shape", tensor.Ints(n, c, rr*s))), nil)
		v = b.node("Dropout", "/dropout", in(v), nil)
		v = b.node("Flatten", "/flatten", in(v), nil)
	}
	a := attrs{}
	w := b.weights("w", k, c*rr*s)
	if r.IntN(2) == 0 {
		a["transB"] = 1
	} else {
		d, _ := fail.Try(func() *tensor.Dense { return b.m.Constant("w") })
		b.m.SetInitializer(model.TensorProto("w", d.Transpose([]int{1, 0})))
	}
	ins := in(v, w)
	switch r.IntN(6) {
	case 0:
	case 1:
		ins = append(ins, b.init("bias", ir.Rand(9, tensor.F32, nil)))
	case 2:
		ins = append(ins, b.init("bias", ir.Rand(9, tensor.F32, []int{1, 1})))
	case 3:
		ins = append(ins, b.init("bias", ir.Rand(9, tensor.F32, []int{1, k})))
	default:
		ins = append(ins, b.init("bias", ir.Rand(9, tensor.F32, []int{k})))
	}
	if len(ins) > 2 && r.IntN(2) == 0 {
		a["beta"] = 0.5
	}
	if r.IntN(2) == 0 {
		a["alpha"] = 1.5
	}
	b.node("Gemm", "/fc", ins, a)
	return b.output(b.node("Relu", "/relu", in("/fc_output_0"), nil))
}

func TestGemmAsConv(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 60 {
		m := gemm(t, r, 1+r.IntN(2), 1+r.IntN(4), 1+r.IntN(4), 1+r.IntN(5), 1+r.IntN(6))
		ref := m.Clone()
		flat := i%2 == 0
		m.RewriteGemmAsConv(node(t, m, "/fc"), ConvOptions{Flat: flat})
		if flat {
			same(t, m, ref, 1e-6)
		} else {
			same(t, m, ref, 1e-6, reshape)
			if got := modelText(m); strings.Contains(got, "Reshape") || strings.Contains(got, "Flatten") ||
				strings.Contains(got, "Constant") {
				t.Errorf("what only the Gemm needed must go:\n%s", got)
			}
			got := len(m.graph().Initializer)
			testenv.Check(t, got <= 2, "%d initializers", got)
		}
	}
}

// The flow of people who removed the Reshape first: shapes are broken then.
func TestGemmAsConvAfterRemoval(t *testing.T) {
	m := gemm(t, rand.New(rand.NewPCG(5, 5)), 1, 3, 2, 5, 4)
	ref := m.Clone()
	script := `
steps:
  - remove: {nodes: [{regex: flatten, optional: true}, {regex: reshape, optional: true}, {regex: dropout, optional: true}]}
  - rewrite_gemm_as_conv: {nodes: /fc, after: /map, r: 2, s: 5, c: 3, k: 4, name: /fc/Conv}
verify: {rtol: 1e-6, reshape: true}
`
	res := testenv.Must(run(t, m, script, RunOptions{}))(t)
	same(t, res.Model, ref, 1e-6, reshape)
	for change, says := range map[string]string{
		"r: 2, s: 5, c: 3, k: 5": "k is 5, but the weights give 4 outputs",
		"r: 3, s: 5, c: 3":       `r is 3, but "/map_output_0" has shape [1,3,2,5]`,
		"r: -1":                  "sizes are 1 or more",
	} {
		_, err := run(t, ref, strings.Replace(script, "r: 2, s: 5, c: 3, k: 4", change, 1), RunOptions{})
		wantErr(t, err, "s.yaml:4: step 2 (rewrite_gemm_as_conv)", says)
	}
}

func TestGemmAsConvRefuses(t *testing.T) {
	base := func() (*builder, string) {
		b := build(t, 17)
		return b, b.input("x", 1, 6)
	}
	b, x := base()
	m := b.output(b.node("Gemm", "/fc", in(x, b.weights("w", 6, 2)), nil))
	err := fail.Caught(func() { m.RewriteGemmAsConv(node(t, m, "/fc"), ConvOptions{}) })
	wantErr(t, err, `node "/fc" (Gemm)`, `reads "x" of shape [1,6]`, "want a feature map")

	b, x = base()
	m = b.output(b.node("Gemm", "/fc", in(x, b.weights("w", 1, 2)), attrs{"transA": 1}))
	err = fail.Caught(func() { m.RewriteGemmAsConv(node(t, m, "/fc"), ConvOptions{}) })
	wantErr(t, err, "/fc", "transA is set")

	b, x = base()
	y := b.input("y", 6, 2)
	m = b.output(b.node("Gemm", "/fc", in(x, y), nil))
	err = fail.Caught(func() { m.RewriteGemmAsConv(node(t, m, "/fc"), ConvOptions{}) })
	wantErr(t, err, "/fc", "weights (input 1) are not known", `"y" is a graph input`)

	b, x = base()
	m = b.output(b.node("Relu", "/fc", in(x), nil))
	err = fail.Caught(func() { m.RewriteGemmAsConv(node(t, m, "/fc"), ConvOptions{}) })
	wantErr(t, err, `node "/fc" (Relu): is no Gemm or MatMul`)

	b = build(t, 17)
	x = b.input("x", 2, 1, 2, 3)
	v := b.node("Flatten", "/flatten", in(x), nil)
	m = b.output(b.node("Gemm", "/fc", in(v, b.weights("w", 6, 2), b.weights("c", 2, 2)), nil))
	err = fail.Caught(func() { m.RewriteGemmAsConv(node(t, m, "/fc"), ConvOptions{}) })
	wantErr(t, err, "/fc", `bias "c" has shape [2 2]`)
	err = fail.Caught(func() { m.RewriteGemmAsConv(node(t, m, "/fc"), ConvOptions{After: "/flaten"}) })
	wantErr(t, err, "/fc")
}

func TestGemmAsSlicedConvs(t *testing.T) {
	for _, how := range in("slices", "split", "removed") {
		b := build(t, 17)
		x := b.input("x", 1, 3, 2, 2)
		v := b.node("Flatten", "/flatten", in(x), nil)
		g := b.node("Gemm", "/fc", in(v, b.weights("w", 7, 12), b.weights("c", 7)), attrs{"transB": 1})
		one := b.init("one", tensor.Ints(1))
		switch how {
		case "split":
			b.node("Split", "/split", in(g, b.init("sizes", tensor.Ints(4, 3))), attrs{"axis": -1}, "p", "q")
		default:
			b.node("Slice", "/s0", in(g, b.init("z", tensor.Ints(0)), b.init("four", tensor.Ints(4)), one, one), nil,
				"p")
			b.node("Slice", "/s1", in(g, b.init("m3", tensor.Ints(-3)), b.init("big", tensor.Ints(1<<40)), one), nil,
				"q")
		}
		m := b.output("p", "q")
		ref := m.Clone()
		if how == "removed" {
			res := testenv.Must(run(t, m, `
steps:
  - remove: {nodes: [/s0, /s1], only: true}
  - rewrite_gemm_as_sliced_convs: {node: /fc, sizes: [4, 3], outputs: [p, q], r: 2, s: 2, c: 3}
  - set_io_shape: {name: p, shape: [1, 4, 1, 1]}
  - set_io_shape: {name: q, shape: [1, 3, 1, 1]}
verify: {rtol: 1e-6, reshape: true}
`, RunOptions{}))(t)
			m = res.Model
		} else {
			m.RewriteGemmAsSlicedConvs(node(t, m, "/fc"), nil, nil, ConvOptions{})
		}
		if got := len(m.graph().Node); got != 2 {
			t.Errorf("%s: %d nodes:\n%s", how, got, modelText(m))
		}
		same(t, m, ref, 1e-6, reshape)
	}
}

func TestGemmAsSlicedConvsRefuses(t *testing.T) {
	mk := func(f func(b *builder, g string) []string) *Model {
		b := build(t, 17)
		g := b.node("Gemm", "/fc", in(b.node("Flatten", "/flatten", in(b.input("x", 1, 3, 2, 2)), nil),
			b.weights("w", 12, 7)), nil)
		return b.output(f(b, g)...)
	}
	for says, f := range map[string]func(b *builder, g string) []string{
		"graph output as a whole": func(b *builder, g string) []string { return in(g) },
		`node "/relu" (Relu): which is neither Slice nor Split`: func(b *builder,
			g string) []string {
			return in(b.node("Relu", "/relu", in(g), nil))
		},
		"known range of axis 1 with step 1": func(b *builder, g string) []string {
			return in(b.node("Slice", "/s", in(g, b.init("a", tensor.Ints(0)), b.init("b", tensor.Ints(7)),
				b.init("c", tensor.Ints(1)), b.init("d", tensor.Ints(2))), nil))
		},
		"empty range": func(b *builder, g string) []string {
			return in(b.node("Slice", "/s", in(g, b.init("a", tensor.Ints(7)), b.init("b", tensor.Ints(9)),
				b.init("c", tensor.Ints(1))), nil))
		},
		"splits another axis": func(b *builder, g string) []string {
			b.node("Split", "/s", in(g), attrs{"axis": 0}, "p")
			return in("p")
		},
	} {
		m := mk(f)
		err := fail.Caught(func() { m.RewriteGemmAsSlicedConvs(node(t, m, "/fc"), nil, nil, ConvOptions{}) })
		wantErr(t, err, `node "/fc" (Gemm)`, says)
	}
	m := mk(func(b *builder, g string) []string { return in(b.node("Relu", "/relu", in(g), nil)) })
	err := fail.Caught(func() { m.RewriteGemmAsSlicedConvs(node(t, m, "/fc"), []int{7}, in("p"), ConvOptions{}) })
	wantErr(t, err, `its result is read by node "/relu"`)
	m.Remove(m.Find(Query{Name: "/relu"}), RemoveOptions{Only: true})
	for _, c := range []struct {
		sizes []int
		outs  []string
		says  string
	}{
		{[]int{3, 3}, in("p", "q"), "make 6; the weights give 7 outputs"},
		{[]int{3, 5}, in("p", "q"), "do not fit its 7 outputs"},
		{[]int{3}, in("p", "q"), "1 sizes and 2 outputs"}, {[]int{3, 4}, in("p", "p"), "twice"},
		{[]int{3, 4}, in("p", "x"), "taken"},
		{[]int{3, 4}, in("p", "/flatten_output_0"), "is made by"}, {[]int{-1, 8}, in("p", "q"), "do not fit"},
	} {
		err := fail.Caught(func() { m.RewriteGemmAsSlicedConvs(node(t, m, "/fc"), c.sizes, c.outs, ConvOptions{}) })
		wantErr(t, err, c.says)
	}
}

func TestMatMulAsConv(t *testing.T) {
	for _, shape := range [][]int64{{3, 4}, {2, 3, 4}, {2, 2, 3, 4}, {1, 4, 4}} {
		for _, bias := range in("", "vector", "two", "row", "output") {
			b := build(t, 17)
			x := b.input("x", shape...)
			v := b.node("MatMul", "/mm", in(x, b.weights("w", 4, 5)), nil)
			switch bias {
			case "vector":
				v = b.node("Add", "/add", in(b.weights("b", 5), v), nil)
			case "two":
				v = b.node("Add", "/add", in(v, b.weights("b", 5)), nil)
				v = b.node("Add", "/add2", in(v, "/mm_output_0"), nil)
			case "row": // along another dimension
				v = b.node("Add", "/add", in(v, b.weights("b", int(shape[len(shape)-2]), 1)), nil)
			case "output":
				v = b.node("Add", "/add", in(v, b.weights("b", 1, 5)), nil)
				b.output("/mm_output_0")
			}
			m := b.output(b.node("Neg", "/neg", in(v), nil))
			ref := m.Clone()
			c := m.RewriteMatMulAsConv(node(t, m, "/mm"), MatMulOptions{})
			testenv.Equal(t, len(c.Input) == 3, bias == "vector", "%v %s: bias in the Conv", shape, bias)
			same(t, m, ref, 1e-6)
		}
	}
	// Channels first: the model around it was brought to [N,C,H,W].
	b := build(t, 17)
	x := b.input("x", 1, 3, 4)
	v := b.node("Add", "/add", in(b.node("MatMul", "/mm", in(x, b.weights("w", 4, 5)), nil), b.weights("b", 5)), nil)
	m := b.output(v)
	res, err := run(t, m, `
steps:
  - set_io_shape: {name: x, conversion: hwc_to_nchw}
  - rewrite_matmul_as_conv: {nodes: /mm, layout: channels_first}
verify:
  rtol: 1e-6
  reshape: true
  restore:
    - set_io_shape: {name: x, conversion: nchw_to_hwc}
    - insert_after: {value: x, new: {op: Transpose, name: t, attributes: {perm: [0, 2, 1]}}}
    - insert_after: {node: t, new: {op: Unsqueeze, inputs: [$, {value: [2]}]}}
    - insert_after: {value: /add_output_0, new: {op: Transpose, attributes: {perm: [0, 2, 3, 1]}}}
`, RunOptions{})
	must(t, err)
	wantText(t, res.Model, "/add_output_0 = Conv(x, w_conv, b_conv)")
	_, err = run(t, m, `steps: [{rewrite_matmul_as_conv: {nodes: /mm, layout: channels_first}}]`, RunOptions{})
	wantErr(t, err, `node "/mm" (MatMul)`, `reads "x" of shape [1,3,4]; channels first it must be [N,4,H,W]`)
	_, err = run(t, m, `steps: [{rewrite_matmul_as_conv: {nodes: /mm, layout: nchw}}]`, RunOptions{})
	wantErr(t, err, `layout "nchw"; want channels_last or channels_first`)
}

func TestMatMulAsEinsum(t *testing.T) {
	for _, c := range [][2][]int64{{{3, 4}, {4, 5}}, {{2, 3, 4}, {2, 4, 5}}, {{2, 2, 3, 4}, {2, 2, 4, 5}},
		{{2, 3, 4}, {4, 5}}} {
		b := build(t, 17)
		m := b.output(b.node("MatMul", "/mm", in(b.input("x", c[0]...), b.input("y", c[1]...)), nil))
		ref := m.Clone()
		m.RewriteMatMulAsEinsum(node(t, m, "/mm"), "")
		same(t, m, ref, 1e-6)
	}
	b := build(t, 17)
	m := b.output(b.node("MatMul", "/mm", in(b.input("x", 1, 3, 4), b.input("y", 2, 4, 5)), nil))
	refused(t, func() { m.RewriteMatMulAsEinsum(node(t, m, "/mm"), "") }, "/mm", "broadcast", "[1,3,4]", "[2,4,5]")
	for eq, says := range map[string]string{"ab,bc": "want the form", "ab->ba": "want the form",
		"ab,bc->ad": "letter d", "ab,bc->aa": "letter a", "a1,bc->ab": "want letters"} {
		refused(t, func() { m.RewriteMatMulAsEinsum(node(t, m, "/mm"), eq) }, "/mm", says)
	}
	m.RewriteMatMulAsEinsum(node(t, m, "/mm"), "xij,yjk->yik")
	valid(t, m)
}

func TestTransposePair(t *testing.T) {
	b := build(t, 17)
	x := b.input("x", 1, 3, 4, 5)
	v := b.node("Relu", "/relu", in(x), nil)
	b.node("Neg", "/neg", in("/relu_output_0"), nil)
	m := b.output(v, "/neg_output_0")
	ref := m.Clone()
	m.InsertTransposePair(node(t, m, "/relu"), []int{0, 2, 3, 1}, []int{0, 3, 1, 2})
	same(t, m, ref, 0)
	got := strings.Count(modelText(m), "Transpose")
	testenv.Check(t, got == 2, "%d Transposes\n%s", got, modelText(m))
	refused(t, func() { m.InsertTransposePair(node(t, m, "/neg"), []int{0, 1, 2}, []int{0, 1, 2}) }, "/neg", "before",
		"3 places, want 4")
	refused(t, func() { m.InsertTransposePair(node(t, m, "/neg"), []int{0, 1, 2, 3}, []int{0, 1, 1, 3}) },
		"/neg", "after",
		"no permutation")
	m.Simplify()
	same(t, m, ref, 0)
}

func TestSlicesAndConcat(t *testing.T) {
	for _, opset := range []int64{9, 17} {
		b := build(t, opset)
		x := b.input("x", 1, 6, 2, 3)
		m := b.output(b.node("Relu", "/relu", in(b.node("Neg", "/neg", in(x), nil)), nil))
		ref := m.Clone()
		parts := m.InsertSlices("/neg_output_0", Cut{Axis: 1, Count: 3}, nil)
		out := m.InsertConcat(parts, 1, "", "", node(t, m, "/relu"), 0)
		testenv.Check(t, out != "", "no name")
		same(t, m, ref, 0)
	}
	b := build(t, 17)
	x := b.input("x", 1, 6, 2, 3)
	m := b.output(b.node("Relu", "/relu", in(b.node("Neg", "/neg", in(x), nil)), nil))
	for _, c := range []struct {
		cut  Cut
		outs []string
		says string
	}{
		{Cut{Axis: 1, Count: 4}, nil, "axis 1 cannot be cut into equal pieces"},
		{Cut{Axis: 4, Count: 1}, nil, "axis 4 is outside rank 4"},
		{Cut{Axis: 1, Count: 4, Size: 2}, nil, "take 8"}, {Cut{Axis: 1, Sizes: []int{0, 6}}, nil, "a piece of size 0"},
		{Cut{Axis: 1, Count: 2}, in("a"), "2 pieces, but 1 outputs"}, {Cut{Axis: 1, Count: 2}, in("a", "x"), "taken"},
	} {
		err := fail.Caught(func() { m.Clone().InsertSlices("/neg_output_0", c.cut, c.outs) })
		wantErr(t, err, c.says)
	}
	// A Reshape [1,6,2,3] → [1,6,1,6] out of Slices and a Concat.
	ref := m.Clone()
	err := fail.Caught(func() {
		m.InsertSlicesConcat("/neg_output_0", Cut{Axis: 2, Size: 1}, 3, node(t, m, "/relu"), "")
	})
	must(t, err)
	c := same(t, m, ref, 0, reshape)
	testenv.Equal(t, fmt.Sprint(c.Outputs[0].Shape), "[1 6 1 6]", "shape")
	err = fail.Caught(func() { m.InsertSlicesConcat("x", Cut{Axis: 2, Size: 1}, 3, node(t, m, "/relu"), "") })
	wantErr(t, err, "/relu", `does not read "x"`)
}
