// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
)

// The case studies: scripts of cmd/nncc/examples/surgery on models of the same
// structure, built here with seeded weights, and on the reference models beside
// the repository.

func example(t testing.TB, name string) *Script {
	t.Helper()
	sc := testenv.Must(LoadScript(filepath.Join("..", "..", "cmd", "nncc", "examples", "surgery", name+".yaml")))(t)
	return sc
}

// all4D fails for an activation that is not 4-D.
func all4D(t testing.TB, m *Model) {
	t.Helper()
	values := slices.Concat(m.InputNames(), m.OutputNames())
	for _, n := range m.graph().Node {
		values = append(values, n.Output...)
		switch n.GetOpType() {
		case "Reshape", "Gemm", "MatMul", "Gather", "Flatten", "Squeeze", "Unsqueeze", "Constant", "Shape":
			t.Errorf("%s is left", label(n))
		}
	}
	for _, v := range values {
		s, ok := m.Shapes().Static(v)
		testenv.Check(t, ok && len(s) == 4, "%s has shape %v", v, s)
	}
}

// compared checks the last comparison of a run against a bound.
func compared(t testing.TB, res *Result, outputs int, relative float64) {
	t.Helper()
	testenv.Require(t, len(res.Verified) != 0, "nothing was compared")
	for _, v := range res.Verified {
		testenv.Check(t, v.OK(), "%s: %v", v.Path, &DifferError{v.Comparison})
	}
	last := res.Verified[len(res.Verified)-1]
	testenv.Check(t, len(last.Outputs) == outputs && len(last.Missing) == 0 && last.Against == mainName,
		"last comparison: %+v", last)
	for _, o := range last.Outputs {
		testenv.Check(t, !(o.Relative > relative), "%s: relative difference %g, want at most %g", o.Name, o.Relative,
			relative)
		t.Logf("%s: min %.3g, max %.3g, relative %.3g", o.Name, o.Min, o.Max, o.Relative)
	}
}

// ufld is the end of the lane detector: a backbone of one Conv here.
func ufld(t testing.TB) *Model {
	b := build(t, 13)
	v := b.node("Conv", "/pool/Conv", in(b.input("input", 1, 3, 6, 10), b.weights("pool.weight", 4, 3, 3, 3),
		b.weights("pool.bias", 4)), attrs{"kernel_shape": []int{3, 3}, "strides": []int{2, 2},
		"pads": []int{1, 1, 1, 1}})
	v = b.node("Reshape", "/Reshape", in(v, b.constant("/Constant", tensor.Ints(-1, 4*3*5))), nil)
	v = b.node("Gemm", "/cls/cls.1/Gemm", in(v, b.weights("cls.1.weight", 16, 60), b.weights("cls.1.bias", 16)),
		attrs{"alpha": 1, "beta": 1, "transB": 1})
	v = b.node("Relu", "/cls/cls.2/Relu", in(v), nil)
	v = b.node("Gemm", "/cls/cls.3/Gemm", in(v, b.weights("cls.3.weight", 44, 16), b.weights("cls.3.bias", 44)),
		attrs{"alpha": 1, "beta": 1, "transB": 1})
	from, k := 0, 1
	var outs []string
	for i, s := range [][]int{{3, 4, 2}, {3, 2, 2}, {1, 2, 2}, {1, 2, 2}} {
		next := from + s[0]*s[1]*s[2]
		c := func(v ...int) string { k++; return b.constant(fmt.Sprintf("/Constant_%d", k), tensor.Ints(v...)) }
		name := "/Slice"
		if i > 0 {
			name = fmt.Sprintf("/Slice_%d", i)
		}
		p := b.node("Slice", name, in(v, c(from), c(next), c(1), c(1)), nil)
		outs = append(outs, b.node("Reshape", fmt.Sprintf("/Reshape_%d", i+1), in(p, c(append([]int{-1}, s...)...)),
			nil, []string{"327", "334", "341", "348"}[i]))
		from = next
	}
	return b.output(outs...)
}

