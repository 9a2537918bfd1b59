// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/schema"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/ort"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
)

// changed says what a version of an operator changed beside the types that it takes: an attribute,
// a default, an input or output; "" where it is nothing.
func changed(old, now *schema.Schema) string {
	var out []string
	for _, a := range old.Attrs {
		switch b := now.Attr(a.Name); {
		case b == nil:
			out = append(out, "without "+a.Name)
		case !reflect.DeepEqual(a.Default, b.Default):
			out = append(out, fmt.Sprintf("%s %v, not %v", a.Name, b.Default, a.Default))
		}
	}
	for _, b := range now.Attrs {
		if old.Attr(b.Name) == nil {
			out = append(out, "with "+b.Name)
		}
	}
	if len(old.In) != len(now.In) {
		out = append(out, fmt.Sprintf("%d inputs, not %d", len(now.In), len(old.In)))
	}
	return strings.Join(out, ", ")
}

// unknown are versions that ONNX Runtime 1.30 does not run.
var unknown = map[string]int{"Attention": 25, "Range": 27}

// TestVersionsHaveVectors: on both sides of every change of an operator there are numbers of ONNX Runtime.
func TestVersionsHaveVectors(t *testing.T) {
	has := map[*schema.Schema]bool{}
	for _, v := range ort.ReadVectors(t, "testdata/vectors/opsets.txt") {
		for _, m := range regexp.MustCompile(`= (\w+) [<(]`).FindAllStringSubmatch(v.Text, -1) {
			var opset int64
			if _, err := fmt.Sscanf(v.Opsets, "opset %d", &opset); err != nil {
				t.Fatalf("%s: %q: %v", v.Name, v.Opsets, err)
			}
			has[schema.Lookup("", m[1], opset)] = true
		}
	}
	for _, name := range schema.Operators("") {
		list := schema.Versions("", name)
		for i, now := range list[1:] {
			old := list[i]
			what := changed(old, now)
			if now.Since <= 7 || now.Deprecated || what == "" || now.Since == unknown[name] {
				continue
			}
			for _, s := range []*schema.Schema{old, now} {
				testenv.Check(t, has[s],
					"%s of opset %d (%s): no vector of opset %d", name, now.Since, what, s.Since)
			}
		}
	}
}

// TestLimitsBind: every bound that a model can reach stops it with a message
// that names what is too large and the flag that raises the bound, and lets it
// pass where it is raised.
func TestLimitsBind(t *testing.T) {
	for _, c := range []struct{ limit, text, want string }{
		{"nodes", `(float[2] x) => (float y) { a = Relu (x) b = Neg (a) y = Relu (b) }`, "too many nodes"},
		{"depth",
			`(float[2] x, bool[] c) => (float y) { y = If (c) <then_branch = t () => (a) { a = If (c) <then_branch = u () => (p)
				{ p = Relu (x) }, else_branch = v () => (q) { q = Neg (x) }> },
					else_branch = e () => (b) { b = Abs (x) }> }`,
			"nested more than 1"},
		{"trips",
			`(float[2] x) => (float y) { n = Constant <value_int = 4> ()
				y = Loop (n, "", x) <body = b (int64 i, bool c, float v) => (c,
					w) { w = Relu (v) }> }`, "more than 1 times"},
		{"tensor", `(float[2] x) => (float y) <float[2] k = {1, 2}> { y = Add (x, k) }`, "limit is"},
		{"memory", `(float[2] x) => (float y) <float[2] k = {1, 2}> { y = Add (x, k) }`, "too large"},
		{"fold-work",
			`(float[2] x) => (float y) { s = Constant <value_ints = [100, 100]> () k = ConstantOfShape (s)
				r = ReduceMax <keepdims = 0> (k) y = Add (x, r) }`, `ConstantOfShape "ConstantOfShape_1": too large`},
		{"fold-bytes",
			`(float[2] x) => (float y) { s = Constant <value_ints = [100, 100]> () k = ConstantOfShape (s)
				r = ReduceMax <keepdims = 0> (k) y = Add (x, r) }`, `ConstantOfShape "ConstantOfShape_1": too large`},
		{"elements", `(float[2] x) => (float y) { y = Relu (x) }`,
			`input "x": too large: it has shape [2], 2 elements, more than 1`},
		{"elements", `(float[1] x) => (float y) { y = Concat <axis = 0> (x, x) }`,
			`Concat "Concat_0": too large: output 0 has shape [2]`},
		{"work", `(float[2] x) => (float y) { a = Relu (x) y = Neg (a) }`,
			`Relu "Relu_0": too large: one inference takes 4`},
	} {
		open := func(limit string) error {
			var l Limits
			testenv.OK(t, l.Set(limit))
			m := textModel(t, 13, c.text)
			m.Limits = l
			_, err := OpenModel(m, ImportOptions{})
			return err
		}
		testenv.Refused(t, open(c.limit+"=1"), c.want, "--limit "+c.limit+"=")
		err := open(c.limit + "=1M")
		testenv.Check(t, err == nil, "%s=1M: %v", c.limit, err)
	}
}

