// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/tensor"
)

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
				b, err := proto.Marshal(m.Proto)
				testenv.OK(t, err)
				q.add(t, name, b, a, in, []*tensor.Dense{got[0]}, 1e-5)
			}
		}
	}
	q.run(t)
	// In the standard's own opsets nothing is said; an operator that nobody has is refused.
	if fs := Check(textModel(t, 17, row+" {"+g4+`y = LayerNormalization (x, g)}`)); len(fs) > 0 {
		t.Errorf("LayerNormalization of opset 17: %v", fs)
	}
	// What the text of an operator cannot compute is said of the operator itself.
	for text, want := range map[string]string{
		"ScaledTanh <alpha = 1.0> (x)": `ScaledTanh "ScaledTanh_0": attribute beta is missing`,
		"com.microsoft.BiasAdd (x, x)": `com.microsoft.BiasAdd "BiasAdd_0": its Add "BiasAdd_0" has 1 inputs, want 2`,
	} {
		_, err := Import(textModel(t, 8, row+" {y = "+text+"}"), ImportOptions{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for opset, name := range map[int]string{16: "Gelu", 10: "Affine"} {
		if fs := Check(textModel(t, opset, row+" {y = "+name+" (x)}")); fs.Count(diag.Error) == 0 {
			t.Errorf("%s of opset %d is accepted", name, opset)
		}
	}
}