func TestUFLD(t *testing.T) {
	m := ufld(t)
	res, err := example(t, "ufld").Run(m, RunOptions{})
	must(t, err)
	compared(t, res, 4, 1e-6)
	all4D(t, res.Model)
	var got []string
	for _, o := range res.Model.OutputNames() {
		_, s := res.Model.IOShape(o)
		got = append(got, o+ShapeText(s))
	}
	testenv.Same(t, got, in("327[1,24,1,1]", "334[1,12,1,1]", "341[1,4,1,1]", "348[1,4,1,1]"), "outputs")
	// The steps of the seed's text, one by one: nodes deleted by a list of names,
	// geometry and pieces given.
	res, err = run(t, m, `
steps:
  - remove: {nodes: [/Reshape, /Slice, /Slice_1, /Slice_2, /Slice_3, /Reshape_1, /Reshape_2, /Reshape_3, /Reshape_4], only: true}
  - connect: {node: /pool/Conv, to: /cls/cls.1/Gemm, input: 0}
  - rewrite_gemm_as_conv: {nodes: /cls/cls.1/Gemm, after: /pool/Conv, r: 3, s: 5, c: 4, k: 16}
  - rewrite_gemm_as_sliced_convs: {node: /cls/cls.3/Gemm, r: 1, s: 1, c: 16, sizes: [24, 12, 4, 4], outputs: ["327", "334", "341", "348"]}
  - set_io_shape: {name: "327", shape: [1, 24, 1, 1]}
  - set_io_shape: {name: "334", shape: [1, 12, 1, 1]}
  - set_io_shape: {name: "341", shape: [1, 4, 1, 1]}
  - set_io_shape: {name: "348", shape: [1, 4, 1, 1]}
  - clear_shapes:
  - simplify:
  - infer_shapes:
  - check:
verify: {rtol: 1e-6, reshape: true}
`, RunOptions{})
	must(t, err)
	compared(t, res, 4, 1e-6)
	all4D(t, res.Model)
}

