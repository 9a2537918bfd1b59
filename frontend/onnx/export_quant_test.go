// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/quant"
)

// Quantised models on integers are written in QDQ form; brought to integers
// again they compute the same, bit for bit, and ONNX Runtime runs what was
// written.
func TestExportQuantised(t *testing.T) {
	q := newORT(t)
	files, _ := filepath.Glob(filepath.Join(shared(t, "models"), "*.onnx"))
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".onnx")
		if !strings.Contains(name, "int8") && !strings.Contains(name, "_q") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			_, g, err := Open(f, Limits{}, ImportOptions{})
			testenv.OK(t, err)
			testenv.OK(t, quant.Integer(g, quant.IntegerOptions{}))
			irtest.Verify(t, g)
			m := testenv.Must(Export(g, ExportOptions{}))(t)
			b := testenv.Must(Marshal(m))(t)
			p := testenv.Must(Parse(b, Limits{}))(t)
			for _, f := range Check(p) {
				t.Errorf("finding: %s", f.String())
			}
			back := testenv.Must(Import(p, ImportOptions{}))(t)
			testenv.OK(t, quant.Integer(back, quant.IntegerOptions{}))
			in := irtest.Inputs(g, 3)
			want, got := irtest.Run(t, g, in), irtest.Run(t, back, in)
			for i := range want {
				if !tensor.Equal(got[i], want[i]) {
					t.Errorf("output %s differs by %.3g", g.OutNames[i], worst(got[i], want[i]))
				}
			}
			testenv.Check(t, m.OpsetImport[0].GetVersion() <= 17, "opset %d", m.OpsetImport[0].GetVersion())
			q.add(t, name, b, g, in, want, 0.2)
		})
	}
	q.run(t)
}

// Single quantised operators.
func TestExportQuantisedOperators(t *testing.T) {
	q := newORT(t)
	for _, c := range []struct {
		name, src string
		opset     int64
		ops       string
	}{
		{"conv with activation", `
			in %x : i8[1,2,4,4] q(0.1:-5)
			const %w : i8[3,2,3,3] q(axis=0,0.02:0,0.03:0,0.01:0) = rand 3
			const %b : i32[3] q(axis=0,0.002:0,0.003:0,0.001:0) = {100,-200,300}
			%y : i8[1,3,2,2] q(0.2:3) = Conv(%x, %w, %b) {act_min=0.0}`, 13,
			"DequantizeLinear DequantizeLinear DequantizeLinear Conv Relu QuantizeLinear"},
		{"requantise", `
			in %x : i8[1,2,4,4] q(0.1:-5)
			%y : i8[1,2,4,4] q(0.2:3) = nncc.Requantize(%x)`, 13, "DequantizeLinear QuantizeLinear"},
		{"unsigned border", `
			in %x : u8[1,2,4,4] q(0.1:128)
			%z : i8[1,2,4,4] q(0.1:0) = nncc.Requantize(%x)
			const %s : i64[2] = {2,16}
			%y : i8[2,16] q(0.1:0) = Reshape(%z, %s)`, 13,
			"DequantizeLinear QuantizeLinear DequantizeLinear Reshape QuantizeLinear"},
		{"one value read twice", `
			in %x : i8[1,2,4,4] q(0.1:-5)
			%a : i8[1,2,4,4] q(0.1:0) = Add(%x, %x)
			%y : i8[1,2,4,4] q(0.2:0) = Mul(%a, %x) {act_max=3.0}`, 13,
			"DequantizeLinear Add QuantizeLinear DequantizeLinear Mul Clip QuantizeLinear"},
		{"int16", `
			in %x : i16[1,4] q(0.001:0)
			%y : i16[1,4] q(0.001:0) = Sigmoid(%x)`, 21, "DequantizeLinear Sigmoid QuantizeLinear"},
		{"int4 weights", `
			in %x : i8[1,4] q(0.1:0)
			const %w : i4[4,3] q(0.1:0) = {1,2,3,-4,5,6,7,-8,1,0,-1,2}
			%y : i8[1,3] q(0.1:0) = MatMul(%x, %w)`, 21, "DequantizeLinear DequantizeLinear MatMul QuantizeLinear"},
		{"lstm", `
			in %x : i8[3,1,2] q(0.02:4)
			const %w : i8[16,2] q(0.01:0) = rand 4
			const %r : i8[16,4] q(0.01:0) = rand 5
			const %b : i32[16] q(0.0002:0) = splat 50
			%y : i8[3,1,4] q(0.008:0), %h : i8[1,4] q(0.008:0), %c : i16[1,4] q(0.00048828125:0) = nncc.QLSTM(%x, %w,
				%r, %b)
			{cell_scale_power=-11, direction="reverse"}`, 13,
			"DequantizeLinear DequantizeLinear DequantizeLinear DequantizeLinear Reshape Reshape Concat Reshape " +
				"LSTM Reshape QuantizeLinear"},
		{"gru", `
			in %x : i8[3,1,2] q(0.02:4)
			in %s : i16[1,4] q(0.000030517578125:0)
			const %w : i8[12,2] q(0.01:0) = rand 4
			const %r : i8[12,4] q(0.01:0) = rand 5
			const %b : i32[12] q(0.0002:0) = splat 50
			%y : i8[3,1,4] q(0.008:0), %h : i8[1,4] q(0.008:0), %c : i16[1,4] q(0.000030517578125:0) = nncc.QGRU(%x,
				%w, %r, -,
				%b, %s) {state_scale_power=-15, linear_before_reset=1}`, 21,
			"DequantizeLinear DequantizeLinear DequantizeLinear DequantizeLinear DequantizeLinear Reshape Reshape " +
				"Concat Reshape Reshape GRU Reshape QuantizeLinear"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := irtest.Parse(t, `graph "net" {`+c.src+"\nout \"y\" = %y\n}")
			m := testenv.Must(Export(g, ExportOptions{}))(t)
			b := testenv.Must(Marshal(m))(t)
			p := testenv.Must(Parse(b, Limits{}))(t)
			for _, f := range Check(p) {
				t.Errorf("finding: %s", f.String())
			}
			testenv.Equal(t, m.OpsetImport[0].GetVersion(), c.opset, "opset")
			var ops []string
			for _, n := range m.Graph.Node {
				ops = append(ops, n.GetOpType())
			}
			seen := strings.Join(ops, " ")
			testenv.Check(t, sameWords(seen, c.ops), "written as %s, want %s", seen, c.ops)
			back := testenv.Must(Import(p, ImportOptions{}))(t)
			in := irtest.Inputs(g, 3)
			want, got := irtest.Run(t, g, in), irtest.Run(t, back, in)
			step := 2.0
			for i, w := range want {
				for k := range w.Len() {
					if d := w.Int(k) - got[i].Int(k); float64(d) > step || float64(d) < -step {
						t.Errorf("element %d is %d in float, %d on integers", k, got[i].Int(k), w.Int(k))
					}
				}
			}
			q.add(t, c.name, b, g, in, got, 0.02)
		})
	}
	q.run(t)
}

