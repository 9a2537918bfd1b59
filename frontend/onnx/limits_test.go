package onnx

import (
	"os"
	"strings"
	"testing"
)

func TestLimitsSet(t *testing.T) {
	var l Limits
	for _, s := range []string{"nodes=7", "work=2G", "elements=3K", "depth=1"} {
		if err := l.Set(s); err != nil {
			t.Error(err)
		}
	}
	l = l.orDefault()
	if l.Nodes != 7 || l.Work != 2<<30 || l.Elements != 3<<10 || l.Depth != 1 || l.FileBytes != DefaultLimits.FileBytes || l.Trips != DefaultLimits.Trips {
		t.Errorf("%+v", l)
	}
	for s, want := range map[string]string{
		"nodes": "want NAME=N", "": "want NAME=N", "node=1": "want one of file, memory, names, nodes", "nodes=0": "from 1", "nodes=-1": "from 1",
		"nodes=": "from 1", "nodes=K": "from 1", "nodes=1KK": "from 1", "nodes=1.5": "from 1", "work=9223372036854775807": "from 1", "work=99999999999G": "from 1",
	} {
		if err := l.Set(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", s, err, want)
		}
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range limits {
		if row := "| `" + x.name + "` | " + x.doc + " |"; !strings.Contains(string(readme), row) {
			t.Errorf("README.md lacks %s", row)
		}
	}
}

// TestLimitsBind: every bound that a model can reach stops it with a message
// that names what is too large and the flag that raises the bound, and lets it
// pass where it is raised.
func TestLimitsBind(t *testing.T) {
	for _, c := range []struct{ limit, text, want string }{
		{"nodes", `(float[2] x) => (float y) { a = Relu (x) b = Neg (a) y = Relu (b) }`, "too many nodes"},
		{"depth", `(float[2] x, bool[] c) => (float y) { y = If (c) <then_branch = t () => (a) { a = If (c) <then_branch = u () => (p) { p = Relu (x) }, else_branch = v () => (q) { q = Neg (x) }> }, else_branch = e () => (b) { b = Abs (x) }> }`, "nested more than 1"},
		{"trips", `(float[2] x) => (float y) { n = Constant <value_int = 4> () y = Loop (n, "", x) <body = b (int64 i, bool c, float v) => (c, w) { w = Relu (v) }> }`, "more than 1 times"},
		{"tensor", `(float[2] x) => (float y) <float[2] k = {1, 2}> { y = Add (x, k) }`, "limit is"},
		{"memory", `(float[2] x) => (float y) <float[2] k = {1, 2}> { y = Add (x, k) }`, "too large"},
		{"fold-work", `(float[2] x) => (float y) { s = Constant <value_ints = [100, 100]> () k = ConstantOfShape (s) r = ReduceMax <keepdims = 0> (k) y = Add (x, r) }`, `ConstantOfShape "ConstantOfShape_1": too large`},
		{"fold-bytes", `(float[2] x) => (float y) { s = Constant <value_ints = [100, 100]> () k = ConstantOfShape (s) r = ReduceMax <keepdims = 0> (k) y = Add (x, r) }`, `ConstantOfShape "ConstantOfShape_1": too large`},
		{"elements", `(float[2] x) => (float y) { y = Relu (x) }`, `input "x": too large: it has shape [2], 2 elements, more than 1`},
		{"elements", `(float[1] x) => (float y) { y = Concat <axis = 0> (x, x) }`, `Concat "Concat_0": too large: output 0 has shape [2]`},
		{"work", `(float[2] x) => (float y) { a = Relu (x) y = Neg (a) }`, `Relu "Relu_0": too large: one inference takes 4`},
	} {
		open := func(limit string) error {
			var l Limits
			if err := l.Set(limit); err != nil {
				t.Fatal(err)
			}
			m := textModel(t, 13, c.text)
			m.Limits = l
			_, err := OpenModel(m, ImportOptions{})
			return err
		}
		if err := open(c.limit + "=1"); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "--limit "+c.limit+"=") {
			t.Errorf("%s=1: error %v, want %q", c.limit, err, c.want)
		}
		if err := open(c.limit + "=1M"); err != nil {
			t.Errorf("%s=1M: %v", c.limit, err)
		}
	}
}
