// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestLimitsBind: every bound that a model can reach stops it with a message
// that names what is too large and the flag that raises the bound, and lets it
// pass where it is raised.
func TestLimitsBind(t *testing.T) {
	for _, c := range []struct{ limit, text, want string }{
		{"nodes", `(float[2] x) => (float y) { a = Relu (x) b = Neg (a) y = Relu (b) }`, "too many nodes"},
		{"depth",
			`(float[2] x, bool[] c) => (float y) { y = If (c) <then_branch = t () => (a) { a = If (c) <then_branch = u () => (p)
				{ p = Relu (x) }, else_branch = v () => (q) { q = Neg (x) }> }, else_branch = e () => (b) { b = Abs (x) }> }`,
			"nested more than 1"},
		{"trips",
			`(float[2] x) => (float y) { n = Constant <value_int = 4> ()
				y = Loop (n, "", x) <body = b (int64 i, bool c, float v) => (c, w) { w = Relu (v) }> }`, "more than 1 times"},
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
		if err := open(c.limit + "=1"); err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), "--limit "+c.limit+"=") {
			t.Errorf("%s=1: error %v, want %q", c.limit, err, c.want)
		}
		if err := open(c.limit + "=1M"); err != nil {
			t.Errorf("%s=1M: %v", c.limit, err)
		}
	}
}
