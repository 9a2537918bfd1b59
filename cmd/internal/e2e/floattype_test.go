// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	_ "embed"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
	"google.golang.org/protobuf/proto"
)

// otherTypes are the float types that exporters write besides float32.
var otherTypes = []tensor.DType{tensor.F16, tensor.BF16, tensor.F64}

// retypedGraph is a float32 graph as another float type: the whole of it, as
// with PyTorch's half(), or the nodes that part names, between casts, as
// converters to mixed precision write it.
func retypedGraph(t *testing.T, g *ir.Graph, to tensor.DType, part func(n *ir.Node) bool) *ir.Graph {
	t.Helper()
	out := ir.New(g.Name)
	env := map[*ir.Value]*ir.Value{}
	change := func(d tensor.DType) tensor.DType {
		if d == tensor.F32 {
			return to
		}
		return d
	}
	cast := func(v *ir.Value, d tensor.DType) *ir.Value {
		if v == nil || !v.Type.DType.IsFloat() || v.Type.DType == d {
			return v
		}
		if v.Const != nil {
			return out.AddConst(v.Name, v.Const.Cast(d))
		}
		n := testenv.Must(out.Add(op.Cast, v.Name+"."+d.String(), ir.Attrs{"to": ir.Int(d.ONNXCode())}, 1, v))(t)
		return n.Out[0]
	}
	for _, v := range g.In {
		typ := v.Type
		if part == nil {
			typ.DType = change(typ.DType)
		}
		env[v] = out.AddInput(v.Name, typ)
	}
	for _, n := range g.Nodes {
		want := tensor.F32
		if part == nil || part(n) {
			want = to
		}
		in := make([]*ir.Value, len(n.In))
		for i, v := range n.In {
			if v == nil {
				continue
			}
			if env[v] == nil {
				env[v] = out.AddConst(v.Name, v.Const)
			}
			if in[i] = cast(env[v], want); n.Op.Name == "Resize" && i == 2 { // the scales are float32 whatever the data
				in[i] = env[v]
			}
		}
		attrs := n.Attrs.Clone()
		if n.Op == op.Cast && ir.AttrsOf[op.CastAttrs](n).To == tensor.F32.ONNXCode() {
			attrs["to"] = ir.Int(want.ONNXCode())
		}
		m := testenv.Must(out.Add(n.Op, n.Name, attrs, len(n.Out), in...))(t)
		m.Origin = n.Origin
		for i, v := range n.Out {
			env[v] = m.Out[i]
		}
	}
	for i, v := range g.Out {
		w := env[v]
		if part != nil {
			w = cast(w, tensor.F32)
		}
		out.AddOutput(g.OutNames[i], w)
	}
	return out
}

// separableNet is a small convolutional network of depthwise separable blocks.
//
//go:embed testdata/separableNet.ir
var separableNet string

// attentionNet is one head of attention with a mask that is a constant.
//
//go:embed testdata/attentionNet.ir
var attentionNet string

// TestFloatTypes: a model of float16, bfloat16 or double, or with parts in it,
// becomes the program that it becomes in float32: the same kernels, segments and
// precision, calibrated as well; in float it computes what the interpreter makes
// of the model's own types.
func TestFloatTypes(t *testing.T) {
	nets := map[string]*ir.Graph{"separable": irtest.Parse(t, separableNet), "attention": irtest.Parse(t, attentionNet)}
	for seed := range uint64(3) {
		nets[fmt.Sprint("random ", seed)] = irtest.Gen(seed, tensor.F32)
	}
	for name, net := range nets {
		for _, board := range []string{"cortex-m55", "mla-m55"} {
			for _, precision := range []option.Precision{option.Auto, option.Float32} {
				want := compileType(t, net, board, precision)
				for _, to := range otherTypes {
					r := rand.New(rand.NewPCG(1, uint64(to)))
					for _, part := range []func(n *ir.Node) bool{nil, func(*ir.Node) bool { return r.IntN(2) == 0 }} {
						g := retypedGraph(t, net, to, part)
						what := fmt.Sprintf("%s, %s, %s, %s, parts %v", name, board, precision, to, part != nil)
						sameProgram(t, what, want, compileType(t, g, board, precision))
					}
				}
			}
		}
	}
}