// TestEarly: operators that ONNX Runtime registers in ai.onnx before or beside the
// standard are read, with a note, as it reads them: the same as spelt out in a
// new opset and, where it is there, as ONNX Runtime computes them.
func TestEarly(t *testing.T) {
	const g4 = `g = Constant <value_floats = [1.0, 2.0, 3.0, 4.0]> () `
	const image, row = "(float[2,3,4,5] x) => (float y)", "(float[2,3,4] x) => (float y)"
	cases := []struct {
		name, sig, early, newest string
		below                    int // the opset from which it is the standard's or nobody's; 0: none
	}{
		{"LayerNormalization", row, `y = LayerNormalization <epsilon = 0.01> (x, g, g)`,
			`y = LayerNormalization <epsilon = 0.01> (x, g, g)`, 17},
		{"LayerNormalization, no bias", row, `y = LayerNormalization <axis = 2> (x, g)`,
			`y = LayerNormalization <axis = 2> (x, g)`, 17},
		{"SimplifiedLayerNormalization", row, `y = SimplifiedLayerNormalization <axis = -1, epsilon = 0.01> (x, g)`,
			`y = RMSNormalization <epsilon = 0.01> (x, g)`, 0},
		{"ThresholdedRelu", row, `y = ThresholdedRelu <alpha = 0.25> (x)`, `y = ThresholdedRelu <alpha = 0.25> (x)`,
			10},
		{"MeanVarianceNormalization", image, `y = MeanVarianceNormalization (x)`,
			`y = MeanVarianceNormalization <axes = [0, 2, 3]> (x)`, 9},
		{"MeanVarianceNormalization, mean only", image, `y = MeanVarianceNormalization <normalize_variance = 0> (x)`,
			`a = Constant <value_ints = [0, 2, 3]> () m = ReduceMean (x, a) y = Sub (x, m)`, 9},
		{"Affine", row, `y = Affine <alpha = 2.5, beta = -0.5> (x)`,
			`a = Constant <value_float = 2.5> () b = Constant <value_float = 0.5> () m = Mul (x, a) y = Sub (m, b)`,
			10},
		{"ParametricSoftplus", row, `y = ParametricSoftplus <alpha = 2.5, beta = 0.5> (x)`,
			`a = Constant <value_float = 2.5> () b = Constant <value_float = 0.5> () m = Mul (x, b) s = Softplus (m)
				y = Mul (s, a)`, 10},
		{"ScaledTanh", row, `y = ScaledTanh <alpha = 2.5, beta = 0.5> (x)`,
			`a = Constant <value_float = 2.5> () b = Constant <value_float = 0.5> () m = Mul (x, b) s = Tanh (m) y = Mul (s, a)`,
			10},
		{"ImageScaler", image, `y = ImageScaler <scale = 2.0, bias = [0.5, 1.0, 1.5]> (x)`,
			`a = Constant <value_float = 2.0> () b = Constant <value = float[3,1,1] {0.5, 1, 1.5}> () m = Mul (x, a)
				y = Add (m, b)`, 10},
		{"Scale", row, `y = Scale <scale = 3.0> (x)`, `a = Constant <value_float = 3.0> () y = Mul (x, a)`, 10},
	}
	q := newORT(t)
	for _, c := range cases {
		for opset := 7; opset <= 16; opset++ {
			if c.below > 0 && opset >= c.below {
				continue
			}
			old := c.early
			if strings.Contains(old, "g)") { // constants of old opsets are tensors
				old = `g = Constant <value = float[4] {1, 2, 3, 4}> () ` + old
			}
			name := fmt.Sprintf("%s in opset %d", c.name, opset)
			m := textModel(t, opset, c.sig+" {"+old+"}")
			var notes []string
			a := open(t, m, ImportOptions{Note: func(d *diag.Diag) { notes = append(notes, d.Error()) }})
			if !slices.ContainsFunc(notes,
				func(s string) bool { return strings.Contains(s, "as ONNX Runtime reads it") }) {
				t.Errorf("%s: notes %q, want one about ONNX Runtime", name, notes)
			}
			b := open(t, textModel(t, newest, c.sig+" {"+g4+c.newest+"}"), ImportOptions{})
			in := irtest.Inputs(a, 5)
			got, want := irtest.Run(t, a, in), irtest.Run(t, b, in)
			if d := worst(got[0], want[0]); !slices.Equal(got[0].Shape, want[0].Shape) || d > 1e-6 {
				t.Errorf("%s: differs from the standard's form by %.3g", name, d)
			}
			if opset == 7 || opset == 8 || opset == 16 || opset == c.below-1 {
				b := testenv.Must(proto.Marshal(m.Proto))(t)
				q.add(t, name, b, a, in, []*tensor.Dense{got[0]}, 1e-5)
			}
		}
	}
	q.run(t)
	// In the standard's own opsets nothing is said; an operator that nobody has is refused.
	fs := Check(textModel(t, 17, row+" {"+g4+`y = LayerNormalization (x, g)}`))
	testenv.Check(t, len(fs) <= 0, "LayerNormalization of opset 17: %v", fs)
	// What the text of an operator cannot compute is said of the operator itself.
	for text, want := range map[string]string{
		"ScaledTanh <alpha = 1.0> (x)": `ScaledTanh "ScaledTanh_0": attribute beta is missing`,
		"com.microsoft.BiasAdd (x, x)": `com.microsoft.BiasAdd "BiasAdd_0": its Add "BiasAdd_0" has 1 inputs, want 2`,
	} {
		_, err := Import(textModel(t, 8, row+" {y = "+text+"}"), ImportOptions{})
		testenv.Refused(t, err, want)
	}
	for opset, name := range map[int]string{16: "Swish", 10: "Affine"} {
		fs := Check(textModel(t, opset, row+" {y = "+name+" (x)}"))
		testenv.Check(t, fs.Count(diag.Error) != 0, "%s of opset %d is accepted", name, opset)
	}
}
