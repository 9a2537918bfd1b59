// SPDX-License-Identifier: Apache-2.0

package quant_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/quant"
)

// TestHoist: an input that is only moved before it is quantised (as tf2onnx
// writes models) is quantised at the border, and so is what is moved behind the
// last DequantizeLinear; the results are the same. Where values change on the
// way, or what follows wants different scales, the input stays float.
func TestHoist(t *testing.T) {
	for _, c := range []struct {
		name, moves string // from %x to %m, f32[1,2,3,4]
		in          string
		float       bool // the input stays float
	}{
		{"nothing", `%m = Identity(%x)`, "1,2,3,4", false},
		{"Reshape", `const %s : i64[4] = {1,2,3,4} %m = Reshape(%x, %s)`, "1,24", false},
		{"Transpose", `%m = Transpose(%x) {perm=[0,3,1,2]}`, "1,3,4,2", false},
		{"Squeeze and Unsqueeze",
			`const %a : i64[1] = {3} const %b : i64[1] = {0} %q = Squeeze(%x, %a) %m = Unsqueeze(%q, %b)`, "2,3,4,1",
			false},
		{"Flatten, Reshape, Transpose",
			`const %s : i64[4] = {1,3,4,2} %l = Flatten(%x) %r = Reshape(%l, %s) %m = Transpose(%r) {perm=[0,3,1,2]}`,
			"1,2,12", false},
		{"Relu", `%m = Relu(%x)`, "1,2,3,4", true},
	} {
		for _, uint8s := range []bool{false, true} {
			zero, dt := 3, "i8"
			if uint8s {
				zero, dt = 131, "u8"
			}
			text := fmt.Sprintf(`graph "g" {
  in %%x : f32[%s]
  const %%scale : f32[] = {0.03125}
  const %%zp : %s[] = {%d}
  const %%out : f32[] = {0.25}
  const %%w : i8[3,2,1,1] = rand 4
  const %%ws : f32[] = {0.015625}
  const %%wz : i8[] = {0}
  %s
  %%i = QuantizeLinear(%%m, %%scale, %%zp)
  %%d = DequantizeLinear(%%i, %%scale, %%zp)
  %%k = DequantizeLinear(%%w, %%ws, %%wz)
  %%c = Conv(%%d, %%k)
  %%e = QuantizeLinear(%%c, %%out, %%zp)
  %%f = DequantizeLinear(%%e, %%out, %%zp)
  %%y = Transpose(%%f) {perm=[0,2,3,1]}
  out "y" = %%y
}`, c.in, dt, zero, c.moves)
			whole, border := irtest.Parse(t, text), irtest.Parse(t, text)
			for g, floats := range map[*ir.Graph]bool{whole: true, border: false} {
				if err := quant.Integer(g, quant.IntegerOptions{FloatIO: floats}); err != nil {
					t.Fatalf("%s: %v", c.name, err)
				}
				irtest.Verify(t, g)
			}
			if got := border.In[0].Type.DType.IsFloat(); got != c.float {
				t.Errorf("%s, %s: the input is %s", c.name, dt, border.In[0].Type)
			}
			testenv.Check(t, !border.Out[0].Type.DType.IsFloat(),
				"%s, %s: the output is %s", c.name, dt, border.Out[0].Type)
			in := irtest.Inputs(whole, 9)
			want := irtest.Run(t, whole, in)[0]
			at := in
			if v := border.In[0]; !v.Type.DType.IsFloat() {
				at = []*tensor.Dense{ir.QuantiseEven(in[0], v.Type)}
			}
			got := irtest.Run(t, border, at)[0]
			if q := border.Out[0].Type.Quant; q != nil {
				got = ir.Dequantise(got, q)
			}
			testenv.Check(t, slices.Equal(got.Floats(), want.Floats()),
				"%s, %s: %v, want %v", c.name, dt, got, want)
		}
	}
}

// TestTables: what a network chooses of a constant in float and then quantises is
// chosen of integers; where one reader wants it in float, the table stays.
func TestTables(t *testing.T) {
	for _, c := range []struct {
		more string
		kept bool
	}{{"", false}, {"%z = Sin(%m)\n  out \"z\" = %z", true}} {
		text := `graph "g" {
  in %i : i64[1,6]
  const %table : f32[9,4] = rand 3
  const %scale : f32[] = {0.03125}
  const %zp : i8[] = {3}
  const %out : f32[] = {0.0625}
  const %perm : i64[3] = {1,6,4}
  %m = Gather(%table, %i)
  %r = Reshape(%m, %perm)
  %q = QuantizeLinear(%r, %scale, %zp)
  %d = DequantizeLinear(%q, %scale, %zp)
  %a = Relu(%d)
  %e = QuantizeLinear(%a, %out, %zp)
  %y = DequantizeLinear(%e, %out, %zp)
  out "y" = %y
  ` + c.more + `
}`
		float, integer := irtest.Parse(t, text), irtest.Parse(t, text)
		testenv.OK(t, quant.Integer(integer, quant.IntegerOptions{FloatIO: true}))
		irtest.Verify(t, integer)
		kept := false
		for _, n := range integer.Nodes {
			kept = kept || n.Op.Name == "Gather" && n.In[0].Type.DType.IsFloat()
		}
		testenv.Equal(t, kept, c.kept, "%q: the table is in float", c.more)
		in := []*tensor.Dense{tensor.Of([]int{1, 6}, []int64{8, 0, 3, 3, 1, 7})}
		want, got := irtest.Run(t, float, in), irtest.Run(t, integer, in)
		for i := range want {
			testenv.Same(t, got[i].Floats(), want[i].Floats(), "%q: output %d", c.more, i)
		}
	}
}