func compileType(t *testing.T, g *ir.Graph, board string, precision option.Precision) *driver.Compiled {
	t.Helper()
	c := driver.Defaults()
	c.Board, c.Precision, c.Name = board, precision, "net"
	return compileNet(t, g, &c)
}

func sameProgram(t *testing.T, what string, want, got *driver.Compiled) {
	t.Helper()
	a, b := want.Report, got.Report
	testenv.Check(t, a.Precision == b.Precision && fmt.Sprint(a.PrecisionLayers) == fmt.Sprint(b.PrecisionLayers),
		"%s: precision %s %v, in float32 %s %v", what, b.Precision, b.PrecisionLayers, a.Precision, a.PrecisionLayers)
	border := besideCasts(b)
	k, l := kernelNames(a, border), kernelNames(b, border)
	testenv.Check(t, slices.Equal(k, l), "%s: kernels %v, in float32 %v", what, l, k)
	if len(a.Segments) != len(b.Segments) || outside(a) != outside(b) {
		t.Errorf("%s: %d segments, %d nodes outside; in float32 %d, %d", what, len(b.Segments), outside(b),
			len(a.Segments), outside(a))
	}
	if a.Calibration != nil && math.Abs(a.Calibration.SQNR-b.Calibration.SQNR) > 3 {
		t.Errorf("%s: %.1f dB, in float32 %.1f dB", what, b.Calibration.SQNR, a.Calibration.SQNR)
	}
	testenv.Check(t, len(got.Config.Diags.Texts(diag.Note)) != 0, "%s: nothing is said", what)
	if a.Calibration != nil {
		return
	}
	in := irtest.Inputs(got.Lowered.Reference, 1)
	for i, v := range got.Float.In {
		testenv.Require(t, got.Lowered.Reference.In[i].Type.DType == v.Type.DType,
			"%s: input %s is %s, in the model %s", what, v.Name, got.Lowered.Reference.In[i].Type.DType, v.Type.DType)
	}
	model := testenv.Must(interp.Run(got.Float, in, nil))(t)
	program := testenv.Must(interp.Run(got.Lowered.Reference, in, nil))(t)
	for i := range model {
		testenv.Check(t, model[i].DType == program[i].DType, "%s: output %d is %s, in the model %s", what, i,
			program[i].DType, model[i].DType)
		d := irtest.Diff(program[i], model[i])
		testenv.Check(t, !(d > 0.05), "%s: output %d differs by %.3g of the largest", what, i, d)
	}
}

// outside counts the operators that no accelerator computes, each of those in a
// loop.
func outside(r *report.Report) int {
	return lists.Sum(r.Fallback, func(f report.Fallback) int { return len(computed(f.Op)) })
}

// computed are the operators of a step without conversions.
func computed(ops string) []string {
	return slices.DeleteFunc(strings.Split(ops, "+"), func(s string) bool { return s == "Cast" })
}

// besideCasts are the nodes of the model that share a loop with a conversion at
// the border, which may make a loop pay that does not without.
func besideCasts(r *report.Report) map[string]bool {
	nodes := map[string]bool{}
	for _, l := range r.Layers {
		if ops := computed(l.Op); len(ops) > 0 && len(ops) < len(strings.Split(l.Op, "+")) {
			for _, n := range l.ONNXNodes {
				nodes[n] = true
			}
		}
	}
	return nodes
}

// kernelNames are the kernels of the program's steps, without the conversions
// at its border; of nodes that are fused with these the operators.
func kernelNames(r *report.Report, border map[string]bool) []string {
	var s []string
	for _, l := range r.Layers {
		ops := computed(l.Op)
		switch {
		case len(ops) == 0:
		case l.Op != op.Relayout.Name && slices.ContainsFunc(l.ONNXNodes, func(n string) bool { return border[n] }):
			s = append(s, ops...)
		default:
			s = append(s, l.Kernel)
		}
	}
	slices.Sort(s) // a cast at the border may be fused, which moves a step
	return s
}

