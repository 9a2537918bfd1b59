// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
)

// TestClasses: text is moved and looked up as the numbers of a list, which the model then has for its outputs.
func TestClasses(t *testing.T) {
	const (
		classify = `l, s = ai.onnx.ml.LinearClassifier <coefficients = [1.0, -1.0, -1.0, 1.0, 0.0, 0.0],
			intercepts = [0.0, 0.0, 0.5], classlabels_strings = ["no", "yes", "?"]> (x)
			n = Constant <value_ints = [-1]> () `
		names   = `c = Constant <value_strings = ["b", "a", "b"]> () w = Constant <value_ints = [1, 0, 2, 1]> () `
		convert = `y = ai.onnx.ml.LabelEncoder <keys_strings = ["yes", "no"], values_`
	)
	for _, c := range []struct{ name, text, classes, want string }{
		{"a classifier", `(float[4,2] x) => (string y) { ` + classify + `r = Cast <to = 8> (l) y = Reshape (r, n) }`,
			"no yes ?", "no yes ? no"},
		{"ZipMap", `(float[4,2] x) => (float y) { ` + classify +
			`y = ai.onnx.ml.ZipMap <classlabels_strings = ["no", "yes", "?"]> (s) }`, "no yes ?", ""},
		{"scikit-learn's end", `(float[4,2] x) => (string y) { ` + names + ` f = ai.onnx.ml.ArrayFeatureExtractor (c, w)
			y = Reshape (f, n) n = Constant <value_ints = [4]> () }`, "b a", "a b b a"},
		{"text for text", `(float[4,2] x) => (string y) { ` + classify + convert +
			`strings = ["ja", "nein"], default_string = "naja"> (l) }`, "ja nein naja", "nein ja naja nein"},
		{"numbers for text", `(float[4,2] x) => (int64 y) { ` + classify + convert + `int64s = [7, 8]> (l) }`, "",
			"8 7 -1 8"},
		{"text for numbers", `(float[4,2] x) => (string y) { ` + names +
			`y = ai.onnx.ml.CategoryMapper <cats_int64s = [1, 0], cats_strings = ["one", "none"]> (w) }`,
			"one none _Unused", "one none _Unused one"},
		{"constants of text", `(float[4,2] x) => (string y) { ` + names + `y = Gather (c, w) }`, "b a", "a b b a"},
	} {
		m := textModel(t, 17, c.text)
		g := open(t, m, ImportOptions{})
		testenv.Equal(t, strings.Join(m.Classes["y"], " "), c.classes, c.name)
		x := tensor.Of([]int{4, 2}, []float32{2, 1, -2, 1, 0.25, 0, 3, 0})
		y := testenv.Must(interp.Run(g, []*tensor.Dense{x}, nil))(t)[0]
		if c.want == "" {
			continue
		}
		var said []string
		for _, i := range y.Int64s() {
			if s := m.Classes["y"]; s != nil {
				said = append(said, s[i])
			} else {
				said = append(said, fmt.Sprint(i))
			}
		}
		testenv.Equal(t, strings.Join(said, " "), c.want, c.name)
	}
}