// sameWords compares the operators as sets with counts: where
// DequantizeLinear of constants stand does not matter.
func sameWords(a, b string) bool {
	count := map[string]int{}
	for _, w := range strings.Fields(a) {
		count[w]++
	}
	for _, w := range strings.Fields(b) {
		count[w]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

// Operators without a form in ONNX are an error, or kept on request.
func TestExportCustom(t *testing.T) {
	odd := &ir.OpDef{Name: "Odd", Domain: "nncc", MinIn: 1, MaxIn: 1, MinOut: 1, MaxOut: 1,
		Infer: func(n *ir.Node) ([]ir.Type, error) { return []ir.Type{n.In[0].Type}, nil }}
	g := ir.New("g")
	n := testenv.Must(g.Add(odd, "odd", nil, 1, g.AddInput("x", ir.T(tensor.F32, 2))))(t)
	g.AddOutput("y", n.Out[0])
	testenv.Refused(t, testenv.Err(Export(g, ExportOptions{})), "Odd")
	m := testenv.Must(Export(g, ExportOptions{Custom: true}))(t)
	fs := Check(&Model{Proto: m})
	testenv.Check(t, fs.Count(diag.Error) <= 0, "%v", fs)
}

// Names, metadata and borders.
func TestExportBorders(t *testing.T) {
	g := ir.New("")
	x := g.AddInput("x", ir.T(tensor.F32, 2))
	k := g.AddConst("k", tensor.Of([]int{2}, []float32{1, 2}))
	g.AddOutput("x", x) // an input that is an output
	g.AddOutput("again", x)
	g.AddOutput("constant", k)
	m, err := Export(g, ExportOptions{Producer: "p", Version: "1", Doc: "d", Metadata: map[string]string{"b": "2",
		"a": "1"}})
	testenv.OK(t, err)
	fs := Check(&Model{Proto: m})
	testenv.Check(t, len(fs) <= 0, "%v", fs)
	if m.MetadataProps[0].GetKey() != "a" || m.GetProducerName() != "p" || m.Graph.GetDocString() != "d" {
		t.Error("metadata are missing")
	}
	back := testenv.Must(Import(&Model{Proto: m}, ImportOptions{}))(t)
	in := irtest.Inputs(back, 1)
	out := irtest.Run(t, back, in)
	testenv.Check(t, tensor.Equal(out[0], in[0]) && tensor.Equal(out[1], in[0]) && tensor.Equal(out[2], k.Const),
		"outputs %v", out)
	testenv.Check(t, testenv.Err(Export(g, ExportOptions{Opset: 12})) != nil, "opset 12 was written")
}
