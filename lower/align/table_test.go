// SPDX-License-Identifier: Apache-2.0

package align_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/align"
	"github.com/nncc/nncc/lower/option"
)

// block is an inverted residual block as exporters write it.
const block = `graph "block" {
  in %x : f32[1,3,16,16]
  const %w0 : f32[8,3,3,3] = rand 1
  const %w1 : f32[8,1,3,3] = rand 2
  const %w2 : f32[6,8,1,1] = rand 3
  const %b2 : f32[6] = rand 4
  const %w3 : f32[6,1,3,3] = rand 5
  const %w4 : f32[6,6,1,1] = rand 6
  const %w5 : f32[10,6,1,1] = rand 7
  const %w6 : f32[5,10] = rand 8
  const %b6 : f32[5] = rand 9
  %stem = Conv(%x, %w0) {pads=[1,1,1,1], strides=[2,2]} name "StemConv"
  %r0 = Relu(%stem)
  %dw1 = Conv(%r0, %w1) {group=8, pads=[1,1,1,1]} name "DW1"
  %pw1 = Conv(%dw1, %w2, %b2) name "PW1"
  %r1 = Relu(%pw1)
  %dw2 = Conv(%r1, %w3) {group=6, pads=[1,1,1,1]} name "DW2"
  %r2 = Relu(%dw2)
  %pw2 = Conv(%r2, %w4) name "PW2"
  %add = Add(%r1, %pw2)
  %expand = Conv(%add, %w5) name "Expand"
  %r3 = Relu(%expand)
  TAIL
  %y = Gemm(%flat, %w6, %b6) {transB=1} name "fc"
  out "y" = %y
}`

const pooled = `%gap = GlobalAveragePool(%r3)
  %flat = Flatten(%gap)`

func table(t *testing.T, src string, o align.Options) (*align.Result, string) {
	t.Helper()
	g := irtest.Parse(t, src)
	before := g.Clone()
	p, r := padded(t, g, o)
	in := irtest.Inputs(g, 1)
	if !o.PadInput {
		if err := irtest.Same(irtest.Run(t, p, in), irtest.Run(t, before, in), g.OutNames, 1,
			irtest.DefaultTol); err != nil {
			t.Error(err)
		}
	}
	return r, strings.TrimSpace(align.Table(r.Rows))
}

func TestTable(t *testing.T) {
	_, got := table(t, strings.Replace(block, "TAIL", pooled, 1), align.Options{Mode: option.AlignAlways})
	want := strings.TrimSpace(`
Node     | Op            | Constraint      | Current | Target | Status
-----------------------------------------------------------------------
PW1      | Conv          | output_channels | 6       | 8      | PATCHED
DW2      | DepthwiseConv | channels        | 6       | 8      | PATCHED
PW2      | Conv          | input_channels  | 6       | 8      | PATCHED
PW2      | Conv          | output_channels | 6       | 8      | PATCHED
Expand   | Conv          | input_channels  | 6       | 8      | PATCHED
Expand   | Conv          | output_channels | 10      | 12     | PATCHED
StemConv | Conv          | input_channels  | 3       | 4      | LOCKED`)
	testenv.Check(t, got == want, "got\n%s\nwant\n%s", got, want)
}

func TestPadInput(t *testing.T) {
	r, got := table(t, strings.Replace(block, "TAIL", pooled, 1), align.Options{Mode: option.AlignAlways,
		PadInput: true})
	if !strings.Contains(got, "StemConv | Conv          | input_channels  | 3       | 4      | PATCHED") ||
		r.Inputs["x"] != 3 {
		t.Errorf("inputs %v in\n%s", r.Inputs, got)
	}
}

// TestNever: nothing is looked at.
func TestNever(t *testing.T) {
	if r, _ := table(t, strings.Replace(block, "TAIL", pooled, 1),
		align.Options{Mode: option.AlignNever}); len(r.Rows) != 0 {
		t.Errorf("%d rows", len(r.Rows))
	}
}