// TestFloatBorders: with FloatIO reals come in and go out as float, also where the model has integers for them; state
// stays integers. The numbers are those of the program on integers.
func TestFloatBorders(t *testing.T) {
	for _, moved := range []string{"%m = Identity(%i)", "%m = Transpose(%i) {perm=[1,0]}"} {
		g := irtest.Parse(t, `graph "g" {
  in %i : i8[3,3]
  in %h : f32[3,3]
  const %s : f32[] = {0.5}
  const %z : i8[] = {3}
  `+moved+`
  %x = DequantizeLinear(%m, %s, %z)
  %hq = QuantizeLinear(%h, %s, %z)
  %hd = DequantizeLinear(%hq, %s, %z)
  %a = Add(%x, %hd)
  %q = QuantizeLinear(%a, %s, %z)
  %d = DequantizeLinear(%q, %s, %z)
  %y = Transpose(%q) {perm=[1,0]}
  out "y" = %y
  out "next" = %d
}`)
		model := g.Clone()
		opt := quant.IntegerOptions{FloatIO: true, State: []quant.StateBinding{{Out: 1, In: 1}}}
		testenv.OK(t, quant.Integer(g, opt))
		testenv.OK(t, quant.FloatBorders(opt, g, model))
		types := []tensor.DType{g.In[0].Type.DType, g.In[1].Type.DType, g.Out[0].Type.DType, g.Out[1].Type.DType}
		if want := []tensor.DType{tensor.F32, tensor.I8, tensor.F32, tensor.I8}; !slices.Equal(types, want) ||
			g.In[0].Name != "i" || model.In[0].Name != "i" {
			t.Fatalf("%s: inputs and outputs are %v, want %v\n%s", moved, types, want, g)
		}
		x := tensor.Of([]int{3, 3}, []float32{-4, -3, -2, -1, 0, 1, 2, 3, 40})
		h := tensor.Of([]int{3, 3}, []float32{0, 1, 2, 3, 4, 5, 6, 7, 40})
		got := irtest.Run(t, g, []*tensor.Dense{x, ir.QuantiseEven(h, g.In[1].Type)})
		want := irtest.Run(t, model, []*tensor.Dense{x, h})
		testenv.Check(t, slices.Equal(got[0].Floats(), want[0].Floats()),
			"%s: %v, the model gives %v", moved, got[0], want[0])
	}
}

// TestFreeWeights: a graph that quantises constants alone becomes one in float with the same
// results; where a value that it computes is quantised, too, it stays.
func TestFreeWeights(t *testing.T) {
	for more, free := range map[string]bool{"%y = Relu(%c)": true,
		"%e = QuantizeLinear(%c, %ws, %wz) %y = DequantizeLinear(%e, %ws, %wz)": false} {
		g := irtest.Parse(t, `graph "g" {
  in %x : f32[1,2,3,4]
  const %w : i8[3,2,1,1] = rand 4
  const %real : f32[3] = rand 5
  const %scales : f32[3] = {0.5, 0.25, 1}
  const %zeros : i8[3] = {1, 0, -3}
  const %ws : f32[] = {0.015625}
  const %wz : i8[] = {0}
  %k = DequantizeLinear(%w, %scales, %zeros) {axis=0}
  %q = QuantizeLinear(%real, %ws, %wz)
  %b = DequantizeLinear(%q, %ws, %wz)
  %c = Conv(%x, %k, %b)
  `+more+`
  out "y" = %y
}`)
		in := irtest.Inputs(g, 9)
		want := irtest.Run(t, g, in)[0]
		testenv.Check(t, quant.WeightsOnly(g) == free, "%s: weights only %v", more, !free)
		testenv.Check(t, quant.FreeWeights(g) == nil, "%s", more)
		irtest.Verify(t, g)
		testenv.Check(t, slices.Equal(irtest.Run(t, g, in)[0].Floats(), want.Floats()), "%s: other results", more)
		left := slices.ContainsFunc(g.Nodes, func(n *ir.Node) bool { return n.Op.Name == "DequantizeLinear" })
		testenv.Check(t, left != free, "%s: %s", more, g)
	}
}