// yolo is the head of a segmentation model over three scales, as the exporter
// writes it: anchors and strides as constants, sizes by arithmetic on shapes.
func yolo(t testing.TB, classes int) *Model {
	const reg, coefs = 16, 3
	b := build(t, 17)
	x := b.input("images", 1, 4, 4, 6)
	c := map[string]int{}
	num := func(prefix string, d *tensor.Dense) string {
		name := prefix + "Constant"
		if c[name] > 0 {
			name += fmt.Sprintf("_%d", c[name])
		}
		c[prefix+"Constant"]++
		return b.constant(name, d)
	}
	conv := func(name, x, w string, k, ch int) string {
		return b.node("Conv", name, in(x, b.weights(w+".weight", k, ch, 1, 1), b.weights(w+".bias", k)),
			attrs{"kernel_shape": []int{1, 1}})
	}
	maps := []string{x}
	for i := range 2 {
		maps = append(maps, b.node("MaxPool", fmt.Sprintf("/down.%d", i), in(maps[i]),
			attrs{"kernel_shape": []int{2, 2}, "strides": []int{2, 2}, "ceil_mode": 1}))
	}
	sizes := [][2]int{{4, 6}, {2, 3}, {1, 2}}
	total := 24 + 6 + 2
	b.node("Mul", "/model.22/proto/cv3/act/Mul", in(x, conv("/model.22/proto/cv3/Conv", x, "model.22.proto.cv3", 4, 4)),
		nil, "output1")
	var masks, heads []string
	for i := range 3 {
		v := conv(fmt.Sprintf("/model.22/cv4.%d/cv4.%d.2/Conv", i, i), maps[i], fmt.Sprintf("model.22.cv4.%d.2", i),
			coefs, 4)
		masks = append(masks, b.node("Reshape", fmt.Sprintf("/model.22/Reshape_m%d", i),
			in(v, num("/model.22/", tensor.Ints(1, coefs, -1))), nil))
	}
	mask := b.node("Concat", "/model.22/Concat", masks, attrs{"axis": 2})
	for i := range 3 {
		v := conv(fmt.Sprintf("/model.22/cv2.%d/cv2.%d.2/Conv", i, i), maps[i], fmt.Sprintf("model.22.cv2.%d.2", i),
			4*reg, 4)
		w := conv(fmt.Sprintf("/model.22/cv3.%d/cv3.%d.2/Conv", i, i), maps[i], fmt.Sprintf("model.22.cv3.%d.2", i),
			classes, 4)
		v = b.node("Concat", fmt.Sprintf("/model.22/Concat_%d", i+1), in(v, w), attrs{"axis": 1})
		heads = append(heads, b.node("Reshape", fmt.Sprintf("/model.22/Reshape_%d", i+3),
			in(v, num("/model.22/", tensor.Ints(1, 4*reg+classes, -1))), nil))
	}
	v := b.node("Concat", "/model.22/Concat_4", heads, attrs{"axis": 2})
	b.node("Split", "/model.22/Split", in(v, num("/model.22/", tensor.Ints(4*reg, classes))), attrs{"axis": 1}, "boxes",
		"classes")
	d := b.node("Reshape", "/model.22/dfl/Reshape", in("boxes", num("/model.22/dfl/", tensor.Ints(1, 4, reg, total))),
		nil)
	d = b.node("Softmax", "/model.22/dfl/Softmax",
		in(b.node("Transpose", "/model.22/dfl/Transpose", in(d), attrs{"perm": []int{0, 2, 1, 3}})), attrs{"axis": 1})
	ramp := tensor.New(tensor.F32, []int{1, reg, 1, 1})
	for i := range reg {
		ramp.SetFloat(i, float64(i))
	}
	d = b.node("Conv", "/model.22/dfl/conv/Conv", in(d, b.init("model.22.dfl.conv.weight", ramp)),
		attrs{"kernel_shape": []int{1, 1}})
	d = b.node("Reshape", "/model.22/dfl/Reshape_1", in(d, num("/model.22/dfl/", tensor.Ints(1, 4, total))), nil)
	// (4+1)/2 = 2 channels each, from the shape.
	k := func(v int) string { return num("/model.22/", tensor.Ints(v)) } // constants 7 to 12
	half := b.node("Gather", "/model.22/Gather", in(b.node("Shape", "/model.22/Shape", in(d), nil), k(1)),
		attrs{"axis": 0})
	half = b.node("Div", "/model.22/Div", in(b.node("Add", "/model.22/Add", in(half, k(1)), nil), k(2)), nil)
	lo := b.node("Mul", "/model.22/Mul", in(half, k(1)), nil)
	hi := b.node("Mul", "/model.22/Mul_1", in(half, k(2)), nil)
	axis := k(1)
	anchors, strides := tensor.New(tensor.F32, []int{1, 2, total}), tensor.New(tensor.F32, []int{1, total})
	p := 0
	for i, s := range sizes {
		for y := range s[0] {
			for x := range s[1] {
				anchors.SetFloat(p, float64(x)+0.5)
				anchors.SetFloat(total+p, float64(y)+0.5)
				strides.SetFloat(p, float64(int(8)<<i))
				p++
			}
		}
	}
	a := num("/model.22/", anchors) // Constant_13
	lt := b.node("Slice", "/model.22/Slice", in(d, b.init("zero", tensor.Ints(0)), lo, axis), nil)
	rb := b.node("Slice", "/model.22/Slice_1", in(d, lo, hi, axis), nil)
	c0 := b.node("Sub", "/model.22/Sub", in(a, lt), nil)
	c1 := b.node("Add", "/model.22/Add_1", in(a, rb), nil)
	mid := b.node("Div", "/model.22/Div_1", in(b.node("Add", "/model.22/Add_2", in(c0, c1), nil),
		num("/model.22/", tensor.Scalar(float32(2)))), nil)
	box := b.node("Concat", "/model.22/Concat_5", in(mid, b.node("Sub", "/model.22/Sub_1", in(c1, c0), nil)),
		attrs{"axis": 1})
	box = b.node("Mul", "/model.22/Mul_2", in(box, num("/model.22/", strides)), nil)
	cls := b.node("Sigmoid", "/model.22/Sigmoid", in("classes"), nil)
	v = b.node("Concat", "/model.22/Concat_6", in(box, cls), attrs{"axis": 1})
	b.node("Concat", "/model.22/Concat_7", in(v, mask), attrs{"axis": 1}, "output0")
	return b.output("output0", "output1")
}