// TestFloatTypesCalibrateAlike: the casts at the border of a network of another
// float type change nothing about its calibration: with the same samples and
// weights, which that type can hold, float32 gets the same figure.
func TestFloatTypesCalibrateAlike(t *testing.T) {
	count := uint64(4)
	if testenv.Long() {
		count = 40
	}
	for seed := range count {
		for _, to := range otherTypes[:2] {
			net := irtest.Gen(seed, tensor.F32)
			for _, n := range net.Nodes {
				for _, v := range n.In {
					if v != nil && v.Const != nil && v.Type.DType == tensor.F32 {
						v.Const = v.Const.Cast(to).Cast(tensor.F32)
					}
				}
			}
			file := filepath.Join(t.TempDir(), "samples.npz")
			var entries []npz.Entry
			samples := quant.SyntheticSamples(net.In, 6, seed)
			for i, v := range net.In {
				var all []float64
				for _, s := range samples {
					all = append(all, s[i].Cast(to).Floats()...)
				}
				d := tensor.FromFloats(tensor.F32, append([]int{len(samples)}, v.Type.Shape...), all)
				entries = append(entries, npz.Entry{Name: v.Name, Array: npz.FromTensor(d)})
			}
			require(t, npz.WriteNpzFile(file, entries))
			figure := func(g *ir.Graph) float64 {
				c := driver.Defaults()
				c.Board, c.Name, c.Rounding, c.Calib = "cortex-m55", "net", option.Nearest, []string{file}
				return compileNet(t, g, &c).Report.Calibration.SQNR
			}
			a, b := figure(net), figure(retypedGraph(t, net, to, nil))
			testenv.Check(t, !(math.Abs(a-b) > 0.1), "random %d, %s: %.2f dB, in float32 %.2f dB", seed, to, b, a)
		}
	}
}

// qForms are operators between DequantizeLinear and QuantizeLinear that have a
// form on integers (QOperator), with its domain.
var qForms = map[string][2]string{
	"Conv": {"QLinearConv", ""}, "MatMul": {"QLinearMatMul", ""},
	"Add": {"QLinearAdd", "com.microsoft"}, "Mul": {"QLinearMul", "com.microsoft"},
	"Where": {"QLinearWhere", "com.microsoft"}, "Concat": {"QLinearConcat", "com.microsoft"},
	"Sigmoid": {"QLinearSigmoid", "com.microsoft"}, "LeakyRelu": {"QLinearLeakyRelu", "com.microsoft"},
	"Softmax":     {"QLinearSoftmax", "com.microsoft"},
	"AveragePool": {"QLinearAveragePool", "com.microsoft"}, "GlobalAveragePool": {"QLinearGlobalAveragePool",
		"com.microsoft"},
}

// toQOperators gives operators of a QDQ model their form on integers, where
// every operand has one, and returns how many. The Q and DQ nodes around them
// stay for other readers.
func toQOperators(m *pb.ModelProto) int {
	g := m.Graph
	def, uses := map[string]*pb.NodeProto{}, map[string]int{}
	for _, n := range g.Node {
		for _, s := range n.Output {
			def[s] = n
		}
		for _, s := range n.Input {
			uses[s]++
		}
	}
	for _, v := range g.Output {
		uses[v.GetName()] += 2
	}
	types := map[string]int32{}
	for _, x := range g.Initializer {
		types[x.GetName()] = x.GetDataType()
	}
	// integers are the data, scale and zero point behind a float value.
	integers := func(s string) []string {
		d := def[s]
		if d == nil || d.GetOpType() != "DequantizeLinear" || len(d.Input) != 3 {
			return nil
		}
		return d.Input
	}
	byte8 := func(zero string) bool { return types[zero] == 2 || types[zero] == 3 }
	count := 0
	for _, q := range g.Node {
		n := def[q.Input[0]]
		if q.GetOpType() != "QuantizeLinear" || len(q.Input) != 3 || !byte8(q.Input[2]) || len(q.Attribute) > 0 ||
			n == nil || uses[n.Output[0]] != 1 {
			continue
		}
		form, ok := qForms[n.GetOpType()]
		var in []string
		for i, s := range n.Input {
			switch {
			case n.GetOpType() == "Where" && i == 0:
				in = append(in, s)
				continue
			case n.GetOpType() == "Conv" && i == 2: // int32 of the scale of the products, or none
				d := def[s]
				ok = ok && d != nil && d.GetOpType() == "DequantizeLinear" && types[d.Input[0]] == 6
				if ok {
					in = append(in, q.Input[1], q.Input[2], d.Input[0])
				}
				continue
			}
			x := integers(s)
			if x == nil || !byte8(x[2]) || form[1] != "" && types[x[2]] != types[q.Input[2]] ||
				len(def[s].Attribute) > 0 && !(i == 1 && form[1] == "") {
				ok = false
				break
			}
			in = append(in, x...)
		}
		if !ok {
			continue
		}
		switch {
		case n.GetOpType() == "Concat":
			in = append(slices.Clone(q.Input[1:]), in...)
		case n.GetOpType() != "Conv" || len(n.Input) < 3:
			in = append(in, q.Input[1:]...)
		}
		if n.GetOpType() == "Softmax" {
			n.Attribute = append(n.Attribute, &pb.AttributeProto{Name: proto.String("opset"),
				Type: pb.AttributeProto_INT.Enum(), I: proto.Int64(13)})
		}
		n.OpType, n.Domain = proto.String(form[0]), proto.String(form[1])
		n.Input, n.Output = in, q.Output
		q.OpType = nil // removed below
		count++
	}
	g.Node = slices.DeleteFunc(g.Node, func(n *pb.NodeProto) bool { return n.OpType == nil })
	m.OpsetImport = append(m.OpsetImport, &pb.OperatorSetIdProto{Domain: proto.String("com.microsoft"),
		Version: proto.Int64(1)})
	return count
}