// TestReasons: what fixes a dimension is named.
func TestReasons(t *testing.T) {
	for _, c := range []struct{ name, tail, code, says string }{
		{"reshape", `const %s : i64[2] = {1,10}
  %gap = GlobalAveragePool(%r3)
  %flat = Reshape(%gap, %s) name "to_vector"`, "reshape", "to_vector has the constant target shape [1 10]"},
		{"softmax", `%soft = Softmax(%r3) {axis=1} name "soft"
  %gap = GlobalAveragePool(%soft)
  %flat = Flatten(%gap)`, "normalised", "Softmax normalises"},
		{"mean", `const %a : i64[1] = {1}
  const %s : i64[2] = {1,10}
  %m = ReduceMean(%r3, %a) {keepdims=1} name "mean"
  %sub = Sub(%r3, %m)
  %gap = GlobalAveragePool(%sub)
  %flat = Flatten(%gap)`, "reduced", "ReduceMean reduces"},
		{"shuffle", `const %s1 : i64[5] = {1,2,5,8,8}
  const %s2 : i64[4] = {1,10,8,8}
  %a = Reshape(%r3, %s1) name "groups"
  %b = Transpose(%a) {perm=[0,2,1,3,4]}
  %c = Reshape(%b, %s2)
  %gap = GlobalAveragePool(%c)
  %flat = Flatten(%gap)`, "shuffle", "groups is part of a channel shuffle"},
		{"log", `%log = Log(%r3)
  %gap = GlobalAveragePool(%log)
  %flat = Flatten(%gap)`, "content", "new elements that are not zero"},
		{"output", `%gap = GlobalAveragePool(%r3)
  %flat = Flatten(%gap)
  out "map" = %r3`, "graph-output", "%map is a graph output"},
	} {
		src := strings.Replace(block, "TAIL", c.tail, 1)
		if i := strings.Index(src, "  out \"map\""); i >= 0 { // outputs come last
			line := "  out \"map\" = %r3\n"
			src = strings.Replace(src, line, "", 1)
			src = strings.Replace(src, "out \"y\" = %y", "out \"y\" = %y\n"+line, 1)
		}
		r, text := table(t, src, align.Options{Mode: option.AlignAlways})
		found := false
		for _, w := range r.Rows {
			if w.Node == "Expand" && w.Constraint == "output_channels" {
				found = true
				testenv.Check(t, w.Status == align.Locked && w.Code == c.code && strings.Contains(w.Reason, c.says),
					"%s: %s, want %s: %s", c.name, &w, c.code, c.says)
			}
		}
		testenv.Check(t, found, "%s: no row for Expand in\n%s", c.name, text)
	}
}

// TestFollows: shapes that leave the channels open do not hold them.
func TestFollows(t *testing.T) {
	for _, tail := range []string{
		"const %s : i64[2] = {0,-1}\n %gap = GlobalAveragePool(%r3)\n %flat = Reshape(%gap, %s)",
		"const %s : i64[2] = {1,-1}\n %gap = GlobalAveragePool(%r3)\n %flat = Reshape(%gap, %s)",
		"const %a : i64[2] = {2,3}\n %flat = ReduceMean(%r3, %a) {keepdims=0}",
		"const %a : i64[2] = {2,3}\n const %s : i64[3] = {0,0,-1}\n const %l : i64[1] = {2}\n %m = Reshape(%r3, " +
			"%s)\n %flat = ReduceMean(%m, %l) {keepdims=0}",
	} {
		r, text := table(t, strings.Replace(block, "TAIL", tail, 1), align.Options{Mode: option.AlignAlways})
		for _, w := range r.Rows {
			testenv.Check(t, w.Node != "Expand" || w.Status == align.Patched, "%s in\n%s", &w, text)
		}
	}
}