func TestYOLO(t *testing.T) {
	for _, classes := range []int{1, 5} {
		m := yolo(t, classes)
		res := testenv.Must(example(t, "yolov8seg").Run(m, RunOptions{}))(t)
		compared(t, res, 2, 1e-6)
		all4D(t, res.Model)
		var got []string
		for _, o := range res.Model.OutputNames() {
			_, s := res.Model.IOShape(o)
			got = append(got, o+ShapeText(s))
		}
		want := in("box_0[1,4,4,6]", "box_1[1,4,2,3]", "box_2[1,4,1,2]", fmt.Sprintf("class_0[1,%d,4,6]", classes),
			fmt.Sprintf("class_1[1,%d,2,3]", classes), fmt.Sprintf("class_2[1,%d,1,2]", classes),
			"coefficients_0[1,3,4,6]", "coefficients_1[1,3,2,3]", "coefficients_2[1,3,1,2]", "output1[1,4,4,6]")
		testenv.Same(t, got, want, "outputs")
	}
}

// vit is a transformer with two heads and two blocks; fused says how
// LayerNormalization is written.
func vit(t testing.TB, fused bool) *Model {
	const dim, heads, n = 8, 2, 5
	opset := int64(13)
	if fused {
		opset = 17
	}
	b := build(t, opset)
	scalar := func(name string, v float32) string { return b.constant(name, tensor.Scalar(v)) }
	norm := func(prefix, params, x string) string {
		w, c := b.weights(params+".weight", dim), b.weights(params+".bias", dim)
		if fused {
			return b.node("LayerNormalization", prefix+"/LayerNormalization", in(x, w, c),
				attrs{"axis": -1, "epsilon": 1e-6})
		}
		d := b.node("Sub", prefix+"/Sub",
			in(x, b.node("ReduceMean", prefix+"/ReduceMean", in(x), attrs{"axes": []int{-1}})), nil)
		v := b.node("Pow", prefix+"/Pow", in(d, scalar(prefix+"/Constant", 2)), nil)
		v = b.node("ReduceMean", prefix+"/ReduceMean_1", in(v), attrs{"axes": []int{-1}})
		v = b.node("Sqrt", prefix+"/Sqrt", in(b.node("Add", prefix+"/Add", in(v, scalar(prefix+"/Constant_1", 1e-6)),
			nil)), nil)
		v = b.node("Mul", prefix+"/Mul", in(b.node("Div", prefix+"/Div", in(d, v), nil), w), nil)
		return b.node("Add", prefix+"/Add_1", in(v, c), nil)
	}
	linear := func(prefix, params, x string, from, to int) string {
		v := b.node("MatMul", prefix+"/MatMul", in(x, b.weights("onnx::"+params, from, to)), nil)
		return b.node("Add", prefix+"/Add", in(b.weights(params+".bias", to), v), nil)
	}
	v := b.node("Conv", "/patch_embed/proj/Conv", in(b.input("input", 1, 3, 8, 8), b.weights("patch.weight", dim, 3, 4,
		4), b.weights("patch.bias", dim)), attrs{"kernel_shape": []int{4, 4}, "strides": []int{4, 4}})
	shape := b.node("Slice", "/patch_embed/Slice", in(b.node("Shape", "/patch_embed/Shape", in(v), nil),
		b.constant("/c0", tensor.Ints(0)), b.constant("/c1", tensor.Ints(2)), b.constant("/c2", tensor.Ints(0))), nil)
	v = b.node("Reshape", "/patch_embed/Reshape",
		in(v, b.node("Concat", "/patch_embed/Concat", in(shape, b.constant("/c3", tensor.Ints(-1))), attrs{"axis": 0})),
		nil)
	v = b.node("Transpose", "/patch_embed/Transpose", in(v), attrs{"perm": []int{0, 2, 1}})
	cls := b.weights("cls_token", 1, 1, dim)
	if !fused {
		cls = b.node("Expand", "/Expand", in(cls, b.constant("/c4", tensor.Ints(1, 1, 1))), nil)
	}
	v = b.node("Concat", "/Concat_1", in(cls, v), attrs{"axis": 1})
	x := b.node("Add", "/Add", in(v, b.weights("pos_embed", 1, n, dim)), nil)
	for i := range 2 {
		pre, par := fmt.Sprintf("/blocks.%d", i), fmt.Sprintf("blocks.%d", i)
		v = norm(pre+"/norm1", par+".norm1", x)
		v = linear(pre+"/attn/qkv", par+".qkv", v, dim, 3*dim)
		v = b.node("Reshape", pre+"/attn/Reshape",
			in(v, b.constant(pre+"/attn/c", tensor.Ints(1, n, 3, heads, dim/heads))), nil)
		v = b.node("Transpose", pre+"/attn/Transpose", in(v), attrs{"perm": []int{2, 0, 3, 1, 4}})
		var qkv []string
		for k := range 3 {
			qkv = append(qkv, b.node("Gather", fmt.Sprintf("%s/attn/Gather_%d", pre, k+2),
				in(v, b.constant(fmt.Sprintf("%s/attn/i%d", pre, k), tensor.Scalar(int64(k)))), attrs{"axis": 0}))
		}
		q := b.node("Mul", pre+"/attn/Mul", in(qkv[0], scalar(pre+"/attn/scale", 0.5)), nil)
		s := b.node("MatMul", pre+"/attn/MatMul",
			in(q, b.node("Transpose", pre+"/attn/Transpose_1", in(qkv[1]), attrs{"perm": []int{0, 1, 3, 2}})), nil)
		s = b.node("MatMul", pre+"/attn/MatMul_1", in(b.node("Softmax", pre+"/attn/Softmax", in(s), attrs{"axis": -1}),
			qkv[2]), nil)
		s = b.node("Transpose", pre+"/attn/Transpose_2", in(s), attrs{"perm": []int{0, 2, 1, 3}})
		s = b.node("Reshape", pre+"/attn/Reshape_1", in(s, b.constant(pre+"/attn/c1", tensor.Ints(1, n, dim))), nil)
		s = linear(pre+"/attn/proj", par+".proj", s, dim, dim)
		s = b.node("Mul", pre+"/ls1/Mul", in(s, b.weights(par+".ls1.gamma", dim)), nil)
		x = b.node("Add", pre+"/Add", in(x, s), nil)
		v = linear(pre+"/mlp/fc1", par+".fc1", norm(pre+"/norm2", par+".norm2", x), dim, 2*dim)
		e := b.node("Erf", pre+"/mlp/act/Erf", in(b.node("Div", pre+"/mlp/act/Div", in(v, scalar(pre+"/r2", 1.4142135)),
			nil)), nil)
		v = b.node("Mul", pre+"/mlp/act/Mul", in(v, b.node("Add", pre+"/mlp/act/Add", in(e, scalar(pre+"/one", 1)),
			nil)), nil)
		v = linear(pre+"/mlp/fc2", par+".fc2", b.node("Mul", pre+"/mlp/act/Mul_1", in(v, scalar(pre+"/half", 0.5)),
			nil), 2*dim, dim)
		v = b.node("Mul", pre+"/ls2/Mul", in(v, b.weights(par+".ls2.gamma", dim)), nil)
		x = b.node("Add", pre+"/Add_1", in(x, v), nil)
	}
	v = b.node("Gather", "/Gather", in(norm("/norm", "norm", x), b.constant("/first", tensor.Scalar(int64(0)))),
		attrs{"axis": 1})
	return b.output(b.node("Gemm", "/head/Gemm", in(v, b.weights("head.weight", 6, dim), b.weights("head.bias", 6)),
		attrs{"transB": 1}, "output"))
}