// TestRandomQOperators: random networks of which whatever can be is in QOperator
// form compute what the models mean.
func TestRandomQOperators(t *testing.T) {
	from, n := testenv.Range(t, 40)
	converted := 0
	for s := from; s < from+n; s++ {
		p := testenv.Must(onnx.Export(irtest.ExposeQuantised(irtest.GenQDQ(uint64(s))), onnx.ExportOptions{}))(t)
		k := toQOperators(p)
		if k == 0 {
			continue
		}
		converted += k
		b := testenv.Must(onnx.Marshal(p))(t)
		m, g := imported(t, b)
		checkModel(t, uint64(s), m, g, "host")
	}
	t.Logf("%d operators in QOperator form in %d networks", converted, n)
	testenv.Check(t, converted != 0 || n < 40, "no operator was brought to QOperator form")
}

// imported is the model of a file with its graph.
func imported(t testing.TB, b []byte) (*onnx.Model, *ir.Graph) {
	t.Helper()
	m := testenv.Must(onnx.Parse(b, onnx.Limits{}))(t)
	g := testenv.Must(onnx.OpenModel(m, onnx.ImportOptions{}))(t)
	return m, g
}

// TestElementwiseOperator: every operator of ours that is defined by its
// function alone is read from ONNX, computed and emitted in every precision:
// alone, behind a convolution, among other element-wise operators.
func TestElementwiseOperator(t *testing.T) {
	for _, d := range op.All() {
		if d.Domain != "nncc" || d.Scalar == nil || d.C == nil || d.Pattern != ir.Elementwise {
			continue
		}
		var attrs []string // other ones than the defaults
		for _, a := range d.Attrs {
			if a.Kind == ir.AttrFloat && a.Def != nil {
				attrs = append(attrs, fmt.Sprintf("%s=%.3f", a.Name, 0.75*a.Def.Float))
			}
		}
		act := fmt.Sprintf("%%s = nncc.%[1]s(%%c) {%[2]s}\n  %%t = Tanh(%%s)\n  %%a = nncc.%[1]s(%%t)", d.Name,
			strings.Join(attrs, ", "))
		for _, precision := range []option.Precision{option.Float32, option.Int8, option.Int16x8} {
			t.Run(d.Name+" "+precision.String(), func(t *testing.T) {
				c := driver.Defaults()
				c.Board, c.Precision, c.Name, c.Cases = "host", precision, "net", 2
				g := activated(t, act, true)
				o := compileNet(t, g, &c)
				onHost(t, o, mustCases(t, &c, o), "gcc", sanitized)
				c.Fuse = false
				alone := compileNet(t, g, &c).Lowered.Graph
				if precision != option.Int16x8 && // there the stage curves may have joined it with its neighbours
					!slices.ContainsFunc(alone.Nodes, func(n *ir.Node) bool { return n.Op == d }) {
					t.Errorf("without fusion no step is a %s:\n%s", d.Name, alone)
				}
			})
		}
	}
}