// TestHazard: a convolution in one dimension with stride 2 must not be brought
// onto the route of CMSIS-NN that computes it wrongly.
func TestHazard(t *testing.T) {
	r, text := table(t, `graph "one" {
  in %x : f32[1,4,32]
  const %w0 : f32[5,4,3] = rand 1
  const %w1 : f32[8,5,3] = rand 2
  %a = Conv(%x, %w0) {pads=[1,1]} name "a"
  %y = Conv(%a, %w1) {pads=[1,1], strides=[2]} name "b"
  out "y" = %y
}`, align.Options{Mode: option.AlignAlways})
	if len(r.Rows) != 2 || r.Rows[0].Status != align.Locked || r.Rows[1].Status != align.Locked ||
		r.Rows[1].Code != "hazard" || !strings.Contains(r.Rows[1].Reason, "arm_convolve_1_x_n_s8") {
		t.Errorf("%v\n%s", r.Rows, text)
	}
}

// loaded is a reference model.
func loaded(t testing.TB, name string) *ir.Graph {
	t.Helper()
	m := testenv.Must(onnx.Load(sharedata.Need(t, "models", name+".onnx"), onnx.Limits{}))(t)
	g := testenv.Must(onnx.OpenModel(m, onnx.ImportOptions{}))(t)
	return g
}

// TestReferenceModels checks the tables of the reference models, where they are.
func TestReferenceModels(t *testing.T) {
	rows := func(name string) map[string]align.Row {
		_, r := padded(t, loaded(t, name), align.Options{Mode: option.AlignAlways})
		m := map[string]align.Row{}
		for _, w := range r.Rows {
			m[w.Node+" "+w.Constraint] = w
		}
		testenv.Equal(t, len(m), len(r.Rows), "%s: rows repeat", name)
		return m
	}
	readme := rows("cmsisrepair_readme")
	if len(readme) != 7 || readme["StemConv/Conv input_channels"].Code != "graph-input" ||
		readme["Expand/Conv output_channels"].Target != 12 {
		t.Errorf("cmsisrepair_readme: %v", readme)
	}
	locked := rows("cmsisrepair_reshape_locked")
	if w := locked["Expand/Conv output_channels"]; len(locked) != 7 || w.Code != "reshape" || w.Status != align.Locked {
		t.Errorf("cmsisrepair_reshape_locked: %v", locked)
	}
	odd := rows("oddch_tiny")
	codes := map[string]string{}
	for k, w := range odd {
		codes[k] = w.Code
		testenv.Check(t, (w.Status == align.Patched) == (w.Code == "") && (w.Target+3)/4*4 == w.Target,
			"oddch_tiny: %s", &w)
	}
	for k, code := range map[string]string{
		"/features/features.0/features.0.0/Conv input_channels":         "graph-input",
		"/features/features.0/features.0.0/Conv output_channels":        "",
		"/features/features.1/conv/conv.1/conv.1.0/Conv channels":       "",
		"/features/features.3/conv/conv.2/Conv output_channels":         "shuffle",
		"/features/features.4/conv/conv.0/conv.0.0/Conv input_channels": "shuffle",
		"/features/features.4/conv/conv.2/Conv output_channels":         "shuffle",
		"/stage2/branch2.0/branch2.0.0/Conv input_channels":             "shuffle",
		"/stage2/branch2.0/branch2.0.0/Conv output_channels":            "",
		"/stage2/branch2.5/branch2.5.0/Conv output_channels":            "shuffle",
		"/mixed/b0/b0.0/Conv input_channels":                            "shuffle",
		"/mixed/b0/b0.0/Conv output_channels":                           "",
		"/mixed/b1/b1.0/Conv output_channels":                           "",
		"/features/features.6/conv/conv.2/Conv output_channels":         "reshape",
	} {
		got, ok := codes[k]
		testenv.Check(t, ok && got == code, "oddch_tiny: %s is locked by %q, want %q", k, got, code)
	}
	testenv.Equal(t, fmt.Sprint(len(odd)), "29", "oddch_tiny: rows")
}

// TestVector: data without a dimension for channels have one.
func TestVector(t *testing.T) {
	if r, got := table(t, `graph "g" { in %x : f32[10] const %s : f32[1] = {2}
		%y = BatchNormalization(%x, %s, %s, %s,
			%s) out "y" = %y }`, align.Options{Mode: option.AlignAlways}); len(r.Rows) > 0 {
		t.Error(got)
	}
}