func TestViT(t *testing.T) {
	for _, fused := range []bool{true, false} {
		res := testenv.Must(example(t, "vit").Run(vit(t, fused), RunOptions{}))(t)
		compared(t, res, 1, 1e-6)
		all4D(t, res.Model)
		// Cutting apart and moving data changes no bit.
		for _, v := range res.Verified[:2] {
			for _, o := range v.Outputs {
				testenv.Check(t, v.Wanted == "bit for bit" && o.MaxAbs == 0, "%s: %+v", v.Path, o)
			}
		}
	}
}

// sharedModels is the folder of reference models beside the repository.
func sharedModels(t testing.TB) string {
	t.Helper()
	return filepath.Dir(sharedata.Need(t, "models"))
}

func TestReferenceModels(t *testing.T) {
	dir := sharedModels(t)
	for _, c := range []struct {
		model, script string
		outputs       int
		relative      float64 // of the last comparison
	}{
		{"ufld_tiny", "ufld", 4, 1e-6}, {"yolov8seg_tiny", "yolov8seg", 2, 0}, {"vit_tiny_ln17", "vit", 1, 1e-6},
		{"vit_tiny_decomp", "vit", 1, 1e-6},
	} {
		t.Run(c.model, func(t *testing.T) {
			m := testenv.Must(Load(filepath.Join(dir, "models", c.model+".onnx"), onnx.Limits{}))(t)
			opt := RunOptions{}
			var want []map[string]*tensor.Dense
			for k := range 2 {
				cs := filepath.Join(dir, "golden", c.model, fmt.Sprintf("case_%d", k))
				read := func(names []string, stem string) map[string]*tensor.Dense {
					r := map[string]*tensor.Dense{}
					for i, n := range names {
						a, err := npz.ReadNpyFile(filepath.Join(cs, fmt.Sprintf("%s_%d.npy", stem, i)), npz.Limits{})
						must(t, err)
						r[n], err = npz.ToTensor(a)
						must(t, err)
					}
					return r
				}
				opt.Cases = append(opt.Cases, read(m.InputNames(), "input"))
				want = append(want, read(m.OutputNames(), "output"))
			}
			res := testenv.Must(example(t, c.script).Run(m, opt))(t)
			compared(t, res, c.outputs, c.relative)
			all4D(t, res.Model)
			testenv.Check(t, res.Verified[len(res.Verified)-1].Cases == 3,
				"%d cases", res.Verified[len(res.Verified)-1].Cases)
			// Outputs that kept their names against those of ONNX Runtime.
			for k, in := range opt.Cases {
				got := res.Model.Run(in)
				for name, w := range want[k] {
					g := got[name]
					if g == nil {
						continue
					}
					worst, largest := 0.0, 0.0
					for i := range w.Len() {
						worst, largest = max(worst, abs(g.Float(i)-w.Float(i))), max(largest, abs(w.Float(i)))
					}
					t.Logf("case %d, %s: %.3g of the largest value from ONNX Runtime", k, name, worst/largest)
					if worst > 1e-5*largest {
						t.Errorf("case %d, output %s: %g of %g from ONNX Runtime", k, name, worst, largest)
					}
				}
			}
		})
	}
}

func abs(x float64) float64 {
	if x < 0 {
		return -x
	}
	return x
}
